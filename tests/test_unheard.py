"""Which threads hear the signals that end us."""

from __future__ import annotations

import os
from pathlib import Path
from queue import SimpleQueue

from enginetour.cli.output import Outlet
from enginetour.engines.process import ENDING
from enginetour.model.task import ProbeTask
from enginetour.tournament.cluster.place import LoopThread
from enginetour.tournament.control import ControlServer
from enginetour.tournament.places import LocalPlace
from tests.playing import sound
from tests.touring import LONG_S, until

SIGNS = sum(1 << (number - 1) for number in ENDING)  # proc(5), SigBlk


def blocked(task: Path) -> bool:
    """A thread or process hears none of them."""
    fields = dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line)
    return int(fields["SigBlk"], 16) & SIGNS == SIGNS


def threads() -> set[str]:
    return set(os.listdir("/proc/self/task"))


def test_only_the_main_thread_hears_them(tmp_path: Path) -> None:
    """Where another one might have been given a SIGTERM, a main thread that waited for something slept on."""
    before = threads()
    reader, writer = os.pipe()
    Outlet(writer)  # its thread ends with the process
    loop = LoopThread("loop")
    with LocalPlace(1) as place, ControlServer(tmp_path / "socket", SimpleQueue()):
        until(lambda: len(threads() - before) == 4)
        until(lambda: all(blocked(Path("/proc/self/task", each)) for each in threads() - before))
        place.submit(ProbeTask(sound())).result(LONG_S)
        (slot,) = place._slots.values()
        assert not blocked(Path("/proc", str(slot.process.pid)))  # it has a main thread of its own
    loop.wait_for(loop.end())
    loop.join()
    os.close(reader)
    os.close(writer)
