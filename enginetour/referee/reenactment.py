"""Replay an incident: play a game in which an engine crashed or stalled again, for that engine alone.

The stored engine log is incomplete, so it is not used. Handshake, options, new game, every position and every clock are
computed again from the moves of the game, and sent with the same adapters. In each earlier search the engine thinks as
long as in the original game, and is stopped if it takes longer. Its answers to these searches are ignored, and the
recorded moves are played.
"""

from __future__ import annotations

import time
from typing import Any

import chess

from enginetour.engines.position import Position, read_move
from enginetour.engines.process import kill_running_engines
from enginetour.engines.protocol import MS, OWED_NS, Engine, Hearing, Setup
from enginetour.engines.wire import Message, MessageKind, escape_text
from enginetour.model.errors import EngineCrashed, EngineFault, EngineStalled, StartFailed, Unsupported
from enginetour.model.task import ReenactResult, ReenactTask
from enginetour.referee.clock import Clock
from enginetour.referee.link import Link
from enginetour.referee.startup import Seat, end_engines, search_request, start_fault
from enginetour.referee.talk import open_engine, run_scripts, wait_for_stop
from enginetour.referee.verdict import by_message

_STOP = {"uci": b"stop", "cecp": b"?"}


def reenact(task: ReenactTask, link: Link) -> ReenactResult:
    """Replay a game for one engine. All engine processes are ended afterwards.

    Raises MachineFailure if a stop is requested.
    """
    return _Reenactment(task, link).run()


