"""UCI: lines read, words sent, options pressed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enginetour.engines import uci
from enginetour.engines.cecp_lines import last_thought
from enginetour.engines.position import Position
from enginetour.engines.protocol import Ask, Setup
from enginetour.engines.start import open_engine
from enginetour.engines.uci import UciEngine
from enginetour.engines.uci_lines import filled, go_words, plain, read_option
from enginetour.engines.uci_lines import last_thought as uci_lines_last_thought
from enginetour.engines.wire import Thought
from enginetour.model.errors import StartFailed
from enginetour.model.task import Declared, EngineSpec
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.talk import Link, converse
from tests.playing import scripted


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("option name Hash type spin default 16 min 1 max 33554432", Declared("Hash", "spin", "16", 1, 33554432)),
        ("option name Clear Hash type button", Declared("Clear Hash", "button")),
        ("option name Ponder type check default false", Declared("Ponder", "check", "false")),
        ("option name SyzygyPath type string default <empty>", Declared("SyzygyPath", "string", "<empty>")),
        (
            "option name NullMove Pruning type combo default Always var Always var Fail High var Never",
            Declared("NullMove Pruning", "combo", "Always", None, None, ("Always", "Fail High", "Never")),
        ),
        (
            "option name a name of type default type check default true",
            Declared("a name of type default", "check", "true"),
        ),
        ("option name Big type spin default 0 min -9 max " + "9" * 25, Declared("Big", "spin", "0", -9, int("9" * 25))),
        (
            "option name Mode type combo default default var default var Tal var max",
            Declared("Mode", "combo", "default", None, None, ("default", "Tal", "max")),
        ),
        (
            "option name Mode type combo var default var var var min 3 default var",
            Declared("Mode", "combo", "var", None, None, ("default", "var", "min 3")),
        ),
        (
            "option name Mode type combo default var Solid var Wild",
            Declared("Mode", "combo", "", None, None, ("Solid", "Wild")),
        ),
        (
            "option name Time type type combo default type spin var type spin var name",
            Declared("Time type", "combo", "type spin", None, None, ("type spin", "name")),
        ),
        (
            "option name Script type string default min 5 type check default true",
            Declared("Script", "string", "min 5 type check default true"),
        ),
        ("option name type string type string default x", Declared("type string", "string", "x")),
        ("option name Low type spin min 1 max 9 default 2", Declared("Low", "spin", "2", 1, 9)),
        ("option name Low type spin default min 1 max 9", Declared("Low", "spin", "", 1, 9)),
        ("option name Calm type check true", Declared("Calm", "check")),
    ],
)
def test_options_as_declared(line: str, option: Declared) -> None:
    """Names and values with blanks and words of the protocol; numbers beyond 64 bits stay as declared."""
    assert read_option(line) == option


@pytest.mark.parametrize(
    "line",
    [
        "option",
        "option name",
        "option name X",
        "option name X type wheel",
        "option name X type spin default 1 min a max 2",
    ],
)
def test_options_that_cannot_be_used(line: str) -> None:
    """Unknown types and spins without numbers are no options."""
    assert read_option(line) is None


def test_escapes_and_blanks_are_stripped() -> None:
    """Coloured boards and titles leave their text, bad UTF-8 leaves marks."""
    assert plain(b"\x1b[1;31mid\x1b[0m  name \t X\x1b]0;title\x07 \r") == "id name X"
    assert plain(b"\xff ok") == "\ufffd ok"
    assert plain(b"\xef\xbb\xbf bestmove\x08 g1f3\0") == "bestmove g1f3"


@pytest.mark.parametrize(
    ("text", "thought"),
    [
        (b"info depth 12 seldepth 20 score cp -31 nodes 99 pv e2e4 e7e5\n", Thought(-31, 12, 99, "e2e4 e7e5", 20)),
        (b"info depth 3 score mate 2 nodes 5\n", Thought(31_998, 3, 5)),
        (b"info depth 3 score mate -2 lowerbound nodes 5\n", Thought(-31_998, 3, 5, bound=1)),
        (b"info depth 0 score mate 0\n", Thought(-32_000, 0)),
        (b"info depth 1 score cp 5\ninfo depth 2 currmove e2e4\ninfo string score cp 9\n", Thought(5, 1)),
        (
            b"info depth 1 score cp 5 multipv 1 pv a2a3\ninfo depth 1 multipv 2 score cp 1\n",
            Thought(5, 1, None, "a2a3"),
        ),
        (b"info score cp 7 upperbound depth 4\n", Thought(7, 4, bound=-1)),
        (b"info depth 1 score cp 5\ninfo depth 2 score cp nan nodes 3\n", Thought(5, 1)),
        (b"info depth 1 score cp\n", Thought()),
        (b"info depth 5 score cp 10 nodes 9 string net score cp -900 pv a2a3\n", Thought(10, 5, 9)),
        (b"info depth 5 score string cp 9\n", Thought()),
        (b"info depth 5 score cp 10 pv e2e4 string b1c3\n", Thought(10, 5, None, "e2e4")),
        (b"info depth 1 score\nx score y\n", Thought()),
        (b"", Thought()),
    ],
)
def test_the_last_scored_line(text: bytes, thought: Thought) -> None:
    """Mates as +-(32000 - n); other variations, strings and lines without a score change nothing."""
    assert uci_lines_last_thought(text) == thought


def test_the_last_exact_score() -> None:
    """Bounds are passed over, and where there is nothing else there is no score."""
    bound = b"info depth 9 score cp 90 lowerbound nodes 5\ninfo depth 9 score cp 200 lowerbound nodes 7\n"
    assert uci_lines_last_thought(b"info depth 8 score cp 40 nodes 3\n" + bound, bounds=False) == Thought(40, 8, 3)
    assert uci_lines_last_thought(bound, bounds=False) == Thought()


def ask(tc: str, **kept: object) -> Ask:
    return Ask(Position(), white=False, tc=TimeControl.parse(tc), **kept)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("read", "line"), [(uci_lines_last_thought, b"info depth 1 score cp 5 pv "), (last_thought, b"1 5 1 1 ")]
)
def test_a_pv_is_cut(read: Callable[[bytes], Thought], line: bytes) -> None:
    """At 200 plies, and at 2 KB of words that are longer than moves."""
    assert read(line + b"e2e4 " * 300 + b"\n").pv.split() == ["e2e4"] * 200
    assert len(read(line + b"e2e4-and-more " * 199 + b"\n").pv) == 2_048


def test_go_tells_the_clocks_by_colour() -> None:
    """wtime is White's, whoever asks; moves to go where the stage has an end."""
    clocks = {"own_ms": 900, "other_ms": 1200, "own_increment_ms": 10, "other_increment_ms": 20}
    assert go_words(ask("1+0.01", **clocks)) == "go wtime 1200 btime 900 winc 20 binc 10"
    assert go_words(ask("5/1", own_ms=900, moves_to_go=4)) == "go wtime 900 btime 900 winc 0 binc 0 movestogo 4"


