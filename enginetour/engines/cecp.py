"""CECP engines (WinBoard protocol 1 and 2): handshake, time controls, positions, searches and fences."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import chess

from enginetour.engines import protocol
from enginetour.engines.cecp_lines import CecpListener, Features
from enginetour.engines.position import Position, castling, read_move, san_of, written
from enginetour.engines.protocol import MS, POKE_NS, Ask, Hearing, Script, Setup
from enginetour.engines.sandbox import expand_scratch
from enginetour.engines.starting import Launch
from enginetour.engines.wire import Message, MessageKind, escape_text
from enginetour.model.errors import EngineStalled, InexpressiblePosition, StartFailed, Unsupported
from enginetour.model.task import EngineSpec, Quirks
from enginetour.model.timecontrol import Stage, TimeControl, seconds_text
from enginetour.model.variants import STANDARD, VARIANTS
from enginetour.openings.positions import is_editable

# Lines before a game: memory, time controls, positions (protocol spec: "level", "st", "edit").

# Minutes that are sent if only a depth limits a search: more than the hang limit, so that the depth ends the search.
_UNLIMITED_MIN = 60
_UNLIMITED_MS = _UNLIMITED_MIN * 60_000
# Options of an engine file that stand for a feature if the engine does not declare an option with this name.
_WISHES = {"memory": "memory", "hash": "memory", "cores": "smp", "threads": "smp"}
_COMMANDS = {"memory": "memory", "smp": "cores"}


def feature_wishes(
    spec: EngineSpec, features: Features
) -> tuple[tuple[tuple[str, str], ...], list[bytes], tuple[str, ...]]:
    """Split the options of `spec` into CECP options and the commands `memory` and `cores`.

    Return the CECP options, the lines of these commands, and a sentence for each option that cannot be set. Every
    engine has one core, so `cores 1` is sent only to engines that declare smp and do not have the quirk no_cores.
    """
    wanted: list[tuple[str, str]] = []
    lines: list[bytes] = []
    problems: list[str] = []
    for name, value in spec.options:
        feature = _WISHES.get(name.casefold())
        if feature is None or name.casefold() in features.options:
            wanted.append((name, value))
        elif not (value.isascii() and value.isdigit() and int(value) > 0):
            problems.append(f"option {name!r} must be a whole number above 0 (found {value!r})")
        elif feature == "smp" and (spec.quirks.no_cores or (value == "1" and not features.on("smp"))):
            continue
        elif not features.on(feature):
            if name.casefold() in spec.optional:
                continue
            problems.append(f"unknown option {name!r}: the engine declares neither such an option nor {feature}=1")
        else:
            lines.append(f"{_COMMANDS[feature]} {int(value)}".encode("ascii"))
    return tuple(wanted), lines, tuple(problems)


def feature_options(features: Mapping[str, str]) -> frozenset[str]:
    """Return the names, in lower case, of options that are set by a command, given the values of the features."""
    return frozenset(name for name, feature in _WISHES.items() if features.get(feature, "0") not in ("0", ""))


def table_paths(spec: EngineSpec, features: Features) -> list[bytes]:
    """Return the lines ``egtpath syzygy PATH`` if the engine declares Syzygy tables (protocol spec: "egt", "egtpath").

    Otherwise, the list is empty.
    """
    kinds = {kind.strip().casefold() for kind in features.values.get("egt", "").split(",")}
    if "syzygy" not in kinds:
        return []
    return [f"egtpath syzygy {path}".encode() for name, path in spec.offered if name == "SyzygyPath"]


def time_lines(tc: TimeControl, quirks: Quirks, *, nps: bool) -> list[bytes]:
    """Return the lines `level` or `st`, with `sd` or `nps`, for a time control.

    `nps` is whether the engine declares the feature nps. Raise Unsupported if the lines cannot express `tc`.
    """
    if tc.nodes is not None:
        if not nps or tc.stages or tc.movetime_ms is not None:
            why = "in CECP, nodes requires the feature nps and cannot be combined with a time"
            raise Unsupported(f"does not support the search limit nodes: {why}")
        lines = [f"nps {tc.nodes}".encode("ascii"), b"st 1"]
    elif tc.movetime_ms is not None:
        lines = [_movetime_line(tc.movetime_ms, quirks)]
    elif tc.stages:
        lines = [_level(tc.stage(0))]
    else:
        lines = [f"level 0 {_UNLIMITED_MIN} 0".encode("ascii")]
    return lines + _depth(tc)


def _depth(tc: TimeControl) -> list[bytes]:
    return [] if tc.depth is None else [f"sd {tc.depth}".encode("ascii")]


def _movetime_line(ms: int, quirks: Quirks) -> bytes:
    if quirks.movetime == "level":
        # The increment is the time of a move. The base must be at least a second, but the `time` before each move is
        # the exact time.
        return f"level 0 0:01 {seconds_text(ms)}".encode("ascii")
    if quirks.st_fraction:
        return f"st {seconds_text(ms)}".encode("ascii")
    if ms % 1000:
        raise Unsupported(
            f"does not support movetime={seconds_text(ms)}: st accepts whole seconds only "
            '(or set movetime = "level" under [quirks])'
        )
    return f"st {ms // 1000}".encode("ascii")


def _level(stage: Stage) -> bytes:
    """Return the `level` line of a stage. `stage.moves` may include moves of the opening and of earlier stages."""
    minutes, seconds = divmod(max(1, stage.base_ms // 1000), 60)
    base = f"{minutes}:{seconds:02d}" if seconds else f"{minutes}"
    return f"level {stage.moves} {base} {seconds_text(stage.increment_ms)}".encode("ascii")


def stage_lines(known: Stage, tc: TimeControl, stage: int, made: int, to_go: int) -> tuple[Stage, list[bytes]]:
    """Return the stage that the engine must have, and the lines that set it if the last `level` does not fit.

    Engines count all moves of the game, also moves sent in force mode, and expect more time after each multiple of the
    `moves` in the last `level` (six of the seven surveyed engines). They use up their time for the moves before that.

    Args:
        known: the stage in the last `level`.
        tc: the time control of the engine.
        stage: the current stage of the time control, from 0.
        made: moves that the engine has counted.
        to_go: moves until the end of the stage; 0 if it lasts until the end of the game.
    """
    new = tc.stage(stage)
    end = made + to_go if to_go else 0
    if _end(known, made) == end and replace(known, moves=new.moves) == new:
        return known, []
    meant = new if _end(new, made) == end else replace(new, moves=end)
    return meant, [_level(meant), *_depth(tc)]


def _end(stage: Stage, made: int) -> int:
    """Return the number of the move after which an engine with this `stage` expects more time; 0 if it does not."""
    return (made // stage.moves + 1) * stage.moves if stage.moves else 0


def edit_lines(board: chess.Board, white_move: bytes) -> list[bytes]:
    """Return the lines that set a position in an engine without setboard, in force mode right after `new`.

    `edit` cannot express the side to move; if Black is to move, the line `white_move` is sent first. `edit` cannot
    express the fifty-move counter either, but enginetour counts these moves and ends the game. Raise
    InexpressiblePosition if an engine would derive other castling rights or another en passant square from the pieces.
    """
    if not is_editable(board):
        raise InexpressiblePosition(
            f"the command edit cannot express the castling rights or the en passant square of {board.fen()}, "
            "and the engine does not support setboard"
        )
    lines = [white_move] if board.turn == chess.BLACK else []
    lines += [b"edit", b"#"]
    for color in chess.COLORS:
        if color == chess.BLACK:
            lines.append(b"c")
        for square, piece in sorted(board.piece_map().items()):
            if piece.color == color:
                lines.append(f"{piece.symbol().upper()}{chess.square_name(square)}".encode("ascii"))
    lines.append(b".")
    return lines


# CECP engines, WinBoard protocol 1 and 2 (protocol spec of XBoard 4.9; runner spec section 7).

SILENT_NS = 2_000 * MS  # without a feature line for this time, protocol 1 is assumed (runner spec 7)
_NO_STAGE = Stage(0, 0)
# Messages that can decide a game at any time.
_DECISIVE = frozenset(
    {MessageKind.RESIGN, MessageKind.RESULT, MessageKind.ABORT, MessageKind.REFUSED_MOVE, MessageKind.OFFER}
)


class CecpEngine(CecpListener):
    """One CECP engine. In each game it gets one `go`, and then it is not in force mode for the rest of the game."""

    def __init__(self, spec: EngineSpec, launch: Launch | None = None) -> None:
        super().__init__(spec, launch)
        self._limits: frozenset[str] = frozenset()  # limits of the games so far; empty before the first game
        self._setup: Setup | None = None  # the setup of its last game
        self._ask: Ask | None = None  # its last search request
        self._asked_ns = 0
        # whether the position was sent again in this game, after a late move that was not recognized as out of turn
        self._was_set_right = False
        self._force = True
        self._told = 0  # number of plies sent in force mode
        self._stage = _NO_STAGE  # the stage that was sent last; its `moves` are counted from the start of the game
        self._first_number = 1  # move number of the position that was sent
        self._rest: bytes | None = None  # the last line of a turn, if the other lines have already been sent
        self._later: list[Message] = []  # messages that arrived at a fence and may decide the game

    # Start.

    def handshake(self) -> Script:
        """Send `xboard` and `protover 2`, and accept features until done=1 or until the time limit.

        If an engine sends nothing for two seconds, and is not known to send features, it is asked for a move. If it
        moves without having sent features, it is an engine of protocol 1. No clock runs during the handshake.
        """
        limit = self.handshake_deadline
        self.discard()
        if pause := self.spec.quirks.protover_delay_ms * MS:  # the engine loses unread lines while it starts
            yield from self.send_lines(b"xboard")
            yield from self.keep_messages(self._last_write_ns + pause)
            yield from self.send_lines(b"protover 2")
        else:
            yield from self.send_lines(b"xboard", b"protover 2")
        self.awaited = ("its features", "handshake_timeout")
        until = limit if self.spec.quirks.tells_features else min(limit, time.monotonic_ns() + SILENT_NS)
        while (message := (yield from self._hear_features(until))) is None or message.kind is not MessageKind.HELLO:
            if message is None and until < limit and not self.features.values:
                until = limit
                yield from self._test_single_lines(most_empty=1)
                if not self.reads_single_lines:
                    yield from self._ask_for_a_move()
                    continue
            if message is None:
                if until < limit:
                    break
                yield from self.start_timeout("done=1" if self.features.values else "feature line")
            elif message.kind is MessageKind.ANSWER:
                self._judge_trial(message)
                if not self.features.values:
                    self.note("no-features", "sent a move but no feature line; protocol 1 is assumed")
                    break
            elif message.kind is MessageKind.WAIT:
                until = limit
            elif message.kind is MessageKind.FEATURE and "done" not in self.features.values:
                until = min(limit, time.monotonic_ns() + SILENT_NS)
        while self.thinking:
            message = yield from self.receive_poked(limit)
            if message is None:
                yield from self.start_timeout("move")
            elif message.kind is MessageKind.ANSWER:
                self._judge_trial(message)
        self.awaited = None
        yield from self._set_options()
        self.ready = True

    def _ask_for_a_move(self) -> Script:
        """Ask for a move in the start position, with one second on the clock."""
        self.awaited = ("its features or a move", "handshake_timeout")
        self.searches += 1
        yield from self.send_lines(b"new", b"level 0 0:01 0", b"go")

    @staticmethod
    def _judge_trial(message: Message) -> None:
        if read_move(chess.Board(), message.text)[0] is None:
            raise StartFailed(f"its first move is illegal: {escape_text(message.text)!r}", category="unsupported")

    @property
    def lost_input(self) -> bool:
        """Return whether the engine has not sent its features, although it is known to send them."""
        return self.spec.quirks.tells_features and not self.features.values

    def _hear_features(self, deadline: int) -> Hearing:
        """Return the next message, or None at the deadline.

        Until the first feature, send `protover 2` again to an engine that may have lost it.
        """
        while self.spec.quirks.protover_delay_ms and not self.features.values:
            again = self._last_write_ns + POKE_NS
            if again >= deadline:
                break
            message = yield from self.receive(again)
            if message is not None:
                return message
            self._last_write_ns = self.process.write(b"protover 2\n")
        return (yield from self.receive_poked(deadline))

    def _set_options(self) -> Script:
        wanted, lines, problems = feature_wishes(self.spec, self.features)
        lines += table_paths(self.spec, self.features)
        for option, text in self._checked_settings(wanted, problems):
            is_check = option.kind == "check"
            value = {"true": "1", "false": "0"}[text] if is_check else expand_scratch(text, self.process.scratch)
            pressed = option.kind in protocol.PRESSED
            lines.append((f"option {option.name}" if pressed else f"option {option.name}={value}").encode("ascii"))
        yield from self._settle_options(lines, "features")

    # A game.

    def new_game(self, setup: Setup) -> Script:
        """Send `new`, `force`, the time control, the position, the moves of the opening, and a fence."""
        self._refuse_limits(setup.tc)
        self._limits = setup.tc.limits
        self._setup, self._rest, self._later = setup, None, []
        self._forget(())
        yield from self.fenced(self.ready_ns, *self._new_lines(setup))
        lines = self._position_lines(setup.position)
        if lines:
            yield from self._placed(self.ready_ns, lines)
        self._told = len(setup.position.moves)
        self._is_astray = self._was_set_right = False
        self.games += 1

    def _new_lines(self, setup: Setup) -> list[bytes]:
        """Return the lines that start a new game in force mode, without the lines of its position."""
        self._force = True
        self._stage = setup.tc.stage(0) if setup.tc.stages else _NO_STAGE
        lines = [b"new", *self.variant_lines(setup.position.variant), b"force"]
        lines += [*time_lines(setup.tc, self.spec.quirks, nps=self.features.on("nps"))]
        lines += [b"post", b"hard" if self.spec.ponder else b"easy"]
        if not self.spec.quirks.no_computer:
            lines.append(b"computer")
        if self.features.on("name"):
            lines.append(f"name {setup.opponent_ascii}".encode("ascii"))
        return lines

    def _placed(self, limit_ns: int, lines: Sequence[bytes]) -> Script:
        """Send lines that set a position, and a fence. Raise Unsupported if the engine rejects the position."""
        self._placing = True
        try:
            yield from self.fenced(limit_ns, *lines)
        finally:
            self._placing = False

    def variant_lines(self, name: str) -> list[bytes]:
        """Return the `variant` line, or no line for standard chess, which each `new` sets (protocol spec, "new")."""
        if name == STANDARD:
            return []
        declared = [word.strip().casefold() for word in self.features.values.get("variants", "").split(",")]
        word = next((word for word in VARIANTS[name].cecp if word in declared), None)
        if word is None:
            raise Unsupported(f"does not declare {name} in its feature variants")
        return [f"variant {word}".encode("ascii")]

    def supports(self, tc: TimeControl) -> bool:
        """Return whether `tc` has the same kinds of limits as the earlier games of this process.

        Several engines keep the limits of `st` and `sd` after `new` and `level`, so other kinds need a new process.
        """
        return not self._limits or self._limits == tc.limits

    def _position_lines(self, position: Position, since: int = 0, *, by_setboard: bool = False) -> list[bytes]:
        """Return the lines that set the position after `since` plies, and the lines of the later moves."""
        board = position.back(len(position.moves) - since)
        self._first_number = board.fullmove_number
        if self._stage.moves:  # some engines count from the move number in the position, others from 1: send 1
            board.fullmove_number = 1
        lines = []
        if position.fen is not None or by_setboard:
            if self.features.on("setboard"):
                lines.append(f"setboard {board.fen()}".encode("ascii"))
            elif position.variant != STANDARD:
                raise InexpressiblePosition(
                    f"cannot set the start position of a game of {position.variant}: it does not support setboard"
                )
            else:
                lines += edit_lines(board, self._move_line("a3" if self.features.on("san") else "a2a3"))
        forms: list[str] = []
        for text in position.moves[since:]:
            move = board.parse_uci(text)
            form = self._form(board, move)
            forms += (text, form)
            lines.append(self._move_line(form))
            board.push(move)
        self._forget(forms)
        return lines

    def _form(self, board: chess.Board, move: chess.Move) -> str:
        """Return a legal move in the form that this engine reads; castling is O-O or O-O-O in Chess960."""
        if self.features.on("san"):
            return san_of(board, move)
        letters = board.chess960 and not self.spec.quirks.rook_castling
        return (castling(board, move) if letters else "") or move.uci()

    def _news(self, position: Position) -> list[tuple[str, str]]:
        """Return the moves that were not sent yet, each as UCI and in the form that this engine reads."""
        count = 1 if not self._force else len(position.moves) - self._told
        if count == 1:
            text, letters = position.moves[-1], "" if self.spec.quirks.rook_castling else position.castled
            return [(text, position.last_san if self.features.on("san") else letters or text)]
        board, forms = position.back(count), []
        for text in position.moves[len(position.moves) - count :]:
            move = written(text)
            forms.append((text, self._form(board, move)))
            board.push(move)
        return forms

    def _move_line(self, text: str) -> bytes:
        return f"usermove {text}".encode("ascii") if self.features.on("usermove") else text.encode("ascii")

    def discard(self) -> tuple[Message, ...]:
        """Read the output that waits before a search; return the messages since the last search that may decide."""
        later, self._later = self._later, []
        return (*later, *super().discard())

    def approach(self, ask: Ask) -> Script:
        """Send all lines of a turn except the one that starts the search."""
        if self.fence == "wait" and self._can_ping():
            yield from self.fenced(self.game_fence_ns)
        earlier = self.discard()
        if self._is_astray:
            yield from self._set_again(ask.position)
        *ahead, last = self._turn_lines(ask)
        yield from self.send_lines(*ahead)
        yield from self.pause_before_line()
        # A move that arrives right after the pong does not belong to the next search.
        self._unheard.extend((*earlier, *self.discard()))
        self._rest = last

    def _set_again(self, position: Position) -> Script:
        """Send the position again, because the engine has moved out of turn. Raise EngineStalled if it is rejected."""
        assert self._setup is not None
        self._force, self._told = True, len(position.moves)
        if self.features.on("setboard"):
            self._stage = _NO_STAGE  # the engine counts the moves of its session from here
            lines = [b"force", *self._position_lines(position, position.anchor, by_setboard=True)]
        else:
            lines = [*self._new_lines(self._setup), *self._position_lines(position)]
        try:
            yield from self._placed(self.game_fence_ns, lines)
        except Unsupported as fault:
            raise EngineStalled(f"moved out of turn, and its position cannot be set again: {fault.detail}") from fault
        self._is_astray = False

    def question(self, deadline: int) -> Hearing:
        """Ask again before an answer counts as illegal; return a second answer, or None.

        If the engine rejects the last move that was sent, it has moved out of turn before, and its answer did not
        belong to this search. Once per game, the position is sent again and the search is repeated; its clock runs on.
        """
        refused: list[Message] = []
        second = yield from self._asked_again(deadline, refused)
        ask = self._ask
        if second is not None or not refused or ask is None or self._was_set_right:
            return second
        self._was_set_right, self.fence = True, "wait"
        self.stale += 1
        self.note(
            "out-of-turn",
            f"moved out of turn and rejected {escape_text(refused[0].text)!r}; the position was sent again",
        )
        yield from self._set_again(ask.position)
        self.searches += 1
        used_ms = (time.monotonic_ns() - self._asked_ns) // MS
        own_ms = None if ask.own_ms is None else max(1, ask.own_ms - used_ms)
        self.process.write(self.go_lines(ask._replace(own_ms=own_ms)))
        while (message := (yield from self.receive(deadline))) is not None and message.kind is not MessageKind.ANSWER:
            pass
        return message

    def go_lines(self, ask: Ask) -> bytes:
        """Return the lines `time`, `otim` and the move. Add `go` before the engine's first move of the game."""
        lines = self._turn_lines(ask) if self._rest is None else [self._rest]
        if self.fence == "inline" and self._can_ping():
            lines.insert(0, self._ping())
        self._rest, self._ask, self._asked_ns = None, ask, time.monotonic_ns()
        self._force = self._parted = False
        self._listen()
        return b"".join(line + b"\n" for line in lines)

    def _turn_lines(self, ask: Ask) -> list[bytes]:
        lines: list[bytes] = []
        if ask.moves_to_go or self._stage.moves:
            made = ask.position.board.fullmove_number - self._first_number
            self._stage, lines = stage_lines(self._stage, ask.tc, ask.stage, made, ask.moves_to_go)
        # Two surveyed engines use `time` as a clock and ignore an earlier `st`, so `st` is sent without `time`.
        by_st = ask.tc.movetime_ms is not None and self.spec.quirks.movetime == "st"
        if self.features.on("time", default=True) and not by_st:
            own = ask.own_ms if ask.own_ms is not None else ask.tc.movetime_ms or _UNLIMITED_MS
            other = ask.other_ms if ask.other_ms is not None else own
            lines += [f"time {max(1, own // 10)}".encode("ascii"), f"otim {max(1, other // 10)}".encode("ascii")]
        # `draw` is sent only if it is declared, because one surveyed engine moves at once after it
        if ask.draw_offered and self.features.on("draw"):
            lines.append(b"draw")
        news = self._news(ask.position)
        if news:
            self._sent = frozenset(form for forms in news for form in forms)
            lines += [self._move_line(form) for _, form in news]
        if self._force:
            lines.append(b"go")
        return lines

    def game_over(self, result: str, why: str) -> tuple[bytes, ...]:
        """Return the line `result`; if the engine ponders, add `easy`, as two surveyed engines ponder for hours."""
        line = f"result {result} {{{why}}}".encode("ascii", "replace")
        return (line, b"easy") if self.spec.ponder else (line,)

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

    def _two_lines(self) -> tuple[bytes, bytes]:
        if self._can_ping():
            return self._ping(), self._ping()
        return b"protover 2", b"protover 2"

    def _question_lines(self) -> tuple[bytes, ...]:
        return (self._ping(),)

    def process_aside(self, message: Message) -> None:
        """Process a message at a fence. During a game, store it if it may decide the game.

        Before a game, raise Unsupported if the engine rejects the opening or cannot set the position.
        """
        if not self._force:
            if message.kind in _DECISIVE and len(self._later) < len(_DECISIVE):
                self._later.append(message)
            return
        if message.kind is MessageKind.REFUSED_MOVE:
            raise Unsupported(f"rejects the opening: {escape_text(message.text)}")
        if self._placing and message.kind is MessageKind.REFUSED_POSITION:
            raise Unsupported(f"cannot set the position: {escape_text(message.text)}")
