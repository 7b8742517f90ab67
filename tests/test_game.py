"""The referee's verdicts, fault by fault, in both protocols (reliability spec section 2)."""

from __future__ import annotations

import itertools
import os
import re
import signal
from typing import Literal

import pytest

from enginetour.engines import cecp, cecp_lines, process
from enginetour.engines import protocol as base
from enginetour.engines.process import living
from enginetour.model.errors import MachineFailure
from enginetour.model.game import Game, Opening, Outcome, Termination
from enginetour.referee import books, clock, compiled, relay
from enginetour.referee.books import Scribe
from enginetour.referee.clock import EngineQueue
from enginetour.referee.startup import EngineShelf
from enginetour.referee.talk import Link
from enginetour.reports import pgn
from tests.playing import BOTH, Eavesdropper, Protocol, game, scripted, sound


@pytest.fixture(autouse=True)
def nothing_left() -> object:
    """Every test ends with no engine alive."""
    yield
    assert not living


@pytest.fixture(autouse=True, params=["compiled", "plain"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the part in C and without it: the same verdicts."""
    if request.param == "plain":
        monkeypatch.setattr(relay, "native", None)
        monkeypatch.setattr(compiled, "native", None)


@pytest.fixture
def unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is silent for ever is silent for a tenth of a second too: so long its answer to `stop` is waited for."""
    monkeypatch.setattr(base, "OWED_NS", 100 * base.MS)


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a processor, however busy the machine is: what else makes a flag doubtful is seen alone."""
    monkeypatch.setattr(clock.RunQueue, "look", lambda queue: b"")
    monkeypatch.setattr(EngineQueue, "machine_ns", lambda queue: None)


def lost(played: Game, fault: str, termination: Termination) -> Game:
    """The faulty engine had White and lost by `termination`; one incident says so."""
    assert (played.outcome, played.termination) == (Outcome.BLACK, termination), played.cause
    assert played.culprit == fault
    told = [incident for incident in played.incidents if incident.category == played.category]
    assert [incident.engine for incident in told] == [fault]
    assert told[0].traffic
    return played


def drawn(played: Game) -> Game:
    """The game went its way to the fifth repetition."""
    assert (played.outcome, played.termination) == (Outcome.DRAW, Termination.REPETITION), played.cause
    assert not played.culprit
    return played


@BOTH
def test_sound_engines_draw_by_repetition(protocol: Protocol) -> None:
    """Two sound engines play until the fifth repetition, and the record holds every ply."""
    played = drawn(game(sound(protocol), sound(protocol)))
    assert played.plies == 16
    assert [move.uci for move in played.moves[:3]] == ["g1f3", "g8f6", "f3g1"]
    assert [move.san for move in played.moves[:3]] == ["Nf3", "Nf6", "Ng1"]
    assert {(move.score, move.depth, move.nodes) for move in played.moves} == {(31, 5, 1234)}
    assert played.white.moves == played.black.moves == 8
    assert played.relay_us is not None
    assert not played.incidents
    assert played.white_tc == "60"


@BOTH
def test_the_way_of_each_answer_is_in_the_record(protocol: Protocol) -> None:
    """Down to the PGN, of every move but the first, which answers nobody; the game's figures are of the same gaps."""
    played = drawn(game(sound(), sound(protocol)))
    first, *gaps = [move.gap_us for move in played.moves]
    known = sorted(gap for gap in gaps if gap is not None)
    assert first is None
    assert (len(known), played.relay_us) == (15, (known[7], known[14], known[14]))
    comments = re.findall(r"\{(.*?)\}", pgn.text(played, 1, "x", comments=("latency",)), re.DOTALL)
    told = [re.findall(r"lat=(\S+)s", comment) for comment in comments]
    assert told == [[], *([f"{gap / 1e6:.6f}"] for gap in gaps if gap is not None)]


@pytest.mark.parametrize("keep_lines", ["", "depth"])
def test_all_that_is_told_of_a_search_is_in_the_record(keep_lines: str) -> None:
    """Down to the PGN, each figure by its name, whoever wrote the ply."""
    white = scripted(told="info depth 5 seldepth 9 score cp 31 nodes 1234 nps 88 hashfull 17 tbhits 2 time 1 pv g1f3")
    played = drawn(game(white, sound(), keep_lines=keep_lines))
    move = played.moves[0]
    assert (move.score, move.depth, move.nodes, move.pv) == (31, 5, 1234, "g1f3")
    assert (move.seldepth, move.nps, move.hashfull, move.tbhits) == (9, 88, 17, 2)
    assert len(move.lines) == bool(keep_lines)
    assert {move.hashfull for move in played.moves[1::2]} == {None}
    told = pgn.text(played, 1, "x", comments=("nodes", "seldepth", "nps", "hashfull", "tbhits"))
    assert " ".join(told.split()).count("s, n=1234, sd=9, nps=88, hf=17, tb=2") == 8


@BOTH
@pytest.mark.parametrize("turned", [0, 1])
def test_scores_from_whites_side_are_recorded_from_the_movers(protocol: Protocol, turned: int) -> None:
    """Of two engines that say +0.31 in each move one speaks from White's side; the other is of the other protocol."""
    other: Protocol = "cecp" if protocol == "uci" else "uci"
    pvs = ("g8f6", "f6g8") if turned else ("g1f3", "f3g1")  # with one the compiled part would write the ply
    told = "|".join(f"info depth 5 score cp 31 nodes 9 pv {pv}" for pv in pvs * 4) if other == "uci" else ""
    engines = [scripted(protocol, name="plain"), scripted(other, name="turned", told=told, whitepov=True)]
    played = drawn(game(*(engines if turned else engines[::-1])))
    blacks = -31 if turned else 31
    assert [move.score for move in played.moves] == [31, blacks] * 8
    shown = re.findall(r"\{([+-]\d+\.\d\d)/", pgn.text(played, 1, "x"))
    assert shown == ["+0.31", f"{blacks / 100:+.2f}"] * 8


def test_what_an_engine_claims_and_does_not_hold_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """By kind, with the first of each: of its PV, its mates and its silence; nothing of it ends the game."""
    write = Scribe.write
    took = {"elapsed_ms": 100}  # so many plies of a PV are looked at as milliseconds were thought
    monkeypatch.setattr(Scribe, "write", lambda scribe, raw, gap: write(scribe, raw._replace(**took), gap))
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
        ("no-score", 1, "move 3: played g1f3 without any scored line"),
        ("pv-other", 2, "move 1: played g1f3, and its last PV begins with d2d4"),
        (
            "pv-illegal",
            1,
            "move 2: its PV goes on with 'e2e5', illegal at rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 4 3",
        ),
        ("mate-late", 1, "move 7: had not mated 1 move after it should have"),
        ("mate-lost", 1, "move 5: said mate, and a move later that it is mated in 3"),
    )
    assert not played.black.claims


@BOTH
@pytest.mark.parametrize("fault", ["crash", "segv", "eof", "half-move", "closes-input-and-thinks"])
def test_a_death_in_a_search_loses(protocol: Protocol, fault: str) -> None:
    """Whoever dies, or closes its output, while it owes a move has lost by a crash."""
    played = lost(game(scripted(protocol, fault), sound(protocol)), fault, Termination.CRASH)
    assert played.plies == 2
    expected = {"crash": "exit 3", "segv": "signal 11 (SIGSEGV)", "eof": "closed its output", "half-move": "exit 5"}
    expected["closes-input-and-thinks"] = "closed its input"
    assert expected[fault] in played.cause
    if fault == "crash":
        assert "assertion failed" in played.incidents[-1].stderr


@BOTH
def test_a_crash_in_the_first_search_is_a_loss(protocol: Protocol) -> None:
    """The first search is part of the game: a death in it is a loss, not a failed start."""
    lost(game(scripted(protocol, "crash", at=1), sound()), "crash", Termination.CRASH)


def test_an_illegal_instruction_at_the_first_search_is_void() -> None:
    """A binary for another CPU is a failed start."""
    played = game(scripted("uci", "sigill", at=1), sound())
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "start-failure", "sigill")
    assert "another CPU" in played.cause


