"""Tie-breaks (Buchholz/SOS, Sonneborn-Berger, direct encounter, ...) by their published codes.

code     name                       source           unit            note
PTS      points                     -                half points     with unplayed rounds; NBW has the same value
NBW      number of wins             Gotha            half points     a draw counts 1/2; a bye counts its points
MMS      McMahon score              Gotha            half points     start + NBW + half a win per absence + bonus
SOS      sum of opponents' scores   EGF              half points     over MMS if there are starts, else over NBW
SOSW     SOS over NBW               Gotha            half points
SOSM     SOS over MMS               Gotha            half points     a handicap given is added
SOS-1    without the lowest         Gotha            half points     SOSW-1, SOSM-1 too
SOS-2    without the lowest two     Gotha            half points     SOSW-2, SOSM-2 too
SOSOS    sum of opponents' SOS      EGF              half points     SOSOSW, SOSOSM too
SODOS    sum of defeated scores     EGF              quarter points  half for a draw; SODOSW, SODOSM too
CUSS     sum of scores by rounds    EGF              half points     CUSSW, CUSSM too
EXT      exploits attempted         Gotha            half points     opponents' NBW, up to three times across bands
EXR      exploits                   Gotha            half points     only the won ones
STS      Strasbourg score           Gotha            half points     MMS plus the bonus of a knockout in the top group
SOSTS    sum of opponents' STS      Gotha            half points
CPS      cup score                  Gotha            half points     doubled each round, then plus the round's points
DC       direct confrontation       Gotha            layers          wins among the tied; a cycle is one layer
SDC      simple confrontation       Gotha            wins            0 unless all tied have met without a draw
CAT      category                   Gotha            categories      the lower number first, so it is negated
RANK     band                       Gotha            bands
RATING   rating                     AGA              rating points   current rating, 0 without one
LPR      least predictable removed  Vuorinen 2.4.4   half points     without the game between the nearest ratings
DE       direct encounter           FIDE C.07 6      half points     0 for all unless all tied entrants have met
BH       Buchholz                   FIDE C.07 8.1    half points     unplayed rounds: section 16
BH-C1    Buchholz cut 1             FIDE C.07 14.1   half points     rounds unplayed by choice are cut first
BH-C2    Buchholz cut 2             FIDE C.07 14.2   half points
BH-M1    Buchholz median 1          FIDE C.07 14.3   half points
BH-M2    Buchholz median 2          FIDE C.07 14.4   half points
AOB      average opponents' BH      FIDE C.07 8.2    1/100 points    rounded, halves up
SB       Sonneborn-Berger           FIDE C.07 9.1    quarter points  SODOSW with unplayed rounds by section 16
KS       Koya score                 FIDE C.07 9.2    half points     over the board, against scores of 50 % or more
PS       progressive score          FIDE C.07 7.5    half points     CUSSW
WIN      wins                       FIDE C.07 7.1    rounds          with byes and forfeits that count as wins
WON      wins over the board        FIDE C.07 7.2    rounds
BPG      games with Black           FIDE C.07 7.3    games           half of a match with both colors
ARO      average rating of opp.     FIDE C.07 10.1   rating points   rated opponents met over the board
TPR      performance                FIDE C.07 10.2   rating points   ARO plus the table's difference for the score

`unplayed` decides how a round without a game counts, for all codes of a table; DE, BPG, WON, ARO and TPR never count
such a round. A round is won with more than half of the points of its match. If some of the tied entrants have not met,
C.07 section 6 still ranks an entrant first that no other could overtake; DE does not do this (enginetour's choice).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor, fsum
from typing import Literal, NamedTuple, TypeVar

from enginetour.formats.pairing.field import Field, Kind, Turn
from enginetour.formats.pairing.mcmahon import band, mcmahon_points

K = TypeVar("K", bound=Hashable)


class Tally(NamedTuple):
    """Result of all games of an entrant against one opponent."""

    half_points: int = 0
    games: int = 0
    wins: int = 0


# name -> opponent -> result of the entrant `name` against this opponent
Cross = Mapping[str, Mapping[str, Tally]]
_Sums = Mapping[str, Tally]  # name -> sum of the results against all opponents in a `Cross`
NOTHING = Tally()


def against(cross: Mapping[K, Mapping[K, Tally]], name: K, opponent: K) -> Tally:
    """Return the tally of `name` against `opponent`; it is empty if they have not met."""
    row = cross.get(name)
    return NOTHING if row is None else row.get(opponent, NOTHING)


def sonneborn_berger(name: str, cross: Cross, sums: _Sums) -> int:
    """Return the Sonneborn-Berger score in quarter points, so that the value is exact. Source: FIDE C.07 9.

    It is the sum over all opponents of the points against the opponent times its score. Only opponents listed in `sums`
    count.
    """
    found = sums.get  # by position, a field takes half the time
    return sum([tally[0] * found(other, NOTHING)[0] for other, tally in cross.get(name, {}).items()])


def direct_encounter(tied: Collection[K], cross: Mapping[K, Mapping[K, Tally]]) -> dict[K, int]:
    """Return the half points in games among the tied entrants. Source: FIDE C.07 6.

    All values are 0 if not all of these entrants have met each other.
    """
    rows = {name: [against(cross, name, other) for other in tied if other != name] for name in tied}
    if not all(tally.games for row in rows.values() for tally in row):
        return dict.fromkeys(tied, 0)
    return {name: sum(tally.half_points for tally in row) for name, row in rows.items()}


# code -> function (tied, cross, sums) that returns the value of each tied entrant; WIN has the source FIDE C.07 7
CODES: dict[str, Callable[[Collection[str], Cross, _Sums], dict[str, int]]] = {
    "SB": lambda tied, cross, sums: {name: sonneborn_berger(name, cross, sums) for name in tied},
    "DE": lambda tied, cross, _: direct_encounter(tied, cross),
    "WIN": lambda tied, _, sums: {name: sums[name].wins for name in tied},
}


Unplayed = Literal["own", "start", "zero", "fide", "fide-2023", "fide-2009"]
"""How a round without a game counts in tie-breaks that add up opponents' scores.

