"""Tests of tournament/scheduler."""

from __future__ import annotations

import errno
import json
import math
import os
import random
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, cast

import pytest

from enginetour.model.errors import InputRefused, MachineFailure, StorageFailed, TourError
from enginetour.model.game import (
    Entrant,
    Event,
    Game,
    GameFinished,
    GameKey,
    Note,
    Outcome,
    Pairing,
    Replaced,
    Termination,
    Withdrawn,
)
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.testing import PLAYING
from enginetour.tournament.events import RunEvents
from enginetour.tournament.scheduler import Allotment, GameLimit, Offers, RunEnd, Scheduler, unshared
from enginetour.tournament.setbacks import AGAIN_S, END_OF_PAUSES, GAME_BYTES, MIN_FREE, Setbacks
from enginetour.tournament.watching import WatcherGroup
from tests.support.tournaments import (
    ENTRANTS,
    LONG_S,
    Airborne,
    Clock,
    Forked,
    Heard,
    Inline,
    Landing,
    MemoryLog,
    Turmoil,
    Unwaiting,
    airborne,
    audit,
    config,
    ended,
    entrant,
    logged,
    loop_of,
    pgn_games,
    quick,
    scheduler,
    scripted,
    settle,
    task_for,
    tour,
    without_dot,
)

# The loop, with a log in memory and an executor that plays at once.


def heard(loop: Scheduler) -> Heard:
    return cast("Heard", loop.watcher)


def inline(loop: Scheduler) -> Inline:
    return cast("Inline", loop.executor)


def failing(times: Iterable[bool], words: str) -> Callable[[GameTask], Game]:
    """Fail games by the machine as `times` says, then no more."""
    failures = iter(times)

    def verdict(task: GameTask) -> Game:
        if next(failures, False):
            raise MachineFailure(words)
        return ended(task)

    return verdict


def test_a_round_robin_is_played_to_its_end() -> None:
    """Four engines play the six games of a round robin, each reported once in the order of the log."""
    loop = scheduler(ended)
    assert loop.run() is RunEnd.FINISHED
    assert heard(loop).numbers == [1, 2, 3, 4, 5, 6]


def test_a_resume_plays_only_what_is_missing() -> None:
    """A run with the log of a stopped run plays only what is missing."""
    log = MemoryLog()
    assert scheduler(ended, log, limit=GameLimit(4)).run() is RunEnd.ENOUGH
    assert len(log.games) == 4
    rest = scheduler(ended, log)
    assert rest.run() is RunEnd.FINISHED
    assert len(log.games) == 6
    assert len(heard(rest).numbers) == 2


def test_games_that_do_not_count_leave_room_for_others() -> None:
    """A limit of two games counts neither games that the machine failed nor void games."""
    games = iter(["failed", "counts", "void", "failed", "counts"])
    limit = GameLimit(2)

    def verdict(task: GameTask) -> Game:
        match next(games):
            case "failed":
                raise MachineFailure("slot died")
            case "void":
                return ended(task, Outcome.VOID, culprit="Ada", category="engine-abort", cause="*")
        return ended(task)

    loop = scheduler(verdict, limit=limit)
    assert loop.run() is RunEnd.ENOUGH
    assert (loop.played, limit.is_reached, next(games, "")) == (2, True, "")


def test_two_runs_share_a_limit() -> None:
    """The second run does not start a game while the first one plays the last game; it does so if that game is void."""
    limit = GameLimit(1)
    assert limit.begin()
    other = scheduler(ended, limit=limit)
    other._submit()
    assert not other.flying
    limit.end(counts=False)
    assert other.run() is RunEnd.ENOUGH
    assert (other.played, limit.begin()) == (1, False)


def test_a_machine_failure_plays_the_game_again() -> None:
    """A game that the machine failed is replayed and counted once."""
    loop = scheduler(failing([True, False, True], "slot died"))
    assert loop.run() is RunEnd.FINISHED
    assert len(heard(loop).numbers) == 6
    assert sum("slot died" in words for words in heard(loop).words) == 2


def test_a_pairing_an_engine_cannot_play_stays_open() -> None:
    """After two replays the game stays open, the others are played, and the run ends as blocked."""

    def verdict(task: GameTask) -> Game:
        if task.pairing.pair == ("Ada", "Bea"):
            return ended(task, Outcome.VOID, culprit="Bea", category="unsupported", cause="cannot set position")
        return ended(task)

    loop = scheduler(verdict)
    assert loop.run() is RunEnd.BLOCKED
    log = logged(loop)
    voids = [game for game in log.games.values() if game.outcome is Outcome.VOID]
    assert len(voids) == 3
    assert [game.replay for game in voids] == [0, 1, 2]
    assert len(log.games) == 8


def test_an_engine_that_never_starts_is_suspended() -> None:
    """After three failed starts in a row an engine is suspended, and the others play on."""
    loop = scheduler(without_dot)
    assert loop.run() is RunEnd.BLOCKED
    assert loop.setbacks.suspended == {"Dot": "exit 1"}
    assert loop.played == 3


@pytest.mark.parametrize("event", [Withdrawn("Dot"), Replaced("Dot", Entrant("Eve"))])
@pytest.mark.parametrize("tried_again", [False, True])
def test_who_has_left_is_not_suspended(event: Event, *, tried_again: bool) -> None:
    """A withdrawn or replaced engine is no longer suspended."""
    loop = scheduler(without_dot)
    assert loop.run() is RunEnd.BLOCKED
    if tried_again:
        loop.setbacks.is_playable(loop.format.offers(loop.state)[0])
        loop.clock = lambda: 1e9
        assert loop.setbacks.tried_again == {"Dot"}
    else:
        assert loop.setbacks.suspended == {"Dot": "exit 1"}
    after, _ = loop.step(event)
    loop.take(event, after)
    assert not loop.setbacks.suspended
    assert not loop.setbacks.tried_again
    assert loop.run() is RunEnd.FINISHED


