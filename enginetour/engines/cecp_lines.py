"""Lines of CECP engines: moves, results, errors, search output and features, and what they mean."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from enginetour.engines.protocol import MOST_OPTIONS, MOST_TYPES, MS, NUMBERS, PRESSED, Engine
from enginetour.engines.starting import Launch
from enginetour.engines.uci_lines import plain_line
from enginetour.engines.wire import (
    BUFFER_CAP,
    INVISIBLE,
    LONGEST_PV,
    PV_PLIES,
    Message,
    MessageKind,
    SearchInfo,
    clamp_int64,
    escape_text,
    mate_score,
    parse_clamped_int,
    parse_int,
)
from enginetour.model.task import DeclaredOption, EngineSpec

# Lines that can be messages. The pattern is searched in the whole output, so other lines (search output) are skipped.
TELLING = re.compile(
    rb"^[ \t]*(?:" + INVISIBLE + rb"+[ \t]*)?"
    rb"(?:move\b|My move is|resign|1-0|0-1|1/2|\*|Illegal|Invalid|Error|offer|feature|pong|tellusererror"
    rb"|\d+\.[ \t.])[^\n]*",
    re.MULTILINE | re.IGNORECASE,
)
_MOVE = re.compile(r"move\s+(\S+)", re.IGNORECASE)
_MY_MOVE = re.compile(r"my move is\s*:?\s*(\S+)", re.IGNORECASE)
_NUMBERED = re.compile(r"\d+\.\s*(?:\.\.\.|\.\.)?\s*(\S+)$")
_REFUSED_MOVE = re.compile(r"(?:illegal|invalid) move\s*(?:\(([^)]*)\))?\s*:?\s*(.*)", re.IGNORECASE)
_ERROR = re.compile(r"error\s*(?:\(([^)]*)\))?\s*:?\s*(.*)", re.IGNORECASE)
# Columns: depth, score, time, nodes; then more columns up to a TAB, or the PV. Marks may follow the depth (12.) and the
# score (5?). Negative times and nodes are the result of overflows.
_THINKING = re.compile(r"\s*(\d+)[.:&+!?*-]*\s+([+-]?\d+)([?!]*)\s+-?\d+(?:\.\d+)?\s+(-?\d+)(.*)")
_MATE_FROM = 100_000  # larger scores are distances to mate (protocol spec, "thinking output")
_FARTHEST_MATE = 1_000  # moves; a larger distance is a score of an engine with its own scale, such as 1000000


def read_move(line: str) -> tuple[str, bool] | None:
    """Return the move that a line announces, and whether the line has only a number before it; None for other lines.

    A move after a number (``1. ... e7e5``) may also be an echo of the opponent's move.
    """
    found = _MOVE.match(line) or _MY_MOVE.match(line)
    if found is not None:
        return found[1], False
    found = _NUMBERED.fullmatch(line)
    return None if found is None or not found[1].strip(".") else (found[1], True)


def read_result(line: str) -> str:
    """Return the result at the start of a line: ``1-0``, ``0-1``, ``1/2-1/2``, ``*`` for an abort, or "" for none."""
    word, _, comment = line.partition(" ")
    word = word.partition("{")[0]
    if word in ("1-0", "0-1", "1/2-1/2"):
        return word
    return "*" if line == "*" or (word == "*" and comment.lstrip().startswith("{")) or line.startswith("*{") else ""


def read_refusal(line: str) -> str | None:
    """Return the text that an error line rejects (``e2e5``, ``sd 4``), or None if it is not an error line."""
    found = _REFUSED_MOVE.match(line)
    if found is not None:  # some engines write the move at the place of the reason
        return (found[2] or found[1] or "").strip()
    found = _ERROR.match(line)
    return None if found is None else found[2].strip()


def read_thinking(line: str) -> SearchInfo | None:
    """Parse a line of search output, with the score as the engine sent it. Return None for other lines.

    The PV is not parsed.
    """
    found = _THINKING.match(line)
    if found is None:
        return None
    score = parse_clamped_int(found[2])
    if score is None:
        return None
    if 0 < (moves := abs(score) - _MATE_FROM) <= _FARTHEST_MATE:
        score = mate_score(moves) if score > 0 else -mate_score(moves)
    rest = found[5]
    bound = {"!": 1, "?": -1}.get(found[3][-1:], 0)  # failed high, failed low
    columns, tab, tail = rest.partition("\t")
    pv = " ".join((tail if tab else rest).split()[:PV_PLIES])[:LONGEST_PV]
    # Selective depth, nodes per second, tablebase hits. "-" and negative numbers mean unknown (protocol spec,
    # "thinking output").
    more = [_known(word) for word in columns.split()[:3]]
    seldepth, nps, tbhits = [*more, None, None, None][:3] if tab else (None, None, None)
    return SearchInfo(
        clamp_int64(score), parse_clamped_int(found[1]), _known(found[4]), pv, seldepth, nps, tbhits=tbhits, bound=bound
    )


def _known(text: str) -> int | None:
    number = parse_clamped_int(text)
    return None if number is None or number < 0 else number


def last_search_info(text: bytes, *, bounds: bool = True) -> SearchInfo:
    """Parse the last line of search output; if `bounds` is false, the last such line with an exact score."""
    end = len(text)
    while end > 0:
        start = text.rfind(b"\n", 0, end - 1) + 1
        info = read_thinking(text[start:end].decode("utf-8", "replace").rstrip())
        if info is not None and (bounds or not info.bound):
            return info
        end = start
    return SearchInfo()


# Features of CECP, which are accepted at any time and in many forms (protocol spec of XBoard 4.9, section "feature").

# A line has one or more pairs NAME=VALUE or NAME="two words", with or without blanks around the "=". A match begins
# only at the start of a word; otherwise a line of letters would take quadratic time.
_PAIR = re.compile(r"(?<!\w)([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(?:\"([^\"]*)\"?|'([^']*)'?|(\S*))")
_KIND = re.compile(r"\s-(check|spin|combo|string|file|path|slider|button|save|reset)(?=\s|$)")
_CHECKS = ("0", "1", "false", "true")
_KNOWN_FEATURES = frozenset(
    """analyze colors cores debug done draw egt exclude highlight ics memory myname name nps option pause ping playother
    reuse san setboard setscore sigint sigterm sjef smp time usermove variant variants xedit""".split()  # noqa: SIM905
)


@dataclass(slots=True)
class Features:
    """The features that a CECP engine has declared. Defaults follow the protocol, except for `draw` (runner spec 7)."""

    values: dict[str, str] = field(default_factory=dict)
    options: dict[str, DeclaredOption] = field(default_factory=dict)

    def on(self, name: str, default: bool = False) -> bool:  # noqa: FBT001, FBT002 - a feature's default
        """Return whether a 0/1 feature is on, or `default` if the engine has not declared it."""
        value = self.values.get(name)
        return default if value is None else value not in ("0", "")

    def read(self, line: str) -> tuple[list[str], list[str]]:
        """Read one ``feature`` line; return the names to accept, and the unknown names, both in their order."""
        accepted: list[str] = []
        unknown: list[str] = []
        for found in _PAIR.finditer(line):
            name = found[1].lower()
            quoted = found[2] if found[2] is not None else found[3]
            value = (quoted if quoted is not None else found[4].rstrip(",;")).strip()
            if name not in _KNOWN_FEATURES:
                unknown.append(name)
                continue
            if name not in accepted:
                accepted.append(name)
            if name == "option":
                option = read_option(value)
                if option is not None and len(self.options) < MOST_OPTIONS:
                    self.options.setdefault(option.name.casefold(), option)
            else:
                self.values[name] = value
        return accepted, unknown


def read_option(text: str) -> DeclaredOption | None:
    """Parse the text ``NAME -KIND ARGUMENTS`` of a feature ``option=``; return None if it is not a usable option.

    Names and values may contain the words of other kinds, so the first kind with complete arguments is used.
    """
    found = None
    for at in islice(_KIND.finditer(text), MOST_TYPES):
        name, kind, rest = text[: at.start()].strip(), at[1], text[at.end() :].strip()
        found = _option(name, kind, rest) if name else None
        if found is not None and not (rest and kind in PRESSED) and (kind != "check" or rest in _CHECKS):
            break
    return found


def _option(name: str, kind: str, rest: str) -> DeclaredOption | None:
    if kind in NUMBERS:
        numbers = [parse_int(word) for word in rest.split()[:3]]
        if len(numbers) < 3 or None in numbers:
            return None
        return DeclaredOption(name, kind, str(numbers[0]), numbers[1], numbers[2])
    if kind == "combo":
        choices = [choice.strip() for choice in rest.split("///")]
        default = next((choice[1:] for choice in choices if choice.startswith("*")), choices[0])
        return DeclaredOption(name, kind, default, None, None, tuple(choice.removeprefix("*") for choice in choices))
    return DeclaredOption(name, kind, rest)


# Lines of CECP engines and their meaning, with the same table in every state (runner spec section 7).

HELD_NS = 200 * MS  # a numbered move may be an echo, so it is held back for this time (runner spec 7)
# Commands that are sent to every engine, because an engine without support for them can play, too.
_COURTESIES = frozenset({"?", "computer", "easy", "hard", "post", "result"})
_CASTLING = frozenset({"O-O", "O-O-O"})


class CecpListener(Engine):
    """Converts the lines of a CECP engine to messages. Their meaning depends on the lines that were sent last."""

    _last_search_info = staticmethod(last_search_info)

    def __init__(self, spec: EngineSpec, launch: Launch | None = None) -> None:
        super().__init__(spec, launch)
        self.features = Features()
        self._placing = False  # true after a position was sent, until its fence is answered
        self._opening: frozenset[str] = frozenset()  # the moves of the opening, in each form
        self._sent: frozenset[str] = frozenset()  # the moves that were sent last, in each form
        self._plain_form = False  # true if the engine has announced a move with more than a number
        self._held: Message | None = None
        self._held_until = 0
        self._by_number = ""  # move from a numbered line; the engine may announce it again
        self._parted = False  # true if the last search ended without a move; the move may still follow
        self._is_astray = False  # true if the engine moved without being asked, so that its board is wrong
        self._heap = bytearray()  # raw output of the current search, without the lines of messages

    def _forget(self, opening: Sequence[str]) -> None:
        """Forget the moves of the last game. `opening`: the moves of the new game that were sent, in each form."""
        self._opening = frozenset(opening)
        self._sent = frozenset(opening[-2:])
        self._listen()

    def _listen(self) -> None:
        self._held, self._by_number = None, ""
        self._heap.clear()

    def search_over(self) -> None:
        """End the current search without a move. If its move still arrives, it is not an answer out of turn."""
        super().search_over()
        self._parted = True

    def is_usual_form(self, text: str) -> bool:
        """Return whether the move is O-O or O-O-O, or the engine declares SAN (protocol spec, "move")."""
        return text.rstrip("+#") in _CASTLING or self.features.on("san")

    @property
    def due_ns(self) -> int | None:
        """The time (CLOCK_MONOTONIC, ns) at which a numbered move that is held back becomes the answer."""
        return self._held_until if self._held is not None else super().due_ns

    def _is_chatter(self) -> bool:
        return self._held is None and self.ready and self.intake.lacks_line(TELLING)

    def _next_message(self) -> Message | None:
        while (found := self._next_line()) is not None:
            before, raw = found
            if self.thinking:
                self._heap += before
            line = plain_line(raw)
            message = self._read(line) if line else None
            if message is not None:
                return message
            if self.thinking:  # the line is not a message: "9. 31 4 1000 e2e4" is search output
                self._heap += raw + b"\n"
                del self._heap[: max(0, len(self._heap) - 2 * BUFFER_CAP)]
        if not self.thinking:
            self.intake.drop_lines()
        elif self._held is not None and (time.monotonic_ns() >= self._held_until or self._ended):
            return self.held_back_answer()
        return None

    def held_back_answer(self) -> Message | None:
        """Return the numbered move that was held back as the answer, with the time of its arrival, or None."""
        if self._held is None:
            return None
        self._by_number = self._held.text
        self.note("numbered-moves", "sends its moves only as numbered lines")
        return self._answer(self._held)

    def _next_line(self) -> tuple[bytes, bytes] | None:
        if self.ready:
            return self.intake.match(TELLING)
        line = self.intake.line()
        return None if line is None else (b"", line)

    def _read(self, line: str) -> Message | None:
        stamp = self.stamp_ns
        word = line.split(None, 1)[0].lower()
        if word == "feature":
            return self._feature(line)
        if word == "pong":
            return self._pong(line)
        if line[0] == "#" or word.startswith(("tellics", "tellall", "telluser", "tellopponent", "tellothers")):
            if word == "tellusererror":
                if not self._placing:  # otherwise it is the reason why the position cannot be set
                    self.note("tellusererror", escape_text(line))
                return Message(MessageKind.REFUSED_POSITION, line, stamp)
            return None
        announced = read_move(line)
        if announced is not None:
            return self._announced(announced[0], numbered=announced[1])
        result = read_result(line)
        if result:
            return Message(
                MessageKind.ABORT if result == "*" else MessageKind.RESULT, line if result == "*" else result, stamp
            )
        if word == "resign" or word == "resigns":
            return Message(MessageKind.RESIGN, line, stamp)
        if line.lower().startswith("offer draw"):
            return Message(MessageKind.OFFER, line, stamp)
        return self._refusal(line)

    def _feature(self, line: str) -> Message:
        accepted, unknown = self.features.read(line.split(None, 1)[1] if " " in line else "")
        # No replies to engines that lose lines if several arrive together, because these engines do not wait for
        # replies. No replies either to an engine that has not read the earlier lines yet.
        if not (self.spec.quirks.line_delay_ms or len(self.process.out)) and (accepted or unknown):
            replies = [f"accepted {name}\n" for name in accepted] + [f"rejected {name}\n" for name in unknown]
            self.process.write("".join(replies).encode("ascii"))
        self.declared = tuple(self.features.options.values())
        self.own_name = escape_text(self.features.values.get("myname", ""))
        if "done" in accepted:
            return Message(MessageKind.HELLO if self.features.on("done") else MessageKind.WAIT)
        return Message(MessageKind.FEATURE)

    def _pong(self, line: str) -> Message | None:
        if line.split()[-1] != str(self._pings):
            return None
        if self._pongs == self._pings:
            self._twice = True
            return None
        self._pongs = self._pings
        return Message(MessageKind.PONG, stamp_ns=self.stamp_ns)

    def _announced(self, text: str, *, numbered: bool) -> Message | None:
        # Moves before the pong of an inline fence belong to an earlier search.
        asked = self.thinking and (self.fence != "inline" or self._pings == self._pongs)
        if numbered:
            if not asked or self._plain_form or text in self._sent:
                return None  # an echo
            self._held = Message(MessageKind.ANSWER, text, self.stamp_ns)
            self._held_until = self.stamp_ns + HELD_NS
            return None
        self._plain_form = True
        if not asked:
            again = text == self._by_number or self._parted
            self._by_number, self._parted = "", False
            self._is_astray = self._is_astray or not again
            return None if again else Message(MessageKind.STALE, text, self.stamp_ns)
        first = self._held
        return self._answer(
            first if first is not None and first.text == text else Message(MessageKind.ANSWER, text, self.stamp_ns)
        )

    def _answer(self, message: Message) -> Message:
        self._held = None
        self.answers += 1
        self.search_text = bytes(self._heap[-BUFFER_CAP:])
        return message

    def _refusal(self, line: str) -> Message | None:
        text = read_refusal(line)
        if text is None:
            return Message(MessageKind.REFUSED_POSITION, line) if line.lower().startswith("illegal position") else None
        blamed = text.split(None, 1)[0].removeprefix("usermove") if text else ""
        blamed = (blamed or (text.split()[1] if len(text.split()) > 1 else "")).strip("'\"`.,;")
        if blamed in self._sent or (self._placing and blamed in self._opening):
            return Message(MessageKind.REFUSED_MOVE, line, self.stamp_ns)
        if text.startswith(("setboard", "edit")) or "position" in line.lower():
            return Message(MessageKind.REFUSED_POSITION, line, self.stamp_ns)
        if (
            blamed and blamed not in _COURTESIES
        ):  # otherwise it is a complaint about an empty line that was sent to wake the engine
            self.note("unsupported", f"reports {escape_text(line)!r}")
        return Message(MessageKind.REFUSED, text, self.stamp_ns)
