"""Positions, one a line: EPD (PGN standard 16.2) and FEN. A large file is indexed by byte offsets, not held."""

from __future__ import annotations

import codecs
import re
from array import array
from pathlib import Path
from typing import BinaryIO

from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening
from enginetour.model.variants import STANDARD, Numbered
from enginetour.openings.openingcheck import NONE, Bad, LeftOut, Written, checked, shown

_OPERATION = re.compile(r'(\w+)(?:\s+("[^"]*"|[^;"]*))?')  # no blanks around it: their number would count squared
_CHECKS = re.compile(r"\d\+\d\s*")
_GIVEN = re.compile(r"\+\d\+\d(?=\s|;|$)")
_BLANK = b" \t\r\n\x1a"
LONGEST_LINE = 65_536  # bytes; the longest books in use have lines of 70
MOST_SKIPPED = 1000  # bad positions in a row that are passed over before a file is taken for no suite


def text_of(raw: bytes) -> str:
    """A line without its end: UTF-8, or what older programs of Windows write."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("cp1252", "replace")
    return text.strip("\r\n\x1a")  # DOS ends files with a ^Z


def written_at(line: int, text: str, variant: str = STANDARD) -> Written | Bad | None:
    """One line of EPD (``id``, ``hmvc``, ``fmvn`` and ``eco`` are kept) or FEN; None for blanks and ``#`` comments."""
    fields = text.split(None, 4)
    if not fields or fields[0].startswith("#"):
        return None
    if len(fields) < 4:
        return Bad(line, f"neither FEN nor EPD: {shown(text)}")
    rest = fields[4] if len(fields) == 5 else ""
    still = _CHECKS.match(rest) if variant == "3check" else None  # checks still to give: "3+3"
    checks = [still[0].strip()] if still else []
    rest, given = _given(rest[still.end() :] if still else rest, variant)
    counters = "0 1"
    plain = re.fullmatch(r"(\d+)\s+(\d+)\s*;?\s*(.*)", rest)
    if plain:
        counters, rest = _counters(plain[1], plain[2]), plain[3]
        rest, given = (rest, given) if given else _given(rest, variant)
    operations = {match[1]: (match[2] or "").strip().strip('"') for match in _OPERATION.finditer(rest)}
    if not plain:
        half, full = operations.get("hmvc", "0"), operations.get("fmvn", "1")
        if not (half.isdecimal() and full.isdecimal()):
            return Bad(line, f"hmvc and fmvn are whole numbers, found {shown(rest)}")
        counters = _counters(half, full)
    fen = " ".join([*fields[:4], *checks, counters, *given])
    return Written(line, operations.get("id", ""), operations.get("eco", ""), fen)


def _given(rest: str, variant: str) -> tuple[str, list[str]]:
    """What is behind the checks given, where these come next, and they: ``+1+0``, as lichess writes them."""
    found = _GIVEN.match(rest) if variant == "3check" else None
    return (rest[found.end() :].lstrip(), [found[0]]) if found else (rest, [])


def position(line: int, text: str, variant: str = STANDARD) -> Opening | Bad | None:
    """The opening of one line, checked."""
    written = written_at(line, text, variant)
    return checked(written, variant=variant) if isinstance(written, Written) else written


def _counters(half: str, full: str) -> str:
    """As FEN has them; a first move 0 is 1."""
    return f"{half.lstrip('0') or '0'} {full.lstrip('0') or '1'}"


class IndexedPositions(Numbered):
    """The positions of a file that is kept open; each is read and checked when it is asked for.

    `index` is the place among all lines that hold something. InputRefused for a bad one, or with `skip_bad` the next
    good one in its place: which one a game gets stays a matter of its number alone.
    """

    def __init__(self, stream: BinaryIO, path: Path, variant: str = STANDARD, *, skip_bad: bool = False) -> None:
        self._stream, self._path, self._variant, self._skip_bad = stream, path, variant, skip_bad
        self._offsets = array("Q")
        self._bad: set[int] = set()  # places of those that were found bad so far
        at, whole = 0, True
        stream.seek(0)
        while piece := stream.readline(LONGEST_LINE):
            if whole and (text := piece.strip(_BLANK)) and not text.startswith(b"#"):
                self._offsets.append(at)
            at += len(piece)
            whole = piece.endswith(b"\n")

    def __del__(self) -> None:
        self._stream.close()

    def __len__(self) -> int:
        return len(self._offsets)

    def _at(self, number: int) -> Opening:
        for later in range(MOST_SKIPPED if self._skip_bad else 1):
            place = (number + later) % len(self)
            found = self._read(place)
            if isinstance(found, Opening):
                return Opening(found.name, place + 1, found.fen, (), found.eco, self._variant)
            self._bad.add(place)
        bad = self._read(number)
        assert isinstance(bad, Bad)
        step = "mend it" if self._skip_bad else "mend it, or leave bad openings out with skip_bad = true"
        raise InputRefused(f"bad opening, {bad.why}", place=f"{self._path}:{self._line(number)}", step=step)

    def left_out(self) -> LeftOut:
        """What `skip_bad` has passed over so far."""
        if not self._bad:
            return NONE
        first = min(self._bad)
        bad = self._read(first)
        assert isinstance(bad, Bad)
        place = f"{self._path}:{self._line(first)}"
        return LeftOut(len(self._bad), len(self), f"{place}: {bad.why}", whole=False)

    def _read(self, number: int) -> Opening | Bad:
        self._stream.seek(self._offsets[number])
        raw = self._stream.readline(LONGEST_LINE)
        if len(raw) == LONGEST_LINE and not raw.endswith(b"\n"):
            return Bad(0, f"a line longer than {LONGEST_LINE:,} bytes")
        text = text_of(raw.removeprefix(codecs.BOM_UTF8))
        return position(0, text, self._variant) or Bad(0, "nothing in it")

    def _line(self, number: int) -> int:
        self._stream.seek(0)
        left, lines = self._offsets[number], 1
        while left and (block := self._stream.read(min(left, 1 << 20))):
            lines += block.count(b"\n")
            left -= len(block)
        return lines