def test_one_void_is_replayed_with_the_next_replay_number() -> None:
    """A void game does not count and is replayed with the next replay number."""
    first = iter([True])

    def verdict(task: GameTask) -> Game:
        if next(first, False):
            return ended(task, Outcome.VOID, culprit="Ada", category="engine-abort", cause="*")
        return ended(task)

    loop = scheduler(verdict)
    assert loop.run() is RunEnd.FINISHED
    assert [task.replay for task in inline(loop).tasks] == [0, 1, 0, 0, 0, 0, 0]


def test_stop_ends_the_loop_without_new_games() -> None:
    """After a stop no game starts, and the end says so."""
    loop = scheduler(ended)
    loop.inbox.put(lambda: loop.stop(now=False))
    assert loop.run() is RunEnd.STOPPED
    assert inline(loop).stopped == "finish"
    assert len(heard(loop).numbers) <= 2


def test_a_result_that_comes_twice_is_counted_once() -> None:
    """A result that is already in the log changes neither state nor count."""
    log = MemoryLog()
    loop = scheduler(ended, log, limit=GameLimit(1))
    pairing = loop.format.offers(loop.state)[0]
    log.record_game(ended(task_for(pairing, 0)), ())
    before = loop.state
    assert loop.limit.begin()
    future: Future[Any] = Future()
    future.set_result(ended(task_for(pairing, 0)))
    loop._settle(future, pairing, 0.0)
    loop._record()
    assert loop.state is before
    assert loop.played == 0
    assert not loop.limit.is_used_up


def test_an_engine_runs_no_more_often_than_it_may() -> None:
    """With one copy per engine and many slots, no engine plays two games at the same time."""
    place, names = Airborne(), [entrant.name for entrant in ENTRANTS]
    loop = loop_of(place, slots=6, copies=dict.fromkeys(names, 1))
    loop._submit()
    while loop.flying:
        playing = Counter(name for pairing, _ in loop.flying.values() for name in pairing.pair)
        assert max(playing.values()) == 1
        place.end(next(number for number, future in enumerate(place.futures) if not future.done()))
        settle(loop)
    assert len(place.tasks) == len(names) * (len(names) - 1) // 2
    loop = loop_of(Airborne(), slots=6)
    loop._submit()
    assert max(Counter(name for pairing, _ in loop.flying.values() for name in pairing.pair).values()) > 1


def test_the_process_of_such_an_engine_goes_with_its_game() -> None:
    """With several slots such an engine ends its process with the game; with one slot it may keep it."""

    def single(pairing: Pairing, replay: int) -> GameTask:
        side = Side(EngineSpec("x", ("x",), "uci", max_copies=1), TimeControl.parse("1+0"))
        return GameTask(pairing, side, side, replay=replay)

    for slots, restart in ((2, "on"), (1, "auto")):
        place = Inline(ended)
        loop_of(place, slots=slots, task_for=single).run()
        assert {side.spec.restart for task in place.tasks for side in (task.white, task.black)} == {restart}


@pytest.mark.parametrize("shown", [True, False])
def test_a_game_knows_whether_somebody_watches(*, shown: bool) -> None:
    """A slot reports moves more often if a watcher shows them."""
    place, watcher = Inline(ended), Heard()
    watcher.shows_moves = lambda: shown  # type: ignore[method-assign]
    loop_of(place, watcher=watcher).run()
    assert {task.watched for task in place.tasks} == {shown}


def test_both_legs_of_an_encounter_are_played_in_one_slot() -> None:
    """The second game of an encounter is played in the slot of the first, before other games."""
    loop, place = airborne(games_per_pairing=2)
    assert len(set(place.pairs())) == len(place.tasks) == 2
    assert place.wishes == [0, 1]
    place.end(1)
    settle(loop)
    assert place.pairs()[2] == place.pairs()[1]
    assert place.wishes[2] == 1
    assert place.tasks[2].pairing.leg == 2


def test_what_a_stop_drops_is_no_failure_of_the_machine() -> None:
    """Games dropped by a stop are not reported as replayed."""
    loop, place = airborne()
    loop.stop(now=True)
    for future in place.futures:
        future.set_exception(MachineFailure("dropped"))
    assert loop.run() is RunEnd.STOPPED
    assert not heard(loop).words


def test_a_second_reason_to_stop_leaves_running_games_their_grace() -> None:
    """A second reason to stop does not end the grace period of games in progress."""
    loop, place = airborne()
    now = [0.0]
    loop.clock = lambda: now[0]
    loop.stop(now=False, grace=10.0)
    loop.stop(now=False)
    now[0] = 11.0
    drop = place.stop

    def dropped(*, now: bool) -> None:
        drop(now=now)
        for future in place.futures:
            future.set_exception(MachineFailure("dropped"))

    place.stop = dropped  # type: ignore[method-assign]
    assert loop.run() is RunEnd.STOPPED
    assert place.stopped == "now"


def test_a_pause_begins_no_game_and_ends_no_tournament() -> None:
    """In a pause games in progress end and no others start until it ends; a stop still works."""
    loop, place = airborne()
    loop.paused = True
    place.end(0)
    place.end(1)
    settle(loop)
    assert len(place.tasks) == 2
    assert loop._verdict() is None
    assert loop.estimate() is None
    loop.paused = False
    loop._submit()
    assert len(place.tasks) == 4
    loop.paused = True
    loop.stop(now=False)
    place.end(2)
    place.end(3)
    assert loop.run() is RunEnd.STOPPED


def test_nobody_is_given_up_in_a_pause() -> None:
    """In a pause suspended engines are not withdrawn."""
    loop = scheduler(without_dot)
    assert loop.run() is RunEnd.BLOCKED
    loop.paused = True
    assert loop._verdict() is None
    loop.paused = False
    assert loop._verdict() is RunEnd.BLOCKED


def test_a_pause_after_the_last_game_is_none() -> None:
    """A pause after the last game has no effect."""

    def verdict(task: GameTask) -> Game:
        loop.paused = len(inline(loop).tasks) == 6
        return ended(task)

    loop = scheduler(verdict)
    assert loop.run() is RunEnd.FINISHED
    assert loop.paused


