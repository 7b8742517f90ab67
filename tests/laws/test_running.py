"""Laws of running tournaments: concurrent games, changes, failures and kills in any order."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.model.errors import MachineFailure
from enginetour.model.game import RESULTS, Entrant, Game, Note, Outcome, Pairing
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.store.log import TournamentLog
from enginetour.store.ratings import update_ratings
from enginetour.store.replay import audit, format_of
from enginetour.store.tournaments import Draft, Store
from enginetour.testing.formats import extension, settings_of, takes
from enginetour.tournament.changes import TournamentEditor
from enginetour.tournament.requests import parsed
from enginetour.tournament.scheduler import RunEnd, Scheduler, Watcher
from tests.support.databases import counts_are_kept
from tests.support.tournaments import ended

DEPTH = TimeControl.parse("depth=1")


class Killed(Exception):
    """The process of the scheduler was killed; games in progress are lost."""


class Air:
    """An executor whose games end at random times with the result of `verdict`, or fail with the machine."""

    def __init__(self, dice: random.Random, troubles: float, verdict: Callable[[GameTask], Game]) -> None:
        self.dice, self.troubles, self.verdict = dice, troubles, verdict
        self.flying: list[tuple[GameTask, Future[Any]]] = []

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        future: Future[Any] = Future()
        encounter = (task.pairing.pair, task.pairing.meeting)
        assert encounter not in {(other.pairing.pair, other.pairing.meeting) for other, _ in self.flying}
        self.flying.append((task, future))
        return future

    def resize(self, slots: int) -> None:
        assert slots >= 1

    def stop(self, *, now: bool) -> None:
        while now and self.flying:
            self.flying.pop()[1].set_exception(MachineFailure("stopped"))

    def land(self) -> None:
        """End some random games."""
        self.dice.shuffle(self.flying)
        for _ in range(self.dice.randint(0, len(self.flying))):
            task, future = self.flying.pop()
            if self.dice.random() < self.troubles:
                future.set_exception(MachineFailure("the slot died"))
            else:
                future.set_result(self.verdict(task))


class Announced(Watcher):
    """A sink with everything that was reported."""

    def __init__(self) -> None:
        self.games: dict[int, Game] = {}

    def game(self, number: int, game: Game, notes: Sequence[Note]) -> None:
        assert number not in self.games
        self.games[number] = game


class Life:
    """One tournament with all its runs."""

    def __init__(self, path: Path, system: str, seed: int) -> None:
        self.path, self.dice = path, random.Random(seed)
        count = 2 if system == "match" else self.dice.randint(2, 6)
        self.entrants = tuple(Entrant(f"E{number}", rating=2000.0 - 100 * number) for number in range(count))
        self.told = Announced()
        self.joined = 0
        self.kills = self.dice.choice([0, 1, 4])
        self.changes = self.dice.choice([0, 0.05, 0.3])
        self.troubles = self.dice.choice([0, 0.02, 0.2])
        chosen = settings_of(system, self.dice, count)
        format_ = make_format(system, options_model(system).model_validate(chosen))
        config = {"format": {"system": system, **chosen}, "play": {"tc": "depth=1"}}
        specs = {entrant.name: spec(entrant.name) for entrant in self.entrants}
        draft = Draft("trial", system, format_.version, config, 1, self.entrants, specs)
        notes = format_.notes(format_.start(self.entrants))
        with Store.open(path) as store:
            store.create_tournament(draft, notes)

    def play(self) -> None:
        """Run the tournament again and again until a run ends regularly."""
        while True:
            with Store.open(self.path, create=False) as store:
                log = store.tournament("trial")
                audit(log)
                try:
                    end = self.run(log)
                except Killed:
                    continue
                assert end in (RunEnd.FINISHED, RunEnd.STOPPED)
                if end is RunEnd.FINISHED:
                    return

    def verdict(self, task: GameTask) -> Game:
        """Return a random result."""
        if self.dice.random() < self.troubles:
            return ended(task, Outcome.VOID, category="host")
        return ended(task, self.dice.choice(RESULTS))

    def run(self, log: TournamentLog) -> RunEnd:
        """Run once; random events happen while it waits."""
        air = Air(self.dice, self.troubles, self.verdict)
        slots = self.dice.randint(1, 4)
        now = [0.0]
        loop = Scheduler(
            log,
            format_of(log),
            log.entrants,
            air,
            task_for,
            slots=slots,
            watcher=self.told,
            clock=lambda: now[0],
        )
        desk = TournamentEditor(log, loop.format, loop)

        def wait() -> None:
            now[0] += 60
            if self.dice.random() < self.changes:
                self.change(desk, log)
            if self.dice.random() < 0.02 and self.kills:
                self.kills -= 1
                if self.dice.random() < 0.5:
                    raise Killed
                loop.stop(now=self.dice.random() < 0.5, grace=600)
            if self.dice.random() < self.changes:
                loop.resize(self.dice.randint(1, 6))
                loop.paused = self.dice.random() < 0.5
            elif loop.paused:
                loop.paused = self.dice.random() < 0.9
            air.land()

        loop._wait = wait  # type: ignore[method-assign]
        return loop.run()

    def change(self, desk: TournamentEditor, log: TournamentLog) -> None:
        """Make a random request, valid or not; a rejected request changes nothing."""
        names = [line.name for line in desk.format.standings(desk.state)]
        kind = self.dice.choice(["withdraw", "void", "void", "void", "add", "replace", "extend"])
        grown = extension(desk.format, desk.state)
        if kind == "extend" and self.joined < 3 and takes(desk.format, desk.state, grown):
            self.joined += 1
            desk.extend(dict(grown.settings), "dice")
        request: dict[str, Any] = {"do": kind, "why": "dice"}
        if kind in ("withdraw", "replace"):
            request["engine"] = self.dice.choice(names)
        if kind == "void":
            request["game"] = self.dice.randint(1, 1 + len(log.games()))
        if kind in ("add", "replace"):
            if self.joined == 3:
                return
            self.joined += 1
            request["id"] = f"N{self.joined}"
        if kind == "extend":
            return
        desk.joining = lambda engine, _: (Entrant(engine), spec(engine))
        before = log.last_position
        answer = desk.carry_out(parsed(request))
        assert log.last_position - before == answer["ok"]


def spec(name: str) -> EngineSpec:
    return EngineSpec(name, (f"/opt/{name}",), "uci", fingerprint="f1")


def task_for(pairing: Pairing, again: int) -> GameTask:
    return GameTask(pairing, Side(spec(pairing.white), DEPTH), Side(spec(pairing.black), DEPTH), replay=again)


def one_life(folder: Path, system: str, seed: int) -> None:
    """Run a tournament with changing slots, pauses, withdrawals, additions, annulments, failures, stops and kills.

    It must end by itself; every reported game is in the log as reported; no key has two results that count; counts
    and decisions are those of a replay.
    """
    path = folder / f"{system}-{seed}.db"
    path.unlink(missing_ok=True)
    life = Life(path, system, seed)
    life.play()
    with Store.open(path, create=False) as store:
        log = store.tournament("trial")
        format_, state = audit(log)
        assert format_.offers(state) == ()
        games = log.games()
        assert [line.number for line in games] == list(range(1, len(games) + 1))
        stored = {stored.number: stored.game for stored in log.full_games()}
        assert all(stored[number] == game for number, game in life.told.games.items())
        assert set(life.told.games) == set(stored)
        keys = Counter((*sorted((line.white, line.black)), line.meeting, line.leg) for line in games if line.counts)
        assert not [key for key, times in keys.items() if times > 1]
        assert counts_are_kept(log)
        for rated in ("elo", "gor"):
            update_ratings(store, rated)


@pytest.mark.parametrize("system", sorted(SYSTEMS))
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**9))
def test_nothing_is_lost_or_doubled(tmp_path: Path, system: str, seed: int) -> None:
    """No game is lost or doubled; the night tests have a hundred tournaments of each system."""
    one_life(tmp_path, system, seed)
