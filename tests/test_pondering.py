"""Engines in their opponents' time: hits, misses, and every fault meanwhile."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import pytest

from enginetour.engines import protocol, uci
from enginetour.engines.position import MAX_LINE, Position
from enginetour.engines.process import living
from enginetour.model.game import Game, Outcome, Termination
from enginetour.model.task import EngineSpec
from enginetour.referee.startup import EngineShelf
from tests.playing import Protocol, game, scripted
from tests.touring import config, tour

SLOW = 0.4  # s that the opponent thinks, so that there is time to ponder in


@pytest.fixture(autouse=True)
def nothing_left() -> object:
    """Every test ends with no engine alive."""
    yield
    assert not living


def ponderer(fault: str = "", *, hint: str = "", at: int = 1, seconds: float = 0.1, **more: Any) -> EngineSpec:
    """A UCI engine that expects its opponent to shuffle knights, or always `hint`."""
    spec = scripted("uci", fault, name=fault or "ponderer", at=at, seconds=seconds, **more)
    command = (*spec.command, "--hint", hint)
    return replace(spec, command=command, ponder=True, offered=(("Ponder", "true"),))


def thinker(moves: str = "", **more: Any) -> EngineSpec:
    """An opponent that thinks at its first search, long enough to be pondered on."""
    return scripted("uci", "late", name="thinker", at=1, moves=moves, seconds=SLOW, **more)


OTHERWISE = "b8c6,c6b8"  # moves that no knight of the king's side expects


def said(played: Game, name: str) -> str:
    side = played.white if played.pairing.white == name else played.black
    return " ".join(side.warnings)


def uneventful(played: Game) -> bool:
    """Nobody was at fault, and nothing was told of pondering or answers out of turn; fixed PVs may be doubted."""
    told = said(played, played.pairing.white) + said(played, played.pairing.black)
    odd = any(kind in told for kind in ("early-answer", "ponder-move", "out-of-turn"))
    return not odd and all(incident.is_warning for incident in played.incidents)


def test_a_hit_is_played_without_another_go(tmp_path: Path) -> None:
    """The expected move comes, `ponderhit` ends the wait, and the record counts it."""
    link = EngineShelf()
    played = game(ponderer(), thinker(), shelf=link)
    traffic = "\n".join(link.take(ponderer())[0].process.traffic(200))  # type: ignore[union-attr]
    link.close_all()
    for engine in list(living):
        engine.kill()
    assert (played.outcome, played.termination) == (Outcome.DRAW, Termination.REPETITION), played.cause
    assert played.white.ponders is not None
    assert played.white.ponders >= (played.white.ponder_hits or 0) >= 1
    assert "position startpos moves g1f3 g8f6" in traffic
    assert "go ponder wtime " in traffic
    assert "ponderhit" in traffic
    assert played.black.ponders is None
    assert uneventful(played)
    assert played.moves[2].score == 31  # what was said before `ponderhit` is of this search
    told = {name: total for name, _, total in played.white.effort}
    assert told["nodes_ms"] > played.white.think_ms  # its nodes too: they were shared out to its own clock's time alone


def test_a_miss_is_stopped_and_its_answer_is_no_move() -> None:
    """The owed answer (a1a1 here) is taken off the clock before the new `go`."""
    played = game(ponderer(hint="g8f6"), thinker(OTHERWISE))
    assert played.outcome is Outcome.DRAW, played.cause
    assert played.white.ponders
    assert played.white.ponder_hits == 0
    assert uneventful(played)


@pytest.mark.parametrize("moves", ["", OTHERWISE])
def test_nothing_is_said_before_the_search_runs(moves: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that loses what comes in the first 30 ms of a ponder search hears hit and miss all the same."""
    monkeypatch.setattr(uci, "BEGIN_NS", 5_000 * protocol.MS)
    hasty = scripted("uci", "late", name="thinker", at=1, moves=moves, seconds=0.01)
    played = game(ponderer("ponder-deaf-at-first", seconds=0.03, hint="g8f6" if moves else ""), hasty)
    assert played.outcome is Outcome.DRAW, played.cause
    assert played.white.ponders
    assert played.relay_us is not None
    assert uneventful(played)


