"""An engine as a wire: bytes out, things said in, every answer and pong counted (runner spec sections 2 and 5)."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque

from enginetour.engines.intake import LINE_CAP, Intake
from enginetour.engines.process import EngineProcess
from enginetour.engines.said import Said, What, printable
from enginetour.engines.starting import Launch
from enginetour.model.task import Declared, EngineSpec

_STALE = What.STALE  # an enumeration looks its members up by name, which is too much for the path of every ply
DISCARD_READS = 16  # reads of 64 KiB before a search at most: a flood must not keep the referee from it


class Wire(ABC):
    """One engine process, what it said, and what is known of it."""

    def __init__(self, spec: EngineSpec, launch: Launch | None = None) -> None:
        self.spec = spec
        self.born_ns = time.monotonic_ns()
        self.process = EngineProcess(spec, launch=launch)
        self.intake = Intake()
        self.own_name = ""
        self.author = ""
        self.declared: tuple[Declared, ...] = ()
        self.problems: tuple[str, ...] = ()  # options of the spec that cannot be set, one sentence each
        self.searches = 0  # times it was set thinking
        self.answers = 0  # lines that ended a search
        self.stale = 0  # answers out of turn
        self.games = 0
        self.ready = False  # handshake done
        self.awaited: tuple[str, str] | None = None  # what is waited for off the clock, and the quirk that limits it
        self.reads_single_lines = False  # an empty line woke it twice
        self.spoiled = ""  # why it may not be used for another game
        self.fence = spec.quirks.fence
        self.notes: dict[str, str] = {}  # first warning of each kind
        self.new_notes: list[tuple[str, str]] = []  # of them, those that nobody has told yet
        self.late_ns = 0  # stamp of an owed answer that came after `stop`
        self._last_line_cut = False
        self.search_text = b""  # raw output of the last search up to its answer
        self.stamp_ns = 0  # of the last read
        self._unheard: deque[Said] = deque()
        self._pings = 0
        self._pongs = 0
        self._poke_ns = 0  # when a silent reader of single lines gets an empty one
        self._twice = False  # answers a ping more than once
        self._last_write_ns = 0
        self._ended = False
        self.dead = False  # its output ended and all of it was heard

    @property
    def due_ns(self) -> int | None:
        """When `heard` is worth calling without any new byte; None: never."""
        return self._last_write_ns if self._unheard else self._poke_ns or None

    @abstractmethod
    def _heard(self) -> Said | None:
        """The next thing said among what was read."""

    @abstractmethod
    def _is_chatter(self) -> bool:
        """Nothing new among what was read would be heard while it thinks."""

    def overdue(self) -> Said | None:
        """The answer, if at the deadline one came that was not yet believed."""
        return None

    @property
    def thinking(self) -> bool:
        """It owes an answer."""
        return self.searches == self.answers + 1

    @property
    def silent(self) -> bool:
        """`heard` has nothing to tell before something is read."""
        return not (self.intake.text or self._ended) and self.due_ns is None

    def pull(self) -> bool:
        """One read; `stamp_ns` is the time right after it. Whether anything came."""
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
        """Nothing is open between us: all was heard, every ping answered, and its next search needs but one write."""
        process = self.process
        return (
            self.fence == "off"
            and self.ready
            and self.searches == self.answers
            and self._pings == self._pongs
            and not (self.spoiled or self._ended or self._unheard or self._poke_ns or not self.intake.is_empty)
            and not (process.exited or process.broken or process.wants_write or process.stderr_due)
        )

    def take_over(self, text: bytes, stamp_ns: int) -> None:
        """What was read of it, by compiled code too, and not judged yet."""
        self._poke_ns = 0
        self.stamp_ns = stamp_ns
        self.intake.feed(text)
        if self.intake.overlong:
            self.note("long-line", f"wrote a line of more than {LINE_CAP // 1024} KiB; the rest of it was dropped")

    def searched(self, searches: int, go_ns: int, *, thinking: bool) -> None:
        """So many searches were begun by compiled code, all but the last answered, and that one if not `thinking`."""
        self.searches += searches
        self.answers += searches - thinking
        self.search_text, self.late_ns = b"", 0
        self._last_write_ns = go_ns

    def chatter(self) -> int:
        """One read; its stamp where it only tells of the search under way, 0 where `heard` is to look at it."""
        told = self.pull() and self.searches == self.answers + 1 and not self._unheard and self._is_chatter()
        return self.stamp_ns if told else 0

    def heard(self) -> Said | None:
        """The next thing said among what was read and not yet heard, or None."""
        if self._unheard:
            return self._unheard.popleft()
        if self._poke_ns and time.monotonic_ns() >= self._poke_ns:
            self._poke_ns = 0
            self.process.write(b"\n")
        said = self._heard()
        if said is None:
            self.dead = self._ended and self.due_ns is None
            return None
        if self._last_line_cut and not self.intake.text:
            said = said._replace(cut=True)
        if said.what is _STALE:
            self.stale += 1
            self.fence = "wait"  # runner spec 5.5: for the rest of its life
            self.note("out-of-turn", f"answered {printable(said.text)!r} when it was not asked; dropped")
        return said

    def search_over(self) -> None:
        """It ended its search by something else than a move: a resignation, a result."""
        self.answers = self.searches

    def discard(self) -> tuple[Said, ...]:
        """Read what waits before a search; what matters out of turn is returned, answers are stale."""
        mattering: list[Said] = []
        for _ in range(DISCARD_READS):
            came = self.pull()
            if not came and self.silent:
                break  # as nearly always, on the path of every ply
            while (said := self.heard()) is not None:
                if said.what not in (What.LINE, What.STALE, What.PONG, What.FEATURE):
                    mattering.append(said)
            if not came:
                break
        return tuple(mattering)

    def note(self, kind: str, words: str) -> None:
        """A warning: only the first of each kind is kept."""
        if kind not in self.notes:
            self.notes[kind] = words
            self.new_notes.append((kind, words))
