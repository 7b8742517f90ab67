"""What an engine file says of an engine is done at its pipe."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from enginetour.engines import cecp
from enginetour.engines import protocol as base
from enginetour.engines.cecp import CecpEngine
from enginetour.engines.process import EngineProcess
from enginetour.engines.start import open_engine
from enginetour.model.errors import StartFailed
from enginetour.model.game import Opening, Termination
from enginetour.model.task import EngineSpec, Quirks
from enginetour.referee.startup import EngineShelf
from enginetour.referee.talk import Link, converse
from tests.playing import BOTH, Protocol, game, scripted, sound


def sent(spec: EngineSpec, games: int = 1) -> list[tuple[float, str]]:
    """Seconds and words of all that an engine was sent in its games."""
    shelf = EngineShelf()
    for _ in range(games):
        game(spec, sound(spec.protocol), shelf=shelf)
    engine = shelf.take(spec)[0]
    assert engine is not None
    lines = [line.partition(" > ") for line in engine.process.traffic(1000)]
    shelf.end(engine)
    return [(float(stamp), words) for stamp, mark, words in lines if mark]


@BOTH
def test_init_lines_come_once_before_the_first_game(protocol: Protocol) -> None:
    """As they are, in their order, behind the options."""
    options = (("Hash", "8"),) if protocol == "uci" else (("Depth", "4"),)
    spec = scripted(protocol, name="initial", options=options, init=("book off", "log  on"))
    words = [line for _, line in sent(spec, games=2)]
    first, option, begun = words.index("book off"), "setoption name Hash value 8", "ucinewgame"
    if protocol == "cecp":
        option, begun = "option Depth=4", "new"
    assert words[first + 1] == "log  on"
    assert words.count("book off") == words.count("log  on") == 1
    assert words.index(option) < first < words.index(begun)
    assert words.count(begun) == 2


@BOTH
def test_lines_keep_their_distance(protocol: Protocol) -> None:
    """With `line_delay_ms` none follows another sooner; without it they come together."""
    stamps = [stamp for stamp, _ in sent(scripted(protocol, name="apart", line_delay_ms=3))]
    assert min(after - before for before, after in pairwise(stamps)) >= 0.003 - 1e-6
    together = [stamp for stamp, _ in sent(scripted(protocol, name="together"))]
    assert len(set(together)) < len(together)


@BOTH
def test_a_silent_reader_of_single_lines_is_woken_once_a_wait(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One empty line when an answer is overdue, in a search and at a fence; never to an engine without the quirk."""
    monkeypatch.setattr(base, "POKE_NS", 50 * base.MS)
    words = [line for _, line in sent(scripted(protocol, "wordless", line_delay_ms=1, seconds=0.2))]
    asked = [at for at, line in enumerate(words) if line.startswith(("go", "usermove"))]
    assert words[asked[1] + 1] == ""
    assert words[asked[1] + 2] != ""
    assert all(line for _, line in sent(scripted(protocol, "wordless", seconds=0.2)))
    fenced = [line for _, line in sent(scripted(protocol, "late-pong", line_delay_ms=1, seconds=0.2))]
    ping = "isready" if protocol == "uci" else "ping"
    assert "" in {after for before, after in pairwise(fenced) if before.startswith(ping)}


@BOTH
def test_a_game_is_no_longer_than_an_engine_survives(protocol: Protocol) -> None:
    """Of two engines with such a limit the shorter one holds."""
    frail, frailer = scripted(protocol, name="frail", max_plies=6), scripted(protocol, name="frailer", max_plies=4)
    assert [game(frail, other).plies for other in (sound(protocol), frailer)] == [6, 4]
    assert game(frail, sound(protocol)).termination is Termination.ADJUDICATION_LENGTH


@BOTH
def test_limits_of_the_start_and_of_fences(protocol: Protocol) -> None:
    """From the start of the process, whatever it prints: a minute, in a game five seconds, or what its file says."""
    engine = open_engine(scripted(protocol, handshake_timeout=2.5, ready_timeout=3.0))
    assert engine.handshake_deadline - engine.born_ns == 2_500 * base.MS
    assert engine.ready_ns == engine.game_fence_ns == 3_000 * base.MS
    engine.kill()
    plain = open_engine(replace(sound(protocol), quirks=Quirks()))
    assert plain.handshake_deadline - plain.born_ns == plain.ready_ns == 60_000 * base.MS
    assert plain.game_fence_ns == 5_000 * base.MS
    plain.kill()