@BOTH
@pytest.mark.parametrize("fault", ["answer-die", "closes-input", "half"])
def test_an_answer_before_the_end_counts(protocol: Protocol, fault: str) -> None:
    """A move that came before the death is played; the death is judged at that engine's next turn."""
    slow = scripted(protocol, "late", at=2, seconds=0.3)  # time to die in
    played = lost(game(scripted(protocol, fault), slow), fault, Termination.CRASH)
    assert played.plies == 4


def test_a_dying_engine_may_still_mate() -> None:
    """The mating move counts even if it was the engine's last breath."""
    white = scripted("uci", "answer-die", at=4, moves="e2e4,d1h5,f1c4,h5f7")
    played = game(white, sound("cecp", moves="e7e5,b8c6,g8f6"))
    assert (played.outcome, played.termination, played.cause) == (Outcome.WHITE, Termination.MATE, "White mates")


@BOTH
@pytest.mark.usefixtures("unanswered")
@pytest.mark.parametrize("fault", ["hang", "deaf"])
def test_silence_loses_on_time(protocol: Protocol, fault: str) -> None:
    """No answer by the flag is a loss on time, whether the engine still answers pings or not."""
    played = game(scripted(protocol, fault, at=1), sound(), white_tc="0.2")
    assert "after the flag" in lost(played, fault, Termination.TIME).cause


