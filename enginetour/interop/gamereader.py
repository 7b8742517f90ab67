"""The careful reader of whole games: follows where each begins and ends, and digests what lies between."""

from __future__ import annotations

from array import array
from hashlib import sha256
from itertools import accumulate

from enginetour.interop.gamecolumns import BLACK_TC, TERMINATION, WHITE_TC, Games
from enginetour.interop.gamefile import Part
from enginetour.interop.gameopenings import LONGEST_OPENING, opening_of
from enginetour.interop.oddstags import is_odds_tag
from enginetour.interop.pgntags import TagReader, tags_of
from enginetour.interop.tally import VARIANT

_KEPT = (b"Event", b"Date", b"Round", b"TimeControl", WHITE_TC, BLACK_TC, b"GameStartTime", VARIANT, TERMINATION)


class _Open:
    """A counted game that has not ended yet: of its own bytes, fed in parts, only the first are held."""

    def __init__(self, tags: dict[bytes, bytes], begin: int) -> None:
        self.tags = tags
        self.begin = begin
        self.read = begin + 1  # behind the bracket
        self.front = b"["  # with its opening
        self._sum = sha256()  # of all of them
        self._body = self._sum.copy()  # the same without the white space at their end
        self._held = b""  # a carriage return that may be half of a line's end

    def feed(self, own: bytes) -> None:
        """More of its bytes."""
        own = self._held + own
        self._held = b"\r" * own.endswith(b"\r")
        own = own.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self.front += own[: LONGEST_OPENING - len(self.front)]
        body = own.rstrip()
        if body:
            self._sum.update(body)
            self._body = self._sum.copy()
        self._sum.update(own[len(body) :])

    def digest(self) -> bytes:
        """Of all of them but white space at the end."""
        return self._body.digest()


class GameReader(TagReader):
    """Counts into the columns as `TagReader` into a tally. Pieces follow each other until it is settled."""

    def __init__(self, games: Games, part: Part) -> None:
        super().__init__(games, part.place)
        self._games = games
        self._part = part
        self._others: dict[bytes, bytes] = {}
        self._open: _Open | None = None
        self._header_at = 0  # place of the first line of the tags that are being read
        self._at = 0  # place of the bytes that may belong to a game that is not counted yet
        self._bytes = b""
        self._fed = 0  # the offset of the last feed
        self._lines = array("q")  # places where its lines begin
        self._partial_place = 0  # where a tag begins that goes on in the next feed

    def feed(self, offset: int, lines: bytes, *, whole: bool = True) -> None:
        """Read on; what belongs to a counted game goes into its digest."""
        here = offset or self._part.mark
        if not self._bytes:
            self._at = here
        self._bytes += lines
        self._lines = array("q", accumulate(map(len, lines.splitlines(keepends=True)), initial=here))
        self._fed = offset
        super().feed(offset, lines, whole=whole)
        passed = here + len(lines)
        if self._partial:
            passed = self._partial_place = self._place_of(self._partial_at)
        if self._broken:
            self._close(self._header_at)
        self._pass(self._header_at if self._header and not self._broken else passed)

    def settle(self) -> bool:
        """As the tag reader; the last game ends here."""
        settled = super().settle()
        if settled:
            self._close(self._at + len(self._bytes))
            self._bytes = b""
        return settled

    def finish(self) -> None:
        """The last game ends with the file."""
        super().finish()
        self._close(self._at + len(self._bytes))

    def _bracket(self, line: bytes, here: tuple[int, int], *, whole: bool = False) -> None:
        super()._bracket(line, here, whole=whole)
        if self._header and self._begun == here:
            self._header_at = self._at + self._bytes.index(b"[", self._place_of(here) - self._at)
        if self._header:
            self._others |= {name: value for name, value in tags_of(line) if name in _KEPT or is_odds_tag(name)}

    def _untagged(self, here: tuple[int, int]) -> None:
        super()._untagged(here)
        self._close(self._place_of(here))

    def _place_of(self, here: tuple[int, int]) -> int:
        """Where a line of the last feed begins, or the tag that it continued."""
        return self._lines[here[1]] if here[0] == self._fed else self._partial_place

    def _end(self) -> None:
        if not self._header:
            return
        named, counted = self._named, self._games.games
        tags = self._others | self._tags
        super()._end()
        if named:
            self._close(self._header_at)
        if self._games.games > counted:
            self._open = _Open(tags, self._header_at)

    def _forget(self) -> None:
        super()._forget()
        self._others = {}

    def _close(self, end: int) -> None:
        """The game that is open ends before `end`."""
        self._pass(end)
        if self._open is not None:
            opening = opening_of(self._open.front)
            self._games.keep(self._open.tags, self._open.begin, self._open.digest(), opening)
            self._open = None

    def _pass(self, end: int) -> None:
        """What lies before `end` belongs to the open game or to none."""
        if self._open is not None and end > self._open.read:
            self._open.feed(self._bytes[self._open.read - self._at : end - self._at])
            self._open.read = end
        if end > self._at:
            self._bytes, self._at = self._bytes[end - self._at :], end
