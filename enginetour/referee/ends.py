"""How the rules end a game: mate, stalemate, repetition, fifty moves, material, claims and offers of draws.

Every test is cheap enough for the moment between an answer and the opponent's `go`. The words are those of
cutechess-cli and fastchess, for which scripts look in PGN and output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import chess

from enginetour.engines.position import Position, can_move, in_check
from enginetour.engines.wire import Message, MessageKind
from enginetour.model.game import Outcome, Termination
from enginetour.model.task import GameTask, Rules
from enginetour.model.variants import VARIANTS
from enginetour.referee.adjudication import Adjudicator, End
from enginetour.referee.startup import Seat
from enginetour.referee.tablebases import open_tables
from enginetour.referee.verdict import Verdict, claimed_draw

# When a game ends: mate, stalemate, material, repetition, fifty moves, length, then adjudication (runner spec 10).

FIFTY = 50  # moves of both sides, FIDE 9.3
_WINS = {  # how a variant is won otherwise than by mate; {0} is the winner, {1} the loser
    "atomic": "{1}'s king explodes",
    "antichess": "{0} has no move left and wins",
    "giveaway": "{0} has no move left and wins",
    "suicide": "{0} wins, with no piece or fewer when nothing can move",
    "kingofthehill": "{0}'s king reaches the centre",
    "racingkings": "{0}'s king wins the race",
    "horde": "{0} has taken the horde",
    "3check": "{0} gives the third check",
}


def position_key(board: chess.Board) -> tuple[int, ...]:
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


def _variant_key(board: chess.Board) -> tuple[object, ...]:
    """The same with what some variants have beside the board: pockets, promoted pieces, checks still to give."""
    pockets = [str(pocket) for pocket in getattr(board, "pockets", ())]
    return *position_key(board), board.promoted if pockets else 0, *pockets, *getattr(board, "remaining_checks", ())


class RuleEnds:
    """The rule ends of one game. Keys of positions are forgotten at every irreversible move."""

    def __init__(
        self, position: Position, rules: Rules, max_plies: int = 0, adjudicator: Adjudicator | None = None
    ) -> None:
        self._position = position
        self.adjudicator = adjudicator or Adjudicator(rules)
        self._repetition = rules.repetition
        self.halfmoves = rules.fifty * 2
        self._fifty_words = "Draw by fifty moves rule" + (f", counted to {rules.fifty}" if rules.fifty != FIFTY else "")
        self.max_plies = min(rules.max_moves * 2, max_plies or rules.max_moves * 2)
        variant = VARIANTS[position.variant]
        self._is_usual = variant.is_usual
        self._fifty = variant.fifty
        self._key = position_key if variant.is_usual else _variant_key
        self.seen: dict[tuple[object, ...], int] = {self._key(position.board): 1}

    def push(self, move: chess.Move) -> End | None:
        """Play `move`; how the game ends by it, or None."""
        board = self._position.board
        before = board.occupied
        if self._position.push(move):
            self.seen.clear()
        now = self._key(board)
        times = self.seen[now] = self.seen.get(now, 0) + 1
        if not self._is_usual and (end := self._variant_end()) is not None:
            return end
        if self._is_usual:
            self._position.check = check = in_check(board)
            if not can_move(board, check=check):
                return self._no_move()
        elif not any(board.generate_legal_moves()):
            return self._no_move()
        thinner = move.promotion or board.occupied.bit_count() < before.bit_count() or not self._is_usual
        if thinner and board.is_insufficient_material():
            return Outcome.DRAW, Termination.MATERIAL, "Draw by insufficient mating material"
        if times >= self._repetition:
            return Outcome.DRAW, Termination.REPETITION, f"Draw by {times}-fold repetition"
        if self._fifty and board.halfmove_clock >= self.halfmoves:
            return Outcome.DRAW, Termination.FIFTY, self._fifty_words
        if len(self._position.moves) >= self.max_plies:
            words = f"Draw by adjudication: {self.max_plies} plies played"
            return Outcome.DRAW, Termination.ADJUDICATION_LENGTH, words
        return None

    def answered(self, move: chess.Move, score: Callable[[], int | None]) -> End | None:
        """As `push`, then adjudication; the mover's `score` in centipawns is asked for where a rule needs it."""
        end = self.push(move)
        if end is not None:
            return end
        return self.adjudicator.judge(self._position.board, score() if self.adjudicator.needs_scores else None)

    def mark(self, end: End | None) -> str | None:
        """What the notation of the last move, which led to `end`, ends with; None where nobody looked for a check."""
        check = self._position.check
        if not check:
            return None if check is None else ""
        return "#" if end is not None and end[1] is Termination.MATE else "+"

    def _variant_end(self) -> End | None:
        """Won, lost or drawn by the variant's own rules; its mates and stalemates are left to `_no_move`."""
        board = self._position.board
        turn, other = ("White", "Black") if board.turn == chess.WHITE else ("Black", "White")
        for over, winner, loser in ((board.is_variant_win(), turn, other), (board.is_variant_loss(), other, turn)):
            if over:
                outcome = Outcome.WHITE if winner == "White" else Outcome.BLACK
                return outcome, Termination.VARIANT, _WINS[self._position.variant].format(winner, loser)
        if board.is_variant_draw():
            return Outcome.DRAW, Termination.VARIANT, f"Draw by the rules of {self._position.variant}"
        return None

    def _no_move(self) -> End:
        board = self._position.board
        if not board.is_check():
            return Outcome.DRAW, Termination.STALEMATE, "Draw by stalemate"
        winner = "Black" if board.turn == chess.WHITE else "White"
        return (Outcome.BLACK if board.turn == chess.WHITE else Outcome.WHITE), Termination.MATE, f"{winner} mates"

    def drawn(self) -> str:
        """Why a player may claim a draw now, "" if it may not (FIDE 9.2, 9.3); a dead position has ended the game."""
        board = self._position.board
        times = self.seen.get(self._key(board), 0)
        if times >= 3:
            return f"{times}-fold repetition"
        return "fifty moves rule" if self._fifty and board.halfmove_clock >= 2 * FIFTY else ""


