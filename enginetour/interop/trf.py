"""Tournament report files (TRF) as lines: what is read, kept and written again, whatever a program put there.

columns of 001, from 1: 5-8 number, 10 sex, 11-13 title, 15-47 name, 49-52 rating, 54-56 federation, 58-68 id,
70-79 birth, 81-84 points, 86-89 rank; from 92 every 10 columns a round: opponent (4), colour (97), result (99).

Lines end in LF, CRLF or CR; written is CRLF. A name that does not fit is cut and stands whole in a comment,
``### 0012 name``. A file that is not Unicode keeps its bytes, whatever their code page. Some programs pad names by
bytes, so that letters of several bytes shift the columns behind them: such files are read and written by bytes.
Source: FIDE Handbook C.04 annex 2, TRF06 to TRF26.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from enginetour.model.errors import InputRefused

NAME_ROOM = 33  # columns 15-47
FIRST_ROUND, ROUND_WIDTH = 92, 10
RESULTS = "10=+-WDLHFUZ"  # and a blank
MOST_ENTRIES = 9999  # four columns
MOST_ROUNDS = 999  # three columns (TRF26, 240)
LARGEST_FILE = 10_000_000  # bytes: all entries with ninety rounds each
MOST_LINES = 100_000  # our choice: ten for each entry
BLANKS = " \t"  # other white space may be a letter of an old code page
_COMMENT = "###"
_FULL_NAME = re.compile(r"### ([0-9]{4}) (.*\S)\s*")
_POINTS = re.compile(r"[0-9]{1,3}([.,][05])?")
_NUMBER = r"( {4}|[ \d]{3}\d)"
_ALIGNED = re.compile(rf" {_NUMBER} .{{27}}( {{4}}|[ \d]{{2}}[.,]\d) {_NUMBER}  ", re.ASCII)  # columns 48 to 91
_ROUND = re.compile(r"(?P<opponent> *[0-9]*) (?P<colour>[-wbWB ]) (?P<result>.)")


@dataclass(frozen=True, slots=True)
class Cell:
    """A round of one entrant as it is written: number of the opponent, 0 for none; w, b or -; the result's letter."""

    opponent: int = 0
    colour: str = "-"
    result: str = " "

    def text(self) -> str:
        """Eight columns; a blank round is blank."""
        if self == Cell():
            return " " * 8
        return (
            f"{self.opponent:4d} {self.colour} {self.result}" if self.opponent else f"0000 {self.colour} {self.result}"
        )


@dataclass(frozen=True, slots=True)
class Entry:
    """A line 001. `points` are half points. `about` is what stands in columns 9 to 80 beside name and rating."""

    number: int
    name: str
    rating: int | None = None
    federation: str = ""
    points: int = 0
    rank: int | None = None
    cells: tuple[Cell, ...] = ()
    about: str = ""
    line: int = 0

    def text(self, *, by_bytes: bool = False) -> str:
        """The line, without its end; `by_bytes`: the name has 33 bytes of room instead of 33 characters."""
        head = list(self.about.ljust(FIRST_ROUND - 1))
        name = cut_to_bytes(self.name) if by_bytes else f"{self.name[:NAME_ROOM]:{NAME_ROOM}}"
        fields = (
            (1, f"001 {self.number:4d}"),
            (49, f"{'' if self.rating is None else self.rating:>4}"),
            (54, f"{self.federation:3}"),
            (81, f"{self.points / 2:4.1f}"),
            (86, f"{'' if self.rank is None else self.rank:>4}"),
        )
        for column, text in fields:
            head[column - 1 : column - 1 + len(text)] = text
        head[14 : 14 + NAME_ROOM] = name
        return ("".join(head) + "  ".join(cell.text() for cell in self.cells)).rstrip(BLANKS)


@dataclass(frozen=True, slots=True)
class Line:
    """Any other line as it stands. `number` from 1."""

    text: str
    number: int = 0

    @property
    def tag(self) -> str:
        """Its first three columns."""
        return self.text[:3]


