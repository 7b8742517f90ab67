"""The only loop, with a log in memory and a place that plays at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from itertools import count
from queue import Empty, SimpleQueue
from typing import Any

import pytest

from enginetour.formats.base import make_format, options_model
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
from enginetour.tournament.scheduler import End, Scheduler, Watcher

ENTRANTS = tuple(Entrant(name) for name in ("Ada", "Bea", "Cid", "Dot"))


class MemoryLog:
    """A log as the store keeps it: idempotent by key and replay."""

    def __init__(self) -> None:
        self.games: dict[tuple[GameKey, int], Game] = {}
        self.notes: list[Note] = []
        self.left: list[tuple[Event, str]] = []

    def events(self) -> Iterable[Event]:
        return [GameFinished(game.pairing, game.outcome) for game in self.games.values()]

    def record_games(self, games: Sequence[tuple[Game, Sequence[Note]]]) -> list[int | None]:
        return [self.record_game(game, notes) for game, notes in games]

    def record_game(self, game: Game, notes: Sequence[Note]) -> int | None:
        place = (game.pairing.key, game.replay)
        if place in self.games:
            return None
        self.games[place] = game
        self.notes += notes
        return len(self.games)

    def record_event(self, event: Event, notes: Sequence[Note], *, why: str) -> int:
        self.left.append((event, why))
        return len(self.left)

    def replays(self, key: GameKey) -> int:
        return sum(place[0] == key and game.outcome is Outcome.VOID for place, game in self.games.items())


class Inline:
    """A place that plays in the caller: `verdict` decides each game, or raises what the machine would."""

    def __init__(self, verdict: Callable[[GameTask], Game]) -> None:
        self.verdict = verdict
        self.tasks: list[GameTask] = []
        self.stopped = ""
        self.sizes: list[int] = []

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        self.tasks.append(task)
        future: Future[Any] = Future()
        try:
            future.set_result(self.verdict(task))
        except MachineFailure as failure:
            future.set_exception(failure)
        return future

    def resize(self, slots: int) -> None:
        self.sizes.append(slots)

    def stop(self, *, now: bool) -> None:
        self.stopped = "now" if now else "finish"


class Heard(Watcher):
    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.words: list[str] = []

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        self.numbers.append(number)

    def trouble(self, text: str) -> None:
        self.words.append(text)


def ended(task: GameTask, outcome: Outcome = Outcome.WHITE, **more: Any) -> Game:
    return Game(task.pairing, outcome, Termination.MATE, replay=task.replay, **more)


def task_for(pairing: Pairing, replay: int) -> GameTask:
    side = Side(EngineSpec("x", ("x",), "uci"), TimeControl.parse("1+0"))
    return GameTask(pairing, side, side, replay=replay)


class Unwaiting(SimpleQueue[Callable[[], None]]):
    """An inbox that waits for nobody: here games end as they begin, and the clock is the test's."""

    def get(self, block: bool = True, timeout: float | None = None) -> Callable[[], None]:
        return super().get(block=False)


def scheduler(verdict: Callable[[GameTask], Game], log: MemoryLog | None = None, **more: Any) -> Scheduler:
    format_ = make_format("roundrobin", options_model("roundrobin")())
    ticks = iter(range(0, 10_000_000, 100))
    settings: dict[str, Any] = {"watcher": Heard(), "inbox": Unwaiting(), "clock": lambda: float(next(ticks)), **more}
    return Scheduler(log or MemoryLog(), format_, ENTRANTS, Inline(verdict), task_for, **settings)


def heard(loop: Scheduler) -> Heard:
    assert isinstance(loop.watcher, Heard)
    return loop.watcher


def test_a_round_robin_is_played_to_its_end() -> None:
    """Four engines play six games, each announced once, in the order of the log."""
    loop = scheduler(ended)
    assert loop.run() is End.FINISHED
    assert heard(loop).numbers == [1, 2, 3, 4, 5, 6]


