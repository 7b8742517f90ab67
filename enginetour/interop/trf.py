"""TRF, the tournament report file of FIDE: reading and writing.

TRF26  old  what                          columns
142    XXR  number of rounds              from 5
152    XXC  initial color                 5: W or B; white1, black1, and rank: entrants are in the order of lines
162    BBW  points of W D L A P           6 letter, 7-10 points, again every 9; BBW BBD BBL BBF BBU BBZ: 5-8
       XXS  points by codes               WW=3 PAB=1.5: see _CODED
202, 212    tie-breaks, order of table    from 5, separated by commas
192         type, used for Baku           from 5
240         requested byes                5 F H Z, 7-9 round, 11-14 number, again every 5
       XXZ  absent from the next round    numbers
250    XXA  virtual points                10-13 points, 15-17 and 19-21 rounds, 23-26 and 28-31 numbers;
                                          XXA: 5-8 number, 10-13 points of round 1, again every 5
260    XXP  pairs that must not meet      5-7 and 9-11 rounds, 13-16 number, again every 5; XXP: numbers
299         points by an arbiter          not supported

Source: FIDE Handbook C.04 annex 2, TRF26; JaVaFo and bbpPairings for the old codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NoReturn

from enginetour.formats.pairing.field import BLACK, WHITE, Board
from enginetour.model.errors import InputRefused

# Tournament report files (TRF) as lines, which are read, kept and written again even if they are unknown.
#
# columns of 001, from 1: 5-8 number, 10 sex, 11-13 title, 15-47 name, 49-52 rating, 54-56 federation, 58-68 id,
# 70-79 birth, 81-84 points, 86-89 rank; from 92 every 10 columns a round: opponent (4), color (97), result (99).
#
# Lines end in LF, CRLF or CR when read, in CRLF when written. A name that does not fit is cut, and written in full in
# a comment ``### 0012 name``. A file that is not Unicode keeps its bytes in any code page. Some programs pad names by
# bytes, so that letters of several bytes shift the following columns: such files are read and written by bytes.
# Source: FIDE Handbook C.04 annex 2, TRF06 to TRF26.

_NAME_ROOM = 33  # columns 15-47
# Columns that other fields of an entrant contain.
_OWN_COLUMNS = {*range(1, 9), *range(15, 48), *range(49, 53), *range(54, 57)}
_FIRST_ROUND, _ROUND_WIDTH = 92, 10
_RESULTS = "10=+-WDLHFUZ"  # and a space
MOST_ENTRIES = 9999  # four columns
_MOST_ROUNDS = 999  # three columns (TRF26, 240)
LARGEST_FILE = 10_000_000  # bytes; all entries with ninety rounds each
_MOST_LINES = 100_000  # lines (chosen here); ten for each entry
_BLANKS = " \t"  # other white space may be a letter of an old code page
_COMMENT = "###"
_FULL_NAME = re.compile(r"### ([0-9]{4}) (.*\S)\s*")
_POINTS = re.compile(r"[0-9]{1,3}([.,][05])?")
_NUMBER = r"( {4}|[ \d]{3}\d)"
_ALIGNED = re.compile(rf" {_NUMBER} .{{27}}( {{4}}|[ \d]{{2}}[.,]\d) {_NUMBER}  ", re.ASCII)  # columns 48 to 91
_ROUND = re.compile(r"(?P<opponent> *[0-9]*) (?P<color>[-wbWB ]) (?P<result>.)")


@dataclass(frozen=True, slots=True)
class TrfCell:
    """One round of an entrant: number of the opponent (0: none), color (w, b or -), and result letter."""

    opponent: int = 0
    color: str = "-"
    result: str = " "

    def text(self) -> str:
        """Return the cell's eight columns; an empty round is blank."""
        if self == TrfCell():
            return " " * 8
        return f"{self.opponent or '0000':>4} {self.color} {self.result}"