own        the own score (Vuorinen 2010)
start      the own starting score (Gotha)
zero       0
fide       FIDE C.07 section 16 of 2026: a dummy opponent
fide-2023  FIDE's rules of 2023: a dummy opponent without an upper limit
fide-2009  FIDE's rules of 2009 to 2023: a virtual opponent
"""
_FIDE = ("fide", "fide-2023", "fide-2009")

Absence = Literal["standings", "pairing-only", "nothing"]
"""Where an absence counts half a win in McMahon scores; pairing-only means the pairing and opponents' SOS (EPM)."""


@dataclass(frozen=True, slots=True)
class PlacementTerms:
    """Values that tie-breaks need in addition to the field, by place in the entry order.

    An empty tuple means the same value for all members. If `bands` is empty, bands are computed from the ratings.
    """

    starts: tuple[int, ...] = ()  # starting scores, in won matches
    bands: tuple[int, ...] = ()
    categories: tuple[int, ...] = ()  # 0 is the top category
    ratings: tuple[float | None, ...] = ()  # current ratings; if empty, the configured ratings count
    cup: frozenset[int] = frozenset()  # members of a top group that plays a knockout inside the tournament
    unplayed: Unplayed = "zero"
    absence: Absence = "standings"
    whole: bool = True  # whether the sum of points of byes and absences is rounded down to whole wins
    by_wins: bool = False  # whether wins decide the tournament although McMahon scores exist
    bonus: tuple[int, ...] = ()  # half points added by hand; they count in the standings only
    # whether all pairs are known from the start, so that a round without an opponent does not count as a round
    pair_list: bool = False
    absence_in_sos: bool = False  # whether each absence adds half a win to the score that counts in opponents' SOS


_Account = Literal["wins", "mms", "sts"]
"""The score that a code uses: NBW, MMS, or MMS with the bonus of a knockout in the top group."""


