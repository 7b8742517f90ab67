"""Tests of engines/uci."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import chess
import pytest

from enginetour.engines import protocol, uci
from enginetour.engines.cecp_lines import last_search_info
from enginetour.engines.position import MAX_LINE, Position
from enginetour.engines.process import running_engines
from enginetour.engines.protocol import Ask, Setup
from enginetour.engines.uci import UciEngine
from enginetour.engines.uci_lines import complete_info, go_command, plain_line, read_option
from enginetour.engines.uci_lines import last_search_info as uci_lines_last_thought
from enginetour.engines.wire import SearchInfo
from enginetour.interop.files import bundled_directory
from enginetour.model.errors import StartFailed
from enginetour.model.game import Game, Outcome, Termination
from enginetour.model.task import DeclaredOption, EngineSpec
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.link import Link
from enginetour.referee.startup import EnginePool
from enginetour.referee.talk import open_engine, run_scripts
from tests.support.engines import Protocol, game, scripted
from tests.support.tournaments import config, tour

# UCI: reading lines, sending lines, pressing options.


@pytest.mark.parametrize(
    ("line", "option"),
    [
        ("option name Hash type spin default 16 min 1 max 33554432", DeclaredOption("Hash", "spin", "16", 1, 33554432)),
        ("option name Clear Hash type button", DeclaredOption("Clear Hash", "button")),
        ("option name Ponder type check default false", DeclaredOption("Ponder", "check", "false")),
        ("option name SyzygyPath type string default <empty>", DeclaredOption("SyzygyPath", "string", "<empty>")),
        (
            "option name NullMove Pruning type combo default Always var Always var Fail High var Never",
            DeclaredOption("NullMove Pruning", "combo", "Always", None, None, ("Always", "Fail High", "Never")),
        ),
        (
            "option name a name of type default type check default true",
            DeclaredOption("a name of type default", "check", "true"),
        ),
        (
            "option name Big type spin default 0 min -9 max " + "9" * 25,
            DeclaredOption("Big", "spin", "0", -9, int("9" * 25)),
        ),
        (
            "option name Mode type combo default default var default var Tal var max",
            DeclaredOption("Mode", "combo", "default", None, None, ("default", "Tal", "max")),
        ),
        (
            "option name Mode type combo var default var var var min 3 default var",
            DeclaredOption("Mode", "combo", "var", None, None, ("default", "var", "min 3")),
        ),
        (
            "option name Mode type combo default var Solid var Wild",
            DeclaredOption("Mode", "combo", "", None, None, ("Solid", "Wild")),
        ),
        (
            "option name Time type type combo default type spin var type spin var name",
            DeclaredOption("Time type", "combo", "type spin", None, None, ("type spin", "name")),
        ),
        (
            "option name Script type string default min 5 type check default true",
            DeclaredOption("Script", "string", "min 5 type check default true"),
        ),
        ("option name type string type string default x", DeclaredOption("type string", "string", "x")),
        ("option name Low type spin min 1 max 9 default 2", DeclaredOption("Low", "spin", "2", 1, 9)),
        ("option name Low type spin default min 1 max 9", DeclaredOption("Low", "spin", "", 1, 9)),
        ("option name Calm type check true", DeclaredOption("Calm", "check")),
    ],
)
def test_options_as_declared(line: str, option: DeclaredOption) -> None:
    """Names and values may contain blanks and protocol words; numbers beyond 64 bits stay as declared."""
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
    """Unknown types and spins without numbers are not options."""
    assert read_option(line) is None


def test_escapes_and_blanks_are_stripped() -> None:
    """Escapes and blanks are removed; text remains, and invalid UTF-8 is marked."""
    assert plain_line(b"\x1b[1;31mid\x1b[0m  name \t X\x1b]0;title\x07 \r") == "id name X"
    assert plain_line(b"\xff ok") == "\ufffd ok"
    assert plain_line(b"\xef\xbb\xbf bestmove\x08 g1f3\0") == "bestmove g1f3"


@pytest.mark.parametrize(
    ("text", "thought"),
    [
        (b"info depth 12 seldepth 20 score cp -31 nodes 99 pv e2e4 e7e5\n", SearchInfo(-31, 12, 99, "e2e4 e7e5", 20)),
        (b"info depth 3 score mate 2 nodes 5\n", SearchInfo(31_998, 3, 5)),
        (b"info depth 3 score mate -2 lowerbound nodes 5\n", SearchInfo(-31_998, 3, 5, bound=1)),
        (b"info depth 0 score mate 0\n", SearchInfo(-32_000, 0)),
        (b"info depth 1 score cp 5\ninfo depth 2 currmove e2e4\ninfo string score cp 9\n", SearchInfo(5, 1)),
        (
            b"info depth 1 score cp 5 multipv 1 pv a2a3\ninfo depth 1 multipv 2 score cp 1\n",
            SearchInfo(5, 1, None, "a2a3"),
        ),
        (b"info score cp 7 upperbound depth 4\n", SearchInfo(7, 4, bound=-1)),
        (b"info depth 1 score cp 5\ninfo depth 2 score cp nan nodes 3\n", SearchInfo(5, 1)),
        (b"info depth 1 score cp\n", SearchInfo()),
        (b"info depth 5 score cp 10 nodes 9 string net score cp -900 pv a2a3\n", SearchInfo(10, 5, 9)),
        (b"info depth 5 score string cp 9\n", SearchInfo()),
        (b"info depth 5 score cp 10 pv e2e4 string b1c3\n", SearchInfo(10, 5, None, "e2e4")),
        (b"info depth 1 score\nx score y\n", SearchInfo()),
        (b"", SearchInfo()),
    ],
)
def test_the_last_scored_line(text: bytes, thought: SearchInfo) -> None:
    """Mates are +-(32000 - n); other variations, strings and lines without a score are ignored."""
    assert uci_lines_last_thought(text) == thought


def test_the_last_exact_score() -> None:
    """Bounds are skipped; without an exact score there is no score."""
    bound = b"info depth 9 score cp 90 lowerbound nodes 5\ninfo depth 9 score cp 200 lowerbound nodes 7\n"
    assert uci_lines_last_thought(b"info depth 8 score cp 40 nodes 3\n" + bound, bounds=False) == SearchInfo(40, 8, 3)
    assert uci_lines_last_thought(bound, bounds=False) == SearchInfo()


def ask(tc: str, **kept: object) -> Ask:
    return Ask(Position(), white=False, tc=TimeControl.parse(tc), **kept)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("read", "line"), [(uci_lines_last_thought, b"info depth 1 score cp 5 pv "), (last_search_info, b"1 5 1 1 ")]
)
def test_a_pv_is_cut(read: Callable[[bytes], SearchInfo], line: bytes) -> None:
    """A PV is cut at 200 plies, and at 2 KB."""
    assert read(line + b"e2e4 " * 300 + b"\n").pv.split() == ["e2e4"] * 200
    assert len(read(line + b"e2e4-and-more " * 199 + b"\n").pv) == 2_048


def test_go_tells_the_clocks_by_color() -> None:
    """wtime is White's for both engines; movestogo is sent if the stage has an end."""
    clocks = {"own_ms": 900, "other_ms": 1200, "own_increment_ms": 10, "other_increment_ms": 20}
    assert go_command(ask("1+0.01", **clocks)) == "go wtime 1200 btime 900 winc 20 binc 10"
    assert go_command(ask("5/1", own_ms=900, moves_to_go=4)) == "go wtime 900 btime 900 winc 0 binc 0 movestogo 4"


