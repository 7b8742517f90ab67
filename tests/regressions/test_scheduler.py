"""What once broke in the loop."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from enginetour.cli.screen import Both
from enginetour.formats.base import make_format, options_model
from enginetour.model.errors import MachineFailure
from enginetour.model.game import Entrant, Game, Note, Outcome
from enginetour.model.task import GameTask
from enginetour.tournament.events import Happenings
from enginetour.tournament.scheduler import End, Scheduler
from enginetour.tournament.setbacks import AGAIN_S, END_OF_PAUSES, GAME_BYTES, MIN_FREE
from tests.test_scheduler import (
    ENTRANTS,
    Airborne,
    Heard,
    Inline,
    MemoryLog,
    Unwaiting,
    airborne,
    ended,
    heard,
    scheduler,
    settle,
    task_for,
)
from tests.test_setbacks import Clock


def test_a_weekend_of_machine_failures_is_waited_out() -> None:
    """The pause doubles to its end and stays there: two thousand failures in a row are no overflow."""
    failures = iter([True] * 2000)

    def verdict(task: GameTask) -> Game:
        if next(failures, False):
            raise MachineFailure("no disk")
        return ended(task)

    loop = scheduler(verdict)
    loop._wait = lambda: None  # type: ignore[method-assign]
    assert loop.run() is End.FINISHED
    assert any(words.endswith(f"waiting {END_OF_PAUSES:.0f} s") for words in heard(loop).words)


def test_a_stop_that_is_waiting_comes_before_the_first_game() -> None:
    """Ctrl-C during the preparations: no game is begun after it."""
    loop = scheduler(ended)
    loop.inbox.put(lambda: loop.stop(now=False, grace=60))
    assert loop.run() is End.STOPPED
    assert isinstance(loop.place, Inline)
    assert loop.place.tasks == []


def test_a_stop_during_the_last_game_lets_the_tournament_end() -> None:
    """Ctrl-C, and the running game decides it all: finished, nothing goes on."""
    left = [3]

    def verdict(task: GameTask) -> Game:
        left[0] -= 1
        if not left[0]:
            loop.stop(now=False, grace=60)
        return ended(task)

    loop = scheduler(verdict)
    loop.entrants = loop.entrants[:3]
    loop.__post_init__()
    assert loop.run() is End.FINISHED
    assert loop.format.offers(loop.state) == ()


def test_a_game_the_machine_cannot_play_lets_the_others_go_first() -> None:
    """Whatever kills the slot each time, all other games are played; then it is tried as long as it takes."""
    tries: Counter[tuple[str, str]] = Counter()

    def verdict(task: GameTask) -> Game:
        tries[task.pairing.pair] += 1
        if task.pairing.pair == ("Ada", "Dot") and (tries.total() < 9):
            raise MachineFailure("slot died")
        return ended(task)

    loop = scheduler(verdict)
    loop._wait = lambda: None  # type: ignore[method-assign]
    assert loop.run() is End.FINISHED
    log = loop.log
    assert isinstance(log, MemoryLog)
    assert [game.pairing.pair for game in log.games.values()][-1] == ("Ada", "Dot")
    assert all(count == 1 for pair, count in tries.items() if pair != ("Ada", "Dot"))


def test_a_single_failure_of_the_machine_moves_no_game_behind_the_others() -> None:
    """One doubtful flag, and the test of a match waited for that game until 256 others had been played."""
    voided: list[int] = []

    def verdict(task: GameTask) -> Game:
        if task.pairing.meeting == 3 and task.pairing.leg == 2 and len(voided) < 2:
            voided.append(len(loop.place.tasks))  # type: ignore[attr-defined]
            return replace(ended(task), outcome=Outcome.VOID, category="host")
        return ended(task, Outcome.WHITE if task.pairing.white == "A" else Outcome.BLACK)

    test = {"elo0": 0.0, "elo1": 100.0, "model": "logistic"}
    options = options_model("match").model_validate({"games": 400, "sprt": test})
    names = (Entrant("A"), Entrant("B"))
    more: dict[str, Any] = {"watcher": Heard(), "inbox": Unwaiting(), "clock": Clock()}
    loop = Scheduler(MemoryLog(), make_format("match", options), names, Inline(verdict), task_for, **more)
    assert loop.run() is End.FINISHED
    assert voided == [6, 7]
    assert loop.state.verdict == "H1"
    assert loop.played < 60


def test_a_full_disk_pauses_with_one_line() -> None:
    """Looked at before each game; one line when it is full; the games go on when there is room again."""
    free = iter([math.inf, *[float(MIN_FREE)] * 5])
    loop = scheduler(ended, free_bytes=lambda: next(free, float(MIN_FREE + GAME_BYTES)))
    loop._wait = lambda: None  # type: ignore[method-assign]
    assert loop.run() is End.FINISHED
    assert heard(loop).words == ["no new games until the disk has room again: 1.0 MiB free, 1.2 needed"]
    assert len(heard(loop).numbers) == 6


def test_a_stop_ends_the_pause_of_a_full_disk() -> None:
    """A run that waits for room can be stopped."""
    loop = scheduler(ended, free_bytes=lambda: 0.0)
    loop._wait = lambda: loop.stop(now=False)  # type: ignore[method-assign]
    assert loop.run() is End.STOPPED
    assert heard(loop).numbers == []


def void(task: GameTask, **more: Any) -> Game:
    return ended(task, Outcome.VOID, culprit="Dot", category="start-failure", cause="exit 1", **more)


@pytest.mark.parametrize("mended_after", [3, 4])
def test_a_suspended_engine_is_tried_when_nothing_else_is_left(mended_after: int) -> None:
    """Three failed starts set it aside, the others play on, and before the end it has one more try."""
    starts = iter(range(mended_after))

    def verdict(task: GameTask) -> Game:
        if "Dot" in task.pairing.pair and next(starts, None) is not None:
            return void(task)
        return ended(task)

    seconds = iter(range(AGAIN_S))  # they run dry before the ten minutes are over
    now = [0]
    loop = scheduler(verdict, clock=lambda: float(now[0]))
    loop._wait = lambda: now.__setitem__(0, next(seconds))  # type: ignore[method-assign]
    assert loop.run() is (End.FINISHED if mended_after == 3 else End.BLOCKED)
    assert loop.played == (6 if mended_after == 3 else 3)


def test_a_suspended_engine_is_tried_every_ten_minutes() -> None:
    """It does not wait for the end of all other games."""
    starts = iter(range(3))
    now = [0]
    told: list[str] = []

    def verdict(task: GameTask) -> Game:
        told.append("Dot" if "Dot" in task.pairing.pair else "others")
        if told[-1] == "Dot" and next(starts, None) is not None:
            return void(task)
        now[0] += 0 if told[-1] == "Dot" else 60
        return ended(task)

    long = make_format("roundrobin", options_model("roundrobin")(cycles=6))
    loop = Scheduler(MemoryLog(), long, ENTRANTS, Inline(verdict), task_for, clock=lambda: float(now[0]))
    loop._wait = lambda: now.__setitem__(0, now[0] + 1)  # type: ignore[method-assign]
    assert loop.run() is End.FINISHED
    assert told[-1] == "others"


def test_a_suspension_is_told_once_and_its_engine_named_once() -> None:
    """A probe of it that fails is no three failed starts more, and no second suspension for those who are notified."""
    now = [0]

    def verdict(task: GameTask) -> Game:
        if "Dot" in task.pairing.pair:
            return replace(void(task), cause="Dot: ended (exit 1)", culprit="Dot")
        now[0] += 400
        return ended(task)

    long = make_format("roundrobin", options_model("roundrobin")(cycles=3))
    watcher, heard_of = Heard(), list[str]()
    happenings = Happenings("trial", (lambda event: heard_of.append(str(event["event"])),))
    both = Both(watcher, happenings)
    loop = Scheduler(MemoryLog(), long, ENTRANTS, Inline(verdict), task_for, clock=lambda: float(now[0]), watcher=both)
    loop._wait = lambda: now.__setitem__(0, now[0] + 1)  # type: ignore[method-assign]
    assert loop.run() is End.BLOCKED
    said = [words for words in watcher.words if words.startswith("Dot")]
    assert said[0] == "Dot is suspended after 3 failed starts in a row: ended (exit 1)"
    assert len(said) > 2
    assert set(said[1:]) == {"Dot still does not start: ended (exit 1)"}
    assert heard_of.count("suspended") == 1


def test_a_game_that_ends_while_another_is_written_is_not_overslept() -> None:
    """Its call was taken for one that had been heeded, and the loop slept until the next, a second at most."""

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
    format_ = make_format("roundrobin", options_model("roundrobin")())
    loop = Scheduler(Busy(), format_, ENTRANTS, place, task_for, slots=2, inbox=Awake())
    assert loop.run() is End.FINISHED


def test_a_game_that_ended_before_a_failure_of_the_machine_is_heeded_before_it() -> None:
    """They were told together, the game after the failure: it made that one be forgotten."""
    loop, place = airborne()
    place.end(0)
    place.futures[1].set_exception(MachineFailure("slot died"))
    settle(loop)
    assert loop.setbacks._host_failures == 1
