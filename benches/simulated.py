"""Games without engines for the benchmarks of many slots: their lengths, moves, live events and results."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import chess

from benches.free import GAME
from enginetour.model.game import Game, MoveMade, Outcome, SideRecord, Termination
from enginetour.model.task import GameTask

PLIES = range(70, 91)  # lengths of games
PV_PLIES = 12
SPREAD = 0.5  # standard deviation of the logarithm of a game's time; real engines have a similar variation of 0.53
DRAWS = 0.35
DICE = 1  # seed


@cache
def thought_moves(plies: int) -> tuple[MoveMade, ...]:
    """Return moves with typical search output."""
    dice = random.Random(plies)
    texts = GAME.read_text().split()
    board = chess.Board()
    made = []
    for ply, text in enumerate(texts[:plies]):
        move = chess.Move.from_uci(text)
        pv = " ".join(texts[ply : ply + dice.randint(2, PV_PLIES)])
        clock = 60_000 - ply * 300 + dice.randrange(300)
        nodes = dice.randrange(10**5, 10**7)
        score, depth = dice.randrange(-400, 400), dice.randrange(8, 30)
        made.append(MoveMade(text, board.san(move), dice.randrange(900), clock, score, depth, nodes, pv))
        board.push(move)
    return tuple(made)


def length(dice: random.Random, mean: float) -> float:
    """Return the seconds of a game."""
    return dice.lognormvariate(math.log(mean) - SPREAD**2 / 2, SPREAD) if mean else 0.0


def live_start(task: GameTask) -> dict[str, object]:
    """Return the data of the event of a game that starts."""
    start: dict[str, object] = {"white": task.pairing.white, "black": task.pairing.black}
    start |= {"opening": task.opening.name, "variant": task.opening.variant, "fen": task.opening.fen}
    return start | {"moves": [], "clocks": [60_000, 60_000], "tc": ["60+0.5", "60+0.5"], "at": time.time()}


def live_moves(moves: Sequence[MoveMade], first: int, last: int) -> Iterator[dict[str, object]]:
    """Yield the data of the events of the moves after `first` plies, until `last` plies."""
    for ply, move in enumerate(moves[first:last], first + 1):
        event: dict[str, object] = {"ply": ply, "uci": move.uci, "san": move.san, "score": move.score}
        event |= {"depth": move.depth, "nodes": move.nodes, "pv": move.pv, "elapsed_ms": move.elapsed_ms}
        yield event | {"clock_ms": move.clock_ms, "clocks": [move.clock_ms, move.clock_ms], "at": time.time()}


def played(task: GameTask, moves: tuple[MoveMade, ...], elo: Mapping[str, float], started: float, ended: float) -> Game:
    """Make the result of a game from the Elo of both, 0 if unknown. `started` and `ended` are UTC seconds."""
    pairing = task.pairing
    expected = 1 / (1 + 10 ** ((elo.get(pairing.black, 0.0) - elo.get(pairing.white, 0.0)) / 400))
    drawn = DRAWS * 4 * expected * (1 - expected)
    lot = random.Random(f"{DICE} {pairing.key}").random()
    won = expected - drawn / 2
    outcome = Outcome.WHITE if lot < won else Outcome.DRAW if lot < won + drawn else Outcome.BLACK
    sides = [
        SideRecord(name, len(moves) // 2, 55_000, 4_000, 5_000, cpu_ms=55_100, effort=(("depth", 40, 800),))
        for name in (pairing.white, pairing.black)
    ]
    return Game(
        pairing,
        outcome,
        Termination.REPETITION if outcome is Outcome.DRAW else Termination.RESIGN,
        cause="Draw by repetition" if outcome is Outcome.DRAW else "a side resigns",
        opening=task.opening,
        moves=moves,
        white=sides[0],
        black=sides[1],
        white_tc="60+0.5",
        black_tc="60+0.5",
        final_fen="8/8/4k3/8/3K4/8/8/7R w - - 0 80",
        started_unix=started,
        ended_unix=ended,
        relay_gap_us=(40, 90, 200),
        replay=task.replay,
        hardware="a simulated processor",
        load_average=1.0,
        cores=8,
    )