def test_a_resume_plays_only_what_is_missing() -> None:
    """Starting over the log of a stopped run is the same act as resuming it."""
    log = MemoryLog()
    assert scheduler(ended, log, most_games=4).run() is End.ENOUGH
    assert len(log.games) == 4
    rest = scheduler(ended, log)
    assert rest.run() is End.FINISHED
    assert len(log.games) == 6
    assert len(heard(rest).numbers) == 2


def test_a_machine_failure_plays_the_game_again() -> None:
    """A slot that dies costs nothing: the same pairing is offered again and counted once."""
    failures = iter([True, False, True])

    def verdict(task: GameTask) -> Game:
        if next(failures, False):
            raise MachineFailure("slot died")
        return ended(task)

    loop = scheduler(verdict)
    assert loop.run() is End.FINISHED
    assert len(heard(loop).numbers) == 6
    assert sum("slot died" in words for words in heard(loop).words) == 2


def test_a_pairing_an_engine_cannot_play_stays_open() -> None:
    """Two replays, then the pairing is set aside, the others are played, and the end says blocked."""

    def verdict(task: GameTask) -> Game:
        if task.pairing.pair == ("Ada", "Bea"):
            return ended(task, Outcome.VOID, culprit="Bea", category="unsupported", cause="cannot set position")
        return ended(task)

    loop = scheduler(verdict)
    assert loop.run() is End.BLOCKED
    log = loop.log
    assert isinstance(log, MemoryLog)
    voids = [game for game in log.games.values() if game.outcome is Outcome.VOID]
    assert len(voids) == 3
    assert [game.replay for game in voids] == [0, 1, 2]
    assert len(log.games) == 8


def without_dot(task: GameTask) -> Game:
    """Dot does not start."""
    if "Dot" in task.pairing.pair:
        return ended(task, Outcome.VOID, culprit="Dot", category="start-failure", cause="exit 1")
    return ended(task)


def test_an_engine_that_never_starts_is_suspended() -> None:
    """Three failed starts in a row set the engine aside; everybody else plays on."""
    loop = scheduler(without_dot)
    assert loop.run() is End.BLOCKED
    assert loop.setbacks.suspended == {"Dot": "exit 1"}
    assert loop.played == 3


@pytest.mark.parametrize("event", [Withdrawn("Dot"), Replaced("Dot", Entrant("Eve"))])
@pytest.mark.parametrize("tried_again", [False, True])
def test_who_has_left_is_not_suspended(event: Event, *, tried_again: bool) -> None:
    """Whoever withdraws or replaces an engine that does not start is not told again to mend or withdraw it."""
    loop = scheduler(without_dot)
    assert loop.run() is End.BLOCKED
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
    assert loop.run() is End.FINISHED


def test_one_void_is_replayed_with_the_next_replay_number() -> None:
    """A void game does not count and the same key is played again."""
    first = iter([True])

    def verdict(task: GameTask) -> Game:
        if next(first, False):
            return ended(task, Outcome.VOID, culprit="Ada", category="engine-abort", cause="*")
        return ended(task)

    loop = scheduler(verdict)
    assert loop.run() is End.FINISHED
    place = loop.place
    assert isinstance(place, Inline)
    assert [task.replay for task in place.tasks] == [0, 1, 0, 0, 0, 0, 0]


def test_stop_ends_the_loop_without_new_games() -> None:
    """After a stop nothing more is submitted and the end says so."""
    loop = scheduler(ended)
    loop.inbox.put(lambda: loop.stop(now=False))
    assert loop.run() is End.STOPPED
    assert isinstance(loop.place, Inline)
    assert loop.place.stopped == "finish"
    assert len(heard(loop).numbers) <= 2


