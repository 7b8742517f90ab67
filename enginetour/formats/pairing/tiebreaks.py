"""Tie-breaks (Buchholz/SOS, Sonneborn-Berger, direct encounter, ...) by their published codes.

code     name                       source           unit            note
PTS      points                     -                half points     unplayed rounds included; NBW is the same
NBW      number of wins             Gotha            half points     draws are halves; a bye as it scores
MMS      McMahon score              Gotha            half points     start + NBW + half a win an absence + bonus
SOS      sum of opponents' scores   EGF              half points     over MMS where there are starts, else over NBW
SOSW     the same over NBW          Gotha            half points
SOSM     the same over MMS          Gotha            half points     a handicap given is added
SOS-1    without the lowest         Gotha            half points     SOSW-1, SOSM-1 too
SOS-2    without the lowest two     Gotha            half points     SOSW-2, SOSM-2 too
SOSOS    sum of opponents' SOS      EGF              half points     SOSOSW, SOSOSM too
SODOS    sum of defeated scores     EGF              quarter points  half for a draw; SODOSW, SODOSM too
CUSS     sum of scores by rounds    EGF              half points     CUSSW, CUSSM too
EXT      exploits tried             Gotha            half points     opponents' NBW, up to threefold across the bands
EXR      exploits                   Gotha            half points     those won
STS      Strasbourg score           Gotha            half points     MMS and the lead of a cup inside
SOSTS    sum of opponents' STS      Gotha            half points
CPS      cup score                  Gotha            half points     doubled every round, then the round's points
DC       direct confrontation       Gotha            layers          who beat whom among the tied, rings as one
SDC      the simple one             Gotha            wins            0 unless all the tied have met, none level
CAT      category                   Gotha            categories      the lower first, so counted down
RANK     band                       Gotha            bands
RATING   rating                     AGA              rating points   as it is now, 0 without one
LPR      least predictable removed  Vuorinen 2.4.4   half points     without the game between the nearest ratings
DE       direct encounter           FIDE C.07 6      half points     0 for all unless all the tied have met
BH       Buchholz                   FIDE C.07 8.1    half points     unplayed rounds: section 16
BH-C1    Buchholz cut 1             FIDE C.07 14.1   half points     what was left unplayed by choice is cut first
BH-C2    Buchholz cut 2             FIDE C.07 14.2   half points
BH-M1    Buchholz median 1          FIDE C.07 14.3   half points
BH-M2    Buchholz median 2          FIDE C.07 14.4   half points
AOB      average opponents' BH      FIDE C.07 8.2    1/100 points    halves up
SB       Sonneborn-Berger           FIDE C.07 9.1    quarter points  SODOSW with unplayed rounds by section 16
KS       Koya score                 FIDE C.07 9.2    half points     over the board, against half of all points or more
PS       progressive score          FIDE C.07 7.5    half points     CUSSW
WIN      wins                       FIDE C.07 7.1    rounds          byes and forfeits that score as wins count
WON      wins over the board        FIDE C.07 7.2    rounds
BPG      games with Black           FIDE C.07 7.3    games           half of a match with both colours
ARO      average rating of opp.     FIDE C.07 10.1   rating points   rated ones met over the board
TPR      performance                FIDE C.07 10.2   rating points   ARO + the table's difference for the score

How a round without a game counts (`unplayed`) is the same for all codes of a table; DE, BPG, WON, ARO, TPR never
count it. A round is won with more than half of what its match is worth. C.07 section 6 also ranks one of the tied whom
no missing game between them could pass; DE does not (our decision).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, fsum
from typing import Literal, TypeVar

from enginetour.formats.pairing.field import Field, Kind, Turn
from enginetour.formats.pairing.mcmahon import band, mcmahon_points

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Tally:
    """What one entrant got out of all its games against one other."""

    half_points: int = 0
    games: int = 0
    wins: int = 0


# name -> opponent -> what name scored against that opponent
Cross = Mapping[str, Mapping[str, Tally]]
_Scores = Mapping[str, int]
NOTHING = Tally()


def against(cross: Mapping[K, Mapping[K, Tally]], name: K, opponent: K) -> Tally:
    """The tally of `name` against `opponent`, an empty one if they have not met."""
    row = cross.get(name)
    return NOTHING if row is None else row.get(opponent, NOTHING)


def sonneborn_berger(name: str, cross: Cross, scores: _Scores) -> int:
    """Points against each opponent of `scores` times that opponent's score, in quarter points.

    Quarters keep half of a half point exact. Only opponents listed in `scores` count. Source: FIDE C.07 9.
    """
    return sum(against(cross, name, other).half_points * score for other, score in scores.items() if other != name)


def direct_encounter(tied: Collection[K], cross: Mapping[K, Mapping[K, Tally]]) -> dict[K, int]:
    """Half points of each of the tied against the others of them; all 0 unless all have met. Source: FIDE C.07 6."""
    rows = {name: [against(cross, name, other) for other in tied if other != name] for name in tied}
    if not all(tally.games for row in rows.values() for tally in row):
        return dict.fromkeys(tied, 0)
    return {name: sum(tally.half_points for tally in row) for name, row in rows.items()}


def wins(name: str, cross: Cross, scores: _Scores) -> int:
    """Games won against opponents listed in `scores`. Source: FIDE C.07 7."""
    return sum(against(cross, name, other).wins for other in scores if other != name)


# code -> (tied, cross, scores) -> value of each of the tied
CODES: dict[str, Callable[[Collection[str], Cross, _Scores], dict[str, int]]] = {
    "SB": lambda tied, cross, scores: {name: sonneborn_berger(name, cross, scores) for name in tied},
    "DE": lambda tied, cross, _: direct_encounter(tied, cross),
    "WIN": lambda tied, cross, scores: {name: wins(name, cross, scores) for name in tied},
}


Unplayed = Literal["own", "start", "zero", "fide", "fide-2023", "fide-2009"]
"""What a round without a game adds to the own SOS: own score (Vuorinen 2010), own start (Gotha), 0, C.07 section 16.