def test_go_tells_limits() -> None:
    """Fixed time, nodes and depth are sent, also together with a clock."""
    assert go_command(ask("movetime=0.1")) == "go movetime 100"
    assert go_command(ask("nodes=1000")) == "go nodes 1000"
    assert go_command(ask("movetime=1,nodes=1")) == "go movetime 1000 nodes 1"
    assert go_command(ask("1,depth=8", own_ms=1000)) == "go wtime 1000 btime 1000 winc 0 binc 0 depth 8"


def shaken(fault: str = "", options: tuple[tuple[str, str], ...] = (), **quirks: Any) -> tuple[UciEngine, object]:
    """Return an engine after its handshake, and its fault; its process has ended."""
    engine = open_engine(scripted("uci", fault, options=options, **quirks))
    assert isinstance(engine, UciEngine)
    end = run_scripts({engine: engine.handshake()}, Link())[engine]
    engine.kill()
    return engine, end


def test_what_a_handshake_leaves() -> None:
    """A handshake leaves names and options, and sends the standard and the user's settings."""
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
    """Values that are protocol words, and numbers beyond 64 bits, are sent as declared."""
    command = (sys.executable, str(Path(__file__).parents[1] / "cases" / "engines" / "combo_keywords.py"))
    engine = open_engine(EngineSpec("Combo", command, "uci", dir="scratch", options=((name, value),)))
    end = run_scripts({engine: engine.handshake()}, Link())[engine]
    engine.kill()
    assert end is None
    assert any(
        line.endswith(f"info string got setoption name {name} value {value}") for line in engine.process.traffic()
    )


