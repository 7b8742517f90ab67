"""What an engine says about its own search, held against the board and against its next words (runner spec 12).

kind           what was found
no-score       a move without any scored line, where it had a choice
pv-other       its last PV, of a score that is no bound, does not begin with the move it played
pv-illegal     a move of its last PV cannot be played (UCI only: in CECP a PV is free text)
mate-late      it said mate in n and had not mated with its n-th move
mate-lost      it said that it mates, and with its next move that it is mated

Counted and told, never a verdict: none of it changes a game.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import chess

from enginetour.engines.position import is_plainly_legal, play, written
from enginetour.engines.wire import LONGEST_PV, MATE, Thought, printable

KINDS = ("no-score", "pv-other", "pv-illegal", "mate-late", "mate-lost")
PIECE = 8  # plies of a PV looked at in one step: 30 us (measured), a step of bookkeeping (runner spec 15)
_COORDINATES = re.compile(r"[a-h][1-8][a-h][1-8][qrbnk]?")
_NUMBER = re.compile(r"(?:\d+\.+)?")
_MATE_RANGE = 1000  # moves; farther ones are no distances any engine has seen


class Claims:
    """The claims of one side in one game; `usual`: FIDE's rules hold, and the boards' castling rights are clean."""

    def __init__(self, *, reads_pv: bool, usual: bool) -> None:
        self._reads_pv = reads_pv
        self._usual = usual
        self._due: int | None = None  # number of the own move by which a promised mate is on the board
        self._moves = 0
        self._number = 0  # of the move, as the PGN has it: openings and positions begin anywhere
        self._mates = False  # its last score was a mate of its own
        self._found: dict[str, tuple[int, str]] = {}

    def heard(self, thought: Thought, move: chess.Move, board: chess.Board, elapsed_ms: int) -> Iterator[None] | None:
        """Look at a search whose move is about to be made on `board`; what is left to look at piece by piece.

        Of a PV as many plies are looked at as the search took milliseconds: 10 us a ply are 1 % of the time then.
        """
        self._moves += 1
        self._number = board.fullmove_number
        if thought.score is None:
            if board.legal_moves.count() > 1:
                self._tell("no-score", f"played {move.uci()} without any scored line")
            return None
        self._mate(thought.score, thought.bound)
        pv = thought.pv.split()
        if not pv or thought.bound:  # that of a search that failed: it leads nowhere
            return None
        first = move if pv[0] == move.uci() else self._first(pv, board)
        if first is not None and first != move:
            self._tell("pv-other", f"played {move.uci()}, and its last PV begins with {first.uci()}")
        if not self._reads_pv or elapsed_ms < 1:
            return None
        whole = pv if len(thought.pv) < LONGEST_PV else pv[:-1]
        return self._line(whole[:elapsed_ms], board.copy(stack=False), self._number)

    @property
    def is_quiet(self) -> bool:
        """Nothing was promised that the next search might break."""
        return not self._mates and self._due is None

    def passed(self) -> None:
        """A search of whose score and PV there is nothing to tell, after others that were quiet."""
        self._moves += 1

    def _mate(self, score: int, bound: int) -> None:
        counts = MATE - _MATE_RANGE <= abs(score) <= MATE  # beyond it engines have scales of their own
        mates = counts and score > 0 and bound >= 0
        if self._due is not None and self._moves > self._due:
            late = self._moves - self._due
            self._tell("mate-late", f"had not mated {late} move{'s' * (late != 1)} after it should have")
            self._due = None
        if self._mates and counts and score < 0 and bound <= 0:
            self._tell("mate-lost", f"said mate, and a move later that it is mated in {MATE + score}")
            self._due = None
        if mates:
            due = self._moves + max(1, MATE - score) - 1
            self._due = due if self._due is None else min(due, self._due)
        self._mates = mates

    def _first(self, pv: list[str], board: chess.Board) -> chess.Move | None:
        """The first move of a PV, None where it cannot be told."""
        for word in pv[:3]:  # a number, dots, a mark of a bound may stand before it
            text = _NUMBER.sub("", word, count=1)
            try:
                return board.parse_uci(text.lower()) if _COORDINATES.fullmatch(text.lower()) else board.parse_san(text)
            except ValueError:
                if self._reads_pv:
                    return None
        return None

    def _line(self, pv: list[str], board: chess.Board, number: int) -> Iterator[None]:
        for ply, word in enumerate(pv):
            if not (self._usual and _played(board, word)):
                try:
                    move = board.parse_uci(word.lower())
                    if not move:
                        raise ValueError
                except ValueError:
                    words = f"its PV goes on with {printable(word)!r}, illegal at {board.fen()}"
                    self._tell("pv-illegal", words, number)  # other searches were heard since
                    return
                board.push(move)
            if ply % PIECE == PIECE - 1:
                yield

    def _tell(self, kind: str, words: str, number: int | None = None) -> None:
        count, first = self._found.get(kind, (0, f"move {self._number if number is None else number}: {words}"))
        self._found[kind] = count + 1, first

    def broken(self) -> tuple[tuple[str, int, str], ...]:
        """(kind, how often, words of the first) of what did not hold."""
        return tuple((kind, *self._found[kind]) for kind in KINDS if kind in self._found)


def _played(board: chess.Board, word: str) -> bool:
    """Whether that is a move of which it is soon seen that it is legal; it is played then."""
    if len(word) != 4:
        return False
    try:
        move = written(word)
    except ValueError:
        return False
    if not is_plainly_legal(board, move):
        return False
    play(board, move)
    return True
