"""Tests of tournament/quality."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.model.errors import InputRefused
from enginetour.model.game import Entrant, Event, Game, Outcome, Pairing, Replaced, Termination, Withdrawn
from enginetour.model.task import EngineSpec, GameTask
from enginetour.store.log import TournamentLog
from enginetour.store.tournaments import Store
from enginetour.tournament.config.load import load
from enginetour.tournament.plan import prepare
from enginetour.tournament.quality import FailureCounts, Reserves, counted_failures
from enginetour.tournament.scheduler import GameLimit, RunEnd, Scheduler
from enginetour.tournament.setbacks import Standstill
from tests.support.tournaments import (
    BOOK,
    BUBBLE,
    Airborne,
    Forked,
    Heard,
    Inline,
    Kept,
    MemoryLog,
    audit,
    config,
    ended,
    loop_of,
    read,
    scripted,
    settle,
    tour,
    try_engines_once,
    without_dot,
)

KINDS = {
    "crashes": Termination.CRASH,
    "stalls": Termination.STALL,
    "time_losses": Termination.TIME,
    "illegal_moves": Termination.ILLEGAL_MOVE,
}
NAMES = "ABC"

# Counting.


def game(white: str, black: str, culprit: str, termination: Termination, outcome: Outcome = Outcome.WHITE) -> Game:
    return Game(Pairing(white, black), outcome, termination, culprit=culprit)


GAMES = st.builds(
    lambda pair, at, termination, outcome: game(pair[0], pair[1], ("", *pair)[at], termination, outcome),
    st.sampled_from([(a, b) for a in NAMES for b in NAMES if a != b]),
    st.integers(0, 2),
    st.sampled_from([*KINDS.values(), Termination.MATE, Termination.ABORTED]),
    st.sampled_from([*Outcome]),
)
LIMITS = st.dictionaries(st.sampled_from([*KINDS]), st.integers(0, 4))


def counted(games: Iterable[Game], limits: Mapping[str, int]) -> FailureCounts:
    found = FailureCounts(limits)
    for one in games:
        found.record(one)
    return found


@given(st.lists(GAMES, max_size=300), LIMITS)
def test_an_engine_exceeds_a_limit_by_its_own_failures_only(games: list[Game], limits: dict[str, int]) -> None:
    """An engine exceeds a limit exactly if its failures are more than limit * max(1, games / 100)."""
    finished = [one for one in games if one.outcome is not Outcome.VOID]
    played = Counter(name for one in finished for name in one.pairing.pair)
    over = set()
    for key, limit in limits.items():
        own = Counter(one.culprit for one in finished if one.termination is KINDS[key])
        over |= {name for name in NAMES if own[name] > limit * max(1, played[name] / 100)}
    assert {name for name, _ in counted(games, limits).exceeding()} == over


@given(st.lists(GAMES, max_size=60), LIMITS, st.randoms())
def test_the_order_of_the_games_does_not_matter(games: list[Game], limits: dict[str, int], dice: Any) -> None:
    """The counts do not depend on the order in which the games ended."""
    before = [*counted(games, limits).exceeding()]
    dice.shuffle(games)
    assert [*counted(games, limits).exceeding()] == before


@given(st.lists(GAMES, max_size=60), LIMITS)
def test_sums_count_as_single_games(games: list[Game], limits: dict[str, int]) -> None:
    """Sums of equal games, as the database returns them, give the same counts."""
    sums = Counter((one.pairing.pair, one.culprit, one.termination) for one in games if one.outcome is not Outcome.VOID)
    found = FailureCounts(limits)
    for (pair, culprit, termination), times in sums.items():
        found.add(pair, culprit, termination, times)
    assert [*found.exceeding()] == [*counted(games, limits).exceeding()]


@given(st.lists(GAMES, max_size=60), LIMITS, st.sampled_from(NAMES))
def test_an_engine_that_left_exceeds_nothing(games: list[Game], limits: dict[str, int], left: str) -> None:
    """A withdrawn engine exceeds no limit, and the others are counted as before."""
    found = counted(games, limits)
    rest = [(name, why) for name, why in found.exceeding() if name != left]
    found.forget(left)
    assert [*found.exceeding()] == rest


def test_the_reason_states_the_numbers() -> None:
    """Limit 3: the fourth crash is one too many; in 134 games, four are allowed."""
    crash = game("A", "B", "A", Termination.CRASH)
    mate = game("A", "B", "", Termination.MATE)
    limits = {"crashes": 3, "stalls": 0}
    assert not [*counted([crash] * 3, limits).exceeding()]
    why = "4 crashes in 57 games, limit 3 per 100"
    assert [*counted([crash] * 4 + [mate] * 53, limits).exceeding()] == [("A", why)]
    assert [*counted([crash] * 4 + [mate] * 129, limits).exceeding()]
    assert not [*counted([crash] * 4 + [mate] * 130, limits).exceeding()]
    stall = game("A", "B", "B", Termination.STALL)
    assert [*counted([stall], limits).exceeding()] == [("B", "1 stall in 1 game, limit 0 per 100")]
    both = [*counted([*[crash] * 4, game("A", "B", "A", Termination.STALL)], limits).exceeding()]
    assert both == [("A", "4 crashes in 5 games, limit 3 per 100; 1 stall in 5 games, limit 0 per 100")]


def test_nobody_innocent_is_blamed() -> None:
    """Void games, games without a culprit and other endings are not failures."""
    limits = dict.fromkeys(KINDS, 0)
    harmless = [
        game("A", "B", "", Termination.TIME, Outcome.VOID),  # a doubtful time loss
        game("A", "B", "A", Termination.ABORTED, Outcome.VOID),
        game("A", "B", "A", Termination.CRASH, Outcome.VOID),
        game("A", "B", "", Termination.MATE),
        game("A", "B", "B", Termination.FALSE_CLAIM),
        game("A", "B", "A", Termination.RESIGN),
    ]
    found = counted(harmless, limits)
    assert not [*found.exceeding()]
    assert not any(map(found.is_failure, harmless))


def test_no_reserve_is_taken_twice() -> None:
    """Threads that share a pool take each reserve once, in order, and leave those that do not suit them."""
    pool = Reserves([*map(str, range(400)), "7"])
    taken: list[list[str]] = [[] for _ in range(4)]

    def work(mine: list[str]) -> None:
        while (name := pool.take(lambda name: name != "13")) is not None:
            mine.append(name)

    threads = [threading.Thread(target=work, args=(mine,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, chain.from_iterable(taken))) == [number for number in range(400) if number != 13]
    assert all(mine == sorted(mine, key=int) for mine in taken)
    assert pool.free == ("13",)
    assert (pool.take(), pool.take()) == ("13", None)


# The loop, with a log in memory.


class Leaving(Heard):
    """A watcher that keeps the engines that left."""

    def __init__(self) -> None:
        super().__init__()
        self.left: list[tuple[str, str, str]] = []

    def withdrawn(self, name: str, why: str, reserve: str = "") -> None:
        self.left.append((name, why, reserve))


class Log(MemoryLog):
    """A log that remembers its events in order."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[Event] = []

    def record_game(self, game: Game, notes: Any) -> int | None:
        self.order.append(game.finished)
        return super().record_game(game, notes)

    def record_event(self, event: Event, notes: Any, *, why: str, spec: EngineSpec | None = None) -> int:
        assert (spec is None) == isinstance(event, Withdrawn)
        self.order.append(event)
        return super().record_event(event, notes, why=why, spec=spec)

    def events(self) -> Iterable[Event]:
        return [*self.order]


