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
from enginetour.interop.tally import TERMINATORS, VARIANT, Tally, escaped, nameless, result_code, unescaped
from enginetour.interop.wholefile import MOST_TAGS

_TAG = rb'\[\s*([A-Za-z0-9][A-Za-z0-9_+#=:-]*)\s*"((?:[^"\\]|\\.)*)"\s*\]'
_EXACT = re.compile(rb"(?:" + _TAG + rb"\s*)+")
_EACH = re.compile(_TAG)
# Writers that escape nothing: the value ends at the last quote of the line.
_LOOSE = re.compile(rb'\[\s*([A-Za-z0-9][A-Za-z0-9_+#=:-]*)\s*"(.*)"\s*\]\s*', re.DOTALL)
_BRACES = re.compile(rb"[{};]")
LONGEST_HEADER = 1 << 20  # bytes between the pieces where tags begin and where they still go on: no game has so many
LONGEST_LINE = 65536  # bytes of a line of tags; the standard's readers need 255 (PGN standard 4.3)
_WANTED = (b"White", b"Black", b"Result")
_TELLING = (b"White", b"Result")  # without one of them it is not a game
_ANY_CASE = {name.lower(): name for name in _WANTED}
_TELLS = re.compile(rb"\[\s*(Event|%b)[\s\"]" % b"|".join(_WANTED), re.IGNORECASE)
_FIRST_MOVE = re.compile(rb"1\.+\s*[a-hKQRBNO]")


def tags_of(line: bytes) -> list[tuple[bytes, bytes]]:
    """Names and raw values of the tags of a line; nothing when it is no line of tags."""
    if len(line) > LONGEST_LINE:
        return []
    if _EXACT.fullmatch(line):
        return _EACH.findall(line)
    loose = _LOOSE.fullmatch(line)
    return [(loose[1], escaped(unescaped(loose[2])))] if loose else []


def contradicts(result: bytes, line: bytes) -> bool:
    """Whether the last line of a game's moves ends with another result than its tag says.

    A line with a semicolon may end with a comment, so nothing is known of it.
    """
    if b";" in line or line[:1] in (b"%", b"["):
        return False
    said = line.split()[-1:]
    return bool(said) and said[0] in TERMINATORS and TERMINATORS[said[0]] != result_code(result)


