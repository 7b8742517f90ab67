"""Tests of referee/game."""

from __future__ import annotations

import io
import itertools
import os
import re
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Literal, cast

import chess.pgn
import pytest

from enginetour.engines import cecp, cecp_lines, position, process
from enginetour.engines import protocol as base
from enginetour.engines.position import Position
from enginetour.engines.process import Wake, running_engines
from enginetour.engines.protocol import Engine, Script
from enginetour.engines.registry import load, to_spec
from enginetour.engines.wire import LINE_CAP, SearchInfo
from enginetour.interop.files import bundled_directory
from enginetour.model.errors import MachineFailure
from enginetour.model.game import Game, Opening, Outcome, Termination
from enginetour.model.task import EngineSpec, Quirks
from enginetour.model.variants import VARIANTS, board_of, shuffled_fen
from enginetour.referee import clock, record, relay, talk, verdict, waits
from enginetour.referee.link import Link
from enginetour.referee.record import PlyWriter, Record, SearchClaims
from enginetour.referee.startup import EnginePool, Seat
from enginetour.referee.talk import describe_exit, open_engine
from enginetour.reports import pgn
from enginetour.store.tournaments import Store
from enginetour.testing import PLAYING
from tests.programs.variantplayer import choice
from tests.support import engines
from tests.support.engines import (
    BOTH,
    HURRIED,
    LONG,
    MISBEHAVING,
    OVERSLEPT_NS,
    Eavesdropper,
    Protocol,
    drawn,
    game,
    hurry,
    lost,
    scripted,
    sound,
)
from tests.support.tournaments import Forked, audit, config, entrant, left_running, read, slots_of, tour
from tests.support.tournaments import scripted as tournaments_scripted

# Verdicts of the referee, fault by fault, in both protocols (reliability spec section 2).

pytestmark = pytest.mark.usefixtures("no_engine_left")