FIDE's rules are those of 2026, of 2023 (no ceiling for the dummy) and of 2009 to 2023 (a virtual opponent).
"""
_FIDE = ("fide", "fide-2023", "fide-2009")

Absence = Literal["standings", "pairing-only", "nothing"]
"""Where the half win of an absence counts in a McMahon score; pairing-only: and in the opponents' SOS (EPM)."""


@dataclass(frozen=True, slots=True)
class PlacementTerms:
    """All by place in the entry order; what is empty is the same for everybody, `bands` then follow the ratings."""

    starts: tuple[int, ...] = ()  # in won matches
    bands: tuple[int, ...] = ()
    categories: tuple[int, ...] = ()  # 0 is the top one
    ratings: tuple[float | None, ...] = ()  # as they are now; empty: as the members brought them
    cup: frozenset[int] = frozenset()  # a top group that plays a cup inside the tournament
    unplayed: Unplayed = "zero"
    absence: Absence = "standings"
    whole: bool = True  # points of byes and absences are rounded down to whole wins together
    by_wins: bool = False  # the tournament is about wins, McMahon scores run beside them
    bonus: tuple[int, ...] = ()  # half points by hand, in standings only
    pair_list: bool = False  # all pairs are known from the start, so a round without an opponent is not a round
    absence_in_sos: bool = False  # each absence adds half a win to what the opponents' SOS see, unrounded


_Account = Literal["wins", "mms", "sts"]
"""Which score a code is about: NBW, MMS, or MMS with the lead of a cup inside."""


