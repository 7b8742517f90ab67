"""Random games with lines, and boards as 64 letters."""

from __future__ import annotations

import chess
from hypothesis import strategies as st

from enginetour.model.game import Game, MoveMade, Opening, Outcome, Pairing, Termination
from enginetour.model.variants import VARIANTS, board_of, shuffled_fen


def shown(board: chess.Board) -> str:
    pieces = board.piece_map()
    return "".join(pieces[square].symbol() if square in pieces else "-" for square in chess.SQUARES)


def _walk(board: chess.Board, picks: list[int]) -> list[chess.Move]:
    """Legal moves by random numbers, as long as there are any; the board is left where they end."""
    moves = []
    for pick in picks:
        legal = list(board.legal_moves)
        if not legal or board.is_variant_end():
            break
        captures = [move for move in legal if board.is_capture(move) or move.promotion]  # or games have no ends
        some = captures if captures and pick % 3 == 0 else legal
        moves.append(some[pick % len(some)])
        board.push(moves[-1])
    return moves


PICKS = st.integers(0, 10_000)


@st.composite
def games_with_lines(draw: st.DrawFn, variants: tuple[str, ...] = tuple(VARIANTS)) -> tuple[Game, list[list[str]]]:
    """A game with a legal line at every ply, in UCI's words or SAN; and the lines as python-chess spells them."""
    variant = draw(st.sampled_from(variants))
    fen = None
    if VARIANTS[variant].any_rank:
        white = draw(st.integers(0, 959))
        fen = shuffled_fen(white, white if variant == "chess960" else draw(st.integers(0, 959)))
    board = board_of(variant, fen)
    moves, lines = [], []
    for move in _walk(board.copy(), draw(st.lists(PICKS, max_size=60))):
        ahead = board.copy(stack=False)
        ahead.push(move)
        line = [move, *_walk(ahead, draw(st.lists(PICKS, max_size=6)))]
        spoken, words, beside = [], [], board.copy(stack=False)
        for one in line:
            spoken.append(beside.san(one))
            words.append(one.uci())
            beside.push(one)
        said = spoken if draw(st.booleans()) else words
        moves.append(MoveMade(move.uci(), board.san(move), 10, 1000, 20, 5, pv=" ".join(said)))
        lines.append(spoken)
        board.push(move)
    outcome, end = Outcome.DRAW, Termination.AGREEMENT
    return Game(Pairing("A", "B"), outcome, end, "", opening=Opening(fen=fen, variant=variant), moves=tuple(moves),
                final_fen=board.fen()), lines  # fmt: skip