@dataclass(frozen=True, slots=True)
class TrfEntrant:
    """A line 001; `points` are half points, and `about` is the other content of columns 9 to 80."""

    number: int
    name: str
    rating: int | None = None
    federation: str = ""
    points: int = 0
    rank: int | None = None
    cells: tuple[TrfCell, ...] = ()
    about: str = ""
    line: int = 0

    def text(self, *, by_bytes: bool = False) -> str:
        """Return the line without its end; with `by_bytes` the name has 33 bytes instead of 33 characters."""
        head = list(self.about.ljust(_FIRST_ROUND - 1))
        name = _cut_to_bytes(self.name) if by_bytes else f"{self.name[:_NAME_ROOM]:{_NAME_ROOM}}"
        fields = (
            (1, f"001 {self.number:4d}"),
            (49, f"{'' if self.rating is None else self.rating:>4}"),
            (54, f"{self.federation:3}"),
            (81, f"{self.points / 2:4.1f}"),
            (86, f"{'' if self.rank is None else self.rank:>4}"),
        )
        for column, text in fields:
            head[column - 1 : column - 1 + len(text)] = text
        head[14 : 14 + _NAME_ROOM] = name
        return ("".join(head) + "  ".join(cell.text() for cell in self.cells)).rstrip(_BLANKS)


@dataclass(frozen=True, slots=True)
class TrfLine:
    """A line of a TRF file that is not a line 001, unchanged; `number` is its line number, from 1."""

    text: str
    number: int = 0

    @property
    def tag(self) -> str:
        """Return the first three columns."""
        return self.text[:3]


@dataclass(frozen=True, slots=True)
class TrfReport:
    """A file in the order of its lines; `place` is its name for errors, `encoding` is the encoding of its bytes."""

    records: tuple[TrfEntrant | TrfLine, ...]
    place: str = "TRF"
    encoding: str = "utf-8"
    by_bytes: bool = False  # whether columns after names count bytes

    @property
    def entries(self) -> tuple[TrfEntrant, ...]:
        """Return the entrants by number."""
        found = [record for record in self.records if isinstance(record, TrfEntrant)]
        return tuple(sorted(found, key=lambda entry: entry.number))

    @property
    def lines(self) -> tuple[TrfLine, ...]:
        """Return all other lines."""
        return tuple(record for record in self.records if isinstance(record, TrfLine))

    def with_entries(self, entries: Sequence[TrfEntrant]) -> TrfReport:
        """Return the file with these entrants instead of the entrants with the same numbers."""
        fresh = {entry.number: entry for entry in entries}
        records = (fresh[one.number] if isinstance(one, TrfEntrant) else one for one in self.records)
        return replace(self, records=tuple(records))

    def text(self) -> str:
        """Return the whole file, with cut names in comments at its end."""
        lines = [
            record.text(by_bytes=self.by_bytes) if isinstance(record, TrfEntrant) else record.text
            for record in self.records
        ]
        while lines and not lines[-1].strip():
            lines.pop()
        long = [e for e in self.entries if len(e.name.encode() if self.by_bytes else e.name) > _NAME_ROOM]
        lines += [f"{_COMMENT} {entry.number:04d} {entry.name}" for entry in long]
        return "".join(f"{line}\r\n" for line in lines)

    def content(self) -> bytes:
        """Return the whole file in its original encoding."""
        return self.text().encode(self.encoding)

    def refuse(self, line: int, expected: str, found: object) -> NoReturn:
        """Raise InputRefused for a line of this file (0: for the whole file)."""
        refuse_line(self.place, line, expected, found)


def refuse_line(place: str, line: int, expected: str, found: object) -> NoReturn:
    """Raise InputRefused for an invalid line (0: for the whole file)."""
    raise InputRefused(f"expected {expected} (found {found})", place=f"{place}:{line}" if line else place)


def read(content: bytes | str, place: str = "TRF") -> TrfReport:
    """Read a file and check each line; `place` names the file. Raise InputRefused at the first invalid line."""
    text, encoding = (content, "utf-8") if isinstance(content, str) else _decoded(content)
    if text.count("\n") + text.count("\r") > 2 * _MOST_LINES:
        refuse_line(place, 0, f"at most {_MOST_LINES:,} lines", "more")
    lines = re.split("\r\n|\r|\n", text.removeprefix("\ufeff"))
    readings = [lines]
    if encoding.startswith("utf-8") and not text.isascii():
        readings.append([_by_characters(line) for line in lines])
        readings.sort(key=_aligned, reverse=True)
    refused = None
    for reading in readings:
        try:
            return TrfReport(_records(reading, place), place, encoding, by_bytes=reading is not lines)
        except InputRefused as error:
            refused = refused or error
    assert refused
    raise refused


