"""What an engine said, in one vocabulary for both protocols, and what it thought."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple


class What(Enum):
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


class Said(NamedTuple):
    """One line that matters; `stamp_ns` is CLOCK_MONOTONIC right after the read that completed it."""

    what: What
    text: str = ""
    stamp_ns: int = 0
    cut: bool = False  # the last line before end of file, without its line end


class Thought(NamedTuple):
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

    def turned(self) -> Thought:
        """The same from the other side."""
        return self if self.score is None else self._replace(score=-self.score, bound=-self.bound)


NO_THOUGHT = Thought()
MATE = 32_000  # runner spec 6: mate in n counts as +-(32000 - n)
LONGEST_PV = 2_048  # bytes kept of a PV (runner spec 6)
PV_PLIES = 200  # plies kept of a PV (runner spec 6)


def mate_score(moves: int) -> int:
    """Centipawns that stand for a mate in `moves`; 0 and below: the engine itself is mated."""
    distance = min(abs(moves), MATE - 1)
    return MATE - distance if moves > 0 else distance - MATE


def clamp(number: int) -> int:
    """`number` within 64 bits, the widest a store can hold."""
    return max(-(2**63), min(2**63 - 1, number))


def whole(text: str) -> int | None:
    """A whole number of a search, clamped to 64 bits; None for anything else (NaN, 1e9, 20 000 digits)."""
    number = exact(text)
    return None if number is None else clamp(number)


def exact(text: str) -> int | None:
    """A whole number of at most 30 digits as it is written, for options; None for anything else."""
    digits = text.lstrip("+-")
    if not (digits.isascii() and digits.isdigit()) or len(text) - len(digits) > 1 or len(digits) > 30:
        return None
    return int(text)


def printable(text: str, longest: int = 100) -> str:
    """`text` on one line, control and invisible characters escaped, cut at `longest` (reliability 2.4, 2.6)."""
    cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text[: longest + 1])
    return cut[:longest] + "..." if len(cut) > longest else cut