def test_a_result_that_comes_twice_is_counted_once() -> None:
    """Recording is idempotent: the number None changes neither state nor count."""
    log = MemoryLog()
    loop = scheduler(ended, log)
    pairing = loop.format.offers(loop.state)[0]
    log.record_game(ended(task_for(pairing, 0)), ())
    before = loop.state
    future: Future[Any] = Future()
    future.set_result(ended(task_for(pairing, 0)))
    loop._settle(future, pairing, 0.0)
    loop._record()
    assert loop.state is before
    assert loop.played == 0


class Airborne(Inline):
    """A place whose games are in the air until they are told to end."""

    def __init__(self, seats: int = 99) -> None:
        super().__init__(ended)
        self.futures: list[Future[Any]] = []
        self.seats = seats
        self.wishes: list[int | None] = []

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        self.tasks.append(task)
        self.futures.append(Future())
        self.wishes.append(prefer)
        if len(self.futures) <= self.seats:
            self.futures[-1].set_running_or_notify_cancel()
        return self.futures[-1]

    def end(self, number: int) -> None:
        self.futures[number].set_result(ended(self.tasks[number]))

    def pairs(self) -> list[tuple[str, str]]:
        return [task.pairing.pair for task in self.tasks]


def airborne(seats: int = 99, **options: Any) -> tuple[Scheduler, Airborne]:
    """A round robin of four in two slots, seen step by step; beyond so many games in all they wait for a seat."""
    place = Airborne(seats)
    format_ = make_format("roundrobin", options_model("roundrobin").model_validate(options))
    loop = Scheduler(MemoryLog(), format_, ENTRANTS, place, task_for, slots=2, inbox=Unwaiting(), watcher=Heard())
    loop._submit()
    return loop, place


def settle(loop: Scheduler) -> None:
    """What the loop does when games have ended."""
    loop._settle_all()
    loop._submit()


def test_an_engine_runs_no_more_often_than_it_may() -> None:
    """With one copy each and room for every game of the round robin, nobody is in two of them."""
    place, names = Airborne(), [entrant.name for entrant in ENTRANTS]
    format_ = make_format("roundrobin", options_model("roundrobin")())
    single = dict.fromkeys(names, 1)
    more: dict[str, Any] = {"inbox": Unwaiting(), "watcher": Heard(), "slots": 6}
    loop = Scheduler(MemoryLog(), format_, ENTRANTS, place, task_for, copies=single, **more)
    loop._submit()
    while loop.flying:
        playing = Counter(name for pairing, _ in loop.flying.values() for name in pairing.pair)
        assert max(playing.values()) == 1
        place.end(next(number for number, future in enumerate(place.futures) if not future.done()))
        settle(loop)
    assert len(place.tasks) == len(names) * (len(names) - 1) // 2
    loop = Scheduler(MemoryLog(), format_, ENTRANTS, Airborne(), task_for, **more)
    loop._submit()
    assert max(Counter(name for pairing, _ in loop.flying.values() for name in pairing.pair).values()) > 1


def test_the_process_of_such_an_engine_goes_with_its_game() -> None:
    """One that waited in its slot would be a second copy beside the next game's; with one slot it may wait."""

    def single(pairing: Pairing, replay: int) -> GameTask:
        side = Side(EngineSpec("x", ("x",), "uci", max_copies=1), TimeControl.parse("1+0"))
        return GameTask(pairing, side, side, replay=replay)

    format_ = make_format("roundrobin", options_model("roundrobin")())
    for slots, restart in ((2, "on"), (1, "auto")):
        place = Inline(ended)
        Scheduler(MemoryLog(), format_, ENTRANTS, place, single, slots=slots, watcher=Heard()).run()
        assert {side.spec.restart for task in place.tasks for side in (task.white, task.black)} == {restart}


