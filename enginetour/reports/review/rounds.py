"""A tournament in rounds: who met whom in each, with what result, and what the pairing said of itself."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enginetour.formats.pairing.field import Field
from enginetour.formats.rounds import Rounds
from enginetour.interop.roundfiles import so_far
from enginetour.model.game import Note
from enginetour.reports.pairingerror import RoundFigures, pairing_figures
from enginetour.store.games import GameLine


@dataclass(frozen=True, slots=True)
class Board:
    """One match of a round; `games` has number, White's name and result of each that counts."""

    white: str
    black: str
    odds: int  # bands White gives, below 0 takes
    games: tuple[tuple[int, str, str], ...]
    half_points: tuple[int, int]  # of `white` and of `black` in these games


@dataclass(frozen=True, slots=True)
class Round:
    """As its note has it: `guarantee` is the proof of the matching, `remarks` say why these pairs."""

    number: int
    before: Mapping[str, int]  # half points of each entrant before it, as the pairing counts them
    boards: tuple[Board, ...]
    byes: tuple[str, ...]
    half_byes: tuple[str, ...]
    absent: tuple[str, ...]
    guarantee: str
    remarks: tuple[str, ...]
    told: tuple[str, ...]  # notes of other kinds that came while it was played


def field_of(format_: Rounds, state: Any) -> tuple[Field, tuple[tuple[int, ...], ...]]:
    """What was played, as the system sees it, and the scores that decided the pairing, before each round and now."""
    field = so_far(format_, state, by_match=format_.options.scoring == "match")
    return field, format_.system.scores(field)


def rounds_of(
    format_: Rounds, state: Any, games: Sequence[GameLine]
) -> tuple[tuple[Round, ...], tuple[RoundFigures, ...]]:
    """Every round that was paired, oldest first, and the figures of the pairing report."""
    field, rows = field_of(format_, state)
    names = [member.name for member in field.members]
    scores = [dict(zip(names, row, strict=True)) for row in rows]
    met: dict[tuple[int, frozenset[str]], list[GameLine]] = {}
    for game in games:
        if game.counts:
            met.setdefault((game.round, frozenset((game.white, game.black))), []).append(game)
    asides = _with_asides(format_.notes(state))
    return tuple(_round(note, told, met, scores) for note, told in asides), pairing_figures(field, rows)


def _with_asides(notes: Iterable[Note]) -> Iterator[tuple[Note, list[str]]]:
    """The note of each round, and the words of what came after it and before the next."""
    current: Note | None = None
    told: list[str] = []
    for note in notes:
        if note.kind == "round":
            if current is not None:
                yield current, told
            current, told = note, told if current is None else []
        else:
            told.append(note.text)
    if current is not None:
        yield current, told


def _round(
    note: Note,
    told: Sequence[str],
    met: Mapping[tuple[int, frozenset[str]], list[GameLine]],
    scores: Sequence[Mapping[str, int]],
) -> Round:
    row: dict[str, Any] = dict(note.fields)
    odds = row.get("odds") or (0,) * len(row["pairs"])
    return Round(
        number=row["round"],
        before=scores[row["round"] - 1] if row["round"] <= len(scores) else {},
        boards=tuple(
            _board(white, black, given, met.get((row["round"], frozenset((white, black))), ()))
            for (white, black), given in zip(row["pairs"], odds, strict=True)
        ),
        byes=tuple(row.get("byes", ())),
        half_byes=tuple(row.get("half_byes", ())),
        absent=tuple(row.get("absent", ())),
        guarantee=str(row.get("guarantee", "")),
        remarks=note.remarks,
        told=tuple(told),
    )


def _board(white: str, black: str, odds: int, games: Sequence[GameLine]) -> Board:
    mine = sum(game.outcome.half_points(white=game.white == white) for game in games)
    lines = tuple((game.number, game.white, str(game.outcome)) for game in games)
    return Board(white, black, odds, lines, (mine, 2 * len(games) - mine))