def test_fewer_and_more_slots_while_games_run() -> None:
    """Fewer slots take effect as games end, more slots at once, also in the executor."""
    loop, place = airborne()
    loop.resize(1)
    place.end(1)
    settle(loop)
    assert len(place.tasks) == 2
    place.end(0)
    settle(loop)
    assert len(loop.flying) == 1
    loop.resize(2)
    loop._submit()
    assert len(loop.flying) == 2
    assert place.sizes == [1, 2]
    assert place.wishes[2:] == [0, 1]


def test_a_game_that_may_not_begin_ends_the_run_after_those_in_the_air() -> None:
    """If an engine has changed, the game in progress ends and counts, no other starts, and the reason is kept."""
    loop, place = airborne()

    def refused(pairing: Pairing, replay: int) -> GameTask:
        raise InputRefused("Ada has changed")

    loop.task_for = refused
    place.end(0)
    settle(loop)
    assert loop.stopping == place.stopped == "finish"
    assert heard(loop).words == ["no new games start, games in progress are played to the end: Ada has changed"]
    place.end(1)
    assert loop.run() is RunEnd.STOPPED
    assert len(logged(loop).games) == 2
    assert loop.refusal is not None
    assert len(place.tasks) == 2


def test_our_own_failure_in_a_place_is_no_failure_of_the_machine() -> None:
    """An internal error of the executor is not tried again; the game in progress ends and counts."""
    loop, place = airborne()
    place.futures[0].set_exception(TourError("not ours any more"))
    settle(loop)
    place.end(1)
    assert loop.run() is RunEnd.STOPPED
    assert str(loop.refusal) == "not ours any more"
    assert (len(place.tasks), len(logged(loop).games)) == (2, 1)


@pytest.mark.parametrize("pair_games", [1, 2])
def test_more_slots_play_the_same_bubble(pair_games: int) -> None:
    """With three slots more games are in progress, but log and decisions are the same."""
    options = {"size": 4, "min_matches": 5, "unpark_threshold": 2, "games_per_pairing": pair_games}
    field = tuple(Entrant(f"E{number}") for number in range(9))

    def log_of(slots: int) -> tuple[MemoryLog, int]:
        log, place = MemoryLog(), Landing(slots)
        loop = loop_of(place, log, field, "bubble", options=options, slots=slots, inbox=place)
        assert loop.run() is RunEnd.FINISHED
        format_ = loop.format
        state, early = format_.start(field), 0
        for event in log.events():
            assert isinstance(event, GameFinished)
            early += event not in [GameFinished(game, event.outcome) for game in format_.offers(state)]
            state = format_.step(state, event)
        return log, early

    alone, _ = log_of(1)
    together, early = log_of(3)
    assert early > 0
    assert {g.pairing: g.outcome for g in together.games.values()} == {
        g.pairing: g.outcome for g in alone.games.values()
    }
    assert together.notes == alone.notes


class Slow(MemoryLog):
    """A log that checks at each write which games have started, and may fail."""

    def __init__(self, place: Inline, fails_at: int = 0) -> None:
        super().__init__()
        self.place = place
        self.begun: list[int] = []
        self.fails_at = fails_at

    def record_game(self, game: Game, notes: Sequence[Note]) -> int | None:
        self.begun.append(len(self.place.tasks))
        if len(self.begun) == self.fails_at:
            raise StorageFailed("the disk is full")
        return super().record_game(game, notes)


def test_a_game_is_written_while_the_next_one_is_played() -> None:
    """The next game starts before the commit of the last one, but not two games ahead of it."""
    place = Inline(ended)
    log = Slow(place)
    assert loop_of(place, log).run() is RunEnd.FINISHED
    assert log.begun == [2, 3, 4, 5, 6, 6]


def test_a_number_of_games_is_no_less_for_those_begun_beforehand() -> None:
    """The limit counts the game that is being written."""
    place = Inline(ended)
    assert loop_of(place, Slow(place), limit=GameLimit(3)).run() is RunEnd.ENOUGH
    assert len(place.tasks) == 3


def test_a_failed_commit_announces_nothing_and_loses_the_game_beside_it() -> None:
    """After a failed commit the run ends, and the next one replays both games."""
    place = Inline(ended)
    log = Slow(place, fails_at=3)
    loop = loop_of(place, log)
    with pytest.raises(StorageFailed):
        loop.run()
    assert heard(loop).numbers == [1, 2]
    assert len(place.tasks) == 4
    again = Inline(ended)
    assert loop_of(again, log).run() is RunEnd.FINISHED
    assert [task.pairing for task in again.tasks[:2]] == [task.pairing for task in place.tasks[2:]]
    assert len(log.games) == 6


def test_no_game_begins_beside_the_one_that_decides_a_test() -> None:
    """No game starts before the commit of the game that decides a test."""
    place = Inline(lambda task: ended(task, Outcome.WHITE if task.pairing.white == "Ada" else Outcome.BLACK))
    options = {"games": 400, "sprt": {"elo0": 0.0, "elo1": 100.0, "model": "logistic"}}
    loop = loop_of(place, None, ENTRANTS[:2], "match", options=options)
    assert loop.run() is RunEnd.FINISHED
    assert len(place.tasks) == loop.played < 60


def test_a_stop_holds_for_the_game_beside_a_commit() -> None:
    """After a stop no game starts next to a commit, by time as by request."""

    class Beside(Heard):
        def turn(self, scheduler: Scheduler) -> None:
            looks.append(len(place.tasks))
            if looks.count(3) == 2:  # before that game started, and when it has ended but is not written
                scheduler.stop(now=False)

    place, looks = Inline(ended), list[int]()
    loop = loop_of(place)
    loop.watcher = Beside()
    assert loop.run() is RunEnd.STOPPED
    assert len(place.tasks) == loop.played == 3

    class Asking(Inline):
        def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
            if len(self.tasks) == 2:
                loop.inbox.put(lambda: loop.stop(now=False))
            return super().submit(task, prefer)

    place = Asking(ended)
    loop = loop_of(place, slots=2)
    assert loop.run() is RunEnd.STOPPED
    assert len(place.tasks) == loop.played == 3


