"""The engine as the referee uses it: one interface for both protocols, over non-blocking pipes.

The functions of this module do not wait. A dialog of several lines (handshake, new game, fences) is a *script*: a
generator that yields the absolute deadline of its wait, and receives the next message, or None after the deadline. A
*fence* is a ping whose answer shows that the engine has processed all earlier lines. The referee runs the scripts of
both engines at the same time over one poll (`referee/talk.py`). A search does not have a script: `go` sends the command
and records the time, `pull` reads output and records the time, and `next_message` returns the messages in the output
(`wire.py`).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from enginetour.engines.position import Position
from enginetour.engines.process import EngineProcess
from enginetour.engines.starting import Launch
from enginetour.engines.wire import LINE_CAP, LineBuffer, Message, MessageKind, SearchInfo, escape_text, parse_int
from enginetour.model.errors import EngineStalled, StartFailed, Unsupported, did_you_mean
from enginetour.model.task import DeclaredOption, EngineSpec
from enginetour.model.timecontrol import TimeControl

# Settings that are sent to every engine that declares them, because defaults are not reliable (runner spec 6).
_STANDARD_SETTINGS = (
    ("Ponder", "false"),
    ("OwnBook", "false"),
    ("UCI_Chess960", "false"),
    ("UCI_AnalyseMode", "false"),
    ("UCI_Variant", "chess"),
)
MOST_OPTIONS = 20_000  # maximum for each engine; 10,000 must be accepted (reliability 2.1), but memory is limited
MOST_TYPES = 16  # number of words in a declaration that are tried as the type; for each, the line is parsed again
_TEXTS = frozenset({"string", "file", "path"})
PRESSED = frozenset({"button", "save", "reset"})
NUMBERS = frozenset({"spin", "slider"})
_TRUE = {"true": "true", "1": "true", "on": "true", "yes": "true"}
_FALSE = {"false": "false", "0": "false", "off": "false", "no": "false"}
# An engine may declare ten thousand options, so a message names only the first ones.
_NAMED = 8

Setting = tuple[DeclaredOption, str]


def check_settings(
    declared: Sequence[DeclaredOption], wanted: Iterable[tuple[str, str]]
) -> tuple[tuple[Setting, ...], tuple[str, ...]]:
    """Return the settings to send in the order of `wanted`, and a sentence for each setting that is not possible.

    Names have the spelling that the engine declares. The value of a check option is ``true`` or ``false``, the value of
    a combo option has the declared spelling, and the value of a button is "" (it is pressed once).
    """
    known = {option.name.casefold(): option for option in reversed(declared)}
    settings: dict[str, Setting] = {}
    problems: list[str] = []
    for name, value in wanted:
        option = known.get(name.casefold())
        if option is None:
            problems.append(_unknown(name, declared))
            continue
        text, problem = _value(option, value.strip())
        if problem:
            problems.append(problem)
        elif text is not None:
            settings[option.name] = (option, text)
    return tuple(settings.values()), tuple(problems)


def standard_settings(
    declared: Sequence[DeclaredOption], wanted: Iterable[tuple[str, str]], offered: Iterable[tuple[str, str]] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the standard and offered settings that the engine declares and accepts, and that the user did not set."""
    decided = {name.casefold() for name, _ in wanted}
    known = {option.name.casefold(): option for option in reversed(declared)}
    chosen = []
    for name, value in (*_STANDARD_SETTINGS, *offered):
        option = known.get(name.casefold())
        if option is not None and name.casefold() not in decided and not _value(option, value)[1]:
            chosen.append((option.name, value))
    return tuple(chosen)


def _unknown(name: str, declared: Sequence[DeclaredOption]) -> str:
    if not declared:
        return f"unknown option {name!r}: the engine declares no options"
    if meant := did_you_mean(name, [escape_text(option.name) for option in declared]):
        return f"unknown option {name!r}{meant}"
    shown = ", ".join(escape_text(option.name) for option in declared[:_NAMED])
    more = f" and {len(declared) - _NAMED} more" if len(declared) > _NAMED else ""
    return f"unknown option {name!r}; the engine has {shown}{more}"