def test_a_late_answer_to_stop_is_waited_for_off_the_clock() -> None:
    """0.3 s between stop and answer cost the clock nothing."""
    played = game(ponderer("ponder-late", seconds=0.3, hint="g8f6"), thinker(OTHERWISE))
    assert played.outcome is Outcome.DRAW, played.cause
    assert played.white.longest_ms < 300
    assert uneventful(played)


def test_a_second_answer_to_stop_is_no_move() -> None:
    """It was played, as it happened to be legal, and the engine's own next move was illegal then."""
    played = game(ponderer("ponder-stops-twice", hint="g8f6"), thinker(OTHERWISE))
    assert played.outcome is Outcome.DRAW, played.cause
    assert "b1c3" not in {move.uci for move in played.moves}
    assert "out-of-turn: answered 'b1c3'" in said(played, "ponder-stops-twice")


def test_no_answer_to_stop_is_a_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that cannot be brought to its next move has lost."""
    monkeypatch.setattr(uci, "OWED_NS", 100 * protocol.MS)
    played = game(ponderer("ponder-deaf"), thinker(OTHERWISE))
    assert (played.outcome, played.termination, played.culprit) == (Outcome.BLACK, Termination.STALL, "ponder-deaf")
    assert "pondering on another move" in played.cause


@pytest.mark.parametrize("moves", ["", OTHERWISE])
def test_a_crash_while_pondering_is_one(moves: str) -> None:
    """It is judged at the engine's turn, however long its opponent thought: by 0.4 s it is over no clock."""
    played = game(ponderer("ponder-crash"), thinker(moves), white_tc="0.2+0.1")
    assert (played.outcome, played.termination, played.culprit) == (Outcome.BLACK, Termination.CRASH, "ponder-crash")
    assert played.plies == 2


