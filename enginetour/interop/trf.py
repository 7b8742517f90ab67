"""Tournament report files (TRF) as lines: what is read, kept and written again, whatever a program put there.

columns of 001, from 1: 5-8 number, 10 sex, 11-13 title, 15-47 name, 49-52 rating, 54-56 federation, 58-68 id,
70-79 birth, 81-84 points, 86-89 rank; from 92 every 10 columns a round: opponent (4), colour (97), result (99).

Lines end in LF, CRLF or CR; written is CRLF. A name that does not fit is cut and stands whole in a comment,
``### 0012 name``. Source: FIDE Handbook C.04 annex 2, TRF06 to TRF26.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from enginetour.errors import InputRefused

NAME_ROOM = 33  # columns 15-47
FIRST_ROUND, ROUND_WIDTH = 92, 10
RESULTS = "10=+-WDLHFUZ"  # and a blank
MOST_ENTRIES = 9999  # four columns
MOST_ROUNDS = 999  # three columns (TRF26, 240)
LARGEST_FILE = 10_000_000  # bytes: all entries with ninety rounds each
MOST_LINES = 100_000  # our choice: ten for each entry
_COMMENT = "###"
_FULL_NAME = re.compile(r"### ([0-9]{4}) (.*\S)\s*")
_POINTS = re.compile(r"[0-9]{1,3}([.,][05])?")
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

    def text(self) -> str:
        """The line, without its end."""
        head = list(self.about.ljust(FIRST_ROUND - 1))
        fields = (
            (1, f"001 {self.number:4d}"),
            (15, f"{self.name[:NAME_ROOM]:{NAME_ROOM}}"),
            (49, f"{'' if self.rating is None else self.rating:>4}"),
            (54, f"{self.federation:3}"),
            (81, f"{self.points / 2:4.1f}"),
            (86, f"{'' if self.rank is None else self.rank:>4}"),
        )
        for column, text in fields:
            head[column - 1 : column - 1 + len(text)] = text
        return ("".join(head) + "  ".join(cell.text() for cell in self.cells)).rstrip()


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
    """A file in the order of its lines; `place` is what refusals call it."""

    records: tuple[Entry | Line, ...]
    place: str = "TRF"

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
        lines = [record.text() if isinstance(record, Entry) else record.text for record in self.records]
        while lines and not lines[-1].strip():
            lines.pop()
        long = [entry for entry in self.entries if len(entry.name) > NAME_ROOM]
        lines += [f"{_COMMENT} {entry.number:04d} {entry.name}" for entry in long]
        return "".join(f"{line}\r\n" for line in lines)

    def refuse(self, line: int, expected: str, found: object) -> NoReturn:
        """InputRefused at a line of this file, 0 for all of it."""
        refuse(self.place, line, expected, found)


def refuse(place: str, line: int, expected: str, found: object) -> NoReturn:
    """InputRefused in the words of all broken lines."""
    raise InputRefused(f"expected {expected}, found {found}", place=f"{place}:{line}" if line else place)


def read(content: bytes | str, place: str = "TRF") -> Report:
    """A file whose lines are sound one by one; `place` names it. InputRefused at the first line that is not."""
    text = content if isinstance(content, str) else _decoded(content)
    if text.count("\n") + text.count("\r") > 2 * MOST_LINES:
        refuse(place, 0, f"at most {MOST_LINES:,} lines", "more")
    records: list[Entry | Line] = []
    names: dict[int, str] = {}
    numbers: dict[int, int] = {}
    for count, line in enumerate(re.split("\r\n|\r|\n", text.removeprefix("\ufeff")), 1):
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
    whole = [_named(one, names) if isinstance(one, Entry) else one for one in records]
    return Report(tuple(whole), place)


def _named(entry: Entry, names: dict[int, str]) -> Entry:
    """With the full name, if the one it has is that name cut."""
    full = names.get(entry.number, "")
    return replace(entry, name=full) if full[:NAME_ROOM].strip() == entry.name else entry


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")  # what programs wrote before


def _entry(line: str, count: int, place: str) -> Entry:
    number = line[4:8].strip()
    if not number.isascii() or not number.isdigit() or not int(number):
        refuse(place, count, "a starting number in columns 5-8", repr(line[4:8]))
    name = line[14:47].strip()
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
