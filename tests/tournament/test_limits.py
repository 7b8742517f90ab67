"""How many processors games want, against those that there are."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from enginetour.cli.screen import status
from enginetour.cli.watching import RunProgress
from enginetour.engines.machine import ProcessorAllowance
from enginetour.model.errors import UsageRefused
from enginetour.model.task import EngineSpec, Quirks, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.reports.progress import format_status
from enginetour.store.replay import fold
from enginetour.store.tournaments import Store
from enginetour.tournament import limits
from tests.support.tournaments import config, tour


def side(name: str, *, ponder: bool = False, **options: str) -> Side:
    spec = EngineSpec(name, ("/x",), "uci", options=tuple(options.items()), ponder=ponder, quirks=Quirks())
    return Side(spec, TimeControl.parse("1"))


@pytest.mark.parametrize(
    ("sides", "slots", "wanted"),
    [
        ((side("a"), side("b")), 1, 1),
        ((side("a"), side("b")), 3, 3),
        ((side("a", Threads="4"), side("b")), 2, 8),
        ((side("a", ponder=True), side("b")), 1, 2),
        ((side("a", ponder=True), side("b", ponder=True)), 2, 4),
        ((side("a", cores="2", ponder=True), side("b", Threads="3", ponder=True), side("c")), 1, 5),
        ((side("a", Threads="many"), side("b")), 1, 1),
    ],
)
def test_the_hungriest_pair_times_slots(sides: tuple[Side, ...], slots: int, wanted: int) -> None:
    """One thinks, the other thinks too where it may ponder; an option that is no number is for others to refuse."""
    assert limits.processors_wanted(sides, slots) == wanted
    (words,) = limits.processor_shortage(sides, slots, wanted - 1)
    assert f"games want {wanted} processors" in words
    assert ("pondering" in words) == any(one.spec.ponder for one in sides)
    assert not list(limits.processor_shortage(sides, slots, wanted))


def test_more_slots_than_processors_are_refused_unless_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quota counts like the processors themselves, and is named."""
    monkeypatch.setattr(limits, "allowed_processors", lambda: ProcessorAllowance(2, " (a quota of 2 of 8)"))
    limits.refuse_overload(2, force=False)
    limits.refuse_overload(3, force=True)
    with pytest.raises(UsageRefused, match=r"3 slots on 2 processors \(a quota of 2 of 8\)"):
        limits.refuse_overload(3, force=False)


def test_a_run_with_too_many_slots_does_not_begin(tmp_path: Path) -> None:
    """One line, exit 2, and nothing is written."""
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    slots = len(os.sched_getaffinity(0)) + 1
    refused = tour(tmp_path, "run", str(path), "--slots", str(slots), expect=2)
    assert f"{slots} slots on " in refused.stderr
    assert "--force" in refused.stderr
    assert not (tmp_path / "results").exists()


def test_games_that_want_more_than_there_is_are_doubted_in_the_morning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forced slots are warned of before the first game and again beside the results."""
    monkeypatch.setattr(limits, "allowed_processors", lambda: ProcessorAllowance(1))
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    done = tour(tmp_path, "run", str(path), "--slots", "2", "--force")
    words = "warning: games want 2 processors"
    assert words in done.stderr
    assert done.stdout.index("Finished game 2") < done.stdout.index(words) < done.stdout.index("state: finished")


def test_status_tells_the_warning_of_as_many_slots_as_there_are(tmp_path: Path) -> None:
    """Asked again when the slots of a run change, and only then."""
    asked: list[int] = []

    def crowd(slots: int) -> list[str]:
        asked.append(slots)
        return [f"too many: {slots}"] if slots > 1 else []

    tour(tmp_path, "run", str(config(tmp_path, ("wren1", "wren2"), "match", "games = 2")), "--max-games", "1", expect=8)
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        log = store.tournament("trial")
        format_, state = fold(log)
        picture = RunProgress(log, "match", crowd)
        told = []
        for slots in (1, 1, 2, 2, 1):
            running = SimpleNamespace(
                format=format_, state=state, slots=slots, paused=False, stopping="", flying={}, estimate=lambda: None
            )
            picture.take(running)
            told.append(status(picture, "running")["warnings"])
    assert told == [[], [], ["too many: 2"], ["too many: 2"], []]
    assert asked == [1, 2, 1]
    picture.warnings = ("too many: 2",)
    assert format_status(status(picture, "running")).endswith("\nwarning: too many: 2")