@dataclass(frozen=True, eq=False)
class PlacementData:
    """Scores in half points of games, as in the field."""

    field: Field
    terms: PlacementTerms

    @cached_property
    def turns(self) -> tuple[tuple[Turn, ...], ...]:
        """What each member did, round by round, but for boards that have no result yet."""
        listed = self.terms.pair_list
        return tuple(
            tuple(
                row[member]
                for row in self.field.history
                if not _open(row, row[member]) and (row[member].paired or not listed)
            )
            for member in range(len(self.field.members))
        )

    @property
    def main(self) -> _Account:
        """The score the tournament is about."""
        return "mms" if self.terms.starts and not self.terms.by_wins else "wins"

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """What McMahon scores begin with."""
        return tuple(start * self.field.win for start in self._start_wins)

    @cached_property
    def bands(self) -> tuple[int, ...]:
        """As given, or the grades of the members; else by hundreds of the rating, 0 without one."""
        graded = zip(self.field.members, self.ratings, strict=True)
        return self.terms.bands or tuple(
            band(rating or 0.0) if member.band is None else member.band for member, rating in graded
        )

    @cached_property
    def ratings(self) -> tuple[float | None, ...]:
        """Now, or as the members brought them."""
        return self.terms.ratings or tuple(member.rating for member in self.field.members)

    @cached_property
    def mms(self) -> tuple[tuple[int, ...], ...]:
        """McMahon scores in the table, before each round so far and now."""
        return self._mcmahon(absence=self.terms.absence == "standings", whole=self.terms.whole)

    @cached_property
    def lead(self) -> tuple[int, ...]:
        """Of the cup inside: two wins for whoever is unbeaten through the quarter-final, two more the semi-final."""
        found = [0] * len(self.field.members)
        for member in self.terms.cup:
            for rounds in (self.field.rounds - 2, self.field.rounds - 1):  # our decision: the last round is the final
                first = self.turns[member][:rounds]
                unbeaten = all(2 * turn.points >= self.field.win for turn in first)
                found[member] += 2 * self.field.win * (len(first) == rounds > 0 and unbeaten)
        return tuple(found)

    def scores(self, account: _Account) -> Sequence[int]:
        """Of every member, as the table has it."""
        match account:
            case "wins":
                return self.field.scores
            case "mms":
                return self.mms[-1]
            case "sts":
                return [one + more for one, more in zip(self.mms[-1], self.lead, strict=True)]

    def table_scores(self, account: _Account) -> Sequence[int]:
        """As the standings have it: with the points by hand, which count nowhere else."""
        bonus = self.terms.bonus or (0,) * len(self.field.members)
        return [one + more for one, more in zip(self.scores(account), bonus, strict=True)]

    def seen(self, account: _Account) -> Sequence[int]:
        """Of every member, as its opponents' sums see it: absences may count there alone."""
        counts, in_sos = self.terms.absence == "standings", self.terms.absence_in_sos
        if account == "wins":
            half = self.field.win // 2 if in_sos else 0
            idle = (sum(turn.kind is Kind.ABSENT for turn in row) for row in self.turns)
            return [score + half * rounds for score, rounds in zip(self.field.scores, idle, strict=True)]
        counts = counts or in_sos or self.terms.absence == "pairing-only"
        mms = self._mcmahon(absence=counts, whole=self.terms.whole and not in_sos)[-1]
        return [one + more for one, more in zip(mms, self.lead, strict=True)] if account == "sts" else mms

    def begun(self, account: _Account) -> Sequence[int]:
        """What each score begins with."""
        return (0,) * len(self.field.members) if account == "wins" else self.starts

    def won(self, turn: Turn) -> bool:
        """More than half of what the match was worth, with or without a game."""
        return 2 * turn.points > self.field.win

    def faced(self, turn: Turn) -> int | None:
        """The opponent that counts: Gotha takes a forfeit for a meeting, FIDE does not."""
        return turn.opponent if turn.met or self.terms.unplayed == "start" else None

    @property
    def _start_wins(self) -> tuple[int, ...]:
        return self.terms.starts or (0,) * len(self.field.members)

    def _mcmahon(self, *, absence: bool, whole: bool) -> tuple[tuple[int, ...], ...]:
        return mcmahon_points(self.field, self._start_wins, absence=absence, whole=whole)


def _open(row: Sequence[Turn], turn: Turn) -> bool:
    """Paired and not begun: the running round has such boards, and a finished one shares out points."""
    if not turn.met or turn.opponent is None:
        return False
    return not (turn.games or turn.points or row[turn.opponent].points)


_Mutual = dict[int, dict[int, Tally]]  # each of the tied -> those of them it met -> what it scored


def _direct(data: PlacementData, tied: Sequence[int]) -> list[int]:
    """DE: half points against the others of the tied; 0 for all unless all have met."""
    found = direct_encounter(tied, _mutual(data, tied))
    return [found[member] for member in tied]