def test_both_legs_of_an_encounter_are_played_in_one_slot() -> None:
    """With two slots two encounters are on; the other leg follows in the same slot, and nothing overtakes it."""
    loop, place = airborne(games_per_pairing=2)
    assert len(set(place.pairs())) == len(place.tasks) == 2
    assert place.wishes == [0, 1]
    place.end(1)
    settle(loop)
    assert place.pairs()[2] == place.pairs()[1]
    assert place.wishes[2] == 1
    assert place.tasks[2].pairing.leg == 2


def test_what_a_stop_drops_is_no_failure_of_the_machine() -> None:
    """It is not said to be played again."""
    loop, place = airborne()
    loop.stop(now=True)
    for future in place.futures:
        future.set_exception(MachineFailure("dropped"))
    assert loop.run() is End.STOPPED
    assert not heard(loop).words


def test_a_second_reason_to_stop_leaves_running_games_their_grace() -> None:
    """Ctrl-C gave them an end; a request to finish, or an engine that has changed, does not take it away."""
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
    assert loop.run() is End.STOPPED
    assert place.stopped == "now"


def test_a_pause_begins_no_game_and_ends_no_tournament() -> None:
    """Games in the air end, then nothing happens until somebody asks; a stop is still heard."""
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
    assert loop.run() is End.STOPPED


def test_nobody_is_given_up_in_a_pause() -> None:
    """Where nothing could be played but with engines that do not start, a pause is still waited for."""
    loop = scheduler(without_dot)
    assert loop.run() is End.BLOCKED
    loop.paused = True
    assert loop._verdict() is None
    loop.paused = False
    assert loop._verdict() is End.BLOCKED


def test_a_pause_after_the_last_game_is_none() -> None:
    """What is over is over."""

    def verdict(task: GameTask) -> Game:
        loop.paused = len(loop.place.tasks) == 6  # type: ignore[attr-defined]
        return ended(task)

    loop = scheduler(verdict)
    assert loop.run() is End.FINISHED
    assert loop.paused


def test_fewer_and_more_slots_while_games_run() -> None:
    """A lowered number takes effect as games end, a raised one at once; the place is told."""
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
    """An engine that is another now: the other game ends and counts, nothing begins, and the reason is kept."""
    loop, place = airborne()

    def refused(pairing: Pairing, replay: int) -> GameTask:
        raise InputRefused("Ada has changed")

    loop.task_for = refused
    place.end(0)
    settle(loop)
    assert loop.stopping == place.stopped == "finish"
    assert heard(loop).words == ["no new games, running ones end: Ada has changed"]
    place.end(1)
    assert loop.run() is End.STOPPED
    assert len(loop.log.games) == 2  # type: ignore[attr-defined]
    assert loop.refusal is not None
    assert len(place.tasks) == 2


def test_our_own_failure_in_a_place_is_no_failure_of_the_machine() -> None:
    """It is not tried again; the game in the air ends and counts."""
    loop, place = airborne()
    place.futures[0].set_exception(TourError("not ours any more"))
    settle(loop)
    place.end(1)
    assert loop.run() is End.STOPPED
    assert str(loop.refusal) == "not ours any more"
    assert (len(place.tasks), len(loop.log.games)) == (2, 1)  # type: ignore[attr-defined]


class Landing(Inline):
    """A place and the loop's inbox: games stay in the air until the loop waits, and then one of them ends, by lot."""

    def __init__(self, seed: int) -> None:
        super().__init__(ended)
        self.air: list[tuple[Future[Any], GameTask]] = []
        self.dice = random.Random(seed)

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        future: Future[Any] = Future()
        self.tasks.append(task)
        self.air.append((future, task))
        return future

    def get(self, block: bool = True, timeout: float | None = None) -> Callable[[], None]:
        if self.air:
            future, task = self.air.pop(self.dice.randrange(len(self.air)))
            outcome = random.Random(f"{task.pairing.key}").choice([Outcome.WHITE, Outcome.DRAW, Outcome.BLACK])
            future.set_result(ended(task, outcome))
        return lambda: None

    def get_nowait(self) -> Callable[[], None]:
        raise Empty

    def empty(self) -> bool:
        return True

    def put(self, _: Callable[[], None]) -> None:
        pass