@pytest.fixture(autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Play with the compiled part, or without it where a test says so: the verdicts are the same."""
    if getattr(request, "param", "") == "plain":
        monkeypatch.setattr(relay, "native", None)
        monkeypatch.setattr(record, "native", None)


WAYS = pytest.mark.parametrize("way", ["compiled", "plain"], indirect=True)
# A game of a CECP engine is never compiled.
BOTH_AND_WAYS = pytest.mark.parametrize(
    ("protocol", "way"), [("uci", "compiled"), ("uci", "plain"), ("cecp", "compiled")], indirect=["way"]
)


@pytest.fixture
def unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the wait for an answer to `stop` to a tenth of a second."""
    monkeypatch.setattr(base, "OWED_NS", 100 * base.MS)


@BOTH_AND_WAYS
def test_sound_engines_draw_by_repetition(protocol: Protocol) -> None:
    """Two sound engines play until the fifth repetition, and the record contains every ply."""
    played = drawn(game(sound(protocol), sound(protocol)))
    assert played.plies == 16
    assert [move.uci for move in played.moves[:3]] == ["g1f3", "g8f6", "f3g1"]
    assert [move.san for move in played.moves[:3]] == ["Nf3", "Nf6", "Ng1"]
    assert {(move.score, move.depth, move.nodes) for move in played.moves} == {(31, 5, 1234)}
    assert played.white.moves == played.black.moves == 8
    assert played.relay_gap_us is not None
    assert not played.incidents
    assert played.white_tc == "60"


@BOTH_AND_WAYS
def test_the_way_of_each_answer_is_in_the_record(protocol: Protocol) -> None:
    """The relay gap of every move but the first is in the record and in the PGN."""
    played = drawn(game(sound(), sound(protocol)))
    first, *gaps = [move.gap_us for move in played.moves]
    known = sorted(gap for gap in gaps if gap is not None)
    assert first is None
    assert (len(known), played.relay_gap_us) == (15, (known[7], known[14], known[14]))
    comments = re.findall(r"\{(.*?)\}", pgn.game_pgn(played, 1, "x", comments=("latency",)), re.DOTALL)
    told = [re.findall(r"lat=(\S+)s", comment) for comment in comments]
    assert told == [[], *([f"{gap / 1e6:.6f}"] for gap in gaps if gap is not None)]


@WAYS
@pytest.mark.parametrize("keep_lines", ["", "depth"])
def test_all_that_is_told_of_a_search_is_in_the_record(keep_lines: str) -> None:
    """All reported search figures are in the record and in the PGN, in both ways to write a ply."""
    white = scripted(told="info depth 5 seldepth 9 score cp 31 nodes 1234 nps 88 hashfull 17 tbhits 2 time 1 pv g1f3")
    played = drawn(game(white, sound(), keep_lines=keep_lines))
    move = played.moves[0]
    assert (move.score, move.depth, move.nodes, move.pv) == (31, 5, 1234, "g1f3")
    assert (move.seldepth, move.nps, move.hashfull, move.tbhits) == (9, 88, 17, 2)
    assert len(move.lines) == bool(keep_lines)
    assert {move.hashfull for move in played.moves[1::2]} == {None}
    told = pgn.game_pgn(played, 1, "x", comments=("nodes", "seldepth", "nps", "hashfull", "tbhits"))
    assert " ".join(told.split()).count("s, n=1234, sd=9, nps=88, hf=17, tb=2") == 8


@BOTH_AND_WAYS
@pytest.mark.parametrize("turned", [0, 1])
def test_scores_from_whites_side_are_recorded_from_the_movers(protocol: Protocol, turned: int) -> None:
    """Scores from White's side are recorded from the mover's side."""
    other: Protocol = "cecp" if protocol == "uci" else "uci"
    pvs = ("g8f6", "f6g8") if turned else ("g1f3", "f3g1")  # with one the compiled part would write the ply
    told = "|".join(f"info depth 5 score cp 31 nodes 9 pv {pv}" for pv in pvs * 4) if other == "uci" else ""
    engines = [scripted(protocol, name="plain"), scripted(other, name="turned", told=told, whitepov=True)]
    played = drawn(game(*(engines if turned else engines[::-1])))
    blacks = -31 if turned else 31
    assert [move.score for move in played.moves] == [31, blacks] * 8
    shown = re.findall(r"\{([+-]\d+\.\d\d)/", pgn.game_pgn(played, 1, "x"))
    assert shown == ["+0.31", f"{blacks / 100:+.2f}"] * 8


@WAYS
def test_what_an_engine_claims_and_does_not_hold_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claims about PVs and mates that prove wrong are counted by kind; they do not end the game."""
    write = PlyWriter.write
    took = {"elapsed_ms": 100}  # as many plies of a PV are checked as the search took milliseconds
    monkeypatch.setattr(PlyWriter, "write", lambda scribe, raw, gap: write(scribe, raw._replace(**took), gap))
    told = [
        "info depth 5 score cp 31 pv d2d4 d7d5",
        "info depth 5 score cp 31 pv f3g1 f6g8 e2e5",
        "info string nothing",
        "info depth 5 score mate 2",
        "info depth 5 score mate -3",
        "info depth 5 score mate 1 pv f3g1",
        "info depth 5 score cp 31 pv d2d4",
        "info depth 5 score cp 31 pv f3g1 f6g8",
    ]
    honest = "|".join(f"info depth 5 score cp 31 pv {pv}" for pv in ("g8f6 f3g1", "f6g8 g1f3") * 4)
    played = drawn(game(scripted(told="|".join(told)), sound(told=honest)))
    assert played.white.claims == (
        ("no-score", 1, "move 3: played g1f3 without reporting a score"),
        ("pv-other", 2, "move 1: played g1f3, but its last PV begins with d2d4"),
        (
            "pv-illegal",
            1,
            "move 2: its PV contains 'e2e5', "
            "which is illegal in rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 4 3",
        ),
        ("mate-late", 1, "move 7: the announced mate is 1 move overdue"),
        ("mate-lost", 1, "move 5: announced a mate, and one move later reported that it is mated in 3"),
    )
    assert not played.black.claims


@BOTH_AND_WAYS
@pytest.mark.parametrize("fault", ["crash", "segv", "eof", "half-move", "closes-input-and-thinks"])
def test_a_death_in_a_search_loses(protocol: Protocol, fault: str) -> None:
    """An engine that ends, or closes its output, while it owes a move loses by a crash."""
    played = lost(game(scripted(protocol, fault), sound(protocol)), fault, Termination.CRASH)
    assert played.plies == 2
    expected = {"crash": "exit 3", "segv": "signal 11 (SIGSEGV)", "eof": "closed its output", "half-move": "exit 5"}
    expected["closes-input-and-thinks"] = "closed its input"
    assert expected[fault] in played.cause
    if fault == "crash":
        assert "assertion failed" in played.incidents[-1].stderr


@BOTH_AND_WAYS
def test_a_crash_in_the_first_search_is_a_loss(protocol: Protocol) -> None:
    """A crash in the first search is a loss, not a failed start."""
    lost(game(scripted(protocol, "crash", at=1), sound()), "crash", Termination.CRASH)


@WAYS
def test_an_illegal_instruction_at_the_first_search_is_void() -> None:
    """A binary for another processor is a failed start."""
    played = game(scripted("uci", "sigill", at=1), sound())
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "start-failure", "sigill")
    assert "another processor" in played.cause


@BOTH_AND_WAYS
@pytest.mark.parametrize("fault", ["answer-die", "closes-input", "half"])
def test_an_answer_before_the_end_counts(protocol: Protocol, fault: str) -> None:
    """A move that came before the crash is played; the crash is judged at the engine's next turn."""
    slow = scripted(protocol, "late", at=2, seconds=0.3)  # time to end in
    played = lost(game(scripted(protocol, fault), slow), fault, Termination.CRASH)
    assert played.plies == 4


@WAYS
def test_a_dying_engine_may_still_mate() -> None:
    """A mating move counts even if the engine ends with it."""
    white = scripted("uci", "answer-die", at=4, moves="e2e4,d1h5,f1c4,h5f7")
    played = game(white, sound("cecp", moves="e7e5,b8c6,g8f6"))
    assert (played.outcome, played.termination, played.cause) == (Outcome.WHITE, Termination.MATE, "White mates")


@BOTH_AND_WAYS
@pytest.mark.usefixtures("unanswered")
@pytest.mark.parametrize("fault", ["hang", "deaf"])
def test_silence_loses_on_time(protocol: Protocol, fault: str) -> None:
    """No answer by the flag is a time loss, whether the engine answers pings or not."""
    played = game(scripted(protocol, fault, at=1), sound(), white_tc="0.2")
    assert "after the flag" in lost(played, fault, Termination.TIME).cause


@WAYS
@pytest.mark.parametrize("fault", ["flood", "endless-line"])
def test_output_extends_no_deadline(fault: str) -> None:
    """Output without a move does not extend the deadline."""
    lost(game(scripted("uci", fault, at=1), sound(), white_tc="0.2"), fault, Termination.TIME)


@WAYS
@pytest.mark.usefixtures("unanswered")
@pytest.mark.parametrize(
    ("protocol", "control", "after"),
    [
        ("uci", "depth=3", "the hang limit of 0.3 s"),
        ("uci", "nodes=100", "the hang limit of 0.3 s"),
        ("uci", "movetime=0.2", "the flag"),
        ("cecp", "depth=3", "the hang limit of 0.3 s"),
    ],
)
def test_a_hang_without_a_clock_ends_too(protocol: Protocol, control: str, after: str) -> None:
    """Games by depth or nodes have a hang limit without a margin; fixed times have their own limit."""
    played = game(scripted(protocol, "hang", at=1), sound(), white_tc=control, hang_limit=0.3)
    cause = lost(played, "hang", Termination.TIME).cause
    assert re.search(rf"^White loses on time, no answer \d+\.\d s after {after} \(", cause), cause
    assert ("margin" in cause) == (after == "the flag")


@BOTH_AND_WAYS
@pytest.mark.usefixtures("answered")
def test_a_late_answer_is_told_with_its_true_overrun(protocol: Protocol, pool: EnginePool) -> None:
    """The answer after `stop` shows the true overrun, and the engine plays the next game."""
    late = scripted(protocol, "answers-stop", at=1)
    played = lost(game(late, sound(), white_tc="0.2", pool=pool), "answers-stop", Termination.TIME)
    assert "ms over the limit, after stop" in played.cause
    process = pool.take(late)[0]
    assert process is not None
    pool.give_back(process)


@WAYS
def test_the_time_of_one_hourglass_is_the_other_ones() -> None:
    """The record has both hourglasses after each move."""
    slow = scripted("uci", "late", at=1, seconds=0.2)
    played = game(slow, sound(), white_tc="hourglass=60", black_tc="hourglass=60")
    whole = 120_000
    first, *rest = played.moves
    assert first.elapsed_ms > 100  # the engine may have begun its fifth of a second before the write returned
    assert first.clock_ms == 60_000 - first.elapsed_ms
    for before, move in itertools.pairwise([first, *rest]):
        assert before.clock_ms is not None
        assert move.clock_ms == whole - before.clock_ms - move.elapsed_ms


@WAYS
@pytest.mark.usefixtures("answered")
def test_a_late_answer_without_a_clock_is_told_with_the_limit() -> None:
    """Without a clock, the overrun is that of the hang limit."""
    played = game(scripted("uci", "answers-stop", at=1), sound(), white_tc="nodes=1", hang_limit=0.1)
    cause = lost(played, "answers-stop", Termination.TIME).cause
    assert re.search(r"on time, \d+ ms over the hang limit of 0\.1 s, after stop \(referee", cause), cause


@WAYS
@pytest.mark.usefixtures("idle", "answered")
def test_an_old_late_answer_excuses_no_new_silence(pool: EnginePool, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that was late in one game and is silent in the next one has lost both."""
    fault = "answers-stop-then-hangs"
    late = scripted("uci", fault, at=1)
    lost(game(late, sound(), white_tc="0.2", pool=pool), fault, Termination.TIME)
    monkeypatch.setattr(base, "OWED_NS", 100 * base.MS)
    silent = lost(game(late, sound(), white_tc="0.2", pool=pool), fault, Termination.TIME)
    assert "no answer" in silent.cause
    assert "doubtful" not in silent.cause


@WAYS
@pytest.mark.usefixtures("idle")
def test_a_delay_between_lines_excuses_no_flag() -> None:
    """Time between an engine's lines is on no clock, so it makes no overrun doubtful."""
    slow = scripted("uci", "late", at=2, seconds=0.5, line_delay_ms=400)
    played = lost(game(slow, sound(), white_tc="0.1", margin=0), "late", Termination.TIME)
    assert "doubtful" not in played.cause


@WAYS
def test_a_wait_of_ours_for_a_processor_makes_a_late_answer_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait of this process for a processor is part of the delay of the referee."""
    monkeypatch.setattr(relay, "native", None)  # it asks the kernel by itself
    stamps = itertools.count(step=10**9)
    monkeypatch.setattr(waits.OwnWaits, "look", lambda queue: b"1 %d 1" % next(stamps))
    late = scripted("uci", "late", at=1, seconds=0.4)
    played = game(late, sound(), white_tc="0.2", doubtful_flag="void")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", "")
    assert "doubtful" in played.cause


@WAYS
@pytest.mark.usefixtures("unanswered")
def test_a_flag_against_a_bare_king_is_a_draw() -> None:
    """A time loss is a draw if the opponent cannot mate."""
    opening = Opening(fen="8/8/4k3/8/8/4K3/4Q3/8 w - - 0 1")
    played = game(scripted("uci", "hang", at=1), sound(), white_tc="0.2", opening=opening)
    assert (played.outcome, played.termination, played.culprit) == (Outcome.DRAW, Termination.TIME, "hang")


@BOTH_AND_WAYS
@pytest.mark.parametrize("fault", ["illegal", "other-side", "null", "none", "a1a1", "empty", "garbage", "resign-word"])
def test_what_is_no_legal_move_loses(protocol: Protocol, fault: str) -> None:
    """Null moves, moves of the other side and garbage are illegal; text and position are recorded."""
    played = lost(game(scripted(protocol, fault), sound(protocol)), fault, Termination.ILLEGAL_MOVE)
    assert "rnbqkb1r/pppppppp/5n2/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq" in played.cause
    assert played.cause.isprintable()
    assert len(played.cause) < 300


@BOTH_AND_WAYS
@pytest.mark.parametrize("fault", ["two", "stale-first"])
def test_a_stale_answer_is_dropped(protocol: Protocol, fault: str) -> None:
    """The first of two answers counts; an illegal one followed by a second one belonged to an earlier search."""
    played = drawn(game(scripted(protocol, fault), sound(protocol)))
    assert any(warning.startswith("out-of-turn") for warning in played.white.warnings)
    assert [incident.category for incident in played.incidents] == ["protocol-warning"]


@BOTH_AND_WAYS
def test_who_answered_out_of_turn_is_fenced_from_then_on(protocol: Protocol) -> None:
    """After an answer out of turn, every search has a ping before it."""
    pool, spec = EnginePool(), scripted(protocol, "two", at=3)
    drawn(game(spec, sound(protocol), pool=pool))
    engine = pool.take(spec)[0]
    assert engine is not None
    sent = [line.split(" > ", 1)[1].split()[0] for line in engine.process.traffic(1000) if " > " in line]
    searches, forced = "", False
    for word in sent:
        forced = word in ("new", "force") or (forced and word != "go")
        if word in ("isready", "ping"):
            searches += "p"
        elif word == "go" or (word == "usermove" and not forced):
            searches += "g"
    assert re.fullmatch("p*ggg?p+g(pg)+", searches), searches  # in CECP the position is sent again first
    pool.end(engine)


@BOTH_AND_WAYS
@pytest.mark.parametrize("fault", ["crlf", "spaces", "long-line", "absurd", "mate-claim"])
def test_odd_output_is_tolerated(protocol: Protocol, fault: str) -> None:
    """Line ends, blanks, endless lines, absurd numbers and mate scores change no result."""
    drawn(game(scripted(protocol, fault), sound(protocol)))


@BOTH_AND_WAYS
@pytest.mark.parametrize("fault", ["upper", "san"])
def test_odd_forms_of_moves_are_understood_with_a_warning(protocol: Protocol, fault: str) -> None:
    """E2E4 and SAN are read, with one warning."""
    played = drawn(game(scripted(protocol, fault), sound(protocol)))
    assert [warning.partition(":")[0] for warning in played.white.warnings] == ["odd-move"]


@WAYS
def test_castling_by_letters_is_ordinary_in_cecp() -> None:
    """O-O is a normal form in CECP; in UCI it is odd, but read."""
    opening = Opening(fen="4k3/7p/8/8/8/8/7P/4K2R w K - 0 1")
    for protocol, warnings in (("cecp", 0), ("uci", 1)):
        white = scripted(protocol, "castles", at=1)  # type: ignore[arg-type]
        played = game(white, sound(moves="h7h6"), opening=opening, max_moves=1)
        assert played.moves[0].uci == "e1g1"
        assert len(played.white.warnings) == len(played.incidents) == warnings


def test_thinking_lines_with_a_dot_after_the_depth() -> None:
    """Search output with a dot after the depth is not a numbered move."""
    played = drawn(game(scripted("cecp", "dotted-depth"), sound()))
    assert {(move.score, move.depth) for move in played.moves} == {(31, 5)}


@WAYS
def test_numbers_beyond_sense_are_clamped() -> None:
    """A score of 25 digits is limited to 64 bits, a PV of thousands of plies is cut."""
    played = drawn(game(scripted("uci", "absurd"), sound()))
    odd = played.moves[2]
    assert odd.score == 2**63 - 1
    assert odd.depth == 7
    assert len(odd.pv) <= 2048


# Starts.


@BOTH_AND_WAYS
@pytest.mark.parametrize(("fault", "words"), [("exit-at-start", "exit 7"), ("kill-at-start", "SIGKILL")])
def test_a_failed_start_is_void(protocol: Protocol, fault: str, words: str) -> None:
    """An engine that ends before it is ready makes the game void; its exit status and stderr are recorded."""
    played = game(scripted(protocol, fault), sound(protocol))
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "start-failure", fault)
    assert words in played.cause
    if fault == "exit-at-start":
        assert played.incidents[0].stderr == ("no net found",)


@WAYS
@pytest.mark.parametrize(
    ("protocol", "fault"),
    [("uci", "no-uciok"), ("uci", "silent"), ("uci", "chatter"), ("cecp", "done-0"), ("uci", "no-pong")],
)
def test_an_endless_handshake_is_void(protocol: Protocol, fault: str) -> None:
    """Silence and endless output both end at the limit of the handshake."""
    played = game(scripted(protocol, fault, handshake_timeout=0.5, ready_timeout=0.5), sound())
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "start-timeout", fault)


@WAYS
def test_both_at_fault_is_void() -> None:
    """If neither engine can start, the cause names both, and each has its incident."""
    played = game(scripted("uci", "exit-at-start", name="one"), scripted("cecp", "kill-at-start", name="two"))
    assert played.outcome is Outcome.VOID
    assert "one: " in played.cause
    assert "two: " in played.cause
    assert [incident.engine for incident in played.incidents] == ["one", "two"]


@WAYS
def test_a_missing_program_is_a_failed_start() -> None:
    """A program that vanished during the run is a failed start."""
    spec = scripted("uci", name="gone")
    gone = type(spec)("gone", ("/nonexistent/engine",), "uci")
    played = game(sound(), gone)
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "start-failure", "gone")


@WAYS
def test_a_bad_option_is_void_and_named() -> None:
    """A wrong option value makes the game void and names the allowed values."""
    played = game(scripted("uci", name="wrong", options=(("Hash", "4096"),)), sound())
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "bad-option", "wrong")
    assert "between 1 and 1024 (found '4096')" in played.cause


@BOTH_AND_WAYS
def test_a_banner_is_no_handshake(protocol: Protocol) -> None:
    """Lines before the first command are a banner, whatever they contain."""
    drawn(game(scripted(protocol, "banner"), sound(protocol)))


@BOTH_AND_WAYS
@pytest.mark.parametrize("fault", ["double-pong", "late-pong"])
def test_pongs_are_counted(protocol: Protocol, fault: str) -> None:
    """Pongs that come twice or late change nothing."""
    drawn(game(scripted(protocol, fault, seconds=0.1), sound(protocol)))


@BOTH_AND_WAYS
@pytest.mark.parametrize("fault", ["dies-at-second-game", "hangs-at-second-game"])
def test_a_death_between_games_is_a_restart(
    protocol: Protocol, fault: str, pool: EnginePool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine that cannot begin a second game is started again, and the game is played."""
    spec = scripted(protocol, fault)

    def limit(engine: Engine) -> int:
        return (100 if engine.spec == spec and engine.games == 1 else 20_000) * base.MS

    if fault.startswith("hangs"):  # only this wait is short
        monkeypatch.setattr(Engine, "ready_ns", property(limit))
    drawn(game(spec, sound(protocol), pool=pool))
    drawn(game(spec, sound(protocol), pool=pool))


@WAYS
def test_a_stall_at_a_fence_in_the_game_is_a_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that does not answer a ping in a game stalls and loses."""
    spec = scripted("uci", "no-pong-in-game", fence="wait", at=2)

    def limit(engine: Engine) -> int:  # only the wait after the second search is short
        return (100 if engine.spec == spec and engine.searches == 2 else 20_000) * base.MS

    monkeypatch.setattr(Engine, "game_fence_ns", property(limit))
    lost(game(spec, sound()), "no-pong-in-game", Termination.STALL)


@BOTH_AND_WAYS
@pytest.mark.parametrize("fence", ["inline", "wait"])
def test_fences_before_every_search(protocol: Protocol, fence: str) -> None:
    """Both kinds of fence play a whole game."""
    drawn(game(sound(protocol, fence=fence), sound(protocol)))


@BOTH_AND_WAYS
def test_line_by_line(protocol: Protocol) -> None:
    """With a line delay every line is a write of its own, off the clock."""
    played = drawn(game(sound(protocol, line_delay_ms=3), sound(protocol)))
    assert played.white.moves == 8


# Claims of CECP engines.


@pytest.mark.parametrize("fault", ["resign", "own-loss", "resign-out-of-turn"])
def test_a_resignation_ends_the_game_at_once(fault: str) -> None:
    """`resign` and an own loss end the game at once, also in the opponent's turn."""
    opponent = sound("uci") if fault != "resign-out-of-turn" else scripted("uci", "late", at=2, seconds=3)
    played = game(scripted("cecp", fault), opponent)
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.RESIGN)
    assert not played.culprit


@pytest.mark.parametrize(
    ("fault", "termination"),
    [("resigns-at-a-fence", Termination.RESIGN), ("blames-at-a-fence", Termination.FALSE_CLAIM)],
)
def test_what_is_said_at_a_fence_counts(fault: str, termination: Termination) -> None:
    """A resignation or claim counts though it comes while a pong is awaited."""
    played = game(scripted("cecp", fault, at=3, fence="wait"), sound())
    assert (played.outcome, played.termination) == (Outcome.BLACK, termination), played.cause
    assert played.plies == 4


@pytest.mark.parametrize("fault", ["win", "move-and-win", "blames", "error-blames"])
def test_a_false_claim_loses(fault: str) -> None:
    """A claim of a win that is not on the board, or that a legal move is illegal, loses."""
    lost(game(scripted("cecp", fault), sound()), fault, Termination.FALSE_CLAIM)


@pytest.mark.usefixtures("unanswered")
def test_a_false_draw_claim_without_a_move_loses() -> None:
    """A false claim of a draw loses at the deadline if no move comes."""
    lost(game(scripted("cecp", "draw-silent", at=1), sound(), white_tc="0.2"), "draw-silent", Termination.FALSE_CLAIM)


def test_a_false_draw_claim_with_a_move_is_ignored() -> None:
    """With a move a false claim of a draw is ignored."""
    drawn(game(scripted("cecp", "draw-move"), sound()))


@pytest.mark.parametrize("fault", ["draw-silent", "draw-move"])
def test_a_true_draw_claim_ends_the_game(fault: str) -> None:
    """A third occurrence may be claimed if the referee itself waits for the fifth."""
    played = game(scripted("cecp", fault, at=5), sound())
    assert (played.outcome, played.termination, played.plies) == (Outcome.DRAW, Termination.CLAIM, 8)
    assert played.cause == "Draw by 3-fold repetition, claimed by White"


def test_an_abort_is_void_twice_and_then_a_loss() -> None:
    """`*` voids the game twice; the third time the engine loses."""
    first, third = (game(scripted("cecp", "abort"), sound(), aborts=aborts) for aborts in (0, 2))
    assert (first.outcome, first.category, first.culprit) == (Outcome.VOID, "engine-abort", "abort")
    assert (third.outcome, third.termination, third.culprit) == (Outcome.BLACK, Termination.ABORTED, "abort")


@pytest.mark.parametrize("fault", ["unsupported", "offer", "echo"])
def test_talk_is_no_claim(fault: str) -> None:
    """Errors about commands, draw offers and echoes change nothing."""
    drawn(game(scripted("cecp", fault), sound("cecp")))


@pytest.mark.parametrize("fault", ["no-features", "late-features", "no-ping", "done-0-then-1", "no-reuse"])
def test_all_ways_to_declare_features(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All ways to declare features play a game."""
    if fault in ("no-features", "late-features"):  # nothing comes before the first search, however long the wait is
        monkeypatch.setattr(cecp, "SILENT_NS", 200 * base.MS)
    played = drawn(game(scripted("cecp", fault), sound()))
    if fault == "late-features":
        assert played.white.own_name == "Late"


@pytest.mark.parametrize("fault", ["numbered", "my-move-is"])
def test_old_ways_to_announce_a_move(fault: str) -> None:
    """Numbered moves are answers of an engine without another form, else echoes."""
    played = drawn(game(sound("cecp"), scripted("cecp", fault)))
    assert (fault == "numbered") == any(warning.startswith("numbered") for warning in played.black.warnings)


def test_a_move_by_its_number_counts_when_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """A numbered move that is held back counts at the deadline, with the time when it came."""
    monkeypatch.setattr(cecp_lines, "HELD_NS", 10**11)
    played = game(sound(), scripted("cecp", "numbered"), black_tc="1", max_moves=2)
    assert (played.termination, played.plies) == (Termination.ADJUDICATION_LENGTH, 4), played.cause


@WAYS
def test_a_flood_out_of_turn_costs_the_opponent_nothing() -> None:
    """While one engine floods, the other's answer is read and bookkeeping is done."""
    link = Eavesdropper()
    white = scripted("uci", "flood-out-of-turn", at=2)
    played = game(white, scripted("cecp", "numbered", seconds=0.5), white_tc="1", black_tc="60", link=link)
    lost(played, "flood-out-of-turn", Termination.TIME)
    assert played.plies == 4
    assert sum(move.elapsed_ms for move in played.moves[1::2]) < 3_000  # the longest wait (reliability 1)


# Openings.


@BOTH_AND_WAYS
def test_an_opening_is_on_the_board_before_the_clocks_run(protocol: Protocol) -> None:
    """Moves of the opening are recorded as book moves, and the engines continue from there."""
    opening = Opening("line", 1, None, ("e2e4", "e7e5", "a2a3"))
    played = drawn(game(sound(protocol), sound(protocol), opening=opening))
    assert [move.book for move in played.moves[:4]] == [True, True, True, False]
    assert played.moves[3].uci == "g8f6"
    assert played.opening == opening


@BOTH_AND_WAYS
def test_a_position_is_set(protocol: Protocol) -> None:
    """A FEN is sent in both protocols, also with Black to move."""
    opening = Opening(fen="rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1")
    played = drawn(game(sound(protocol), sound(protocol), opening=opening))
    assert played.moves[0].uci == "g8f6"


def test_a_refused_position_is_void_and_unsupported() -> None:
    """A rejected position makes the game void, without a loss."""
    opening = Opening(fen="4k3/8/8/8/8/8/4P3/4K1N1 w - - 0 1")
    played = game(scripted("cecp", "refuses-setboard"), sound(), opening=opening)
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "unsupported", "refuses-setboard")


def test_a_position_that_edit_cannot_say_is_unsupported() -> None:
    """Without setboard a position with lost castling rights is not supported."""
    opening = Opening(fen="rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1")
    played = game(scripted("cecp", "no-setboard"), sound(), opening=opening)
    assert (played.outcome, played.category) == (Outcome.VOID, "unsupported")


def test_an_engine_without_setboard_plays_from_the_spare_opening() -> None:
    """An engine without setboard plays from the spare opening; one with setboard plays the opening itself."""
    opening = Opening("bare", 1, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1")
    spare = Opening("counted", 2, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 96 60")
    for fault, begun in (("no-setboard", spare), ("", opening)):
        played = game(scripted("cecp", fault), sound("cecp"), opening=opening, spare=spare)
        assert played.opening == begun
        assert not played.incidents
    assert (played.termination, played.plies) == (Termination.REPETITION, 16)
    counted = game(scripted("cecp", "no-setboard"), sound(), opening=spare)
    assert (counted.outcome, counted.termination, counted.plies) == (Outcome.DRAW, Termination.FIFTY, 4)


def test_a_control_that_an_engine_lacks_is_unsupported() -> None:
    """Nodes in CECP need the feature nps."""
    played = game(scripted("cecp", name="cannot"), sound(), white_tc="nodes=100")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "unsupported", "cannot")


def test_a_game_of_nodes_in_cecp() -> None:
    """A game of nodes in CECP uses `nps` and `st`; clocks do not run (protocol spec, "nps")."""
    white, pool = scripted("cecp", "tells-nps"), EnginePool()
    played = drawn(game(white, sound(), white_tc="nodes=700", black_tc="nodes=900", pool=pool))
    assert (played.white_tc, {move.clock_ms for move in played.moves}) == ("nodes=700", {None})
    (engine,) = filter(None, pool.take(white))
    heard = [line.split(" > ", 1)[1] for line in engine.process.traffic(400) if " > " in line]
    assert [line for line in heard if line.startswith(("nps", "st ", "level", "sd"))] == ["nps 700", "st 1"]
    assert {line for line in heard if line.startswith(("time", "otim"))} == {"time 360000", "otim 360000"}  # no limit
    pool.end(engine)


@WAYS
def test_an_opening_that_ends_the_game_is_ours_to_refuse() -> None:
    """An opening that ends the game raises ValueError, which is no engine's fault."""
    with pytest.raises(ValueError, match="ends the game"):
        game(sound(), sound(), opening=Opening("mate", 1, None, ("f2f3", "e7e5", "g2g4", "d8h4")))


class Stopping(Link):
    """A link that requests a stop now, as soon as a move was played."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self.control_fd = self._read

    def stopping(self) -> Literal["", "finish", "now"]:
        os.read(self._read, 1)
        return "now"

    def tell(self, name: str, payload: object) -> None:
        if name == "moves":
            os.write(self._write, b"x")

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


@WAYS
def test_a_stop_leaves_no_game_and_no_engine() -> None:
    """After a stop now there is no game, and both engines have ended."""
    link = Stopping()
    with pytest.raises(MachineFailure):
        game(sound(), scripted("uci", "hang", at=2), link=link)
    link.close()


class Halting(Link):
    """A link that seems to stop and continue the referee's process when a move was played, and then makes a file."""

    def __init__(self, halted: Path) -> None:
        self._halted = halted

    def tell(self, name: str, payload: object) -> None:
        if name == "moves":
            os.kill(os.getpid(), signal.SIGCONT)
            self._halted.touch()


@WAYS
@pytest.mark.usefixtures("unanswered")
@pytest.mark.parametrize("fault", ["late", "hang"])
def test_a_referee_that_was_stopped_judges_no_time(fault: str, tmp_path: Path) -> None:
    """After SIGSTOP of the referee the game is void, and nobody is at fault."""
    before = signal.getsignal(signal.SIGCONT)
    control = {"late": LONG, "hang": "1"}[fault]
    late = scripted("uci", fault, at=1, seconds=0)
    late = replace(late, command=(*late.command, "--starts", str(tmp_path / "halted")))  # it waits for this file
    played = game(sound(), late, black_tc=control, link=Halting(tmp_path / "halted"))
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", "")
    assert "was stopped" in played.cause
    assert signal.getsignal(signal.SIGCONT) == before


@WAYS
def test_engines_live_on_between_games(pool: EnginePool) -> None:
    """The second game is played by the same processes, whatever their colors are."""
    one, two = sound(fence="inline"), sound("cecp")
    drawn(game(one, two, pool=pool))
    pids = sorted(process.pid for process in running_engines)
    drawn(game(two, one, pool=pool))
    assert sorted(process.pid for process in running_engines) == pids
    assert len(pids) == 2


@WAYS
def test_what_may_not_play_again_is_ended(pool: EnginePool) -> None:
    """An engine that broke a rule or declares reuse=0 is ended after the game; another pair ends all others."""
    lost(game(scripted("uci", "illegal"), scripted("cecp", "no-reuse"), pool=pool), "illegal", Termination.ILLEGAL_MOVE)
    assert not running_engines
    drawn(game(sound(), sound("cecp"), pool=pool))
    drawn(game(sound(fence="wait"), sound("cecp", fence="wait"), pool=pool))
    assert len(running_engines) == 2


@WAYS
@pytest.mark.parametrize(
    ("fault", "category", "words"),
    [
        ("ignores-quit", "shutdown-warning", "did not exit after quit"),
        ("leaves-a-child", "orphan-warning", "left processes behind: "),
    ],
)
def test_a_bad_parting_is_a_warning(
    fault: str, category: str, words: str, monkeypatch: pytest.MonkeyPatch, pool: EnginePool
) -> None:
    """An engine that must be ended with a signal, or leaves a process behind, gives one incident."""
    if fault == "ignores-quit":  # it ends alone, and would ignore it for longer
        monkeypatch.setattr(process, "QUIT_WAIT", 0.2)
    rude, polite = scripted("uci", fault, restart=True), sound("cecp")
    first = drawn(game(rude, polite, pool=pool))
    assert [(told.engine, told.category, told.is_warning) for told in first.incidents] == [(fault, category, True)]
    assert words in first.incidents[0].cause
    assert not drawn(game(rude, polite, pool=pool)).incidents


@WAYS
def test_a_bad_parting_between_games_is_told_with_the_next(pool: EnginePool) -> None:
    """An engine that is ended for another pair gives its incident with the next game."""
    drawn(game(scripted("uci", "ignores-quit"), sound("cecp"), pool=pool))
    told = drawn(game(sound("uci"), sound("cecp", fence="wait"), pool=pool)).incidents
    assert [(warning.engine, warning.category) for warning in told] == [("ignores-quit", "shutdown-warning")]


def test_another_kind_of_control_needs_another_process_in_cecp(pool: EnginePool) -> None:
    """Another kind of time control needs another process in CECP."""
    drawn(game(sound("cecp"), sound(), pool=pool, white_tc="depth=2"))
    before = {process.pid for process in running_engines}
    drawn(game(sound("cecp"), sound(), pool=pool))
    assert len(before & {process.pid for process in running_engines}) == 1


@WAYS
@pytest.mark.parametrize("begun", [(), ("e2e3",)])
def test_what_the_live_page_hears(begun: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Live events are the start, each move with the clocks of that moment, and the end."""
    monkeypatch.setattr(record, "HELD_PLIES", 1)
    monkeypatch.setattr(record, "PATIENCE_NS", 0)
    monkeypatch.setattr(record, "LIVE_INTERVAL_NS", 0)
    link = Eavesdropper()
    opening = Opening("begun", moves=begun)
    played = game(sound(), sound("cecp"), link=link, opening=opening, white_tc="60", black_tc="50")
    (start, told), *tellings, (end, how) = link.told
    assert (start, told["moves"], told["clocks"]) == ("start", list(begun), [60_000, 50_000])
    assert "number" not in told  # the log gives the number when the game has ended
    assert (end, how["outcome"]) == ("end", "1/2-1/2")
    assert {name for name, _ in tellings} == {"moves"}
    clocks = told["clocks"]
    moves = [move for _, several in tellings for move in several]
    for ply, (move, told) in enumerate(zip(played.moves[len(begun) :], moves, strict=True), len(begun)):
        clocks[ply % 2] = move.clock_ms
        assert (told["ply"], told["uci"], told["san"], told["clocks"]) == (ply + 1, move.uci, move.san, clocks)


@WAYS
def test_a_game_that_is_over_at_once_is_told_by_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A game that ends at once is reported only by its result."""
    monkeypatch.setattr(record, "LIVE_INTERVAL_NS", 3600 * clock.MS * 1000)
    link = Eavesdropper()
    assert game(sound(), sound("cecp"), link=link).plies > 1
    assert [name for name, _ in link.told] == ["start", "end"]


# Interruptions of the referee: suspension of the machine, and a slot that was stopped in a whole run.

# It answers at once, but the first search of all waits for the pipe next to it.
HELD = """\
import os, sys
moves, plies, held = ["g1f3", "g8f6", "f3g1", "f6g8"], 0, True
for line in sys.stdin:
    words = line.split()
    if words[0] == "position":
        plies = len(words[words.index("moves") + 1:]) if "moves" in words else 0
    if words[0] == "go":
        if held and not os.path.exists({here!r} + "/was-held"):
            open({here!r} + "/was-held", "w").close()
            open({here!r} + "/held", "w").close()
            open({here!r} + "/gate").read()
        print("bestmove", moves[plies % 4], flush=True)
    print({{"uci": "uciok", "isready": "readyok"}}.get(words[0], ""), flush=True)
"""


def test_a_game_the_machine_slept_through_is_void(monkeypatch: pytest.MonkeyPatch) -> None:
    """A game during which the machine was suspended is void."""
    slept = [0]

    class Sleeping(Link):
        def tell(self, name: str, payload: object) -> None:
            slept[0] += 3_000_000_000 * (name == "start")

    monkeypatch.setattr(clock, "suspended_ns", lambda: slept[0])
    played = game(sound(), sound(), link=Sleeping())
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", "")
    assert "suspended" in played.cause


class Frozen:
    """Waits of a module, one of which this process sleeps through, with all clocks but the machine's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, module: ModuleType, seconds: float, at: int) -> None:
        self._offset, self._seconds, self.left = 0, seconds, at
        now, wait = time.monotonic_ns, module.wait

        def held(*words: Any) -> Any:
            self.left -= 1
            if self.left:
                return wait(*words)
            self._offset = int(self._seconds * 1e9)
            return Wake((), control=False)

        monkeypatch.setattr(relay, "native", None)  # it waits by itself
        monkeypatch.setattr(time, "monotonic_ns", lambda: now() + self._offset)
        monkeypatch.setattr(module, "wait", held)


@pytest.mark.parametrize(("seconds", "void"), [(0.9, False), (5.0, True)])
def test_a_freeze_shorter_than_the_clock_is_charged_to_nobody(
    seconds: float, void: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A short freeze of the machine, which gives no signal, is charged to nobody."""
    if void:
        monkeypatch.setattr(clock, "OVERSLEPT_NS", OVERSLEPT_NS)
    Frozen(monkeypatch, relay, seconds, at=2)
    played = game(sound(), sound(), white_tc="600", black_tc="600")
    assert (played.outcome is Outcome.VOID, played.category) == (void, "host" if void else "")
    assert ("woke up" in played.cause) == void


@pytest.mark.usefixtures("answered")
def test_a_freeze_over_the_flag_blames_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A freeze over the flag is no engine's fault, because it froze the engine too."""
    monkeypatch.setattr(clock, "OVERSLEPT_NS", 3_600_000 * clock.MS)
    monkeypatch.setattr(clock, "GRACE_NS", 60_000 * clock.MS)  # longer than a busy machine needs for the answer
    Frozen(monkeypatch, relay, 200.0, at=1)
    played = game(sound(), sound(), doubtful_flag="void")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", ""), played.cause
    assert "after stop" in played.cause and "doubtful" in played.cause


@pytest.mark.usefixtures("answered")
def test_a_freeze_after_a_wait_blames_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If this process freezes after a wait, before it reads the clock, no engine is at fault."""
    thawed, now, woke = tmp_path / "thawed", time.monotonic_ns, clock.Interruptions.woke

    def frozen(*words: Any) -> int:
        late = woke(*words)
        thawed.touch()  # the engine waits for it
        return late

    monkeypatch.setattr(relay, "native", None)  # it waits by itself
    monkeypatch.setattr(time, "monotonic_ns", lambda: now() + (200_000 * clock.MS if thawed.exists() else 0))
    monkeypatch.setattr(clock.Interruptions, "woke", frozen)
    late = scripted("uci", "late", at=1, seconds=0)
    late = replace(late, command=(*late.command, "--starts", str(thawed)))
    played = game(late, sound(), doubtful_flag="void")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", ""), played.cause


def test_a_freeze_before_the_flag_blames_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """A freeze before the flag is no engine's fault, because it took the engine's time."""
    monkeypatch.setattr(clock, "OVERSLEPT_NS", 3_600_000 * clock.MS)
    monkeypatch.setattr(clock, "GRACE_NS", 60_000 * clock.MS)  # longer than a busy machine needs for the answer
    Frozen(monkeypatch, relay, 59.95, at=2)
    late = engines.scripted("uci", "late", at=1, seconds=0.15)
    played = game(late, sound(), white_tc="60", doubtful_flag="void")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", ""), played.cause
    assert "doubtful" in played.cause


@pytest.mark.parametrize(("where", "words"), [("at its start", "no uciok"), ("before a move", "no answer to a ping")])
def test_a_freeze_in_a_fence_is_no_stall(where: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A freeze during a fence is not a stall."""
    monkeypatch.setattr(clock, "OVERSLEPT_NS", OVERSLEPT_NS)
    frozen = Frozen(monkeypatch, talk, 20.0, at=1 if where == "at its start" else 0)
    converse = talk.run_scripts

    def before_a_move(*told: Any) -> Any:
        frozen.left = 1
        return converse(*told)

    if where == "before a move":
        monkeypatch.setattr(relay, "run_scripts", before_a_move)
    played = game(sound(fence="wait"), sound())
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", "")
    assert words in played.cause and "the referee woke up" in played.cause


def test_a_slot_that_was_stopped_replays_its_game(tmp_path: Path) -> None:
    """After SIGSTOP and SIGCONT the game is void and played again with the same colors."""
    (tmp_path / "results").mkdir()
    (tmp_path / "held.py").write_text(HELD.format(here=str(tmp_path)))
    for name in ("held", "gate"):
        os.mkfifo(tmp_path / name)
    more = entrant("Held", [sys.executable, "-S", str(tmp_path / "held.py")])
    path = config(tmp_path, (), "roundrobin", "", more + tournaments_scripted("Ada", "uci"), tc="600")
    path.write_text(path.read_text().replace("[play]", "[play]\nopenings = { plies = 0 }"))
    run = Forked(tmp_path, ["run", str(path)], tmp_path / "errors")
    (tmp_path / "held").read_text()
    (slot,) = slots_of(run.pid)
    for number in (signal.SIGSTOP, signal.SIGCONT):
        os.kill(slot, number)
    (tmp_path / "gate").write_text("")
    assert run.ended()[0] == 0
    audit(tmp_path)
    with Store.open(tmp_path / "results" / "enginetour.db", create=False) as store:
        first, second = store.tournament("trial").full_games()
    assert (first.game.outcome, first.game.category, first.game.culprit) == (Outcome.VOID, "host", "")
    assert (second.game.pairing, second.game.replay) == (first.game.pairing, 1)
    assert second.game.outcome is Outcome.DRAW
    assert left_running(tmp_path) == []
    told = tour(tmp_path, "games", "1").stdout + tour(tmp_path, "report").stdout
    told += (tmp_path / "results" / "trial-report" / "index.html").read_text()
    assert "incident: the machine, host" in told
    assert "Check 1 incident: the machine (1)" in told


# Whole games of every variant in both protocols, compared with those of python-chess.

SCRIPT = str(Path(__file__).parents[1] / "programs" / "variantplayer.py")
# A seed of a short game with many events, its start, its events and its end.
Told = tuple[str, str | None, str, str]
GAMES: dict[str, list[Told]] = {
    "standard": [("101", None, "white O-O, black O-O-O, crowned n", "material")],
    "chess960": [
        ("683", shuffled_fen(322, 322), "white O-O-O, black O-O", "mate"),
        ("369", shuffled_fen(224, 224), "white O-O, black O-O-O", "stalemate"),
    ],
    "double-chess960": [
        ("265", shuffled_fen(216, 850), "white O-O, black O-O-O", "mate"),
        ("564", shuffled_fen(719, 329), "white O-O-O, black O-O, crowned q", "mate"),
        ("706", shuffled_fen(213, 271), "white O-O-O", "mate"),  # both rooks right of the middle
        ("2119", shuffled_fen(654, 904), "white O-O", "mate"),  # both left of it
    ],
    "crazyhouse": [
        ("10", None, "black O-O, white drop, black drop, crowned r, crowned b", "mate"),
        ("27", "r2qk2r/ppp2ppp/8/3Q~4/8/4n~3/PPP2PPP/R3K2R[Nb] w KQkq - 0 1", "black O-O, white drop", "mate"),
    ],
    "atomic": [("64", None, "white O-O, black O-O", "variant"), ("2", None, "white O-O-O, en passant", "variant")],
    "antichess": [("3", None, "en passant, crowned k", "variant")],
    "giveaway": [("53", None, "white O-O, en passant, crowned k", "variant")],
    "suicide": [("67", None, "black O-O, en passant, crowned k", "variant")],
    "kingofthehill": [("31", None, "black O-O, white O-O-O", "variant")],
    "racingkings": [("71", None, "", "variant"), ("24", None, "", "variant")],
    "horde": [
        ("160", None, "en passant, crowned r", "mate"),
        ("51", "rnbqkbnr/pppppppp/8/8/8/5P2/8/P6P w kq - 0 1", "black O-O-O", "variant"),
    ],
    "3check": [
        ("31", None, "white O-O, black O-O", "variant"),
        ("16", "r3k2r/pppq1ppp/8/8/8/8/PPPQ1PPP/R3K2R w KQkq - 2+1 0 9", "white O-O, black O-O", "variant"),
    ],
}
ENDS = {
    chess.Termination.CHECKMATE: "mate",
    chess.Termination.STALEMATE: "stalemate",
    chess.Termination.INSUFFICIENT_MATERIAL: "material",
    chess.Termination.VARIANT_WIN: "variant",
    chess.Termination.VARIANT_LOSS: "variant",
}
CASES = [(name, *one) for name, several in GAMES.items() for one in several]
Protocols = tuple[str, str]  # of White, of Black; san is CECP with san=1


def player(protocol: str, color: str, seed: str, *faults: str) -> EngineSpec:
    """Return an engine that also chooses by its color, so that the game does not depend on it."""
    return EngineSpec(
        f"{color} {protocol}",
        (sys.executable, SCRIPT, protocol, f"{color} {seed}", *faults),
        "uci" if protocol == "uci" else "cecp",
        dir="scratch",
        quirks=Quirks(ready_timeout=20.0, handshake_timeout=20.0),
    )


def true_game(
    variant: str, seed: str, fen: str | None, colors: tuple[str, str] = ("Black", "White")
) -> tuple[chess.Board, set[str]]:
    """Return the game that both engines play if everything is sent correctly, and its events."""
    board, happened = board_of(variant, fen), set()
    while board.outcome() is None:
        color = "white" if board.turn else "black"
        move = choice(board, f"{colors[board.turn]} {seed}")
        if board.is_castling(move):
            happened.add(f"{color} {board.san(move).rstrip('+#')}")
        if move.drop:
            happened.add(f"{color} drop")
        if move.promotion:
            happened.add(f"crowned {chess.piece_symbol(move.promotion)}")
        if board.is_en_passant(move):
            happened.add("en passant")
        board.push(move)
    return board, happened


def holds(played: Game, true: chess.Board, end: str) -> None:
    """Check that moves, end and winner are the true ones, and that python-chess reads the same from the PGN."""
    moves = [move.uci() for move in true.move_stack]
    assert [move.uci for move in played.moves] == moves, played.cause
    outcome = true.outcome()
    assert outcome is not None
    assert (played.termination.value, played.outcome.value) == (end, outcome.result()), played.cause
    assert (ENDS[outcome.termination], played.final_fen) == (end, true.fen())
    assert not played.culprit
    assert all(not side.warnings for side in (played.white, played.black))
    read = chess.pgn.read_game(io.StringIO(pgn.game_pgn(played, 1, "trial")))
    assert read is not None
    assert not read.errors
    assert [move.uci() for move in read.mainline_moves()] == moves
    assert read.end().board().fen() == true.fen()
    assert type(read.board()) is type(true)
    assert read.headers["Result"] == outcome.result()


SURPLUS = [
    *(("standard", "101", None, lacks) for lacks in ("", "no-ping", "no-setboard")),
    pytest.param("standard", "101", None, "no-setboard no-ping", marks=pytest.mark.night),
    ("atomic", "64", None, ""),
    ("atomic", "64", None, "no-setboard"),
    ("chess960", "683", shuffled_fen(322, 322), ""),
]


@pytest.mark.parametrize(("fault", "protocol"), [("surplus", "cecp"), ("surplus", "san"), ("late", "cecp")])
@pytest.mark.parametrize(("variant", "seed", "fen", "lacks"), SURPLUS)
def test_surplus_moves_change_no_game(
    fault: str, protocol: str, variant: str, seed: str, fen: str | None, lacks: str
) -> None:
    """An engine that also moves for its opponent gets the position again: both play the true game.

    Its move may come when the opponent has moved already, and be rejected. In SAN it may be a legal answer.
    """
    true, _ = true_game(variant, seed, fen)
    white = player(protocol, "White", seed, fault, *lacks.split())
    black = player(protocol, "Black", seed, fault, *lacks.split())
    opening = Opening(fen=fen, variant=variant)
    played = game(white, black, opening=opening, fifty=75, max_moves=400)
    assert [move.uci for move in played.moves] == [move.uci() for move in true.move_stack], played.cause
    assert not played.culprit
    for side in (played.white, played.black):
        assert any(words.startswith("out-of-turn") for words in side.warnings)


@pytest.mark.parametrize("protocols", [("uci", "cecp"), ("cecp", "uci"), ("san", "san")], ids="-".join)
@pytest.mark.parametrize(
    ("variant", "seed", "fen", "happens", "end"), CASES, ids=[f"{one[0]}-{one[1]}" for one in CASES]
)
def test_a_whole_game(
    variant: str,
    seed: str,
    fen: str | None,
    happens: str,
    end: str,
    protocols: Protocols,
    monkeypatch: pytest.MonkeyPatch,
    pool: EnginePool,
) -> None:
    """A whole game is the same from its start, and with its first half as the opening.

    In UCI the position line begins again and again.
    """
    monkeypatch.setattr(position, "MAX_LINE", 250)
    true, happened = true_game(variant, seed, fen)
    assert happened >= {word for word in happens.split(", ") if word}
    white, black = (
        player(protocol, color, seed) for protocol, color in zip(protocols, ("White", "Black"), strict=True)
    )
    for plies in (0, len(true.move_stack) // 2):
        moves = tuple(move.uci() for move in true.move_stack[:plies])
        opening = Opening("begun", fen=fen, variant=variant, moves=moves)
        holds(game(white, black, pool=pool, opening=opening, fifty=75, max_moves=400), true, end)


def test_ends_of_a_variant_are_counted(tmp_path: Path) -> None:
    """Ends of three-check are counted the same in points, `games`, `status` and PGN."""
    (tmp_path / "results").mkdir()
    specs = [player(protocol, "White", "1") for protocol in ("uci", "cecp")]
    entrants = "".join(entrant(spec.name, spec.command, spec.protocol) for spec in specs)
    path = config(tmp_path, (), "match", "games = 2", entrants, tc="60")
    path.write_text(path.read_text().replace("[play]\n", '[play]\nvariant = "3check"\n'))
    done = tour(tmp_path, "run", str(path))
    assert "Score of White uci vs White cecp: 1 - 1 - 0  [0.500] 2" in done.stdout
    board = true_game("3check", "1", None, colors=("White", "White"))[0]
    result = board.result()
    assert result == "1-0"
    games = read(tmp_path, "games")
    assert [(one["result"], one["termination"], one["plies"]) for one in games] == [
        (result, "variant", len(board.move_stack))
    ] * 2
    assert "ended by: 2 variant" in tour(tmp_path, "status").stdout
    with (tmp_path / "results" / "trial.pgn").open() as file:
        written = list(iter(lambda: chess.pgn.read_game(file), None))
    assert [(one.headers["Result"], one.headers["Termination"], one.errors) for one in written] == [
        (result, "normal", [])
    ] * 2


def test_every_variant_is_played() -> None:
    """Every variant has a game here."""
    assert GAMES.keys() == VARIANTS.keys()


# Games that were once judged or reported wrongly.


def misbehaving(protocol: Protocol, fault: str, **more: float) -> EngineSpec:
    """Return an engine of the script with more faults."""
    spec = scripted(protocol, fault, **more)  # type: ignore[arg-type]
    command = tuple(word.replace(PLAYING, MISBEHAVING) for word in spec.command)
    return EngineSpec(spec.name, command, spec.protocol, dir=spec.dir, quirks=spec.quirks)


@BOTH
def test_an_engine_that_flags_and_then_dies_lost_on_time(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that exceeds its time and then crashes has lost on time."""
    hurry(monkeypatch, search=0, ms=1)
    monkeypatch.setattr(clock, "GRACE_NS", 60_000 * clock.MS)  # its end is seen before a stop is sent
    late = misbehaving(protocol, "late-then-dies", at=1, seconds=1.0)
    played = game(late, sound(protocol), white_tc=HURRIED, doubtful_flag="loss")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause


@pytest.mark.parametrize(("fault", "at"), [("late-abort", 2), ("late-draw", 5)])
def test_a_word_after_the_flag_ends_no_game(fault: str, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A message after the flag does not end the game."""
    hurry(monkeypatch, search=at - 1, ms=1)
    monkeypatch.setattr(clock, "GRACE_NS", 2_000 * clock.MS)
    late = misbehaving("cecp", fault, at=at, seconds=1.0)
    played = game(late, sound(), white_tc=HURRIED)
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause


@BOTH
def test_who_ends_first_has_lost_though_its_opponent_ends_too(
    protocol: Protocol, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine that ends first has lost, though its opponent ends too."""
    seen, pull = tmp_path / "seen", Engine.pull

    def pulled(engine: Engine) -> bool:
        found = pull(engine)
        if engine.spec.name == "answer-die" and engine.process.eof:
            seen.touch()
        return found

    monkeypatch.setattr(Engine, "pull", pulled)
    last = misbehaving(protocol, "last-move-after", at=2)
    last = replace(last, command=(*last.command, "--starts", str(seen)))
    played = game(scripted(protocol, "answer-die"), last)
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.CRASH), played.cause
    assert (played.culprit, played.plies) == ("answer-die", 4)


@BOTH
def test_a_stop_is_looked_for_before_an_end_at_a_fence_is_a_loss(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stop is looked for before an end at a fence counts as a loss."""
    spec = scripted(protocol, "dies-at-a-fence", at=3, fence="wait")
    played = game(spec, sound(protocol))
    assert (played.outcome, played.termination, played.plies) == (Outcome.BLACK, Termination.CRASH, 4), played.cause
    assert played.cause == "White disconnects: exit 3"

    def stopped(*_: object) -> None:
        raise MachineFailure("stopped")

    monkeypatch.setattr(relay, "wait_for_stop", stopped)
    with pytest.raises(MachineFailure):
        game(spec, sound(protocol))


def test_two_that_end_at_once() -> None:
    """Two engines that end at the same time have two replays; by a signal from outside it is the machine."""
    seat = cast("Seat", SimpleNamespace(name="Ada"))
    ends = [("exit 3", "exit 3"), ("signal 11 (SIGSEGV)", "exit 0"), ("exit 0", "signal 15 (SIGTERM)")]
    found = [verdict.both_ended(seat, *statuses) for statuses in ends]
    assert [one.category for one in found] == ["crash", "crash", "host"]
    assert [one.culprit for one in found] == [seat, seat, None]
    assert all(one.void for one in found)
    second = 1_000_000_000
    assert verdict.ended_together(2 * second, 2 * second + 1, second)
    assert not verdict.ended_together(2 * second, 2 * second + 1, 2 * second + 1)
    assert not verdict.ended_together(3 * second, 2 * second, second)


@BOTH
def test_a_flag_before_both_engines_end_is_lost_on_time(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """A time loss counts, though the opponent ended a moment before."""
    hurry(monkeypatch, search=1, ms=1)
    monkeypatch.setattr(clock, "GRACE_NS", 60_000 * clock.MS)  # as above
    late = misbehaving(protocol, "late-then-dies", at=2, seconds=1.0)
    played = game(late, scripted(protocol, "answer-die", at=1), white_tc=HURRIED)
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause


@BOTH
def test_a_restart_between_games_is_told(protocol: Protocol, pool: EnginePool) -> None:
    """Each process that could not begin another game gives one incident."""
    spec = scripted(protocol, "dies-at-second-game")
    told = [game(spec, sound(protocol), pool=pool).incidents for _ in range(3)]
    assert [[incident.category for incident in incidents] for incidents in told] == [[], ["restart"], ["restart"]]
    assert "exit 4" in told[1][0].cause
    assert told[1][0].traffic


@BOTH
def test_a_line_that_was_cut_is_told(protocol: Protocol) -> None:
    """A line that was cut gives one warning, and the move after it counts."""
    played = game(scripted(protocol, "long-line"), sound(protocol))
    assert played.outcome is Outcome.DRAW
    assert [incident.cause for incident in played.incidents] == [
        f"long-line: wrote a line of more than {LINE_CAP // 1024} KiB; the rest of it was dropped"
    ]


def test_a_refused_position_is_one_incident() -> None:
    """`tellusererror` is the cause of a void game, not another warning."""
    spec = scripted("cecp", "refuses-setboard")
    fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1"
    played = game(spec, sound(), opening=Opening(fen=fen))
    assert (played.outcome, played.category) == (Outcome.VOID, "unsupported")
    assert [incident.category for incident in played.incidents] == ["unsupported"]


@BOTH
@pytest.mark.usefixtures("idle")
def test_waiting_for_the_owed_answer_excuses_no_silence(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting for the owed answer is not a delay by the referee."""
    settle, stopped = Engine.settle, list[Engine]()

    def settling(engine: Engine) -> Script:
        stopped.append(engine)
        yield from settle(engine)

    monkeypatch.setattr(Engine, "settle", settling)
    monkeypatch.setattr(Record, "waited_now", lambda _: 10_000_000_000 if stopped else 0)
    played = game(scripted(protocol, "hang", at=1), sound(protocol), white_tc="0.2", doubtful_flag="void")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause


@BOTH
@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("fault", ["hang", "flood"])
def test_who_has_not_answered_has_not(protocol: Protocol, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing answer is never doubtful, however long the referee's delay is."""
    monkeypatch.setattr(Record, "waited_now", lambda _: 10_000_000_000)
    played = game(scripted(protocol, fault, at=1), sound(protocol), white_tc="0.2", doubtful_flag="void")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause
    (delay,) = re.findall(r"referee delay up to (\d+\.\d) ms", played.cause)
    assert float(delay) >= 10_000  # and the delay of this machine


@BOTH
@pytest.mark.usefixtures("idle", "answered")
def test_who_answers_only_when_told_to_stop_has_hung(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that answers only after stop has exceeded the hang limit."""
    monkeypatch.setattr(Record, "waited_now", lambda _: 10_000_000_000)
    late = scripted(protocol, "answers-stop", at=1)
    played = game(late, sound(protocol), white_tc="depth=1", hang_limit=0.2, doubtful_flag="void")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause
    assert re.search(r"^White loses on time, \d+ ms over the hang limit of 0\.2 s, after stop \(", played.cause)


@BOTH
@pytest.mark.parametrize(("fault", "fence"), [("answers-at-a-fence", "inline"), ("answers-after-a-fence", "wait")])
def test_what_comes_with_the_pong_of_a_fence_is_stale(
    protocol: Protocol, fault: str, fence: Literal["inline", "wait"]
) -> None:
    """A move before the pong of a fence, or right after it, belongs to an earlier search."""
    played = game(scripted(protocol, fault, fence=fence), sound(protocol))
    assert played.outcome is Outcome.DRAW, played.cause
    assert [warning.partition(":")[0] for warning in played.white.warnings] == ["out-of-turn"]
    assert "a2a3" not in {move.uci for move in played.moves}


def test_rights_are_told_by_files_where_back_ranks_are_shuffled() -> None:
    """Castling rights are sent as files where back ranks are shuffled, because an engine took K for a rook on h."""
    shuffled = Position("1r3kr1/8/8/8/8/8/8/1R3KR1 w KQkq - 0 1", "chess960")
    assert shuffled.line == b"position fen 1r3kr1/8/8/8/8/8/8/1R3KR1 w GBgb - 0 1"
    usual = Position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    assert usual.line == b"position fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"


@pytest.mark.engine("glaurung")
def test_an_engine_knows_with_which_rook_it_may_castle() -> None:
    """The only mate is castling, with a rook next to the king."""
    spec = to_spec(load([bundled_directory("engines")]).get("glaurung"))
    opening = Opening(fen="4rkr1/4p1p1/8/8/8/8/8/5KR1 w K - 0 1", variant="chess960")
    played = game(spec, sound(variants="chess960"), white_tc="depth=4", opening=opening)
    assert (played.outcome, [move.uci for move in played.moves]) == (Outcome.WHITE, ["f1g1"]), played.cause


@pytest.mark.parametrize(("dead", "words"), [(True, "exit 3"), (False, "closed its output but is still running")])
def test_a_dead_engine_is_waited_for(monkeypatch: pytest.MonkeyPatch, dead: bool, words: str) -> None:
    """The exit status of a crashed engine is awaited on a busy machine."""
    process = SimpleNamespace(exited=False, is_dead=dead, broken=False, eof=True)
    process.exit_status = lambda: "exit 3" if process.exited else ""
    now = [0]

    def wait(_: object, control: None, until_ns: int) -> None:
        process.exited = now[0] > 0  # later than usual
        now[0] = until_ns

    monkeypatch.setattr(talk, "wait", wait)
    monkeypatch.setattr(talk, "time", SimpleNamespace(monotonic_ns=lambda: now[0]))
    assert talk.describe_exit(cast("Engine", SimpleNamespace(process=process))) == words


@pytest.mark.parametrize(
    ("fault", "at", "end"), [("resign-and-move", 2, Termination.RESIGN), ("draw-move", 6, Termination.CLAIM)]
)
def test_a_move_beside_a_word_that_ends_the_game_is_no_answer_out_of_turn(
    fault: str, at: int, end: Termination
) -> None:
    """A move next to a resignation or a correct claim is not an answer out of turn."""
    white, pool = scripted("cecp", fault, at=at), EnginePool()
    played = [game(white, sound(restart=True), pool=pool) for _ in range(2)]
    pool.close_all()
    assert [one.termination for one in played] == [end, Termination.REPETITION]
    assert [one.white.warnings for one in played] == [(), ()]


def test_answers_to_features_are_not_piled_up() -> None:
    """Answers to features do not fill the pipe of an engine that does not read yet."""
    played = game(scripted("cecp", "feature-flood"), sound())
    assert played.termination is Termination.REPETITION, played.cause


def test_who_does_not_read_has_not_closed_its_input() -> None:
    """Input that waits for an engine is limited; beyond that the text says that it does not read."""
    engine = open_engine(scripted("cecp", "silent"))
    engine.process.write(b"x" * (1 << 18))
    assert describe_exit(engine) == "does not read its input but is still running"
    engine.kill()


def test_an_illegal_pv_is_told_with_its_own_move() -> None:
    """An illegal PV is reported with the number of its own move."""
    claims, board = SearchClaims(reads_pv=True, usual=True), chess.Board()
    looks = []
    for uci, pv in (("e2e4", "e2e4 e7e4"), ("e7e5", ""), ("g1f3", "g1f3 e5e5")):
        if pv:
            looks.append(claims.heard(SearchInfo(30, 9, 1, pv), chess.Move.from_uci(uci), board, 100))
        board.push_uci(uci)
    for look in looks:
        assert look is not None
        list(look)
    ((kind, count, first),) = claims.broken()
    assert (kind, count) == ("pv-illegal", 2)
    assert first.startswith("move 1: its PV contains 'e7e4', which is illegal in ")
