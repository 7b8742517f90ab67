"""Games between scripted engines, played in the test's own process."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from enginetour.engines.protocol import Engine
from enginetour.model.game import Game, Opening, Pairing
from enginetour.model.task import EngineSpec, GameTask, Quirks, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.game import play
from enginetour.referee.startup import EngineShelf
from enginetour.referee.talk import Link

Protocol = Literal["uci", "cecp"]
BOTH = pytest.mark.parametrize("protocol", ["uci", "cecp"])
SCRIPT = str(Path(__file__).parent / "engines" / "scripted.py")
SHUFFLE = ("g1f3", "g8f6", "f3g1", "f6g8")  # knights that go to and fro
LONG = "60"  # a clock that no test runs down, however busy the machine


class Eavesdropper(Link):
    """A link that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def tell(self, name: str, payload: object) -> None:
        self.told.append((name, payload))


def scripted(
    protocol: Protocol = "uci",
    fault: str = "",
    *,
    name: str = "",
    at: int = 2,
    moves: str = "",
    variants: str = "",
    seconds: float = 1.0,
    told: str = "",
    options: tuple[tuple[str, str], ...] = (),
    **quirks: Any,
) -> EngineSpec:
    """An engine that misbehaves as `fault` says at its search number `at`."""
    command = [sys.executable, "-E", "-S", SCRIPT, "--protocol", protocol, "--fault", fault, "--at", str(at)]
    if moves:
        command += ["--moves", moves]
    if variants:
        command += ["--variants", variants]
    if told:
        command += ["--told", told]
    command += ["--seconds", str(seconds)]
    quirks.setdefault("ready_timeout", 20.0)
    quirks.setdefault("handshake_timeout", 20.0)
    return EngineSpec(
        name or fault or "sound",
        tuple(command),
        protocol,
        dir="scratch",
        options=options,
        quirks=Quirks(**quirks),
    )


def deaf_at_first(starts: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> EngineSpec:
    """A CECP engine that hears nothing in its first processes, though it surely tells features; each leaves a sign.

    Its handshake is over as soon as it is known to be deaf, and a process that hears has all the time it may need.
    """
    spec = scripted("cecp", "deaf-at-first", at=times, tells_features=True)
    whole: Callable[[Engine], int] = vars(Engine)["handshake_deadline"].fget
    count = itertools.count(1)

    def deadline(engine: Engine) -> int:
        if engine.spec.name != spec.name or (number := next(count)) > times:
            return whole(engine)
        while not starts.exists() or starts.stat().st_size < number:
            time.sleep(0.001)
        return time.monotonic_ns()

    monkeypatch.setattr(Engine, "handshake_deadline", property(deadline))
    return replace(spec, command=(*spec.command, "--starts", str(starts)))


def sound(protocol: Protocol = "uci", **kept: Any) -> EngineSpec:
    """An engine without a fault."""
    return scripted(protocol, name="sound", **kept)


def game(
    white: EngineSpec,
    black: EngineSpec,
    *,
    white_tc: str = LONG,
    black_tc: str = LONG,
    margin: int = 50,
    opening: Opening | None = None,
    shelf: EngineShelf | None = None,
    link: Link | None = None,
    replay: int = 0,
    aborts: int = 0,
    keep_lines: str = "",
    spare: Opening | None = None,
    **rules: Any,
) -> Game:
    """Play one game; every engine is ended afterwards unless a shelf keeps it. Five repetitions: room for faults.

    A busy machine makes flags doubtful, and they stand here all the same: doubt is what test_verdict.py is about.
    """
    rules.setdefault("repetition", 5)
    rules.setdefault("doubtful_flag", "loss")
    task = GameTask(
        Pairing(white.name, black.name),
        Side(white, TimeControl.parse(white_tc), margin),
        Side(black, TimeControl.parse(black_tc), margin),
        opening or Opening(),
        Rules(**rules),
        replay,
        aborts=aborts,
        keep_lines=keep_lines,
        spare=spare,
    )
    own = EngineShelf()
    try:
        return play(task, link or Link(), shelf if shelf is not None else own)
    finally:
        own.close_all()