@pytest.mark.parametrize("pair_games", [1, 2])
def test_more_slots_play_the_same_bubble(pair_games: int) -> None:
    """With three slots the loop looks ahead: more games are at once in the air, and log and decisions stay the same."""
    options = options_model("bubble")(size=4, min_matches=5, unpark_threshold=2, games_per_pairing=pair_games)
    format_ = make_format("bubble", options)
    field = tuple(Entrant(f"E{number}") for number in range(9))

    def log_of(slots: int) -> tuple[MemoryLog, int]:
        log, place = MemoryLog(), Landing(slots)
        loop = Scheduler(log, format_, field, place, task_for, slots=slots, inbox=place)  # type: ignore[arg-type]
        assert loop.run() is End.FINISHED
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
    """A log that looks at what was begun whenever it writes, and may fail."""

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


def beside(place: Inline, log: MemoryLog, system: str = "roundrobin", **more: Any) -> Scheduler:
    format_ = make_format(system, options_model(system).model_validate(more.pop("options", {})))
    field = ENTRANTS[:2] if system == "match" else ENTRANTS
    return Scheduler(log, format_, field, place, task_for, watcher=Heard(), inbox=Unwaiting(), **more)


def test_a_game_is_written_while_the_next_one_is_played() -> None:
    """A slot does not wait for a commit, and is one game ahead of it at most; nothing begins after the last."""
    place = Inline(ended)
    log = Slow(place)
    assert beside(place, log).run() is End.FINISHED
    assert log.begun == [2, 3, 4, 5, 6, 6]


def test_a_number_of_games_is_no_less_for_those_begun_beforehand() -> None:
    """`most_games` counts the game that is being written."""
    place = Inline(ended)
    assert beside(place, Slow(place), most_games=3).run() is End.ENOUGH
    assert len(place.tasks) == 3


def test_a_failed_commit_announces_nothing_and_loses_the_game_beside_it() -> None:
    """The run ends; the next one plays both games again, and no other."""
    place = Inline(ended)
    log = Slow(place, fails_at=3)
    loop = beside(place, log)
    with pytest.raises(StorageFailed):
        loop.run()
    assert heard(loop).numbers == [1, 2]
    assert len(place.tasks) == 4
    again = Inline(ended)
    assert beside(again, log).run() is End.FINISHED
    assert [task.pairing for task in again.tasks[:2]] == [task.pairing for task in place.tasks[2:]]
    assert len(log.games) == 6


def test_no_game_begins_beside_the_one_that_decides_a_test() -> None:
    """Its result is known, if not yet written: a match that is decided begins nothing."""
    place = Inline(lambda task: ended(task, Outcome.WHITE if task.pairing.white == "Ada" else Outcome.BLACK))
    options = {"games": 400, "sprt": {"elo0": 0.0, "elo1": 100.0, "model": "logistic"}}
    loop = beside(place, MemoryLog(), "match", options=options)
    assert loop.run() is End.FINISHED
    assert len(place.tasks) == loop.played < 60


def test_a_stop_holds_for_the_game_beside_a_commit() -> None:
    """Whoever stops a run before a slot is free again gets no more games, by the clock as by a request."""

    class Beside(Heard):
        def turn(self, scheduler: Scheduler) -> None:
            looks.append(len(place.tasks))
            if looks.count(3) == 2:  # before that one began, and when it has ended and is not written
                scheduler.stop(now=False)

    place, looks = Inline(ended), list[int]()
    loop = beside(place, MemoryLog())
    loop.watcher = Beside()
    assert loop.run() is End.STOPPED
    assert len(place.tasks) == loop.played == 3

    class Asking(Inline):
        def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
            if len(self.tasks) == 2:
                loop.inbox.put(lambda: loop.stop(now=False))
            return super().submit(task, prefer)

    place = Asking(ended)
    loop = beside(place, MemoryLog(), slots=2)
    assert loop.run() is End.STOPPED
    assert len(place.tasks) == loop.played == 3


