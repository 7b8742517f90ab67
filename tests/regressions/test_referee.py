"""What once was judged or told wrongly of a game."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Literal, cast

import chess
import pytest

from enginetour.engines.position import Position
from enginetour.engines.protocol import Engine, Script
from enginetour.engines.registry import load, to_spec
from enginetour.engines.start import open_engine
from enginetour.engines.wire import LINE_CAP, Thought
from enginetour.interop.files import shipped
from enginetour.model.errors import MachineFailure
from enginetour.model.game import Opening, Outcome, Termination
from enginetour.model.task import EngineSpec
from enginetour.referee import game as failures
from enginetour.referee import talk, verdict
from enginetour.referee.books import Books
from enginetour.referee.seats import Seat
from enginetour.referee.startup import EngineShelf
from enginetour.referee.talk import ended
from enginetour.referee.verdict import Claims
from tests.playing import BOTH, Protocol, game, scripted, sound

MISBEHAVING = "misbehaving.py"


def misbehaving(protocol: Protocol, fault: str, **more: float) -> EngineSpec:
    """An engine of the script with more faults."""
    spec = scripted(protocol, fault, **more)  # type: ignore[arg-type]
    command = tuple(word.replace("scripted.py", MISBEHAVING) for word in spec.command)
    return EngineSpec(spec.name, command, spec.protocol, dir=spec.dir, quirks=spec.quirks)


@BOTH
def test_an_engine_that_flags_and_then_dies_lost_on_time(protocol: Protocol) -> None:
    """The first cause wins, also when the death comes while the true overrun is still awaited."""
    late = misbehaving(protocol, "late-then-dies", at=1, seconds=0.29)
    played = game(late, sound(protocol), white_tc="0.2", doubtful_flag="loss")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause


@pytest.mark.parametrize(("fault", "at"), [("late-abort", 2), ("late-draw", 5)])
def test_a_word_after_the_flag_ends_no_game(fault: str, at: int) -> None:
    """Who gave the game up while its true overrun was awaited had it replayed; a right claim of a draw was a draw."""
    late = misbehaving("cecp", fault, at=at, seconds=0.29)
    played = game(late, sound(), white_tc="0.2")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause


@BOTH
def test_who_ends_first_has_lost_though_its_opponent_ends_too(protocol: Protocol) -> None:
    """Two builds that end after an answer were the machine's failure, for ever: no game of theirs was ever over."""
    played = game(scripted(protocol, "answer-die"), misbehaving(protocol, "late-last-move", at=2, seconds=0.3))
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.CRASH), played.cause
    assert (played.culprit, played.plies) == ("answer-die", 4)


