"""Bubble cases and traces: JSON files with which any implementation of the bubble can be compared.

A case contains settings, a ranking from bottom to top, withdrawals by number of finished games, and one result matrix
per game of a match: row i, column j is the result of ranking[i] against ranking[j]. A trace contains the decisions of
the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from enginetour.formats.bubble_state import BubbleOptions, PlannedWithdrawal
from enginetour.interop.files import parse_json
from enginetour.model.errors import InputRefused
from enginetour.model.game import Note, Outcome, Pairing
from enginetour.model.validation import plain_error, short_repr

_CASE_FORMAT = "enginetour-bubble-case/1"
_TRACE_FORMAT = "enginetour-bubble-trace/1"
LARGEST_FILE = 20_000_000  # bytes; enough for 2,000 engines that play four games against each other
_MOST_ENGINES = 2000  # the limit of the command `simulate`
_MIRROR = {"1": "0", "0": "1", "=": "=", "-": "-"}


class _Withdrawal(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    engine: str
    after_games: int = Field(ge=0)


class _Content(BaseModel):
    """The fields of the file; `expected` is ignored."""

    model_config = ConfigDict(extra="forbid", strict=True)
    format: str
    name: str = ""
    note: str = ""
    params: BubbleOptions
    ranking: list[str]
    withdrawals: list[_Withdrawal] = []
    results: list[list[str]]
    expected: Any = None


@dataclass(frozen=True, slots=True)
class BubbleCase:
    """A valid case; `ranking` is from bottom to top, and `results` has one matrix per game of a match."""

    options: BubbleOptions
    ranking: tuple[str, ...]
    withdrawals: tuple[PlannedWithdrawal, ...]
    results: tuple[tuple[str, ...], ...]

    def outcome(self, pairing: Pairing) -> Outcome:
        """Return the result of a game, with either color."""
        number = (pairing.meeting - 1) * min(2, self.options.games_per_pairing) + pairing.leg
        row = self.results[number - 1][self.ranking.index(pairing.white)]
        char = row[self.ranking.index(pairing.black)]
        return {"1": Outcome.WHITE, "=": Outcome.DRAW, "0": Outcome.BLACK}[char]


def read_case(source: str | bytes | Mapping[str, object], place: str = "case") -> BubbleCase:
    """Return a checked case from JSON text or from parsed JSON; the key `expected` is ignored.

    `place` is the name of the file for errors. Raise InputRefused, with the name of the field, if a field is not valid.
    """
    content = _loaded(source, place)
    ranking = _ranking(content.ranking, place)
    return BubbleCase(
        options=content.params,
        ranking=ranking,
        withdrawals=_withdrawals(content.withdrawals, ranking, place),
        results=_results(content.results, ranking, content.params.games_per_pairing, place),
    )


def trace_bubble(notes: Iterable[Note]) -> dict[str, Any]:
    """Return the trace of a finished bubble from its decisions; scores are in points."""
    steps: list[dict[str, Any]] = []
    ending: dict[str, Any] = {}
    entered: dict[int, list[Any]] = {}
    withdrawals: dict[int, list[Any]] = {}
    for note in notes:
        fields: dict[str, Any] = dict(note.fields)
        step = fields["step"]
        if note.kind in ("enter", "unpark"):
            entered.setdefault(step, []).extend(fields["entered"])
        elif note.kind == "withdraw":
            left = {key: fields[key] for key in ("engine", "after_games", "was", "replacement")}
            withdrawals.setdefault(step, []).append(left)
        elif note.kind in ("park", "drop", "finish"):
            keys = ("action", "engine", "reason", "last", "last_matches")
            steps.append(
                {
                    "step": step,
                    "entered": entered.get(step, []),
                    "withdrawals": withdrawals.get(step, []),
                    "games": fields["games"],
                    "active": fields["active"],
                    "table": [[name, half / 2, quarters / 4] for name, half, quarters in fields["table"]],
                    "decision": {key: fields[key] for key in keys if key in fields},
                    "parked": fields["parked"],
                    "games_total": fields["games_total"],
                }
            )
            ending = fields
    return {
        "format": _TRACE_FORMAT,
        "steps": steps,
        "ranking": ending["ranking"],
        "withdrawn": ending["withdrawn"],
        "games_total": ending["games_total"],
    }


def _refuse(place: str, field: str, what: str) -> NoReturn:
    raise InputRefused(f"{field}: {what}", place=place)


def _loaded(source: str | bytes | Mapping[str, object], place: str) -> _Content:
    content: Any = source
    if not isinstance(source, Mapping):
        content = parse_json(source, place, object_pairs_hook=lambda pairs: _unique(pairs, place))
    if not isinstance(content, Mapping):
        raise InputRefused(f"expected a JSON object (found {type(content).__name__})", place=place)
    if content.get("format") != _CASE_FORMAT:
        _refuse(place, "format", f"expected {_CASE_FORMAT!r} (found {short_repr(content.get('format'))})")
    try:
        return _Content.model_validate(dict(content))
    except ValidationError as fault:
        raise InputRefused(plain_error(fault, _Content, content, table="a JSON object"), place=place) from None


def _unique(pairs: list[tuple[str, object]], place: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            _refuse(place, key, "the key appears twice")
        found[key] = value
    return found


def _ranking(names: list[str], place: str) -> tuple[str, ...]:
    if len(names) > _MOST_ENGINES:
        _refuse(place, "ranking", f"at most {_MOST_ENGINES:,} engines are allowed (found {len(names):,})")
    seen: set[str] = set()
    for number, name in enumerate(names):
        if not name:
            _refuse(place, f"ranking.{number + 1}", "the name is empty")
        if name in seen:
            _refuse(place, f"ranking.{number + 1}", f"{name!r} is in the ranking twice")
        seen.add(name)
    return tuple(names)


def _withdrawals(found: list[_Withdrawal], ranking: tuple[str, ...], place: str) -> tuple[PlannedWithdrawal, ...]:
    for number, one in enumerate(found):
        if one.engine not in ranking:
            _refuse(place, f"withdrawals.{number + 1}.engine", f"{one.engine!r} is not in the ranking")
        if one.engine in (due.engine for due in found[:number]):
            _refuse(place, f"withdrawals.{number + 1}.engine", f"{one.engine!r} is withdrawn twice")
    return tuple(PlannedWithdrawal(one.engine, one.after_games) for one in found)


def _results(
    matrices: list[list[str]], ranking: tuple[str, ...], games: int, place: str
) -> tuple[tuple[str, ...], ...]:
    if len(matrices) != games:
        _refuse(place, "results", f"expected {games} matrices (games_per_pairing), found {len(matrices)}")
    size = len(ranking)
    for g, rows in enumerate(matrices):
        if len(rows) != size:
            _refuse(place, f"results.{g + 1}", f"expected {size} rows, one per engine (found {len(rows)})")
        for i, row in enumerate(rows):
            if len(row) != size:
                _refuse(
                    place, f"results.{g + 1}.{i + 1}", f"expected {size} characters, one per engine (found {len(row)})"
                )
            for j, char in enumerate(row):
                allowed = "-" if i == j else "1=0"
                if char not in allowed:
                    what = f"character {j + 1} must be one of {allowed!r} (found {char!r})"
                    _refuse(place, f"results.{g + 1}.{i + 1}", what)
        for i in range(size):
            for j in range(i):
                if rows[j][i] != _MIRROR[rows[i][j]]:
                    pair = f"{ranking[i]} - {ranking[j]}"
                    back = f"{ranking[j]} - {ranking[i]}"
                    what = f"{pair} is {rows[i][j]!r}, but {back} is {rows[j][i]!r}"
                    _refuse(place, f"results.{g + 1}.{i + 1}", what)
    return tuple(tuple(rows) for rows in matrices)
