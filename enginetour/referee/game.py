"""Play one game between two engines: prepare them, play the opening, relay the plies, return the record."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

import chess

from enginetour.engines.machine import processor_count, processor_name
from enginetour.engines.pipes import escape_bytes
from enginetour.engines.position import Position
from enginetour.engines.starting import why_no_namespace
from enginetour.model.errors import InexpressiblePosition, InputRefused, MachineFailure
from enginetour.model.game import Game, Incident, Opening
from enginetour.model.task import GameTask, OwnBook
from enginetour.referee import verdict
from enginetour.referee.adjudication import End
from enginetour.referee.clock import Interruptions
from enginetour.referee.ends import RuleEnds, game_ends
from enginetour.referee.link import Link
from enginetour.referee.record import RawPly, Record
from enginetour.referee.relay import GameState, Relay
from enginetour.referee.startup import EnginePool, Seat, incident_of, prepare_engines
from enginetour.referee.talk import run_scripts
from enginetour.referee.verdict import Verdict

if TYPE_CHECKING:
    from enginetour.openings.polyglot import PolyglotBook


LONGEST_LINE = 4_096  # bytes of a line in an engine log; longer than the longest `position` line (runner spec 6)


def _play_opening(opening: Opening, position: Position, ends: RuleEnds, record: Record) -> None:
    """Play the moves of the opening. Raises ValueError if one of them ends the game."""
    for text in opening.moves:
        move = position.board.parse_uci(text)
        record.enter(RawPly(None))
        if ends.push(move) is not None:
            raise ValueError(f"opening {opening.name!r} ends the game at {text}")


class _OwnBooks:
    """Opening books of the two sides in one game. A side that has left its book does not use it again."""

    def __init__(self, seats: Sequence[Seat], position: Position, ends: RuleEnds, record: Record) -> None:
        self._position, self._ends, self._record = position, ends, record
        self._open = {seat.white: (seat, seat.side.own_book) for seat in seats if seat.side.own_book is not None}
        self._books: dict[str, PolyglotBook] = {}

    def play(self) -> tuple[bool, End | None]:
        """Play moves as long as the book of the side to move contains one.

        Return whether a move was played, and how the last move ended the game, or None if it did not. Raises
        MachineFailure if a book that was readable at the start of the run cannot be read now.
        """
        played = False
        while (found := self._open.get(self._position.board.turn)) is not None:
            seat, book = found
            move = self._move(book)
            if move is None:
                del self._open[self._position.board.turn]
                break
            self._record.enter(RawPly(seat, 0, seat.clock.rest_ms, book=True))
            played = True
            end = self._ends.answered(move, lambda: None)
            if end is not None:
                return True, end
        return played, None

    def _move(self, book: OwnBook) -> chess.Move | None:
        if len(self._position.moves) >= book.plies:
            return None
        if book.path not in self._books:
            try:
                from enginetour.openings.polyglot import PolyglotBook  # imported here for a faster start

                self._books[book.path] = PolyglotBook(Path(book.path))
            except InputRefused as refused:
                raise MachineFailure(f"opening book {book.path}: {refused.what}") from None
        return self._books[book.path].move(self._position.board, book.choice, book.seed, len(self._position.moves))

    def close(self) -> None:
        """Close the book files."""
        for book in self._books.values():
            book.close()


def play(task: GameTask, link: Link, pool: EnginePool) -> Game:
    """Play one game to its end and return it. A failure of an engine also ends the game and is returned as a Game.

    Raises MachineFailure if a stop is requested or this machine cannot start a process. Raises ValueError for an
    opening that cannot be played. In both cases the engines are killed first. If an engine's protocol cannot express
    the start position of the opening, the game uses the task's spare opening.
    """
    contest = GameRunner(task, link, pool)
    try:
        game = contest.play()
    except BaseException:
        for seat in contest.seats:
            if seat.present is not None:
                seat.present.kill()
        pool.sharing.leave()
        raise
    finally:
        contest.close()
    if game is not None:
        return game
    assert task.spare is not None
    return play(replace(task, opening=task.spare, spare=None), link, pool)


class GameRunner:
    """A game in progress: position, seats, record, and the relay of moves."""

    def __init__(self, task: GameTask, link: Link, pool: EnginePool) -> None:
        self._task = task
        self._link = link
        self._pool = pool
        self._started = time.time()
        self._position = Position(task.opening.fen, task.opening.variant)
        self._ends = game_ends(task, self._position)
        self.seats = Seat(task.white, task.rules, white=True), Seat(task.black, task.rules, white=False)
        self._record = Record(self._position, link, pool, task.keep_lines, watched=task.watched)
        self._own_books = _OwnBooks(self.seats, self._position, self._ends, self._record)
        self._halts = Interruptions()
        state = GameState(task, self._position, self._ends, self._record, self.seats, link, self._halts)
        self._relay = Relay(state, self._own_books.play)

    def close(self) -> None:
        """Close the files and release the resources of the game."""
        self._relay.close()  # closed first, because this ends the pinning to one processor
        self._record.release()
        self._own_books.close()
        self._halts.close()

    def play(self) -> Game | None:
        """Play the whole game and return its record, or None if it must be played with the task's spare opening."""
        _play_opening(self._task.opening, self._position, self._ends, self._record)
        faults = prepare_engines(self.seats, self._position, self._link, self._pool, self._halts.overslept)
        self._record.begin(*self.seats)
        if (
            faults
            and self._task.spare is not None
            and all(isinstance(each, InexpressiblePosition) for each in faults.values())
        ):
            self._return_engines()
            return None
        if faults:
            return self._finish(verdict.start_failed(faults, self._halts.reason), tuple(faults))
        if why := why_no_namespace():
            risk = "they end with enginetour, but processes that they start may survive"
            self._link.tell("unguarded", {"text": f"engines run without a PID namespace ({why}): {risk}"})
        self._link.tell("start", self._start_event())
        return self._finish(self._relay.play(self._pool.sharing))

    def _start_event(self) -> dict[str, object]:
        """Return the data of the event "start". `clocks` are in milliseconds, and `at` is in UTC seconds."""
        task = self._task
        return {
            "white": task.pairing.white,
            "black": task.pairing.black,
            "round": task.pairing.round,
            "encounter": task.pairing.encounter,
            "leg": task.pairing.leg,
            "handicap": task.pairing.handicap,
            "engines": [seat.present.own_name if seat.present is not None else "" for seat in self.seats],
            "hardware": processor_name(),
            "opening": task.opening.name,
            "opening_number": task.opening.index,
            "eco": task.opening.eco,
            "variant": task.opening.variant,
            "fen": task.opening.fen,
            "moves": list(self._position.moves),
            "clocks": [seat.clock.rest_ms for seat in self.seats],
            "tc": [str(task.white.tc), str(task.black.tc)],
            "at": time.time(),
        }

    def _finish(self, verdict: Verdict, absent: tuple[Seat, ...] = ()) -> Game:
        own_ns = self._relay.own_ns() if verdict.own_ns is None else verdict.own_ns
        self._record.close()
        incidents = [*self._record.incidents]
        if verdict.category:  # one incident for each engine at fault; after a host failure, for the engine to move
            guilty = absent or (verdict.culprit or self.seats[0 if self._position.board.turn else 1],)
            ply, own = len(self._position.moves), None if absent else own_ns
            incidents += [incident_of(seat, verdict.category, verdict.cause, ply, own_ns=own) for seat in guilty]
        self._settle_engines(verdict, absent)
        self._return_engines()
        incidents += self._pool.partings()
        self._link.tell("end", {"outcome": verdict.outcome.value, "cause": verdict.cause})
        return self._game(verdict, incidents)

    def _settle_engines(self, verdict: Verdict, absent: tuple[Seat, ...]) -> None:
        """Mark engines that must not play again. If the game began, read outstanding answers and send the result."""
        for seat in absent:
            if seat.present is not None:
                seat.present.spoiled = seat.present.spoiled or verdict.cause
        if absent:
            return
        if verdict.fatal:
            kept = verdict.culprit is not None and verdict.culprit.side.spec.restart == "off"
            for seat in () if kept else self.seats if verdict.culprit is None else (verdict.culprit,):
                seat.engine.spoiled = seat.engine.spoiled or verdict.cause
        owing = [seat.engine for seat in self.seats if seat.engine.thinking and not seat.engine.spoiled]
        run_scripts({engine: engine.settle() for engine in owing}, self._link)
        listening = [seat.engine for seat in self.seats if not seat.engine.spoiled and not seat.engine.dead]
        words = {engine: engine.game_over(verdict.outcome.value, verdict.cause) for engine in listening}
        run_scripts({engine: engine.send_lines(*lines) for engine, lines in words.items() if lines}, self._link)

    def _return_engines(self) -> None:
        self._pool.give_back(*(seat.present for seat in self.seats if seat.present is not None))

    def _game(self, verdict: Verdict, incidents: Sequence[Incident]) -> Game:
        task, record, (white, black) = self._task, self._record, self.seats
        return Game(
            pairing=task.pairing,
            outcome=verdict.outcome,
            termination=verdict.termination,
            cause=verdict.cause,
            culprit=verdict.culprit.name if verdict.culprit is not None else "",
            category=verdict.category,
            opening=task.opening,
            moves=tuple(record.moves),
            white=record.side_record(white),
            black=record.side_record(black),
            white_tc=str(task.white.tc),
            black_tc=str(task.black.tc),
            final_fen=self._position.board.fen(),
            started_unix=self._started,
            ended_unix=time.time(),
            relay_gap_us=record.relay_us(),
            incidents=tuple(incidents),
            replay=task.replay,
            hardware=processor_name(),
            load_average=record.workload.load(),
            cores=processor_count(),
            steal_percent=record.workload.steal_percent(),
            referee_us=None if verdict.own_ns is None else verdict.own_ns // 1000,
            traffic=self._traffic() if task.log_traffic else (),
        )

    def _traffic(self) -> tuple[str, ...]:
        """Return the log of both engines in order of time, for example ``0.012345 White < bestmove e2e4``.

        Times are in seconds since the game began.
        """
        began = min(seat.began_ns for seat in self.seats)
        lines = [
            (stamp, f"{(stamp - began) / 1e9:.6f} {seat.color} {way} {escape_bytes(line, LONGEST_LINE)}")
            for seat in self.seats
            if seat.present is not None
            for stamp, way, line in seat.present.process.traffic_since(began)
        ]
        return tuple(text for _, text in sorted(lines, key=itemgetter(0)))