def test_silence_after_ponderhit_loses_on_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its clock runs from `ponderhit` on."""
    monkeypatch.setattr(protocol, "OWED_NS", 100 * protocol.MS)
    played = game(ponderer("ponder-silent"), thinker(), white_tc="0.2+0.1")
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.TIME), played.cause
    assert "after the flag" in played.cause


def test_an_answer_while_pondering_counts_at_the_hit() -> None:
    """It cost no time, and is one warning."""
    played = game(ponderer("ponder-early"), thinker())
    assert played.outcome is Outcome.DRAW, played.cause
    assert (played.moves[2].uci, played.moves[2].elapsed_ms, played.moves[2].score) == ("f3g1", 0, 31)
    assert "early-answer" in said(played, "ponder-early")


def test_an_answer_while_pondering_is_nothing_after_a_miss() -> None:
    """The position was another: the engine is asked as always."""
    played = game(ponderer("ponder-early"), thinker(OTHERWISE))
    assert played.outcome is Outcome.DRAW, played.cause
    assert played.white.ponder_hits == 0


def test_a_ponder_move_that_nobody_sees_is_none() -> None:
    """A control character is no word: nothing to ponder on, and nothing to warn of."""
    played = game(ponderer(hint="\x07"), thinker())
    assert (played.outcome, played.white.ponders, said(played, "ponderer")) == (Outcome.DRAW, 0, "")


@pytest.mark.parametrize("hint", ["a1a1", "e2e5", "(none)", "\x07?"])
def test_an_illegal_ponder_move_is_ignored(hint: str) -> None:
    """One warning, no search, no verdict."""
    played = game(ponderer(hint=hint), thinker())
    assert played.outcome is Outcome.DRAW, played.cause
    assert played.white.ponders == 0
    assert "ponder-move" in said(played, "ponderer")


def test_a_guess_that_ends_the_game_is_not_pondered_on() -> None:
    """Who expects to be mated is not asked what it would do then."""
    white = replace(ponderer(hint="d8h4", moves="f2f3,g2g4"), name="fool")
    played = game(white, scripted("uci", "late", name="thinker", at=2, moves="e7e5,d8h4", seconds=SLOW))
    assert (played.outcome, played.termination) == (Outcome.BLACK, Termination.MATE)
    assert played.white.ponders == 0


def test_after_an_answer_out_of_turn_the_guess_goes_behind_a_fence() -> None:
    """The process pings in front of each ponder search from then on, and plays on."""
    played = game(ponderer("two", at=1), thinker())
    assert played.outcome is Outcome.DRAW, played.cause
    assert "out-of-turn" in said(played, "two")


def test_who_did_not_declare_it_does_not_ponder() -> None:
    """Wanted is not enough: the option must be there and be true."""
    spec = replace(ponderer(), options=(("Ponder", "false"),))
    assert game(spec, thinker()).white.ponders is None
    assert game(ponderer(line_delay_ms=1), thinker()).white.ponders is None


@pytest.mark.parametrize("black", [False, True])
def test_both_sides_may_ponder(black: bool) -> None:
    """One thinks, the other ponders, and a game that ends meanwhile leaves no answer owed for the next."""
    shelf = EngineShelf()
    pair = [ponderer("late", seconds=0.05), replace(ponderer("late", seconds=0.05, at=2), name="other")]
    for _ in range(2):
        played = game(*(reversed(pair) if black else pair), shelf=shelf)
        assert played.outcome is Outcome.DRAW, played.cause
        assert uneventful(played)
    shelf.close_all()


@pytest.mark.parametrize("protocol", ["cecp"])
def test_cecp_engines_hear_hard_or_easy(protocol: Protocol) -> None:
    """They begin to ponder by themselves."""
    for ponder, word in ((True, " hard"), (False, " easy")):
        shelf = EngineShelf()
        spec = replace(scripted(protocol, name="c"), ponder=ponder)
        assert game(spec, scripted(protocol, name="d"), shelf=shelf).outcome is Outcome.DRAW
        engine = shelf.take(spec)[0]
        assert engine is not None
        assert any(line.endswith(word) for line in engine.process.traffic(200))
        shelf.end(engine)


def test_the_line_of_a_guess_is_one_move_longer() -> None:
    """Also where it begins anew after an irreversible move; the position itself stays."""
    position = Position()
    assert position.line_with(chess.Move.from_uci("e2e4")) == b"position startpos moves e2e4"
    position.push(chess.Move.from_uci("e2e4"))
    assert position.line_with(chess.Move.from_uci("e7e5")) == b"position startpos moves e2e4 e7e5"
    assert position.line == b"position startpos moves e2e4"
    position.shorten(MAX_LINE)
    assert position.line_with(chess.Move.from_uci("e7e5")).endswith(b" moves e7e5")


def test_ponder_is_a_setting_and_frozen(tmp_path: Path) -> None:
    """For all or for one; a resume with another is refused."""
    path = config(tmp_path, ("wren1",), "roundrobin", "games_per_pairing = 2", '\n[[entrants]]\nengine = "wren2"\n')
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    text = path.read_text()
    path.write_text(text + "ponder = true\n")
    assert "ponder of Wren 2 is frozen" in tour(tmp_path, "run", str(path), expect=5).stderr
    path.write_text(text.replace("[play]", "[play]\nponder = true"))
    assert "play.ponder is frozen" in tour(tmp_path, "run", str(path), expect=5).stderr


def test_a_guess_is_asked_with_the_clocks_as_they_stand() -> None:
    """Its own after its move, and its opponent's, whose time runs from now on."""
    spec, shelf = ponderer(), EngineShelf()
    played = game(spec, thinker(), white_tc="60+1", black_tc="50+2", shelf=shelf)
    assert played.outcome is Outcome.DRAW, played.cause
    (engine,) = shelf.take(spec)
    assert engine is not None
    lines = [line.split(" > ", 1)[1] for line in engine.process.traffic(400) if " > go ponder" in line]
    shelf.end(engine)
    clocks = [52_000, *(move.clock_ms for move in played.moves[1::2])]
    possible = [
        f"go ponder wtime {move.clock_ms} btime {other} winc 1000 binc 2000"
        for move, other in zip(played.moves[::2], clocks, strict=False)
    ]
    assert len(lines) == played.white.ponders
    assert lines
    assert set(lines) <= set(possible)