def _aligned(lines: Sequence[str]) -> int:
    """Return how many ratings, points and ranks are in their columns, in lines 001 with letters of several bytes."""
    wide = (line.ljust(_FIRST_ROUND) for line in lines if line[:3] == "001" and not line.isascii())
    found = (_ALIGNED.match(line, 47) for line in wide)
    return sum(bool(text.strip()) for one in found if one for text in one.groups())


def _records(lines: Sequence[str], place: str) -> tuple[TrfEntrant | TrfLine, ...]:
    records: list[TrfEntrant | TrfLine] = []
    names: dict[int, str] = {}
    numbers: dict[int, int] = {}
    for count, line in enumerate(lines, 1):
        if line[:3] == "001":
            entry = _entry(line, count, place)
            if entry.number in numbers:
                taken = f"{entry.number}, which is also in line {numbers[entry.number]}"
                refuse_line(place, count, "a different number for each entrant", taken)
            numbers[entry.number] = count
            records.append(entry)
        elif (full := _FULL_NAME.fullmatch(line)) and int(full[1]) in numbers:
            names[int(full[1])] = full[2]
        else:
            records.append(TrfLine(line, count))
    if not numbers:
        refuse_line(place, 0, "lines 001 with entrants", "none")
    return tuple(_named(one, names) if isinstance(one, TrfEntrant) else one for one in records)


def _by_characters(line: str) -> str:
    """Convert a line 001 whose name is padded by bytes to one padded by characters."""
    if line[:3] != "001" or line.isascii():
        return line
    raw = line.encode()
    name = raw[14 : 14 + _NAME_ROOM].decode(errors="ignore")
    return f"{raw[:14].decode(errors='ignore')}{name:{_NAME_ROOM}}{raw[14 + _NAME_ROOM :].decode(errors='ignore')}"


def _cut_to_bytes(name: str) -> str:
    cut = name.encode()[:_NAME_ROOM].decode(errors="ignore")
    return cut + " " * (_NAME_ROOM - len(cut.encode()))


def _named(entry: TrfEntrant, names: dict[int, str]) -> TrfEntrant:
    full = names.get(entry.number, "")
    cuts = (full[:_NAME_ROOM].strip(_BLANKS), _cut_to_bytes(full).strip(_BLANKS))
    return replace(entry, name=full) if entry.name in cuts else entry


def _decoded(content: bytes) -> tuple[str, str]:
    """Return text and encoding; Windows-1252 or Latin-1 represent any old code page, because they keep each byte."""
    marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    marked = next((encoding for mark, encoding in marks.items() if content.startswith(mark)), "utf-8")
    for encoding in (marked, "cp1252", "latin-1"):
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    raise AssertionError("Latin-1 decodes every byte")


def _entry(line: str, count: int, place: str) -> TrfEntrant:
    number = line[4:8].strip()
    if not number.isascii() or not number.isdigit() or not int(number):
        refuse_line(place, count, "a starting number in columns 5-8", repr(line[4:8]))
    name = line[14:47].strip(_BLANKS)
    if not name:
        refuse_line(place, count, "a name in columns 15-47", "none")
    rating, rank = (_whole(line, first, last, count, place) for first, last in ((49, 52), (86, 89)))
    points = line[80:84].strip()
    if points and not _POINTS.fullmatch(points):
        refuse_line(place, count, "points such as 11.5 in columns 81-84", repr(line[80:84]))
    about = "".join(" " if column in _OWN_COLUMNS else char for column, char in enumerate(line[:80], 1)).rstrip()
    return TrfEntrant(
        number=int(number),
        name=name,
        rating=rating or None,
        federation=line[53:56].strip(),
        points=round(2 * float(points.replace(",", ".") or 0)),
        rank=rank,
        cells=tuple(_cells(line, count, place)),
        about=about,
        line=count,
    )


def _whole(line: str, first: int, last: int, count: int, place: str) -> int | None:
    text = line[first - 1 : last].strip()
    if text and not (text.isascii() and text.isdigit()):
        refuse_line(place, count, f"a whole number in columns {first}-{last}", repr(text))
    return int(text) if text else None


