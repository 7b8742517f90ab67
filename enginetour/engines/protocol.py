"""The engine as the referee uses it: one interface for both protocols, over non-blocking pipes.

Nothing here waits. A dialog of several lines (handshake, new game, fences) is a *script*: a generator that yields the
absolute deadline of its wait, and receives the next message, or None when the deadline has passed. A *fence* is a ping
whose answer shows that everything before it has been processed. The referee runs the scripts of both engines side by
side over one poll (`referee/talk.py`). A search has no script: `go` writes and takes the time; `pull` reads and takes
the time, `next_message` returns what it means (`wire.py`).
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

# Sent to every engine that declares them, because defaults are not reliable (runner spec 6).
_STANDARD_SETTINGS = (
    ("Ponder", "false"),
    ("OwnBook", "false"),
    ("UCI_Chess960", "false"),
    ("UCI_AnalyseMode", "false"),
    ("UCI_Variant", "chess"),
)
MOST_OPTIONS = 20_000  # per engine; 10,000 must be accepted (reliability 2.1), but memory is limited
MOST_TYPES = 16  # words in one declaration that may be the type; each costs one reading of the line
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
    """Return the settings to send, in the declared spelling, and a sentence for each impossible one.

    The order is that of `wanted`. A check value becomes ``true`` or ``false``, a combo value the declared spelling, a
    button "" (pressed once).
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
    """Return the text to send (None: nothing to send) and the problem, one of them."""
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
OWED_NS = 1_000 * MS  # for an answer that is owed after `stop` (runner spec 5.2)
# for the ping after it, and for the ping before an answer is judged illegal (runner spec 5.2, 5.6)
_PING_NS = 2_000 * MS
_QUIET_NS = 20 * MS  # after each fence of an engine that answers a ping twice (runner spec 5.7)
# an empty line wakes an engine that reads one line at a time; survey: after 200 ms in 5 of 6 attempts
POKE_NS = 500 * MS
WOKEN_NS = 100 * MS  # within this time after an empty line an engine that it woke writes something
_MOST_EMPTY = 16  # empty lines for an engine that may have several lines unread
_GAME_FENCE_NS = 5_000 * MS  # for a ping in a game; longer if `ready_timeout` is above a minute (runner spec 5.3)

_STALE = MessageKind.STALE  # a local name, because a look-up in an enumeration takes too long on the path of every ply
DISCARD_READS = 16  # most reads of 64 KiB before a search, so that a flood of output cannot prevent it

Script = Generator[int, Message | None, None]
Hearing = Generator[int, Message | None, Message | None]
_COMPLAINTS = frozenset({MessageKind.REFUSED, MessageKind.REFUSED_POSITION})  # about an empty line itself


@dataclass(frozen=True, slots=True)
class Setup:
    """A game that is about to begin, as one engine must know it."""

    position: Position  # after the opening's moves
    tc: TimeControl
    opponent: str = ""

    @property
    def opponent_ascii(self) -> str:
        """The opponent's name in characters that every engine reads."""
        return "".join(char for char in self.opponent if char.isascii() and char.isprintable()) or "opponent"


class Ask(NamedTuple):
    """One search request: clocks in whole milliseconds, at least 1; None when a side has no clock."""

    position: Position
    white: bool  # this engine's side
    tc: TimeControl
    own_ms: int | None = None
    other_ms: int | None = None
    own_increment_ms: int = 0
    other_increment_ms: int = 0
    moves_to_go: int = 0  # 0: to the end of the game
    draw_offered: bool = False  # by the opponent, with its last move
    stage: int = 0  # the current stage of its time control, from 0


