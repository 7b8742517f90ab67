"""How far apart those were whom a tournament paired, and how its rounds kept the rules of pairing.

e_total = sqrt(sum over entrants and rounds of (RS - RS of the opponent)^2) / (2 k N), k rounds, N entrants: Vuorinen
2010, section 7.1. It shrinks with the size of the tournament, so the RMS gap stands beside it: tournaments are compared
by that. RS, relative strength: our decision (the thesis's appendix is not public): the logistic model's most likely
ratings from the tournament's own games, with one phantom draw of every entrant against 0, in Elo points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from enginetour.formats.pairing.field import Field, Kind, Turn
from enginetour.ratings.likelihood import fit
from enginetour.ratings.models import PhantomDraws

STEEP = 2  # colours that differ by so much make an absolute preference: FIDE C.04.3


@dataclass(frozen=True, slots=True)
class PairingError:
    """Elo points. `rms` is None where nobody has met anybody."""

    total: float
    rms: float | None


@dataclass(frozen=True, slots=True)
class RoundFigures:
    """One round from 1, or all of them in one line with `number` 0. Gaps in points are half points before the round."""

    number: int
    boards: int
    floats: int  # boards of unequal scores: one was drawn up, the other down
    widest: int  # the largest gap in points of a board
    rematches: int  # boards of two who had met over the board
    uneven: int  # members whose colours then differ by `STEEP` or more
    unpaired: int  # byes of every kind; who is absent, or has not come yet, is none
    error: PairingError


def relative_strengths(field: Field) -> tuple[float, ...]:
    """RS of every member in Elo points, by place; 0 for whoever played nothing. Byes and forfeits do not count.

    A draw is half a win and half a loss to the model, so the points of a match are all it needs of its games.
    """
    names = [f"{place:06}" for place in range(len(field.members))]  # two members may have one name
    counts: dict[tuple[str, str], tuple[int, int, int]] = {}
    for one, other, mine, theirs in _met(field):
        draws = mine % 2
        old = counts.get((names[one], names[other]), (0, 0, 0))
        more = ((mine - draws) // 2, draws, (theirs - draws) // 2)
        counts[names[one], names[other]] = (old[0] + more[0], old[1] + more[1], old[2] + more[2])
    if not counts:
        return (0.0,) * len(names)
    found = fit(counts, prior=PhantomDraws(1.0, 0.0)).by_name()
    return tuple(found.get(name, 0.0) for name in names)


def pairing_figures(field: Field, scores: Sequence[Sequence[int]] = ()) -> tuple[RoundFigures, ...]:
    """A line for every round and one for all; `scores` that decided the pairing, as `Field.points`, the default."""
    strengths = relative_strengths(field)
    lines = []
    met: set[tuple[int, int]] = set()
    balance = [0] * len(field.members)
    for number, row in enumerate(field.history):
        before, boards = (scores or field.points)[number], _boards(row)
        gaps = [abs(before[one] - before[other]) for one, other in boards]
        for member, turn in enumerate(row):
            balance[member] += turn.colour if turn.met and not turn.handicap else 0
        lines.append(
            RoundFigures(
                number + 1,
                boards=len(boards),
                floats=sum(gap > 0 for gap in gaps),
                widest=max(gaps, default=0),
                rematches=sum(board in met for board in boards),
                uneven=sum(abs(whites) >= STEEP for whites in balance),
                unpaired=sum(turn.opponent is None and turn.kind is not Kind.ABSENT for turn in row),
                error=pairing_error(field, strengths, (number,)),
            )
        )
        met |= {board for board in boards if row[board[0]].met}
    return (*lines, _added(lines, pairing_error(field, strengths, range(len(lines)))))


def _added(lines: Sequence[RoundFigures], error: PairingError) -> RoundFigures:
    return RoundFigures(
        0,
        boards=sum(line.boards for line in lines),
        floats=sum(line.floats for line in lines),
        widest=max((line.widest for line in lines), default=0),
        rematches=sum(line.rematches for line in lines),
        uneven=lines[-1].uneven if lines else 0,
        unpaired=sum(line.unpaired for line in lines),
        error=error,
    )


def pairing_error(field: Field, strengths: Sequence[float], rounds: Sequence[int]) -> PairingError:
    """Return the error of these rounds, counted from 0; `strengths` in Elo points by place."""
    gaps = [
        (strengths[member] - strengths[turn.opponent]) ** 2
        for number in rounds
        for member, turn in enumerate(field.history[number])
        if turn.met and turn.opponent is not None
    ]
    total = fsum(gaps)
    size = 2 * len(rounds) * len(field.members)
    return PairingError(sqrt(total) / size if size else 0.0, sqrt(total / len(gaps)) if gaps else None)


def _boards(row: Sequence[Turn]) -> list[tuple[int, int]]:
    return [(one, turn.opponent) for one, turn in enumerate(row) if turn.opponent is not None and one < turn.opponent]


def _met(field: Field) -> list[tuple[int, int, int, int]]:
    """Matches with a result: two places, the lower first, and what each scored."""
    return [
        (one, other, row[one].points, row[other].points)
        for row in field.history
        for one, other in _boards(row)
        if row[one].met and row[one].points + row[other].points
    ]