class Batches(MemoryLog):
    """Stores how many games each commit had."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def record_games(self, games: Sequence[tuple[Game, Sequence[Note]]]) -> list[int | None]:
        self.sizes.append(len(games))
        return super().record_games(games)


def eight(log: MemoryLog, **more: Any) -> tuple[Scheduler, Airborne]:
    """Make a bubble of eight whose first games are in progress."""
    place, field = Airborne(), tuple(Entrant(f"E{number}") for number in range(8))
    options = {"size": 4, "min_matches": 3, "unpark_threshold": 2}
    loop = loop_of(place, log, field, "bubble", options=options, slots=6, **more)
    loop._submit()
    return loop, place


def test_games_that_come_together_are_written_together() -> None:
    """Games that end together are written in one commit and then reported in order; log and decisions do not change."""
    logs = []
    for together in (True, False):
        log = Batches()
        loop, place = eight(log)
        while loop.flying:
            for number, future in enumerate(place.futures):
                if not future.done():
                    place.end(number)
                    if not together:
                        settle(loop)
            settle(loop)
        assert heard(loop).numbers == list(range(1, len(log.games) + 1))
        logs.append(log)
    assert logs[0].sizes[0] == 6
    assert set(logs[1].sizes) == {1}
    assert logs[0].games == logs[1].games
    assert logs[0].notes == logs[1].notes


def test_what_is_asked_for_meets_a_written_log() -> None:
    """A request between results is carried out after earlier games are durable and reported."""
    log, seen = Batches(), list[tuple[int, int]]()
    loop, place = eight(log)
    for number in range(3):
        place.end(number)
    loop.inbox.put(lambda: seen.append((len(log.games), len(heard(loop).numbers))))
    loop._settle_all()
    assert seen == [(1, 1)]
    assert log.sizes == [1, 2]


def test_games_are_told_in_the_order_in_which_they_ended() -> None:
    """Games are reported in the order in which they ended."""
    log = Batches()
    loop, place = eight(log)
    for number in (4, 0, 2):
        place.end(number)
    settle(loop)
    assert log.sizes == [3]
    assert [game.pairing for game in log.games.values()] == [place.tasks[number].pairing for number in (4, 0, 2)]


def test_a_void_game_is_written_before_anything_follows() -> None:
    """A void game is written before the next result is handled, because it may suspend an engine."""
    log = Batches()
    loop, place = eight(log)
    place.end(0)
    place.futures[1].set_result(ended(place.tasks[1], Outcome.VOID, culprit="E1", category="engine-abort"))
    place.end(2)
    settle(loop)
    assert log.sizes == [2, 1]


def test_a_request_that_comes_with_the_last_game_is_carried_out() -> None:
    """A request that arrives with the last game is carried out."""
    done = list[str]()

    class Late(Heard):
        def progress(self, scheduler: Scheduler) -> None:
            if not scheduler.format.offers(scheduler.state) and not done:
                scheduler.inbox.put(lambda: done.append("done"))

    assert scheduler(ended, watcher=Late()).run() is RunEnd.FINISHED
    assert done == ["done"]


def test_a_game_that_the_machine_is_too_busy_for_is_played_at_last() -> None:
    """After three doubtful time losses a game waits while others are played, and then it is played."""
    played = list[GameKey]()

    def busy() -> str:
        return "load 15 on 2 processors" if len(played) < 5 else ""

    def verdict(task: GameTask) -> Game:
        if task.pairing.key == first and busy():
            return Game(task.pairing, Outcome.VOID, Termination.TIME, "doubtful", category="host", replay=task.replay)
        played.append(task.pairing.key)
        return ended(task)

    seconds = count()
    loop = scheduler(verdict, busy=busy, clock=lambda: float(next(seconds)))
    first = loop.format.offers(loop.state)[0].key
    assert loop.run() is RunEnd.FINISHED
    assert (len(played), played[-1]) == (6, first)
    assert sum("until the machine is less busy" in words for words in heard(loop).words) == 1


@pytest.mark.parametrize("starts", [True, False])
def test_a_machine_that_is_too_busy_is_no_fault_of_an_engine(*, starts: bool) -> None:
    """If doubtful games stay open, no engine is blamed."""

    def verdict(task: GameTask) -> Game:
        if task.pairing.pair == ("Ada", "Bea"):
            return Game(task.pairing, Outcome.VOID, Termination.TIME, "doubtful", category="host", replay=task.replay)
        return ended(task) if starts else without_dot(task)

    seconds = count(step=100)
    loop = scheduler(verdict, clock=lambda: float(next(seconds)))
    assert loop.run() is (RunEnd.BUSY if starts else RunEnd.BLOCKED)


# Former bugs.


def test_a_weekend_of_machine_failures_is_waited_out() -> None:
    """Two thousand failures of the machine in a row do not overflow the length of the pause."""
    loop = scheduler(failing([True] * 2000, "no disk"))
    loop._wait = lambda: None  # type: ignore[method-assign]
    assert loop.run() is RunEnd.FINISHED
    assert any(words.endswith(f"waiting {END_OF_PAUSES:.0f} s") for words in heard(loop).words)


def test_a_stop_that_is_waiting_comes_before_the_first_game() -> None:
    """After Ctrl-C during the preparation no game starts."""
    loop = scheduler(ended)
    loop.inbox.put(lambda: loop.stop(now=False, grace=60))
    assert loop.run() is RunEnd.STOPPED
    assert inline(loop).tasks == []


def test_a_stop_during_the_last_game_lets_the_tournament_end() -> None:
    """If the last game ends after Ctrl-C, the tournament is finished."""
    left = [3]

    def verdict(task: GameTask) -> Game:
        left[0] -= 1
        if not left[0]:
            loop.stop(now=False, grace=60)
        return ended(task)

    loop = scheduler(verdict)
    loop.entrants = loop.entrants[:3]
    loop.__post_init__()
    assert loop.run() is RunEnd.FINISHED
    assert loop.format.offers(loop.state) == ()


def test_a_game_the_machine_cannot_play_lets_the_others_go_first() -> None:
    """A game in which the slot always dies comes after all others and is tried again and again."""
    tries: Counter[tuple[str, str]] = Counter()

    def verdict(task: GameTask) -> Game:
        tries[task.pairing.pair] += 1
        if task.pairing.pair == ("Ada", "Dot") and (tries.total() < 9):
            raise MachineFailure("slot died")
        return ended(task)

    loop = scheduler(verdict)
    loop._wait = lambda: None  # type: ignore[method-assign]
    assert loop.run() is RunEnd.FINISHED
    log = logged(loop)
    assert [game.pairing.pair for game in log.games.values()][-1] == ("Ada", "Dot")
    assert all(count == 1 for pair, count in tries.items() if pair != ("Ada", "Dot"))


def test_a_single_failure_of_the_machine_moves_no_game_behind_the_others() -> None:
    """One failure of the machine does not move a game behind others."""
    voided: list[int] = []

    def verdict(task: GameTask) -> Game:
        if task.pairing.meeting == 3 and task.pairing.leg == 2 and len(voided) < 2:
            voided.append(len(inline(loop).tasks))
            return replace(ended(task), outcome=Outcome.VOID, category="host")
        return ended(task, Outcome.WHITE if task.pairing.white == "A" else Outcome.BLACK)

    options = {"games": 400, "sprt": {"elo0": 0.0, "elo1": 100.0, "model": "logistic"}}
    loop = loop_of(Inline(verdict), None, (Entrant("A"), Entrant("B")), "match", options=options, clock=Clock())
    assert loop.run() is RunEnd.FINISHED
    assert voided == [6, 7]
    assert loop.state.verdict == "H1"
    assert loop.played < 60


def test_a_full_disk_pauses_with_one_line() -> None:
    """A full disk is one message; games start again when there is room."""
    free = iter([math.inf, *[float(MIN_FREE)] * 5])
    loop = scheduler(ended, free_bytes=lambda: next(free, float(MIN_FREE + GAME_BYTES)))
    loop._wait = lambda: None  # type: ignore[method-assign]
    assert loop.run() is RunEnd.FINISHED
    assert heard(loop).words == ["no new games start until the disk has free space: 1.0 MiB free, 1.2 MiB needed"]
    assert len(heard(loop).numbers) == 6


def test_a_stop_ends_the_pause_of_a_full_disk() -> None:
    """A run that waits for room on the disk can be stopped."""
    loop = scheduler(ended, free_bytes=lambda: 0.0)
    loop._wait = lambda: loop.stop(now=False)  # type: ignore[method-assign]
    assert loop.run() is RunEnd.STOPPED
    assert heard(loop).numbers == []


def void(task: GameTask, **more: Any) -> Game:
    return ended(task, Outcome.VOID, culprit="Dot", category="start-failure", cause="exit 1", **more)


@pytest.mark.parametrize("mended_after", [3, 4])
def test_a_suspended_engine_is_tried_when_nothing_else_is_left(mended_after: int) -> None:
    """A suspended engine has one more try before the end of the run."""
    starts = iter(range(mended_after))

    def verdict(task: GameTask) -> Game:
        if "Dot" in task.pairing.pair and next(starts, None) is not None:
            return void(task)
        return ended(task)

    seconds = iter(range(AGAIN_S))  # no other game is left before the ten minutes are over
    now = [0]
    loop = scheduler(verdict, clock=lambda: float(now[0]))
    loop._wait = lambda: now.__setitem__(0, next(seconds))  # type: ignore[method-assign]
    assert loop.run() is (RunEnd.FINISHED if mended_after == 3 else RunEnd.BLOCKED)
    assert loop.played == (6 if mended_after == 3 else 3)


def test_a_suspended_engine_is_tried_every_ten_minutes() -> None:
    """A suspended engine is tried every ten minutes while others play."""
    starts = iter(range(3))
    now = [0]
    told: list[str] = []

    def verdict(task: GameTask) -> Game:
        told.append("Dot" if "Dot" in task.pairing.pair else "others")
        if told[-1] == "Dot" and next(starts, None) is not None:
            return void(task)
        now[0] += 0 if told[-1] == "Dot" else 60
        return ended(task)

    loop = loop_of(Inline(verdict), options={"cycles": 6}, clock=lambda: float(now[0]))
    loop._wait = lambda: now.__setitem__(0, now[0] + 1)  # type: ignore[method-assign]
    assert loop.run() is RunEnd.FINISHED
    assert told[-1] == "others"


def test_a_suspension_is_told_once_and_its_engine_named_once() -> None:
    """A failed try of a suspended engine is not a second suspension."""
    now = [0]

    def verdict(task: GameTask) -> Game:
        if "Dot" in task.pairing.pair:
            return replace(void(task), cause="Dot: ended (exit 1)", culprit="Dot")
        now[0] += 400
        return ended(task)

    watcher, heard_of = Heard(), list[str]()
    happenings = RunEvents("trial", (lambda event: heard_of.append(str(event["event"])),))
    both = WatcherGroup(watcher, happenings)
    loop = loop_of(Inline(verdict), options={"cycles": 3}, clock=lambda: float(now[0]), watcher=both)
    loop._wait = lambda: now.__setitem__(0, now[0] + 1)  # type: ignore[method-assign]
    assert loop.run() is RunEnd.BLOCKED
    said = [words for words in watcher.words if words.startswith("Dot")]
    assert said[0] == "Dot is suspended after 3 failed starts in a row: ended (exit 1)"
    assert len(said) > 2
    assert set(said[1:]) == {"Dot still cannot start: ended (exit 1)"}
    assert heard_of.count("suspended") == 1


def test_a_game_that_ends_while_another_is_written_is_not_overslept() -> None:
    """A game that ends during a write wakes the loop at once."""

    class Awake(Unwaiting):
        def get(self, block: bool = True, timeout: float | None = None) -> Callable[[], None]:
            assert not any(future.done() for future in loop.flying)
            next(ends)
            return super().get(block)

    class Busy(MemoryLog):
        def record_game(self, game: Game, notes: Sequence[Note]) -> int | None:
            next(ends, None)
            return super().record_game(game, notes)

    def ending() -> Iterator[None]:
        for number in range(6):
            place.end(number)
            yield

    place, ends = Airborne(), ending()
    loop = loop_of(place, Busy(), slots=2, inbox=Awake())
    assert loop.run() is RunEnd.FINISHED


def test_a_game_that_ended_before_a_failure_of_the_machine_is_heeded_before_it() -> None:
    """A game that ended before a failure of the machine is recorded before it."""
    loop, place = airborne()
    place.end(0)
    place.futures[1].set_exception(MachineFailure("slot died"))
    settle(loop)
    assert loop.setbacks._host_failures == 1


# Which slot plays which game.

# Becomes the engine while it holds a lock that ends with the process; reports if another process holds it.
ALONE = """\
import fcntl, os, sys
mark, engine = __file__ + ".lock", sys.argv[1:]
lock = os.open(mark, os.O_CREAT | os.O_RDWR)
os.set_inheritable(lock, True)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    open(mark + ".twice", "w").close()
os.execv(engine[0], engine)
"""

FIRST, SECOND = Pairing("Ada", "Bea", leg=1), Pairing("Bea", "Ada", leg=2)
OTHER = Pairing("Cid", "Dot")


def test_a_second_leg_waits_for_the_slot_of_the_first() -> None:
    """The second game of an encounter waits for the slot of the first, and is the next one there."""
    slots = Allotment(3)
    assert slots.slot_for(FIRST) == 0
    slots.begin(0, FIRST)
    assert slots.slot_for(SECOND) is None
    assert slots.slot_for(OTHER) == 1
    slots.end(FIRST, failed=False)
    assert list(slots.ordered([OTHER, SECOND])) == [SECOND, OTHER]
    assert slots.slot_for(SECOND) == 0


def test_a_game_goes_where_its_engines_wait() -> None:
    """A game goes to the slot that keeps both engines, else one of them, else the lowest free slot."""
    slots = Allotment(3)
    for slot, pairing in enumerate((OTHER, Pairing("Ada", "Eve"), FIRST)):
        slots.begin(slot, pairing)
    for pairing in (OTHER, Pairing("Ada", "Eve"), FIRST):
        slots.end(pairing, failed=False)
    assert slots.slot_for(Pairing("Bea", "Ada", meeting=2)) == 2
    assert slots.slot_for(Pairing("Eve", "Fay")) == 1
    assert slots.slot_for(Pairing("Fay", "Gus")) == 0


def test_a_failed_slot_is_no_reason_to_go_first() -> None:
    """After a failure of the machine the other games come first, and the dead slot keeps no engine."""
    slots = Allotment(2)
    slots.begin(0, FIRST)
    slots.end(FIRST, failed=True)
    slots.begin(1, OTHER)
    slots.end(OTHER, failed=False)
    assert list(slots.ordered([OTHER, FIRST])) == [OTHER, FIRST]
    assert slots.slot_for(Pairing("Dot", "Ada")) == 1


def test_one_slot_keeps_the_order_of_the_format() -> None:
    """With one slot, games start in the order of the format."""
    slots = Allotment(1)
    slots.begin(0, FIRST)
    slots.end(FIRST, failed=False)
    assert list(slots.ordered([OTHER, SECOND])) == [OTHER, SECOND]


def test_fewer_slots() -> None:
    """A removed slot plays its game to the end and gets no other."""
    slots = Allotment(2)
    slots.begin(1, FIRST)
    slots.slots = 1
    assert slots.slot_for(OTHER) == 0
    slots.end(FIRST, failed=False)
    assert slots.slot_for(SECOND) == 0


def test_an_engine_runs_no_more_often_than_it_may_allotment() -> None:
    """An engine with one copy plays one game at a time; 0 is no limit, and a limit may come later."""
    copies = {"Ada": 1, "Cid": 0}
    slots = Allotment(3, copies)
    slots.begin(0, FIRST)
    assert slots.slot_for(Pairing("Cid", "Ada")) is None
    slots.begin(1, OTHER)
    assert slots.slot_for(Pairing("Cid", "Eve")) == 2
    slots.end(FIRST, failed=True)
    slots.end(FIRST, failed=True)
    assert slots.slot_for(Pairing("Cid", "Ada")) == 0
    copies["Cid"] = 1
    assert slots.slot_for(Pairing("Cid", "Ada")) is None


def capped(copies: int) -> GameTask:
    task = task_for(FIRST, 0)
    return replace(task, white=replace(task.white, spec=replace(task.white.spec, max_copies=copies)))


def test_an_engine_of_which_there_may_be_one_waits_in_no_slot() -> None:
    """With more slots than copies an engine's process ends with its game; otherwise it may be kept."""
    assert unshared(capped(1), 2).white.spec.restart == "on"
    assert unshared(capped(1), 2).black.spec.restart == "auto"
    assert unshared(capped(2), 2) == capped(2)
    assert unshared(capped(0), 8) == capped(0)