@pytest.mark.parametrize("fault", ["flood", "endless-line"])
def test_output_extends_no_deadline(fault: str) -> None:
    """Who prints for ever without a move loses on time."""
    lost(game(scripted("uci", fault, at=1), sound(), white_tc="0.2"), fault, Termination.TIME)


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
    """Depth and nodes games know a hang limit, which is told and has no margin; fixed times have their own."""
    played = game(scripted(protocol, "hang", at=1), sound(), white_tc=control, hang_limit=0.3)
    cause = lost(played, "hang", Termination.TIME).cause
    assert re.search(rf"^White loses on time, no answer \d+\.\d s after {after} \(", cause), cause
    assert ("margin" in cause) == (after == "the flag")


@BOTH
def test_a_late_answer_is_told_with_its_true_overrun(protocol: Protocol) -> None:
    """The answer after `stop` tells by how much it was late, and the engine plays on in the next game."""
    shelf = EngineShelf()
    late = scripted(protocol, "late", at=1, seconds=0.6)
    played = lost(game(late, sound(), white_tc="0.2", shelf=shelf), "late", Termination.TIME)
    assert "ms over, after stop" in played.cause
    process = shelf.take(late)[0]
    assert process is not None
    shelf.give_back(process)
    shelf.close_all()


def test_the_time_of_one_hourglass_is_the_other_ones() -> None:
    """White's first move takes a fifth of a second; the record has what each has left after its own move."""
    slow = scripted("uci", "late", at=1, seconds=0.2)
    played = game(slow, sound(), white_tc="hourglass=60", black_tc="hourglass=60")
    whole = 120_000
    first, *rest = played.moves
    assert first.elapsed_ms > 100  # the engine may have begun its fifth of a second before our write was back
    assert first.clock_ms == 60_000 - first.elapsed_ms
    for before, move in itertools.pairwise([first, *rest]):
        assert before.clock_ms is not None
        assert move.clock_ms == whole - before.clock_ms - move.elapsed_ms


def test_a_late_answer_without_a_clock_is_told_with_the_limit() -> None:
    """It is the hang limit that it was over, by the true overrun."""
    played = game(scripted("uci", "late", at=1, seconds=0.4), sound(), white_tc="nodes=1", hang_limit=0.1)
    cause = lost(played, "late", Termination.TIME).cause
    assert re.search(r"on time, \d+ ms over the hang limit of 0\.1 s, after stop \(referee", cause), cause


@pytest.mark.usefixtures("idle")
def test_an_old_late_answer_excuses_no_new_silence() -> None:
    """Who was late in one game and says nothing in the next has lost both, and nothing of it is doubtful."""
    shelf = EngineShelf()
    late = scripted("uci", "late-then-hang", at=1, seconds=0.6)
    lost(game(late, sound(), white_tc="0.2", shelf=shelf), "late-then-hang", Termination.TIME)
    silent = lost(game(late, sound(), white_tc="0.2", shelf=shelf), "late-then-hang", Termination.TIME)
    assert "no answer" in silent.cause
    assert "doubtful" not in silent.cause
    shelf.close_all()


@pytest.mark.usefixtures("idle")
def test_a_delay_between_lines_excuses_no_flag() -> None:
    """Time spent between an engine's lines is on nobody's clock, so it makes no overrun doubtful."""
    slow = scripted("uci", "late", at=2, seconds=0.5, line_delay_ms=400)
    played = lost(game(slow, sound(), white_tc="0.1", margin=0), "late", Termination.TIME)
    assert "doubtful" not in played.cause


