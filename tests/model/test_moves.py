"""Tests of the stored form of moves."""

from __future__ import annotations

import zlib

from enginetour.model.game import Game, MoveMade, Outcome, Pairing, Termination
from enginetour.model.moves import PackedMoves, pack_moves, unpack_moves
from enginetour.referee.link import Frames, frame

MOVES = (MoveMade("e2e4", "e4", book=True), MoveMade("c7c5", "c5", 120, 59_980, -15, 14, 99, "g1f3"))


def test_moves_by_rows_are_still_read() -> None:
    """Moves that older versions stored row by row can be read."""
    rows = '[["e2e4","e4",0,null,null,null,null,"",true],["c7c5","c5",120,59980,-15,14,99,"g1f3",false]]'
    assert unpack_moves(zlib.compress(rows.encode())) == MOVES


def test_moves_come_back_as_they_were() -> None:
    """None, zero, the empty string and a game without moves are read as they were written."""
    told = MoveMade("g1f3", "Nf3", 30, None, 0, 9, 0, "", False, 14, 900_000, None, 0, 26, ("info string ½", "x"))
    for moves in ((), MOVES, (*MOVES, told), (told,)):
        assert unpack_moves(pack_moves(moves)) == moves


def test_a_slot_packs_the_moves() -> None:
    """A game from a slot has the same moves, and their stored form is that of the slot."""
    for moves in ((), MOVES):
        game = Game(Pairing("A", "B"), Outcome.DRAW, Termination.AGREEMENT, moves=moves)
        (came,) = Frames().feed(frame(game))
        assert came == game
        assert isinstance(came.moves, PackedMoves)
        assert came.moves.packed == pack_moves(moves)
