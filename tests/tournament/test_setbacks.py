"""Tests of tournament/setbacks."""

from __future__ import annotations

from typing import Any

import pytest

from enginetour.model.game import Game, Outcome, Pairing, Termination, Withdrawn
from enginetour.model.task import GameTask
from enginetour.tournament.scheduler import RunEnd, Scheduler
from enginetour.tournament.setbacks import CALM_S, DOUBTS, MOST_DOUBTS, MOST_REPLAYS, Setbacks, Standstill
from tests.support.tournaments import Clock, Heard, Inline, Kept, ended, loop_of

# Failures of engines and of the machine.

PAIRING = Pairing("Ada", "Bea")


def void(culprit: str = "", category: str = "host") -> Game:
    return Game(PAIRING, Outcome.VOID, Termination.ABORTED, "why", culprit, category)


def test_voids_by_the_host_use_up_no_replays() -> None:
    """Failures of the machine do not count as replays of an engine."""
    clock = Clock()
    setbacks = Setbacks(clock, lambda _: None)
    for _ in range(20):
        setbacks.record(void())
    clock.now = 100.0
    assert setbacks.is_playable(PAIRING)
    for _ in range(MOST_REPLAYS):
        setbacks.record(void("Bea", "engine-abort"))
    assert setbacks.is_playable(PAIRING)
    setbacks.record(void("Bea", "engine-abort"))
    assert not setbacks.is_playable(PAIRING)


def test_after_three_doubtful_time_losses_a_game_waits_for_a_less_busy_machine() -> None:
    """After three doubtful time losses a game waits until the load is lower, or for half an hour."""
    clock, told, busy = Clock(), list[str](), ["load 15 on 2 processors"]
    setbacks = Setbacks(clock, told.append, lambda: busy[0])
    other = Pairing("Ada", "Cid")
    doubt = Game(PAIRING, Outcome.VOID, Termination.TIME, "White loses on time; doubtful", "", "host")
    for _ in range(DOUBTS - 1):
        setbacks.record(doubt)
        assert setbacks.is_playable(PAIRING)
    setbacks.record(doubt)
    assert told[-1] == (
        "Ada - Bea waits for at most 30 min until the machine is less busy: load 15 on 2 processors, 3 void time losses"
    )
    assert not setbacks.is_playable(PAIRING)
    assert setbacks.is_playable(other)
    assert not setbacks.is_blocked([PAIRING])
    busy[0] = ""
    assert setbacks.is_playable(PAIRING)
    busy[0] = "load 15 on 2 processors"
    assert setbacks.is_playable(PAIRING)  # it may have started
    setbacks.record(doubt)
    assert not setbacks.is_playable(PAIRING)
    clock.now += CALM_S
    assert setbacks.is_playable(PAIRING)


def test_a_game_that_the_machine_is_always_too_busy_for_stays_open() -> None:
    """A game that is always doubtful stays open; counted time losses and other void games are not doubtful."""
    setbacks = Setbacks(Clock(), lambda _: None, lambda: "load 15 on 2 processors")
    doubt = Game(PAIRING, Outcome.VOID, Termination.TIME, "doubtful", "", "host")
    for _ in range(MOST_DOUBTS):
        setbacks.record(void())
        setbacks.record(Game(PAIRING, Outcome.WHITE, Termination.TIME))
    assert setbacks.is_playable(PAIRING)
    for _ in range(MOST_DOUBTS):
        setbacks.record(doubt)
    assert setbacks.is_blocked([PAIRING])


def test_pauses_grow_to_a_minute() -> None:
    """Pauses grow from 5 to 60 s from the third failure in a row on; a finished game resets them."""
    clock, told = Clock(), list[str]()
    setbacks = Setbacks(clock, told.append)

    def pause() -> float:
        setbacks.host_failed(PAIRING, "slot died")
        begun = clock.now
        while setbacks.is_pausing():
            clock.now += 1.0
        return clock.now - begun

    assert [pause() for _ in range(8)] == [0, 0, 5, 10, 20, 40, 60, 60]
    setbacks.record(Game(PAIRING, Outcome.DRAW, Termination.STALEMATE))
    assert [pause() for _ in range(3)] == [0, 0, 5]
    assert told[3] == "3 failures of the machine in a row: waiting 5 s"


def test_what_fails_in_a_pause_makes_it_no_longer() -> None:
    """Failures during a pause do not make it longer."""
    clock, told = Clock(), list[str]()
    setbacks = Setbacks(clock, told.append)
    for _ in range(6):
        setbacks.host_failed(PAIRING, "slot died")
    clock.now = 5.0
    assert not setbacks.is_pausing()
    assert [text for text in told if text != "slot died"] == ["3 failures of the machine in a row: waiting 5 s"]
    setbacks.host_failed(PAIRING, "slot died")
    assert told[-1] == "4 failures of the machine in a row: waiting 10 s"


def test_a_cramped_disk_is_looked_at_again_after_five_seconds() -> None:
    """A full disk is checked every five seconds (reliability 3) and reported once."""
    clock, told = Clock(), list[str]()
    setbacks = Setbacks(clock, told.append)
    assert setbacks.is_cramped(0.0, 1)
    clock.now = 4.9
    assert setbacks.is_pausing()
    clock.now = 5.0
    assert not setbacks.is_pausing()
    assert setbacks.is_cramped(0.0, 1)
    assert len(told) == 1