def failing(name: str, termination: Termination = Termination.CRASH) -> Callable[[GameTask], Game]:
    """Let an engine lose all its games by a failure."""

    def verdict(task: GameTask) -> Game:
        pairing = task.pairing
        if name not in pairing.pair:
            return ended(task)
        outcome = Outcome.BLACK if pairing.white == name else Outcome.WHITE
        return Game(pairing, outcome, termination, culprit=name, replay=task.replay)

    return verdict


def failures_of(log: Log, limits: Mapping[str, int]) -> FailureCounts:
    """Count the failures in a log, as `counted_failures` does."""
    gone = [event.old if isinstance(event, Replaced) else event.name for event, _ in log.left]  # type: ignore[union-attr]
    found = FailureCounts(limits, gone)
    for one in log.games.values():
        found.record(one)
    return found


def controlled(
    executor: Inline, log: Log | None = None, limits: Mapping[str, int] | None = None, pool: Any = None, **more: Any
) -> Scheduler:
    """Make a loop with limits, and with the reserves Eva and Fay."""
    log = Log() if log is None else log
    limits = {"crashes": 1} if limits is None else limits
    spec = EngineSpec("x", ("x",), "uci")
    return loop_of(
        executor,
        log,
        watcher=Leaving(),
        count_failures=partial(failures_of, log, limits),
        reserves=Reserves(["Eva", "Fay"]) if pool is None else pool,
        substitutes={name: (Entrant(name), spec) for name in ("Eva", "Fay")},
        **more,
    )


