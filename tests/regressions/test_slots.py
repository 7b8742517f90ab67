"""What once broke where games are played."""

from __future__ import annotations

import errno
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.errors import MachineFailure, TourError
from enginetour.model.task import EngineSpec, Probe, ProbeTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.tournament import probing
from enginetour.tournament.places import LocalPlace
from tests.playing import scripted
from tests.test_offers import LATER, NOW, offers
from tests.test_places import COMMAND, cause, processes
from tests.test_slot import task
from tests.touring import LONG_S, audit, config, tour


def test_a_slot_that_takes_the_last_descriptor_is_a_failure_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The place lives on, the process that could not be watched is gone, and the next game is played."""
    usual = os.pidfd_open

    def failing(pid: int) -> Any:
        monkeypatch.setattr(os, "pidfd_open", usual)
        raise OSError(errno.EMFILE, "Too many open files")

    with LocalPlace(1, command=COMMAND) as place:
        monkeypatch.setattr(os, "pidfd_open", failing)
        with pytest.raises(MachineFailure, match="slot 0 cannot be watched: Too many open files"):
            place.submit(task("one")).result(LONG_S)
        assert processes(place) == []
        assert cause(place, "two")


@pytest.mark.parametrize("signalled", [False, True])
def test_a_machine_that_cannot_probe_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch, *, signalled: bool) -> None:
    """Unless we are being ended ourselves, slots first, as a service manager may do it: then that is what counts."""

    class Stopped(Exception):
        pass

    class Failing(LocalPlace):
        def submit(self, task: Any, prefer: int | None = None) -> Any:
            raise MachineFailure("no process can be started")

    def heed() -> None:
        if signalled:
            raise Stopped("stopped by a signal")

    monkeypatch.setattr(probing, "LocalPlace", Failing)
    side = Side(EngineSpec("X", ("/bin/cat",), "uci"), TimeControl.parse("1+0"))
    with pytest.raises(Stopped if signalled else TourError, match="by a signal" if signalled else "tried: no process"):
        probing.probe_all({"X": side}, heed=heed)


DIES_ONCE = """\
import os, signal
from enginetour.referee import slot
try:
    os.mkdir({mark!r})
except FileExistsError:
    slot.main()
else:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_slot_that_dies_while_engines_are_probed_is_a_retry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine's failure: the next slot finds its engine fit, and nobody hears of it."""
    command = (sys.executable, "-P", "-c", DIES_ONCE.format(mark=str(tmp_path / "died")))
    monkeypatch.setattr(probing, "LocalPlace", partial(LocalPlace, command=command))
    sides = {name: Side(scripted(name=name), TimeControl.parse("1+0")) for name in ("Ada", "Bea", "Cid")}
    found = probing.probe_all(sides)
    assert (tmp_path / "died").exists()
    assert list(found) == ["Ada", "Bea", "Cid"]
    assert [probe.problems for probe in found.values()] == [(), (), ()]


ANOTHER = """\
import os, sys
from enginetour.referee import slot
if os.path.exists({mark!r}):
    slot.VERSION = "9.9.9 (another)"
slot.main()
"""


def test_a_slot_of_another_version_is_told_nothing(tmp_path: Path) -> None:
    """The package was updated: its pickles would be read as something else. The slot that was there plays on."""
    mark = tmp_path / "updated"
    command = (sys.executable, "-P", "-c", ANOTHER.format(mark=str(mark)))
    with LocalPlace(2, command=command) as place:
        there = ProbeTask(scripted(name="Ada"))
        assert isinstance(place.submit(there, prefer=0).result(LONG_S), Probe)
        mark.touch()
        with pytest.raises(TourError, match=r"was updated while this run goes on: .* then, 9\.9\.9") as told:
            place.submit(there, prefer=1).result(LONG_S)
        assert (told.value.exit_code, told.value.step) == (1, "start it again by the same command")
        assert isinstance(place.submit(there, prefer=0).result(LONG_S), Probe)


def test_a_run_whose_package_was_updated_ends_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit 1 instead of trying for ever; the same command goes on."""
    mark = tmp_path / "updated"
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "cycles = 2")
    command = (sys.executable, "-P", "-c", ANOTHER.format(mark=str(mark)))
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    mark.touch()
    monkeypatch.setattr(probing, "LocalPlace", partial(LocalPlace, command=command))
    told = tour(tmp_path, "run", str(path), expect=1)
    complaints = [line for line in told.stderr.splitlines() if line.startswith("enginetour: ")]
    assert len(complaints) == 1
    assert complaints[0].endswith("9.9.9 (another) now; start it again by the same command")
    assert audit(tmp_path) == 1
    mark.unlink()
    tour(tmp_path, "run", str(path))
    assert audit(tmp_path) == 2


def test_one_more_slot_finds_its_game_at_once() -> None:
    """Of a state that was asked about with one slot nothing ahead was known, and the new slot stood idle for a game."""
    made, _, allotment = offers(1)
    state = list(NOW)
    assert tuple(made.wanted(state)) == NOW
    allotment.slots = 2
    assert tuple(made.wanted(state)) == NOW + LATER