def test_a_wait_of_ours_for_a_processor_makes_a_late_answer_doubtful(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kernel says that this process waited during the search is a part of the referee's own share."""
    monkeypatch.setattr(relay, "native", None)  # it asks the kernel by itself
    waits = itertools.count(step=10**9)
    monkeypatch.setattr(clock.RunQueue, "look", lambda queue: b"1 %d 1" % next(waits))
    late = scripted("uci", "late", at=1, seconds=0.4)
    played = game(late, sound(), white_tc="0.2", doubtful_flag="void")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", "")
    assert "doubtful" in played.cause


@pytest.mark.usefixtures("unanswered")
def test_a_flag_against_a_bare_king_is_a_draw() -> None:
    """The opponent of a flagged engine that cannot mate by any means gets a draw."""
    opening = Opening(fen="8/8/4k3/8/8/4K3/4Q3/8 w - - 0 1")
    played = game(scripted("uci", "hang", at=1), sound(), white_tc="0.2", opening=opening)
    assert (played.outcome, played.termination, played.culprit) == (Outcome.DRAW, Termination.TIME, "hang")


@BOTH
@pytest.mark.parametrize("fault", ["illegal", "other-side", "null", "none", "a1a1", "empty", "garbage", "resign-word"])
def test_what_is_no_legal_move_loses(protocol: Protocol, fault: str) -> None:
    """Null moves, moves of the other side and garbage are illegal; text and position are in the record."""
    played = lost(game(scripted(protocol, fault), sound(protocol)), fault, Termination.ILLEGAL_MOVE)
    assert "rnbqkb1r/pppppppp/5n2/8/8/5N2/PPPPPPPP/RNBQKB1R w KQkq" in played.cause
    assert played.cause.isprintable()
    assert len(played.cause) < 300


@BOTH
@pytest.mark.parametrize("fault", ["two", "stale-first"])
def test_a_stale_answer_is_dropped(protocol: Protocol, fault: str) -> None:
    """The first of two answers counts; an illegal answer followed by a second one was a stale one."""
    played = drawn(game(scripted(protocol, fault), sound(protocol)))
    assert any(warning.startswith("out-of-turn") for warning in played.white.warnings)
    assert [incident.category for incident in played.incidents] == ["protocol-warning"]


@BOTH
def test_who_answered_out_of_turn_is_fenced_from_then_on(protocol: Protocol) -> None:
    """A ping before each search for the rest of its life, and none before."""
    shelf, spec = EngineShelf(), scripted(protocol, "two", at=3)
    drawn(game(spec, sound(protocol), shelf=shelf))
    engine = shelf.take(spec)[0]
    assert engine is not None
    sent = [line.split(" > ", 1)[1].split()[0] for line in engine.process.traffic(1000) if " > " in line]
    searches, forced = "", False
    for word in sent:
        forced = word in ("new", "force") or (forced and word != "go")
        if word in ("isready", "ping"):
            searches += "p"
        elif word == "go" or (word == "usermove" and not forced):
            searches += "g"
    assert re.fullmatch("p*ggg?p+g(pg)+", searches), searches  # in CECP it is first told the position again
    shelf.end(engine)


@BOTH
@pytest.mark.parametrize("fault", ["crlf", "spaces", "long-line", "absurd", "mate-claim"])
def test_odd_output_is_tolerated(protocol: Protocol, fault: str) -> None:
    """Line ends, blanks, endless lines, absurd numbers and mate scores change no result."""
    drawn(game(scripted(protocol, fault), sound(protocol)))


@BOTH
@pytest.mark.parametrize("fault", ["upper", "san"])
def test_odd_forms_of_moves_are_understood_with_a_warning(protocol: Protocol, fault: str) -> None:
    """E2E4 and SAN are read, and noted once."""
    played = drawn(game(scripted(protocol, fault), sound(protocol)))
    assert [warning.partition(":")[0] for warning in played.white.warnings] == ["odd-move"]


def test_castling_by_letters_is_ordinary_in_cecp() -> None:
    """O-O is a form of the protocol's own; in UCI it is odd, and understood."""
    opening = Opening(fen="4k3/7p/8/8/8/8/7P/4K2R w K - 0 1")
    for protocol, warnings in (("cecp", 0), ("uci", 1)):
        white = scripted(protocol, "castles", at=1)  # type: ignore[arg-type]
        played = game(white, sound(moves="h7h6"), opening=opening, max_moves=1)
        assert played.moves[0].uci == "e1g1"
        assert len(played.white.warnings) == len(played.incidents) == warnings


def test_thinking_lines_with_a_dot_after_the_depth() -> None:
    """They look like a numbered move at first and are thinking lines all the same."""
    played = drawn(game(scripted("cecp", "dotted-depth"), sound()))
    assert {(move.score, move.depth) for move in played.moves} == {(31, 5)}


def test_numbers_beyond_sense_are_clamped() -> None:
    """A score of 25 digits is cut to 64 bits, a PV of thousands of plies is cut."""
    played = drawn(game(scripted("uci", "absurd"), sound()))
    odd = played.moves[2]
    assert odd.score == 2**63 - 1
    assert odd.depth == 7
    assert len(odd.pv) <= 2048


# Starts.


@BOTH
@pytest.mark.parametrize(("fault", "words"), [("exit-at-start", "exit 7"), ("kill-at-start", "SIGKILL")])
def test_a_failed_start_is_void(protocol: Protocol, fault: str, words: str) -> None:
    """An engine that ends before it is ready plays no game; its exit and stderr are told."""
    played = game(scripted(protocol, fault), sound(protocol))
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "start-failure", fault)
    assert words in played.cause
    if fault == "exit-at-start":
        assert played.incidents[0].stderr == ("no net found",)