@dataclass(frozen=True, slots=True)
class Report:
    """A file in the order of its lines; `place` is what refusals call it, `encoding` that of its bytes."""

    records: tuple[Entry | Line, ...]
    place: str = "TRF"
    encoding: str = "utf-8"
    by_bytes: bool = False  # columns behind names count bytes

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entrants by their numbers."""
        found = [record for record in self.records if isinstance(record, Entry)]
        return tuple(sorted(found, key=lambda entry: entry.number))

    @property
    def lines(self) -> tuple[Line, ...]:
        """Everything else."""
        return tuple(record for record in self.records if isinstance(record, Line))

    def with_entries(self, entries: Sequence[Entry]) -> Report:
        """The same file with these in the places of those of the same number."""
        fresh = {entry.number: entry for entry in entries}
        records = (fresh[one.number] if isinstance(one, Entry) else one for one in self.records)
        return replace(self, records=tuple(records))

    def text(self) -> str:
        """The whole file, with names that were cut in comments at its end."""
        lines = [
            record.text(by_bytes=self.by_bytes) if isinstance(record, Entry) else record.text for record in self.records
        ]
        while lines and not lines[-1].strip():
            lines.pop()
        long = [e for e in self.entries if len(e.name.encode() if self.by_bytes else e.name) > NAME_ROOM]
        lines += [f"{_COMMENT} {entry.number:04d} {entry.name}" for entry in long]
        return "".join(f"{line}\r\n" for line in lines)

    def content(self) -> bytes:
        """The whole file in the encoding that it came in."""
        return self.text().encode(self.encoding)

    def refuse(self, line: int, expected: str, found: object) -> NoReturn:
        """InputRefused at a line of this file, 0 for all of it."""
        refuse(self.place, line, expected, found)


def refuse(place: str, line: int, expected: str, found: object) -> NoReturn:
    """InputRefused in the words of all broken lines."""
    raise InputRefused(f"expected {expected}, found {found}", place=f"{place}:{line}" if line else place)


def read(content: bytes | str, place: str = "TRF") -> Report:
    """A file whose lines are sound one by one; `place` names it. InputRefused at the first line that is not."""
    text, encoding = (content, "utf-8") if isinstance(content, str) else _decoded(content)
    if text.count("\n") + text.count("\r") > 2 * MOST_LINES:
        refuse(place, 0, f"at most {MOST_LINES:,} lines", "more")
    lines = re.split("\r\n|\r|\n", text.removeprefix("\ufeff"))
    readings = [lines]
    if encoding.startswith("utf-8") and not text.isascii():
        readings.append([_by_characters(line) for line in lines])
        readings.sort(key=_aligned, reverse=True)
    refused = None
    for reading in readings:
        try:
            return Report(_records(reading, place), place, encoding, by_bytes=reading is not lines)
        except InputRefused as error:
            refused = refused or error
    assert refused
    raise refused


def _aligned(lines: Sequence[str]) -> int:
    """How many ratings, points and ranks stand where the columns say, in lines 001 with letters of several bytes."""
    wide = (line.ljust(FIRST_ROUND) for line in lines if line[:3] == "001" and not line.isascii())
    found = (_ALIGNED.match(line, 47) for line in wide)
    return sum(bool(text.strip()) for one in found if one for text in one.groups())


def _records(lines: Sequence[str], place: str) -> tuple[Entry | Line, ...]:
    records: list[Entry | Line] = []
    names: dict[int, str] = {}
    numbers: dict[int, int] = {}
    for count, line in enumerate(lines, 1):
        if line[:3] == "001":
            entry = _entry(line, count, place)
            if entry.number in numbers:
                refuse(
                    place, count, f"a number of its own, {entry.number} is that of line {numbers[entry.number]}", "it"
                )
            numbers[entry.number] = count
            records.append(entry)
        elif (full := _FULL_NAME.fullmatch(line)) and int(full[1]) in numbers:
            names[int(full[1])] = full[2]
        else:
            records.append(Line(line, count))
    if not numbers:
        refuse(place, 0, "lines 001 with entrants", "none")
    return tuple(_named(one, names) if isinstance(one, Entry) else one for one in records)


def _by_characters(line: str) -> str:
    """A line 001 whose name is padded by bytes as one that is padded by characters."""
    if line[:3] != "001" or line.isascii():
        return line
    raw = line.encode()
    name = raw[14 : 14 + NAME_ROOM].decode(errors="ignore")
    return f"{raw[:14].decode(errors='ignore')}{name:{NAME_ROOM}}{raw[14 + NAME_ROOM :].decode(errors='ignore')}"


def cut_to_bytes(name: str) -> str:
    """As much of a name as has room in 33 bytes, padded to them."""
    cut = name.encode()[:NAME_ROOM].decode(errors="ignore")
    return cut + " " * (NAME_ROOM - len(cut.encode()))


def _named(entry: Entry, names: dict[int, str]) -> Entry:
    """With the full name, if the one it has is that name cut."""
    full = names.get(entry.number, "")
    cuts = (full[:NAME_ROOM].strip(BLANKS), cut_to_bytes(full).strip(BLANKS))
    return replace(entry, name=full) if entry.name in cuts else entry


def _decoded(content: bytes) -> tuple[str, str]:
    """The text and its encoding; Windows-1252, or else Latin-1, stands for any old code page: both keep each byte."""
    marks = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
    marked = next((encoding for mark, encoding in marks.items() if content.startswith(mark)), "utf-8")
    for encoding in (marked, "cp1252", "latin-1"):
        try:
            return content.decode(encoding), encoding
        except UnicodeDecodeError:
            continue
    raise AssertionError("Latin-1 has a letter for each byte")


def _entry(line: str, count: int, place: str) -> Entry:
    number = line[4:8].strip()
    if not number.isascii() or not number.isdigit() or not int(number):
        refuse(place, count, "a starting number in columns 5-8", repr(line[4:8]))
    name = line[14:47].strip(BLANKS)
    if not name:
        refuse(place, count, "a name in columns 15-47", "none")
    rating, rank = (_whole(line, first, last, count, place) for first, last in ((49, 52), (86, 89)))
    points = line[80:84].strip()
    if points and not _POINTS.fullmatch(points):
        refuse(place, count, "points such as 11.5 in columns 81-84", repr(line[80:84]))
    about = "".join(" " if _ours(column) else sign for column, sign in enumerate(line[:80], 1)).rstrip()
    return Entry(
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


def _ours(column: int) -> bool:
    """Columns that have a field of their own."""
    return column <= 8 or 15 <= column <= 47 or 49 <= column <= 52 or 54 <= column <= 56


def _whole(line: str, first: int, last: int, count: int, place: str) -> int | None:
    text = line[first - 1 : last].strip()
    if text and not (text.isascii() and text.isdigit()):
        refuse(place, count, f"a whole number in columns {first}-{last}", repr(text))
    return int(text) if text else None


def _cells(line: str, count: int, place: str) -> list[Cell]:
    cells = []
    if len(line.rstrip()) > FIRST_ROUND + MOST_ROUNDS * ROUND_WIDTH:
        refuse(place, count, f"at most {MOST_ROUNDS} rounds", f"{len(line):,} columns")
    for start in range(FIRST_ROUND - 1, len(line.rstrip()), ROUND_WIDTH):
        text = line[start : start + 8].ljust(8)
        found, behind = _ROUND.fullmatch(text), line[start + 8 : start + 10]
        if not found or behind.strip():
            words = f"opponent, colour and result in columns {start + 1}-{start + 8}, then two blanks"
            refuse(place, count, words, repr(text + behind))
        result = found["result"].upper()
        if result not in f"{RESULTS} ":
            refuse(place, count, f"a result, one of {' '.join(RESULTS)}, in column {start + 8}", repr(found["result"]))
        colour = found["colour"].lower().replace(" ", "-")
        cells.append(Cell(int(found["opponent"].strip() or 0), colour, result))
    return cells