@dataclass(frozen=True, eq=False)
class PlacementData:
    """Data of a field that the codes use; scores are in half points."""

    field: Field
    terms: PlacementTerms

    @cached_property
    def turns(self) -> tuple[tuple[Turn, ...], ...]:
        """Return the rounds of each member, without boards that have no result yet."""
        listed = self.terms.pair_list
        return tuple(
            tuple(
                row[member]
                for row in self.field.history
                if not _is_unfinished(row, row[member]) and (row[member].paired or not listed)
            )
            for member in range(len(self.field.members))
        )

    @property
    def main(self) -> _Account:
        """Return the name of the score that decides the tournament."""
        return "mms" if self.terms.starts and not self.terms.by_wins else "wins"

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Return the starting McMahon scores of the members, in half points."""
        return tuple(start * self.field.win for start in self._start_wins)

    @cached_property
    def bands(self) -> tuple[int, ...]:
        """Return the given bands, else the members' grades, else the ratings divided by 100 (0 without a rating)."""
        graded = zip(self.field.members, self.ratings, strict=True)
        return self.terms.bands or tuple(
            band(rating or 0.0) if member.band is None else member.band for member, rating in graded
        )

    @cached_property
    def ratings(self) -> tuple[float | None, ...]:
        """Return the current ratings if given, else the configured ratings."""
        return self.terms.ratings or tuple(member.rating for member in self.field.members)

    @cached_property
    def mms(self) -> tuple[tuple[int, ...], ...]:
        """Return the McMahon scores of the table, before each round and now."""
        return self._mcmahon(absence=self.terms.absence == "standings", whole=self.terms.whole)

    @cached_property
    def lead(self) -> tuple[int, ...]:
        """Return the bonus of each member from the knockout in the top group, in half points.

        It is two wins if the member is unbeaten up to the quarter-final, and two more if it is unbeaten up to the
        semi-final. The last round is the final (enginetour's choice).
        """
        found = [0] * len(self.field.members)
        for member in self.terms.cup:
            for rounds in (self.field.rounds - 2, self.field.rounds - 1):
                first = self.turns[member][:rounds]
                unbeaten = all(2 * turn.points >= self.field.win for turn in first)
                found[member] += 2 * self.field.win * (len(first) == rounds > 0 and unbeaten)
        return tuple(found)

    def scores(self, account: _Account) -> Sequence[int]:
        """Return the score `account` of all members, without the bonus added by hand."""
        match account:
            case "wins":
                return self.field.scores
            case "mms":
                return self.mms[-1]
            case "sts":
                return [one + more for one, more in zip(self.mms[-1], self.lead, strict=True)]

    def table_scores(self, account: _Account) -> Sequence[int]:
        """Return the score `account` of all members as shown in the table, with the bonus added by hand."""
        bonus = self.terms.bonus or (0,) * len(self.field.members)
        return [one + more for one, more in zip(self.scores(account), bonus, strict=True)]

    def seen(self, account: _Account) -> Sequence[int]:
        """Return the score `account` of all members as it counts for opponents; absences may count differently."""
        counts, in_sos = self.terms.absence == "standings", self.terms.absence_in_sos
        if account == "wins":
            half = self.field.win // 2 if in_sos else 0
            idle = (sum(turn.kind is Kind.ABSENT for turn in row) for row in self.turns)
            return [score + half * rounds for score, rounds in zip(self.field.scores, idle, strict=True)]
        counts = counts or in_sos or self.terms.absence == "pairing-only"
        mms = self._mcmahon(absence=counts, whole=self.terms.whole and not in_sos)[-1]
        return [one + more for one, more in zip(mms, self.lead, strict=True)] if account == "sts" else mms

    def begun(self, account: _Account) -> Sequence[int]:
        """Return the starting value of the score `account` for all members."""
        return (0,) * len(self.field.members) if account == "wins" else self.starts

    def won(self, turn: Turn) -> bool:
        """Return whether the member got more than half of the points of a round, with or without a game."""
        return 2 * turn.points > self.field.win

    def faced(self, turn: Turn) -> int | None:
        """Return the opponent that counts, or None. After a forfeit, the opponent counts in Gotha, but not for FIDE."""
        return turn.opponent if turn.met or self.terms.unplayed == "start" else None

    @property
    def _start_wins(self) -> tuple[int, ...]:
        return self.terms.starts or (0,) * len(self.field.members)

    def _mcmahon(self, *, absence: bool, whole: bool) -> tuple[tuple[int, ...], ...]:
        return mcmahon_points(self.field, self._start_wins, absence=absence, whole=whole)


