"""Rounds of enginetour in file formats of other programs, and reasons for a pairing.

A report has a column for each game: a round of two-game matches becomes two rounds against one opponent, and a bye
becomes two byes. Points are the points of games, and colors are the colors that were played.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as made
from itertools import combinations
from typing import NamedTuple

import numpy as np

from enginetour.formats.base import RequestedByes
from enginetour.formats.pairing.dutch_criteria import virtual_points
from enginetour.formats.pairing.field import BLACK, WHITE, Field, Kind, Paired, Turn, Unpairable
from enginetour.formats.pairing.matching import Unpairable as ShortageUnpairable
from enginetour.formats.pairing.matching import best_matching, relaxed_matching
from enginetour.formats.rounds import PairingSystem, Reason, Rounds, RoundsState, WeightedRound
from enginetour.interop.files import one_line
from enginetour.interop.foreign import SeparatedField
from enginetour.interop.tde import KOMI, ODDS_KOMI, UNPLAYED, written_rating
from enginetour.interop.trf import MOST_ENTRIES, TrfCell, TrfEntrant, TrfLine, TrfReport, virtual_lines
from enginetour.model.errors import InputRefused
from enginetour.model.game import Outcome
from enginetour.ratings import grades

# Tournaments in rounds as files of other programs: a FIDE report, or a register and rounds of the AGA.

_UNPLAYED_LETTERS = {Kind.BYE: "U", Kind.HALF_BYE: "H", Kind.FULL_BYE: "F", Kind.ABSENT: "Z"}
_HALF_POINTS = {"1": 2, "=": 1, "0": 0, "+": 2, "-": 0, "U": 2, "H": 1, "F": 2, "Z": 0, " ": 0}  # half points
_HALF_POINTS |= {"W": 2, "D": 1, "L": 0}
_TYPES = {"dutch": "FIDE_DUTCH_2025", "swiss": "FIDE_DUTCH_2025"}  # TRF26, 192


class TableGame(NamedTuple):
    """A game as in the tournament's table: a game voided after its round still counts there, but is not rated."""

    white: str
    outcome: Outcome
    rated: bool = True

    def letter(self, name: str) -> str:
        """Return the TRF letter of the result for one of the two players."""
        return ("0=1" if self.rated else "LDW")[self.outcome.half_points(white=self.white == name)]


_MatchGames = Mapping[tuple[int, frozenset[str]], Sequence[TableGame]]
"""Games of each match in order: (round, both names) -> games."""


@dataclass(frozen=True, slots=True)
class PlayedTournament:
    """A tournament with the games played so far; `games_each` is the number of games of one match."""

    name: str
    system: str
    field: Field
    games: _MatchGames
    games_each: int = 1
    ranks: Mapping[str, int | None] | None = None
    forbid_family: bool = False
    accelerated: int = 0  # number of rounds with virtual points (Baku)
    bye: int = 2  # half points of a bye in one column; a bye has `bye_cells` columns in each round
    bye_cells: int = 1
    # Absent places in future rounds, by (round, Z or H).
    away: Mapping[tuple[int, str], Sequence[int]] = made(default_factory=dict)


def played_tournament(
    name: str, system: str, format_: Rounds, state: RoundsState, games: _MatchGames
) -> PlayedTournament:
    """Return the current state of a tournament for export."""
    options = format_.options
    each = options.games_per_pairing
    bye = format_.system.bye_points(state.field) * (each if getattr(options, "scoring", "") == "match" else 1)
    now = format_.so_far(state, by_match=False)
    # Each column of the round gets an equal share of the points of a bye if possible; otherwise the first gets all.
    alike = bye % each == 0
    return PlayedTournament(
        name,
        system,
        now,
        games,
        each,
        {line.name: line.rank for line in format_.standings(state)},
        bool(getattr(options, "forbid_family", False)),
        accelerated=(options.rounds + 1) // 2 if getattr(options, "acceleration", "") == "baku" else 0,
        bye=bye // each if alike else bye,
        bye_cells=each if alike else 1,
        away=_away(now, format_.leave, state.gone),
    )


