"""The game so far as engines are told it: one byte string that is only ever extended."""

from __future__ import annotations

import chess

from enginetour.engines.moves import san_of, written
from enginetour.engines.quick import play
from enginetour.model.variants import STANDARD, VARIANTS, board_of

MAX_LINE = 3_500  # bytes of a `position` line: one surveyed engine aborts above 4 to 6 KB (runner spec 6)
ROOM = 100  # bytes before MAX_LINE at which the line is shortened in quiet time: 20 plies


class Position:
    """A board and the words that lead to it. `line` is the UCI command without its line end.

    What was before is in `moves`: the board itself may keep no stack.
    """

    def __init__(self, fen: str | None = None, variant: str = STANDARD) -> None:
        self.fen = fen
        self.variant = variant
        self.board = self.start_board()
        # python-chess keeps rights clean from the first push on; keys of repetitions need them clean before.
        self.board.castling_rights = self.board.clean_castling_rights()
        self.usual = VARIANTS[variant].is_usual  # FIDE's rules hold
        self.check: bool | None = None  # the side to move is in check, once somebody has found out
        self.moves: list[str] = []  # UCI, all plies from the start position
        self.anchor = 0  # plies up to and with the last irreversible move
        self.castled = ""  # O-O or O-O-O where the last move was that and its squares say it in UCI only
        self.line = b"position startpos" if fen is None else b"position fen " + self._told(self.board)
        self._last_san: str | None = None  # kept up from the first time that it is asked for
        self.words_begun = False
        self.begun_at = 0  # plies before the first move of `line`

    def start_board(self) -> chess.Board:
        """A board of its own, before the first move."""
        return board_of(self.variant, self.fen)

    @staticmethod
    def _told(board: chess.Board) -> bytes:
        """Where back ranks are shuffled, rights by files: Glaurung 2.2 takes K for a rook on h, wherever it stands."""
        return board.fen(shredder=board.chess960).encode("ascii")

    @property
    def last_san(self) -> str:
        """The last move as SAN, "" without one. Some 10 us a ply, for the few engines that are told moves so."""
        if self._last_san is None:
            self._last_san = san_of(self.back(1), written(self.moves[-1])) if self.moves else ""
        return self._last_san

    def back(self, plies: int) -> chess.Board:
        """A board of its own, so many plies ago: played anew from the start."""
        board = self.start_board()
        for text in self.moves[: len(self.moves) - plies]:
            board.push(written(text))
        return board

    def push(self, move: chess.Move) -> bool:
        """Play a legal move; true if it was irreversible (no earlier position can come again)."""
        board = self.board
        if self._last_san is not None:
            self._last_san = san_of(board, move)
        if board.chess960:
            self.castled = castling(board, move)
        if self.usual:  # python-chess looks at the same things, in three times the time
            rights = board.castling_rights
            irreversible = board.ep_square is not None and board.has_legal_en_passant()
            play(board, move)
            irreversible = irreversible or not board.halfmove_clock or board.castling_rights != rights
        else:
            irreversible = board.is_irreversible(move)
            board.push(move)
        self.check = None
        text = move.uci()
        self.moves.append(text)
        if irreversible:
            self.anchor = len(self.moves)
        if self.words_begun:
            self.line += b" " + text.encode("ascii")
        else:
            self.line += b" moves " + text.encode("ascii")
            self.words_begun = True
        if len(self.line) > MAX_LINE:
            self.shorten()
        return irreversible

    def resume(self, line: bytes, anchor: int, *, words_begun: bool) -> None:
        """After plies that compiled code has played: `board` and `moves` are up to date already."""
        self.line, self.anchor, self.words_begun, self.check = line, anchor, words_begun, None

    def line_with(self, move: chess.Move) -> bytes:
        """The line with one move more, which the game does not have."""
        start = self.line if self.words_begun else self.line + b" moves"
        return start + b" " + move.uci().encode("ascii")

    def is_long(self, room: int) -> bool:
        """Whether the line is within `room` of its longest, and `shorten` would do something about it."""
        return len(self.line) > MAX_LINE - room and self.anchor != self.begun_at

    def shorten(self, room: int = 0) -> None:
        """Begin the line anew after the last irreversible move if it is within `room` of its longest.

        Nothing is lost for repetitions. Costs a replay of the game, so it is called in quiet time.
        """
        if not self.is_long(room):
            return
        since = len(self.moves) - self.anchor
        self.begun_at = self.anchor
        words = [b"position fen " + self._told(self.back(since))]
        self.words_begun = since > 0
        if since:
            words.append(b"moves")
            words.extend(text.encode("ascii") for text in self.moves[-since:])
        self.line = b" ".join(words)


def castling(board: chess.Board, move: chess.Move) -> str:
    """``O-O`` or ``O-O-O`` for a legal move that is that, "" for any other."""
    if not board.is_castling(move):
        return ""
    return "O-O" if board.is_kingside_castling(move) else "O-O-O"