ENDING = "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1"
# What is fenced up to the second search of a game: the write with the ping, and for how many seconds.
FENCED: dict[Protocol, list[tuple[str, int]]] = {
    "uci": [
        ("setoption name Ponder value false\nsetoption name OwnBook value false\nisready\n", 30),
        ("ucinewgame\nisready\n", 30),
        (f"position fen {ENDING}\nisready\n", 5),
        (f"position fen {ENDING} moves a1a2 e8e7\nisready\n", 5),
    ],
    "cecp": [
        ("book off\nping 1\n", 30),
        ("new\nforce\nlevel 0 1 0\npost\neasy\ncomputer\nping 2\n", 30),
        (f"setboard {ENDING}\nping 3\n", 30),
        ("ping 4\n", 5),
        ("ping 5\n", 5),
    ],
}


@BOTH
def test_a_ping_goes_out_with_what_it_fences(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one write: who stalls on two lines is found out before a clock runs. In a game it has five seconds."""
    limits, writes = list[int](), list[str]()
    fenced, write = base.Engine.fenced, EngineProcess.write

    def limited(engine: base.Engine, limit_ns: int, *lines: bytes) -> base.Script:
        if engine.spec.name == "fenced":
            limits.append(limit_ns // 10**9)
        return fenced(engine, limit_ns, *lines)

    def heard(process: EngineProcess, data: bytes) -> int:
        if process.spec.name == "fenced" and (b"isready" in data or b"ping " in data) and b"accepted" not in data:
            writes.append(data.decode())
        return write(process, data)

    monkeypatch.setattr(base.Engine, "fenced", limited)
    monkeypatch.setattr(EngineProcess, "write", heard)
    quirks: dict[str, Any] = {"fence": "wait", "ready_timeout": 30.0}
    if protocol == "cecp":
        quirks["init"] = ("book off",)
    white = scripted(protocol, "illegal", name="fenced", moves="a1a2", **quirks)
    game(white, scripted("uci", name="other", moves="e8e7"), opening=Opening(fen=ENDING))
    expected = FENCED[protocol]
    first = protocol == "uci"  # the handshake's own, which fences nothing
    assert list(zip(writes[first:], limits, strict=False))[: len(expected)] == expected


def greeted(spec: EngineSpec) -> tuple[CecpEngine, object]:
    """A CECP engine after its handshake, and the fault in it; its process has ended."""
    engine = open_engine(spec)
    assert isinstance(engine, CecpEngine)
    fault = converse({engine: engine.handshake()}, Link())[engine]
    engine.kill()
    return engine, fault


def test_protover_comes_apart_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """After `protover_delay_ms`, and once more while no feature comes; to nobody else a second time."""
    monkeypatch.setattr(cecp, "POKE_NS", 50 * base.MS)
    monkeypatch.setattr(cecp, "SILENT_NS", 500 * base.MS)
    engine, fault = greeted(scripted("cecp", "loses-protover", protover_delay_ms=20, tells_features=True))
    assert fault is None
    assert engine.features.on("ping") and not engine.notes
    told = [line.partition(" > ") for line in engine.process.traffic(100) if " > " in line]
    first, second, third = told[:3]
    assert (first[2], second[2], third[2]) == ("xboard", "protover 2", "protover 2")
    assert float(second[0]) - float(first[0]) >= 0.02 - 1e-6
    plain, _ = greeted(scripted("cecp", "loses-protover"))
    assert "no-features" in plain.notes
    assert sum(line.endswith(" > protover 2") for line in plain.process.traffic(100)) == 1


def test_silence_of_one_that_tells_features_is_a_failed_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """For its whole handshake, not two seconds; once there are some, silence ends them as ever."""
    monkeypatch.setattr(cecp, "SILENT_NS", 50 * base.MS)
    _, fault = greeted(scripted("cecp", "no-features", handshake_timeout=0.5, tells_features=True))
    assert isinstance(fault, StartFailed)
    assert (fault.category, fault.detail[:34]) == ("start-timeout", "no feature line within 0.5 s; no o")
    engine, fault = greeted(scripted("cecp", "never-done", tells_features=True))
    assert fault is None
    assert engine.features.on("setboard")