class Batches(MemoryLog):
    """Keeps how many games came in each commit."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []

    def record_games(self, games: Sequence[tuple[Game, Sequence[Note]]]) -> list[int | None]:
        self.sizes.append(len(games))
        return super().record_games(games)


def eight(log: MemoryLog, **more: Any) -> tuple[Scheduler, Airborne]:
    """A bubble of eight whose first games are in the air."""
    place, field = Airborne(), tuple(Entrant(f"E{number}") for number in range(8))
    options = {"size": 4, "min_matches": 3, "unpark_threshold": 2}
    format_ = make_format("bubble", options_model("bubble").model_validate(options))
    loop = Scheduler(log, format_, field, place, task_for, slots=6, inbox=Unwaiting(), watcher=Heard(), **more)
    loop._submit()
    return loop, place


def test_games_that_come_together_are_written_together() -> None:
    """One commit for all that have ended, announced after it in their order; log and decisions as one by one."""
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
    """A request that comes among results is carried out when those before it are durable and told."""
    log, seen = Batches(), list[tuple[int, int]]()
    loop, place = eight(log)
    for number in range(3):
        place.end(number)
    loop.inbox.put(lambda: seen.append((len(log.games), len(heard(loop).numbers))))
    loop._settle_all()
    assert seen == [(1, 1)]
    assert log.sizes == [1, 2]


def test_games_are_told_in_the_order_in_which_they_ended() -> None:
    """Not in that in which they began, though all are written together."""
    log = Batches()
    loop, place = eight(log)
    for number in (4, 0, 2):
        place.end(number)
    settle(loop)
    assert log.sizes == [3]
    assert [game.pairing for game in log.games.values()] == [place.tasks[number].pairing for number in (4, 0, 2)]


def test_a_void_game_is_written_before_anything_follows() -> None:
    """It may set an engine aside, so it is heeded before the next result is looked at."""
    log = Batches()
    loop, place = eight(log)
    place.end(0)
    place.futures[1].set_result(ended(place.tasks[1], Outcome.VOID, culprit="E1", category="engine-abort"))
    place.end(2)
    settle(loop)
    assert log.sizes == [2, 1]


def test_a_request_that_comes_with_the_last_game_is_carried_out() -> None:
    """The loop saw that nothing is left to play, and left a waiting request without an answer."""
    done = list[str]()

    class Late(Heard):
        def progress(self, scheduler: Scheduler) -> None:
            if not scheduler.format.offers(scheduler.state) and not done:
                scheduler.inbox.put(lambda: done.append("done"))

    assert scheduler(ended, watcher=Late()).run() is End.FINISHED
    assert done == ["done"]


def test_a_game_that_the_machine_is_too_busy_for_is_played_at_last() -> None:
    """After three doubtful time losses it waits, the others are played meanwhile, and then it is played."""
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
    assert loop.run() is End.FINISHED
    assert (len(played), played[-1]) == (6, first)
    assert sum("waits until the machine is less busy" in words for words in heard(loop).words) == 1


@pytest.mark.parametrize("starts", [True, False])
def test_a_machine_that_is_too_busy_is_no_fault_of_an_engine(*, starts: bool) -> None:
    """A run that left doubtful games open asked to mend or withdraw an engine."""

    def verdict(task: GameTask) -> Game:
        if task.pairing.pair == ("Ada", "Bea"):
            return Game(task.pairing, Outcome.VOID, Termination.TIME, "doubtful", category="host", replay=task.replay)
        return ended(task) if starts else without_dot(task)

    seconds = count(step=100)
    loop = scheduler(verdict, clock=lambda: float(next(seconds)))
    assert loop.run() is (End.BUSY if starts else End.BLOCKED)
