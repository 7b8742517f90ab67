"""A slot with a scripted referee, run as the slot's command. The name of White says what a game does."""

import os
import signal
import sys
import threading
import time
from types import ModuleType
from typing import Any

from enginetour.engines import strays
from enginetour.engines.process import EngineProcess, end_all, wait
from enginetour.model.errors import MachineFailure
from enginetour.model.game import Game, Outcome, Termination
from enginetour.model.task import GameTask, ProbeResult, ProbeTask
from enginetour.referee import slot
from enginetour.referee.link import Link


class EnginePool:
    """A pool of engines between games."""

    kept: list[EngineProcess]

    def __init__(self) -> None:
        self.kept = []

    def close_all(self) -> None:
        end_all(self.kept)


def until_stopped(link: Link, engines: list[EngineProcess]) -> None:
    while link.stopping() != "now":
        for engine in wait(engines, link.control_fd, time.monotonic_ns() + 60_000_000_000).readable:
            engine.read()
    raise MachineFailure("stopped")


def play(task: GameTask, link: Link, pool: EnginePool) -> Game:
    what = task.pairing.white
    if what == "die":
        print("last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "raise":
        raise ValueError("a mistake of ours")
    if what == "fail":
        raise MachineFailure("no room")
    if what == "prints":
        print("a stray print", flush=True)
        os.write(1, b"\0\0\0\1x")
    if what == "odd-result":
        return threading.Lock()  # type: ignore[return-value]
    if what == "events":
        for number in range(20_000):
            link.tell("move", ("x" * 1000, number))
    if what == "begins":
        link.tell("start", os.getpid())
        until_stopped(link, [])
    if what == "sleeps":
        link.tell("playing", os.getpid())
        while True:
            time.sleep(600)
    if what == "hangs":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGALRM})
        link.tell("playing", os.getpid())
        while True:
            time.sleep(600)
    if what == "once" and not os.path.exists(
        task.pairing.black
    ):  # ends the first time; Black is the path of its memory
        open(task.pairing.black, "w").close()
        os._exit(7)
    if what in ("plays", "keeps"):
        engines = [EngineProcess(task.white.spec), EngineProcess(task.black.spec)]
        children = [_child(engine) for engine in engines if "escapes" in engine.spec.name]
        link.tell("playing", (os.getpid(), [engine.engine_pid for engine in engines], children))
        if what == "keeps":
            pool.kept += engines
            return ended(task, "kept")
        until_stopped(link, engines)
    if what == "leaves":  # an engine has left a child without the tag
        engine = EngineProcess(task.white.spec)
        child = _child(engine)
        engine.end()
        return ended(task, f"{child} {engine.orphans}")
    if what == "waits":
        link.tell("playing", os.getpid())
        while not link.stopping():
            wait((), link.control_fd, time.monotonic_ns() + 60_000_000_000)
    return ended(task, f"{what} {os.getpid()} {os.environ['ENGINETOUR_TAG']}")


def _child(engine: EngineProcess) -> int:
    said = b""
    while not said.endswith(b"\n"):
        wait((engine,), None, time.monotonic_ns() + 1_000_000_000)
        said += engine.read()[0]
    number = int(said.split()[1])
    if engine.init is None:
        return number
    for pid in strays.process_tree(engine.init):
        with open(f"/proc/{pid}/status") as file:
            inside = next(line.split()[-1] for line in file if line.startswith("NSpid:"))
        if int(inside) == number:
            return pid
    raise AssertionError(f"no process {number} in its namespace")


def ended(task: GameTask, cause: str) -> Game:
    return Game(task.pairing, Outcome.DRAW, Termination.AGREEMENT, cause=cause)


def probe(task: ProbeTask, link: Link) -> ProbeResult:
    return ProbeResult(task.spec.name, own_name="probed")


def put(name: str, **content: Any) -> None:
    module = ModuleType(f"enginetour.referee.{name}")
    vars(module).update(content)
    sys.modules[module.__name__] = module


if __name__ == "__main__":
    put("game", play=play)
    put("probe", probe=probe)
    put("startup", EnginePool=EnginePool)
    slot.main()