def _simple(data: PlacementData, tied: Sequence[int]) -> list[int]:
    """SDC: how many of the tied each has beaten; 0 for all unless each pair has met and none is level."""
    met = _mutual(data, tied)
    decided = all(
        other in met[one] and met[one][other].half_points != met[other][one].half_points
        for one in tied
        for other in tied
        if one != other
    )
    return [len(_beaten(met, member)) if decided else 0 for member in tied]


def _confrontation(data: PlacementData, tied: Sequence[int]) -> list[int]:
    """DC: the layers of the tied sorted by who beat whom, from 0 at the bottom; who beat each other in a ring are one.

    Whoever nobody else of the tied has beaten is in the top layer. Our decision where the published order leaves
    strangers open: as high as possible.
    """
    met = _mutual(data, tied)
    below = {member: _reached(met, member) for member in tied}
    layers = dict.fromkeys(tied, 0)
    left = set(tied)
    depth = 0
    while left:
        top = {one for one in left if all(other in below[one] for other in left if one in below[other])}
        for member in top:
            layers[member] = depth
        left -= top
        depth += 1
    return [depth - 1 - layers[member] for member in tied]


def _least_predictable_removed(data: PlacementData) -> list[int]:
    """LPR: half points without the game whose expectation is nearest 1/2, the latest of several.

    That is the smallest gap between the ratings; games without two of them can be predicted by nobody and stay.
    """
    found = []
    for score, own, turns in zip(data.field.scores, data.ratings, data.turns, strict=True):
        games = [
            (abs(own - other), -number, turn.points)
            for number, turn in enumerate(turns)
            if turn.met and turn.opponent is not None
            if own is not None and (other := data.ratings[turn.opponent]) is not None
        ]
        found.append(score - (min(games)[2] if games else 0))
    return found


def _mutual(data: PlacementData, tied: Sequence[int]) -> _Mutual:
    met: _Mutual = {member: {} for member in tied}
    for member in tied:
        for turn in data.turns[member]:
            if turn.met and turn.opponent in met:
                old = met[member].get(turn.opponent, Tally())
                points, wins = old.half_points + turn.points, old.wins + data.won(turn)
                met[member][turn.opponent] = Tally(points, old.games + 1, wins)
    return met


def _beaten(met: _Mutual, member: int) -> list[int]:
    return [other for other, tally in met[member].items() if tally.half_points > met[other][member].half_points]


def _reached(met: _Mutual, member: int) -> set[int]:
    found: set[int] = set()
    ahead = [member]
    while ahead:
        fresh = [other for other in _beaten(met, ahead.pop()) if other not in found]
        found.update(fresh)
        ahead += fresh
    return found


# SOS and related sums of opponents' scores, and the value of an unplayed round in them.
#
# FIDE C.07 section 16, from March 2026: an opponent's asked-for byes at the end of the tournament count as draws
# (16.3); an own round without a game is one against a dummy with the own score, at most the scheduled opponent's after
# a forfeit (16.4.1), else at most draws in all rounds (16.4.2); of lowest terms, rounds left unplayed by choice are cut
# first (16.5).
#
# The rules of 2023 have no ceiling for the dummy. Those of 2009 to 2023 (C.02 annex, 13.15) have a virtual opponent
# instead: it has the own score before the round, what the own result leaves of a win, and draws in the rounds after it.
# There all rounds of the opponents without a game count as draws, and the lowest terms are cut whatever they are.

_ASKED_FOR = (Kind.HALF_BYE, Kind.ABSENT)  # C.07 16.1.1: byes by request


@dataclass(frozen=True, slots=True)
class _Summand:
    """One round in a sum over opponents: what stands on the other side and what was scored against it."""

    score: int
    points: int = 0
    by_choice: bool = False


def _summands(data: PlacementData, account: _Account) -> tuple[tuple[_Summand, ...], ...]:
    """Of every member, one a round; a handicap given is added to the opponent's score (but not to its wins)."""
    seen = _adjusted(data, data.seen(account))
    step = 0 if account == "wins" else data.field.win
    found = []
    for member, turns in enumerate(data.turns):
        row = []
        for number, turn in enumerate(turns):
            opponent = data.faced(turn)
            if opponent is None:
                row.append(_without_game(data, account, member, number, seen))
            else:
                row.append(_Summand(seen[opponent] + step * turn.handicap, turn.points))
        found.append(tuple(row))
    return tuple(found)


