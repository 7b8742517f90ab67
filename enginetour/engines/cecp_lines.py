"""Lines of the CECP (WinBoard protocol 1 and 2): the same table in every state (runner spec 7)."""

from __future__ import annotations

import re

from enginetour.engines.intake import UNSEEN
from enginetour.engines.said import LONGEST_PV, NO_THOUGHT, PV_PLIES, Thought, clamp, mate_score, whole

# Lines that can mean something; all others (thinking lines, chatter) are passed over by one search.
TELLING = re.compile(
    rb"^[ \t]*(?:" + UNSEEN + rb"+[ \t]*)?"
    rb"(?:move\b|My move is|resign|1-0|0-1|1/2|\*|Illegal|Invalid|Error|offer|feature|pong|tellusererror"
    rb"|\d+\.[ \t.])[^\n]*",
    re.MULTILINE | re.IGNORECASE,
)
_MOVE = re.compile(r"move\s+(\S+)", re.IGNORECASE)
_MY_MOVE = re.compile(r"my move is\s*:?\s*(\S+)", re.IGNORECASE)
_NUMBERED = re.compile(r"\d+\.\s*(?:\.\.\.|\.\.)?\s*(\S+)$")
_REFUSED_MOVE = re.compile(r"(?:illegal|invalid) move\s*(?:\(([^)]*)\))?\s*:?\s*(.*)", re.IGNORECASE)
_ERROR = re.compile(r"error\s*(?:\(([^)]*)\))?\s*:?\s*(.*)", re.IGNORECASE)
# depth score time nodes, then more columns up to a TAB, or the PV. Marks stick to depth (12.) and score (+33, 5?); time
# and nodes below 0 come from clocks and counts that ran over.
_THINKING = re.compile(r"\s*(\d+)[.:&+!?*-]*\s+([+-]?\d+)([?!]*)\s+-?\d+(?:\.\d+)?\s+(-?\d+)(.*)")
MATE_FROM = 100_000  # scores beyond this are a distance to mate (protocol spec, "thinking output")
FARTHEST_MATE = 1_000  # moves; farther off it is a score of an engine with a scale of its own, as 1000000


def read_move(line: str) -> tuple[str, bool] | None:
    """The move a line announces, and whether only its number marks it (``1. ... e7e5``: perhaps an echo)."""
    found = _MOVE.match(line) or _MY_MOVE.match(line)
    if found is not None:
        return found[1], False
    found = _NUMBERED.fullmatch(line)
    return None if found is None or not found[1].strip(".") else (found[1], True)


def read_result(line: str) -> str:
    """The score a result line begins with, whatever its comment says; "" if it is none, ``*`` for an abort."""
    word, _, comment = line.partition(" ")
    word = word.partition("{")[0]
    if word in ("1-0", "0-1", "1/2-1/2"):
        return word
    return "*" if line == "*" or (word == "*" and comment.lstrip().startswith("{")) or line.startswith("*{") else ""


def read_refusal(line: str) -> str | None:
    """What an error line complains about (``e2e5``, ``sd 4``), or None when it is no error line."""
    found = _REFUSED_MOVE.match(line)
    if found is not None:  # some put the move where others say why
        return (found[2] or found[1] or "").strip()
    found = _ERROR.match(line)
    return None if found is None else found[2].strip()


def read_thinking(line: str) -> Thought | None:
    """One thinking line, from the engine's own side; None when it is none. The PV stays text."""
    found = _THINKING.match(line)
    if found is None:
        return None
    score = whole(found[2])
    if score is None:
        return None
    if 0 < (moves := abs(score) - MATE_FROM) <= FARTHEST_MATE:
        score = mate_score(moves) if score > 0 else -mate_score(moves)
    rest = found[5]
    bound = {"!": 1, "?": -1}.get(found[3][-1:], 0)  # failed high, failed low
    columns, tab, tail = rest.partition("\t")
    pv = " ".join((tail if tab else rest).split()[:PV_PLIES])[:LONGEST_PV]
    # Selective depth, nodes a second, tablebase hits; - or below 0: not known (protocol spec, "thinking output").
    more = [_known(word) for word in columns.split()[:3]]
    seldepth, nps, tbhits = [*more, None, None, None][:3] if tab else (None, None, None)
    return Thought(clamp(score), whole(found[1]), _known(found[4]), pv, seldepth, nps, tbhits=tbhits, bound=bound)


def _known(text: str) -> int | None:
    """A count; None for what is none."""
    number = whole(text)
    return None if number is None or number < 0 else number


def last_thought(text: bytes, *, bounds: bool = True) -> Thought:
    """The last thinking line of a search; without `bounds` the last one whose score is exact."""
    end = len(text)
    while end > 0:
        start = text.rfind(b"\n", 0, end - 1) + 1
        thought = read_thinking(text[start:end].decode("utf-8", "replace").rstrip())
        if thought is not None and (bounds or not thought.bound):
            return thought
        end = start
    return NO_THOUGHT
