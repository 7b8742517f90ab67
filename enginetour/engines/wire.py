"""What engines of both protocols send: messages, figures of a search, and the bytes they come in."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import NamedTuple


class MessageKind(Enum):
    """What a line of an engine means at the moment it is read."""

    ANSWER = auto()  # a move that ends the search
    STALE = auto()  # an answer while it was not thinking; dropped
    PONG = auto()  # the newest ping is answered
    HELLO = auto()  # uciok, or features done
    WAIT = auto()  # done=0: features will take a while
    FEATURE = auto()  # features that did not end the handshake
    RESIGN = auto()
    RESULT = auto()  # text: 1-0, 0-1 or 1/2-1/2
    ABORT = auto()  # `*`: gives the game up without a result
    REFUSED_MOVE = auto()  # text: the move it calls illegal, one that we sent
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
    """The last scored line of a search, from the mover's side; mate in n is +-(32000 - n)."""

    score: int | None = None
    depth: int | None = None
    nodes: int | None = None
    pv: str = ""
    seldepth: int | None = None
    nps: int | None = None
    hashfull: int | None = None  # permille
    tbhits: int | None = None
    bound: int = 0  # 1: the score is at least that, -1: at most

    def turned(self) -> SearchInfo:
        """The same from the other side."""
        return self if self.score is None else self._replace(score=-self.score, bound=-self.bound)


MATE = 32_000  # runner spec 6: mate in n counts as +-(32000 - n)
LONGEST_PV = 2_048  # bytes kept of a PV (runner spec 6)
PV_PLIES = 200  # plies kept of a PV (runner spec 6)


def mate_score(moves: int) -> int:
    """Centipawns that stand for a mate in `moves`; 0 and below: the engine itself is mated."""
    distance = min(abs(moves), MATE - 1)
    return MATE - distance if moves > 0 else distance - MATE


def clamp_int64(number: int) -> int:
    """`number` within 64 bits, the widest a store can hold."""
    return max(-(2**63), min(2**63 - 1, number))


def parse_clamped_int(text: str) -> int | None:
    """A whole number of a search, clamped to 64 bits; None for anything else (NaN, 1e9, 20 000 digits)."""
    number = parse_int(text)
    return None if number is None else clamp_int64(number)


def parse_int(text: str) -> int | None:
    """A whole number of at most 30 digits as it is written, for options; None for anything else."""
    digits = text.lstrip("+-")
    if not (digits.isascii() and digits.isdigit()) or len(text) - len(digits) > 1 or len(digits) > 30:
        return None
    return int(text)


def escape_text(text: str, longest: int = 100) -> str:
    """`text` on one line, control and invisible characters escaped, cut at `longest` (reliability 2.4, 2.6)."""
    cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text[: longest + 1])
    return cut[:longest] + "..." if len(cut) > longest else cut


# Bytes as they come, whole lines as they are wanted: memory stays constant whatever an engine prints.
#
# Lines end at LF; blanks around them and a CR mean nothing, empty lines are skipped (runner spec section 2).

# One of what nobody sees: colours, and what a buffer written whole or another encoding leaves.
INVISIBLE = rb"(?:\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0e-\x1f\x7f]|\xef\xbb\xbf)"
_UNSEEN = re.compile(INVISIBLE)
_SEEN = range(0x21, 0x7F)  # printable ASCII
LINE_CAP = 64 * 1024  # bytes of a line; the rest is thrown away as it streams in (runner spec 2)
_SCORE_WORD = b" score "  # marks a line that adjudication may need
BUFFER_CAP = 256 * 1024  # bytes of unread output; the oldest lines go first (runner spec 2)


class LineBuffer:
    """The unread output of one engine. When old lines are dropped, the last that marks a score survives."""

    def __init__(self) -> None:
        self.text = bytearray()  # not yet read as lines
        self._looked = 0  # offset up to which no answer was found
        self._skipping = False  # inside the tail of an over-long line
        self.overlong = False  # a line was cut at LINE_CAP

    @property
    def is_empty(self) -> bool:
        """Nothing is unread, and what comes next begins a line."""
        return not (self.text or self._skipping)

    def feed(self, chunk: bytes) -> None:
        """Take what one read brought."""
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
        """The next whole line without its end, or None; takes it off the intake."""
        end = self.text.find(b"\n")
        if end < 0:
            return None
        line = bytes(self.text[:end])
        del self.text[: end + 1]
        self._looked = 0
        return line

    def has(self, *words: bytes) -> bool:
        """Whether any of `words` occurs in what is unread: a cheap look before lines are cut."""
        for word in words:  # noqa: SIM110 - on the path of every ply, and a generator takes three times as long
            if word in self.text:
                return True
        return False

    def drop_lines(self) -> None:
        """Throw all whole lines away."""
        del self.text[: self.text.rfind(b"\n") + 1]
        self._looked = 0

    def match(self, pattern: re.Pattern[bytes]) -> tuple[bytes, bytes] | None:
        """The first whole line that `pattern` finds, and all that came before it; takes both off."""
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
        """The first whole line whose first word is `word`, and all that came before it; takes both off."""
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
        """Whether `answer` need not look for it."""
        if self.text.find(word, self._looked) >= 0:
            return False
        self._looked = self.text.rfind(b"\n") + 1
        return True

    def lacks_line(self, pattern: re.Pattern[bytes]) -> bool:
        """Whether `match` would find none."""
        whole = self.text.rfind(b"\n") + 1
        if pattern.search(self.text, self._looked, whole) is not None:
            return False
        self._looked = whole
        return True

    def end(self) -> bool:
        """At end of file: close an unfinished line, true if there was one (it may hold a complete answer)."""
        if not self.text or self.text.endswith(b"\n"):
            return False
        self.text += b"\n"
        return True


def _first(line: bytes) -> bytes:
    """The first word of a line behind what nobody sees."""
    return b"".join(_UNSEEN.sub(b"", line).split(None, 1)[:1])