def _summed(rows: Sequence[Sequence[_Summand]], lowest: int = 0, highest: int = 0) -> list[int]:
    """SOS of each, without so many of the lowest and highest summands; 0 when none is left."""
    return [sum(_kept([(s.by_choice, s.score) for s in row], lowest, highest)) for row in rows]


def _second(data: PlacementData, account: _Account, sums: Sequence[int]) -> list[int]:
    """SOSOS: the opponents' `sums`; without a game the own one, or what the own start would have given, or 0."""
    rounds, begun = len(data.field.history), data.begun(account)
    found = []
    for member, turns in enumerate(data.turns):
        match data.terms.unplayed:
            case "zero":
                alone = 0
            case "start":
                alone = begun[member] * rounds
            case _:
                alone = sums[member]
        opponents = map(data.faced, turns)
        found.append(sum(alone if opponent is None else sums[opponent] for opponent in opponents))
    return found


def _extended(data: PlacementData, *, won: bool) -> list[int]:
    """EXT: opponents' wins, up to three times for those met on better terms than the bands ask for; EXR: `won` ones."""
    found = []
    for member, turns in enumerate(data.turns):
        total = 0
        for turn in turns:
            opponent = data.faced(turn)
            if opponent is not None and (data.won(turn) or not won):
                daring = turn.handicap - (data.bands[member] - data.bands[opponent])
                total += data.field.scores[opponent] * max(0, min(daring + 1, 3))
        found.append(total)
    return found


def _without_game(data: PlacementData, account: _Account, member: int, number: int, seen: Sequence[int]) -> _Summand:
    turn = data.turns[member][number]
    begun, own = data.begun(account)[member], data.scores(account)[member]
    match data.terms.unplayed:
        case "zero":
            return _Summand(0)
        case "start":
            return _Summand(begun)
        case "own":
            return _Summand(own)
        case "fide-2023":
            return _Summand(own, turn.points, _by_choice(data, turn))
        case "fide-2009":
            return _Summand(begun + _virtual(data, member, number), turn.points)
    cap = begun + data.field.rounds * data.field.level if turn.opponent is None else seen[turn.opponent]
    return _Summand(min(own, cap), turn.points, _by_choice(data, turn))


def _virtual(data: PlacementData, member: int, number: int) -> int:
    """What the virtual opponent of round `number`, from 0, has at the end (C.02 annex, 13.15.2)."""
    field, turn = data.field, data.turns[member][number]
    left = field.rounds - number - 1
    return field.points[number][member] + max(0, field.win - turn.points) + left * field.level


def _by_choice(data: PlacementData, turn: Turn) -> bool:
    """C.07 16.1.2: a bye by request, or a forfeit that was not won."""
    return turn.kind in _ASKED_FOR or (turn.kind is Kind.FORFEIT and not data.won(turn))


def _adjusted(data: PlacementData, scores: Sequence[int]) -> Sequence[int]:
    """Under FIDE's rules, with the byes asked for at the end as draws."""
    if data.terms.unplayed not in _FIDE:
        return scores
    draw, found = data.field.level, list(scores)
    for member, turns in enumerate(data.turns):
        if data.terms.unplayed == "fide-2009":
            found[member] += sum(draw - turn.points for turn in turns if not turn.met)
            continue
        for turn in reversed(turns):
            if not _by_choice(data, turn):
                break
            if turn.kind in _ASKED_FOR:
                found[member] += draw - turn.points
    return found


def _kept(terms: list[tuple[bool, int]], lowest: int, highest: int) -> list[int]:
    by_choice_first = sorted(terms, key=lambda term: (not term[0], term[1]))
    left = sorted(score for _, score in by_choice_first[lowest:])
    return left[: max(0, len(left) - highest)]


# FIDE Handbook B.02, table 8.1.1: rating difference of a score of 50 %, 51 % ... 100 %
_DIFFERENCES = (
    *(0, 7, 14, 21, 29, 36, 43, 50, 57, 65),
    *(72, 80, 87, 95, 102, 110, 117, 125, 133, 141),
    *(149, 158, 166, 175, 184, 193, 202, 211, 220, 230),
    *(240, 251, 262, 273, 284, 296, 309, 322, 336, 351),
    *(366, 383, 401, 422, 444, 470, 501, 538, 589, 677),
    800,
)