def _is_unfinished(row: Sequence[Turn], turn: Turn) -> bool:
    """Return whether a board of the current round has no result yet; a finished board has points."""
    if not turn.met or turn.opponent is None:
        return False
    return not (turn.games or turn.points or row[turn.opponent].points)


_Mutual = dict[int, dict[int, Tally]]  # tied member -> tied opponent that it met -> its tally against this opponent


def _direct(data: PlacementData, tied: Sequence[int]) -> list[int]:
    """Return DE: half points against the other tied members; 0 for all members if not all of them have met."""
    found = direct_encounter(tied, _mutual(data, tied))
    return [found[member] for member in tied]


def _simple(data: PlacementData, tied: Sequence[int]) -> list[int]:
    """Return SDC: the number of tied members beaten; 0 for all if a pair has not met or is level."""
    met = _mutual(data, tied)
    decided = all(
        other in met[one] and met[one][other].half_points != met[other][one].half_points
        for one in tied
        for other in tied
        if one != other
    )
    return [len(_beaten(met, member)) if decided else 0 for member in tied]


def _confrontation(data: PlacementData, tied: Sequence[int]) -> list[int]:
    """Return DC: layers of the tied members by wins among them, 0 at the bottom; a cycle of wins is one layer.

    A member that no other tied member has beaten is in the top layer. The published rule does not define the layer of
    all members that have not met; they are placed as high as possible (enginetour's choice).
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
    """Return LPR: half points without the game with the smallest rating difference, which is the least predictable.

    If several games are equal, the latest one does not count. Games of an entrant without a rating always count.
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
# FIDE C.07 section 16, from March 2026: requested byes of an opponent at the end of the tournament count as draws
# (16.3). If the entrant itself has a round without a game, it counts as a round against a dummy with the same score as
# the entrant. After a forfeit, the dummy has at most the score of the scheduled opponent (16.4.1), otherwise at most
# the score of draws in all rounds (16.4.2). When the lowest terms are cut, rounds left unplayed by choice come first
# (16.5).
#
# The rules of 2023 have no upper limit for the dummy. The rules of 2009 to 2023 (C.02 annex, 13.15) have a virtual
# opponent instead. Its score is the score of the entrant before the round, plus a win minus the entrant's result, plus
# draws in the rounds after it. In these rules, all rounds of the opponents without a game count as draws, and the
# lowest terms are cut, even if they are from played rounds.

_ASKED_FOR = (Kind.HALF_BYE, Kind.ABSENT)  # C.07 16.1.1: requested byes


@dataclass(frozen=True, slots=True)
class _Summand:
    """One round in a sum over opponents: the score of the opponent and the points scored against it."""

    score: int
    points: int = 0
    by_choice: bool = False


def _summands(data: PlacementData, account: _Account) -> tuple[tuple[_Summand, ...], ...]:
    """Return the summands of all members, one per round.

    If a member gave a handicap, this is added to the McMahon score of the opponent.
    """
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
    """Return the SOS of each row without the given numbers of lowest and highest summands; 0 if none is left."""
    return [sum(_kept([(s.by_choice, s.score) for s in row], lowest, highest)) for row in rows]


def _second(data: PlacementData, account: _Account, sums: Sequence[int]) -> list[int]:
    """Return SOSOS: the sum of the opponents' `sums`, which are their SOS.

    A round without a game counts the member's own sum, its own starting score, or 0, as set by `unplayed`.
    """
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
    """Return EXT, or EXR with `won`: the sum of opponents' wins, counted up to three times.

    An opponent counts more than once if the handicap was smaller than the difference in bands. EXR counts only games
    that were won.
    """
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
    """Return the final score of the virtual opponent in round `number`, counted from 0 (C.02 annex, 13.15.2)."""
    field, turn = data.field, data.turns[member][number]
    left = field.rounds - number - 1
    return field.points[number][member] + max(0, field.win - turn.points) + left * field.level