class TagReader:
    """Fed with lines, counts into a tally. `place` says where a line is, from the offset fed and its number there."""

    def __init__(self, tally: Tally, place: Callable[[int, int], str]) -> None:
        self._tally = tally
        self._place = place
        self._tags: dict[bytes, bytes] = {}
        self._named = False  # is it a game: did White or Result show, readable or not
        self._header = False
        self._number = 0  # of tags so far
        self._broken: tuple[str, str] | None = None  # place and reason of a block whose other tags are skipped
        self._odds, self._variant = False, b""  # the raw tag of another variant
        self._blanks = 1  # blank lines since the last tag or move
        self._begun = (0, 0)
        self._comment = False
        self._opened = (0, 0)
        self._hidden = False  # behind a semicolon
        self._cut = ""  # what goes on in the next feed: moves, or words that mean nothing
        self._partial = bytearray()  # a tag that continues on the next line; it began in line `_partial_at`
        self._partial_at = (0, 0)
        self._moved = True  # since the last tags: moves that begin again are a game without tags
        self._result: tuple[bytes, tuple[int, int]] | None = None  # of the last game that counts, and where it began
        self._last = b""  # line of moves behind it

    def feed(self, offset: int, lines: bytes, *, whole: bool = True) -> None:
        """Read on; not `whole`: the last line may go on in the next feed."""
        rows = lines.splitlines()
        for number, line in enumerate(rows):
            here = (offset, number)
            if number == 0 and self._cut:
                if self._cut == "moves":
                    self._moves(line, here)
                continue
            if self._partial and self._goes_on(line):
                continue
            if self._comment:
                if b"}" in line:
                    self._moves(line, here)
            elif line[:1] == b"[" or (line[:1] in (b" ", b"\t") and tags_of(line.lstrip())):
                line = line.lstrip()
                if not self._skipped(line, here):
                    self._bracket(line, here)
            elif not line or line.isspace():
                self._blanks += 1
                if self._blanks > 1:
                    self._end()
            elif line[:1] != b"%" and not (self._header and line[:1] == b";"):
                self._end()
                if self._moved and self._blanks and _FIRST_MOVE.match(line):
                    self._untagged(here)
                self._blanks, self._moved = 0, True
                self._moves(line, here)
            elif not self._header:
                self._last = b""
        if whole or lines[-1:] in (b"\n", b"\r"):
            self._cut = ""
        elif len(rows) > 1 or not self._cut:
            first = rows[-1][:1]
            words = (first == b"[" and self._header) or first in (b"%", b";") or self._hidden
            self._cut = "words" if words and not self._comment else "moves"
            self._tally.break_at(self._place(offset, len(rows) - 1), "a line without end", games=0)

        if self._header and offset - self._begun[0] > LONGEST_HEADER:
            self._break("tags without end")

    def _break(self, why: str) -> None:
        """The game of these tags is a broken one: of the others only those are read that may begin another game."""
        self._broken = self._broken or (self._place(*self._begun), why)

    def _skipped(self, line: bytes, here: tuple[int, int], *, whole: bool = False) -> bool:
        """Skip a line of tags of a broken game, unless it begins another one or is missing before one can begin."""
        if self._broken is None:
            return False
        if found := _TELLS.search(line):
            known = found[1].capitalize() in (*self._tags, b"Event") and len(self._tags) < len(_WANTED)
            if self._blanks or not known or line.count(b"[") > 1:
                return False
        if not whole and b"]" not in line and len(line) <= LONGEST_LINE:
            self._partial, self._partial_at = bytearray(line), here
        else:
            self._blanks = 0
        return True

    def settle(self) -> bool:
        """At the start of another game: count the last one. False inside a comment, where no game can start."""
        self._close_tag()
        if self._comment:
            return False
        self._end()
        self._judge()
        self._blanks = 1
        return True

    def finish(self) -> None:
        """At the end of the file."""
        self._close_tag()
        self._end()
        self._judge()
        if self._comment:
            why = "a comment that never ends: games behind it do not count"
            self._tally.break_at(self._place(*self._opened), why, games=0)

    def _goes_on(self, line: bytes) -> bool:
        """The line continues the tag before it; else that tag is broken, and the line is read for itself."""
        if line[:1] == b"[" or not line.strip() or len(self._partial) + len(line) > LONGEST_LINE:
            self._close_tag()
            return False
        self._partial += b" " + line
        if b"]" in line:
            self._close_tag()
        return True

    def _close_tag(self) -> None:
        """A tag of several lines is read as if it stood in one."""
        if self._partial:
            line, self._partial = bytes(self._partial), bytearray()
            if not self._skipped(line, self._partial_at, whole=True):
                self._bracket(line, self._partial_at, whole=True)

    def _untagged(self, here: tuple[int, int]) -> None:
        """A game without tags begins, and ends the one before it."""
        self._judge()
        self._tally.break_untagged(self._place(*here))

    def _judge(self) -> None:
        """The moves of the last game are over."""
        if self._result is not None and contradicts(self._result[0], self._last):
            self._tally.contradict(self._place(*self._result[1]))
        self._result = None

    def _bracket(self, line: bytes, here: tuple[int, int], *, whole: bool = False) -> None:
        """A line of tags, or of moves that begins like one; `whole`: no tag of it goes on in the next line."""
        tags = tags_of(line)
        if not tags and not self._header and not self._blanks:
            self._moves(line, here)
            return
        if not whole and not tags and b"]" not in line and len(line) <= LONGEST_LINE:
            self._partial, self._partial_at = bytearray(line), here
            return
        if self._header and self._blanks and (line.startswith(b'[Event "') or (tags and tags[0][0] == b"Event")):
            self._end()
        self._moved = False
        if not self._header:
            self._header, self._begun = True, here
        tags = [(_ANY_CASE.get(name.lower(), name), value) for name, value in tags]
        for name, value in tags:
            if name in _WANTED:
                if len(self._tags) == len(_WANTED) or (self._blanks and name in self._tags):
                    self._end()
                    self._header, self._begun = True, here
                self._tags[name] = value
            self._number += 1
            if self._number > MOST_TAGS:
                self._break(f"more than {MOST_TAGS:,} tags")
            elif name == HANDICAP:
                self._odds = says_odds(value)
            elif name == VARIANT:
                from enginetour.interop.varianttags import is_standard  # it knows chess: most files have no such tag

                self._variant = b"" if is_standard(value) else value
        self._blanks = 0
        if line.startswith(b'[White "') or b"[Result" in line or any(name in _TELLING for name, _ in tags):
            self._named = True

    def _moves(self, line: bytes, here: tuple[int, int]) -> None:
        """Follow comments; the rest of a line behind a semicolon is one too."""
        self._hidden, self._last = False, line
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
        self._judge()
        if self._broken:
            self._tally.break_at(*self._broken, games=int(self._named))
        elif self._named:
            missing = [name.decode() for name in _WANTED if name not in self._tags]
            blank = [name.decode() for name in _WANTED[:2] if nameless(self._tags.get(name, b"x"))]
            if missing:
                self._tally.break_at(self._place(*self._begun), f"a game without a readable {missing[0]} tag")
            elif blank:
                self._tally.break_at(self._place(*self._begun), f"a game whose {blank[0]} has no name")
            else:
                white, black, result = (self._tags[name] for name in _WANTED)
                if not self._tally.add([white], [black], [result], self._place(*self._begun)):
                    self._tally.break_at(self._place(*self._begun), "a game with a name of endless length")
                else:
                    self._result, self._last = (result, self._begun), b""
                    if self._odds or self._variant:
                        self._tally.set_aside(odds=self._odds, variant=self._variant)
        self._forget()

    def _forget(self) -> None:
        """No tags were read, no game is open."""
        self._tags, self._named, self._header, self._odds, self._variant = {}, False, False, False, b""
        self._number, self._broken = 0, None
