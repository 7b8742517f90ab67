"""Which slot plays which game."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from enginetour.model.game import Pairing
from enginetour.model.task import GameTask
from enginetour.tournament.scheduler import Allotment, unshared
from tests.forked import scripted
from tests.playing import SCRIPT
from tests.test_scheduler import task_for
from tests.touring import audit, config, tour

# Becomes the engine behind it while it holds a lock that goes with the process; where another holds it, says so.
ALONE = """\
import fcntl, os, sys
mark, engine = __file__ + ".lock", sys.argv[1:]
lock = os.open(mark, os.O_CREAT | os.O_RDWR)
os.set_inheritable(lock, True)
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    open(mark + ".twice", "w").close()
os.execv(engine[0], engine)
"""

FIRST, SECOND = Pairing("Ada", "Bea", leg=1), Pairing("Bea", "Ada", leg=2)
OTHER = Pairing("Cid", "Dot")


def test_a_second_leg_waits_for_the_slot_of_the_first() -> None:
    """While a leg is played no other slot takes the other one; then it is the first thing its slot does."""
    slots = Allotment(3)
    assert slots.slot_for(FIRST) == 0
    slots.begin(0, FIRST)
    assert slots.slot_for(SECOND) is None
    assert slots.slot_for(OTHER) == 1
    slots.end(FIRST, failed=False)
    assert list(slots.ordered([OTHER, SECOND])) == [SECOND, OTHER]
    assert slots.slot_for(SECOND) == 0


def test_a_game_goes_where_its_engines_wait() -> None:
    """The slot that has both, else one of them, else the lowest that is free."""
    slots = Allotment(3)
    for slot, pairing in enumerate((OTHER, Pairing("Ada", "Eve"), FIRST)):
        slots.begin(slot, pairing)
    for pairing in (OTHER, Pairing("Ada", "Eve"), FIRST):
        slots.end(pairing, failed=False)
    assert slots.slot_for(Pairing("Bea", "Ada", meeting=2)) == 2
    assert slots.slot_for(Pairing("Eve", "Fay")) == 1
    assert slots.slot_for(Pairing("Fay", "Gus")) == 0


def test_a_failed_slot_is_no_reason_to_go_first() -> None:
    """What the machine keeps failing lets the others go first, and no engine waits in a slot that died."""
    slots = Allotment(2)
    slots.begin(0, FIRST)
    slots.end(FIRST, failed=True)
    slots.begin(1, OTHER)
    slots.end(OTHER, failed=False)
    assert list(slots.ordered([OTHER, FIRST])) == [OTHER, FIRST]
    assert slots.slot_for(Pairing("Dot", "Ada")) == 1


def test_one_slot_keeps_the_order_of_the_format() -> None:
    """Offers are played as they come."""
    slots = Allotment(1)
    slots.begin(0, FIRST)
    slots.end(FIRST, failed=False)
    assert list(slots.ordered([OTHER, SECOND])) == [OTHER, SECOND]


def test_fewer_slots() -> None:
    """What plays beyond the new number ends in its time, and nothing new begins there."""
    slots = Allotment(2)
    slots.begin(1, FIRST)
    slots.slots = 1
    assert slots.slot_for(OTHER) == 0
    slots.end(FIRST, failed=False)
    assert slots.slot_for(SECOND) == 0


def test_an_engine_runs_no_more_often_than_it_may() -> None:
    """Its next game waits for the end of the last, however that came; 0 is no bound, and a bound may come later."""
    copies = {"Ada": 1, "Cid": 0}
    slots = Allotment(3, copies)
    slots.begin(0, FIRST)
    assert slots.slot_for(Pairing("Cid", "Ada")) is None
    slots.begin(1, OTHER)
    assert slots.slot_for(Pairing("Cid", "Eve")) == 2
    slots.end(FIRST, failed=True)
    slots.end(FIRST, failed=True)
    assert slots.slot_for(Pairing("Cid", "Ada")) == 0
    copies["Cid"] = 1
    assert slots.slot_for(Pairing("Cid", "Ada")) is None


def capped(copies: int) -> GameTask:
    task = task_for(FIRST, 0)
    return replace(task, white=replace(task.white, spec=replace(task.white.spec, max_copies=copies)))


def test_an_engine_of_which_there_may_be_one_waits_in_no_slot() -> None:
    """With more slots than copies its process ends with the game; otherwise it may wait for the next."""
    assert unshared(capped(1), 2).white.spec.restart == "on"
    assert unshared(capped(1), 2).black.spec.restart == "auto"
    assert unshared(capped(2), 2) == capped(2)
    assert unshared(capped(0), 8) == capped(0)


def test_a_run_keeps_to_the_copies_of_an_engine_file(tmp_path: Path) -> None:
    """With two slots, in every game of the engine: its next process begins when the last has ended."""
    (tmp_path / "alone.py").write_text(ALONE)
    python = [sys.executable, "-I", "-S"]
    command = [*python, str(tmp_path / "alone.py"), *python, SCRIPT]
    (tmp_path / "engines").mkdir()
    (tmp_path / "engines" / "one.toml").write_text(
        f'name = "One"\nprotocol = "uci"\ndir = "scratch"\nmax_copies = 1\ncommand = {json.dumps(command)}\n'
    )
    others = "".join(scripted(name, "uci") for name in ("Ada", "Bea", "Cid"))
    path = config(tmp_path, ("one",), "roundrobin", "cycles = 2", others, tc="60")
    tour(tmp_path, "run", str(path), "--slots", "2", "--force")
    assert audit(tmp_path) == 12
    assert (tmp_path / "alone.py.lock").exists()
    assert not (tmp_path / "alone.py.lock.twice").exists()