def test_the_opponent_is_named_where_that_is_an_option() -> None:
    """The opponent's name is sent in ASCII before the game, if there is such an option."""
    engine, _ = shaken()
    setup = Setup(Position(), TimeControl.parse("1"), "M\u00fcller\n 2")
    next(engine.new_game(setup))
    assert not any("UCI_Opponent" in line for line in engine.process.traffic())
    engine._options["uci_opponent"] = DeclaredOption("UCI_Opponent", "string")
    next(engine.new_game(setup))
    sent = [line.split(" > ", 1)[1] for line in engine.process.traffic(3)]
    assert sent == ["setoption name UCI_Opponent value none none computer Mller 2", "ucinewgame", "isready"]


def test_odd_options_are_one_warning_a_kind() -> None:
    """Odd options give one warning per kind and do not stop a handshake."""
    engine, end = shaken("odd-options")
    assert end is None
    assert sorted(engine.notes) == ["double-option", "odd-option"]
    assert "a name type type" in [option.name for option in engine.declared]


def test_options_without_end_are_kept_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of kept options is limited, with one warning."""
    monkeypatch.setattr(uci, "MOST_OPTIONS", 3)
    engine, end = shaken()
    assert end is None
    assert [option.name for option in engine.declared] == ["Hash", "Ponder", "Clear Hash"]
    assert list(engine.notes) == ["many-options"]


def test_a_wrong_option_is_never_sent() -> None:
    """A wrong option is never sent; the handshake fails with the allowed values."""
    engine, end = shaken(options=(("Hash", "abc"),))
    assert isinstance(end, StartFailed)
    assert end.category == "bad-option"
    assert engine.problems == ("option 'Hash' must be a whole number between 1 and 1024 (found 'abc')",)
    assert not any("setoption" in line for line in engine.process.traffic())


def test_a_silent_engine_gets_a_hint() -> None:
    """A silent engine gets a hint about buffered output."""
    _, end = shaken("silent", handshake_timeout=0.3)
    assert isinstance(end, StartFailed)
    assert end.category == "start-timeout"
    assert "does it flush stdout" in end.detail


def test_the_words_of_a_late_engine_name_its_setting() -> None:
    """A late start and a late pong name their own settings; `line_delay_ms` is named after two late answers."""
    _, late = shaken("no-uciok", handshake_timeout=0.3)
    assert isinstance(late, StartFailed)
    assert (
        late.detail == "no uciok within 0.3 s; if the engine needs more time, increase handshake_timeout under [quirks]"
    )
    engine, _ = shaken()
    assert (
        engine.stall_words(10**9)
        == "no answer to a ping within 1 s; if the engine needs more time, increase ready_timeout under [quirks]"
    )
    engine.reads_single_lines = True
    assert engine.stall_words(10**9).endswith("set line_delay_ms = 100 under [quirks]")


def test_what_the_scored_line_does_not_tell_comes_from_others() -> None:
    """Missing figures come from other lines of the search, but not from strings or other variations."""
    text = (
        b"info nodes 7 nps 70 tbhits 1\ninfo depth 5 score cp 9 pv e2e4\n"
        b"info time 10 nodes 900 nps 90000 hashfull 12\ninfo multipv 2 nps 1\ninfo string nps 5\n"
    )
    assert complete_info(uci_lines_last_thought(text), text) == SearchInfo(
        9, 5, 900, "e2e4", nps=90_000, hashfull=12, tbhits=1
    )


# Pondering: hits, misses, and every fault meanwhile.

SLOW = 0.4  # s that the opponent thinks, so that there is time to ponder
pytestmark = pytest.mark.usefixtures("no_engine_left")


def ponderer(fault: str = "", *, hint: str = "", at: int = 1, seconds: float = 0.1, **more: Any) -> EngineSpec:
    """Return a UCI engine that expects its opponent to shuffle knights, or always `hint`."""
    spec = scripted("uci", fault, name=fault or "ponderer", at=at, seconds=seconds, **more)
    command = (*spec.command, "--hint", hint)
    return replace(spec, command=command, ponder=True, offered=(("Ponder", "true"),))


def thinker(moves: str = "", **more: Any) -> EngineSpec:
    """Return an opponent that thinks at its first search, long enough to be pondered on."""
    return scripted("uci", "late", name="thinker", at=1, moves=moves, seconds=SLOW, **more)


OTHERWISE = "b8c6,c6b8"  # moves that no knight of the king's side makes


def said(played: Game, name: str) -> str:
    side = played.white if played.pairing.white == name else played.black
    return " ".join(side.warnings)


def uneventful(played: Game) -> bool:
    """Check that nobody was at fault, and that there is no warning about pondering or answers out of turn."""
    told = said(played, played.pairing.white) + said(played, played.pairing.black)
    odd = any(kind in told for kind in ("early-answer", "ponder-move", "out-of-turn"))
    return not odd and all(incident.is_warning for incident in played.incidents)


def test_a_hit_is_played_without_another_go(tmp_path: Path) -> None:
    """After the expected move, `ponderhit` is sent instead of `go`, and the record counts the hit."""
    link = EnginePool()
    played = game(ponderer(), thinker(), pool=link)
    traffic = "\n".join(link.take(ponderer())[0].process.traffic(200))  # type: ignore[union-attr]
    link.close_all()
    for engine in list(running_engines):
        engine.kill()
    assert (played.outcome, played.termination) == (Outcome.DRAW, Termination.REPETITION), played.cause
    assert played.white.ponders is not None
    assert played.white.ponders >= (played.white.ponder_hits or 0) >= 1
    assert "position startpos moves g1f3 g8f6" in traffic
    assert "go ponder wtime " in traffic
    assert "ponderhit" in traffic
    assert played.black.ponders is None
    assert uneventful(played)
    assert played.moves[2].score == 31  # output before `ponderhit` belongs to this search
    told = {name: total for name, _, total in played.white.effort}
    assert told["nodes_ms"] > played.white.think_ms  # its nodes too, whose time is that of the whole search


def test_a_miss_is_stopped_and_its_answer_is_no_move() -> None:
    """After a miss the owed answer is taken off the clock before the new `go`."""
    played = game(ponderer(hint="g8f6"), thinker(OTHERWISE))
    assert played.outcome is Outcome.DRAW, played.cause
    assert played.white.ponders
    assert played.white.ponder_hits == 0
    assert uneventful(played)


@pytest.mark.parametrize("moves", ["", OTHERWISE])
def test_nothing_is_said_before_the_search_runs(moves: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hits and misses are sent only after the ponder search runs, because an engine loses earlier lines."""
    monkeypatch.setattr(uci, "BEGIN_NS", 5_000 * protocol.MS)
    hasty = scripted("uci", "late", name="thinker", at=1, moves=moves, seconds=0.01)
    played = game(ponderer("ponder-deaf-at-first", seconds=0.03, hint="g8f6" if moves else ""), hasty)
    assert played.outcome is Outcome.DRAW, played.cause
    assert played.white.ponders
    assert played.relay_gap_us is not None
    assert uneventful(played)