def left(loop: Scheduler) -> list[tuple[str, str, str]]:
    return cast("Leaving", loop.watcher).left


def events_of(loop: Scheduler) -> list[Event]:
    return [event for event, _ in cast("Log", loop.log).left]


FORMATS: list[tuple[str, dict[str, Any]]] = [
    ("roundrobin", {"cycles": 2}),
    ("bubble", {"size": 3, "min_matches": 2, "unpark_threshold": 2, "games_per_pairing": 2}),
    ("swiss", {"rounds": 3, "games_per_pairing": 2}),
    ("adaptive", {"games": 40}),
]


@pytest.mark.parametrize(("system", "options"), FORMATS)
def test_a_reserve_takes_over_in_every_format(system: str, options: dict[str, Any]) -> None:
    """After its second crash, an engine is replaced at once, plays no further game, and the reserve plays."""
    loop = controlled(Inline(failing("Dot")), system=system, options=options)
    assert loop.run() is RunEnd.FINISHED
    assert events_of(loop) == [Replaced("Dot", Entrant("Eva"))]
    ((name, why, reserve),) = left(loop)
    assert (name, reserve) == ("Dot", "Eva")
    assert why.startswith("2 crashes in ")
    assert why.endswith(" games, limit 1 per 100")
    order = cast("Log", loop.log).order
    rest = order[order.index(Replaced("Dot", Entrant("Eva"))) :]
    played = [name for event in rest if not isinstance(event, Replaced) for name in event.pairing.pair]  # type: ignore[union-attr]
    assert "Dot" not in played
    assert "Eva" in played
    assert f"Eva replaces Dot: {why}" in cast("Leaving", loop.watcher).words


@pytest.mark.parametrize("key", KINDS)
def test_each_kind_has_its_own_limit(key: str) -> None:
    """A limit of 0 replaces an engine at the first failure of this kind, and other kinds are not counted."""
    loop = controlled(Inline(failing("Dot", KINDS[key])), limits={key: 0})
    loop.run()
    assert [reserve for _, _, reserve in left(loop)] == ["Eva"]
    others = dict.fromkeys(KINDS.keys() - {key}, 0)
    loop = controlled(Inline(failing("Dot", KINDS[key])), limits=others)
    loop.run()
    assert not left(loop)


def test_without_a_free_reserve_the_engine_is_withdrawn() -> None:
    """A reserve that fails is replaced by the next one, which is the last: then the engine is withdrawn."""
    verdicts = {name: failing(name) for name in ("Dot", "Eva", "Fay")}

    def verdict(task: GameTask) -> Game:
        return next((verdicts[name](task) for name in verdicts if name in task.pairing.pair), ended(task))

    loop = controlled(Inline(verdict), options={"cycles": 2})
    assert loop.run() is RunEnd.FINISHED
    assert events_of(loop) == [Replaced("Dot", Entrant("Eva")), Replaced("Eva", Entrant("Fay")), Withdrawn("Fay")]
    assert loop.reserves.free == ()


@pytest.mark.parametrize(("system", "options"), [("knockout", {}), ("swiss", {"rounds": 2})])
def test_a_format_that_takes_no_newcomers_keeps_the_reserve(system: str, options: dict[str, Any]) -> None:
    """If no entrant can join, or none would play any more, the engine is withdrawn, and the reserve stays free."""
    loop = controlled(Inline(failing("Dot")), system=system, options=options, limits={"crashes": 0})
    if system == "swiss":
        loop = controlled(Inline(failing("Dot")), system=system, options=options)
    loop.run()
    assert events_of(loop) == [Withdrawn("Dot")]
    assert loop.reserves.free == ("Eva", "Fay")