@pytest.mark.parametrize(
    ("protocol", "fault"),
    [("uci", "no-uciok"), ("uci", "silent"), ("uci", "chatter"), ("cecp", "done-0"), ("uci", "no-pong")],
)
def test_an_endless_handshake_is_void(protocol: Protocol, fault: str) -> None:
    """Silence and chatter alike end at the one total limit of the handshake."""
    played = game(scripted(protocol, fault, handshake_timeout=0.5, ready_timeout=0.5), sound())
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "start-timeout", fault)


def test_both_at_fault_is_void() -> None:
    """When neither can start the words name both, and each has its incident."""
    played = game(scripted("uci", "exit-at-start", name="one"), scripted("cecp", "kill-at-start", name="two"))
    assert played.outcome is Outcome.VOID
    assert "one: " in played.cause
    assert "two: " in played.cause
    assert [incident.engine for incident in played.incidents] == ["one", "two"]


def test_a_missing_program_is_a_failed_start() -> None:
    """A program that vanished during the run is a failed start like any other."""
    spec = scripted("uci", name="gone")
    gone = type(spec)("gone", ("/nonexistent/engine",), "uci")
    played = game(sound(), gone)
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "start-failure", "gone")


def test_a_bad_option_is_void_and_named() -> None:
    """A wrong option value plays no game and says what is allowed."""
    played = game(scripted("uci", name="wrong", options=(("Hash", "4096"),)), sound())
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "bad-option", "wrong")
    assert "from 1 to 1024, found '4096'" in played.cause


@BOTH
def test_a_banner_is_no_handshake(protocol: Protocol) -> None:
    """Lines before the first command are a banner, whatever they look like."""
    drawn(game(scripted(protocol, "banner"), sound(protocol)))


@BOTH
@pytest.mark.parametrize("fault", ["double-pong", "late-pong"])
def test_pongs_are_counted(protocol: Protocol, fault: str) -> None:
    """Pongs that come twice or late harm nothing."""
    drawn(game(scripted(protocol, fault, seconds=0.1), sound(protocol)))


@BOTH
@pytest.mark.parametrize("fault", ["dies-at-second-game", "hangs-at-second-game"])
def test_a_death_between_games_is_a_restart(protocol: Protocol, fault: str) -> None:
    """An engine that cannot begin a second game is started anew, and the game is played."""
    shelf = EngineShelf()
    spec = scripted(protocol, fault, ready_timeout=2.0 if fault.startswith("hangs") else 20.0)
    drawn(game(spec, sound(protocol), shelf=shelf))
    drawn(game(spec, sound(protocol), shelf=shelf))
    shelf.close_all()


def test_a_stall_at_a_fence_in_the_game_is_a_loss() -> None:
    """An engine behind a fence that no longer answers pings stalls, and loses."""
    spec = scripted("uci", "no-pong-in-game", fence="wait", ready_timeout=2.0)
    lost(game(spec, sound()), "no-pong-in-game", Termination.STALL)


@BOTH
@pytest.mark.parametrize("fence", ["inline", "wait"])
def test_fences_before_every_search(protocol: Protocol, fence: str) -> None:
    """Both kinds of fence play a whole game."""
    drawn(game(sound(protocol, fence=fence), sound(protocol)))


@BOTH
def test_line_by_line(protocol: Protocol) -> None:
    """With a line delay every line is a write of its own, off the clock."""
    played = drawn(game(sound(protocol, line_delay_ms=3), sound(protocol)))
    assert played.white.moves == 8


# What CECP engines claim.


@pytest.mark.parametrize("fault", ["resign", "own-loss", "resign-out-of-turn"])
def test_a_resignation_ends_the_game_at_once(fault: str) -> None:
    """`resign` and an own loss count, also during the opponent's turn; nobody is at fault."""
    opponent = sound("uci") if fault != "resign-out-of-turn" else scripted("uci", "late", at=2, seconds=3)
    played = game(scripted("cecp", fault), opponent)
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.RESIGN)
    assert not played.culprit