def _cells(line: str, count: int, place: str) -> list[TrfCell]:
    cells = []
    if len(line.rstrip()) > _FIRST_ROUND + _MOST_ROUNDS * _ROUND_WIDTH:
        refuse_line(place, count, f"at most {_MOST_ROUNDS} rounds", f"{len(line):,} columns")
    for start in range(_FIRST_ROUND - 1, len(line.rstrip()), _ROUND_WIDTH):
        text = line[start : start + 8].ljust(8)
        found, behind = _ROUND.fullmatch(text), line[start + 8 : start + 10]
        if not found or behind.strip():
            expected = f"opponent, color and result in columns {start + 1}-{start + 8}, then two spaces"
            refuse_line(place, count, expected, repr(text + behind))
        result = found["result"].upper()
        if result not in f"{_RESULTS} ":
            known = f"a result, one of {' '.join(_RESULTS)}, in column {start + 8}"
            refuse_line(place, count, known, repr(found["result"]))
        color = found["color"].lower().replace(" ", "-")
        cells.append(TrfCell(int(found["opponent"].strip() or 0), color, result))
    return cells


# Other content of a report: rounds, colors, points, requested byes, and pairs that must not meet.

_SINGLE = "a tournament of individuals"
_REFUSED = {
    "013": (_SINGLE, "teams"),
    "310": (_SINGLE, "teams"),
    "299": ("points that follow from the results", "points that an arbiter assigned"),
}
_SCORES = {"BBW": "W", "BBD": "D", "BBL": "L", "BBF": "A", "BBU": "P", "BBZ": "Z"}
_CODED = {  # JaVaFo's XXS: code -> letter of `scores`, and half points by default
    code: (letter, points)
    for codes, letter, points in (
        ("WW BW", "W", 2), ("WD BD", "D", 1), ("WL BL", "L", 0), ("PAB", "P", 2), ("FPB", "F", 2), ("HPB", "H", 1),
        ("ZPB", "Z", 0), ("FW", "+", 2), ("FL", "A", 0),
    )
    for code in codes.split()
}  # fmt: skip
_SHORTCUTS = {"W": ("WW", "BW", "FW", "FPB"), "D": ("WD", "BD", "HPB")}
_INSTEAD = {"P": "W", "F": "W", "+": "W", "H": "D", "Z": "A"}  # letter whose points are used by default
# Largest number of virtual points and of forbidden pairs (chosen here); enough for a family of 400 entrants, or for
# virtual points of 1,000 entrants in 99 rounds.
_MOST_ITEMS = 100_000
_ROUND_NUMBER = re.compile(r"[0-9]{1,4}")
_POINTS_OF_RESULT = re.compile(r"[0-9]{1,3}(\.([05]0*)?)?|\.[05]0*")
_SCORE = re.compile(r"([WDLAPXZ]) *([0-9]{1,2}\.[05])")
_VIRTUAL = re.compile(r" {4}| ?[0-9]{1,2}\.[05]| *[0-9]{1,2} *")  # points of XXA in their columns


@dataclass(slots=True)
class TrfHeader:
    """The header of a file; entrants have their numbers in the file, rounds count from 1, points are half points."""

    name: str = ""
    rounds: int | None = None
    color: int | None = None
    by_line: bool = False
    type: str = ""  # code of the pairing system
    baku: bool = False
    scores: dict[str, int] = field(default_factory={"W": 2, "D": 1, "L": 0, "A": 0}.copy)  # others: see `_INSTEAD`
    coded: dict[str, int] = field(default_factory=dict)  # like `scores`, by the codes of XXS, if the file has them
    byes: dict[tuple[int, int], str] = field(default_factory=dict)  # (round, number) -> F, H, Z
    away: set[int] = field(default_factory=set)  # numbers of entrants absent from the next round
    virtual: dict[tuple[int, int], int] = field(default_factory=dict)  # (round, number) -> half points
    codes: tuple[str, ...] = ()  # order of the table in the file's notation, points first
    forbidden: list[tuple[range, tuple[int, int]]] = field(default_factory=list)  # rounds, two numbers

    def worth(self, letter: str) -> int:
        """Return the half points of a letter: W D L, A or Z, P (bye), F and H (requested byes), + (forfeit win)."""
        return self.scores.get(letter, self.scores[_INSTEAD.get(letter, letter)])


