"""A running game as a page shows it: from the events of its slot to what a board needs, all of it text and numbers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from enginetour.model.variants import VARIANTS, board_of
from enginetour.reports.pgn import score_words
from enginetour.reports.sheet import safe

if TYPE_CHECKING:
    import chess


LINE_PLIES = 12  # of a PV: what fits below a board
LINE_LENGTH = 160  # signs of a PV that cannot be read as moves (CECP: free text)
TOLD_MOVES = 16  # plies of the game told beside its board
TOLD_SCORES = 32  # last evaluations told with each move: more plies than engines play between two tellings
STEEP = 1000  # centipawns: beyond it a curve has no more to say (a queen ahead is a won game between engines)


class LiveGame:
    """One game in the air. It only appends moves; the board catches up when somebody looks."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self.white, self.black = safe(start.get("white", "?")), safe(start.get("black", "?"))
        self.opening = safe(start.get("opening") or "")
        self.clocks: list[int | None] = list(start.get("clocks") or (None, None))
        self.controls = [safe(words) for words in start.get("tc") or ("", "")]
        self.at = self._begun_at = float(start.get("at") or time.time())
        self.moves: list[str] = [str(move) for move in start.get("moves", ())]
        self.scores: list[int | None] = [None] * len(self.moves)  # White's view, in centipawns
        self.over = False
        self.lost = False  # moves were missed: the board stays as it was
        self._said: list[Mapping[str, Any] | None] = [None, None]
        self._sans: list[str] = []
        self._variant = str(start.get("variant") or "standard")
        self._board = self._begun(start.get("fen"))
        self._white_first, self._number = self._board.turn, self._board.fullmove_number
        if "ply" in start:  # a game that was joined in its course
            self.lost = start["ply"] != len(self.moves)
            self._hear(start)

    def _begun(self, fen: str | None) -> chess.Board:
        try:
            return board_of(self._variant if self._variant in VARIANTS else "standard", fen)
        except ValueError:
            self.lost = True
            return board_of("standard")

    def move(self, event: Mapping[str, Any]) -> bool:
        """Take a move; False for one that is known already."""
        ply = event.get("ply")
        if not isinstance(ply, int) or ply <= len(self.moves):
            return False
        self.lost = self.lost or ply != len(self.moves) + 1
        self.moves.append(str(event.get("uci")))
        self.scores.append(None)
        self._hear(event)
        return True

    def _hear(self, event: Mapping[str, Any]) -> None:
        self.clocks = list(event.get("clocks") or self.clocks)
        self.at = float(event.get("at") or time.time())
        white = event["ply"] % 2 == self._white_first  # the plies of White are odd where it began
        self._said[not white] = event
        score = event.get("score")
        if isinstance(score, int) and self.scores:
            self.scores[-1] = max(-STEEP, min(STEEP, score if white else -score))

    def _catch_up(self) -> None:
        """Bring the board to the last move; where that is no move of this position, it stays."""
        while not self.lost and len(self._sans) < len(self.moves):
            try:
                move = self._board.parse_uci(self.moves[len(self._sans)])
                self._sans.append(self._board.san_and_push(move))
            except (ValueError, AssertionError):
                self.lost = True

    def told(self, *, whole: bool = False) -> dict[str, Any]:
        """What a page shows, ready for JSON; `whole`: with all evaluations so far, for a page just opened."""
        self._catch_up()
        board = self._board
        last = board.peek() if board.move_stack else None
        return {
            "white": self.white,
            "black": self.black,
            "opening": self.opening,
            "tc": self.controls,
            "variant": "" if self._variant == "standard" else self._variant,
            "begun": self._begun_at,
            "ply": len(self.moves),
            "placement": board.board_fen().replace("~", ""),
            "turn": "white" if board.turn else "black",
            "first": "white" if self._white_first else "black",
            "last": [] if last is None else _squares(last),
            "moves": self._movetext(),
            "extra": _extra(board),
            "clocks": self.clocks,
            "since": max(0.0, round(time.time() - self.at, 3)),
            "at": self.at,
            "over": self.over,
            "lost": self.lost,
            "said": [self._thought(0), self._thought(1)],
            "graph": self.scores if whole else self.scores[-TOLD_SCORES:],
        }

    def _movetext(self) -> str:
        """``34. Nf3 Nc6 35. e5``: the last moves with their numbers."""
        words: list[str] = []
        first = max(0, len(self._sans) - TOLD_MOVES)
        for ply in range(first, len(self._sans)):
            number, white = self._number + (ply + (not self._white_first)) // 2, (ply % 2 == 0) == self._white_first
            words += [f"{number}."] if white else [f"{number}…"] if ply == first else []
            words.append(self._sans[ply])
        return " ".join(words)

    def _thought(self, side: int) -> dict[str, Any] | None:
        """What the side said of its last search: its score as White sees it, depth, time, PV in SAN."""
        said = self._said[side]
        if said is None:
            return None
        score = said.get("score")
        return {
            "score": "" if score is None else score_words(int(score) * (-1 if side else 1)),
            "depth": said.get("depth"),
            "nodes": said.get("nodes"),
            "ms": said.get("elapsed_ms"),
            "pv": self._line(str(said.get("pv") or ""), int(said["ply"])),
        }

    def _line(self, pv: str, ply: int) -> str:
        """A PV from before its ply in SAN, as far as it can be played; as it stands where it is no moves."""
        words = pv.split()
        if not words or self.lost:
            return safe(pv)[:LINE_LENGTH]
        board = self._board.copy()
        while len(board.move_stack) > max(0, ply - 1):
            board.pop()
        line: list[chess.Move] = []
        before = board.copy(stack=False)
        for word in islice(words, LINE_PLIES):
            try:
                move = board.push_uci(word)
            except ValueError:
                break
            if not move:  # a pass is no move to write down
                break
            line.append(move)
        return before.variation_san(line) if line else safe(pv)[:LINE_LENGTH]


def _squares(move: chess.Move) -> list[str]:
    """From and to; a piece that is dropped comes from nowhere."""
    uci = move.uci()
    return [uci[2:4]] if "@" in uci else [uci[:2], uci[2:4]] if uci != "0000" else []


def _extra(board: chess.Board) -> list[str]:
    """What some variants have beside the board, White's and Black's: pieces in hand, checks left."""
    for name in ("pockets", "remaining_checks"):
        if (found := getattr(board, name, None)) is not None:
            words = "checks left" if name == "remaining_checks" else "in hand"
            return [f"{words}: {' '.join(str(found[white]).upper()) or '–'}" for white in (True, False)]
    return []
