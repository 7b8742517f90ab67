"""What the opponents' scores add up to: SOS and its kin, and what a round without a game stands for in them.

FIDE C.07 section 16, from March 2026: an opponent's asked-for byes at the end of the tournament count as draws (16.3);
an own round without a game is one against a dummy with the own score, at most the scheduled opponent's after a
forfeit (16.4.1), else at most draws in all rounds (16.4.2); of lowest terms, rounds left unplayed by choice are
cut first (16.5).

The rules of 2023 have no ceiling for the dummy. Those of 2009 to 2023 (C.02 annex, 13.15) have a virtual opponent
instead: it has the own score before the round, what the own result leaves of a win, and draws in the rounds after it.
There all rounds of the opponents without a game count as draws, and the lowest terms are cut whatever they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enginetour.formats.pairing.field import Kind, Turn
from enginetour.formats.pairing.ledger import Account, Ledger
from enginetour.formats.pairing.terms import FIDE

ASKED_FOR = (Kind.HALF_BYE, Kind.ABSENT)  # C.07 16.1.1: byes by request


@dataclass(frozen=True, slots=True)
class Summand:
    """One round in a sum over opponents: what stands on the other side and what was scored against it."""

    score: int
    points: int = 0
    by_choice: bool = False


def summands(ledger: Ledger, account: Account) -> tuple[tuple[Summand, ...], ...]:
    """Of every member, one a round; a handicap given is added to the opponent's score (but not to its wins)."""
    seen = _adjusted(ledger, ledger.seen(account))
    step = 0 if account == "wins" else ledger.field.win
    found = []
    for member, turns in enumerate(ledger.turns):
        row = []
        for number, turn in enumerate(turns):
            opponent = ledger.faced(turn)
            if opponent is None:
                row.append(_without_game(ledger, account, member, number, seen))
            else:
                row.append(Summand(seen[opponent] + step * turn.handicap, turn.points))
        found.append(tuple(row))
    return tuple(found)


def summed(rows: Sequence[Sequence[Summand]], lowest: int = 0, highest: int = 0) -> list[int]:
    """SOS of each, without so many of the lowest and highest summands; 0 when none is left."""
    return [sum(_kept([(s.by_choice, s.score) for s in row], lowest, highest)) for row in rows]


def weighted(rows: Sequence[Sequence[Summand]]) -> list[int]:
    """SODOS, Sonneborn-Berger: each score times the points against it."""
    return [sum(summand.score * summand.points for summand in row) for row in rows]


def second(ledger: Ledger, account: Account, sums: Sequence[int]) -> list[int]:
    """SOSOS: the opponents' `sums`; without a game the own one, or what the own start would have given, or 0."""
    rounds, begun = len(ledger.field.history), ledger.begun(account)
    found = []
    for member, turns in enumerate(ledger.turns):
        match ledger.terms.unplayed:
            case "zero":
                alone = 0
            case "start":
                alone = begun[member] * rounds
            case _:
                alone = sums[member]
        opponents = map(ledger.faced, turns)
        found.append(sum(alone if opponent is None else sums[opponent] for opponent in opponents))
    return found


def extended(ledger: Ledger, *, won: bool) -> list[int]:
    """EXT: opponents' wins, up to three times for those met on better terms than the bands ask for; EXR: `won` ones."""
    found = []
    for member, turns in enumerate(ledger.turns):
        total = 0
        for turn in turns:
            opponent = ledger.faced(turn)
            if opponent is not None and (ledger.won(turn) or not won):
                daring = turn.handicap - (ledger.bands[member] - ledger.bands[opponent])
                total += ledger.field.scores[opponent] * max(0, min(daring + 1, 3))
        found.append(total)
    return found


def _without_game(ledger: Ledger, account: Account, member: int, number: int, seen: Sequence[int]) -> Summand:
    turn = ledger.turns[member][number]
    begun, own = ledger.begun(account)[member], ledger.scores(account)[member]
    match ledger.terms.unplayed:
        case "zero":
            return Summand(0)
        case "start":
            return Summand(begun)
        case "own":
            return Summand(own)
        case "fide-2023":
            return Summand(own, turn.points, _by_choice(ledger, turn))
        case "fide-2009":
            return Summand(begun + _virtual(ledger, member, number), turn.points)
    cap = begun + ledger.field.rounds * ledger.field.level if turn.opponent is None else seen[turn.opponent]
    return Summand(min(own, cap), turn.points, _by_choice(ledger, turn))


def _virtual(ledger: Ledger, member: int, number: int) -> int:
    """What the virtual opponent of round `number`, from 0, has at the end (C.02 annex, 13.15.2)."""
    field, turn = ledger.field, ledger.turns[member][number]
    left = field.rounds - number - 1
    return field.points[number][member] + max(0, field.win - turn.points) + left * field.level


def _by_choice(ledger: Ledger, turn: Turn) -> bool:
    """C.07 16.1.2: a bye by request, or a forfeit that was not won."""
    return turn.kind in ASKED_FOR or (turn.kind is Kind.FORFEIT and not ledger.won(turn))


def _adjusted(ledger: Ledger, scores: Sequence[int]) -> Sequence[int]:
    """Under FIDE's rules, with the byes asked for at the end as draws."""
    if ledger.terms.unplayed not in FIDE:
        return scores
    draw, found = ledger.field.level, list(scores)
    for member, turns in enumerate(ledger.turns):
        if ledger.terms.unplayed == "fide-2009":
            found[member] += sum(draw - turn.points for turn in turns if not turn.met)
            continue
        for turn in reversed(turns):
            if not _by_choice(ledger, turn):
                break
            if turn.kind in ASKED_FOR:
                found[member] += draw - turn.points
    return found


def _kept(terms: list[tuple[bool, int]], lowest: int, highest: int) -> list[int]:
    by_choice_first = sorted(terms, key=lambda term: (not term[0], term[1]))
    left = sorted(score for _, score in by_choice_first[lowest:])
    return left[: max(0, len(left) - highest)]
