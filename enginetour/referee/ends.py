"""How the rules end a game: mate, stalemate, repetition, fifty moves, material, claims and offers of draws.

Every test is fast enough to run between an engine's answer and the opponent's `go`. The texts are the same as in
cutechess-cli and fastchess, because scripts search for them in PGN files and output.
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

# Order of the tests: mate, stalemate, material, repetition, fifty moves, length, then adjudication (runner spec 10).

FIFTY = 50  # moves by each side, FIDE 9.3
_WINS = {  # how a variant is won other than by mate; {0} is the winner, {1} the loser
    "atomic": "{1}'s king explodes",
    "antichess": "{0} has no move left and wins",
    "giveaway": "{0} has no move left and wins",
    "suicide": "{0} wins with no piece left, or with fewer pieces at stalemate",
    "kingofthehill": "{0}'s king reaches the center",
    "racingkings": "{0}'s king wins the race",
    "horde": "{0} has captured the horde",
    "3check": "{0} gives the third check",
}


def position_key(board: chess.Board) -> tuple[int, ...]:
    """Return a key that is equal for repeated positions (FIDE 9.2.2).

    It contains the pieces, the side to move, castling rights and a legal en passant capture.
    """
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
    """Return the key of a position in a variant. It also contains pockets, promoted pieces and remaining checks."""
    pockets = [str(pocket) for pocket in getattr(board, "pockets", ())]
    return *position_key(board), board.promoted if pockets else 0, *pockets, *getattr(board, "remaining_checks", ())


class RuleEnds:
    """The tests for the end of one game by the rules. Each irreversible move deletes the stored earlier positions."""

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
        """Play `move` and return how it ends the game, or None if it does not."""
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
        fewer_pieces = move.promotion or board.occupied.bit_count() < before.bit_count() or not self._is_usual
        if fewer_pieces and board.is_insufficient_material():
            return Outcome.DRAW, Termination.MATERIAL, "Draw by insufficient mating material"
        if times >= self._repetition:
            return Outcome.DRAW, Termination.REPETITION, f"Draw by {times}-fold repetition"
        if self._fifty and board.halfmove_clock >= self.halfmoves:
            return Outcome.DRAW, Termination.FIFTY, self._fifty_words
        if len(self._position.moves) >= self.max_plies:
            text = f"Draw by adjudication: {self.max_plies} plies played"
            return Outcome.DRAW, Termination.ADJUDICATION_LENGTH, text
        return None

    def answered(self, move: chess.Move, score: Callable[[], int | None]) -> End | None:
        """Play `move` like `push`, then adjudicate. `score` is only called if a rule needs the mover's score."""
        end = self.push(move)
        if end is not None:
            return end
        return self.adjudicator.judge(self._position.board, score() if self.adjudicator.needs_scores else None)

    def mark(self, end: End | None) -> str | None:
        """Return ``+``, ``#`` or "" for the notation of the last move, or None if it was not tested for check."""
        check = self._position.check
        if not check:
            return None if check is None else ""
        return "#" if end is not None and end[1] is Termination.MATE else "+"

    def _variant_end(self) -> End | None:
        """Return an end by the variant's special rules. `_no_move` handles mates and stalemates."""
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
        """Return why a player may claim a draw now (FIDE 9.2, 9.3), or "" if no claim is allowed."""
        board = self._position.board
        times = self.seen.get(self._key(board), 0)
        if times >= 3:
            return f"{times}-fold repetition"
        return "fifty moves rule" if self._fifty and board.halfmove_clock >= 2 * FIFTY else ""


def game_ends(task: GameTask, position: Position) -> RuleEnds:
    """Return the tests for the end of a game. The smaller `max_plies` of the two engines limits its length.

    Raises MachineFailure if tablebases cannot be read.
    """
    limits = [side.spec.quirks.max_plies for side in (task.white, task.black) if side.spec.quirks.max_plies]
    adjudicator = Adjudicator(task.rules, open_tables(task.rules, position.variant))
    return RuleEnds(position, task.rules, min(limits, default=0), adjudicator)


# Draws by the players: a claim under the rules, or an agreement (FIDE 9.1, 9.2; runner spec 7).
#
# An offer is valid until the opponent answers a search without accepting the offer. An offer that is sent out of turn
# becomes valid when its sender is next asked for a move. If an engine offers or claims a draw while the opponent's
# offer is valid, the game is drawn by agreement.


class DrawClaims:
    """Draw claims and offers in one game. Offers only have an effect if `by_agreement` is true."""

    def __init__(self, seats: Sequence[Seat], ends: RuleEnds, *, by_agreement: bool) -> None:
        white, black = seats
        self._others = {white: black, black: white}
        self._ends = ends
        self._by_agreement = by_agreement
        self._early: set[Seat] = set()  # seats that offered a draw while the opponent was thinking

    def asked(self, seat: Seat) -> Verdict | None:
        """Return the verdict if the game is drawn before this side is asked for a move, otherwise None."""
        if seat in self._early:
            self._early.remove(seat)
            seat.offers_draw = True
        return self._due(seat)

    def heard(self, seat: Seat, message: Message, *, thinking: bool) -> Verdict | None:
        """Process a message that is neither a fault nor a move. Return the verdict if the game is drawn now."""
        if message.kind is MessageKind.OFFER and self._by_agreement:
            if thinking:
                seat.offers_draw = True
            else:
                self._early.add(seat)
        return self._due(seat) if thinking else None

    def answered(self, seat: Seat) -> Verdict | None:
        """Process a move of this side. It declines the opponent's offer. Return the verdict on a claim sent with it."""
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