def _away(now: Field, leave: RequestedByes, gone: Collection[int]) -> dict[tuple[int, str], list[int]]:
    found: dict[tuple[int, str], list[int]] = {}
    for number in range(len(now.history) + 1, now.rounds + 1):
        for place, member in enumerate(now.members):
            if place in gone or leave.takes(member.name, number):
                half = place not in gone and leave.halves(member.name, number)
                found.setdefault((number, "H" if half else "Z"), []).append(place)
    return found


def trf_report(one: PlayedTournament) -> TrfReport:
    """Return the tournament as TRF26; raise InputRefused for more entrants than four columns can number."""
    members = one.field.members
    if len(members) > MOST_ENTRIES:
        what = f"a TRF file can have at most {MOST_ENTRIES} entrants (found {len(members)})"
        raise InputRefused(what, place=one.name)
    lines = [
        f"012 {one_line(one.name)}",
        f"062 {len(members)}",
        f"092 {one.system}",
        f"142 {one.field.rounds * one.games_each:3d}",
    ]
    if one.bye != _HALF_POINTS["U"]:
        lines.append(f"162  P{one.bye / 2:4.1f}")
    if one.system in _TYPES and one.games_each == 1:
        lines.append(f"192 {_TYPES[one.system]}{'_BAKU' * bool(one.accelerated)}")
    if one.accelerated and one.games_each == 1:
        rows = [virtual_points(one.field, number, one.accelerated) for number in range(1, one.accelerated + 1)]
        lines += virtual_lines([dict(enumerate(row, 1)) for row in rows])
    for (number, letter), places in one.away.items():
        for column in range((number - 1) * one.games_each + 1, number * one.games_each + 1):
            lines.append(f"240 {letter} {column:03d}" + "".join(f" {place + 1:4d}" for place in places))
    if one.forbid_family:
        lines += _families(one)
    entries = []
    for place, member in enumerate(members):
        cells = tuple(cell for number in range(len(one.field.history)) for cell in _cells(one, place, number))
        entries.append(
            TrfEntrant(
                number=place + 1,
                name=one_line(member.name) or f"entrant {place + 1}",
                rating=None if member.rating is None else min(9999, max(0, round(member.rating))) or None,
                federation=member.origin.upper() if len(member.origin) == 3 and member.origin.isalpha() else "",
                points=sum(one.bye if cell.result == "U" else _HALF_POINTS[cell.result] for cell in cells),
                rank=(one.ranks or {}).get(member.name),
                cells=cells,
            )
        )
    return TrfReport((*map(TrfLine, lines), *entries), one.name)


def _families(one: PlayedTournament) -> list[str]:
    kin: dict[str, list[int]] = {}
    for place, member in enumerate(one.field.members):
        if member.family:
            kin.setdefault(member.family, []).append(place + 1)
    last = one.field.rounds * one.games_each
    pairs = [pair for numbers in kin.values() for pair in combinations(numbers, 2)]
    return [f"260 001 {last:03d} {first:4d} {second:4d}" for first, second in pairs]


def _cells(one: PlayedTournament, place: int, number: int) -> list[TrfCell]:
    """Return one cell per game of a match, including extra games; `number` is the index of the round, from 0."""
    turn = one.field.history[number][place]
    wide = max([one.games_each, *(len(found) for (at, _), found in one.games.items() if at == number + 1)])
    if turn.opponent is None:
        count = one.bye_cells if turn.kind is Kind.BYE else one.games_each
        return [TrfCell(result=_UNPLAYED_LETTERS[turn.kind])] * count + [TrfCell()] * (wide - count)
    name, other = (one.field.members[at].name for at in (place, turn.opponent))
    games = one.games.get((number + 1, frozenset((name, other))), ())
    cells = [TrfCell(turn.opponent + 1, "w" if game.white == name else "b", game.letter(name)) for game in games]
    scored = sum(_HALF_POINTS[cell.result] for cell in cells)
    others = one.field.history[number][turn.opponent].points - (2 * len(cells) - scored)
    left = _unplayed_result(turn, turn.points - scored, others)
    while len(cells) < one.games_each:
        cells.append(TrfCell(turn.opponent + 1, _color(turn, len(cells)), left))
    return cells + [TrfCell()] * (wide - len(cells))


def _color(turn: Turn, game: int) -> str:
    """Return the color of a game that was not played; later games of a match do not have a known color."""
    return {WHITE: "w", BLACK: "b"}.get(turn.color, "-") if game == 0 else "-"


