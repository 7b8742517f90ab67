"""Tests of referee/ends."""

from __future__ import annotations

import random

import chess
import pytest

from enginetour.engines.position import Position
from enginetour.engines.wire import Message, MessageKind
from enginetour.model.game import Outcome, Termination
from enginetour.model.task import EngineSpec, Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.ends import DrawClaims, RuleEnds
from enginetour.referee.startup import Seat
from tests.support.engines import game, scripted

# Ends by the rules, compared with python-chess.


def play(fen: str | None, moves: str, **rules: int) -> tuple[Outcome, Termination] | None:
    """Return how a game ends by these moves; the end must come with the last one."""
    ends = RuleEnds(Position(fen), Rules(**rules))  # type: ignore[arg-type]
    end = None
    for text in moves.split():
        assert end is None
        end = ends.push(chess.Move.from_uci(text))
    return None if end is None else end[:2]


@pytest.mark.parametrize("start", [None, "7k/8/8/8/8/8/QQ6/K7 w - - 0 1"])
def test_checks_and_mates_are_marked_as_python_chess_marks_them(start: str | None) -> None:
    """Checks and mates of random games are marked as by python-chess; in variants they are not tested."""
    dice, marks = random.Random(7), set()
    for _ in range(6):
        position = Position(start)
        ends, end = RuleEnds(position, Rules()), None
        while end is None:
            move = dice.choice(list(position.board.legal_moves))
            san = position.board.san(move)
            end = ends.push(move)
            marks.add(ends.mark(end))
            assert ends.mark(end) == san[len(san.rstrip("+#")) :]
    assert marks >= {"", "+"} and (start is None or "#" in marks)
    odd = RuleEnds(Position(None, "crazyhouse"), Rules())
    assert odd.mark(odd.push(chess.Move.from_uci("e2e4"))) is None


