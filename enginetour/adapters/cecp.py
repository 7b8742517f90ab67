"""Engines that speak the CECP, WinBoard protocol 1 and 2 (protocol spec of XBoard 4.9; runner spec section 7)."""

from __future__ import annotations

import time

from enginetour.adapters import cecp_lines, options
from enginetour.adapters.base import MS, Ask, Engine, Script, Setup
from enginetour.adapters.cecp_setup import UNLIMITED_MS, edit_lines, feature_wishes, start_board, time_lines
from enginetour.adapters.features import Features
from enginetour.adapters.intake import KEPT
from enginetour.adapters.said import Said, Thought, What, printable
from enginetour.adapters.uci_lines import plain
from enginetour.errors import EngineStalled, StartFailed, Unsupported
from enginetour.task import EngineSpec
from enginetour.timecontrol import TimeControl

SILENT_NS = 2_000 * MS  # without a feature line: protocol 1 (runner spec 7)
HELD_NS = 200 * MS  # a numbered move may be an echo: held back so long (runner spec 7)
# Sent to every engine and missed by none that does not know them.
_COURTESIES = frozenset({"computer", "easy", "post", "result"})


class CecpEngine(Engine):
    """One CECP engine. After its one `go` a game it stays out of force mode."""

    def __init__(self, spec: EngineSpec, tag: str = "") -> None:
        super().__init__(spec, tag)
        self.features = Features()
        self._limits: frozenset[str] = frozenset()  # of the games so far; empty before the first
        self._force = True
        self._placing = False  # a position was sent and not yet fenced
        self._sent: frozenset[str] = frozenset()  # the last move sent, in each form
        self._plain_form = False  # it has announced a move by more than a number
        self._held: Said | None = None
        self._held_until = 0
        self._by_number = ""  # the move taken from a numbered line, in case it is announced again
        self._rest: bytes | None = None  # the last line of a turn, when the others went ahead

    # Start.

    def handshake(self) -> Script:
        """`xboard`, `protover 2`; features up to done=1, or protocol 1 after two silent seconds."""
        limit = self.handshake_deadline
        self.discard()
        yield from self.say(b"xboard", b"protover 2")
        until = min(limit, time.monotonic_ns() + SILENT_NS)
        while (said := (yield from self.hear_poked(until))) is None or said.what is not What.HELLO:
            if said is None:
                if until == limit:
                    raise self.start_timeout("done=1")
                if not self.features.values:
                    self.note("no-features", "no feature line within 2 s: taken as protocol 1")
                break
            if said.what is What.WAIT:
                until = limit
            elif said.what is What.FEATURE and until != limit:
                until = min(limit, time.monotonic_ns() + SILENT_NS)
        yield from self._set_options()
        self.ready = True

    def _set_options(self) -> Script:
        wanted, lines, self.problems = feature_wishes(self.spec, self.features)
        chosen = (*options.standard(self.declared, wanted), *wanted)
        settings, problems = options.check(self.declared, chosen)
        self.problems = (*self.problems, *problems)
        if self.problems:
            raise StartFailed("; ".join(self.problems), category="bad-option")
        for option, text in settings:
            value = {"true": "1", "false": "0"}[text] if option.kind == "check" else self.process.expand(text)
            pressed = option.kind in options.PRESSED
            lines.append((f"option {option.name}" if pressed else f"option {option.name}={value}").encode("ascii"))
        lines += [line.encode("ascii", "replace") for line in self.spec.quirks.init]
        try:
            yield from self.fenced(self.ready_ns, *lines)
        except EngineStalled as fault:
            raise StartFailed(f"after the features: {fault.detail}", category="start-timeout") from fault

    def _take_features(self) -> None:
        self.declared = tuple(self.features.options.values())
        self.own_name = printable(self.features.values.get("myname", ""))

    # A game.

    def new_game(self, setup: Setup) -> Script:
        """`new`, `force`, the time control, the position and the opening's moves, and a fence."""
        asked = setup.tc.limits - self.spec.limits
        if asked:
            raise Unsupported(f"cannot be limited by {', '.join(sorted(asked))}")
        self._limits = setup.tc.limits
        self._force, self._held, self._rest, self._by_number = True, None, None, ""
        lines = [b"new", b"force", *time_lines(setup.tc, self.spec.quirks, nps=self.features.on("nps"))]
        lines += [b"post", b"easy", b"computer"]
        if self.features.on("name"):
            name = "".join(sign for sign in setup.opponent if sign.isascii() and sign.isprintable())
            lines.append(f"name {name or 'opponent'}".encode("ascii"))
        yield from self.fenced(self.ready_ns, *lines)
        lines = self._position_lines(setup)
        if lines:
            self._placing = True
            try:
                yield from self.fenced(self.ready_ns, *lines)
            finally:
                self._placing = False
        if self.features.on("san"):
            setup.position.with_san = True
        self.games += 1

    def suits(self, tc: TimeControl) -> bool:
        """Several engines keep `st` and `sd` through `new` and `level`: another kind of control, another process."""
        return not self._limits or self._limits == tc.limits

    def _position_lines(self, setup: Setup) -> list[bytes]:
        board = start_board(setup.position)
        lines = []
        if setup.position.fen is not None:
            if self.features.on("setboard"):
                lines.append(f"setboard {board.fen()}".encode("ascii"))
            else:
                lines += edit_lines(board)
        for text in setup.position.moves:
            move = board.parse_uci(text)
            told = board.san(move) if self.features.on("san") else text
            self._sent = frozenset({text, told})
            lines.append(self._move_line(told))
            board.push(move)
        return lines

    def _move_line(self, text: str) -> bytes:
        return f"usermove {text}".encode("ascii") if self.features.on("usermove") else text.encode("ascii")

    def approach(self, ask: Ask) -> Script:
        """All lines of a turn but the one that sets it thinking."""
        if self.fence == "wait" and self._can_ping():
            yield from self.fenced(self.ready_ns // 2)
        *ahead, last = self._turn_lines(ask)
        yield from self.say(*ahead)
        yield from self.breathe()
        self._rest = last

    def go_lines(self, ask: Ask) -> bytes:
        """`time`, `otim`, then the move; `go` at its first move of the game."""
        lines = self._turn_lines(ask) if self._rest is None else [self._rest]
        self._rest, self._held, self._by_number = None, None, ""
        self._force = False
        return b"".join(line + b"\n" for line in lines)

    def _turn_lines(self, ask: Ask) -> list[bytes]:
        lines = []
        # Two surveyed engines take `time` for a clock and forget `st`, so a fixed time stands alone.
        by_st = ask.tc.movetime_ms is not None and self.spec.quirks.movetime == "st"
        if self.features.on("time", default=True) and not by_st:
            own, other = self._told_ms(ask)
            lines += [f"time {max(1, own // 10)}".encode("ascii"), f"otim {max(1, other // 10)}".encode("ascii")]
        position = ask.position
        if not self._force or len(position.moves) > ask.opening_plies:
            told = position.last_san if self.features.on("san") else position.moves[-1]
            self._sent = frozenset({position.moves[-1], told})
            lines.append(self._move_line(told))
        if self._force:
            lines.append(b"go")
        return lines

    @staticmethod
    def _told_ms(ask: Ask) -> tuple[int, int]:
        own = ask.own_ms if ask.own_ms is not None else ask.tc.movetime_ms or UNLIMITED_MS
        return own, ask.other_ms if ask.other_ms is not None else own

    def game_over(self, result: str, why: str) -> bytes:
        """`result`; an engine that knows no such command says so, which is noise."""
        return f"result {result} {{{why}}}\n".encode("ascii", "replace")

    # Fences.

    def _can_ping(self) -> bool:
        return self.features.on("ping")

    def _ping(self) -> bytes:
        if not self._can_ping():
            return b""
        self._pings += 1
        return f"ping {self._pings}".encode("ascii")

    def _stop(self) -> bytes:
        return b"?"

    def _question_lines(self) -> tuple[bytes, ...]:
        return (self._ping(),)

    def aside(self, said: Said) -> None:
        """While a position is being set, an error about it means that it cannot be told."""
        if said.what is What.REFUSED_MOVE:
            raise Unsupported(f"refuses the opening: {printable(said.text)}")
        if self._placing and said.what is What.REFUSED_POSITION:
            raise Unsupported(f"cannot set position: {printable(said.text)}")

    # Listening.

    @property
    def due_ns(self) -> int | None:
        """When a held numbered move becomes the answer."""
        return self._held_until if self._held is not None else super().due_ns

    def thought(self, text: bytes, *, white: bool) -> Thought:
        """Scores are from the engine's side, unless `whitepov` says otherwise."""
        thought = cecp_lines.last_thought(text)
        return thought.turned() if self.spec.quirks.whitepov and not white else thought

    def _heard(self) -> Said | None:
        while (found := self._next_line()) is not None:
            before, raw = found
            if self.thinking:
                self.search_text = (self.search_text + before)[-KEPT:]
            line = plain(raw)
            said = self._read(line) if line else None
            if said is not None:
                return said
        if not self.thinking:
            self.intake.drop_lines()
        elif self._held is not None and (time.monotonic_ns() >= self._held_until or self._ended):
            return self.overdue()
        return None

    def overdue(self) -> Said | None:
        """A numbered move that nothing has followed is the answer, stamped when it came."""
        if self._held is None:
            return None
        self._by_number = self._held.text
        self.note("numbered-moves", "announces moves by their number only")
        return self._answer(self._held)

    def _next_line(self) -> tuple[bytes, bytes] | None:
        if self.ready:
            return self.intake.match(cecp_lines.TELLING)
        line = self.intake.line()
        return None if line is None else (b"", line)

    def _read(self, line: str) -> Said | None:
        stamp = self.stamp_ns
        word = line.split(None, 1)[0].lower()
        if word == "feature":
            return self._feature(line)
        if word == "pong":
            return self._pong(line)
        if line[0] == "#" or word.startswith(("tellics", "tellall", "telluser", "tellopponent", "tellothers")):
            if word == "tellusererror":
                self.note("tellusererror", printable(line))
                return Said(What.REFUSED_POSITION, line, stamp)
            return None
        announced = cecp_lines.read_move(line)
        if announced is not None:
            return self._announced(announced[0], numbered=announced[1])
        result = cecp_lines.read_result(line)
        if result:
            return Said(What.ABORT if result == "*" else What.RESULT, line if result == "*" else result, stamp)
        if word == "resign" or word == "resigns":
            return Said(What.RESIGN, line, stamp)
        if line.lower().startswith("offer draw"):
            return Said(What.OFFER, line, stamp)
        return self._refusal(line)

    def _feature(self, line: str) -> Said:
        accepted, unknown = self.features.read(line.split(None, 1)[1] if " " in line else "")
        # Engines that lose lines which come together get no replies: none of them waits for any.
        if not self.spec.quirks.line_delay_ms and (accepted or unknown):
            replies = [f"accepted {name}\n" for name in accepted] + [f"rejected {name}\n" for name in unknown]
            self.process.write("".join(replies).encode("ascii"))
        self._take_features()
        for name in unknown:
            self.note("unknown-feature", f"declares feature {printable(name)!r}, which nobody knows")
        if "done" in accepted:
            return Said(What.HELLO if self.features.on("done") else What.WAIT)
        return Said(What.FEATURE)

    def _pong(self, line: str) -> Said | None:
        if line.split()[-1] != str(self._pings):
            return None
        if self._pongs == self._pings:
            self._twice = True
            return None
        self._pongs = self._pings
        return Said(What.PONG, stamp_ns=self.stamp_ns)

    def _announced(self, text: str, *, numbered: bool) -> Said | None:
        if numbered:
            if not self.thinking or self._plain_form or text in self._sent:
                return None  # an echo
            self._held = Said(What.ANSWER, text, self.stamp_ns)
            self._held_until = self.stamp_ns + HELD_NS
            return None
        self._plain_form = True
        if not self.thinking:
            again = text == self._by_number
            self._by_number = ""
            return None if again else Said(What.STALE, text, self.stamp_ns)
        first = self._held
        return self._answer(
            first if first is not None and first.text == text else Said(What.ANSWER, text, self.stamp_ns)
        )

    def _answer(self, said: Said) -> Said:
        self._held = None
        self.answers += 1
        return said

    def _refusal(self, line: str) -> Said | None:
        text = cecp_lines.read_refusal(line)
        if text is None:
            return Said(What.REFUSED_POSITION, line) if line.lower().startswith("illegal position") else None
        blamed = text.split(None, 1)[0].removeprefix("usermove") if text else ""
        blamed = blamed or (text.split()[1] if len(text.split()) > 1 else "")
        if blamed in self._sent:
            return Said(What.REFUSED_MOVE, line, self.stamp_ns)
        if text.startswith(("setboard", "edit")) or "position" in line.lower():
            return Said(What.REFUSED_POSITION, line, self.stamp_ns)
        if blamed and blamed not in _COURTESIES:  # nothing blamed: an empty line that was to wake it
            self.note("unsupported", f"says {printable(line)!r}")
        return Said(What.REFUSED, text, self.stamp_ns)