def test_go_tells_limits() -> None:
    """Fixed time, nodes, depth; beside a clock where configured."""
    assert go_words(ask("movetime=0.1")) == "go movetime 100"
    assert go_words(ask("nodes=1000")) == "go nodes 1000"
    assert go_words(ask("movetime=1,nodes=1")) == "go movetime 1000 nodes 1"
    assert go_words(ask("1,depth=8", own_ms=1000)) == "go wtime 1000 btime 1000 winc 0 binc 0 depth 8"


def shaken(fault: str = "", options: tuple[tuple[str, str], ...] = (), **quirks: Any) -> tuple[UciEngine, object]:
    """An engine after its handshake, and how that ended; the engine is dead."""
    engine = open_engine(scripted("uci", fault, options=options, **quirks))
    assert isinstance(engine, UciEngine)
    end = converse({engine: engine.handshake()}, Link())[engine]
    engine.kill()
    return engine, end


def test_what_a_handshake_leaves() -> None:
    """Names, options, and what was sent: the standard settings and the user's."""
    engine, end = shaken(options=(("hash", "32"), ("Clear Hash", ""), ("style", "very risky"), ("Log", "{scratch}/x")))
    assert end is None
    assert (engine.own_name, engine.author) == ("Scripted", "the tests")
    assert [option.name for option in engine.declared] == ["Hash", "Ponder", "Clear Hash", "OwnBook", "Style", "Log"]
    sent = [line.split(" > ", 1)[1] for line in engine.process.traffic() if " > " in line]
    assert sent == [
        "uci",
        "isready",
        "setoption name Ponder value false",
        "setoption name OwnBook value false",
        "setoption name Hash value 32",
        "setoption name Clear Hash",
        "setoption name Style value Very Risky",
        f"setoption name Log value {engine.process.scratch}/x",
        "isready",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("Personality", value) for value in ("default", "Tal", "max")),
        *(("Fill", value) for value in ("no", "fen_only", "always")),
        *(("Time type", value) for value in ("type", "name")),
        ("Script", "min 5 max 9"),
        ("Big", "12345678901234567890"),
    ],
)
def test_every_declared_value_can_be_set(name: str, value: str) -> None:
    """Values that are keywords of the protocol, and numbers beyond 64 bits, reach the engine as they are declared."""
    command = (sys.executable, str(Path(__file__).parent / "cases" / "engines" / "combo_keywords.py"))
    engine = open_engine(EngineSpec("Combo", command, "uci", dir="scratch", options=((name, value),)))
    end = converse({engine: engine.handshake()}, Link())[engine]
    engine.kill()
    assert end is None
    assert any(
        line.endswith(f"info string got setoption name {name} value {value}") for line in engine.process.traffic()
    )