def test_after_a_finished_game_a_suspended_engine_has_one_more_last_try() -> None:
    """A suspended engine is tried once more when no other game is left, and again after a finished game."""
    clock = Clock()
    setbacks = Setbacks(clock, lambda _: None)

    def fail(times: int) -> None:
        for _ in range(times):
            clock.now += 10.0
            setbacks.record(void("Bea", "start-failure"))

    fail(3)
    assert not setbacks.is_blocked([PAIRING])
    fail(1)
    assert setbacks.is_blocked([PAIRING])
    setbacks.record(Game(Pairing("Ada", "Cid"), Outcome.DRAW, Termination.STALEMATE))
    assert not setbacks.is_blocked([PAIRING])
    fail(1)
    assert setbacks.is_blocked([PAIRING])


def test_starts_that_fail_side_by_side_are_one_try() -> None:
    """Failed starts in several slots at the same time count as one."""
    clock, told = Clock(), list[str]()
    setbacks = Setbacks(clock, told.append)
    for again in (1.0, 5.0, None):
        for _ in range(4):
            setbacks.record(void("Bea", "start-failure"))
        assert not setbacks.is_playable(PAIRING)
        clock.now += again or 0.0
        assert setbacks.is_playable(PAIRING) == (again is not None)
    assert told == ["Bea is suspended after 3 failed starts in a row: why"]


# Suspended engines in formats that cannot continue without them.


class Hall(Heard):
    """An executor in which each check takes a minute."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.left: list[str] = []

    def progress(self, scheduler: Scheduler) -> None:
        self.now += 60.0

    def withdrawn(self, name: str, why: str, reserve: str = "") -> None:
        self.left.append(name)


def swiss(mended_at: float = 1e9, system: str = "roundrobin", **more: Any) -> tuple[Scheduler, Hall]:
    """Make a Swiss of four entrants; Dot starts only after `mended_at` seconds."""
    hall = Hall()

    def verdict(task: GameTask) -> Game:
        if "Dot" in task.pairing.pair and hall.now < mended_at:
            return ended(task, Outcome.VOID, culprit="Dot", category="start-failure", cause="exit 1")
        return ended(task)

    more.setdefault("standstill", Standstill(3600.0, withdraws=True))
    return loop_of(Inline(verdict), system=system, watcher=hall, clock=lambda: hall.now, **more), hall


ROUNDS: dict[str, Any] = {"system": "swiss", "options": {"rounds": 2}}


def test_it_is_withdrawn_when_patience_is_used_up() -> None:
    """After an hour with a try every ten minutes the engine is withdrawn, and the rounds continue."""
    loop, hall = swiss(**ROUNDS)
    assert loop.run() is RunEnd.FINISHED
    log: Any = loop.log
    ((event, why),) = log.left
    assert event == Withdrawn("Dot")
    assert why == "it did not start for 60 min while no other game could be played: exit 1"
    assert hall.left == ["Dot"]
    assert 3600 <= hall.now < 5400
    tries = sum("Dot" in task.pairing.pair for task in loop.executor.tasks)  # type: ignore[attr-defined]
    assert 3 + 1 + 5 <= tries <= 3 + 1 + 7
    assert any("no game can start without Dot: waiting 60 min, then it is withdrawn" in words for words in hall.words)


def test_a_mended_engine_loses_nothing() -> None:
    """An engine that starts after half an hour is not withdrawn."""
    loop, hall = swiss(mended_at=1800.0, **ROUNDS)
    assert loop.run() is RunEnd.FINISHED
    assert not hall.left
    assert loop.standstill.until is None


def test_a_run_may_end_instead() -> None:
    """With ``on_suspend = "stop"`` the run ends as blocked, and no engine is withdrawn."""
    loop, hall = swiss(standstill=Standstill(600.0), **ROUNDS)
    assert loop.run() is RunEnd.BLOCKED
    assert not hall.left
    assert hall.now >= 600


def test_where_nothing_is_won_nobody_waits() -> None:
    """In a round robin without other games the run does not wait, because a withdrawal would not help."""
    loop, hall = swiss(system="roundrobin")
    assert loop.run() is RunEnd.BLOCKED
    assert not hall.left
    assert hall.now < 1200


def test_two_at_once() -> None:
    """Two engines that cannot start are withdrawn together if the round needs both."""
    loop, hall = swiss(**ROUNDS)
    verdict = loop.executor.verdict  # type: ignore[attr-defined]

    def broken(task: GameTask) -> Game:
        if "Cid" in task.pairing.pair:
            return ended(task, Outcome.VOID, culprit="Cid", category="start-timeout", cause="silent")
        return verdict(task)  # type: ignore[no-any-return]

    loop.executor.verdict = broken  # type: ignore[attr-defined]
    assert loop.run() is RunEnd.FINISHED
    assert hall.left == ["Cid", "Dot"]


@pytest.mark.parametrize(
    ("system", "settings"),
    [("bubble", {"size": 3, "min_matches": 2, "unpark_threshold": 2, "games_per_pairing": 2}), ("knockout", {})],
)
def test_other_formats_go_on(system: str, settings: dict[str, Any]) -> None:
    """A bubble and a knockout continue too."""
    loop, hall = swiss(system=system, options=settings)
    assert loop.run() is RunEnd.FINISHED
    assert hall.left == ["Dot"]


def test_the_wait_is_told_to_who_is_far_away() -> None:
    """`suspended` is sent at the suspension and at the wait, and `withdrawn` at the end."""
    from enginetour.tournament.events import RunEvents

    kept = Kept()
    loop, hall = swiss(**ROUNDS)

    class Told(RunEvents):
        def progress(self, scheduler: Scheduler) -> None:
            super().progress(scheduler)
            hall.progress(scheduler)

    loop.watcher = Told("autumn", (kept,), lambda: 0.5)
    loop.setbacks._tell = loop.watcher.trouble
    assert loop.run() is RunEnd.FINISHED
    waits = [event for event in kept.of("suspended") if "engines" in event]
    assert [event["engines"] for event in waits] == [["Dot"]]
    assert [event["engine"] for event in kept.of("withdrawn")] == ["Dot"]
