"""Reads White, Black and Result of any PGN, whatever the order of its tags, line by line: right first, then quick.

What a game is here: a block of tags that holds White or Result. Blocks end at the first line of moves or the second
blank line; one blank line may stand between tags, but not before ``[Event``. A tag of the three that comes again
when all three are known begins a new game, so files without moves are read too. Tags inside a ``{}`` comment are
words, as are lines behind ``%`` (PGN standard 5, 6, 8.1). After Fiekas's reader in python-chess.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from enginetour.interop.oddstags import HANDICAP, says_odds
from enginetour.interop.tally import VARIANT, Tally, escaped, nameless, unescaped

_TAG = rb'\[([A-Za-z0-9][A-Za-z0-9_+#=:-]*)\s+"((?:[^"\\]|\\.)*)"\s*\]'
_EXACT = re.compile(rb"(?:" + _TAG + rb"\s*)+")
_EACH = re.compile(_TAG)
# Writers that escape nothing: the value ends at the last quote of the line.
_LOOSE = re.compile(rb'\[([A-Za-z0-9][A-Za-z0-9_+#=:-]*)\s+"(.*)"\s*\]\s*', re.DOTALL)
_BRACES = re.compile(rb"[{};]")
LONGEST_HEADER = 1 << 20  # bytes between the pieces where tags begin and where they still go on: no game has so many
LONGEST_LINE = 65536  # bytes of a line of tags; the standard's readers need 255 (PGN standard 4.3)
_WANTED = (b"White", b"Black", b"Result")


def tags_of(line: bytes) -> list[tuple[bytes, bytes]]:
    """Names and raw values of the tags of a line; nothing when it is no line of tags."""
    if len(line) > LONGEST_LINE:
        return []
    if _EXACT.fullmatch(line):
        return _EACH.findall(line)
    loose = _LOOSE.fullmatch(line)
    return [(loose[1], escaped(unescaped(loose[2])))] if loose else []


class TagReader:
    """Fed with lines, counts into a tally. `place` says where a line is, from the offset fed and its number there."""

    def __init__(self, tally: Tally, place: Callable[[int, int], str]) -> None:
        self._tally = tally
        self._place = place
        self._tags: dict[bytes, bytes] = {}
        self._named = False  # is it a game: did White or Result show, readable or not
        self._header = False
        self._odds, self._variant = False, b""  # the raw tag of another variant
        self._blanks = 1  # blank lines since the last tag or move
        self._begun = (0, 0)
        self._comment = False
        self._opened = (0, 0)
        self._hidden = False  # behind a semicolon
        self._cut = ""  # what goes on in the next feed: moves, or words that mean nothing

    def feed(self, offset: int, lines: bytes, *, whole: bool = True) -> None:
        """Read on; not `whole`: the last line may go on in the next feed."""
        rows = lines.splitlines()
        for number, line in enumerate(rows):
            here = (offset, number)
            if number == 0 and self._cut:
                if self._cut == "moves":
                    self._moves(line, here)
                continue
            if self._comment:
                if b"}" in line:
                    self._moves(line, here)
            elif line[:1] == b"[":
                self._bracket(line, here)
            elif not line or line.isspace():
                self._blanks += 1
                if self._blanks > 1:
                    self._end()
            elif line[:1] != b"%" and not (self._header and line[:1] == b";"):
                self._end()
                self._blanks = 0
                self._moves(line, here)
        if whole or lines[-1:] in (b"\n", b"\r"):
            self._cut = ""
        elif len(rows) > 1 or not self._cut:
            first = rows[-1][:1]
            words = (first == b"[" and self._header) or first in (b"%", b";") or self._hidden
            self._cut = "words" if words and not self._comment else "moves"
            self._tally.break_at(self._place(offset, len(rows) - 1), "a line without end", games=0)

        if self._header and offset - self._begun[0] > LONGEST_HEADER:
            self._tally.break_at(self._place(*self._begun), "tags without end", games=int(self._named))
            self._forget()

    def settle(self) -> bool:
        """At the start of another game: count the last one. False inside a comment, where no game can start."""
        if self._comment:
            return False
        self._end()
        self._blanks = 1
        return True

    def finish(self) -> None:
        """At the end of the file."""
        self._end()
        if self._comment:
            why = "a comment that never ends: games behind it do not count"
            self._tally.break_at(self._place(*self._opened), why, games=0)

    def _bracket(self, line: bytes, here: tuple[int, int]) -> None:
        """A line of tags, or of moves that begins like one."""
        tags = tags_of(line)
        if not tags and not self._header and not self._blanks:
            self._moves(line, here)
            return
        if self._header and self._blanks and line.startswith(b'[Event "'):
            self._end()
        if not self._header:
            self._header, self._begun = True, here
        for name, value in tags:
            if name in _WANTED:
                if len(self._tags) == len(_WANTED) or (self._blanks and name in self._tags):
                    self._end()
                    self._header, self._begun = True, here
                self._tags[name] = value
            elif name == HANDICAP:
                self._odds = says_odds(value)
            elif name == VARIANT:
                from enginetour.interop.varianttags import is_standard  # it knows chess: most files have no such tag

                self._variant = b"" if is_standard(value) else value
        self._blanks = 0
        if line.startswith(b'[White "') or b"[Result" in line:
            self._named = True

    def _moves(self, line: bytes, here: tuple[int, int]) -> None:
        """Follow comments; the rest of a line behind a semicolon is one too."""
        self._hidden = False
        if b";" in line:
            for found in _BRACES.finditer(line):
                if found[0] == b";" and not self._comment:
                    self._hidden = True
                    return
                if found[0] != b";":
                    self._brace(here, opens=found[0] == b"{", after=self._comment)
        elif b"{" in line or b"}" in line:
            # An opening brace inside a comment is a letter of it: the last sign of a line decides.
            inside = self._comment and b"}" not in line
            self._brace(here, opens=line.rfind(b"{") > line.rfind(b"}"), after=inside)

    def _brace(self, here: tuple[int, int], *, opens: bool, after: bool) -> None:
        """A comment opens, unless it goes on after one that did, or ends."""
        if opens and not after:
            self._opened = here
        self._comment = opens

    def _end(self) -> None:
        """The block of tags is over."""
        if not self._header:
            return
        if self._named:
            missing = [name.decode() for name in _WANTED if name not in self._tags]
            blank = [name.decode() for name in _WANTED[:2] if nameless(self._tags.get(name, b"x"))]
            if missing:
                self._tally.break_at(self._place(*self._begun), f"a game without a readable {missing[0]} tag")
            elif blank:
                self._tally.break_at(self._place(*self._begun), f"a game whose {blank[0]} has no name")
            else:
                white, black, result = (self._tags[name] for name in _WANTED)
                if not self._tally.add([(white, black, result)]):
                    self._tally.break_at(self._place(*self._begun), "a game with a name of endless length")
                elif self._odds or self._variant:
                    self._tally.set_aside(odds=self._odds, variant=self._variant)
        self._forget()

    def _forget(self) -> None:
        """No tags were read, no game is open."""
        self._tags, self._named, self._header, self._odds, self._variant = {}, False, False, False, b""