def _unplayed_result(turn: Turn, points: int, others: int) -> str:
    """Return the result of an unplayed game: decided if the match has points beyond its games, otherwise open."""
    if points or others or turn.kind is Kind.FORFEIT:
        return "+" if points > 0 else "-"
    return " "


def register(one: PlayedTournament, one_dan: float = grades.AGA) -> dict[str, str]:
    """Return register.tde and a file for each round.

    `one_dan` is the rating at which 1 dan begins on the tournament's scale. Raise InputRefused for matches of several
    games and missing ratings.
    """
    if one.games_each > 1:
        what = f"matches have {one.games_each} games, but a TDE round has one game per entrant"
        raise InputRefused(what, place=one.name, step="use export trf")
    ids = [f"ET{place + 1}" for place in range(len(one.field.members))]
    lines = []
    for place, member in enumerate(one.field.members):
        if member.rating is None:
            step = "set a rating in its engine file, or use export trf"
            what = f"{member.name} does not have a rating, which a register needs ({grades.WIDTH:g} points per grade)"
            raise InputRefused(what, step=step)
        missed = [n for n, row in enumerate(one.field.history, 1) if _is_missing(row[place])]
        club = f" CLUB={'_'.join(one_line(member.family).split())}" if member.family else ""
        # The name may consist only of text that a register cannot contain.
        name = one_line(re.sub(r"#|(?i:(?<!\S)CLUB=)", " ", member.name)) or ids[place]
        drops = "".join(f" DROP{number}" for number in missed)
        rating = written_rating(member.rating - one_dan + grades.AGA)
        lines.append(f"{ids[place]} {name} {rating}{club}{' #' + drops if drops else ''}")
    texts = {"register.tde": "".join(f"{line}\n" for line in lines)}
    for number, row in enumerate(one.field.history, 1):
        rows = [f"# round {number}"]
        for place, turn in enumerate(row):
            if turn.color == WHITE and turn.opponent is not None:
                decided = turn.points + row[turn.opponent].points > 0
                result = "bdw"[turn.points] if decided else UNPLAYED
                odds = f"{turn.handicap} {ODDS_KOMI}" if turn.handicap > 0 else f"0 {KOMI}"
                rows.append(f"{ids[place]} {ids[turn.opponent]} {result} {odds}")
        texts[f"{number}.tde"] = "".join(f"{line}\n" for line in rows)
    return texts


def _is_missing(turn: Turn) -> bool:
    """Return whether an entrant is in no line of a round and had no bye; DROP distinguishes this from a bye."""
    return turn.kind is not Kind.BYE and not (turn.opponent is not None and turn.color)


# Why two entrants are paired or not: criterion by criterion, with the cost of the other decision. If the round has
# maximum weight, the cost is exact: the best round with or without the pair is solved too. The proof alone gives a
# lower bound: half the slack of the pair. If a rule decides, it is applied again with the other decision forced.

_Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Cost:
    """Weight of the round, and the weight that the opposite decision loses.

    `least` is a proved lower bound of the loss, or None if there is none. `exact` is the loss, or None if the opposite
    decision is impossible.
    """

    total: int
    least: int | None
    exact: int | None


@dataclass(frozen=True, slots=True)
class PairingReason:
    """Reasons why two entrants are or are not paired.

    `instead` has the pairs of the best round with the opposite decision; it is None if no such round exists.
    """

    pair: tuple[int, int]
    paired: Paired
    together: bool
    facts: tuple[str, ...]
    rules: tuple[str, ...]
    reasons: tuple[Reason, ...]
    cost: _Cost | None
    instead: _Pairs | None


