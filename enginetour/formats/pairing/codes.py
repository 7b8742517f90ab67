"""All codes by which a table in rounds is ordered, as integers: more is better.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from enginetour.formats.pairing import encounters, strength
from enginetour.formats.pairing.ledger import Account, Ledger
from enginetour.formats.pairing.opposition import extended, second, summands, summed, weighted

Criterion = Callable[[Ledger, Sequence[int]], Sequence[int]]
"""(ledger, members) -> a value for each of these."""


@dataclass(frozen=True, slots=True)
class Code:
    """How a code is worked out. `per`: units in the one people read, negative where the lower comes first."""

    of: Criterion
    per: int = 1
    basis: Literal["", "wins", "mms"] = ""  # the score it belongs to, where mixing would contradict
    tied: bool = False  # looks at the tied alone; the others are the same for whatever group


def _all(values: Callable[[Ledger], Sequence[int]]) -> Criterion:
    def chosen(ledger: Ledger, members: Sequence[int]) -> list[int]:
        found = values(ledger)
        return [found[member] for member in members]

    return chosen


def _sos(account: Account | None, lowest: int = 0, highest: int = 0) -> Criterion:
    return _all(lambda ledger: summed(summands(ledger, account or ledger.main), lowest, highest))


def _sosos(account: Account | None) -> Criterion:
    def values(ledger: Ledger) -> Sequence[int]:
        over = account or ledger.main
        return second(ledger, over, summed(summands(ledger, over)))

    return _all(values)


def _sodos(account: Account | None) -> Criterion:
    return _all(lambda ledger: weighted(summands(ledger, account or ledger.main)))


def _cuss(account: Account | None) -> Criterion:
    def values(ledger: Ledger) -> Sequence[int]:
        rows = ledger.field.points if (account or ledger.main) == "wins" else ledger.mms
        return [sum(row[member] for row in rows[1:]) for member in range(len(ledger.field.members))]

    return _all(values)


def _cup(ledger: Ledger) -> list[int]:
    """Everybody's is doubled when a round begins, so who is still playing stays ahead of whom it has beaten."""
    found = [0] * len(ledger.turns)
    for row in ledger.field.history:
        found = [2 * before + turn.points for before, turn in zip(found, row, strict=True)]
    return found


def _opponents_buchholz(ledger: Ledger) -> list[int]:
    sums = summed(summands(ledger, "wins"))
    met = [[opponent for turn in turns if (opponent := ledger.faced(turn)) is not None] for turns in ledger.turns]
    return [(100 * sum(sums[other] for other in row) + len(row)) // (2 * len(row)) if row else 0 for row in met]


def _koya(ledger: Ledger) -> list[int]:
    """Points against opponents with half of what all rounds are worth, or more."""
    enough = {m for m, score in enumerate(ledger.field.scores) if 2 * score >= ledger.field.win * ledger.field.rounds}
    return [sum(turn.points for turn in turns if turn.met and turn.opponent in enough) for turns in ledger.turns]


def _blacks(ledger: Ledger) -> list[int]:
    """Colours change from game to game of a match, so the rest of dividing by two has the colour of the first."""
    return [sum((max(turn.games, 1) - turn.colour) // 2 for turn in turns if turn.met) for turns in ledger.turns]


def _categories(ledger: Ledger) -> list[int]:
    return [-category for category in ledger.terms.categories or (0,) * len(ledger.turns)]


def _won(ledger: Ledger, *, over_the_board: bool) -> list[int]:
    return [sum(ledger.won(turn) and (turn.met or not over_the_board) for turn in turns) for turns in ledger.turns]


CODES: dict[str, Code] = {
    "PTS": Code(_all(lambda ledger: ledger.field.scores), 2),
    "NBW": Code(_all(lambda ledger: ledger.field.scores), 2, "wins"),
    "MMS": Code(_all(lambda ledger: ledger.told("mms")), 2, "mms"),
    "SOS": Code(_sos(None), 2),
    "SOSW": Code(_sos("wins"), 2, "wins"),
    "SOSM": Code(_sos("mms"), 2, "mms"),
    "SOS-1": Code(_sos(None, 1), 2),
    "SOSW-1": Code(_sos("wins", 1), 2, "wins"),
    "SOSM-1": Code(_sos("mms", 1), 2, "mms"),
    "SOS-2": Code(_sos(None, 2), 2),
    "SOSW-2": Code(_sos("wins", 2), 2, "wins"),
    "SOSM-2": Code(_sos("mms", 2), 2, "mms"),
    "SOSOS": Code(_sosos(None), 2),
    "SOSOSW": Code(_sosos("wins"), 2, "wins"),
    "SOSOSM": Code(_sosos("mms"), 2, "mms"),
    "SODOS": Code(_sodos(None), 4),
    "SODOSW": Code(_sodos("wins"), 4, "wins"),
    "SODOSM": Code(_sodos("mms"), 4, "mms"),
    "CUSS": Code(_cuss(None), 2),
    "CUSSW": Code(_cuss("wins"), 2, "wins"),
    "CUSSM": Code(_cuss("mms"), 2, "mms"),
    "EXT": Code(_all(lambda ledger: extended(ledger, won=False)), 2),
    "EXR": Code(_all(lambda ledger: extended(ledger, won=True)), 2),
    "STS": Code(_all(lambda ledger: ledger.told("sts")), 2, "mms"),
    "SOSTS": Code(_sos("sts"), 2, "mms"),
    "CPS": Code(_all(_cup), 2),
    "DC": Code(encounters.confrontation, tied=True),
    "SDC": Code(encounters.simple, tied=True),
    "CAT": Code(_all(_categories), -1),
    "RANK": Code(_all(lambda ledger: ledger.bands)),
    "RATING": Code(strength.rating),
    "LPR": Code(encounters.least_predictable_removed, 2),
    "DE": Code(encounters.direct, 2, tied=True),
    "BH": Code(_sos("wins"), 2, "wins"),
    "BH-C1": Code(_sos("wins", 1), 2, "wins"),
    "BH-C2": Code(_sos("wins", 2), 2, "wins"),
    "BH-M1": Code(_sos("wins", 1, 1), 2, "wins"),
    "BH-M2": Code(_sos("wins", 2, 2), 2, "wins"),
    "KS": Code(_all(_koya), 2),
    "AOB": Code(_all(_opponents_buchholz), 100, "wins"),
    "SB": Code(_sodos("wins"), 4, "wins"),
    "PS": Code(_cuss("wins"), 2, "wins"),
    "WIN": Code(_all(lambda ledger: _won(ledger, over_the_board=False))),
    "WON": Code(_all(lambda ledger: _won(ledger, over_the_board=True))),
    "BPG": Code(_all(_blacks)),
    "ARO": Code(strength.opponents_average),
    "TPR": Code(strength.performance),
}
EVENED = ("SOS", "BH", "AOB")  # what these begin with is what a pairing evens that evens SOS