def _rating(data: PlacementData) -> list[int]:
    """As it is now; 0 without one, as in a TRF."""
    return [_whole(rating or 0.0) for rating in data.ratings]


def _opponents_average(data: PlacementData) -> list[int]:
    """ARO: over rated opponents met over the board (C.07 15.2); 0 without one."""
    return [_whole(fsum(met) / len(met)) if met else 0 for met, _ in _rated(data)]


def _performance(data: PlacementData) -> list[int]:
    """TPR: ARO and the difference that FIDE's table has for the score against them; 0 without one."""
    found = []
    for average, (met, points) in zip(_opponents_average(data), _rated(data), strict=True):
        if met:
            percent = _whole(100 * points / (data.field.win * len(met)))
            average += _DIFFERENCES[percent - 50] if percent >= 50 else -_DIFFERENCES[50 - percent]
        found.append(average)
    return found


def _rated(data: PlacementData) -> Iterator[tuple[list[float], int]]:
    """Of each member the ratings of its rated opponents, and half points against them."""
    for turns in data.turns:
        met, points = [], 0
        for turn in turns:
            if turn.met and turn.opponent is not None and (other := data.ratings[turn.opponent]) is not None:
                met.append(other)
                points += turn.points
        yield met, points


def _whole(number: float) -> int:
    """Halves rounded up (C.07 section 10)."""
    return floor(number + 0.5)


_Values = Callable[[PlacementData], Sequence[int]]
"""Returns integers by place in the entry order: more is better."""


@dataclass(frozen=True, slots=True)
class _Code:
    """A code and how it is worked out. `per`: units in the one people read, negative where the lower comes first."""

    name: str
    of: Callable[..., Sequence[int]]  # a `_Values`; with `tied` called with those members too, and of them alone
    per: int = 1
    basis: str = ""  # "wins" or "mms": the score it belongs to, where mixing would contradict
    tied: bool = False  # looks at the tied alone; the others are the same for whatever group

    def values(self, data: PlacementData, members: Sequence[int]) -> Sequence[int]:
        """Return the value of each of these members, who are tied."""
        if self.tied:
            return self.of(data, members)
        found = self.of(data)
        return [found[member] for member in members]


def _sos(account: _Account | None, lowest: int = 0, highest: int = 0) -> _Values:
    return lambda data: _summed(_summands(data, account or data.main), lowest, highest)


def _sosos(account: _Account | None) -> _Values:
    def values(data: PlacementData) -> list[int]:
        over = account or data.main
        return _second(data, over, _summed(_summands(data, over)))

    return values


def _sodos(account: _Account | None) -> _Values:
    """Each opponent's score times the points against it."""
    return lambda data: [sum(one.score * one.points for one in row) for row in _summands(data, account or data.main)]


def _cuss(account: _Account | None) -> _Values:
    def values(data: PlacementData) -> list[int]:
        rows = data.field.points if (account or data.main) == "wins" else data.mms
        return [sum(column) for column in zip(*rows[1:], strict=True)] or [0] * len(data.turns)

    return values


def _cup(data: PlacementData) -> list[int]:
    """Everybody's is doubled when a round begins, so who is still playing stays ahead of whom it has beaten."""
    found = [0] * len(data.turns)
    for row in data.field.history:
        found = [2 * before + turn.points for before, turn in zip(found, row, strict=True)]
    return found


