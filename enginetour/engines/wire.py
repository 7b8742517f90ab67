"""Messages of engines in both protocols, figures of their searches, and the buffer for their output."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple


class MessageKind(Enum):
    """The meaning of an engine's line at the time when it is read."""

    ANSWER = auto()  # a move that ends the search
    STALE = auto()  # an answer without a search; dropped
    PONG = auto()  # the answer to the latest ping
    HELLO = auto()  # `uciok`, or the end of the features
    WAIT = auto()  # done=0: the engine needs more time for its features
    FEATURE = auto()  # features that do not end the handshake
    RESIGN = auto()
    RESULT = auto()  # `text` is 1-0, 0-1 or 1/2-1/2
    ABORT = auto()  # `*`: aborts the game without a result
    REFUSED_MOVE = auto()  # `text` is a move sent by enginetour that the engine reports as illegal
    REFUSED = auto()  # `text` is a command that the engine does not support
    REFUSED_POSITION = auto()
    OFFER = auto()  # a draw offer
    LINE = auto()  # anything else


class Message(NamedTuple):
    """A line that enginetour must handle; `stamp_ns` is CLOCK_MONOTONIC right after the read that completed it."""

    kind: MessageKind
    text: str = ""
    stamp_ns: int = 0
    cut: bool = False  # it is the last line before the end of the output, without a line end


class SearchInfo(NamedTuple):
    """The last line with a score of a search. The score is from the point of view of the side to move.

    A mate in n has the score +-(32000 - n).
    """

    score: int | None = None
    depth: int | None = None
    nodes: int | None = None
    pv: str = ""
    seldepth: int | None = None
    nps: int | None = None
    hashfull: int | None = None  # permille
    tbhits: int | None = None
    bound: int = 0  # 1: `score` is a lower bound, -1: `score` is an upper bound

    def turned(self) -> SearchInfo:
        """Return the same figures with the score from the other side's point of view."""
        return self if self.score is None else self._replace(score=-self.score, bound=-self.bound)


MATE = 32_000  # runner spec 6: mate in n counts as +-(32000 - n)
LONGEST_PV = 2_048  # bytes of a PV that are stored (runner spec 6)
PV_PLIES = 200  # plies of a PV that are stored (runner spec 6)


def mate_score(moves: int) -> int:
    """Return the score of a mate in `moves`, in centipawns; with 0 or less, the engine is mated itself."""
    distance = min(abs(moves), MATE - 1)
    return MATE - distance if moves > 0 else distance - MATE


def clamp_int64(number: int) -> int:
    """Return `number` limited to the range of 64 bits, which is the range of integers in a database."""
    return max(-(2**63), min(2**63 - 1, number))


def parse_clamped_int(text: str) -> int | None:
    """Return a whole number from a search line, limited to 64 bits, or None for other texts (NaN, 1e9, 31 digits)."""
    number = parse_int(text)
    return None if number is None else clamp_int64(number)


def parse_int(text: str) -> int | None:
    """Return a whole number of at most 30 digits, not limited to 64 bits, or None for any other text."""
    digits = text.lstrip("+-")
    if not (digits.isascii() and digits.isdigit()) or len(text) - len(digits) > 1 or len(digits) > 30:
        return None
    return int(text)


def escape_text(text: str, longest: int = 100) -> str:
    """Return `text` as one line with control and invisible characters escaped (reliability 2.4, 2.6).

    The result is cut after `longest` characters.
    """
    cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text[: longest + 1])
    return cut[:longest] + "..." if len(cut) > longest else cut


# The output buffer. Its memory is limited, whatever an engine prints.
#
# Lines end with LF. A CR and blanks around a line are ignored, and empty lines are skipped (runner spec section 2).
INVISIBLE = rb"(?:\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1f\x7f]|\xef\xbb\xbf)"
_UNSEEN = re.compile(INVISIBLE)
_SEEN = range(0x21, 0x7F)  # printable ASCII
LINE_CAP = 64 * 1024  # bytes; the rest of a longer line is dropped when it arrives (runner spec 2)
_SCORE_WORD = b" score "  # marks a line that adjudication may need
BUFFER_CAP = 256 * 1024  # bytes of unread output; the oldest lines are dropped first (runner spec 2)