def test_a_late_answer_to_stop_is_waited_for_off_the_clock() -> None:
    """A late answer to stop costs no time on the clock."""
    played = game(ponderer("ponder-late", seconds=0.3, hint="g8f6"), thinker(OTHERWISE))
    assert played.outcome is Outcome.DRAW, played.cause
    assert played.white.longest_ms < 300
    assert uneventful(played)


def test_a_second_answer_to_stop_is_no_move() -> None:
    """A second answer to stop is not a move of the next search."""
    played = game(ponderer("ponder-stops-twice", hint="g8f6"), thinker(OTHERWISE))
    assert played.outcome is Outcome.DRAW, played.cause
    assert "b1c3" not in {move.uci for move in played.moves}
    assert "out-of-turn: answered 'b1c3'" in said(played, "ponder-stops-twice")


def test_no_answer_to_stop_is_a_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that does not answer stop stalls and loses."""
    monkeypatch.setattr(uci, "OWED_NS", 100 * protocol.MS)
    played = game(ponderer("ponder-deaf"), thinker(OTHERWISE))
    assert (played.outcome, played.termination, played.culprit) == (Outcome.BLACK, Termination.STALL, "ponder-deaf")
    assert "after pondering on a move that was not played" in played.cause


@pytest.mark.parametrize("moves", ["", OTHERWISE])
def test_a_crash_while_pondering_is_one(moves: str) -> None:
    """A crash while pondering is judged at the engine's turn."""
    played = game(ponderer("ponder-crash"), thinker(moves), white_tc="0.2+0.1")
    assert (played.outcome, played.termination, played.culprit) == (Outcome.BLACK, Termination.CRASH, "ponder-crash")
    assert played.plies == 2