def game_ends(task: GameTask, position: Position) -> RuleEnds:
    """The ends of a game, no longer than the shorter-lived of its engines plays. MachineFailure for lost tables."""
    limits = [side.spec.quirks.max_plies for side in (task.white, task.black) if side.spec.quirks.max_plies]
    adjudicator = Adjudicator(task.rules, open_tables(task.rules, position.variant))
    return RuleEnds(position, task.rules, min(limits, default=0), adjudicator)


# Draws that the players bring about: a claim of the rules, or an agreement (FIDE 9.1, 9.2; runner spec 7).
#
# An offer stands until the opponent has answered a search without a word of it. One that is made out of turn is made
# with the next move. Whoever offers or claims a draw while the opponent's offer stands has agreed.


class DrawClaims:
    """Claims and offers in one game; offers mean nothing unless `by_agreement`."""

    def __init__(self, seats: Sequence[Seat], ends: RuleEnds, *, by_agreement: bool) -> None:
        white, black = seats
        self._others = {white: black, black: white}
        self._ends = ends
        self._by_agreement = by_agreement
        self._early: set[Seat] = set()  # who offered while the opponent was thinking

    def asked(self, seat: Seat) -> Verdict | None:
        """It is about to be asked for a move."""
        if seat in self._early:
            self._early.remove(seat)
            seat.offers_draw = True
        return self._due(seat)

    def heard(self, seat: Seat, said: Message, *, thinking: bool) -> Verdict | None:
        """What it said was no fault and ended nothing else."""
        if said.kind is MessageKind.OFFER and self._by_agreement:
            if thinking:
                seat.offers_draw = True
            else:
                self._early.add(seat)
        return self._due(seat) if thinking else None

    def answered(self, seat: Seat) -> Verdict | None:
        """Its move is on the board: a claim that came with it is judged, an offer to it has been declined."""
        verdict = self._due(seat)
        seat.draw_claimed = False
        self._others[seat].offers_draw = False
        return verdict

    def _due(self, seat: Seat) -> Verdict | None:
        if seat.draw_claimed and (why := self._ends.drawn()):
            return claimed_draw(seat, why)
        if self._others[seat].offers_draw and (seat.offers_draw or seat.draw_claimed):
            return Verdict(Outcome.DRAW, Termination.AGREEMENT, "Draw by agreement")
        return None