def _value(option: DeclaredOption, value: str) -> tuple[str | None, str]:
    """Return the value to send and "", or None and the problem. A button that is not pressed gives None and ""."""
    if option.kind in NUMBERS:
        return _number(option, value)
    if option.kind == "check":
        text = _TRUE.get(value.casefold()) or _FALSE.get(value.casefold())
        return text, "" if text else f"option {option.name!r} must be true or false (found {value!r})"
    if option.kind == "combo":
        alike = {choice.casefold(): choice for choice in option.choices}
        spelled = value if value in option.choices else alike.get(value.casefold())
        allowed = ", ".join(escape_text(choice) for choice in option.choices)
        return (
            spelled,
            "" if spelled is not None else f"option {option.name!r} must be one of {allowed} (found {value!r})",
        )
    if option.kind in PRESSED:
        if value.casefold() in _FALSE:
            return None, ""
        fits = not value or value.casefold() in _TRUE
        return "" if fits else None, "" if fits else f"option {option.name!r} is a button and takes no value"
    if option.kind in _TEXTS:
        fits = value.isascii() and (value.isprintable() or not value)
        return (
            value if fits else None,
            "" if fits else f"option {option.name!r} must be one line of printable ASCII text",
        )
    return None, f"option {option.name!r} has the unknown type {option.kind!r} and cannot be set"


def _number(option: DeclaredOption, value: str) -> tuple[str | None, str]:
    number = parse_int(value)
    low, high = option.low, option.high
    if number is not None and (low is None or number >= low) and (high is None or number <= high):
        return str(number), ""
    return None, f"option {option.name!r} must be a whole number between {low} and {high} (found {value!r})"


# The engine as the referee uses it.

MS = 1_000_000  # nanoseconds in a millisecond
OWED_NS = 1_000 * MS  # time limit for the outstanding answer after `stop` (runner spec 5.2)
# time limit for the ping after `stop`, and for the ping before an answer is judged illegal (runner spec 5.2, 5.6)
PING_NS = 2_000 * MS
_QUIET_NS = 20 * MS  # wait after each fence of an engine that answers a ping twice (runner spec 5.7)
# silence after which an empty line is sent to wake an engine that reads one line at a time (in the survey, an empty
# line after 200 ms woke it in 5 of 6 attempts)
POKE_NS = 500 * MS
WOKEN_NS = 100 * MS  # time in which an engine that an empty line has woken writes something
_MOST_EMPTY = 16  # maximum number of empty lines for an engine that may have several unread lines
_GAME_FENCE_NS = 5_000 * MS  # time limit of a ping in a game; longer if `ready_timeout` is above 60 s (runner spec 5.3)

_STALE = MessageKind.STALE  # a local name, because a look-up in the enumeration is too slow for code of every ply
DISCARD_READS = 16  # maximum number of reads (64 KiB) before a search, so that endless output cannot prevent the search

Script = Generator[int, Message | None, None]
Hearing = Generator[int, Message | None, Message | None]
_COMPLAINTS = frozenset({MessageKind.REFUSED, MessageKind.REFUSED_POSITION})  # possible answers to an empty line


@dataclass(frozen=True, slots=True)
class Setup:
    """The data of a game that is about to begin, for one engine."""

    position: Position  # the position after the moves of the opening
    tc: TimeControl
    opponent: str = ""

    @property
    def opponent_ascii(self) -> str:
        """The name of the opponent in characters that every engine can read."""
        return "".join(char for char in self.opponent if char.isascii() and char.isprintable()) or "opponent"


class Ask(NamedTuple):
    """One search request. Clocks are whole milliseconds (at least 1), or None if a side does not have a clock."""

    position: Position
    white: bool  # whether this engine plays White
    tc: TimeControl
    own_ms: int | None = None
    other_ms: int | None = None
    own_increment_ms: int = 0
    other_increment_ms: int = 0
    moves_to_go: int = 0  # moves until the next stage; 0 if the stage lasts until the end of the game
    draw_offered: bool = False  # whether the opponent offered a draw with its last move
    stage: int = 0  # the current stage of the time control, from 0