def test_silence_after_ponderhit_loses_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock runs from `ponderhit` on."""
    monkeypatch.setattr(protocol, "OWED_NS", 100 * protocol.MS)
    played = game(ponderer("ponder-silent"), thinker(), white_tc="0.2+0.1")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause
    assert "after the flag" in played.cause


def test_an_answer_while_pondering_counts_at_the_hit() -> None:
    """An answer during pondering costs no time and gives one warning."""
    played = game(ponderer("ponder-early"), thinker())
    assert played.outcome is Outcome.DRAW, played.cause
    assert (played.moves[2].uci, played.moves[2].elapsed_ms, played.moves[2].score) == ("f3g1", 0, 31)
    assert "early-answer" in said(played, "ponder-early")


def test_an_answer_while_pondering_is_nothing_after_a_miss() -> None:
    """After a miss, an answer during pondering is ignored."""
    played = game(ponderer("ponder-early"), thinker(OTHERWISE))
    assert played.outcome is Outcome.DRAW, played.cause
    assert played.white.ponder_hits == 0


def test_a_ponder_move_that_nobody_sees_is_none() -> None:
    """A control character as ponder move is ignored without a warning."""
    played = game(ponderer(hint="\x07"), thinker())
    assert (played.outcome, played.white.ponders, said(played, "ponderer")) == (Outcome.DRAW, 0, "")


@pytest.mark.parametrize("hint", ["a1a1", "e2e5", "(none)", "\x07?"])
def test_an_illegal_ponder_move_is_ignored(hint: str) -> None:
    """An illegal ponder move gives one warning, no search and no verdict."""
    played = game(ponderer(hint=hint), thinker())
    assert played.outcome is Outcome.DRAW, played.cause
    assert played.white.ponders == 0
    assert "ponder-move" in said(played, "ponderer")


def test_a_guess_that_ends_the_game_is_not_pondered_on() -> None:
    """A ponder move that ends the game is not pondered on."""
    white = replace(ponderer(hint="d8h4", moves="f2f3,g2g4"), name="fool")
    played = game(white, scripted("uci", "late", name="thinker", at=2, moves="e7e5,d8h4", seconds=SLOW))
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.MATE)
    assert played.white.ponders == 0


def test_after_an_answer_out_of_turn_the_guess_goes_behind_a_fence() -> None:
    """After an answer out of turn, each ponder search has a ping before it."""
    played = game(ponderer("two", at=1), thinker())
    assert played.outcome is Outcome.DRAW, played.cause
    assert "out-of-turn" in said(played, "two")


def test_who_did_not_declare_it_does_not_ponder() -> None:
    """An engine ponders only if it declares the option and the option is true."""
    spec = replace(ponderer(), options=(("Ponder", "false"),))
    assert game(spec, thinker()).white.ponders is None
    assert game(ponderer(line_delay_ms=1), thinker()).white.ponders is None


@pytest.mark.parametrize("black", [False, True])
def test_both_sides_may_ponder(black: bool, pool: EnginePool) -> None:
    """Both sides may ponder, and a game that ends meanwhile leaves no owed answer."""
    pair = [ponderer("late", seconds=0.05), replace(ponderer("late", seconds=0.05, at=2), name="other")]
    for _ in range(2):
        played = game(*(reversed(pair) if black else pair), pool=pool)
        assert played.outcome is Outcome.DRAW, played.cause
        assert uneventful(played)


@pytest.mark.parametrize("protocol", ["cecp"])
def test_cecp_engines_hear_hard_or_easy(protocol: Protocol) -> None:
    """CECP engines get `hard` or `easy`, and ponder by themselves."""
    for ponder, word in ((True, " hard"), (False, " easy")):
        pool = EnginePool()
        spec = replace(scripted(protocol, name="c"), ponder=ponder)
        assert game(spec, scripted(protocol, name="d"), pool=pool).outcome is Outcome.DRAW
        engine = pool.take(spec)[0]
        assert engine is not None
        assert any(line.endswith(word) for line in engine.process.traffic(200))
        pool.end(engine)


def test_the_line_of_a_guess_is_one_move_longer() -> None:
    """The line of a ponder search has one more move; the position itself stays."""
    position = Position()
    assert position.line_with(chess.Move.from_uci("e2e4")) == b"position startpos moves e2e4"
    position.push(chess.Move.from_uci("e2e4"))
    assert position.line_with(chess.Move.from_uci("e7e5")) == b"position startpos moves e2e4 e7e5"
    assert position.line == b"position startpos moves e2e4"
    position.shorten(MAX_LINE)
    assert position.line_with(chess.Move.from_uci("e7e5")).endswith(b" moves e7e5")


def test_ponder_is_a_setting_and_frozen(tmp_path: Path) -> None:
    """`ponder` can be set for all or for one engine; a resume with another value is rejected."""
    path = config(tmp_path, ("wren1",), "roundrobin", "games_per_pairing = 2", '\n[[entrants]]\nengine = "wren2"\n')
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    text = path.read_text()
    path.write_text(text + "ponder = true\n")
    assert "ponder of Wren 2 cannot change" in tour(tmp_path, "run", str(path), expect=5).stderr
    path.write_text(text.replace("[play]", "[play]\nponder = true"))
    assert "play.ponder cannot change" in tour(tmp_path, "run", str(path), expect=5).stderr


def test_a_guess_is_asked_with_the_clocks_as_they_stand() -> None:
    """A ponder search has the clocks of that moment."""
    spec, pool = ponderer(), EnginePool()
    played = game(spec, thinker(), white_tc="60+1", black_tc="50+2", pool=pool)
    assert played.outcome is Outcome.DRAW, played.cause
    (engine,) = pool.take(spec)
    assert engine is not None
    lines = [line.split(" > ", 1)[1] for line in engine.process.traffic(400) if " > go ponder" in line]
    pool.end(engine)
    clocks = [52_000, *(move.clock_ms for move in played.moves[1::2])]
    possible = [
        f"go ponder wtime {move.clock_ms} btime {other} winc 1000 binc 2000"
        for move, other in zip(played.moves[::2], clocks, strict=False)
    ]
    assert len(lines) == played.white.ponders
    assert lines
    assert set(lines) <= set(possible)


# Wren in both protocols.

WREN = bundled_directory("engines") / "wren.py"
ITALIAN = ["e2e4", "e7e5", "g1f3", "b8c6", "f1c4", "f8c5"]
MATE_IN_ONE = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"


class Talk:
    """A running Wren, and the lines sent to it."""

    def __init__(self, level: int) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(WREN), str(level)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def __enter__(self) -> Talk:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()

    def say(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def lines(self) -> Iterator[str]:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            yield line.rstrip("\n")

    def until(self, *starts: str) -> list[str]:
        """Return all output up to and including the first line that begins so."""
        heard: list[str] = []
        for line in self.lines():
            heard.append(line)
            if line.startswith(starts):
                return heard
        raise AssertionError(f"no {starts}, only {heard}")

    def best(self, moves: Sequence[str], limit: str) -> str:
        played = f" moves {' '.join(moves)}" if moves else ""
        self.say(f"position startpos{played}", f"go {limit}")
        return self.until("bestmove")[-1].split()[1]


def _uci(level: int) -> Talk:
    talk = Talk(level)
    talk.say("uci", "isready")
    talk.until("readyok")
    return talk


def _cecp(level: int, *lines: str) -> Talk:
    talk = Talk(level)
    talk.say("xboard", "protover 2", "new", *lines, "ping 7")
    talk.until("pong 7")
    return talk


def test_uci_handshake() -> None:
    """Wren reports its name and level, and declares Level and Seed."""
    with Talk(3) as talk:
        talk.say("uci")
        heard = talk.until("uciok")
    assert heard[0] == "id name Wren 3"
    assert "option name Level type spin default 3 min 1 max 8" in heard
    assert "option name Seed type spin default 0 min 0 max 2147483647" in heard


def test_cecp_handshake() -> None:
    """Wren declares what a referee needs, between done=0 and done=1."""
    with Talk(4) as talk:
        talk.say("xboard", "protover 2")
        heard = talk.until("feature done=1")
    assert heard[0] == "feature done=0"
    for feature in ("ping=1", "setboard=1", "usermove=1", "time=1", "reuse=1", "draw=0", "sigint=0", 'myname="Wren 4"'):
        assert any(feature in line for line in heard), feature
    assert 'feature option="Level -spin 4 1 8"' in heard


@pytest.mark.parametrize("level", range(1, 9))
def test_uci_game(level: int) -> None:
    """Every level plays a legal game against itself by depth."""
    board = chess.Board()
    with _uci(level) as talk:
        for _ in range(40):
            if board.is_game_over():
                break
            moves = [move.uci() for move in board.move_stack]
            board.push(board.parse_uci(talk.best(moves, "depth 2")))
        talk.say("quit")
        assert talk.process.wait() == 0


def test_cecp_game() -> None:
    """Two Wrens play a legal game over CECP with a clock, each with one `go`."""
    board = chess.Board()
    with _cecp(2, "level 0 0:01 0.05", "post") as white, _cecp(4, "level 0 0:01 0.05", "post") as black:
        black.say("force")
        for ply in range(40):
            if board.is_game_over():
                break
            mover, other = (white, black) if board.turn else (black, white)
            clock = ("time 100", "otim 100")
            if ply == 0:
                mover.say(*clock, "go")
            elif ply == 1:
                mover.say(*clock, f"usermove {board.peek().uci()}", "go")
            else:
                mover.say(*clock, f"usermove {board.peek().uci()}")
            heard = mover.until("move ")
            assert not [line for line in heard if line.startswith(("Error", "Illegal"))]
            board.push(board.parse_uci(heard[-1].split()[1]))
            assert other is not mover


@pytest.mark.parametrize("limit", ["nodes 300", "depth 2"])
@pytest.mark.parametrize("level", [1, 3, 8])
def test_same_seed_same_moves(level: int, limit: str) -> None:
    """With nodes or depth the same seed plays the same moves; another seed plays others."""
    lines = [ITALIAN[:n] for n in range(7)]

    def answers(seed: int, order: list[list[str]]) -> dict[int, str]:
        with _uci(level) as talk:
            talk.say(f"setoption name Seed value {seed}")
            return {len(line): talk.best(line, limit) for line in order}

    first = answers(5, lines)
    assert first == answers(5, lines[::-1])
    if level < 8:
        assert first != answers(6, lines)


def test_level_option() -> None:
    """The option Level replaces the argument; a value out of range changes nothing."""
    with _uci(8) as weak, _uci(1) as plain:
        weak.say("setoption name Level value 1", "setoption name Level value 9", "setoption name Level value x")
        assert [weak.best(ITALIAN[:n], "depth 3") for n in range(7)] == [
            plain.best(ITALIAN[:n], "depth 3") for n in range(7)
        ]


@pytest.mark.parametrize("level", range(2, 9))
def test_mates_when_it_can(level: int) -> None:
    """From the second level on it finds a mate in one."""
    with _uci(level) as talk:
        talk.say(f"position fen {MATE_IN_ONE}", "go depth 3")
        assert talk.until("bestmove")[-1] == "bestmove a1a8"


def test_score_lines() -> None:
    """Score lines have depth, score, nodes, time and a legal line; a mate is reported as one."""
    with _uci(8) as talk:
        talk.say(f"position startpos moves {' '.join(ITALIAN)}", "go depth 3")
        for line in talk.until("bestmove")[:-1]:
            words = line.split()
            assert words[:2] == ["info", "depth"]
            assert {"score", "nodes", "time", "pv"} <= set(words)
            board = chess.Board()
            for move in [*ITALIAN, *words[words.index("pv") + 1 :]]:
                board.push(board.parse_uci(move))
        talk.say(f"position fen {MATE_IN_ONE}", "go depth 2")
        assert " score mate 1 " in talk.until("bestmove")[-2]
    with _cecp(8, "post", "sd 3", "force", f"setboard {MATE_IN_ONE}") as talk:
        talk.say("go")
        heard = talk.until("1-0")
    assert heard[-3].split()[1] == "100001"
    assert heard[-2:] == ["move a1a8", "1-0 {White mates}"]


@pytest.mark.parametrize("level", range(1, 9))
def test_the_last_line_begins_with_the_move(level: int) -> None:
    """Also if a search ends within a depth, the last scored line begins with the move that is played."""
    moves: list[str] = []
    with _uci(level) as talk:
        for nodes in (1, 2, 3, 5, 8, 20, 50, 90, 170, 300):
            talk.say(f"position startpos moves {' '.join(moves)}", f"go nodes {nodes}")
            *_, last, best = talk.until("bestmove")
            assert " score " in last and last.split(" pv ")[1].split()[0] == best.split()[1]
            moves.append(best.split()[1])


def test_hears_while_thinking() -> None:
    """During an endless search it answers isready, moves after stop, and ends after quit."""
    with _uci(8) as talk:
        talk.say("position startpos", "go infinite", "isready")
        assert talk.until("readyok")[-1] == "readyok"
        talk.say("stop")
        board = chess.Board()
        assert board.is_legal(chess.Move.from_uci(talk.until("bestmove")[-1].split()[1]))
        talk.say("go infinite", "quit")
        assert talk.process.wait() == 0


def test_infinite_waits_for_stop() -> None:
    """With `go infinite` it keeps its move until stop."""
    with _uci(1) as talk:
        talk.say("position startpos", "go infinite", "isready")
        assert not [line for line in talk.until("readyok") if line.startswith("bestmove")]
        talk.say("stop")
        talk.until("bestmove")


def test_cecp_hears_while_thinking() -> None:
    """During a search it answers ping, moves after `?`, and drops its move after force."""
    with _cecp(8, "level 0 60 0", "time 360000") as talk:
        talk.say("go", "ping 8")
        assert talk.until("pong 8") == ["pong 8"]
        talk.say("?")
        talk.until("move ")
        talk.say("usermove e7e5", "usermove d7d5", "force", "ping 9")
        heard = talk.until("pong 9")
        assert not [line for line in heard if line.startswith("move ")]
        talk.say("new", "force", "usermove e2e4", "usermove e7e5", "ping 10")
        assert talk.until("pong 10") == ["pong 10"]


def test_cecp_mistakes() -> None:
    """Illegal moves, bad positions, unknown commands and bad numbers give an error, and it continues."""
    with _cecp(4, "force") as talk:
        talk.say("usermove e2e5", "setboard nonsense", "frobnicate", "sd x", "level 1", "ping 8")
        assert talk.until("pong 8") == [
            "Illegal move: e2e5",
            "tellusererror Illegal position",
            "Error (unknown command): frobnicate",
            "Error (bad argument): sd x",
            "Error (bad argument): level 1",
            "pong 8",
        ]


def test_finished_positions() -> None:
    """In a finished position it reports the result instead of a move."""
    with _uci(8) as talk:
        talk.say("position startpos moves f2f3 e7e5 g2g4 d8h4", "go depth 2")
        assert talk.until("bestmove")[-1] == "bestmove (none)"
    with _cecp(8, "force", "setboard 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1") as talk:
        talk.say("go")
        assert talk.until("1/2")[-1] == "1/2-1/2 {Stalemate}"


def test_end_of_file() -> None:
    """It ends with its input, idle or searching, with status 0."""
    for lines in ([], ["uci"], ["uci", "position startpos", "go infinite"]):
        with Talk(8) as talk:
            talk.say(*lines)
            assert talk.process.stdin is not None
            talk.process.stdin.close()
            assert talk.process.wait() == 0
            talk.process.stdin = None


def test_impossible_level() -> None:
    """An invalid level is rejected."""
    done = subprocess.run([sys.executable, str(WREN), "9"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "a level is 1 to 8, found 9\n"


def test_clock_left() -> None:
    """It keeps a reserve on the clock: half a second and 20 ms per move last for a thousand moves."""
    sys.path.insert(0, str(WREN.parent))
    try:
        from wren_voice import share
    finally:
        sys.path.remove(str(WREN.parent))
    rest = 500.0
    for _ in range(1000):
        soft, hard = share(rest, 20, 0)
        assert 0 < soft <= hard < rest
        rest += 20 - hard
        assert rest > 100
    for left in (1, 2, 40):
        assert share(1000, 0, left)[1] < 500
