"""The position as engines are told it."""

from __future__ import annotations

import random

import chess

from enginetour.engines.position import MAX_LINE, Position


def told(line: bytes) -> chess.Board:
    """The board that an engine builds from a position line."""
    words = line.decode().split()
    at = words.index("moves") if "moves" in words else len(words)
    board = chess.Board() if words[1] == "startpos" else chess.Board(" ".join(words[2:at]))
    for text in words[at + 1 :]:
        board.push_uci(text)
    return board


def test_the_line_is_extended_move_by_move() -> None:
    """The same bytes, with one word more a ply."""
    position = Position()
    assert position.line == b"position startpos"
    position.push(chess.Move.from_uci("e2e4"))
    before = position.line
    position.push(chess.Move.from_uci("e7e5"))
    assert position.line == before + b" e7e5" == b"position startpos moves e2e4 e7e5"


def test_a_start_position_of_its_own() -> None:
    """Castling rights without king and rook at home are not told: engines die on them."""
    position = Position("4k3/8/8/8/8/8/4P3/4K3 w KQkq - 0 1")
    assert position.line == b"position fen 4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"


def test_a_long_game_begins_anew_after_an_irreversible_move() -> None:
    """The line never grows beyond what the shyest engine reads, and always leads to the same position."""
    dice = random.Random(3)
    position = Position()
    for _ in range(900):
        moves = list(position.board.legal_moves)
        if not moves:
            break
        before = len(position.line)
        quiet = [move for move in moves if not position.board.is_zeroing(move)] or moves
        position.push(dice.choice(moves if len(position.moves) % 40 == 0 else quiet))
        assert len(position.line) <= MAX_LINE
        if len(position.line) < before or len(position.moves) % 10 == 0:
            assert told(position.line).fen() == position.board.fen()
    assert len(position.moves) > 300


def test_the_last_move_in_san() -> None:
    """As it was written before it was played, whenever it is asked for."""
    position = Position()
    assert position.last_san == ""
    position.push(chess.Move.from_uci("g1f3"))
    before = position.board.fen(), position.line
    assert position.last_san == "Nf3"
    assert (position.board.fen(), position.line) == before
    late = Position()
    for text in ("g1f3", "b8c6", "f3g1", "c6b4"):
        late.push(chess.Move.from_uci(text))
    assert late.last_san == "Nb4"
    late.push(chess.Move.from_uci("g1f3"))
    assert late.last_san == "Nf3"


def test_a_pawn_is_dropped_by_its_letter() -> None:
    """CECP engines with san=1 were told ``@e5``: who calls that illegal has lost."""
    house = Position("4k3/8/8/8/8/8/8/4K3[PPn] w - - 0 1", "crazyhouse")
    house.push(chess.Move.from_uci("P@e5"))
    assert house.last_san == "P@e5"
    for uci, san in (("N@c6", "N@c6"), ("P@d5", "P@d5")):
        house.push(chess.Move.from_uci(uci))
        assert house.last_san == san


def test_a_board_of_some_plies_ago() -> None:
    """Played anew from the start, castling and all, in any variant."""
    position = Position(variant="crazyhouse")
    boards = [position.board.fen()]
    for text in ("e2e4", "d7d5", "e4d5", "d8d5", "g1f3", "d5f3", "g2f3", "P@e2", "f1e2", "e7e5", "e1g1"):
        position.push(chess.Move.from_uci(text))
        boards.append(position.board.fen())
    assert [position.back(plies).fen() for plies in range(len(boards))] == boards[::-1]