@BOTH
def test_a_stop_is_looked_for_before_an_end_at_a_fence_is_a_loss(
    protocol: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a service manager signals engines and us in one go, one that was just pinged had lost its game."""
    spec = scripted(protocol, "dies-at-a-fence", at=3, fence="wait")
    played = game(spec, sound(protocol))
    assert (played.outcome, played.termination, played.plies) == (Outcome.BLACK, Termination.CRASH, 4), played.cause
    assert played.cause == "White disconnects: exit 3"

    def stopped(*_: object) -> None:
        raise MachineFailure("stopped")

    monkeypatch.setattr(failures, "heed_until", stopped)
    with pytest.raises(MachineFailure):
        game(spec, sound(protocol))


def test_two_that_end_at_once() -> None:
    """By themselves they have two replays like any other, from outside it is the machine."""
    seat = cast("Seat", SimpleNamespace(name="Ada"))
    ends = [("exit 3", "exit 3"), ("signal 11 (SIGSEGV)", "exit 0"), ("exit 0", "signal 15 (SIGTERM)")]
    found = [verdict.both_ended(seat, *statuses) for statuses in ends]
    assert [one.category for one in found] == ["crash", "crash", "host"]
    assert [one.culprit for one in found] == [seat, seat, None]
    assert all(one.void for one in found)
    second = 1_000_000_000
    assert verdict.at_once(2 * second, 2 * second + 1, second)
    assert not verdict.at_once(2 * second, 2 * second + 1, 2 * second + 1)
    assert not verdict.at_once(3 * second, 2 * second, second)


@BOTH
def test_a_flag_before_both_engines_end_is_lost_on_time(protocol: Protocol) -> None:
    """Its opponent had ended a moment before, after an answer: the flag came first all the same."""
    late = misbehaving(protocol, "late-then-dies", at=2, seconds=0.29)
    played = game(late, scripted(protocol, "answer-die", at=1), white_tc="0.2")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause


@BOTH
def test_a_restart_between_games_is_told(protocol: Protocol) -> None:
    """Once for each process that could not begin another game; it costs nobody anything."""
    shelf = EngineShelf()
    spec = scripted(protocol, "dies-at-second-game")
    told = [game(spec, sound(protocol), shelf=shelf).incidents for _ in range(3)]
    shelf.close_all()
    assert [[incident.category for incident in incidents] for incidents in told] == [[], ["restart"], ["restart"]]
    assert "exit 4" in told[1][0].cause
    assert told[1][0].traffic


@BOTH
def test_a_line_that_was_cut_is_told(protocol: Protocol) -> None:
    """Once, and the move after it counts."""
    played = game(scripted(protocol, "long-line"), sound(protocol))
    assert played.outcome is Outcome.DRAW
    assert [incident.cause for incident in played.incidents] == [
        f"long-line: wrote a line of more than {LINE_CAP // 1024} KiB; the rest of it was dropped"
    ]


def test_a_refused_position_is_one_incident() -> None:
    """`tellusererror` says why the game is void; it is no warning beside that."""
    spec = scripted("cecp", "refuses-setboard")
    fen = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1"
    played = game(spec, sound(), opening=Opening(fen=fen))
    assert (played.outcome, played.category) == (Outcome.VOID, "unsupported")
    assert [incident.category for incident in played.incidents] == ["unsupported"]


@BOTH
def test_waiting_for_the_owed_answer_excuses_no_silence(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process waits for a processor after the flag, while it says stop, is no part of its share."""
    settle, stopped = Engine.settle, list[Engine]()

    def settling(engine: Engine) -> Script:
        stopped.append(engine)
        yield from settle(engine)

    monkeypatch.setattr(Engine, "settle", settling)
    monkeypatch.setattr(Books, "waited_now", lambda _: 10_000_000_000 if stopped else 0)
    played = game(scripted(protocol, "hang", at=1), sound(protocol), white_tc="0.2", doubtful_flag="void")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause


@BOTH
@pytest.mark.parametrize("fault", ["hang", "flood"])
def test_who_has_not_answered_has_not(protocol: Protocol, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own share makes the moment of an answer doubtful, never its absence: a flood on a busy machine had no end."""
    monkeypatch.setattr(Books, "waited_now", lambda _: 10_000_000_000)
    played = game(scripted(protocol, fault, at=1), sound(protocol), white_tc="0.2", doubtful_flag="void")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause
    assert re.search(r"referee's own share up to 10\d\d\d\.\d ms", played.cause)  # and what this machine adds


@BOTH
def test_who_answers_only_when_told_to_stop_has_hung(protocol: Protocol, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that ignores `nodes` and heeds `stop` was void for ever: we had waited 0.15 s of its minute."""
    monkeypatch.setattr(Books, "waited_now", lambda _: 10_000_000_000)
    late = scripted(protocol, "late", at=1, seconds=0.6)
    played = game(late, sound(protocol), white_tc="depth=1", hang_limit=0.2, doubtful_flag="void")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause
    assert re.search(r"^White loses on time, \d+ ms over the hang limit of 0\.2 s, after stop \(", played.cause)


@BOTH
@pytest.mark.parametrize(("fault", "fence"), [("answers-at-a-fence", "inline"), ("answers-after-a-fence", "wait")])
def test_what_comes_with_the_pong_of_a_fence_is_stale(
    protocol: Protocol, fault: str, fence: Literal["inline", "wait"]
) -> None:
    """A legal move before the pong, in CECP too, or right behind it: it was played as the answer to the next search."""
    played = game(scripted(protocol, fault, fence=fence), sound(protocol))
    assert played.outcome is Outcome.DRAW, played.cause
    assert [warning.partition(":")[0] for warning in played.white.warnings] == ["out-of-turn"]
    assert "a2a3" not in {move.uci for move in played.moves}


def test_rights_are_told_by_files_where_back_ranks_are_shuffled() -> None:
    """An engine that took K for a rook on h castled with one that had no right to: its loss was ours."""
    shuffled = Position("1r3kr1/8/8/8/8/8/8/1R3KR1 w KQkq - 0 1", "chess960")
    assert shuffled.line == b"position fen 1r3kr1/8/8/8/8/8/8/1R3KR1 w GBgb - 0 1"
    usual = Position("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1")
    assert usual.line == b"position fen r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1"


@pytest.mark.engine("glaurung")
def test_an_engine_knows_with_which_rook_it_may_castle() -> None:
    """The only mate is castling, with a rook that stands beside the king."""
    spec = to_spec(load([shipped("engines")]).get("glaurung"))
    opening = Opening(fen="4rkr1/4p1p1/8/8/8/8/8/5KR1 w K - 0 1", variant="chess960")
    played = game(spec, sound(variants="chess960"), white_tc="depth=4", opening=opening)
    assert (played.outcome, [move.uci for move in played.moves]) == (Outcome.WHITE, ["f1g1"]), played.cause


@pytest.mark.parametrize(("dead", "words"), [(True, "exit 3"), (False, "closed its output and lives")])
def test_a_dead_engine_is_waited_for(monkeypatch: pytest.MonkeyPatch, dead: bool, words: str) -> None:
    """On a busy machine the namespace of one that had crashed told how only later: it was said to live."""
    process = SimpleNamespace(exited=False, is_dead=dead, broken=False, eof=True)
    process.exit_status = lambda: "exit 3" if process.exited else ""
    now = [0]

    def wait(_: object, control: None, until_ns: int) -> None:
        process.exited = now[0] > 0  # later than the usual moment
        now[0] = until_ns

    monkeypatch.setattr(talk, "wait", wait)
    monkeypatch.setattr(talk, "time", SimpleNamespace(monotonic_ns=lambda: now[0]))
    assert talk.ended(cast("Engine", SimpleNamespace(process=process))) == words


@pytest.mark.parametrize(
    ("fault", "at", "end"), [("resign-and-move", 2, Termination.RESIGN), ("draw-move", 6, Termination.CLAIM)]
)
def test_a_move_beside_a_word_that_ends_the_game_is_no_answer_out_of_turn(
    fault: str, at: int, end: Termination
) -> None:
    """Engines that resign, or claim a draw rightly, may say their move too: a warning, and a ping before each move."""
    white, shelf = scripted("cecp", fault, at=at), EngineShelf()
    played = [game(white, sound(restart=True), shelf=shelf) for _ in range(2)]
    shelf.close_all()
    assert [one.termination for one in played] == [end, Termination.REPETITION]
    assert [one.white.warnings for one in played] == [(), ()]


def test_answers_to_features_are_not_piled_up() -> None:
    """One that declares more than a pipe holds answers to, before it reads, had closed its input: it was to be read."""
    played = game(scripted("cecp", "feature-flood"), sound())
    assert played.termination is Termination.REPETITION, played.cause


def test_who_does_not_read_has_not_closed_its_input() -> None:
    """What waits for it is bounded; past that the words say why it was given up."""
    engine = open_engine(scripted("cecp", "silent"))
    engine.process.write(b"x" * (1 << 18))
    assert ended(engine) == "does not read its input and lives"
    engine.kill()


def test_an_illegal_pv_is_told_with_its_own_move() -> None:
    """It was told with the number of whatever move was written when the PV was looked at, most often the last."""
    claims, board = Claims(reads_pv=True, usual=True), chess.Board()
    looks = []
    for uci, pv in (("e2e4", "e2e4 e7e4"), ("e7e5", ""), ("g1f3", "g1f3 e5e5")):
        if pv:
            looks.append(claims.heard(Thought(30, 9, 1, pv), chess.Move.from_uci(uci), board, 100))
        board.push_uci(uci)
    for look in looks:
        assert look is not None
        list(look)
    ((kind, count, first),) = claims.broken()
    assert (kind, count) == ("pv-illegal", 2)
    assert first.startswith("move 1: its PV goes on with 'e7e4', illegal at ")