def pair_facts(system: PairingSystem, field: Field, one: int, other: int) -> tuple[str, ...]:
    """Return the properties of a pair that every system considers, as text."""
    names = [field.members[place].name for place in (one, other)]
    rows = system.scores(field)
    scores = [rows[-1][place] for place in (one, other)]
    facts = []
    for place, name, score in zip((one, other), names, scores, strict=True):
        begun = f", starting score {rows[0][place] / 2:g}" if system.score == "MMS" else ""
        facts.append(f"{name} has {_describe_score(system, score)}{begun}")
    facts.append("same score group" if scores[0] == scores[1] else f"difference: {_points(abs(scores[0] - scores[1]))}")
    for place, name in zip((one, other), names, strict=True):
        if balance := field.balance(place):
            more, less = ("White", "Black") if balance > 0 else ("Black", "White")
            facts.append(f"{name} had {more} in {abs(balance)} more game{'s' * (abs(balance) > 1)} than {less}")
    if number := field.meetings[one].get(other):
        facts.append(f"met in round {number}" if number < field.number else "must not meet according to the file")
    family = field.members[one].family
    if family and family == field.members[other].family:
        facts.append(f"both belong to the family {family}")
    return tuple(facts)


def _describe_score(system: PairingSystem, score: int) -> str:
    return _points(score) if system.score == "points" else f"{system.score} {score / 2:g}"


def _points(half_points: int) -> str:
    return f"{half_points / 2:g} point{'' if half_points == 2 else 's'}"


def explain_pair(system: PairingSystem, field: SeparatedField, paired: Paired, one: int, other: int) -> PairingReason:
    """Explain the pairing of two members in a round that the system paired; raise ValueError if one is absent."""
    pair = (min(one, other), max(one, other))
    there = {place for board in paired.boards for place in board.pair}
    for place in pair:
        if place not in field.present:
            raise ValueError(f"{field.members[place].name} is not present in round {field.number}")
    together = pair in {board.pair for board in paired.boards}
    cost, instead = None, None
    weighed = system.weighed(field) if set(pair) <= there else None
    if weighed is not None:
        cost, instead = _cost(weighed, pair, together=together)
    else:
        instead = _pair_again(system, field, paired, pair, together=together)
    facts = list(pair_facts(system, field, *pair))
    facts += [f"{field.members[place].name} has the bye" for place in pair if place in paired.byes]
    rules = system.rules(field, paired, *pair)
    reasons = system.explain(field, *pair) if set(pair) <= there else ()
    return PairingReason(pair, paired, together, tuple(facts), rules, reasons, cost, instead)


def _cost(weighed: WeightedRound, pair: tuple[int, int], *, together: bool) -> tuple[_Cost, _Pairs | None]:
    one, other = (weighed.members.index(place) for place in pair)
    best = relaxed_matching(weighed.weights, weighed.barred)
    count = len(weighed.members)
    forbidden = np.zeros((count, count), dtype=np.bool_)
    if together:
        forbidden[one, other] = forbidden[other, one] = True
    else:
        for place, mate in ((one, other), (other, one)):
            forbidden[place, :] = forbidden[:, place] = True
            forbidden[place, mate] = forbidden[mate, place] = False
        forbidden[one, other] = forbidden[other, one] = False
    least = None if together else _slack_bound(weighed, one, other)
    try:
        changed = best_matching(weighed.weights, forbidden | (weighed.barred > 0))
    except ShortageUnpairable:
        return _Cost(best.weight, least, None), None
    places = [sorted((weighed.members[i], weighed.members[j])) for i, j in changed.pairs]
    return _Cost(best.weight, least, best.weight - changed.weight), tuple((low, high) for low, high in places)


def _pair_again(
    system: PairingSystem, field: SeparatedField, paired: Paired, pair: tuple[int, int], *, together: bool
) -> _Pairs | None:
    """Return the system's round with or without the pair; None if it breaks more rules than the actual round."""
    one, other = pair
    if not together and other in field.meetings[one]:
        return None
    forced = field.parted(one, other) if together else field
    if not together:
        for place in field.present:
            if place not in pair:
                forced = forced.parted(one, place).parted(other, place)
    try:
        found = system.paired(forced)
    except Unpairable:
        return None
    if len(found.remarks) > len(paired.remarks):
        return None
    pairs = tuple(board.pair for board in found.boards)
    return pairs if (pair in pairs) is not together else None


def _slack_bound(weighed: WeightedRound, one: int, other: int) -> int | None:
    """Return half of the pair's slack in the proof, rounded up; None if a barred pair makes the proof impossible."""
    if weighed.barred[one, other]:
        return None
    try:
        proof = best_matching(weighed.weights, weighed.barred > 0).proof
    except ShortageUnpairable:
        return None
    return -(-proof.slack(one, other, int(weighed.weights[one, other])) // 2)