@pytest.mark.timeout(30)  # half of what the engine has on its clock: it is heard at once
@pytest.mark.parametrize(
    ("fault", "termination"),
    [("resigns-at-a-fence", Termination.RESIGN), ("blames-at-a-fence", Termination.FALSE_CLAIM)],
)
def test_what_is_said_at_a_fence_counts(fault: str, termination: Termination) -> None:
    """A resignation or a claim is heard though it comes while a pong is waited for."""
    played = game(scripted("cecp", fault, at=3, fence="wait"), sound())
    assert (played.outcome, played.termination) == (Outcome.BLACK, termination), played.cause
    assert played.plies == 4


@pytest.mark.parametrize("fault", ["win", "move-and-win", "blames", "error-blames"])
def test_a_false_claim_loses(fault: str) -> None:
    """A win that is not on the board, and a legal move called illegal, lose the game."""
    lost(game(scripted("cecp", fault), sound()), fault, Termination.FALSE_CLAIM)


@pytest.mark.usefixtures("unanswered")
def test_a_false_draw_claim_without_a_move_loses() -> None:
    """Who claims a draw that is none may still move; without a move the claim loses at the deadline."""
    lost(game(scripted("cecp", "draw-silent", at=1), sound(), white_tc="0.2"), "draw-silent", Termination.FALSE_CLAIM)


def test_a_false_draw_claim_with_a_move_is_ignored() -> None:
    """With a move the game goes on."""
    drawn(game(scripted("cecp", "draw-move"), sound()))


@pytest.mark.parametrize("fault", ["draw-silent", "draw-move"])
def test_a_true_draw_claim_ends_the_game(fault: str) -> None:
    """A third occurrence may be claimed where the referee itself waits for the fifth."""
    played = game(scripted("cecp", fault, at=5), sound())
    assert (played.outcome, played.termination, played.plies) == (Outcome.DRAW, Termination.CLAIM, 8)
    assert played.cause == "Draw by 3-fold repetition, claimed by White"


def test_an_abort_is_void_twice_and_then_a_loss() -> None:
    """`*` voids the game; the third time the engine that aborts loses."""
    first, third = (game(scripted("cecp", "abort"), sound(), aborts=aborts) for aborts in (0, 2))
    assert (first.outcome, first.category, first.culprit) == (Outcome.VOID, "engine-abort", "abort")
    assert (third.outcome, third.termination, third.culprit) == (Outcome.BLACK, Termination.ABORTED, "abort")


@pytest.mark.parametrize("fault", ["unsupported", "offer", "echo"])
def test_talk_is_no_claim(fault: str) -> None:
    """Errors about commands, draw offers and echoes change nothing."""
    drawn(game(scripted("cecp", fault), sound("cecp")))


@pytest.mark.parametrize("fault", ["no-features", "late-features", "no-ping", "done-0-then-1", "no-reuse"])
def test_all_ways_to_declare_features(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Protocol 1, features in the middle of the game, no ping, a slow start, no reuse: all play."""
    if fault in ("no-features", "late-features"):  # nothing comes before the first search, however long one waits
        monkeypatch.setattr(cecp, "SILENT_NS", 200 * base.MS)
    played = drawn(game(scripted("cecp", fault), sound()))
    if fault == "late-features":
        assert played.white.own_name == "Late"


@pytest.mark.parametrize("fault", ["numbered", "my-move-is"])
def test_old_ways_to_announce_a_move(fault: str) -> None:
    """Numbered moves are answers of an engine that knows no other form, else echoes."""
    played = drawn(game(sound("cecp"), scripted("cecp", fault)))
    assert (fault == "numbered") == any(warning.startswith("numbered") for warning in played.black.warnings)


def test_a_move_by_its_number_counts_when_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held back because it may be an echo, it is the answer at the deadline, and in time if it came in time."""
    monkeypatch.setattr(cecp_lines, "HELD_NS", 10**11)
    played = game(sound(), scripted("cecp", "numbered"), black_tc="1", max_moves=2)
    assert (played.termination, played.plies) == (Termination.ADJUDICATION_LENGTH, 4), played.cause


def test_a_flood_out_of_turn_costs_the_opponent_nothing() -> None:
    """While one engine prints without end the other's answer is heard and the books are kept."""
    link = Eavesdropper()
    white = scripted("uci", "flood-out-of-turn", at=2)
    played = game(white, scripted("cecp", "numbered", seconds=0.5), white_tc="1", black_tc="60", link=link)
    lost(played, "flood-out-of-turn", Termination.TIME)
    assert played.plies == 4
    assert sum(move.elapsed_ms for move in played.moves[1::2]) < 3_000  # no more than that is waited (reliability 1)


# Openings.


@BOTH
def test_an_opening_is_on_the_board_before_the_clocks_run(protocol: Protocol) -> None:
    """Its moves are in the record as book moves, and the engines go on from there."""
    opening = Opening("line", 1, None, ("e2e4", "e7e5", "a2a3"))
    played = drawn(game(sound(protocol), sound(protocol), opening=opening))
    assert [move.book for move in played.moves[:4]] == [True, True, True, False]
    assert played.moves[3].uci == "g8f6"
    assert played.opening == opening


@BOTH
def test_a_position_is_set(protocol: Protocol) -> None:
    """A FEN reaches both protocols, with Black to move too."""
    opening = Opening(fen="rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1")
    played = drawn(game(sound(protocol), sound(protocol), opening=opening))
    assert played.moves[0].uci == "g8f6"


def test_a_refused_position_is_void_and_unsupported() -> None:
    """An engine that cannot be told the position loses nothing."""
    opening = Opening(fen="4k3/8/8/8/8/8/4P3/4K1N1 w - - 0 1")
    played = game(scripted("cecp", "refuses-setboard"), sound(), opening=opening)
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "unsupported", "refuses-setboard")