def test_a_run_keeps_to_the_copies_of_an_engine_file(tmp_path: Path) -> None:
    """In a run with two slots, an engine with one copy never has two processes."""
    (tmp_path / "alone.py").write_text(ALONE)
    python = [sys.executable, "-I", "-S"]
    command = [*python, str(tmp_path / "alone.py"), *python, PLAYING]
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "one.toml").write_text(
        f'name = "One"\nprotocol = "uci"\ndir = "scratch"\nmax_copies = 1\ncommand = {json.dumps(command)}\n'
    )
    others = "".join(scripted(name, "uci") for name in ("Ada", "Bea", "Cid"))
    path = config(tmp_path, ("one",), "roundrobin", "cycles = 2", others, tc="60")
    tour(tmp_path, "run", str(path), "--concurrency", "2", "--force")
    assert audit(tmp_path) == 12
    assert (tmp_path / "alone.py.lock").exists()
    assert not (tmp_path / "alone.py.lock.twice").exists()


# Full and read-only disks, and processes with few descriptors.

# User and mount namespaces need no rights and last until end of file.
SMALL = "mount -t tmpfs -o size=4m none results"
READ_ONLY = "mount --bind results results && mount -o remount,bind,ro results"
# The command line, with a shorter interval for checks of a full disk.
WATCHFUL = """\
from enginetour.cli import main as cli
from enginetour.tournament import setbacks

setbacks.LOOK_S = 0.1
cli.main()
"""
# Plays at once; the first search of each game waits for a signal, or for a file `free`.
GATED = """\
import os, sys
moves, plies = ["g1f3", "g8f6", "f3g1", "f6g8"], 0
for line in sys.stdin:
    words = line.split()
    if words[0] == "position":
        plies = len(words[words.index("moves") + 1:]) if "moves" in words else 0
    if words[0] == "go":
        if plies < 2 and not os.path.exists({here!r} + "/free"):
            open({here!r} + "/begun", "w").close()
            open({here!r} + "/gate").read()
        print("bestmove", moves[plies % 4], flush=True)
    print({{"uci": "uciok", "isready": "readyok"}}.get(words[0], ""), flush=True)
"""