class LineBuffer:
    """The unread output of one engine. When old lines are dropped, the last one with a score remains."""

    def __init__(self) -> None:
        self.text = bytearray()  # the output that has not been read as lines yet
        self._looked = 0  # an offset; there is no answer before it
        self._skipping = False  # inside the rest of an overlong line
        self.overlong = False  # a line was cut at LINE_CAP

    @property
    def is_empty(self) -> bool:
        """Return whether all output has been read and the next output starts a new line."""
        return not (self.text or self._skipping)

    def feed(self, chunk: bytes) -> None:
        """Add the output of one read."""
        if self._skipping:
            end = chunk.find(b"\n")
            if end < 0:
                return
            chunk = chunk[end:]
            self._skipping = False
        self.text += chunk
        if len(self.text) > LINE_CAP:
            self._trim()

    def _trim(self) -> None:
        text = self.text
        tail = text.rfind(b"\n") + 1
        if len(text) - tail > LINE_CAP:
            del text[tail + LINE_CAP :]
            self._skipping = self.overlong = True
        if len(text) > BUFFER_CAP:
            cut = text.find(b"\n", len(text) - BUFFER_CAP) + 1
            worth = text.rfind(_SCORE_WORD, 0, cut)
            kept = b"" if worth < 0 else text[text.rfind(b"\n", 0, worth) + 1 : text.find(b"\n", worth) + 1]
            text[:cut] = kept
            self._looked = max(0, self._looked - cut + len(kept))

    def line(self) -> bytes | None:
        """Remove and return the next complete line without its line end, or None if there is no complete line."""
        end = self.text.find(b"\n")
        if end < 0:
            return None
        line = bytes(self.text[:end])
        del self.text[: end + 1]
        self._looked = 0
        return line

    def has(self, *words: bytes) -> bool:
        """Return whether one of `words` occurs in the unread output; this fast test avoids splitting it into lines."""
        for word in words:  # noqa: SIM110 - runs in every ply, and a generator takes three times as long
            if word in self.text:
                return True
        return False

    def drop_lines(self) -> None:
        """Drop all complete lines."""
        del self.text[: self.text.rfind(b"\n") + 1]
        self._looked = 0

    def match(self, pattern: re.Pattern[bytes]) -> tuple[bytes, bytes] | None:
        """Remove the first complete line that matches `pattern` and all output before it.

        Return that output and the line, or None if no line matches.
        """
        text = self.text
        whole = text.rfind(b"\n") + 1
        found = pattern.search(text, self._looked, whole)
        if found is None:
            self._looked = whole
            return None
        start, end = found.span()
        before, line = bytes(text[:start]), bytes(text[start:end])
        del text[: text.find(b"\n", end - 1 if end > start else end) + 1]
        self._looked = 0
        return before, line

    def answer(self, word: bytes) -> tuple[bytes, bytes] | None:
        """Remove the first complete line that starts with the word `word` and all output before it.

        Return that output and the line, or None if there is no such line.
        """
        text = self.text
        hit = text.find(word, self._looked)
        while hit >= 0:
            start = text.rfind(b"\n", 0, hit) + 1
            end = text.find(b"\n", hit)
            if end < 0:
                self._looked = start
                return None
            line = bytes(text[start:end])
            words = line.split(None, 1)
            if words and (words[0] == word or (words[0][0] not in _SEEN and _first(line) == word)):
                before = bytes(text[:start])
                del text[: end + 1]
                self._looked = 0
                return before, line
            hit = text.find(word, end)
        self._looked = text.rfind(b"\n") + 1
        return None

    def lacks(self, word: bytes) -> bool:
        """Return whether the unread output does not contain `word`; then `answer` would return None."""
        if self.text.find(word, self._looked) >= 0:
            return False
        self._looked = self.text.rfind(b"\n") + 1
        return True

    def lacks_line(self, pattern: re.Pattern[bytes]) -> bool:
        """Return whether no complete line matches `pattern`; then `match` would return None."""
        whole = self.text.rfind(b"\n") + 1
        if pattern.search(self.text, self._looked, whole) is not None:
            return False
        self._looked = whole
        return True

    def end(self) -> bool:
        """Add the missing line end at the end of the output, because the last line may be a complete answer.

        Return whether the line end was missing.
        """
        if not self.text or self.text.endswith(b"\n"):
            return False
        self.text += b"\n"
        return True


def _first(line: bytes) -> bytes:
    """Return the first word of a line without invisible characters."""
    return b"".join(_UNSEEN.sub(b"", line).split(None, 1)[:1])