def test_a_match_ends() -> None:
    """A match cannot replace an engine: it is withdrawn, and the match ends."""
    pair = (Entrant("Ada"), Entrant("Dot"))
    loop = controlled(Inline(failing("Dot")), field=pair, system="match", options={"games": 10})
    assert loop.run() is RunEnd.FINISHED
    assert events_of(loop) == [Withdrawn("Dot")]
    assert len(cast("Log", loop.log).games) == 2


def test_a_name_that_has_played_is_not_taken() -> None:
    """A reserve with the name of an entrant stays in the pool, and so does one of another tournament."""
    pool = Reserves(["Ada", "Zoe", "Fay"])
    loop = controlled(Inline(failing("Dot")), pool=pool)
    loop.substitutes = {**loop.substitutes, "Ada": (Entrant("Ada"), EngineSpec("x", ("x",), "uci"))}
    loop.run()
    assert events_of(loop) == [Replaced("Dot", Entrant("Fay"))]
    assert pool.free == ("Ada", "Zoe")


def test_tournaments_share_a_pool() -> None:
    """Two tournaments with one pool use different reserves."""
    pool = Reserves(["Eva", "Fay"])
    for reserve in ("Eva", "Fay"):
        loop = controlled(Inline(failing("Dot")), pool=pool)
        loop.run()
        assert events_of(loop) == [Replaced("Dot", Entrant(reserve))]


def test_games_in_progress_are_played_to_their_end() -> None:
    """An engine is replaced while it plays in another slot; that game is played to its end and recorded."""
    place = Airborne()
    loop = controlled(place, limits={"crashes": 0}, slots=6)
    loop._submit()
    first, second, *_ = [number for number, task in enumerate(place.tasks) if "Dot" in task.pairing.pair]
    place.futures[first].set_result(failing("Dot")(place.tasks[first]))
    settle(loop)
    assert events_of(loop) == [Replaced("Dot", Entrant("Eva"))]
    assert place.tasks[second].pairing in loop.playing()
    place.end(second)
    settle(loop)
    assert len(cast("Log", loop.log).games) == 2
    assert sum("Dot" in task.pairing.pair for task in place.tasks) == 3


def test_a_kill_between_game_and_event_changes_nothing() -> None:
    """A run that was killed after each write is continued; the log is the same as without a kill."""

    class Killed(Exception):
        pass

    class Mortal(Log):
        writes = 0

        def record_games(self, games: Any) -> Any:
            self._live()
            return super().record_games(games)

        def record_event(self, event: Event, notes: Any, *, why: str, spec: EngineSpec | None = None) -> int:
            self._live()
            return super().record_event(event, notes, why=why, spec=spec)

        def _live(self) -> None:
            self.writes -= 1
            if self.writes < 0:
                raise Killed

    whole = controlled(Inline(failing("Dot")))
    whole.run()
    for writes in range(1, len(cast("Log", whole.log).order)):
        log = Mortal()
        log.writes = writes
        pool = Reserves(["Eva", "Fay"])
        with pytest.raises(Killed):
            controlled(Inline(failing("Dot")), log).run()
        log.writes = 10**6
        used = {event.entrant.name for event, _ in log.left if isinstance(event, Replaced)}
        rest = controlled(Inline(failing("Dot")), log, pool=Reserves(name for name in pool.free if name not in used))
        assert rest.run() is RunEnd.FINISHED
        assert log.order == cast("Log", whole.log).order


def test_changed_limits_apply_on_resume() -> None:
    """A lower limit replaces an engine before the first game; a higher one keeps it."""
    log = Log()
    controlled(Inline(failing("Dot")), log, {"crashes": 3}, options={"cycles": 2}, limit=GameLimit(6)).run()
    assert not log.left
    kept = controlled(Inline(failing("Dot")), log, {"crashes": 50}, options={"cycles": 2}, limit=GameLimit(1))
    kept.run()
    assert not log.left
    games = len(log.games)
    lower = controlled(Inline(ended), log, {"crashes": 0}, options={"cycles": 2})
    assert lower.run() is RunEnd.FINISHED
    assert log.order[games] == Replaced("Dot", Entrant("Eva"))


