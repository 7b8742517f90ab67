"""What a tournament report file says beside its entrants: rounds, colours, points, byes asked for, forbidden pairs.

TRF26  old  what                          columns
142    XXR  rounds in all                 from 5
152    XXC  initial colour                5: W or B; white1, black1, and rank: entrants count in the order of lines
162    BBW  points of W D L A P           6 letter, 7-10 points, again every 9; BBW BBD BBL BBF BBU BBZ: 5-8
       XXS  points by codes               WW=3 PAB=1.5: see CODED
202, 212    tie-breaks, order of the table: from 5, parted by commas
192         type, read for its Baku       from 5
240         byes asked for                5 F H Z, 7-9 round, 11-14 number, again every 5
       XXZ  absent from the next round    numbers
250    XXA  virtual points                10-13 points, 15-17 and 19-21 rounds, 23-26 and 28-31 numbers;
                                          XXA: 5-8 number, 10-13 points of round 1, again every 5
260    XXP  pairs that must not meet      5-7 and 9-11 rounds, 13-16 number, again every 5; XXP: numbers
299         points by decree              not read: refused

Source: FIDE Handbook C.04 annex 2, TRF26; JaVaFo and bbpPairings for the old ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NoReturn

from enginetour.formats.pairing.field import BLACK, WHITE
from enginetour.interop.trf import Line, Report

SINGLE = "a tournament of single entrants"
REFUSED = {"013": (SINGLE, "teams"), "310": (SINGLE, "teams"), "299": ("points by results alone", "points by decree")}
SCORES = {"BBW": "W", "BBD": "D", "BBL": "L", "BBF": "A", "BBU": "P", "BBZ": "Z"}
CODED = {  # JaVaFo's XXS: code -> letter of `scores` and half points where no line says them
    code: (letter, points)
    for codes, letter, points in (
        ("WW BW", "W", 2), ("WD BD", "D", 1), ("WL BL", "L", 0), ("PAB", "P", 2), ("FPB", "F", 2), ("HPB", "H", 1),
        ("ZPB", "Z", 0), ("FW", "+", 2), ("FL", "A", 0),
    )
    for code in codes.split()
}  # fmt: skip
SHORTCUTS = {"W": ("WW", "BW", "FW", "FPB"), "D": ("WD", "BD", "HPB")}
INSTEAD = {"P": "W", "F": "W", "+": "W", "H": "D", "Z": "A"}  # whose points a letter has that no line names
MOST_SAID = 100_000  # virtual points and forbidden pairs, our choice: a family of 400, or all of 1000 in 99 rounds
_NUMBER = re.compile(r"[0-9]{1,4}")
_POINTS = re.compile(r"[0-9]{1,3}(\.([05]0*)?)?|\.[05]0*")
_SCORE = re.compile(r"([WDLAPXZ]) *([0-9]{1,2}\.[05])")
_VIRTUAL = re.compile(r" {4}| ?[0-9]{1,2}\.[05]| *[0-9]{1,2} *")  # points of XXA in their columns


def usual_scores() -> dict[str, int]:
    """Half points of a win, a draw, a loss, an absence; for other letters see `INSTEAD`."""
    return {"W": 2, "D": 1, "L": 0, "A": 0}


@dataclass(slots=True)
class Header:
    """Numbers are those of the file, rounds count from 1, points are half points."""

    name: str = ""
    rounds: int | None = None
    colour: int | None = None
    by_line: bool = False
    type: str = ""  # code of the pairing system
    baku: bool = False
    scores: dict[str, int] = field(default_factory=usual_scores)
    coded: dict[str, int] = field(default_factory=dict)  # as `scores`, by the codes of XXS, if a line has them
    byes: dict[tuple[int, int], str] = field(default_factory=dict)  # (round, number) -> F, H, Z
    away: set[int] = field(default_factory=set)  # numbers of those absent from the next round
    virtual: dict[tuple[int, int], int] = field(default_factory=dict)  # (round, number) -> half points
    codes: tuple[str, ...] = ()  # of the table, as the file writes them, points first
    forbidden: list[tuple[range, tuple[int, int]]] = field(default_factory=list)  # rounds, two numbers

    def worth(self, letter: str) -> int:
        """Half points of W D L, of A or Z, P, the allocated bye, F and H, those asked for, + and a forfeit's win."""
        return self.scores.get(letter, self.scores[INSTEAD.get(letter, letter)])