def _opponents_buchholz(data: PlacementData) -> list[int]:
    sums = _summed(_summands(data, "wins"))
    met = [[opponent for turn in turns if (opponent := data.faced(turn)) is not None] for turns in data.turns]
    return [(100 * sum(sums[other] for other in row) + len(row)) // (2 * len(row)) if row else 0 for row in met]


def _koya(data: PlacementData) -> list[int]:
    """Points against opponents with half of what all rounds are worth, or more."""
    enough = {m for m, score in enumerate(data.field.scores) if 2 * score >= data.field.win * data.field.rounds}
    return [sum(turn.points for turn in turns if turn.met and turn.opponent in enough) for turns in data.turns]


def _blacks(data: PlacementData) -> list[int]:
    """Colours change from game to game of a match, so the rest of dividing by two has the colour of the first."""
    return [sum((max(turn.games, 1) - turn.colour) // 2 for turn in turns if turn.met) for turns in data.turns]


def _categories(data: PlacementData) -> list[int]:
    return [-category for category in data.terms.categories or (0,) * len(data.turns)]


def _won(data: PlacementData, *, over_the_board: bool) -> list[int]:
    return [sum(data.won(turn) and (turn.met or not over_the_board) for turn in turns) for turns in data.turns]


_OVER: dict[str, tuple[_Account | None, str]] = {
    "": (None, "scores"),
    "W": ("wins", "wins"),
    "M": ("mms", "McMahon scores"),
}
_SUMS: tuple[tuple[str, str, Callable[[_Account | None], _Values], int], ...] = (
    ("SOS{}", "sum of opponents' {0}", _sos, 2),
    ("SOS{}-1", "sum of opponents' {0} without the lowest", lambda account: _sos(account, 1), 2),
    ("SOS{}-2", "sum of opponents' {0} without the lowest two", lambda account: _sos(account, 2), 2),
    ("SOSOS{}", "sum of opponents' SOS{1}", _sosos, 2),
    ("SODOS{}", "sum of defeated opponents' {0}, half for a draw", _sodos, 4),
    ("CUSS{}", "sum of own {0} by rounds", _cuss, 2),
)
PLACEMENT_CODES: dict[str, _Code] = {
    "PTS": _Code("points", lambda data: data.field.scores, 2),
    "NBW": _Code("wins, a draw is half of one", lambda data: data.field.scores, 2, "wins"),
    "MMS": _Code("McMahon score", lambda data: data.table_scores("mms"), 2, "mms"),
    **{
        code.format(over): _Code(name.format(scores, over), make(account), per, account or "")
        for code, name, make, per in _SUMS
        for over, (account, scores) in _OVER.items()
    },
    "EXT": _Code("exploits tried: wins of opponents from stronger bands", lambda data: _extended(data, won=False), 2),
    "EXR": _Code("exploits: those of them that were won", lambda data: _extended(data, won=True), 2),
    "STS": _Code("Strasbourg score", lambda data: data.table_scores("sts"), 2, "mms"),
    "SOSTS": _Code("sum of opponents' Strasbourg scores", _sos("sts"), 2, "mms"),
    "CPS": _Code("cup score", _cup, 2),
    "DC": _Code("direct confrontation", _confrontation, tied=True),
    "SDC": _Code("simple direct confrontation", _simple, tied=True),
    "CAT": _Code("category", _categories, -1),
    "RANK": _Code("band", lambda data: data.bands),
    "RATING": _Code("rating", _rating),
    "LPR": _Code("points without the game between the nearest ratings", _least_predictable_removed, 2),
    "DE": _Code("direct encounter", _direct, 2, tied=True),
    "BH": _Code("Buchholz, sum of opponents' scores", _sos("wins"), 2, "wins"),
    "BH-C1": _Code("Buchholz without the lowest", _sos("wins", 1), 2, "wins"),
    "BH-C2": _Code("Buchholz without the lowest two", _sos("wins", 2), 2, "wins"),
    "BH-M1": _Code("Buchholz without the lowest and the highest", _sos("wins", 1, 1), 2, "wins"),
    "BH-M2": _Code("Buchholz without the lowest two and the highest two", _sos("wins", 2, 2), 2, "wins"),
    "KS": _Code("Koya score, points against entrants with half of all points or more", _koya, 2),
    "AOB": _Code("average of opponents' Buchholz", _opponents_buchholz, 100, "wins"),
    "SB": _Code("Sonneborn-Berger, scores of opponents beaten, half of those drawn with", _sodos("wins"), 4, "wins"),
    "PS": _Code("progressive score", _cuss("wins"), 2, "wins"),
    "WIN": _Code("wins", lambda data: _won(data, over_the_board=False)),
    "WON": _Code("wins over the board", lambda data: _won(data, over_the_board=True)),
    "BPG": _Code("games with Black", _blacks),
    "ARO": _Code("average rating of opponents", _opponents_average),
    "TPR": _Code("performance rating", _performance),
}
EVENED = ("SOS", "BH", "AOB")  # what these begin with is what a pairing evens that evens SOS