def read_header(report: TrfReport) -> TrfHeader:
    """Read all header lines; raise InputRefused at the first invalid line."""
    found = TrfHeader()
    known = {entry.number for entry in report.entries}
    for line in report.lines:
        if line.tag in _REFUSED:
            expected, instead = _REFUSED[line.tag]
            report.refuse(line.number, expected, f"{line.tag}, {instead}")
        _read_line(found, _Reading(report, line, known))
    for code, points in found.coded.items():
        letter, _ = _CODED[code]
        if found.scores.setdefault(letter, points) != points:
            report.refuse(0, f"the same points with either color for {code} in XXS", f"{points / 2:g}")
    return found


@dataclass(frozen=True, slots=True)
class _Reading:
    report: TrfReport
    line: TrfLine
    known: set[int]

    @property
    def rest(self) -> str:
        return self.line.text[4:].strip()

    def refuse(self, expected: str, found: str) -> NoReturn:
        expected = f"{expected} in a line {self.line.tag}"
        self.report.refuse(self.line.number, expected, repr(found) if found else "nothing")

    def part(self, first: int, last: int) -> str:
        return self.line.text[first - 1 : last].strip()

    def whole(self, text: str, what: str) -> int:
        if not _ROUND_NUMBER.fullmatch(text) or not int(text):
            self.refuse(what, text)
        return int(text)

    def points(self, text: str) -> int:
        if not _POINTS_OF_RESULT.fullmatch(text):
            self.refuse("points such as 1.5", text)
        return round(2 * float(text))

    def entrant(self, text: str) -> int:
        number = self.whole(text, "an entrant's number")
        if number not in self.known:
            self.refuse("the number of an entrant in this file", text)
        return number

    def entrants(self, first: int) -> tuple[int, ...]:
        """Return the numbers in columns of four, every five columns from `first`."""
        end = len(self.line.text.rstrip())
        found = tuple(self.entrant(self.part(start, start + 3)) for start in range(first, end + 1, 5))
        if not found:
            self.refuse(f"numbers of entrants from column {first}", "")
        return found

    def rounds(self, first: int) -> range:
        start, end = (self.part(at, at + 2) for at in (first, first + 4))
        return range(self.whole(start, "a first round"), self.whole(end, "a last round") + 1)


def _read_line(found: TrfHeader, line: _Reading) -> None:
    """Read one header line; lines with an unknown tag are ignored."""
    match tag := line.line.tag:
        case "012":
            found.name = line.rest
        case "142" | "XXR":
            found.rounds = line.whole(line.rest, "the number of rounds")
        case "152":
            colors = {"W": WHITE, "B": BLACK}
            if line.rest.upper() not in colors:
                line.refuse("W or B", line.rest)
            found.color = colors[line.rest.upper()]
        case "XXC":
            for word in line.rest.split():
                if word not in ("rank", "white1", "black1"):
                    line.refuse("white1, black1 or rank", word)
                if word == "rank":
                    found.by_line = True
                else:
                    found.color = WHITE if word == "white1" else BLACK
        case "162":
            _scores(found, line)
        case "BBW" | "BBD" | "BBL" | "BBF" | "BBU" | "BBZ":
            found.scores[_SCORES[tag]] = line.points(line.rest)
        case "XXS":
            _coded_scores(found, line)
        case "192":
            found.type, found.baku = line.rest, line.rest.upper().endswith("BAKU")
        case "202" | "212":
            codes = tuple(word.strip().upper() for word in line.rest.split(",") if word.strip())
            if tag == "212" or not found.codes:
                found.codes = codes if tag == "212" else ("PTS", *codes)
        case "240":
            kind = line.part(5, 5).upper()
            if kind not in ("F", "H", "Z"):
                line.refuse("a bye F, H or Z in column 5", kind)
            number = line.whole(line.part(7, 9), "a round in columns 7-9")
            found.byes |= {(number, entrant): kind for entrant in line.entrants(11)}
        case "XXZ":
            found.away |= {line.entrant(word) for word in line.rest.split()}
        case "250":
            _virtual(found, line)
        case "XXA":
            _old_virtual(found, line)
        case "260":
            rounds = line.rounds(5)
            _forbid(found, line, rounds, line.entrants(13))
        case "XXP":
            _forbid(found, line, range(1, 10_000), tuple(line.entrant(word) for word in line.rest.split()))


def _scores(found: TrfHeader, line: _Reading) -> None:
    text = line.line.text[4:]
    if _SCORE.sub("", text).strip() or not _SCORE.search(text):
        line.refuse("letters W D L A P X with points such as 3.0 each", line.rest)
    for letter, points in _SCORE.findall(text):
        found.scores["A" if letter == "Z" else letter] = round(2 * float(points))  # bbpPairings writes Z