def test_a_position_that_edit_cannot_say_is_unsupported() -> None:
    """Without setboard a position with lost castling rights and kings at home cannot be told."""
    opening = Opening(fen="rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1")
    played = game(scripted("cecp", "no-setboard"), sound(), opening=opening)
    assert (played.outcome, played.category) == (Outcome.VOID, "unsupported")


def test_an_engine_without_setboard_plays_from_the_spare_opening() -> None:
    """Nothing of the opening that it cannot be told is tried; one with setboard plays the opening itself."""
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
    """Nodes in CECP need a declared nps."""
    played = game(scripted("cecp", name="cannot"), sound(), white_tc="nodes=100")
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "unsupported", "cannot")


def test_a_game_of_nodes_in_cecp() -> None:
    """Told by `nps` and `st` once a game to who declares them; the clocks stand still (protocol spec, "nps")."""
    white, shelf = scripted("cecp", "tells-nps"), EngineShelf()
    played = drawn(game(white, sound(), white_tc="nodes=700", black_tc="nodes=900", shelf=shelf))
    assert (played.white_tc, {move.clock_ms for move in played.moves}) == ("nodes=700", {None})
    (engine,) = filter(None, shelf.take(white))
    heard = [line.split(" > ", 1)[1] for line in engine.process.traffic(400) if " > " in line]
    assert [line for line in heard if line.startswith(("nps", "st ", "level", "sd"))] == ["nps 700", "st 1"]
    assert {line for line in heard if line.startswith(("time", "otim"))} == {"time 360000", "otim 360000"}  # no limit
    shelf.end(engine)


def test_an_opening_that_ends_the_game_is_ours_to_refuse() -> None:
    """Such an opening is no engine's failure."""
    with pytest.raises(ValueError, match="ends the game"):
        game(sound(), sound(), opening=Opening("mate", 1, None, ("f2f3", "e7e5", "g2g4", "d8h4")))


class Stopping(Link):
    """A link over which the word comes to drop the game at once, as soon as a move was played."""

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


def test_a_stop_leaves_no_game_and_no_engine() -> None:
    """Told to stop now, the game does not exist, and both engines are dead."""
    link = Stopping()
    with pytest.raises(MachineFailure):
        game(sound(), scripted("uci", "hang", at=2), link=link)
    link.close()


class Halting(Link):
    """A link that stops and continues the referee's process, as far as it can tell, when a move was played."""

    def tell(self, name: str, payload: object) -> None:
        if name == "moves":
            os.kill(os.getpid(), signal.SIGCONT)


@pytest.mark.usefixtures("unanswered")
@pytest.mark.parametrize("fault", ["late", "hang"])
def test_a_referee_that_was_stopped_judges_no_time(fault: str) -> None:
    """Whoever stopped this process stopped the clock's reader, not the clock: the game is void, nobody is to blame."""
    before = signal.getsignal(signal.SIGCONT)
    control = {"late": "2", "hang": "0.3"}[fault]
    played = game(sound(), scripted("uci", fault, at=1, seconds=0.3), black_tc=control, link=Halting())
    assert (played.outcome, played.category, played.culprit) == (Outcome.VOID, "host", "")
    assert "was stopped" in played.cause
    assert signal.getsignal(signal.SIGCONT) == before


