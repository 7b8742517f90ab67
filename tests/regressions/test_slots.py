"""What once broke where games are played."""

from __future__ import annotations

import errno
import os
from typing import Any

import pytest

from enginetour import probing
from enginetour.errors import MachineFailure, TourError
from enginetour.places import LocalPlace
from enginetour.task import EngineSpec, Side
from enginetour.timecontrol import TimeControl
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
