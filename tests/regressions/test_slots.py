"""What once broke where games are played."""

from __future__ import annotations

import errno
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from enginetour import probing
from enginetour.errors import MachineFailure, TourError
from enginetour.places import LocalPlace
from enginetour.task import EngineSpec, Side
from enginetour.timecontrol import TimeControl
from tests.playing import scripted
from tests.test_places import COMMAND, LONG, cause, processes
from tests.test_slot import task


def test_a_slot_that_takes_the_last_descriptor_is_a_failure_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """The place lives on, the process that could not be watched is gone, and the next game is played."""
    usual = os.pidfd_open

    def failing(pid: int) -> Any:
        monkeypatch.setattr(os, "pidfd_open", usual)
        raise OSError(errno.EMFILE, "Too many open files")

    with LocalPlace(1, command=COMMAND) as place:
        monkeypatch.setattr(os, "pidfd_open", failing)
        with pytest.raises(MachineFailure, match="slot 0 cannot be watched: Too many open files"):
            place.submit(task("one")).result(LONG)
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
from enginetour import slot
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
