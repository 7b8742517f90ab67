"""An engine that does not start, in a format that cannot go on without it."""

from __future__ import annotations

from typing import Any

import pytest

from enginetour.formats.base import make_format, options_model
from enginetour.model.game import Game, Outcome, Withdrawn
from enginetour.model.task import GameTask
from enginetour.tournament.scheduler import End, Scheduler
from enginetour.tournament.setbacks import Standstill
from tests.test_happenings import Kept
from tests.test_scheduler import ENTRANTS, Heard, Inline, MemoryLog, Unwaiting, ended, task_for


class Hall(Heard):
    """Time passes by a minute at every look."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.left: list[str] = []

    def progress(self, scheduler: Scheduler) -> None:
        self.now += 60.0

    def withdrawn(self, name: str, why: str) -> None:
        self.left.append(name)


def swiss(mended_at: float = 1e9, system: str = "roundrobin", **more: Any) -> tuple[Scheduler, Hall]:
    """Four entrants; Dot does not start before `mended_at` seconds."""
    hall = Hall()

    def verdict(task: GameTask) -> Game:
        if "Dot" in task.pairing.pair and hall.now < mended_at:
            return ended(task, Outcome.VOID, culprit="Dot", category="start-failure", cause="exit 1")
        return ended(task)

    format_ = make_format(system, options_model(system)(**more.pop("settings", {})))
    more.setdefault("standstill", Standstill(3600.0, withdraws=True))
    place: Any = Inline(verdict)
    log: Any = MemoryLog()
    return Scheduler(
        log, format_, ENTRANTS, place, task_for, watcher=hall, inbox=Unwaiting(), clock=lambda: hall.now, **more
    ), hall


ROUNDS: dict[str, Any] = {"system": "swiss", "settings": {"rounds": 2}}


def test_it_is_withdrawn_when_patience_is_used_up() -> None:
    """An hour of waiting and probing every ten minutes, then an event of the log, and the rounds go on."""
    loop, hall = swiss(**ROUNDS)
    assert loop.run() is End.FINISHED
    log: Any = loop.log
    ((event, why),) = log.left
    assert event == Withdrawn("Dot")
    assert why == "did not start for 60 min while nothing else could be played: exit 1"
    assert hall.left == ["Dot"]
    assert 3600 <= hall.now < 5400
    tries = sum("Dot" in task.pairing.pair for task in loop.place.tasks)  # type: ignore[attr-defined]
    assert 3 + 1 + 5 <= tries <= 3 + 1 + 7
    assert any("nothing can be played without Dot: waiting 60 min, then withdrawn" in words for words in hall.words)


def test_a_mended_engine_loses_nothing() -> None:
    """It starts after half an hour: nobody is withdrawn."""
    loop, hall = swiss(mended_at=1800.0, **ROUNDS)
    assert loop.run() is End.FINISHED
    assert not hall.left
    assert loop.standstill.until is None


def test_a_run_may_end_instead() -> None:
    """With ``on_suspend = "stop"`` it ends blocked when patience is used up, and nobody has left."""
    loop, hall = swiss(standstill=Standstill(600.0), **ROUNDS)
    assert loop.run() is End.BLOCKED
    assert not hall.left
    assert hall.now >= 600


def test_where_nothing_is_won_nobody_waits() -> None:
    """A round robin has played all the others: its pairings stay open at once."""
    loop, hall = swiss(system="roundrobin")
    assert loop.run() is End.BLOCKED
    assert not hall.left
    assert hall.now < 1200


def test_two_at_once() -> None:
    """Two that do not start leave together when both hold up the round."""
    loop, hall = swiss(**ROUNDS)
    verdict = loop.place.verdict  # type: ignore[attr-defined]

    def broken(task: GameTask) -> Game:
        if "Cid" in task.pairing.pair:
            return ended(task, Outcome.VOID, culprit="Cid", category="start-timeout", cause="silent")
        return verdict(task)  # type: ignore[no-any-return]

    loop.place.verdict = broken  # type: ignore[attr-defined]
    assert loop.run() is End.FINISHED
    assert hall.left == ["Cid", "Dot"]


@pytest.mark.parametrize(
    ("system", "settings"),
    [("bubble", {"size": 3, "min_matches": 2, "unpark_threshold": 2, "games_per_pairing": 2}), ("cup", {})],
)
def test_other_formats_go_on(system: str, settings: dict[str, Any]) -> None:
    """The night is not lost in a bubble or a cup either."""
    loop, hall = swiss(system=system, settings=settings)
    assert loop.run() is End.FINISHED
    assert hall.left == ["Dot"]


def test_the_wait_is_told_to_who_is_far_away() -> None:
    """`suspended` when it is set aside, again when it is waited for, `withdrawn` in the end."""
    from enginetour.tournament.events import Happenings

    kept = Kept()
    loop, hall = swiss(**ROUNDS)

    class Told(Happenings):
        def progress(self, scheduler: Scheduler) -> None:
            super().progress(scheduler)
            hall.progress(scheduler)

    loop.watcher = Told("autumn", (kept,), lambda: 0.5)
    loop.setbacks._tell = loop.watcher.trouble
    assert loop.run() is End.FINISHED
    waits = [event for event in kept.of("suspended") if "engines" in event]
    assert [event["engines"] for event in waits] == [["Dot"]]
    assert [event["engine"] for event in kept.of("withdrawn")] == ["Dot"]