class _Reenactment:
    def __init__(self, task: ReenactTask, link: Link) -> None:
        game = task.game
        self._task, self._link = task, link
        self._position = Position(game.opening.fen, game.opening.variant)
        self._white, self._black = Seat(game.white, game.rules, white=True), Seat(game.black, game.rules, white=False)
        self._own = self._white if task.white else self._black
        self._other = self._black if task.white else self._white
        for text in game.opening.moves:
            self._position.push(chess.Move.from_uci(text))
        self._moves = task.moves

    def run(self) -> ReenactResult:
        try:
            engine = open_engine(self._own.side.spec)
        except StartFailed as fault:
            return ReenactResult(fault.category, fault.detail)
        self._own.sit(engine)
        try:
            if self._task.last_only:
                self._go_to_the_end()
            found = self._begun(engine) or self._played(engine)
        except BaseException:
            kill_running_engines()
            raise
        if found.category:
            engine.kill()
        else:
            end_engines([engine])
        return found

    def _begun(self, engine: Engine) -> ReenactResult | None:
        fault = self._talk(engine, engine.handshake())
        if fault is None:
            setup = Setup(self._position, self._own.side.tc, self._other.name)
            fault = self._talk(engine, engine.new_game(setup))
        if fault is None:
            return None
        fault = start_fault(fault) if not isinstance(fault, Unsupported) else fault
        return ReenactResult(fault.category, fault.detail, status=engine.process.exit_status())

    def _talk(self, engine: Engine, script: Any) -> EngineFault | None:
        result = run_scripts({engine: script}, self._link)[engine]
        return result if isinstance(result, EngineFault) else None

    def _played(self, engine: Engine) -> ReenactResult:
        for uci, elapsed_ms in self._moves:
            if elapsed_ms is None:
                self._push(uci, None)
                continue
            until = time.monotonic_ns() + int(elapsed_ms * MS / self._task.speed)
            if self._is_own_turn():
                found = self._earlier(engine, until, uci)
                if found is not None:
                    return found
            wait_for_stop(self._link, until)
            self._push(uci, elapsed_ms)
        return self._last(engine) if self._is_own_turn() else self._afterwards(engine)

    def _go_to_the_end(self) -> None:
        """Make all earlier moves part of the start position. The clocks show the same times as in the game."""
        own_last = (len(self._moves) % 2 == 0) != self._is_own_turn()
        moves, self._moves = self._moves, self._moves[-1:] if own_last else ()
        for uci, elapsed_ms in moves[: len(moves) - len(self._moves)]:
            self._push(uci, elapsed_ms)

    def _push(self, uci: str, elapsed_ms: int | None) -> None:
        seat, other = (self._own, self._other) if self._is_own_turn() else (self._other, self._own)
        if elapsed_ms is not None:
            seat.clock.charge(elapsed_ms * MS, other.clock)
        self._position.push(chess.Move.from_uci(uci))

    def _is_own_turn(self) -> bool:
        return (self._position.board.turn == chess.WHITE) == self._own.white

    def _earlier(self, engine: Engine, until: int, uci: str) -> ReenactResult | None:
        """Repeat an earlier search in the same time. Return the result if the engine fails now, otherwise None."""
        answer = self._asked(engine, max(MS, until - time.monotonic_ns())) or self._stopped(engine)
        if answer is None:
            return self._result("time", "no answer in an earlier search, not even after stop", engine)
        if isinstance(answer, ReenactResult):
            return answer
        if isinstance(answer, EngineFault):
            return self._fault(answer, engine)
        move, _ = read_move(self._position.board, answer.text, lenient_promotion=True)
        if engine.spec.protocol == "cecp" and (move is None or move.uci() != uci):
            # The engine has made this move on its own board, so the recorded game cannot be continued.
            other = "another move" if move is None else move.uci()
            return self._result(
                "other-way", f"plays {other} instead of {uci} (use --last-search to skip earlier searches)", engine
            )
        return None

    def _stopped(self, engine: Engine) -> Message | EngineFault | ReenactResult | None:
        """Stop the search and return the answer, or None. Afterwards, `engine.spoiled` is set if a ping failed."""

        def script() -> Hearing:
            yield from engine.send_lines(_STOP[engine.spec.protocol])
            message = yield from self._heard(engine, time.monotonic_ns() + OWED_NS)
            if message is not None and message.kind is MessageKind.ANSWER:
                yield from engine.settle()
            return message

        return self._answered(engine, script())

    def _last(self, engine: Engine) -> ReenactResult:
        clock: Clock = self._own.clock
        answer = self._asked(engine, clock.wait_ns())
        if isinstance(answer, ReenactResult):
            return answer
        if isinstance(answer, EngineFault):
            return self._fault(answer, engine)
        limit = clock.hang_limit_text or f"{clock.limit_ms} ms and a time margin of {clock.margin_ms} ms"
        if answer is None:
            return self._result("time", f"no answer within {limit}", engine)
        elapsed_ns = answer.stamp_ns - self._own.asked_ns
        ms = elapsed_ns // MS
        if elapsed_ns >= clock.flag_ns():
            return self._result("time", f"answered after {ms} ms; allowed: {limit}", engine, ms)
        lenient = engine.spec.quirks.lenient_promotion
        move, _ = read_move(self._position.board, answer.text, lenient_promotion=lenient)
        text = escape_text(answer.text)
        if move is None:
            return self._result("illegal-move", f"plays the illegal move {text!r} after {ms} ms", engine, ms, text)
        plays = self._result("", f"plays {move.uci()} after {ms} ms; allowed: {limit}", engine, ms, move.uci())
        if engine.spec.protocol == "uci":
            return plays
        found = self._afterwards(engine)  # a claim that was sent with the move in the game may now arrive later
        return found if found.category else plays

    def _afterwards(self, engine: Engine) -> ReenactResult:
        if (found := self._decided(engine)) is not None:
            return found

        def script() -> Hearing:
            deadline = time.monotonic_ns() + OWED_NS
            while (message := (yield from engine.receive(deadline))) is not None:
                if by_message(self._own, message, thinking=False, aborts=0) is not None:
                    return message
            return None

        message = run_scripts({engine: script()}, self._link)[engine]
        if isinstance(message, EngineFault):
            return self._fault(message, engine)
        claimed = None if message is None else self._claimed(engine, message, thinking=False)
        return claimed or self._result("", "sends nothing after its move", engine)

    def _decided(self, engine: Engine) -> ReenactResult | None:
        """Return the result of a message that arrived after the last move of the engine."""
        for message in engine.discard():
            if (found := self._claimed(engine, message, thinking=False)) is not None:
                return found
        return None

    def _asked(self, engine: Engine, patience_ns: int) -> Message | EngineFault | ReenactResult | None:
        if (found := self._decided(engine)) is not None:
            return found
        ask = search_request(self._position, self._own, self._other)
        if engine.needs_approach:
            fault = self._talk(engine, engine.approach(ask))
            if fault is not None:
                return fault
        self._own.searched = True
        return self._answered(engine, self._search(engine, ask, patience_ns))

    def _search(self, engine: Engine, ask: Any, patience_ns: int) -> Hearing:
        self._own.asked_ns = engine.go(ask)
        return (yield from self._heard(engine, self._own.asked_ns + patience_ns))

    def _heard(self, engine: Engine, deadline: int) -> Hearing:
        """Return the answer to a search, a message that ends the game before it, or None."""
        while (message := (yield from engine.receive(deadline))) is not None:
            if (
                message.kind is MessageKind.ANSWER
                or by_message(self._own, message, thinking=True, aborts=0) is not None
            ):
                return message
        return engine.held_back_answer()

    def _answered(self, engine: Engine, script: Hearing) -> Message | EngineFault | ReenactResult | None:
        found: Message | EngineFault | None = run_scripts({engine: script}, self._link)[engine]
        if isinstance(found, Message) and found.kind is not MessageKind.ANSWER:
            return self._claimed(engine, found, thinking=True)
        return found

    def _claimed(self, engine: Engine, message: Message, *, thinking: bool) -> ReenactResult | None:
        verdict = by_message(self._own, message, thinking=thinking, aborts=0)
        return None if verdict is None else self._result(verdict.category or "resign", verdict.cause, engine)

    def _fault(self, fault: EngineFault, engine: Engine) -> ReenactResult:
        if isinstance(fault, EngineCrashed):
            return self._result("crash", f"crashes: {fault.detail}", engine)
        category = "stall" if isinstance(fault, EngineStalled) else fault.category
        return self._result(category, fault.detail, engine)

    def _result(
        self, category: str, words: str, engine: Engine, ms: int | None = None, text: str = ""
    ) -> ReenactResult:
        return ReenactResult(category, words, engine.process.exit_status(), len(self._position.moves), ms, text)