def test_the_opponent_is_named_where_that_is_an_option() -> None:
    """In letters that every engine reads, ahead of the game."""
    engine, _ = shaken()
    setup = Setup(Position(), TimeControl.parse("1"), "M\u00fcller\n 2")
    next(engine.new_game(setup))
    assert not any("UCI_Opponent" in line for line in engine.process.traffic())
    engine._options["uci_opponent"] = Declared("UCI_Opponent", "string")
    next(engine.new_game(setup))
    sent = [line.split(" > ", 1)[1] for line in engine.process.traffic(3)]
    assert sent == ["setoption name UCI_Opponent value none none computer Mller 2", "ucinewgame", "isready"]


def test_odd_options_are_one_warning_a_kind() -> None:
    """Duplicates, unknown types and spins without numbers do not stop a handshake."""
    engine, end = shaken("odd-options")
    assert end is None
    assert sorted(engine.notes) == ["double-option", "odd-option"]
    assert "a name type type" in [option.name for option in engine.declared]


def test_options_without_end_are_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory does not grow with what an engine declares; one warning says so."""
    monkeypatch.setattr(uci, "MOST_OPTIONS", 3)
    engine, end = shaken()
    assert end is None
    assert [option.name for option in engine.declared] == ["Hash", "Ponder", "Clear Hash"]
    assert list(engine.notes) == ["many-options"]


def test_a_wrong_option_is_never_sent() -> None:
    """The handshake fails with what is allowed."""
    engine, end = shaken(options=(("Hash", "abc"),))
    assert isinstance(end, StartFailed)
    assert end.category == "bad-option"
    assert engine.problems == ("option 'Hash' is a whole number from 1 to 1024, found 'abc'",)
    assert not any("setoption" in line for line in engine.process.traffic())


def test_a_silent_engine_gets_a_hint() -> None:
    """No output at all: perhaps its output waits in a buffer."""
    _, end = shaken("silent", handshake_timeout=0.3)
    assert isinstance(end, StartFailed)
    assert end.category == "start-timeout"
    assert "does it flush stdout" in end.detail


def test_the_words_of_a_late_engine_name_its_setting() -> None:
    """A late start and a late pong each have their own; `line_delay_ms` is named where an empty line woke it twice."""
    _, late = shaken("no-uciok", handshake_timeout=0.3)
    assert isinstance(late, StartFailed)
    assert late.detail == "no uciok within 0.3 s; if it needs longer, set handshake_timeout under quirks"
    engine, _ = shaken()
    assert (
        engine.stall_words(10**9)
        == "no answer to a ping within 1 s; if it needs longer, set ready_timeout under quirks"
    )
    engine.reads_single_lines = True
    assert engine.stall_words(10**9).endswith("set line_delay_ms = 100 under quirks")


def test_what_the_scored_line_does_not_tell_comes_from_others() -> None:
    """Older engines write nodes, speed and hash in lines of their own; strings and other variations tell nothing."""
    text = (
        b"info nodes 7 nps 70 tbhits 1\ninfo depth 5 score cp 9 pv e2e4\n"
        b"info time 10 nodes 900 nps 90000 hashfull 12\ninfo multipv 2 nps 1\ninfo string nps 5\n"
    )
    assert filled(uci_lines_last_thought(text), text) == Thought(9, 5, 900, "e2e4", nps=90_000, hashfull=12, tbhits=1)
