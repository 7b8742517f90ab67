"""When the rules end a game: mate, stalemate, material, repetition, fifty moves, length (runner spec 10).

Every test is cheap enough for the moment between an answer and the opponent's `go`.
"""

from __future__ import annotations

import chess

from enginetour.adapters.position import Position
from enginetour.model import Outcome, Termination
from enginetour.task import Rules

End = tuple[Outcome, Termination, str]


def key(board: chess.Board) -> tuple[int, ...]:
    """What must be equal for a repetition: placement, side to move, castling rights, *legal* en passant: FIDE 9.2.2."""
    return (
        board.pawns,
        board.knights,
        board.bishops,
        board.rooks,
        board.queens,
        board.kings,
        board.occupied_co[chess.WHITE],
        board.turn,
        board.castling_rights,
        board.ep_square if board.ep_square is not None and board.has_legal_en_passant() else -1,
    )


class Ends:
    """The rule ends of one game. Keys of positions are forgotten at every irreversible move."""

    def __init__(self, position: Position, rules: Rules, max_plies: int = 0) -> None:
        self._position = position
        self._repetition = rules.repetition
        self._halfmoves = rules.fifty * 2
        self._max_plies = min(rules.max_moves * 2, max_plies or rules.max_moves * 2)
        self._seen: dict[tuple[int, ...], int] = {key(position.board): 1}

    def push(self, move: chess.Move) -> End | None:
        """Play `move`; how the game ends by it, or None."""
        board = self._position.board
        thinner = board.is_capture(move) or move.promotion is not None
        if self._position.push(move):
            self._seen.clear()
        now = key(board)
        times = self._seen[now] = self._seen.get(now, 0) + 1
        if not any(board.generate_legal_moves()):
            return self._no_move()
        if thinner and board.is_insufficient_material():
            return Outcome.DRAW, Termination.MATERIAL, "insufficient material"
        if times >= self._repetition:
            return Outcome.DRAW, Termination.REPETITION, f"the position came {times} times"
        if board.halfmove_clock >= self._halfmoves:
            return Outcome.DRAW, Termination.FIFTY, f"{self._halfmoves // 2} moves without capture or pawn move"
        if len(self._position.moves) >= self._max_plies:
            return Outcome.DRAW, Termination.ADJUDICATION_LENGTH, f"{self._max_plies} plies played"
        return None

    def _no_move(self) -> End:
        board = self._position.board
        if not board.is_check():
            return Outcome.DRAW, Termination.STALEMATE, "stalemate"
        winner = "Black" if board.turn == chess.WHITE else "White"
        return (Outcome.BLACK if board.turn == chess.WHITE else Outcome.WHITE), Termination.MATE, f"{winner} mates"

    def drawn(self) -> bool:
        """A player may claim a draw now: a third occurrence or fifty moves (FIDE 9.2, 9.3), or a dead position."""
        board = self._position.board
        return (
            self._seen.get(key(board), 0) >= 3
            or board.halfmove_clock >= 100
            or board.is_insufficient_material()
            or board.is_stalemate()
        )
