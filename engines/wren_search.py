"""The search of Wren: alpha-beta with python-chess, weakened for each level.

Strength depends on the depth and the care of the search, so weak levels answer at once. Under a limit of nodes or
depth, a move depends only on position, level and seed. The evaluation is material and squares, updated with each move.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from typing import NamedTuple

import chess
from wren_levels import DEEPEST, VALUES, Level, Placement, placement, squares

MATE = 30_000
LOST = -MATE - 1
KILLED, HASHED = 40, 100_000  # for move ordering, in centipawns
CUSHION = 120  # centipawns by which a quiet ply is not expected to change the evaluation
REMEMBERED = 200_000  # positions, about 100 MB


class Limits(NamedTuple):
    """When to stop: milliseconds to aim for and the most to use (0: no clock), nodes, plies."""

    soft_ms: float = 0
    hard_ms: float = 0
    nodes: int = 0
    depth: int = DEEPEST


class Halted(Exception):
    """The search must answer with the best move so far."""


class Search:
    """One search of one position.

    `seen` are the placements of earlier positions (see `placement`). `stop` is called now and then. `tell` receives
    depth, score, nodes, milliseconds and line of every finished depth.
    """

    def __init__(
        self,
        board: chess.Board,
        level: Level,
        seed: int,
        *,
        seen: frozenset[Placement] = frozenset(),
        stop: Callable[[], bool] = lambda: False,
        tell: Callable[[int, int, int, int, list[chess.Move]], None] = lambda *_: None,
    ) -> None:
        self.board = board.copy(stack=False)
        self.seen = seen
        self.level = level
        self.stop = stop
        self.tell = tell
        self.nodes = 0
        self.dice = zlib.crc32(f"{seed} {board.fen()}".encode()) + 1
        heavy = board.knights | board.bishops | board.rooks | board.queens
        self.endgame = chess.popcount(heavy) <= 6 and chess.popcount(board.queens) <= 1
        self.tables = squares(endgame=self.endgame, known=level.squares)
        self.memory: dict[Placement, tuple[int, int, int, chess.Move]] = {}
        self.history: dict[tuple[int, int], int] = {}
        self.killers: list[chess.Move | None] = [None] * (4 * DEEPEST)
        self.limits = Limits()
        self.began = 0.0
        self.depth = 1
        self.best: chess.Move | None = None
        self.value = 0  # of `best`, in centipawns

    def roll(self, sides: int) -> int:
        """Return a random number below `sides` (xorshift, Marsaglia 2003); the standard one takes long to load."""
        dice = self.dice
        dice ^= (dice << 13) & 0xFFFFFFFFFFFFFFFF
        dice ^= dice >> 7
        dice ^= (dice << 17) & 0xFFFFFFFFFFFFFFFF
        self.dice = dice
        return (dice >> 20) % sides

    def elapsed_ms(self) -> float:
        """Return the milliseconds since `think` was called."""
        return (time.monotonic() - self.began) * 1000

    def gain(self, move: chess.Move) -> int:
        """Return what a move adds to the mover's evaluation."""
        board = self.board
        ours, theirs = self.tables[board.turn], self.tables[not board.turn]
        piece = board.piece_type_at(move.from_square) or 0
        taken = board.piece_type_at(move.to_square)
        sum_ = ours[move.promotion or piece][move.to_square] - ours[piece][move.from_square]
        if taken:
            return sum_ + theirs[taken][move.to_square]
        if piece == chess.PAWN and move.to_square == board.ep_square:
            return sum_ + VALUES[chess.PAWN]
        if piece == chess.KING and abs(move.from_square - move.to_square) == 2 and self.level.squares:
            return sum_ + 25  # the better square of the rook
        return sum_

    def standing(self) -> int:
        """Return the evaluation of the position for the side to move, computed from all pieces."""
        sums = [0, 0]
        for square, piece in self.board.piece_map().items():
            sums[piece.color] += self.tables[piece.color][piece.piece_type][square]
        return sums[self.board.turn] - sums[not self.board.turn]

    def drive(self, score: int) -> int:
        """Adjust a score in endgames: the side ahead wants the other king at the edge and its own king near it."""
        if not self.endgame or abs(score) < 250:
            return score
        board = self.board
        ahead = board.turn if score > 0 else not board.turn
        mine, other = board.king(ahead), board.king(not ahead)
        if mine is None or other is None:
            return score
        edge = 6 - min(other & 7, 7 - (other & 7)) - min(other >> 3, 7 - (other >> 3))
        push = 10 * edge + 4 * (14 - chess.square_manhattan_distance(mine, other))
        return score + push if score > 0 else score - push

    def count(self) -> None:
        """Count one node; now and then check the clock and the input."""
        self.nodes += 1
        if self.limits.nodes and self.nodes >= self.limits.nodes:
            raise Halted
        if not self.nodes & 15 and ((self.limits.hard_ms and self.elapsed_ms() >= self.limits.hard_ms) or self.stop()):
            raise Halted

    def settle(self, alpha: int, beta: int, score: int) -> int:
        """Search captures to their end; `score` is the evaluation for the side to move."""
        self.count()
        best = stand = self.drive(score)
        if best >= beta or not self.level.quiet:
            return best
        alpha = max(alpha, best)
        board, blind = self.board, self.level.blind
        moves = [(self.gain(move), number, move) for number, move in enumerate(board.generate_legal_captures())]
        moves.sort(key=self.promise, reverse=True)
        for gain, _, move in moves:
            if stand + gain + 60 <= alpha or (blind and self.roll(100) < blind):
                continue
            board.push(move)
            value = -self.settle(-beta, -alpha, -score - gain)
            board.pop()
            if value > best:
                best = value
                if value >= beta:
                    break
                alpha = max(alpha, value)
        return best

    def promise(self, candidate: tuple[int, int, chess.Move]) -> int:
        """Return the order of a capture: most valuable victim first, then the cheapest attacker."""
        return candidate[0] * 8 - VALUES[self.board.piece_type_at(candidate[2].from_square) or 0]

    def look(self, depth: int, alpha: int, beta: int, score: int, ply: int, *, passed: bool = False) -> int:
        """Search with alpha-beta (fail soft) and a null move; a mate in n plies has the score MATE - n."""
        board = self.board
        if board.halfmove_clock >= 100 or (
            not board.pawns | board.rooks | board.queens and board.is_insufficient_material()
        ):
            return 0
        check = board.is_check()
        if check and self.level.quiet and ply < 2 * self.depth:
            depth += 1
        if ply == 1 and depth <= 0 and not any(board.generate_legal_moves()):
            return ply - MATE if check else 0
        if depth <= 0:
            return self.settle(alpha, beta, score)
        self.count()
        key = placement(board)
        known = self.memory.get(key)
        if known and known[0] >= depth and (known[2] == 0 or (known[1] >= beta if known[2] > 0 else known[1] <= alpha)):
            return known[1]
        sharp = self.level.sharp and not check and abs(beta) < MATE - 4 * DEEPEST
        if sharp and depth <= 2 and not self.endgame and score - CUSHION * depth >= beta:
            return score
        if sharp and depth >= 3 and not passed and not self.endgame and score >= beta:
            board.push(chess.Move.null())
            value = -self.look(depth - 3, -beta, 1 - beta, -score, ply + 1, passed=True)
            board.pop()
            if value >= beta:
                return beta
        first, killer, floor = known[3] if known else None, self.killers[ply], alpha
        best, chosen, blind = LOST, None, self.level.blind
        hopeless = sharp and depth == 1 and score + CUSHION <= alpha
        for number, (gain, _, move) in enumerate(self.ordered(first, killer)):
            if best > LOST and ((blind and self.roll(100) < blind) or (hopeless and score + gain + CUSHION <= alpha)):
                continue
            board.push(move)
            if best == LOST or depth < 2:
                value = -self.look(depth - 1, -beta, -alpha, -score - gain, ply + 1)
            else:
                late = 1 if sharp and depth >= 3 and number >= 4 and gain < VALUES[chess.PAWN] // 2 else 0
                value = -self.look(depth - 1 - late, -alpha - 1, -alpha, -score - gain, ply + 1)
                if value > alpha and (late or value < beta):
                    value = -self.look(depth - 1, -beta, -alpha, -score - gain, ply + 1)
            board.pop()
            if value > best:
                best, chosen = value, move
                alpha = max(alpha, value)
                if value >= beta:
                    self.killers[ply] = move
                    way = (move.from_square, move.to_square)
                    self.history[way] = min(self.history.get(way, 0) + depth * depth, KILLED - 5)
                    break
        if chosen is None:
            return ply - MATE if check else 0
        if abs(best) < MATE - 4 * DEEPEST:
            if len(self.memory) >= REMEMBERED:
                self.memory.clear()
            self.memory[key] = (depth, best, 1 if best >= beta else -1 if best <= floor else 0, chosen)
        return best

    def ordered(self, first: chess.Move | None, killer: chess.Move | None) -> list[tuple[int, int, chess.Move]]:
        """Return the legal moves as (gain, promise, move), the most promising first."""
        moves = []
        for move in self.board.generate_legal_moves():
            gain = self.gain(move)
            promise = gain + self.history.get((move.from_square, move.to_square), 0)
            promise += (HASHED if move == first else 0) + (KILLED if move == killer else 0)
            moves.append((gain, promise, move))
        moves.sort(key=lambda one: one[1], reverse=True)
        return moves

    def think(self, limits: Limits, began: float) -> chess.Move | None:
        """Deepen until a limit is reached; return the move, None if there is none. `began` is monotonic, in seconds."""
        pace = self.level.pace
        self.limits, self.began = limits._replace(soft_ms=limits.soft_ms * pace, hard_ms=limits.hard_ms * pace), began
        ordered = self.ordered(None, None)
        roots = [(gain + self.roll(self.level.noise + 1), move) for gain, _, move in ordered]
        roots.sort(key=lambda root: -root[0])
        if not roots:
            return None
        self.best = roots[0][1]
        score = self.value = self.standing()
        reported = None
        deepest = min(limits.depth, self.level.depth)
        try:
            for depth in range(1, deepest + 1):
                value = self.root(depth, score, roots)
                self.tell(depth, value, self.nodes, int(self.elapsed_ms()), self.line(depth))
                reported = self.best
                roots.sort(key=lambda root: root[1] != self.best)
                alone = len(roots) == 1 and limits.soft_ms > 0
                late = limits.soft_ms > 0 and self.elapsed_ms() >= self.limits.soft_ms
                if alone or late or abs(value) >= MATE - depth:
                    break
        except Halted:
            if self.best != reported:  # the last line that is sent begins with the move that is played
                self.tell(self.depth, self.value, self.nodes, int(self.elapsed_ms()), [self.best])
        return self.best

    def root(self, depth: int, score: int, roots: list[tuple[int, chess.Move]]) -> int:
        """Search one depth over all root moves; `best` is the last move with a better value, also after a stop."""
        board, best = self.board, LOST
        self.depth = depth
        for gain, move in roots:
            board.push(move)
            again = placement(board) in self.seen
            value = 0 if again else -self.look(depth - 1, LOST, -best, -score - gain, 1)
            board.pop()
            if value > best:
                best = self.value = value
                self.best = move
        return best

    def line(self, longest: int) -> list[chess.Move]:
        """Return the best line as far as it is remembered."""
        board = self.board.copy(stack=False)
        moves: list[chess.Move] = []
        move = self.best
        while move and len(moves) < longest and board.is_legal(move):
            moves.append(move)
            board.push(move)
            known = self.memory.get(placement(board))
            move = known[3] if known else None
        return moves