def header(report: Report) -> Header:
    """All that its lines say; InputRefused at the first line that says it wrongly."""
    found = Header()
    known = {entry.number for entry in report.entries}
    for line in report.lines:
        if line.tag in REFUSED:
            expected, instead = REFUSED[line.tag]
            report.refuse(line.number, expected, f"{line.tag}, {instead}")
        if line.tag in _READERS:
            _READERS[line.tag](found, _Reading(report, line, known))
    for code, points in found.coded.items():
        letter, _ = CODED[code]
        if found.scores.setdefault(letter, points) != points:
            report.refuse(0, f"the same points with either color (XXS, {code})", f"{points / 2:g}")
    return found


@dataclass(frozen=True, slots=True)
class _Reading:
    """A line being read."""

    report: Report
    line: Line
    known: set[int]

    @property
    def rest(self) -> str:
        return self.line.text[4:].strip()

    def refuse(self, expected: str, found: str) -> NoReturn:
        self.report.refuse(self.line.number, f"{expected} ({self.line.tag})", repr(found) if found else "nothing")

    def part(self, first: int, last: int) -> str:
        return self.line.text[first - 1 : last].strip()

    def whole(self, text: str, what: str) -> int:
        if not _NUMBER.fullmatch(text) or not int(text):
            self.refuse(what, text)
        return int(text)

    def points(self, text: str) -> int:
        if not _POINTS.fullmatch(text):
            self.refuse("points such as 1.5", text)
        return round(2 * float(text))

    def entrant(self, text: str) -> int:
        number = self.whole(text, "an entrant's number")
        if number not in self.known:
            self.refuse("a number of an entrant of this file", text)
        return number

    def entrants(self, first: int) -> tuple[int, ...]:
        """Of four columns each, every five from `first` on."""
        end = len(self.line.text.rstrip())
        found = tuple(self.entrant(self.part(start, start + 3)) for start in range(first, end + 1, 5))
        if not found:
            self.refuse(f"numbers of entrants from column {first} on", "")
        return found

    def rounds(self, first: int) -> range:
        start, end = (self.part(at, at + 2) for at in (first, first + 4))
        return range(self.whole(start, "a first round"), self.whole(end, "a last round") + 1)


def _name(found: Header, line: _Reading) -> None:
    found.name = line.rest


def _rounds(found: Header, line: _Reading) -> None:
    found.rounds = line.whole(line.rest, "the number of rounds")


def _colour(found: Header, line: _Reading) -> None:
    colours = {"W": WHITE, "B": BLACK}
    if line.rest.upper() not in colours:
        line.refuse("W or B", line.rest)
    found.colour = colours[line.rest.upper()]


def _old_colour(found: Header, line: _Reading) -> None:
    for word in line.rest.split():
        if word == "rank":
            found.by_line = True
        elif word in ("white1", "black1"):
            found.colour = WHITE if word == "white1" else BLACK
        else:
            line.refuse("white1, black1 or rank", word)


def _scores(found: Header, line: _Reading) -> None:
    text = line.line.text[4:]
    if _SCORE.sub("", text).strip() or not _SCORE.search(text):
        line.refuse("letters W D L A P X with points such as 3.0 each", line.rest)
    for letter, points in _SCORE.findall(text):
        found.scores["A" if letter == "Z" else letter] = round(2 * float(points))  # bbpPairings writes Z


def _old_score(found: Header, line: _Reading) -> None:
    found.scores[SCORES[line.line.tag]] = line.points(line.rest)


def _coded_scores(found: Header, line: _Reading) -> None:
    """The later of two words for one code counts; codes of no word are usual, the bye also where a win is not."""
    if not found.coded:
        found.coded = {code: points for code, (_, points) in CODED.items()}
        found.scores = {}
    for word in line.rest.upper().split():
        code, _, points = word.partition("=")
        codes = SHORTCUTS.get(code, (code,))
        if codes[0] not in CODED:
            line.refuse("codes with points such as W=3 PAB=1.5", word)
        found.coded |= dict.fromkeys(codes, line.points(points))


def _tiebreaks(found: Header, line: _Reading) -> None:
    codes = tuple(word.strip().upper() for word in line.rest.split(",") if word.strip())
    if line.line.tag == "212":
        found.codes = codes
    elif not found.codes:
        found.codes = ("PTS", *codes)


