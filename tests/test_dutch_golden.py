"""Every round of recorded tournaments: the same pairs, colours and byes as another implementation's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from enginetour.formats.dutch import CERTIFIED, pair_dutch
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Board, Field, Kind, Member, Paired, Turn

FILES = sorted((Path(__file__).parent / "golden" / "trf").glob("*.trf"))
COLOURS = {"w": WHITE, "b": BLACK}
POINTS = {"1": 2, "+": 2, "U": 2, "F": 2, "=": 1, "H": 1}
UNPLAYED = {"U": Kind.BYE, "H": Kind.HALF_BYE, "F": Kind.FULL_BYE}


def turn_of(text: str) -> Turn:
    """The ten columns of a round: opponent, colour, result."""
    opponent, colour, result = text[:4].strip(" 0"), text[5:6], text[7:8]
    if not opponent:
        return Turn(UNPLAYED.get(result, Kind.ABSENT), points=POINTS.get(result, 0))
    kind = Kind.FORFEIT if result in "+-" else Kind.PLAYED
    return Turn(kind, int(text[:4]) - 1, COLOURS.get(colour, NEITHER), POINTS.get(result, 0))


def rounds_of(path: Path) -> Iterator[tuple[Field, int, set[Board], tuple[int, ...]]]:
    """Field and initial colour before each round, then its boards and bye."""
    lines = [line[91:] for line in path.read_text().splitlines() if line.startswith("001")]
    rounds = max(-(-len(line) // 10) for line in lines)
    history = tuple(tuple(turn_of(line[10 * r : 10 * r + 10]) for line in lines) for r in range(rounds))
    members = tuple(Member(f"{number}") for number in range(1, len(lines) + 1))
    whole = Field(members, history, rounds=rounds)
    there = whole.before(1).present
    count, first = next((n, history[0][m]) for n, m in enumerate(there, 1) if history[0][m].paired)
    initial = first.colour if count % 2 else -first.colour
    for number, row in enumerate(history, 1):
        boards = {Board(m, t.opponent) for m, t in enumerate(row) if t.opponent is not None and t.colour == WHITE}
        yield whole.before(number), initial, boards, tuple(m for m, t in enumerate(row) if t.kind is Kind.BYE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_round_as_recorded(path: Path) -> None:
    """Pairs, colours and the bye of each round, from what was known before it."""
    for field, initial, boards, byes in rounds_of(path):
        paired = pair_dutch(field, initial_colour=initial)
        assert (set(paired.boards), paired.byes) == (boards, byes), f"round {field.number}"
        assert paired == Paired(paired.boards, byes, CERTIFIED)


def test_there_are_rounds_to_compare() -> None:
    """139 of them, with 2018 pairs and 73 byes: a reader that finds nothing proves nothing."""
    rounds = [case for path in FILES for case in rounds_of(path)]
    assert len(rounds) == 139
    assert sum(len(boards) for _, _, boards, _ in rounds) == 2018
    assert sum(len(byes) for *_, byes in rounds) == 73