def _coded_scores(found: TrfHeader, line: _Reading) -> None:
    """Read XXS: the last value of a code counts; codes without a value get the default, including the bye."""
    if not found.coded:
        found.coded = {code: points for code, (_, points) in _CODED.items()}
        found.scores = {}
    for word in line.rest.upper().split():
        code, _, points = word.partition("=")
        codes = _SHORTCUTS.get(code, (code,))
        if codes[0] not in _CODED:
            line.refuse("codes with points such as W=3 PAB=1.5", word)
        found.coded |= dict.fromkeys(codes, line.points(points))


def _virtual(found: TrfHeader, line: _Reading) -> None:
    points = line.points(line.part(10, 13))
    first, last = (line.entrant(line.part(at, at + 3)) for at in (23, 28))
    rounds = line.rounds(15)
    entrants = [entrant for entrant in line.known if first <= entrant <= last]
    if len(found.virtual) + len(rounds) * len(entrants) > _MOST_ITEMS:
        line.refuse(f"at most {_MOST_ITEMS:,} virtual points", "more")
    for number in rounds:
        found.virtual |= {(number, entrant): points for entrant in entrants}


def _old_virtual(found: TrfHeader, line: _Reading) -> None:
    number = line.entrant(line.part(5, 8))
    text = line.line.text.rstrip()
    columns = [text[at : at + 5] for at in range(9, len(text), 5)]
    fits = all(_VIRTUAL.fullmatch(column[:4].rjust(4)) and not column[4:].strip() for column in columns)
    given = [column.strip() or "0" for column in columns] if fits else text[8:].split()
    if len(found.virtual) + len(given) > _MOST_ITEMS:
        line.refuse(f"at most {_MOST_ITEMS:,} virtual points", "more")
    for count, points in enumerate(given, 1):
        found.virtual[count, number] = line.points(points)


def _forbid(found: TrfHeader, line: _Reading, rounds: range, numbers: tuple[int, ...]) -> None:
    if len(found.forbidden) + len(numbers) * (len(numbers) - 1) // 2 > _MOST_ITEMS:
        line.refuse(f"at most {_MOST_ITEMS:,} pairs that must not meet", "more")
    found.forbidden += [(rounds, pair) for pair in combinations(sorted(numbers), 2)]


def virtual_lines(rows: Sequence[Mapping[int, int]]) -> list[str]:
    """Return lines 250 for half points by number, one row per round; neighbors with equal points share a line."""
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
    numbers = sorted(number for number, points in row.items() if points)
    for number in numbers:
        if row.get(number - 1) == row[number]:
            continue
        last = number
        while row.get(last + 1) == row[number]:
            last += 1
        yield row[number], number, last


# Time odds in a report. TRF does not have a column for them, so they are comments, which other programs ignore.
#
# ``### odds 003 0001 0012 2``: in round 3 entrant 1 gives entrant 12 two bands

Odds = dict[tuple[int, int], tuple[int, int]]
"""Time odds: (round, number of the giver) -> number of the receiver, bands."""

_ODDS = re.compile(r"### odds ([0-9]{3}) ([0-9]{4}) ([0-9]{4}) ([1-9][0-9]?)\s*")


def read_odds(report: TrfReport) -> Odds:
    """Read the time odds of all games."""
    found = (_ODDS.fullmatch(line.text) for line in report.lines)
    return {(int(one[1]), int(one[2])): (int(one[3]), int(one[4])) for one in found if one}


def with_odds(report: TrfReport, number: int, labels: Sequence[str], boards: Sequence[Board]) -> TrfReport:
    """Return the report with the odds of a round's boards at its end, replacing other odds of that round."""
    kept = [one for one in report.records if not (isinstance(one, TrfLine) and _is_odds_of(one.text, number))]
    while kept and isinstance(kept[-1], TrfLine) and not kept[-1].text.strip():
        kept.pop()
    comments = [
        TrfLine(f"### odds {number:03d} {int(labels[board.white]):04d} {int(labels[board.black]):04d} {board.handicap}")
        for board in boards
        if board.handicap
    ]
    return replace(report, records=(*kept, *comments))


def _is_odds_of(text: str, number: int) -> bool:
    found = _ODDS.fullmatch(text)
    return found is not None and int(found[1]) == number
