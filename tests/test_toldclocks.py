"""What engines are told of both clocks before each move of a game, by the record of that game."""

from __future__ import annotations

import pytest

from enginetour.model.game import Game, Opening, Outcome
from enginetour.model.task import EngineSpec
from enginetour.model.timecontrol import TimeControl
from enginetour.referee import relay
from enginetour.referee.startup import EngineShelf
from tests.playing import Protocol, game, scripted

WHITE, BLACK = "3/60+1:40+0.5,nodes=7", "50+2,depth=3"


def clocks_before(played: Game) -> list[tuple[int, int]]:
    """Milliseconds of White and Black ahead of each ply."""
    left = [TimeControl.parse(text).stage(0) for text in (played.white_tc, played.black_tc)]
    now = [stage.base_ms + stage.increment_ms for stage in left]
    found = []
    for ply, move in enumerate(played.moves):
        found.append((now[0], now[1]))
        assert move.clock_ms is not None
        now[ply % 2] = move.clock_ms
    return found


def lines_to(shelf: EngineShelf, *specs: EngineSpec) -> list[list[str]]:
    told = []
    for engine in shelf.take(*specs):
        assert engine is not None
        told.append([line.split(" > ", 1)[1] for line in engine.process.traffic(400) if " > " in line])
        shelf.end(engine)
    return told


@pytest.mark.parametrize("compiled", [True, False])
def test_uci_engines_are_told_both_clocks(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """White's first whoever is asked, increments of each, the moves of the own stage and the own limits."""
    if not compiled:
        monkeypatch.setattr(relay, "native", None)
    white, black = scripted(name="w"), scripted(name="b")
    shelf = EngineShelf()
    played = game(white, black, white_tc=WHITE, black_tc=BLACK, shelf=shelf)
    assert played.outcome is Outcome.DRAW, played.cause
    before = clocks_before(played)
    stages = [(1000, f" movestogo {3 - move}") for move in range(3)] + [(500, "")] * len(before)
    asked: tuple[list[str], list[str]] = ([], [])
    for ply, (own, other) in enumerate(before):
        increment = stages[(ply + 1) // 2][0]  # White's after its moves so far
        words = f"go wtime {own} btime {other} winc {increment} binc 2000"
        asked[ply % 2].append(words + (" depth 3" if ply % 2 else f"{stages[ply // 2][1]} nodes 7"))
    for expected, told in zip(asked, lines_to(shelf, white, black), strict=True):
        assert [line for line in told if line.startswith("go ")] == expected


@pytest.mark.parametrize("white_protocol", ["cecp", "uci"])
def test_cecp_engines_are_told_their_own_clock_first(white_protocol: Protocol) -> None:
    """In hundredths of a second, whichever colour they have."""
    white = scripted(white_protocol, name="w")
    black = scripted("uci" if white_protocol == "cecp" else "cecp", name="b")
    shelf = EngineShelf()
    played = game(white, black, white_tc="60+1", black_tc="50+2", shelf=shelf, opening=Opening())
    assert played.outcome is Outcome.DRAW, played.cause
    side = int(white_protocol == "uci")
    told = lines_to(shelf, white, black)[side]
    before = [clocks if side == 0 else clocks[::-1] for clocks in clocks_before(played)[side::2]]
    assert [line for line in told if line.startswith(("time", "otim"))] == [
        f"{word} {ms // 10}" for clocks in before for word, ms in zip(("time", "otim"), clocks, strict=True)
    ]
