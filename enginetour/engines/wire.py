"""Messages of engines of both protocols, figures of their searches, and the buffer of their output."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple


class MessageKind(Enum):
    """What a line of an engine means at the moment when it is read."""

    ANSWER = auto()  # a move that ends the search
    STALE = auto()  # an answer without a search; dropped
    PONG = auto()  # the newest ping is answered
    HELLO = auto()  # uciok, or end of the features
    WAIT = auto()  # done=0: features need more time
    FEATURE = auto()  # features that do not end the handshake
    RESIGN = auto()
    RESULT = auto()  # text: 1-0, 0-1 or 1/2-1/2
    ABORT = auto()  # `*`: aborts the game without a result
    REFUSED_MOVE = auto()  # text: the move it calls illegal, one that was sent to it
    REFUSED = auto()  # text: a command it does not know
    REFUSED_POSITION = auto()
    OFFER = auto()  # offers a draw
    LINE = auto()  # anything else


class Message(NamedTuple):
    """One line that matters; `stamp_ns` is CLOCK_MONOTONIC right after the read that completed it."""

    kind: MessageKind
    text: str = ""
    stamp_ns: int = 0
    cut: bool = False  # the last line before end of file, without its line end


class SearchInfo(NamedTuple):
    """The last scored line of a search, from the mover's side; a mate in n is +-(32000 - n)."""

    score: int | None = None
    depth: int | None = None
    nodes: int | None = None
    pv: str = ""
    seldepth: int | None = None
    nps: int | None = None
    hashfull: int | None = None  # permille
    tbhits: int | None = None
    bound: int = 0  # 1: the score is at least that, -1: at most that

    def turned(self) -> SearchInfo:
        """Return the same from the other side."""
        return self if self.score is None else self._replace(score=-self.score, bound=-self.bound)


MATE = 32_000  # runner spec 6: mate in n counts as +-(32000 - n)
LONGEST_PV = 2_048  # bytes kept of a PV (runner spec 6)
PV_PLIES = 200  # plies kept of a PV (runner spec 6)


def mate_score(moves: int) -> int:
    """Return the centipawns of a mate in `moves`; 0 and below: the engine itself is mated."""
    distance = min(abs(moves), MATE - 1)
    return MATE - distance if moves > 0 else distance - MATE


def clamp_int64(number: int) -> int:
    """Return `number` limited to 64 bits, the most that a database can hold."""
    return max(-(2**63), min(2**63 - 1, number))


def parse_clamped_int(text: str) -> int | None:
    """Return a whole number of a search, limited to 64 bits; None for anything else (NaN, 1e9, 20 000 digits)."""
    number = parse_int(text)
    return None if number is None else clamp_int64(number)


def parse_int(text: str) -> int | None:
    """Return a whole number of at most 30 digits for options, unchanged; None for anything else."""
    digits = text.lstrip("+-")
    if not (digits.isascii() and digits.isdigit()) or len(text) - len(digits) > 1 or len(digits) > 30:
        return None
    return int(text)


def escape_text(text: str, longest: int = 100) -> str:
    """Return `text` on one line, control and invisible characters escaped, cut at `longest` (reliability 2.4, 2.6)."""
    cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text[: longest + 1])
    return cut[:longest] + "..." if len(cut) > longest else cut


# The output buffer: memory stays constant whatever an engine prints.
#
# Lines end at LF; blanks around them and a CR mean nothing, empty lines are skipped (runner spec section 2).
INVISIBLE = rb"(?:\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1f\x7f]|\xef\xbb\xbf)"
_UNSEEN = re.compile(INVISIBLE)
_SEEN = range(0x21, 0x7F)  # printable ASCII
LINE_CAP = 64 * 1024  # bytes of a line; the rest is dropped as it arrives (runner spec 2)
_SCORE_WORD = b" score "  # marks a line that adjudication may need
BUFFER_CAP = 256 * 1024  # bytes of unread output; the oldest lines go first (runner spec 2)


class LineBuffer:
    """The unread output of one engine. When old lines are dropped, the last one with a score remains."""

    def __init__(self) -> None:
        self.text = bytearray()  # not yet read as lines
        self._looked = 0  # offset up to which no answer was found
        self._skipping = False  # inside the rest of an overlong line
        self.overlong = False  # a line was cut at LINE_CAP

    @property
    def is_empty(self) -> bool:
        """Return whether all output has been read, and the next output starts a new line."""
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
        """Remove and return the next whole line without its end, or None."""
        end = self.text.find(b"\n")
        if end < 0:
            return None
        line = bytes(self.text[:end])
        del self.text[: end + 1]
        self._looked = 0
        return line

    def has(self, *words: bytes) -> bool:
        """Return whether one of `words` occurs in the unread output: a cheap test before lines are split."""
        for word in words:  # noqa: SIM110 - on the path of every ply, and a generator takes three times as long
            if word in self.text:
                return True
        return False

    def drop_lines(self) -> None:
        """Drop all whole lines."""
        del self.text[: self.text.rfind(b"\n") + 1]
        self._looked = 0

    def match(self, pattern: re.Pattern[bytes]) -> tuple[bytes, bytes] | None:
        """Remove and return the first whole line that `pattern` finds, and all that came before it."""
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
        """Remove and return the first whole line whose first word is `word`, and all that came before it."""
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
        """Return whether `answer` would find nothing."""
        if self.text.find(word, self._looked) >= 0:
            return False
        self._looked = self.text.rfind(b"\n") + 1
        return True

    def lacks_line(self, pattern: re.Pattern[bytes]) -> bool:
        """Return whether `match` would find nothing."""
        whole = self.text.rfind(b"\n") + 1
        if pattern.search(self.text, self._looked, whole) is not None:
            return False
        self._looked = whole
        return True

    def end(self) -> bool:
        """Close an unfinished line at end of file; return whether there was one (it may contain a complete answer)."""
        if not self.text or self.text.endswith(b"\n"):
            return False
        self.text += b"\n"
        return True


def _first(line: bytes) -> bytes:
    """Return the first word of a line, after invisible characters."""
    return b"".join(_UNSEEN.sub(b"", line).split(None, 1)[:1])