def test_an_engine_that_cannot_start_is_replaced() -> None:
    """After the wait for an engine that cannot start, a reserve takes its place, also if no other game would remain."""
    ticks = iter(range(0, 10_000_000, 100))
    more: dict[str, Any] = {"clock": lambda: float(next(ticks)), "limits": {}}
    loop = controlled(Inline(without_dot), standstill=Standstill(600.0, withdraws=True), **more)
    assert loop.run() is RunEnd.FINISHED
    assert events_of(loop) == [Replaced("Dot", Entrant("Eva"))]
    assert "did not start for 10 min" in left(loop)[0][1]
    loop = controlled(Inline(without_dot), standstill=Standstill(600.0, withdraws=False), **more)
    assert loop.run() is RunEnd.BLOCKED
    assert loop.reserves.free == ("Eva", "Fay")


def test_the_event_names_the_reserve() -> None:
    """The event log and the notifications get the reason and the reserve."""
    from enginetour.tournament.events import RunEvents

    kept = Kept()
    loop = controlled(Inline(failing("Dot")))
    loop.watcher = RunEvents("autumn", (kept,), lambda: 0.5)
    loop.run()
    (event,) = kept.of("withdrawn")
    assert (event["engine"], event["reserve"]) == ("Dot", "Eva")
    assert event["text"] == f"autumn: Eva replaces Dot: {event['cause']}"


# The configuration.


def written(
    folder: Path,
    system: str = "roundrobin",
    settings: str = "",
    more: str = "",
    bad: str = "crash",
    names: Sequence[str] = ("Ada", "Bea", "Bad", "Dot", "Spare"),
) -> Path:
    """Write a tournament of three engines and one with a fault in each game, and the reserve Spare."""
    (folder / "suite.epd").write_text(BOOK.splitlines()[0] + "\n")
    sections = {
        "Ada": scripted("Ada", "uci"),
        "Bea": scripted("Bea", "cecp"),
        "Bad": scripted("Bad", "uci", "--fault", bad, "--at", "2", "--seconds", "1"),
        "Dot": scripted("Dot", "cecp"),
        "Spare": f"{scripted('Spare', 'uci')}reserve = true\n",
    }
    entrants = "".join(sections[name] for name in names)
    play = 'openings = { file = "suite.epd" }\n'
    return config(folder, (), system, settings, more + entrants, tc="60+1", play=play)


def test_limits_are_whole_numbers(tmp_path: Path) -> None:
    """A limit is a whole number from 0 to 100; the section has no other keys."""
    path = written(tmp_path, more="\n[quality]\ncrashes = 3\nillegal_moves = 0\n")
    assert load(path).quality.limits() == {"crashes": 3, "illegal_moves": 0}
    for line in ("crashes = -1", "crashes = 1.5", "crashes = true", "stalls = 101", "crash = 1"):
        with pytest.raises(InputRefused, match=line.split(" = ", maxsplit=1)[0]):
            load(written(tmp_path, more=f"\n[quality]\n{line}\n"))


def test_reserves_are_not_in_the_starting_list(tmp_path: Path) -> None:
    """Reserves have a side but are no entrants, and `inherit` does not pass the key on."""
    path = written(tmp_path)
    path.write_text(path.read_text() + '\n[[entrants]]\nname = "Heir"\ninherit = "Spare"\n')
    plan = prepare(path, None)
    assert [entrant.name for entrant in plan.entrants] == ["Ada", "Bea", "Bad", "Dot", "Heir"]
    assert [entrant.name for entrant in plan.reserves] == ["Spare"]
    assert set(plan.sides) == {"Ada", "Bea", "Bad", "Dot", "Heir", "Spare"}


def test_a_tournament_of_reserves_is_refused(tmp_path: Path) -> None:
    """Two entrants are needed besides the reserves."""
    text = written(tmp_path).read_text()
    names = ("Ada", "Bea", "Bad", "Dot")
    for name in names:
        text = text.replace(f'name = "{name}"\n', f'name = "{name}"\nreserve = true\n')
    (tmp_path / "trial.toml").write_text(text)
    told = tour(tmp_path, "check", "trial.toml", expect=3).stderr
    assert "a tournament needs at least two entrants (found 0 and 5 reserves)" in told


def test_reserves_without_effect_are_reported(tmp_path: Path) -> None:
    """`check` warns about reserves that can never play, and about nothing else."""
    path = written(tmp_path)
    assert "reserve = true" not in tour(tmp_path, "check", path.name).stdout
    path.write_text(path.read_text().replace("[play]\n", '[play]\non_suspend = "stop"\n'))
    told = tour(tmp_path, "check", path.name).stdout
    assert 'warning: reserve = true has no effect (Spare): [quality] has no limits, and on_suspend is "stop"' in told
    path = written(tmp_path, "knockout", more="\n[quality]\ncrashes = 1\n")
    told = tour(tmp_path, "check", path.name).stdout
    assert "reserve = true has no effect (Spare): entrants cannot join this tournament after its start" in told