def _type(found: Header, line: _Reading) -> None:
    found.type = line.rest
    found.baku = line.rest.upper().endswith("BAKU")


def _byes(found: Header, line: _Reading) -> None:
    kind = line.part(5, 5).upper()
    if kind not in ("F", "H", "Z"):
        line.refuse("a bye F, H or Z in column 5", kind)
    number = line.whole(line.part(7, 9), "a round in columns 7-9")
    found.byes |= {(number, entrant): kind for entrant in line.entrants(11)}


def _away(found: Header, line: _Reading) -> None:
    found.away |= {line.entrant(word) for word in line.rest.split()}


def _virtual(found: Header, line: _Reading) -> None:
    points = line.points(line.part(10, 13))
    first, last = (line.entrant(line.part(at, at + 3)) for at in (23, 28))
    rounds = line.rounds(15)
    entrants = [entrant for entrant in line.known if first <= entrant <= last]
    if len(found.virtual) + len(rounds) * len(entrants) > MOST_SAID:
        line.refuse(f"at most {MOST_SAID:,} virtual points", "more")
    for number in rounds:
        found.virtual |= {(number, entrant): points for entrant in entrants}


def _old_virtual(found: Header, line: _Reading) -> None:
    number = line.entrant(line.part(5, 8))
    text = line.line.text.rstrip()
    columns = [text[at : at + 5] for at in range(9, len(text), 5)]
    fits = all(_VIRTUAL.fullmatch(column[:4].rjust(4)) and not column[4:].strip() for column in columns)
    said = [column.strip() or "0" for column in columns] if fits else text[8:].split()
    if len(found.virtual) + len(said) > MOST_SAID:
        line.refuse(f"at most {MOST_SAID:,} virtual points", "more")
    for count, points in enumerate(said, 1):
        found.virtual[count, number] = line.points(points)


def _forbidden(found: Header, line: _Reading) -> None:
    rounds = line.rounds(5)
    _forbid(found, line, rounds, line.entrants(13))


def _old_forbidden(found: Header, line: _Reading) -> None:
    _forbid(found, line, range(1, 10_000), tuple(line.entrant(word) for word in line.rest.split()))


def _forbid(found: Header, line: _Reading, rounds: range, numbers: tuple[int, ...]) -> None:
    if len(found.forbidden) + len(numbers) * (len(numbers) - 1) // 2 > MOST_SAID:
        line.refuse(f"at most {MOST_SAID:,} pairs that must not meet", "more")
    found.forbidden += [(rounds, pair) for pair in combinations(sorted(numbers), 2)]


_READERS: dict[str, Callable[[Header, _Reading], None]] = {
    "012": _name,
    **dict.fromkeys(("142", "XXR"), _rounds),
    "152": _colour,
    "XXC": _old_colour,
    "162": _scores,
    **dict.fromkeys(SCORES, _old_score),
    "XXS": _coded_scores,
    "192": _type,
    **dict.fromkeys(("202", "212"), _tiebreaks),
    "240": _byes,
    "XXZ": _away,
    "250": _virtual,
    "XXA": _old_virtual,
    "260": _forbidden,
    "XXP": _old_forbidden,
}


def virtual_lines(rows: Sequence[Mapping[int, int]]) -> list[str]:
    """Lines 250 for half points by numbers, one row a round: equal points of neighbors and rounds share a line."""
    spans: dict[tuple[int, int, int], list[int]] = {}  # points, first and last number -> rounds
    for count, row in enumerate(rows, 1):
        for points, first, last in _runs(row):
            spans.setdefault((points, first, last), []).append(count)
    found = []
    for (points, first, last), rounds in spans.items():
        for start in [at for at in rounds if at - 1 not in rounds]:
            end = next(at for at in range(start, len(rows) + 1) if at + 1 not in rounds)
            found.append((start, f"250      {points / 2:4.1f} {start:03d} {end:03d} {first:4d} {last:4d}"))
    return [line for _, line in sorted(found)]


def _runs(row: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
    """Points other than none of numbers that follow each other."""
    numbers = sorted(number for number, points in row.items() if points)
    for number in numbers:
        if row.get(number - 1) == row[number]:
            continue
        last = number
        while row.get(last + 1) == row[number]:
            last += 1
        yield row[number], number, last
