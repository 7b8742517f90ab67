"""Tests of referee/probe."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from enginetour.engines import cecp
from enginetour.engines import protocol as base
from enginetour.engines.process import running_engines
from enginetour.model.errors import InputRefused, MachineFailure
from enginetour.model.game import Outcome
from enginetour.model.task import EngineSpec, ProbeResult, ProbeTask, Quirks, Side, TimeTerms
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import probe as probes
from enginetour.referee import talk
from enginetour.referee.link import Link
from enginetour.referee.probe import probe
from enginetour.tournament.config.entrants import refuse_limits
from enginetour.tournament.probing import refuse_unfit
from tests.support.engines import BOTH, MISBEHAVING, Eavesdropper, Protocol, deaf_at_first, game, scripted, sound

# Probes: what is reported of an engine before it plays.


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow one attempt, and no delays."""
    monkeypatch.setattr(probes, "AGAIN_S", ())
    monkeypatch.setattr(base, "OWED_NS", 100 * base.MS)


def tried(spec: EngineSpec) -> ProbeResult:
    """Return a probe; no engine process is left afterwards."""
    found = probe(ProbeTask(spec), Link())
    assert not running_engines
    return found


@pytest.mark.usefixtures("once")
@BOTH
def test_a_sound_engine_passes(protocol: Protocol) -> None:
    """A probe runs handshake, options and quit, without a search."""
    found = tried(sound(protocol))
    assert not found.problems
    assert not found.category
    assert [what for what, _, _ in found.steps] == ["handshake", "options", "quit"]
    assert all(good for _, good, _ in found.steps)
    assert found.own_name == "Scripted"
    assert found.options


@pytest.mark.usefixtures("once")
def test_a_program_that_dies_at_its_start_is_told_with_its_last_words() -> None:
    """A program that ends at its start is reported with its status and last line."""
    for protocol in ("uci", "cecp"):
        found = tried(scripted(protocol, "exit-at-start", at=1))
        assert found.category == "start-failure"
        (problem,) = found.problems
        assert "exit 7; stderr: no net found" in problem