class Engine(ABC):
    """One engine process, its output, and what is known of it; every answer and pong is counted.

    Created by `open_engine`; ended by the engine pool or by `kill`.
    """

    def __init__(self, spec: EngineSpec, launch: Launch | None = None) -> None:
        self.spec = spec
        self.born_ns = time.monotonic_ns()
        self.process = EngineProcess(spec, launch=launch)
        self.intake = LineBuffer()
        self.own_name = ""
        self.author = ""
        self.declared: tuple[DeclaredOption, ...] = ()
        self.problems: tuple[str, ...] = ()  # options of the spec that cannot be set, one sentence each
        self.searches = 0  # how often it was asked for a move
        self.answers = 0  # lines that ended a search
        self.stale = 0  # answers out of turn
        self.games = 0
        self.ready = False  # handshake done
        self.awaited: tuple[str, str] | None = None  # what a wait off the clock waits for, and the quirk that limits it
        self.reads_single_lines = False  # twice, it answered only after an empty line
        self.spoiled = ""  # why it may not be used for another game
        self.fence = spec.quirks.fence
        self.notes: dict[str, str] = {}  # first warning of each kind
        self.new_notes: list[tuple[str, str]] = []  # those that have not been reported yet
        self.late_ns = 0  # time of an owed answer that came after `stop`
        self._last_line_cut = False
        self.search_text = b""  # raw output of the last search up to its answer
        self.stamp_ns = 0  # time of the last read
        self._unheard: deque[Message] = deque()
        self._pings = 0
        self._pongs = 0
        self._poke_ns = 0  # when a silent engine that reads one line at a time gets an empty line
        self._twice = False  # answers a ping more than once
        self._last_write_ns = 0
        self._ended = False
        self.dead = False  # its output ended, and all of it was processed

    @property
    def due_ns(self) -> int | None:
        """When to call `next_message` again even without new output; None: never."""
        return self._last_write_ns if self._unheard else self._poke_ns or None

    @abstractmethod
    def _next_message(self) -> Message | None:
        """Return the next message in the output that was read."""

    @abstractmethod
    def _is_chatter(self) -> bool:
        """Return whether the output that was read has nothing to process during a search."""

    def held_back_answer(self) -> Message | None:
        """Return the answer if one is still held back at the deadline."""
        return None

    @property
    def thinking(self) -> bool:
        """Return whether the engine owes an answer."""
        return self.searches == self.answers + 1

    @property
    def silent(self) -> bool:
        """Return whether `next_message` has nothing to return before more output is read."""
        return not (self.intake.text or self._ended) and self.due_ns is None

    def pull(self) -> bool:
        """Read once, and take the time in `stamp_ns`; return whether anything came."""
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
        """Return whether all is processed, all pings are answered, and one write is enough for its next search."""
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
        """Take output that was read, also by compiled code, and not processed yet."""
        self._poke_ns = 0
        self.stamp_ns = stamp_ns
        self.intake.feed(text)
        if self.intake.overlong:
            self.note("long-line", f"wrote a line of more than {LINE_CAP // 1024} KiB; the rest of it was dropped")

    def searched(self, searches: int, go_ns: int, *, thinking: bool) -> None:
        """Count searches that compiled code began; all were answered, but not the last one if `thinking`."""
        self.searches += searches
        self.answers += searches - thinking
        self.search_text, self.late_ns = b"", 0
        self._last_write_ns = go_ns

    def read_chatter(self) -> int:
        """Read once; return the time if the output only reports the current search, 0 if there may be a message."""
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
            self.fence = "wait"  # runner spec 5.5: for the rest of its life
            self.note(
                "out-of-turn", f"answered {escape_text(message.text)!r} without being asked; the answer is ignored"
            )
        return message

    def search_over(self) -> None:
        """End the current search without a move: after a resignation or a result."""
        self.answers = self.searches

    def discard(self) -> tuple[Message, ...]:
        """Read what waits before a search; return what matters out of turn. Answers are stale."""
        mattering: list[Message] = []
        for _ in range(DISCARD_READS):
            came = self.pull()
            if not came and self.silent:
                break  # the common case, on the path of every ply
            while (message := self.next_message()) is not None:
                if message.kind not in (MessageKind.LINE, MessageKind.STALE, MessageKind.PONG, MessageKind.FEATURE):
                    mattering.append(message)
            if not came:
                break
        return tuple(mattering)

    def note(self, kind: str, words: str) -> None:
        """Add a warning; only the first of each kind is kept."""
        if kind not in self.notes:
            self.notes[kind] = words
            self.new_notes.append((kind, words))

    # Differences between the protocols.

    @abstractmethod
    def handshake(self) -> Script:
        """Run from the start until `new_game` is possible. Raises StartFailed, or EngineStalled at a fence."""

    @abstractmethod
    def new_game(self, setup: Setup) -> Script:
        """Do everything off the clock that a game needs. Raises Unsupported if the position or limit cannot be sent."""

    @abstractmethod
    def variant_lines(self, name: str) -> list[bytes]:
        """Return the lines that set the variant of the next game. Raises Unsupported if it is not declared."""

    @abstractmethod
    def approach(self, ask: Ask) -> Script:
        """Send and await off the clock what must come before `go`; only if `needs_approach`."""

    @abstractmethod
    def go_lines(self, ask: Ask) -> bytes:
        """Return the lines that start a search, for one write."""

    @abstractmethod
    def _ping(self) -> bytes:
        """Count and return the next ping; b"" for an engine without ping."""

    @abstractmethod
    def _stop(self) -> bytes:
        """Return the line that asks for a move now."""

    _last_search_info: Callable[..., SearchInfo]  # of raw output, in the form of the protocol

    def search_info(self, text: bytes, *, white: bool, bounds: bool = True) -> SearchInfo:
        """Return the last scored line of a search, from the mover's side; without `bounds` the last exact one.

        Scores are from the engine's side, unless `whitepov` is set.
        """
        info = self._last_search_info(text, bounds=bounds)
        return info.turned() if self.spec.quirks.whitepov and not white else info

    def full_search_info(self, text: bytes, *, white: bool) -> SearchInfo:
        """Return `search_info` with all other figures of the search; for the record, off the path of a ply."""
        return self.search_info(text, white=white)

    def supports(self, tc: TimeControl) -> bool:
        """Return whether this process can be given this time control after its earlier games."""
        del tc
        return True

    def is_usual_form(self, text: str) -> bool:
        """Return whether an odd form of a move is normal in its protocol."""
        del text
        return False

    @property
    def lost_input(self) -> bool:
        """Return whether the engine has not sent what it always sends at its start, so that it may have lost input."""
        return False

    def game_over(self, result: str, why: str) -> tuple[bytes, ...]:
        """Return the lines that report the end of a game to the engine."""
        del result, why
        return ()

    def _checked_settings(
        self, wanted: Sequence[tuple[str, str]], problems: tuple[str, ...] = ()
    ) -> tuple[Setting, ...]:
        """Return the settings to send, the standard ones first.

        Raises StartFailed for impossible ones or for `problems`.
        """
        chosen = (*standard_settings(self.declared, wanted, self.spec.offered), *wanted)
        settings, found = check_settings(self.declared, chosen)
        self.problems = (*problems, *found)
        if self.problems:
            raise StartFailed("; ".join(self.problems), category="bad-option")
        return settings

    def _settle_options(self, lines: Sequence[bytes], after: str) -> Script:
        """Send these lines, those of the engine file, and a fence. Raises StartFailed if there is no answer."""
        own = (line.encode("ascii", "replace") for line in self.spec.quirks.init)
        try:
            yield from self.fenced(self.ready_ns, *lines, *own)
        except EngineStalled as fault:
            raise StartFailed(f"after the {after}: {fault.detail}", category="start-timeout") from fault

    def _refuse_limits(self, tc: TimeControl) -> None:
        if asked := tc.limits - self.spec.limits:
            raise Unsupported(f"does not support the search limit {', '.join(sorted(asked))}")

    # The path of every ply.

    @property
    def needs_approach(self) -> bool:
        """Return whether a plain `go` is not enough before a search."""
        return self.fence == "wait" or self.spec.quirks.line_delay_ms > 0

    def go(self, ask: Ask) -> int:
        """Start a search; return CLOCK_MONOTONIC ns right after the write."""
        self.searches += 1
        self.search_text, self.late_ns = b"", 0
        self._last_write_ns = self.process.write(self.go_lines(ask))
        if self.spec.quirks.line_delay_ms:
            self._poke_ns = self._last_write_ns + POKE_NS
        return self._last_write_ns

    def needs_preparation(self, ask: Ask) -> bool:
        """Return whether something must be sent and awaited before this search."""
        del ask
        return self.needs_approach

    # Pondering.

    ponders: int | None = None  # ponder searches in this game; None: it was not asked to ponder, or does it by itself
    ponder_hits: int | None = None  # those of them whose expected move was played
    pondered_ns = 0  # how long the last search ran before the engine was asked for that move

    @property
    def pondering(self) -> bool:
        """Return whether the engine was asked to ponder, and has not been asked for a move since."""
        return False

    def ponder(self, ask: Ask) -> None:
        """Start to ponder; an engine that ponders by itself needs no command."""
        del ask

    # Parts of scripts.

    def send_lines(self, *lines: bytes) -> Script:
        """Send lines in one write, or one by one with `line_delay_ms` between them."""
        if not self.spec.quirks.line_delay_ms:
            self._last_write_ns = self.process.write(b"".join(line + b"\n" for line in lines))
            return
        for line in lines:
            yield from self.pause_before_line()
            self._last_write_ns = self.process.write(line + b"\n")

    def pause_before_line(self) -> Script:
        """Wait until `line_delay_ms` has passed since the last line; messages are kept for later."""
        until = self._last_write_ns + self.spec.quirks.line_delay_ms * MS
        if self.spec.quirks.line_delay_ms and until > time.monotonic_ns():
            yield from self.keep_messages(until)

    def keep_messages(self, until: int) -> Script:
        """Wait up to `until`, and keep the messages for later."""
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
        """Return the next message; an engine with `line_delay_ms` gets one empty line if it is silent for a while."""
        if self.spec.quirks.line_delay_ms:
            early = time.monotonic_ns() + POKE_NS
            if early < deadline:
                message = yield from self.receive(early)
                if message is not None:
                    return message
                self._last_write_ns = self.process.write(b"\n")
        return (yield from self.receive(deadline))

    def fenced(self, limit_ns: int, *lines: bytes) -> Script:
        """Send lines and a ping in one write; process all up to its pong. Raises EngineStalled after `limit_ns`."""
        self._unheard.extend(self.discard())  # a late second pong must not answer this ping
        deadline = time.monotonic_ns() + limit_ns
        ping = self._ping()
        if not ping:
            yield from self.send_lines(*lines)
            yield from self._hear_quiet(deadline)
            return
        yield from self.send_lines(*lines, ping)
        self.awaited = (f"its answer to {ping.decode()}", "ready_timeout")
        while (message := (yield from self.receive_poked(deadline))) is not None:
            if message.kind is MessageKind.PONG:
                break
            self.process_aside(message)
        else:
            if limit_ns >= self.ready_ns and not self.games:  # an engine that has played reads lines that come together
                yield from self._test_single_lines()
            raise EngineStalled(self.stall_words(limit_ns))
        self.awaited = None
        if self._twice:
            until = time.monotonic_ns() + _QUIET_NS
            while (message := (yield from self.receive(until))) is not None:
                self.process_aside(message)

    def _hear_quiet(self, deadline: int) -> Script:
        """Fence without ping: wait for 200 ms of silence (runner spec 7), at most until the deadline."""
        while (message := (yield from self.receive(min(deadline, time.monotonic_ns() + 200 * MS)))) is not None:
            self.process_aside(message)

    def process_aside(self, message: Message) -> None:
        """Process a message that the current script does not wait for; raises Unsupported where it must."""
        del message

    def stall_words(self, limit_ns: int) -> str:
        """Describe the fault of an engine that does not answer a fence."""
        return f"no answer to a ping within {limit_ns / 1e9:g} s; {self._remedy('ready_timeout')}"

    def _remedy(self, setting: str) -> str:
        """Return the quirk that helps an engine which has not answered in time."""
        if self.reads_single_lines:
            return (
                "it reads one line at a time (twice, it answered only after an empty line): "
                "set line_delay_ms = 100 under [quirks]"
            )
        return f"if the engine needs more time, increase {setting} under [quirks]"

    def _test_single_lines(self, most_empty: int = _MOST_EMPTY) -> Script:
        """Set `reads_single_lines` if two lines at once leave it silent and an empty line wakes it, twice in a row.

        Once may be chance, because a slow engine writes its first output at any moment. `most_empty`: one for each line
        that it may not have read yet.
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
        """Return whether the engine writes anything but complaints about an empty line; `kept` gets the messages."""
        deadline = time.monotonic_ns() + within_ns
        while (message := (yield from self.receive(deadline))) is not None:
            if message.kind not in _COMPLAINTS:
                kept.append(message)
                return True
        return False

    @abstractmethod
    def _two_lines(self) -> tuple[bytes, bytes]:
        """Return two lines that every engine answers if it reads them."""

    def settle(self) -> Script:
        """Fence after a search (runner spec 5.2): stop, take the owed answer, ping. Sets `spoiled` if that fails."""
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
            yield from self.fenced(_PING_NS)
        except EngineStalled as fault:
            self.spoiled = fault.detail

    def _can_ping(self) -> bool:
        return True

    def question(self, deadline: int) -> Hearing:
        """Ask again before an answer counts as illegal (runner spec 5.6); return a second answer or None."""
        return (yield from self._asked_again(deadline, []))

    def _asked_again(self, deadline: int, refused: list[Message]) -> Hearing:
        """Send a ping, return a second answer before its pong; `refused` gets complaints about the last move sent."""
        deadline = min(deadline, time.monotonic_ns() + _PING_NS)
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
        """Return the lines that ask whether that was the answer to the last search."""

    def start_timeout(self, what: str) -> Script:
        """Raise the fault of an engine that is silent, or sends other output, instead of its handshake."""
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
        """The deadline of the handshake: one total limit from exec to ready (runner spec 6, 7)."""
        return self.born_ns + int(self.spec.quirks.handshake_timeout * 1e9)

    @property
    def ready_ns(self) -> int:
        """The limit of a fence between games, in ns."""
        return int(self.spec.quirks.ready_timeout * 1e9)

    @property
    def game_fence_ns(self) -> int:
        """The limit of a fence in a game, in ns."""
        return max(min(_GAME_FENCE_NS, self.ready_ns), self.ready_ns // 12)

    def kill(self) -> None:
        """Kill the process group of the engine now."""
        self.process.kill()