class Engine(ABC):
    """One engine process, its output, and the state of its protocol. Every answer and every pong is counted.

    `open_engine` creates it; the engine pool or `kill` ends it.
    """

    def __init__(self, spec: EngineSpec, launch: Launch | None = None) -> None:
        self.spec = spec
        self.born_ns = time.monotonic_ns()
        self.process = EngineProcess(spec, launch=launch)
        self.intake = LineBuffer()
        self.own_name = ""
        self.author = ""
        self.declared: tuple[DeclaredOption, ...] = ()
        self.problems: tuple[str, ...] = ()  # a sentence for each option of the spec that cannot be set
        self.searches = 0  # number of searches that were started
        self.answers = 0  # number of lines that ended a search
        self.stale = 0  # number of answers out of turn
        self.games = 0
        self.ready = False  # whether the handshake is complete
        self.awaited: tuple[str, str] | None = None  # answer that a script waits for, and the quirk with its time limit
        self.reads_single_lines = False  # whether it answered only after an empty line, in two tests
        self.spoiled = ""  # reason why it must not be used for another game; "" if it can be used
        self.fence = spec.quirks.fence
        self.notes: dict[str, str] = {}  # the first warning of each kind
        self.new_notes: list[tuple[str, str]] = []  # warnings that have not been reported yet
        self.late_ns = 0  # time of an answer that arrived after `stop`
        self._last_line_cut = False
        self.search_text = b""  # raw output of the last search before its answer
        self.stamp_ns = 0  # time of the last read
        self._unheard: deque[Message] = deque()
        self._pings = 0
        self._pongs = 0
        self._poke_ns = 0  # time of the next empty line for a silent engine that reads one line at a time; 0: none
        self._twice = False  # whether it answers a ping more than once
        self._last_write_ns = 0
        self._ended = False
        self.dead = False  # whether its output has ended and was processed completely

    @property
    def due_ns(self) -> int | None:
        """The time at which `next_message` must be called again even without new output, or None."""
        return self._last_write_ns if self._unheard else self._poke_ns or None

    @abstractmethod
    def _next_message(self) -> Message | None:
        """Return the next message in the output that was read, or None."""

    @abstractmethod
    def _is_chatter(self) -> bool:
        """Return whether the output that was read contains only lines that need no processing during a search."""

    def held_back_answer(self) -> Message | None:
        """Return the answer that is still held back at the deadline, or None if there is none."""
        return None

    @property
    def thinking(self) -> bool:
        """Return whether a search is in progress, so that an answer is expected."""
        return self.searches == self.answers + 1

    @property
    def silent(self) -> bool:
        """Return whether `next_message` cannot return a message before more output is read."""
        return not (self.intake.text or self._ended) and self.due_ns is None

    def pull(self) -> bool:
        """Read once, and store the time in `stamp_ns`. Return whether there was output."""
        chunk, stamp = self.process.read()
        if chunk:
            self.take_over(chunk, stamp)
        elif self.process.eof:
            self._poke_ns = 0
            if not self._ended:
                self._ended = True
                self.stamp_ns = stamp
                self._last_line_cut = self.intake.end()
        return bool(chunk)

    @property
    def is_plain(self) -> bool:
        """Return whether all output is processed, all pings are answered, and one write can start the next search."""
        process = self.process
        return (
            self.fence == "off"
            and self.ready
            and self.searches == self.answers
            and self._pings == self._pongs
            and not (self.spoiled or self._ended or self._unheard or self._poke_ns or not self.intake.is_empty)
            and not (process.exited or process.broken or len(process.out) or process.stderr_due)
        )

    def take_over(self, text: bytes, stamp_ns: int) -> None:
        """Add output that was read but not processed yet, for example by compiled code."""
        self._poke_ns = 0
        self.stamp_ns = stamp_ns
        self.intake.feed(text)
        if self.intake.overlong:
            self.note("long-line", f"wrote a line of more than {LINE_CAP // 1024} KiB; the rest of it was dropped")

    def searched(self, searches: int, go_ns: int, *, thinking: bool) -> None:
        """Count the searches that compiled code has started. `thinking`: whether the last one is still in progress."""
        self.searches += searches
        self.answers += searches - thinking
        self.search_text, self.late_ns = b"", 0
        self._last_write_ns = go_ns

    def read_chatter(self) -> int:
        """Read once. Return the time if the output only reports the current search; 0 if it may contain a message."""
        is_chatter = self.pull() and self.searches == self.answers + 1 and not self._unheard and self._is_chatter()
        return self.stamp_ns if is_chatter else 0

    def next_message(self) -> Message | None:
        """Return the next message in the output that was read, or None."""
        if self._unheard:
            return self._unheard.popleft()
        if self._poke_ns and time.monotonic_ns() >= self._poke_ns:
            self._poke_ns = 0
            self.process.write(b"\n")
        message = self._next_message()
        if message is None:
            self.dead = self._ended and self.due_ns is None
            return None
        if self._last_line_cut and not self.intake.text:
            message = message._replace(cut=True)
        if message.kind is _STALE:
            self.stale += 1
            self.fence = "wait"  # until the end of this process: runner spec 5.5
            self.note(
                "out-of-turn", f"answered {escape_text(message.text)!r} without being asked; the answer is ignored"
            )
        return message

    def search_over(self) -> None:
        """End the current search without a move, after a resignation or a result."""
        self.answers = self.searches

    def discard(self) -> tuple[Message, ...]:
        """Read the output that waits before a search; return the messages that may decide the game.

        Answers in this output are out of turn.
        """
        mattering: list[Message] = []
        for _ in range(DISCARD_READS):
            came = self.pull()
            if not came and self.silent:
                break  # the usual case, in every ply
            while (message := self.next_message()) is not None:
                if message.kind not in (MessageKind.LINE, MessageKind.STALE, MessageKind.PONG, MessageKind.FEATURE):
                    mattering.append(message)
            if not came:
                break
        return tuple(mattering)

    def note(self, kind: str, words: str) -> None:
        """Add a warning. Only the first warning of each kind is kept."""
        if kind not in self.notes:
            self.notes[kind] = words
            self.new_notes.append((kind, words))

    # Differences between the protocols.

    @abstractmethod
    def handshake(self) -> Script:
        """Run from the start until `new_game` is possible. Raise StartFailed, or EngineStalled at a fence."""

    @abstractmethod
    def new_game(self, setup: Setup) -> Script:
        """Prepare the engine for a game, before any clock runs. Raise Unsupported if it cannot play this game."""

    @abstractmethod
    def variant_lines(self, name: str) -> list[bytes]:
        """Return the lines that set the variant of the next game. Raise Unsupported if it is not declared."""

    @abstractmethod
    def approach(self, ask: Ask) -> Script:
        """Send the lines that must precede `go` and wait for their answers, before the clock starts.

        Called only if `needs_approach` or `needs_preparation` is true.
        """

    @abstractmethod
    def go_lines(self, ask: Ask) -> bytes:
        """Return the lines that start a search, as the data of one write."""

    @abstractmethod
    def _ping(self) -> bytes:
        """Return the next ping and count it, or return b"" if the engine does not support pings."""

    @abstractmethod
    def _stop(self) -> bytes:
        """Return the line that requests a move at once."""

    _last_search_info: Callable[..., SearchInfo]  # parses raw output in the form of the protocol

    def search_info(self, text: bytes, *, white: bool, bounds: bool = True) -> SearchInfo:
        """Return the last line of a search with a score, from the point of view of this engine.

        Engines report their own point of view, unless the quirk `whitepov` is set.

        Args:
            text: output of the search.
            white: whether the engine plays White.
            bounds: whether a score may be a bound; if false, the last exact score is used.
        """
        info = self._last_search_info(text, bounds=bounds)
        return info.turned() if self.spec.quirks.whitepov and not white else info

    def full_search_info(self, text: bytes, *, white: bool) -> SearchInfo:
        """Return `search_info` with all other figures of the search. It is slow, so it is not called during a ply."""
        return self.search_info(text, white=white)

    def supports(self, tc: TimeControl) -> bool:
        """Return whether this process can play with the time control `tc` after its earlier games."""
        del tc
        return True

    def is_usual_form(self, text: str) -> bool:
        """Return whether a move in an odd form is normal for this protocol, so that no warning is needed."""
        del text
        return False

    @property
    def lost_input(self) -> bool:
        """Return whether the engine has not sent lines that it always sends at its start; it may have lost input."""
        return False

    def game_over(self, result: str, why: str) -> tuple[bytes, ...]:
        """Return the lines that report the end of a game to the engine."""
        del result, why
        return ()

    def _checked_settings(
        self, wanted: Sequence[tuple[str, str]], problems: tuple[str, ...] = ()
    ) -> tuple[Setting, ...]:
        """Return the settings to send, with the standard settings first.

        Optional settings that the engine does not declare are left out. Raise StartFailed if another setting is not
        possible, or if there are earlier `problems`.
        """
        known = {option.name.casefold() for option in self.declared}
        wanted = [one for one in wanted if one[0].casefold() in known or one[0].casefold() not in self.spec.optional]
        chosen = (*standard_settings(self.declared, wanted, self.spec.offered), *wanted)
        settings, found = check_settings(self.declared, chosen)
        self.problems = (*problems, *found)
        if self.problems:
            raise StartFailed("; ".join(self.problems), category="bad-option")
        return settings

    def _settle_options(self, lines: Sequence[bytes], after: str) -> Script:
        """Send `lines`, the lines of the quirk `init`, and a fence. Raise StartFailed if there is no answer.

        `after` names the preceding step in the error.
        """
        own = (line.encode("ascii", "replace") for line in self.spec.quirks.init)
        try:
            yield from self.fenced(self.ready_ns, *lines, *own)
        except EngineStalled as fault:
            raise StartFailed(f"after the {after}: {fault.detail}", category="start-timeout") from fault

    def _refuse_limits(self, tc: TimeControl) -> None:
        if asked := tc.limits - self.spec.limits:
            raise Unsupported(f"does not support the search limit {', '.join(sorted(asked))}")

    # Methods for every ply.

    @property
    def needs_approach(self) -> bool:
        """Return whether `approach` must run before each search."""
        return self.fence == "wait" or self.spec.quirks.line_delay_ms > 0

    def go(self, ask: Ask) -> int:
        """Start a search. Return the time right after the write (CLOCK_MONOTONIC, ns)."""
        self.searches += 1
        self.search_text, self.late_ns = b"", 0
        self._last_write_ns = self.process.write(self.go_lines(ask))
        if self.spec.quirks.line_delay_ms:
            self._poke_ns = self._last_write_ns + POKE_NS
        return self._last_write_ns

    def needs_preparation(self, ask: Ask) -> bool:
        """Return whether `approach` must run before this search."""
        del ask
        return self.needs_approach

    # Pondering.

    ponders: int | None = None  # number of ponder searches in this game; None if enginetour does not start them
    ponder_hits: int | None = None  # number of ponder searches whose expected move was played
    pondered_ns = 0  # time that the last search ran as a ponder search

    @property
    def pondering(self) -> bool:
        """Return whether the engine was asked to ponder, and has not been asked for a move since then."""
        return False

    def ponder(self, ask: Ask) -> None:
        """Start a ponder search. Do nothing if the protocol does not need a command for it."""
        del ask

    # Parts of scripts.

    def send_lines(self, *lines: bytes) -> Script:
        """Send lines in one write. If `line_delay_ms` is set, send them one by one, with this delay between them."""
        if not self.spec.quirks.line_delay_ms:
            self._last_write_ns = self.process.write(b"".join(line + b"\n" for line in lines))
            return
        for line in lines:
            yield from self.pause_before_line()
            self._last_write_ns = self.process.write(line + b"\n")

    def pause_before_line(self) -> Script:
        """Wait until `line_delay_ms` has passed since the last line. Messages in this time are kept for later."""
        until = self._last_write_ns + self.spec.quirks.line_delay_ms * MS
        if self.spec.quirks.line_delay_ms and until > time.monotonic_ns():
            yield from self.keep_messages(until)

    def keep_messages(self, until: int) -> Script:
        """Wait until the time `until`, and keep the messages that arrive for later."""
        kept: list[Message] = []
        while (message := (yield until)) is not None:
            kept.append(message)
        self._unheard.extend(kept)

    def receive(self, deadline: int) -> Hearing:
        """Return the next message, or None at the deadline."""
        if self._unheard:
            return self._unheard.popleft()
        return (yield deadline)

    def receive_poked(self, deadline: int) -> Hearing:
        """Return the next message, or None at the deadline.

        If `line_delay_ms` is set and the engine is silent for `POKE_NS`, send one empty line.
        """
        if self.spec.quirks.line_delay_ms:
            early = time.monotonic_ns() + POKE_NS
            if early < deadline:
                message = yield from self.receive(early)
                if message is not None:
                    return message
                self._last_write_ns = self.process.write(b"\n")
        return (yield from self.receive(deadline))

    def fenced(self, limit_ns: int, *lines: bytes) -> Script:
        """Send lines and a ping, and process all messages before its pong. Raise EngineStalled after `limit_ns`."""
        self._unheard.extend(self.discard())  # a late second pong must not answer this ping
        deadline = time.monotonic_ns() + limit_ns
        ping = self._ping()
        if not ping:
            yield from self.send_lines(*lines)
            # 200 ms of silence replace the pong (runner spec 7).
            while (message := (yield from self.receive(min(deadline, time.monotonic_ns() + 200 * MS)))) is not None:
                self.process_aside(message)
            return
        yield from self.send_lines(*lines, ping)
        self.awaited = (f"its answer to {ping.decode()}", "ready_timeout")
        while (message := (yield from self.receive_poked(deadline))) is not None:
            if message.kind is MessageKind.PONG:
                break
            self.process_aside(message)
        else:
            if limit_ns >= self.ready_ns and not self.games:  # an engine that has played can read several lines
                yield from self._test_single_lines()
            raise EngineStalled(self.stall_words(limit_ns))
        self.awaited = None
        if self._twice:
            until = time.monotonic_ns() + _QUIET_NS
            while (message := (yield from self.receive(until))) is not None:
                self.process_aside(message)

    def process_aside(self, message: Message) -> None:
        """Process a message that the current script does not wait for. May raise Unsupported."""
        del message

    def stall_words(self, limit_ns: int) -> str:
        """Return the error text for an engine that does not answer a fence."""
        return f"no answer to a ping within {limit_ns / 1e9:g} s; {self._remedy('ready_timeout')}"

    def _remedy(self, setting: str) -> str:
        """Return a hint about the quirk that may help an engine that has not answered in time."""
        if self.reads_single_lines:
            return (
                "it reads only one line at a time (in two tests, it answered only after an empty line): "
                "set line_delay_ms = 100 under [quirks]"
            )
        return f"if the engine needs more time, increase {setting} under [quirks]"

    def _test_single_lines(self, most_empty: int = _MOST_EMPTY) -> Script:
        """Test whether an engine reads only one line at a time, and set `reads_single_lines` if so.

        It does if it is silent after two lines that were sent together, and an empty line wakes it, both times in two
        tests. One test is not enough, because a slow engine may write its first output at any moment. `most_empty` is
        the maximum number of empty lines to send: one for each line that the engine may not have read yet.
        """
        if self.spec.quirks.line_delay_ms or self.reads_single_lines:
            return
        kept: list[Message] = []
        if (yield from self._is_woken(most_empty, kept)):
            yield from self.send_lines(*self._two_lines())
            if not (yield from self._writes(POKE_NS, kept)):
                self.reads_single_lines = yield from self._is_woken(most_empty + 1, kept)
        self._unheard.extend(kept)

    def _is_woken(self, most_empty: int, kept: list[Message]) -> Generator[int, Message | None, bool]:
        for _ in range(most_empty):
            yield from self.send_lines(b"")
            if (yield from self._writes(WOKEN_NS, kept)):
                return True
        return False

    def _writes(self, within_ns: int, kept: list[Message]) -> Generator[int, Message | None, bool]:
        """Return whether the engine writes within `within_ns`. Complaints about an empty line do not count.

        A message that counts is appended to `kept`.
        """
        deadline = time.monotonic_ns() + within_ns
        while (message := (yield from self.receive(deadline))) is not None:
            if message.kind not in _COMPLAINTS:
                kept.append(message)
                return True
        return False

    @abstractmethod
    def _two_lines(self) -> tuple[bytes, bytes]:
        """Return two lines that every engine answers when it has read them."""

    def settle(self) -> Script:
        """End a search (runner spec 5.2): send `stop`, read the outstanding answer, and send a ping.

        If an answer is missing, set `spoiled`.
        """
        if self.thinking:
            yield from self.send_lines(self._stop())
            deadline = time.monotonic_ns() + OWED_NS
            while self.thinking:
                message = yield from self.receive_poked(deadline)
                if message is None:
                    self.spoiled = "no answer to stop within 1 s"
                    return
                if message.kind is MessageKind.ANSWER:
                    self.late_ns = message.stamp_ns
        if not self._can_ping():
            self.spoiled = "its state after an abnormal end is unknown, because it does not support ping"
            return
        try:
            yield from self.fenced(PING_NS)
        except EngineStalled as fault:
            self.spoiled = fault.detail

    def _can_ping(self) -> bool:
        return True

    def question(self, deadline: int) -> Hearing:
        """Ask again before an answer counts as illegal (runner spec 5.6). Return a second answer, or None."""
        return (yield from self._asked_again(deadline, []))

    def _asked_again(self, deadline: int, refused: list[Message]) -> Hearing:
        """Send a ping. Return a second answer that arrives before the pong, or None.

        Messages that reject the last move sent are appended to `refused`.
        """
        deadline = min(deadline, time.monotonic_ns() + PING_NS)
        if not self._can_ping():
            deadline = min(deadline, time.monotonic_ns() + 200 * MS)
            yield from self.send_lines(self._stop())
        else:
            yield from self.send_lines(*self._question_lines())
        while (message := (yield from self.receive_poked(deadline))) is not None:
            if message.kind is MessageKind.STALE:
                return message
            if message.kind is MessageKind.PONG:
                return None
            if message.kind is MessageKind.REFUSED_MOVE:
                refused.append(message)
        return None

    @abstractmethod
    def _question_lines(self) -> tuple[bytes, ...]:
        """Return the lines whose answer shows that the engine has finished its last search."""

    def start_timeout(self, what: str) -> Script:
        """Raise StartFailed for an engine that does not complete its handshake. `what` is the missing answer."""
        if not self.spec.quirks.tells_features:
            yield from self._test_single_lines()
        words = (
            f"no {what}" if self.reads_single_lines else f"no {what} within {self.spec.quirks.handshake_timeout:g} s"
        )
        if not self.stamp_ns:
            words += "; no output at all (does it flush stdout?)"
        raise StartFailed(f"{words}; {self._remedy('handshake_timeout')}", category="start-timeout")

    @property
    def handshake_deadline(self) -> int:
        """The deadline of the handshake: one limit for the time from the start until it is ready (runner spec 6, 7)."""
        return self.born_ns + int(self.spec.quirks.handshake_timeout * 1e9)

    @property
    def ready_ns(self) -> int:
        """The time limit of a fence between games, in ns."""
        return int(self.spec.quirks.ready_timeout * 1e9)

    @property
    def game_fence_ns(self) -> int:
        """The time limit of a fence in a game, in ns."""
        return max(min(_GAME_FENCE_NS, self.ready_ns), self.ready_ns // 12)

    def kill(self) -> None:
        """Kill the engine and all its processes now."""
        self.process.kill()