class Mounted:
    """Another disk on the results directory of a workspace, visible only to the commands that run there."""

    def __init__(self, folder: Path, holder: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.holder = holder
        self.results = Path(f"/proc/{holder.pid}/root{folder}/results")

    @contextmanager
    def running(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Run the command line with a shorter interval for checks of the disk; it is killed if the test fails."""
        enter = ["nsenter", f"--target={self.holder.pid}", "--user", "--preserve-credentials", "--mount"]
        command = [*enter, f"--wd={self.folder}", sys.executable, "-u", "-c", WATCHFUL, *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, *words: str, expect: int = 0) -> tuple[str, str]:
        """Run it to its end; return stdout and stderr."""
        with self.running(*words) as process:
            out, err = process.communicate(timeout=LONG_S)
        assert process.returncode == expect, err
        assert "Traceback" not in err
        return out, err

    def leave(self, left: int) -> None:
        """Fill the disk except for a number of bytes, or free that room, until it is exact."""
        with (self.results / "ballast").open("ab") as sink:
            while not self._leaves(sink.fileno(), left):
                pass

    def _leaves(self, ballast: int, left: int) -> bool:
        held = os.fstat(ballast).st_size
        found = os.fstatvfs(ballast)
        wanted = held + found.f_bavail * found.f_frsize - left
        try:
            if wanted < held:
                os.ftruncate(ballast, wanted)
            elif wanted:
                os.posix_fallocate(ballast, 0, wanted)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            return False
        return True


@contextmanager
def mounted(folder: Path, how: str) -> Iterator[Mounted]:
    """Skip if this machine does not allow namespaces."""
    call = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f"{how} && echo mounted && exec cat"]
    with subprocess.Popen(call, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        if holder.stdout.readline() != b"mounted\n":
            pytest.skip("no user and mount namespaces on this machine")
        yield Mounted(folder, holder)
        holder.stdin.close()


def until(lines: Iterator[str], words: str) -> None:
    """Read until a line with these words."""
    assert any(words in line for line in lines), f"not told: {words}"


def gated(folder: Path) -> Path:
    """Play four games between an engine that can be held up and one that cannot."""
    (folder / "gated.py").write_text(GATED.format(here=str(folder)))
    for name in ("begun", "gate"):
        os.mkfifo(folder / name)
    entrants = entrant("Gate", [sys.executable, "-S", str(folder / "gated.py")])
    settings = "cycles = 2\ngames_per_pairing = 2"
    more = entrants + scripted("Ada", "uci")
    return config(folder, (), "roundrobin", settings, more, tc="600", play="openings = { plies = 0 }")


def test_a_disk_that_fills(workspace: Path) -> None:
    """On a full disk no game starts; a commit without room ends the run with code 7; all games are kept."""
    path = gated(workspace)
    with mounted(workspace, SMALL) as disk:
        disk.leave(MIN_FREE + GAME_BYTES // 2)
        with disk.running("run", str(path)) as run:
            assert run.stdout is not None
            assert run.stderr is not None
            until(run.stderr, "no new games start until the disk has free space")
            disk.leave(MIN_FREE + 3 * GAME_BYTES)
            (workspace / "begun").read_text()
            (workspace / "gate").write_text("")
            until(run.stdout, "Finished game 1 ")
            (workspace / "begun").read_text()  # the second game is in progress
            disk.leave(0)
            (workspace / "gate").write_text("")
            out, err = run.communicate(timeout=LONG_S)
        assert run.returncode == 7
        assert "Finished game" not in out
        *others, last = err.splitlines()
        assert "enginetour.db: the disk is full" in last
        assert not [line for line in others if line.startswith("enginetour:")]
        (workspace / "free").touch()
        disk.leave(2 << 20)
        out, err = disk.run("run", str(path))
        assert "resuming after 1 of 4 games" in err
        assert [line.split(" (")[0] for line in out.splitlines() if line.startswith("Finished game")] == [
            f"Finished game {number}" for number in (2, 3, 4)
        ]
        assert disk.run("export", "pgn")[0] == (disk.results / "trial.pgn").read_text()
        assert disk.run("db", "check")[0].startswith("sound: ")


def test_a_read_only_disk(workspace: Path) -> None:
    """On a read-only disk new and known tournaments end with code 7 before any engine starts; reading works."""
    path = gated(workspace)
    with mounted(workspace, READ_ONLY) as disk:
        _, err = disk.run("run", str(path), expect=7)
        assert err.count("\n") == 1
    (workspace / "free").touch()
    tour(workspace, "run", str(path), "--max-games", "1", expect=8)
    (workspace / "free").unlink()
    with mounted(workspace, READ_ONLY) as disk:
        _, err = disk.run("run", str(path), expect=7)
        assert err.count("\n") == 1
        assert disk.run("standings")[0]
    assert audit(workspace) == 1


def limited(kind: int, most: int) -> None:
    """Limit this process and its children."""
    resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


def few_files(most: int) -> None:
    """Limit the number of open files, without the descriptors of the fork server, which a shell does not pass on."""
    os.closerange(3, 1 << 16)
    limited(resource.RLIMIT_NOFILE, most)


def test_a_file_that_may_not_grow(workspace: Path) -> None:
    """A limit on file sizes ends the run with code 7; without it the same command plays the rest."""
    path = quick(workspace, system="roundrobin", settings="cycles = 3\ngames_per_pairing = 2")
    limit = partial(limited, resource.RLIMIT_FSIZE, 300_000)
    code, said, told = Forked(workspace, ["run", str(path)], workspace / "errors", limit).ended()
    assert code == 7
    assert told.splitlines()[-1].startswith("enginetour: ")
    assert "cannot be read or written" in told.splitlines()[-1]
    games = said.count("Finished game")
    assert 0 < games < 36
    assert audit(workspace) == games
    code, said, _ = Forked(workspace, ["run", str(path)], workspace / "errors").ended()
    assert code == 0
    assert games + said.count("Finished game") == audit(workspace) == 36
    assert pgn_games(workspace / "results" / "trial.pgn") == 36


def test_sixty_four_descriptors(workspace: Path) -> None:
    """64 descriptors are enough for two concurrent games."""
    path = quick(workspace, system="roundrobin", settings="cycles = 1\ngames_per_pairing = 2")
    words = ["run", str(path), "--concurrency", "2", "--force"]
    limit = partial(few_files, 64)
    code, said, told = Forked(workspace, words, workspace / "errors", limit).ended()
    assert code == 0, told
    assert said.count("Finished game") == audit(workspace) == 12


def test_too_few_descriptors(workspace: Path) -> None:
    """Too few descriptors are one error before game 1; with enough of them the same command plays."""
    path = quick(workspace, system="roundrobin", settings="cycles = 1")
    words = ["run", str(path), "--concurrency", "2", "--force"]
    for most in (12, 14, 16, 39):
        limit = partial(few_files, most)
        code, said, told = Forked(workspace, words, workspace / "errors", limit).ended()
        assert (code, said) == (2, "")
        what = f"2 concurrent games need 40 open files, but the limit is {most}"
        assert told == f"enginetour: ulimit -n: {what}. Hint: run ulimit -n 1024.\n"
        assert list((workspace / "results").iterdir()) == []
    words[-2] = "1"
    _, _, told = Forked(workspace, words, workspace / "errors", partial(few_files, 35)).ended()
    assert "1 concurrent game needs 36 open files, but the limit is 35" in told
    words[-2] = "2"
    code, _, told = Forked(workspace, words, workspace / "errors", partial(few_files, 40)).ended()
    assert code == 0, told
    assert audit(workspace) == 6


# Which games may start, and in which order.

NOW = (Pairing("Ada", "Bea", leg=1), Pairing("Bea", "Ada", leg=2), Pairing("Cid", "Dot"))
LATER = (Pairing("Eve", "Fay"),)


class Showing:
    """A format whose states are its offers, and that counts how often it was asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def offers(self, state: list[Pairing]) -> tuple[Pairing, ...]:
        self.asked["offers"] += 1
        return tuple(state)

    def ahead(self, _: list[Pairing]) -> tuple[Pairing, ...]:
        self.asked["ahead"] += 1
        return LATER


def offers(slots: int) -> tuple[Offers, Showing, Allotment]:
    format_: Any = Showing()
    allotment = Allotment(slots)
    return Offers(format_, Setbacks(lambda: 0.0, lambda _: None), allotment), format_, allotment


def test_a_format_is_asked_once_a_state() -> None:
    """The format is asked once per state, before and after a commit; an older state is asked for again."""
    made, format_, _ = offers(1)
    before, after = list(NOW), list(NOW[1:])
    for state in (before, after, before, after):
        list(made.wanted(state))
        assert made.are_sure_of(NOW[2], state)
    assert format_.asked["offers"] == 2
    list(made.wanted(list(NOW)))
    assert not made.are_sure_of(NOW[0], after)
    assert made.are_sure_of(NOW[0], before)
    assert format_.asked["offers"] == 4


def test_one_slot_looks_not_ahead() -> None:
    """With one slot the format is not asked for certain games, because that may take milliseconds."""
    made, format_, _ = offers(1)
    assert tuple(made.wanted(list(NOW))) == NOW
    assert not format_.asked["ahead"]
    assert tuple(offers(2)[0].wanted(list(NOW))) == NOW + LATER


def test_the_rest_of_an_encounter_comes_first_where_it_was_begun() -> None:
    """The remaining games of a started encounter come first, unless one of them is in progress."""
    made, _, allotment = offers(2)
    allotment.begin(0, LATER[0])
    allotment.begin(1, NOW[0])
    assert tuple(made.wanted(list(NOW))) == NOW[2:]
    allotment.end(LATER[0], failed=False)
    assert tuple(made.wanted(list(NOW))) == LATER + NOW[2:]


def test_a_promise_is_one_however_often_it_is_written_down() -> None:
    """An equal pairing is the same game; one with other colors, or one that is not offered, is not."""
    made, _, _ = offers(2)
    for game in (*NOW, *LATER):
        assert made.are_sure_of(replace(game), list(NOW))
    assert not made.are_sure_of(replace(NOW[2], white="Dot", black="Cid"), list(NOW))
    assert not made.are_sure_of(NOW[0], [NOW[2]])


# Concurrent requests and kills during eight games; the night tests do hundreds.


def test_a_steered_run_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """After concurrent requests and dead slots the log is complete, and all processes have ended."""
    turmoil = Turmoil(tmp_path, random.Random(7), cycles=6)
    for act in ("slots", "kill", "pause", "slots", "void", "unpause", "slots", "withdraw", "slots"):
        turmoil.steer(act)
    assert turmoil.settle() >= 20
    assert turmoil.done["slots"] >= 3