def _by_choice(data: PlacementData, turn: Turn) -> bool:
    """Return whether a round is a requested bye, or a forfeit that the member did not win (C.07 16.1.2)."""
    return turn.kind in _ASKED_FOR or (turn.kind is Kind.FORFEIT and not data.won(turn))


def _adjusted(data: PlacementData, scores: Sequence[int]) -> Sequence[int]:
    """Return the scores with unplayed rounds counted as draws, as far as FIDE's rules require it."""
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


# rating difference for a score of 50 %, 51 % ... 100 %: FIDE Handbook B.02, table 8.1.1
_DIFFERENCES = (
    *(0, 7, 14, 21, 29, 36, 43, 50, 57, 65),
    *(72, 80, 87, 95, 102, 110, 117, 125, 133, 141),
    *(149, 158, 166, 175, 184, 193, 202, 211, 220, 230),
    *(240, 251, 262, 273, 284, 296, 309, 322, 336, 351),
    *(366, 383, 401, 422, 444, 470, 501, 538, 589, 677),
    800,
)


def _rating(data: PlacementData) -> list[int]:
    """Return the current ratings; an entrant without a rating has 0, as in TRF."""
    return [_whole(rating or 0.0) for rating in data.ratings]


def _opponents_average(data: PlacementData) -> list[int]:
    """Return ARO: the average rating of rated opponents met over the board, 0 if there are none (C.07 15.2)."""
    return [_whole(fsum(met) / len(met)) if met else 0 for met, _ in _rated(data)]


def _performance(data: PlacementData) -> list[int]:
    """Return TPR: ARO plus the difference in FIDE's table for the score against these opponents, 0 if none exist."""
    found = []
    for average, (met, points) in zip(_opponents_average(data), _rated(data), strict=True):
        if met:
            percent = _whole(100 * points / (data.field.win * len(met)))
            average += _DIFFERENCES[percent - 50] if percent >= 50 else -_DIFFERENCES[50 - percent]
        found.append(average)
    return found


def _rated(data: PlacementData) -> Iterator[tuple[list[float], int]]:
    """Yield for each member the ratings of its rated opponents, and the half points against them."""
    for turns in data.turns:
        met, points = [], 0
        for turn in turns:
            if turn.met and turn.opponent is not None and (other := data.ratings[turn.opponent]) is not None:
                met.append(other)
                points += turn.points
        yield met, points


def _whole(number: float) -> int:
    """Round to an integer; one half is rounded up (C.07 section 10)."""
    return floor(number + 0.5)


_Values = Callable[[PlacementData], Sequence[int]]
"""A function that returns integers by place in the entry order; larger values are better."""


@dataclass(frozen=True, slots=True)
class _Code:
    """A code and its function. `per` is the number of units in one displayed unit, for example 2 for half points.

    It is negative if lower displayed values come first.
    """

    name: str
    of: Callable[..., Sequence[int]]  # a `_Values`; if `tied` is set, its second argument has the tied members
    per: int = 1
    basis: str = ""  # "wins" or "mms" if the code is based on this score; codes of both should not be mixed
    tied: bool = False  # whether the values depend on which members are tied

    def values(self, data: PlacementData, members: Sequence[int]) -> Sequence[int]:
        """Return the values of these members, which are tied on all earlier codes."""
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
    return lambda data: [sum(one.score * one.points for one in row) for row in _summands(data, account or data.main)]


def _cuss(account: _Account | None) -> _Values:
    def values(data: PlacementData) -> list[int]:
        rows = data.field.points if (account or data.main) == "wins" else data.mms
        return [sum(column) for column in zip(*rows[1:], strict=True)] or [0] * len(data.turns)

    return values


def _cup(data: PlacementData) -> list[int]:
    """Return CPS. It is doubled in each round, so that remaining entrants stay ahead of the ones that are out."""
    found = [0] * len(data.turns)
    for row in data.field.history:
        found = [2 * before + turn.points for before, turn in zip(found, row, strict=True)]
    return found