@pytest.mark.usefixtures("once")
def test_silence_is_no_uci_engine() -> None:
    """A silent UCI engine gets no search."""
    found = tried(scripted("uci", "silent", at=1, handshake_timeout=1.0))
    assert found.category == "start-timeout"
    (problem,) = found.problems
    assert "does it flush stdout" in problem


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize(
    ("on_go", "words"),
    [
        ("echo move e2e4", ""),
        ("echo move e2e5", "its first move is illegal: 'e2e5'"),
        ("echo lost it >&2; exit 3", "ended at start: exit 3; stderr: lost it"),
        (
            ":",
            "no feature line within 1.5 s; no output at all (does it flush stdout?); if the engine needs more",
        ),
    ],
)
def test_an_engine_without_features_is_asked_for_a_move(
    on_go: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine without features is asked for a move, because protocol 1 has no handshake."""
    monkeypatch.setattr(cecp, "SILENT_NS", 200 * base.MS)
    script = f'while read -r word rest; do case "$word" in go) {on_go};; quit) exit;; esac; done'
    quirks = Quirks(handshake_timeout=20.0 if on_go != ":" else 1.5)
    found = tried(EngineSpec("old", ("/bin/sh", "-c", script), "cecp", quirks=quirks))
    assert [words in problem for problem in found.problems] == [True] * bool(words), found.problems
    assert ("features", True, "sent a move but no feature line; protocol 1 is assumed") in found.steps or words


def slow(*words: str) -> EngineSpec:
    """Return an engine that is slow at its start or at each new game."""
    command = (sys.executable, str(Path(__file__).parents[1] / "cases" / "engines" / "slow.py"), *words)
    return EngineSpec("slow", command, "cecp" if words[0] == "cecp" else "uci", dir="scratch")


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("seconds", ["0.3", "1"])
def test_a_slow_cecp_start_is_a_start(seconds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Late features are accepted, and the engine is not taken for a reader of single lines."""
    monkeypatch.setattr(cecp, "SILENT_NS", 100 * base.MS)
    found = tried(slow("cecp", "start", seconds))
    assert not found.problems
    assert (found.own_name, dict(found.features)["setboard"]) == ("Slow", "1")
    assert "features" not in [what for what, _, _ in found.steps]


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("answers", [0, 1])
def test_only_an_empty_line_that_wakes_it_twice_shows_a_reader_of_single_lines(
    answers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only an engine that an empty line wakes twice is a reader of single lines."""
    monkeypatch.setattr(cecp, "SILENT_NS", 300 * base.MS)
    monkeypatch.setattr(base, "WOKEN_NS", (5_000 if answers else 200) * base.MS)
    script = MISBEHAVING
    spec = slow("cecp", "start", "1")
    if answers == 0:
        command = (sys.executable, script, "--protocol", "cecp", "--fault", "line-by-line")
        spec = EngineSpec("reader", command, "cecp", dir="scratch", quirks=Quirks(handshake_timeout=3.0))
    found = tried(spec)
    hint = (
        "it reads only one line at a time (in two tests, it answered only after an empty line): "
        "set line_delay_ms = 100 under [quirks]"
    )
    assert [hint in problem for problem in found.problems] == [True] * (answers == 0)


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize(
    ("words", "awaited", "setting"),
    [
        (("uci", "start"), "uciok", "handshake_timeout"),
        (("cecp", "start"), "its features", "handshake_timeout"),
        (("uci", "newgame"), "its answer to isready", "ready_timeout"),
    ],
)
def test_a_long_wait_is_told(
    words: tuple[str, ...], awaited: str, setting: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A long wait is reported once, with the setting that limits it."""
    monkeypatch.setattr(talk, "WAIT_REPORT_NS", 100 * base.MS)
    monkeypatch.setattr(cecp, "SILENT_NS", 60_000 * base.MS)
    reported = tmp_path / "reported"

    class Answered(Eavesdropper):
        def tell(self, name: str, payload: Any) -> None:
            super().tell(name, payload)
            if name == "waits" and (payload["engine"], payload["for"]) == ("slow", awaited):
                reported.touch()  # the engine waits for it

    link = Answered()
    played = game(slow(*words, str(reported)), sound("uci", moves="/g8f6,f6g8"), max_moves=1, link=link)
    assert played.outcome is not Outcome.VOID, played.cause
    told = [payload["text"] for name, payload in link.told if name == "waits" and payload["engine"] == "slow"]
    assert told.count(f"enginetour waits for slow: {awaited} (at most 60 s, {setting})") == 1
    assert len(set(told)) == len(told)  # a busy machine may be slow elsewhere too


@pytest.mark.usefixtures("once")
@BOTH
def test_all_wrong_options_are_told_at_once(protocol: Protocol) -> None:
    """All wrong options are reported with one sentence each, and nothing is sent."""
    found = tried(scripted(protocol, options=(("Hush", "1"), ("Nonsense", "2"))))
    assert found.category == "bad-option"
    assert len(found.problems) == 2
    assert found.options


@pytest.mark.usefixtures("once")
def test_a_program_that_is_no_engine() -> None:
    """`cat` is not an engine."""
    found = tried(EngineSpec("cat", ("/bin/cat",), "uci", quirks=scripted(handshake_timeout=0.5).quirks))
    assert found.category == "start-timeout"
    assert found.problems


@pytest.mark.usefixtures("once")
def test_a_missing_program() -> None:
    """A missing program is reported, and nothing is started."""
    found = tried(EngineSpec("gone", ("/nonexistent/engine",), "uci"))
    assert found.category == "start-failure"


REAL = [
    ("stockfish", "uci"),
    ("ethereal-chess", "uci"),
    ("toga2", "uci"),
    ("glaurung", "uci"),
    ("fairy-stockfish", "uci"),
    ("sjaakii", "uci"),
    ("fairymax", "cecp"),
    ("phalanx", "cecp"),
    ("hoichess", "cecp"),
    ("sjaakii", "cecp"),
]


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize(
    ("name", "protocol"), [pytest.param(*pair, marks=pytest.mark.engine(pair[0]), id="-".join(pair)) for pair in REAL]
)
def test_real_engines_pass(name: str, protocol: Protocol) -> None:
    """Engines of the survey start, accept their options and quit."""
    program = shutil.which(name, path="/usr/games:/usr/local/games:" + os.environ.get("PATH", ""))
    assert program
    quirks = Quirks(no_computer=name == "fairymax")
    found = tried(EngineSpec(name, (program,), protocol, dir="scratch", quirks=quirks))
    assert not found.problems
    assert found.own_name


@pytest.mark.usefixtures("once")
def test_a_silent_program_is_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A silent program is not an engine: it does not move."""
    monkeypatch.setattr(cecp, "SILENT_NS", 200 * base.MS)
    quirks = Quirks(handshake_timeout=1.0)
    found = tried(EngineSpec("cat", (shutil.which("cat") or "/bin/cat",), "cecp", quirks=quirks))
    assert found.problems
    assert found.category == "start-timeout"


@pytest.mark.usefixtures("once")
def test_an_engine_that_dies_of_tablebases_is_found_out() -> None:
    """An engine that crashes with tablebases is tried without them, and the setting is named."""
    path = (("SyzygyPath", "/tables"),)
    found = tried(replace(scripted("uci", "no-tables"), offered=path))
    ended, hint = found.problems
    assert "exit 127" in ended
    assert (
        hint
        == "the engine only starts without tablebases. Hint: set no_tablebases = true in [quirks] of the engine file"
    )
    assert found.category == "start-failure"
    assert not tried(scripted("uci", "no-tables")).problems
    assert len(tried(replace(scripted("uci", "exit-at-start"), offered=path)).problems) == 1


@pytest.mark.usefixtures("once")
def test_a_deaf_start_is_not_the_last_word(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that always sends features is tried again after a silent start."""
    monkeypatch.setattr(probes, "AGAIN_S", (0.0,))
    found = tried(deaf_at_first(tmp_path / "starts", 1, monkeypatch))
    assert not found.problems
    (what, good, words), *_ = found.steps
    assert (what, good) == ("earlier attempt", False)
    assert words.startswith("no feature line within 20 s")


# Faults that once made a run reject a sound engine.

SOON = (0.01, 0.02)


def moody(folder: Path, protocol: Protocol, fault: str, times: int, **quirks: Any) -> EngineSpec:
    """Return an engine with a fault in its first processes, which it counts in its directory."""
    bad, good = scripted(protocol, fault, at=1, **quirks), sound(protocol)
    count = f'n=$(cat {folder}/tries 2>/dev/null || echo 0); echo $((n + 1)) > {folder}/tries; [ "$n" -lt {times} ]'
    script = f"if {count}; then exec {shlex.join(bad.command)}; else exec {shlex.join(good.command)}; fi"
    return EngineSpec("moody", ("/bin/sh", "-c", script), protocol, dir="scratch", quirks=bad.quirks)


def tries(folder: Path) -> int:
    return int((folder / "tries").read_text())


def probe_tried(spec: EngineSpec) -> ProbeResult:
    found = probes.probe(ProbeTask(spec), Link())
    assert not running_engines
    return found


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
@pytest.mark.parametrize("times", [1, 2])
def test_an_engine_that_fails_at_its_first_starts_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: Protocol, times: int
) -> None:
    """An engine that fails at its first starts is tried twice again; failures remain among the steps."""
    monkeypatch.setattr(probes, "AGAIN_S", SOON)
    found = probe_tried(moody(tmp_path, protocol, "exit-at-start", times))
    assert not found.problems
    assert [what for what, good, _ in found.steps if not good] == ["earlier attempt"] * times
    assert tries(tmp_path) == times + 1


def test_after_three_tries_it_is_unfit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After three attempts the engine is rejected, and the problem is reported once."""
    monkeypatch.setattr(probes, "AGAIN_S", SOON)
    found = probe_tried(moody(tmp_path, "uci", "exit-at-start", 9))
    assert len(found.problems) == 1
    assert tries(tmp_path) == 3


def test_what_would_be_found_again_is_not_tried_again(tmp_path: Path) -> None:
    """A failure that would repeat is not tried again."""
    found = probe_tried(moody(tmp_path, "uci", "silent", 9, handshake_timeout=1.0))
    assert found.category == "start-timeout"
    assert tries(tmp_path) == 1


def test_a_stop_ends_the_wait_for_the_next_try(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop ends the wait for the next attempt."""

    class Stopped(Link):
        def stopping(self) -> str:  # type: ignore[override]
            return "now" if (tmp_path / "tries").exists() else ""

    link = Stopped()
    link.control_fd, writing = os.pipe()
    os.write(writing, b"!")
    monkeypatch.setattr(probes, "AGAIN_S", (600.0, 600.0))
    begun = time.monotonic()
    with pytest.raises(MachineFailure, match="stopped"):
        probes.probe(ProbeTask(moody(tmp_path, "uci", "exit-at-start", 9)), link)
    assert time.monotonic() - begun < 60
    os.close(link.control_fd)
    os.close(writing)


def test_nodes_that_a_cecp_engine_cannot_be_told_are_refused() -> None:
    """Node limits are rejected for a CECP engine that does not declare nps."""
    spec, nodes, clock = scripted("cecp", name="Ada"), TimeControl.parse("nodes=500"), TimeControl.parse("9")
    told = ProbeResult("Ada", features=(("nps", "1"), ("ping", "1")))
    for side in (Side(spec, nodes, 0), Side(spec, clock, 0, black=TimeTerms(nodes, 0))):
        refuse_unfit({"Ada": told}, {"Ada": side})
        with pytest.raises(InputRefused, match="Ada does not support nodes: it does not declare the feature nps"):
            refuse_unfit({"Ada": ProbeResult("Ada", features=(("ping", "1"),))}, {"Ada": side})
    refuse_unfit({"Ada": ProbeResult("Ada")}, {"Ada": Side(spec, clock, 0)})
    for beside in ("9,nodes=500", "movetime=1,nodes=500"):
        with pytest.raises(InputRefused, match="cannot combine nodes with a time"):
            refuse_limits(spec, TimeControl.parse(beside), "play.tc")
    refuse_limits(spec, TimeControl.parse("nodes=500,depth=3"), "play.tc")


def test_an_engine_of_protocol_1_may_mind_an_empty_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A complaint about an empty line is not taken for late features."""
    monkeypatch.setattr(cecp, "SILENT_NS", 200 * base.MS)
    found = probe_tried(scripted("cecp", "minds-empty-lines"))
    assert not found.problems
    assert ("features", True, "sent a move but no feature line; protocol 1 is assumed") in found.steps