def test_engines_live_on_between_games() -> None:
    """The second game is played by the same processes, whatever their colours."""
    shelf = EngineShelf()
    one, two = sound(fence="inline"), sound("cecp")
    drawn(game(one, two, shelf=shelf))
    pids = sorted(process.pid for process in living)
    drawn(game(two, one, shelf=shelf))
    assert sorted(process.pid for process in living) == pids
    assert len(pids) == 2
    shelf.close_all()


def test_what_may_not_play_again_is_ended() -> None:
    """Who broke a rule or declares reuse=0 leaves after the game; another pair sends all others off."""
    shelf = EngineShelf()
    lost(
        game(scripted("uci", "illegal"), scripted("cecp", "no-reuse"), shelf=shelf), "illegal", Termination.ILLEGAL_MOVE
    )
    assert not living
    drawn(game(sound(), sound("cecp"), shelf=shelf))
    drawn(game(sound(fence="wait"), sound("cecp", fence="wait"), shelf=shelf))
    assert len(living) == 2
    shelf.close_all()


@pytest.mark.parametrize(
    ("fault", "category", "words"),
    [("ignores-quit", "shutdown-warning", "ignored quit"), ("leaves-a-child", "orphan-warning", "left behind: ")],
)
def test_a_bad_parting_is_a_warning(fault: str, category: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who must be ended by a signal, or leaves a process behind, is told once, in the game with which it went."""
    if fault == "ignores-quit":  # it parts alone, and would ignore it for longer
        monkeypatch.setattr(process, "QUIT_WAIT", 0.2)
    shelf = EngineShelf()
    rude, polite = scripted("uci", fault, restart=True), sound("cecp")
    first = drawn(game(rude, polite, shelf=shelf))
    assert [(told.engine, told.category, told.is_warning) for told in first.incidents] == [(fault, category, True)]
    assert words in first.incidents[0].cause
    assert not drawn(game(rude, polite, shelf=shelf)).incidents
    shelf.close_all()


def test_a_bad_parting_between_games_is_told_with_the_next() -> None:
    """An engine that makes room for another pair has left before that pair's game."""
    shelf = EngineShelf()
    drawn(game(scripted("uci", "ignores-quit"), sound("cecp"), shelf=shelf))
    told = drawn(game(sound("uci"), sound("cecp", fence="wait"), shelf=shelf)).incidents
    assert [(warning.engine, warning.category) for warning in told] == [("ignores-quit", "shutdown-warning")]
    shelf.close_all()


def test_another_kind_of_control_needs_another_process_in_cecp() -> None:
    """Depths and fixed times outlive `new` in surveyed engines."""
    shelf = EngineShelf()
    drawn(game(sound("cecp"), sound(), shelf=shelf, white_tc="depth=2"))
    before = {process.pid for process in living}
    drawn(game(sound("cecp"), sound(), shelf=shelf))
    assert len(before & {process.pid for process in living}) == 1
    shelf.close_all()


@pytest.mark.parametrize("begun", [(), ("e2e3",)])
def test_what_the_live_page_hears(begun: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """A start, each move with the clocks as they stand then, an end."""
    monkeypatch.setattr(books, "HELD_PLIES", 1)
    monkeypatch.setattr(books, "PATIENCE_NS", 0)
    monkeypatch.setattr(books, "EVERY_NS", 0)
    link = Eavesdropper()
    opening = Opening("begun", moves=begun)
    played = game(sound(), sound("cecp"), link=link, opening=opening, white_tc="60", black_tc="50")
    (start, told), *tellings, (end, how) = link.told
    assert (start, told["moves"], told["clocks"]) == ("start", list(begun), [60_000, 50_000])
    assert "number" not in told  # the log gives it when the game has ended; status told 0 of every game
    assert (end, how["outcome"]) == ("end", "1/2-1/2")
    assert {name for name, _ in tellings} == {"moves"}
    clocks = told["clocks"]
    moves = [move for _, several in tellings for move in several]
    for ply, (move, told) in enumerate(zip(played.moves[len(begun) :], moves, strict=True), len(begun)):
        clocks[ply % 2] = move.clock_ms
        assert (told["ply"], told["uci"], told["san"], told["clocks"]) == (ply + 1, move.uci, move.san, clocks)


def test_a_game_that_is_over_at_once_is_told_by_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody could follow it, and telling its moves would take their time from the games."""
    monkeypatch.setattr(books, "EVERY_NS", 3600 * clock.MS * 1000)
    link = Eavesdropper()
    assert game(sound(), sound("cecp"), link=link).plies > 1
    assert [name for name, _ in link.told] == ["start", "end"]