def _opponents_buchholz(data: PlacementData) -> list[int]:
    sums = _summed(_summands(data, "wins"))
    met = [[opponent for turn in turns if (opponent := data.faced(turn)) is not None] for turns in data.turns]
    return [(100 * sum(sums[other] for other in row) + len(row)) // (2 * len(row)) if row else 0 for row in met]


def _koya(data: PlacementData) -> list[int]:
    """Return the points against opponents that have at least half of all possible points."""
    enough = {m for m, score in enumerate(data.field.scores) if 2 * score >= data.field.win * data.field.rounds}
    return [sum(turn.points for turn in turns if turn.met and turn.opponent in enough) for turns in data.turns]


def _blacks(data: PlacementData) -> list[int]:
    """Return the numbers of games with Black.

    Colors alternate in a match, so if it has an odd number of games, one more has the color of game 1.
    """
    return [sum((max(turn.games, 1) - turn.color) // 2 for turn in turns if turn.met) for turns in data.turns]


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
    ("SOS{}-1", "sum of opponents' {0} without the lowest value", lambda account: _sos(account, 1), 2),
    ("SOS{}-2", "sum of opponents' {0} without the two lowest values", lambda account: _sos(account, 2), 2),
    ("SOSOS{}", "sum of opponents' SOS{1}", _sosos, 2),
    ("SODOS{}", "sum of defeated opponents' {0}, half for a draw", _sodos, 4),
    ("CUSS{}", "sum of own {0} after each round", _cuss, 2),
)
PLACEMENT_CODES: dict[str, _Code] = {
    "PTS": _Code("points", lambda data: data.field.scores, 2),
    "NBW": _Code("wins, a draw counts 1/2", lambda data: data.field.scores, 2, "wins"),
    "MMS": _Code("McMahon score", lambda data: data.table_scores("mms"), 2, "mms"),
    **{
        code.format(over): _Code(name.format(scores, over), make(account), per, account or "")
        for code, name, make, per in _SUMS
        for over, (account, scores) in _OVER.items()
    },
    "EXT": _Code(
        "exploits attempted: wins of opponents from stronger bands", lambda data: _extended(data, won=False), 2
    ),
    "EXR": _Code("exploits: wins of beaten opponents from stronger bands", lambda data: _extended(data, won=True), 2),
    "STS": _Code("Strasbourg score", lambda data: data.table_scores("sts"), 2, "mms"),
    "SOSTS": _Code("sum of opponents' Strasbourg scores", _sos("sts"), 2, "mms"),
    "CPS": _Code("cup score", _cup, 2),
    "DC": _Code("direct confrontation", _confrontation, tied=True),
    "SDC": _Code("simple direct confrontation", _simple, tied=True),
    "CAT": _Code("category", _categories, -1),
    "RANK": _Code("band", lambda data: data.bands),
    "RATING": _Code("rating", _rating),
    "LPR": _Code("points without the game with the smallest rating difference", _least_predictable_removed, 2),
    "DE": _Code("direct encounter", _direct, 2, tied=True),
    "BH": _Code("Buchholz, sum of opponents' scores", _sos("wins"), 2, "wins"),
    "BH-C1": _Code("Buchholz without the lowest score", _sos("wins", 1), 2, "wins"),
    "BH-C2": _Code("Buchholz without the two lowest scores", _sos("wins", 2), 2, "wins"),
    "BH-M1": _Code("Buchholz without the lowest and the highest score", _sos("wins", 1, 1), 2, "wins"),
    "BH-M2": _Code("Buchholz without the two lowest and the two highest scores", _sos("wins", 2, 2), 2, "wins"),
    "KS": _Code("Koya score, points against entrants with at least half of all points", _koya, 2),
    "AOB": _Code("average of opponents' Buchholz", _opponents_buchholz, 100, "wins"),
    "SB": _Code("Sonneborn-Berger, scores of beaten opponents, half for draws", _sodos("wins"), 4, "wins"),
    "PS": _Code("progressive score", _cuss("wins"), 2, "wins"),
    "WIN": _Code("wins", lambda data: _won(data, over_the_board=False)),
    "WON": _Code("wins over the board", lambda data: _won(data, over_the_board=True)),
    "BPG": _Code("games with Black", _blacks),
    "ARO": _Code("average rating of opponents", _opponents_average),
    "TPR": _Code("performance rating", _performance),
}
EVENED = ("SOS", "BH", "AOB")  # prefixes of codes that have little meaning if the pairing equalizes SOS