@pytest.mark.parametrize("seed", range(12))
def test_repetitions_as_python_chess_counts_them(seed: int) -> None:
    """Random games of few pieces end where python-chess sees the third occurrence."""
    dice = random.Random(seed)
    starts = [None, "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "4k3/pp6/8/8/8/8/PP6/4K3 w - - 0 1"]
    for start in starts:
        position = Position(start)
        ends = RuleEnds(position, Rules(fifty=75))
        board = position.start_board()
        for _ in range(200):
            moves = list(board.legal_moves)
            back = [move for move in moves if board.move_stack[-2:-1] == [chess.Move(move.to_square, move.from_square)]]
            move = dice.choice(back or moves)
            end = ends.push(move)
            board.push(move)
            assert (end is not None and end[1] is Termination.REPETITION) == (
                board.is_repetition(3) and not board.is_insufficient_material()
            )
            if end is not None:
                break


def test_lost_castling_rights_make_another_position() -> None:
    """Lost castling rights make another position (FIDE 9.2.3)."""
    shuffle = "e1e2 e8e7 e2e1 e7e8 "
    kings = "4k2r/8/8/8/8/8/8/4K2R w Kk - 0 1"
    assert play(kings, shuffle * 2 + "e1e2") is None
    assert play(kings, shuffle * 2 + "e1e2 e8e7") == (Outcome.DRAW, Termination.REPETITION)


def test_en_passant_counts_only_when_it_is_legal() -> None:
    """En passant makes another position only if the capture is legal."""
    shuffle = "g8f6 g1f3 f6g8 f3g1 "
    assert play(None, "e2e4 " + shuffle * 2) == (Outcome.DRAW, Termination.REPETITION)
    taking = "rnbqkbnr/ppp1pppp/8/8/3p4/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    assert play(taking, "e2e4 " + shuffle * 2) is None


@pytest.mark.parametrize(
    ("fen", "moves", "expected"),
    [
        (None, "f2f3 e7e5 g2g4 d8h4", (Outcome.BLACK, Termination.MATE)),
        ("7k/8/6K1/8/8/8/8/1Q6 w - - 99 80", "b1b8", (Outcome.WHITE, Termination.MATE)),
        ("7k/8/6K1/8/8/8/8/5Q2 w - - 0 1", "f1f7", (Outcome.DRAW, Termination.STALEMATE)),
        ("4k3/8/8/8/8/8/3p4/4K3 w - - 0 1", "e1d2", (Outcome.DRAW, Termination.MATERIAL)),
        ("4k3/8/8/8/8/8/8/R3K3 w - - 99 80", "a1a2", (Outcome.DRAW, Termination.FIFTY)),
        ("4k3/8/8/8/8/8/8/R3K3 w - - 98 80", "a1a2", None),
    ],
)
def test_each_end(fen: str | None, moves: str, expected: tuple[Outcome, Termination] | None) -> None:
    """A mate on the last move of the fifty wins; bare kings are a draw."""
    assert play(fen, moves) == expected


def test_counts_can_be_set() -> None:
    """The number of moves can be set up to 75, the number of occurrences up to five."""
    start, draw = "4k3/8/8/8/8/8/8/R3K3 w - - {} 80", (Outcome.DRAW, Termination.FIFTY)
    assert play(start.format(99), "a1a2", fifty=51) is None
    assert play(start.format(101), "a1a2", fifty=51) == draw
    again = "g1f3 g8f6 f3g1 f6g8 "
    assert play(None, again * 3, repetition=5) is None
    assert play(None, again * 4, repetition=5) == (Outcome.DRAW, Termination.REPETITION)


def test_length_is_counted_with_the_opening() -> None:
    """`max_moves` of both sides, or an engine's limit of plies, includes the opening."""
    assert play(None, "a2a3 a7a6 b2b3 b7b6", max_moves=2) == (Outcome.DRAW, Termination.ADJUDICATION_LENGTH)
    ends = RuleEnds(Position(), Rules(), max_plies=1)
    end = ends.push(chess.Move.from_uci("e2e4"))
    assert end is not None
    assert end[1] is Termination.ADJUDICATION_LENGTH


def test_a_claim_is_true_at_the_third_time_whatever_the_referee_waits_for() -> None:
    """With `repetition = 5` a side may claim a draw from the third occurrence on."""
    ends = RuleEnds(Position(), Rules(repetition=5))
    for number, text in enumerate(("g1f3 g8f6 f3g1 f6g8 " * 2).split()):
        assert ends.push(chess.Move.from_uci(text)) is None
        assert ends.drawn() == ("3-fold repetition" if number == 7 else "")


def test_fifty_moves_may_be_claimed_whatever_the_referee_waits_for() -> None:
    """With `fifty = 75` a side may claim a draw after fifty moves, but not in crazyhouse."""
    for variant, why in (("standard", "fifty moves rule"), ("crazyhouse", "")):
        ends = RuleEnds(Position("4k3/8/8/8/8/8/8/R3K3 w - - 98 90", variant), Rules(fifty=75))
        for text, now in (("a1a2", ""), ("e8e7", why)):
            assert ends.push(chess.Move.from_uci(text)) is None
            assert ends.drawn() == now


# Draws by agreement between CECP engines: offered, passed on, accepted (FIDE 9.1; runner spec 7).

OFFER = Message(MessageKind.OFFER, "offer draw")


def table() -> tuple[Seat, Seat, DrawClaims]:
    """Return two seats and their offers, before the first move."""
    side = Side(EngineSpec("engine", ("/engine",), "cecp"), TimeControl.parse("1"), 50)
    white, black = Seat(side, Rules(), white=True), Seat(side, Rules(), white=False)
    return white, black, DrawClaims((white, black), RuleEnds(Position(), Rules()), by_agreement=True)


def standing(*seats: Seat) -> list[bool]:
    """Return whose offers are valid."""
    return [seat.offers_draw for seat in seats]


@pytest.mark.parametrize("answer", ["agrees", "agrees-by-claim"])
def test_an_offer_that_is_answered_ends_the_game(answer: str) -> None:
    """An engine that gets an offer and offers or claims a draw has agreed."""
    played = game(scripted("cecp", "offer"), scripted("cecp", answer, at=99), draw_offers=True)
    assert (played.outcome, played.termination, played.cause) == (
        Outcome.DRAW,
        Termination.AGREEMENT,
        "Draw by agreement",
    )
    assert played.plies == 3
    assert not played.culprit


def test_without_draw_offers_nobody_hears_of_them() -> None:
    """Without `draw_offers` no offer is passed on."""
    played = game(scripted("cecp", "offer"), scripted("cecp", "agrees-by-claim", at=99))
    assert played.termination is Termination.REPETITION


@pytest.mark.parametrize(("second", "agreed"), [(2, True), (3, False)])
def test_two_offers_agree_within_one_pair_of_moves(second: int, agreed: bool) -> None:
    """Two offers within one pair of moves agree; a move later the first is no longer valid."""
    black = scripted("cecp", "offer", name="black", at=second)
    played = game(scripted("cecp", "offer", at=2), black, draw_offers=True)
    assert (played.termination is Termination.AGREEMENT) == agreed, played.cause


def test_an_offer_out_of_turn_is_made_with_the_next_move() -> None:
    """An offer out of turn is made with the next own move."""
    white, black, draws = table()
    assert draws.heard(white, OFFER, thinking=True) is None
    assert draws.heard(black, OFFER, thinking=False) is None
    assert draws.answered(white) is None
    agreed = draws.asked(black)
    assert agreed is not None
    assert agreed.termination is Termination.AGREEMENT


def test_a_move_declines_an_offer() -> None:
    """A move of the opponent declines an offer; the next offer is a new one."""
    white, black, draws = table()
    draws.heard(white, OFFER, thinking=True)
    assert draws.answered(white) is None
    assert standing(white, black) == [True, False]
    assert draws.asked(black) is None
    assert draws.answered(black) is None
    assert standing(white, black) == [False, False]
    assert draws.asked(white) is None
    assert draws.heard(black, OFFER, thinking=False) is None
    assert standing(white, black) == [False, False]
