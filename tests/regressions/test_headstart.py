"""What once went wrong before the loop."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from enginetour.headstart import HeadStart
from enginetour.model import Game, Outcome, Termination
from enginetour.plan import Plan, prepare
from enginetour.task import GameTask, Probe, SeatTask
from tests.touring import config


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return prepare(config(tmp_path, ("wren1", "wren2", "wren3"), "roundrobin", "games_per_pairing = 2"), None)


def done(value: object) -> Future[Any]:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def test_what_has_ended_before_anybody_waits_for_it_is_counted(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a probe or a game is over in that moment: a game began twice then, and the run hung."""
    begun: list[Any] = []

    def at_once(task: Any, prefer: int | None = None) -> Future[Any]:
        del prefer
        begun.append(task)
        if isinstance(task, GameTask):
            return done(Game(task.pairing, Outcome.DRAW, Termination.REPETITION))
        if isinstance(task, SeatTask):
            return done(tuple(Probe(one.spec.name) for one in task.probes))
        return done(Probe(task.spec.name))

    with HeadStart("test", 1, "trial") as ahead:
        monkeypatch.setattr(ahead._place, "submit", at_once)
        ahead.begin(plan, 1)
        assert ahead._decided.is_set()
        games = [task.pairing for task in begun if isinstance(task, GameTask)]
        assert games == list(plan.format.offers(plan.format.start(plan.entrants)))


def test_a_failure_of_ours_leaves_nobody_waiting(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for the probes goes on, and the loop meets it again; nothing was begun."""
    with HeadStart("test", 1, "trial") as ahead:
        monkeypatch.setattr(ahead._place, "resize", None)
        ahead._plan, ahead._due, ahead._probes = plan, 1, [done(())]
        with pytest.raises(TypeError):
            ahead._probed(ahead._probes[0])
        assert ahead._decided.is_set()