def test_a_reserve_that_cannot_start_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reserve is started before game 1, as an entrant is."""
    try_engines_once(monkeypatch)
    path = written(tmp_path)
    text, at = path.read_text(), path.read_text().index('name = "Spare"')
    path.write_text(text[:at] + text[at:].replace("playing.py", "missing.py"))
    done = tour(tmp_path, "run", path.name, expect=4)
    assert "engine Spare" in done.stderr
    assert len(done.stderr.strip().splitlines()) <= 2
    assert not (tmp_path / "results" / "enginetour.db").exists()


# Whole runs with scripted engines.


def stored(folder: Path) -> tuple[list[Replaced | Withdrawn], list[tuple[str, str]]]:
    """Return the events that are not games, and the players of each game, of the tournament in a workspace."""
    with Store.open(folder / "results" / "enginetour.db", create=False) as store:
        log = store.tournament("trial")
        events = [event for event in log.events() if isinstance(event, Replaced | Withdrawn)]
        return events, [(line.white, line.black) for line in log.games()]


@pytest.mark.parametrize(
    ("system", "settings"),
    [
        ("roundrobin", "cycles = 1"),
        ("bubble", BUBBLE),
        ("swiss", "rounds = 3\ngames_per_pairing = 2"),
        ("adaptive", "games = 24"),
    ],
)
def test_a_crashing_engine_is_replaced(workspace: Path, system: str, settings: str) -> None:
    """An engine that crashes in each game is replaced after its second crash; the reserve plays with its options."""
    path = written(workspace, system, settings, "\n[quality]\ncrashes = 1\n")
    told = tour(workspace, "run", path.name)
    assert "Spare replaces Bad: 2 crashes in " in told.stdout + told.stderr
    audit(workspace)
    events, games = stored(workspace)
    assert [(event.old, event.entrant.name) for event in events if isinstance(event, Replaced)] == [("Bad", "Spare")]
    last = max(number for number, pair in enumerate(games) if "Bad" in pair)
    first = min(number for number, pair in enumerate(games) if "Spare" in pair)
    assert last < first
    before = tour(workspace, "standings").stdout
    tour(workspace, "run", path.name)
    assert tour(workspace, "standings").stdout == before


@pytest.mark.parametrize(
    ("fault", "key", "words"),
    [
        ("illegal", "illegal_moves", "1 illegal move in 1 game"),
        ("crash", "crashes", "1 crash in 1 game"),
        ("late", "time_losses", "1 time loss in 1 game"),
        ("no-pong-in-game", "stalls", "1 stall in 1 game"),
    ],
)
def test_faults_of_engines_have_their_kinds(workspace: Path, fault: str, key: str, words: str) -> None:
    """Crashes, illegal moves, time losses and stalled connections exceed their own limits."""
    path = written(workspace, more=f"\n[quality]\n{key} = 0\n", bad=fault)
    text = path.read_text()
    if key == "time_losses":  # the machine may be busy, but nothing is doubtful and only this engine is in a hurry
        text = text.replace("[play]\n", '[play]\ndoubtful_flag = "loss"\n')
        text = text.replace('name = "Bad"', 'name = "Bad"\ntc = "0.5+0"')
    quirks = 'name = "Bad"\nquirks = { fence = "wait", ready_timeout = 2.0 }'
    path.write_text(text.replace('name = "Bad"', quirks) if key == "stalls" else text)
    told = tour(workspace, "run", path.name)
    assert f"Spare replaces Bad: {words}, limit 0 per 100" in told.stdout + told.stderr


def dying() -> None:
    """Kill this process before it writes an event that is not a game."""

    def record_event(*_: object, **__: object) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    TournamentLog.record_event = record_event  # type: ignore[method-assign]  # this process ends with it


def test_a_run_that_was_killed_before_the_event_writes_it(workspace: Path) -> None:
    """A run that is killed after the second crash is resumed: the reserve enters before the next game."""
    path = written(workspace, more="\n[quality]\ncrashes = 1\n")
    with Forked(workspace, ["run", path.name], workspace / "errors", dying) as run:
        assert run.wait() == -signal.SIGKILL
    events, games = stored(workspace)
    assert not events
    tour(workspace, "run", path.name)
    assert audit(workspace) > len(games)
    events, after = stored(workspace)
    assert [event.old for event in events if isinstance(event, Replaced)] == ["Bad"]
    assert not any("Bad" in pair for pair in after[len(games) :])


def test_a_killed_last_game_is_not_the_end(workspace: Path) -> None:
    """If the last game exceeds a limit and the run is killed, the resumed run plays the games of the reserve."""
    path = written(workspace, "roundrobin", "", "\n[quality]\ncrashes = 0\n", names=("Ada", "Bad", "Spare"))
    with Forked(workspace, ["run", path.name], workspace / "errors", dying) as run:
        assert run.wait() == -signal.SIGKILL
    assert len(stored(workspace)[1]) == 1
    assert "resuming after" in tour(workspace, "run", path.name).stderr
    assert stored(workspace)[1][1:] != []
    kinds = [json.loads(line)["event"] for line in (workspace / "results" / "trial.log.jsonl").read_text().splitlines()]
    assert kinds.count("withdrawn") == 1


def test_reserves_and_limits_may_change_on_resume(workspace: Path) -> None:
    """A limit and a reserve that are added to the file later apply when the run is resumed."""
    path = written(workspace, "roundrobin", "cycles = 2", names=("Ada", "Bea", "Bad", "Dot"))
    tour(workspace, "run", path.name, "--max-games", "6", expect=8)
    assert not stored(workspace)[0]
    path = written(workspace, "roundrobin", "cycles = 2", "\n[quality]\ncrashes = 1\n")
    told = tour(workspace, "run", path.name)
    assert "Spare replaces Bad" in told.stdout + told.stderr
    (event,) = stored(workspace)[0]
    assert isinstance(event, Replaced)
    with Store.open(workspace / "results" / "enginetour.db", create=False) as store:
        log = store.tournament("trial")
        assert not [*counted_failures(log, {"crashes": 1}).exceeding()]


def test_a_reserve_is_used_once_over_several_runs(workspace: Path) -> None:
    """A reserve that entered in an earlier run is an entrant: the next failing engine is withdrawn."""
    path = written(workspace, "roundrobin", "cycles = 2", "\n[quality]\ncrashes = 0\n")
    text = path.read_text()
    at = text.index('name = "Dot"')
    path.write_text(text[:at] + text[at:].replace('"cecp"]', '"cecp", "--fault", "crash", "--at", "2"]', 1))
    while "state: finished" not in tour(workspace, "run", path.name, "--max-games", "1", expect=None).stdout:
        pass
    first, second = stored(workspace)[0]
    assert isinstance(first, Replaced)
    assert isinstance(second, Withdrawn)
    assert {first.old, second.name} == {"Bad", "Dot"}
    assert audit(workspace)


def test_an_entrant_that_becomes_a_reserve_stays(workspace: Path) -> None:
    """`reserve = true` for an entrant that has started has no effect, and a warning says so."""
    path = written(workspace, "roundrobin", "cycles = 1")
    tour(workspace, "run", path.name, "--max-games", "1", expect=8)
    path.write_text(path.read_text().replace('name = "Ada"', 'name = "Ada"\nreserve = true'))
    told = tour(workspace, "run", path.name).stdout
    assert "Ada is a reserve in trial.toml but has started the tournament, so it stays in it" in told
    assert any(row["name"] == "Ada" for row in read(workspace, "standings")["table"])


def test_the_reason_is_shown(workspace: Path) -> None:
    """`standings`, `status`, their JSON documents and the report show why an engine was replaced, and by which one."""
    path = written(workspace, more="\n[quality]\ncrashes = 0\n")
    path.write_text(path.read_text().replace("write = false", "write = true"))
    why = "1 crash in 1 game, limit 0 per 100"
    shown = f"withdrawn: Bad, {why}; replaced by Spare"
    assert shown in tour(workspace, "run", path.name).stdout
    row = {"name": "Bad", "why": why, "replacement": "Spare"}
    for words in (("standings",), ("status",)):
        assert shown in " ".join(tour(workspace, *words).stdout.split())
        assert read(workspace, *words)["withdrawals"] == [row]
    assert shown in next(workspace.glob("results/**/index.html")).read_text()
