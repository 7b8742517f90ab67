"""Bubble cases and traces: JSON that any implementation of the bubble can replay and compare.

A case holds settings, a ranking bottom to top, withdrawals by number of finished games, and one result matrix per
game of a match: row i, column j is what ranking[i] did against ranking[j]. A trace is what the format made of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import ValidationError

from enginetour.formats.bubble_state import BubbleOptions, PlannedWithdrawal
from enginetour.model.errors import InputRefused
from enginetour.model.game import Note, Outcome, Pairing

_CASE_FORMAT = "enginetour-bubble-case/1"
_TRACE_FORMAT = "enginetour-bubble-trace/1"
LARGEST_FILE = 20_000_000  # bytes: four games of everybody against everybody among two thousand
MOST_ENGINES = 2000  # as simulate plays at most
KNOWN = ("format", "name", "note", "params", "ranking", "withdrawals", "results", "expected")
_MIRROR = {"1": "0", "0": "1", "=": "=", "-": "-"}


@dataclass(frozen=True, slots=True)
class Case:
    """A case that holds together; `ranking` bottom to top, `results` one matrix per game of a match."""

    name: str
    note: str
    options: BubbleOptions
    ranking: tuple[str, ...]
    withdrawals: tuple[PlannedWithdrawal, ...]
    results: tuple[tuple[str, ...], ...]

    def outcome(self, pairing: Pairing) -> Outcome:
        """How a game ends, whoever has White."""
        number = (pairing.meeting - 1) * min(2, self.options.games_per_pairing) + pairing.leg
        row = self.results[number - 1][self.ranking.index(pairing.white)]
        sign = row[self.ranking.index(pairing.black)]
        return {"1": Outcome.WHITE, "=": Outcome.DRAW, "0": Outcome.BLACK}[sign]


def read_case(source: str | bytes | Mapping[str, object], place: str = "case") -> Case:
    """A checked case from JSON text or from what `json.loads` made of it; `expected` is not looked at.

    `place` names the file in refusals. InputRefused names the field.
    """
    content = _loaded(source, place)
    if content.get("format") != _CASE_FORMAT:
        _refuse(place, "format", f"{content.get('format')!r} is not {_CASE_FORMAT!r}")
    for key in content:
        if key not in KNOWN:
            _refuse(place, str(key), f"unknown field; known are {', '.join(KNOWN)}")
    for key in ("params", "ranking", "results"):
        if key not in content:
            _refuse(place, key, "is missing")
    options = _options(content["params"], place)
    ranking = _ranking(content["ranking"], place)
    return Case(
        name=_text(content.get("name", ""), "name", place),
        note=_text(content.get("note", ""), "note", place),
        options=options,
        ranking=ranking,
        withdrawals=_withdrawals(content.get("withdrawals", []), ranking, place),
        results=_results(content["results"], ranking, options.games_per_pairing, place),
    )


def trace(notes: Iterable[Note]) -> dict[str, Any]:
    """The trace of a bubble that has ended, from its decisions alone; scores in points."""
    steps: list[dict[str, Any]] = []
    ending: dict[str, Any] = {}
    entered: dict[int, list[Any]] = {}
    withdrawals: dict[int, list[Any]] = {}
    for note in notes:
        told: dict[str, Any] = dict(note.fields)
        step = told["step"]
        if note.kind in ("enter", "unpark"):
            entered.setdefault(step, []).extend(told["entered"])
        elif note.kind == "withdraw":
            left = {key: told[key] for key in ("engine", "after_games", "was", "replacement")}
            withdrawals.setdefault(step, []).append(left)
        elif note.kind in ("park", "drop", "finish"):
            keys = ("action", "engine", "reason", "last", "last_matches")
            steps.append(
                {
                    "step": step,
                    "entered": entered.get(step, []),
                    "withdrawals": withdrawals.get(step, []),
                    "games": told["games"],
                    "active": told["active"],
                    "table": [[name, half / 2, quarters / 4] for name, half, quarters in told["table"]],
                    "decision": {key: told[key] for key in keys if key in told},
                    "parked": told["parked"],
                    "games_total": told["games_total"],
                }
            )
            ending = told
    return {
        "format": _TRACE_FORMAT,
        "steps": steps,
        "ranking": ending["ranking"],
        "withdrawn": ending["withdrawn"],
        "games_total": ending["games_total"],
    }


def _refuse(place: str, field: str, what: str) -> NoReturn:
    raise InputRefused(f"{field}: {what}", place=place)


def _loaded(source: str | bytes | Mapping[str, object], place: str) -> Mapping[str, Any]:
    if isinstance(source, Mapping):
        return source
    try:
        content = json.loads(source, object_pairs_hook=lambda pairs: _unique(pairs, place))
    except json.JSONDecodeError as fault:
        raise InputRefused(f"not JSON: {fault.msg}", place=f"{place}:{fault.lineno}") from None
    except UnicodeDecodeError as fault:
        raise InputRefused(f"not UTF-8 at byte {fault.start}", place=place) from None
    except ValueError:  # Python reads no number of more than 4300 digits
        raise InputRefused("not JSON for a case: a number of thousands of digits", place=place) from None
    except RecursionError:
        raise InputRefused("nested too deeply for a case", place=place) from None
    if not isinstance(content, dict):
        raise InputRefused(f"a case is a JSON object, this is {_kind(content)}", place=place)
    return content


def _unique(pairs: list[tuple[str, object]], place: str) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            _refuse(place, key, "stands there twice")
        found[key] = value
    return found


def _kind(value: object) -> str:
    names = {
        bool: "true or false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "an object",
    }
    return names.get(type(value), "null")


def _listed(value: object, field: str, place: str) -> list[Any]:
    if not isinstance(value, list | tuple):
        _refuse(place, field, f"a list is wanted, this is {_kind(value)}")
    return list(value)


def _text(value: object, field: str, place: str) -> str:
    if not isinstance(value, str):
        _refuse(place, field, f"a text is wanted, this is {_kind(value)}")
    return value


def _options(value: object, place: str) -> BubbleOptions:
    if not isinstance(value, Mapping):
        _refuse(place, "params", f"an object is wanted, this is {_kind(value)}")
    try:
        return BubbleOptions.model_validate(dict(value))
    except ValidationError as fault:
        first = fault.errors(include_url=False)[0]
        path = ".".join(["params", *map(str, first["loc"])])
        found = "" if first["type"] == "value_error" else f" (found {first['input']!r})"
        _refuse(place, path, first["msg"].removeprefix("Value error, ") + found)


def _ranking(value: object, place: str) -> tuple[str, ...]:
    names: list[str] = []
    listed = _listed(value, "ranking", place)
    if len(listed) > MOST_ENGINES:
        _refuse(place, "ranking", f"{len(listed):,} engines, at most {MOST_ENGINES:,} are played")
    for number, name in enumerate(listed):
        if not _text(name, f"ranking[{number}]", place):
            _refuse(place, f"ranking[{number}]", "a name is empty")
        names.append(name)
        if name in names[:-1]:
            _refuse(place, f"ranking[{number}]", f"{name!r} stands in the ranking twice")
    return tuple(names)


def _withdrawals(value: object, ranking: tuple[str, ...], place: str) -> tuple[PlannedWithdrawal, ...]:
    dues: list[PlannedWithdrawal] = []
    for number, entry in enumerate(_listed(value, "withdrawals", place)):
        field = f"withdrawals[{number}]"
        if not isinstance(entry, Mapping):
            _refuse(place, field, f"an object is wanted, this is {_kind(entry)}")
        for key in entry:
            if key not in ("engine", "after_games"):
                _refuse(place, f"{field}.{key}", "unknown field; known are engine, after_games")
        for key in ("engine", "after_games"):
            if key not in entry:
                _refuse(place, f"{field}.{key}", "is missing")
        engine = _text(entry["engine"], f"{field}.engine", place)
        if engine not in ranking:
            _refuse(place, f"{field}.engine", f"{engine!r} is not in the ranking")
        if any(due.engine == engine for due in dues):
            _refuse(place, f"{field}.engine", f"{engine!r} is withdrawn twice")
        after = entry["after_games"]
        if type(after) is not int or after < 0:
            _refuse(place, f"{field}.after_games", f"a whole number from 0 on is wanted (found {after!r})")
        dues.append(PlannedWithdrawal(engine, after))
    return tuple(dues)


def _results(value: object, ranking: tuple[str, ...], games: int, place: str) -> tuple[tuple[str, ...], ...]:
    matrices = [_listed(matrix, f"results[{g}]", place) for g, matrix in enumerate(_listed(value, "results", place))]
    if len(matrices) != games:
        _refuse(place, "results", f"{len(matrices)} matrices for games_per_pairing {games}; one per game is wanted")
    size = len(ranking)
    for g, rows in enumerate(matrices):
        if len(rows) != size:
            _refuse(place, f"results[{g}]", f"{len(rows)} rows for {size} engines")
        for i, row in enumerate(rows):
            if len(_text(row, f"results[{g}][{i}]", place)) != size:
                _refuse(place, f"results[{g}][{i}]", f"{len(row)} characters for {size} engines")
            for j, sign in enumerate(row):
                allowed = "-" if i == j else "1=0"
                if sign not in allowed:
                    _refuse(
                        place, f"results[{g}][{i}]", f"character {j + 1} is {sign!r}, allowed is one of {allowed!r}"
                    )
        for i in range(size):
            for j in range(i):
                if rows[j][i] != _MIRROR[rows[i][j]]:
                    pair = f"{ranking[i]} - {ranking[j]}"
                    _refuse(place, f"results[{g}][{i}]", f"{pair} is {rows[i][j]!r} and the other way {rows[j][i]!r}")
    return tuple(tuple(rows) for rows in matrices)
