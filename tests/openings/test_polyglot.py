"""Polyglot books: random lines for games, and moves played for an engine."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import chess.polyglot
import pytest

from enginetour.model.errors import InputRefused, MachineFailure
from enginetour.model.game import Game, Pairing
from enginetour.model.task import GameTask, OwnBook, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.openings.choice import OpeningSettings, load_opening_book
from enginetour.openings.polyglot import BookLines, PolyglotBook, draw_number
from enginetour.referee.game import play
from enginetour.referee.link import Link
from enginetour.referee.startup import EnginePool
from tests.support.engines import sound

LINES = {"e2e4 e7e5": 6, "d2d4 d7d5 g1f3": 3, "c2c4": 1, "a2a3": 0}


def book(path: Path, lines: dict[str, int] = LINES) -> Path:
    """Write a book of lines; every move of a line has its weight."""
    entries: Counter[tuple[int, int]] = Counter()
    for line, weight in lines.items():
        board = chess.Board()
        for text in line.split():
            move = chess.Move.from_uci(text)
            entries[chess.polyglot.zobrist_hash(board), move.from_square << 6 | move.to_square] += weight
            board.push(move)
    path.write_bytes(b"".join(struct.pack(">QHHI", *place, weight, 0) for place, weight in sorted(entries.items())))
    return path


def test_lines_end_where_the_book_ends_and_follow_the_weights(tmp_path: Path) -> None:
    """A thousand random lines have the frequencies of the weights; a move of weight 0 is never played."""
    lines = BookLines(book(tmp_path / "b.bin"), "weight", 1)
    found = Counter(" ".join(line.moves) for line in lines[:1000])
    assert set(found) == {"e2e4 e7e5", "d2d4 d7d5 g1f3", "c2c4"}
    assert abs(found["e2e4 e7e5"] - 600) < 80  # five standard deviations
    assert abs(found["c2c4"] - 100) < 50
    assert lines[:50] == BookLines(tmp_path / "b.bin", "weight", 1)[:50]
    assert lines[:50] != lines.seeded(2)[:50]
    assert [line.index for line in lines[:3]] == [1, 2, 3]


def test_best_and_cut(tmp_path: Path) -> None:
    """The best line is the only one of its book; `plies` cuts every line."""
    best = BookLines(book(tmp_path / "b.bin"), "best", 1)
    assert len(best) == 1
    assert best[0].moves == ("e2e4", "e7e5")
    cut = {line.moves for line in BookLines(tmp_path / "b.bin", "weight", 1, 1)[:50]}
    assert cut == {("e2e4",), ("d2d4",), ("c2c4",)}


def test_both_legs_have_one_line_and_it_is_a_matter_of_numbers(tmp_path: Path) -> None:
    """An encounter has the same line in both games and in any order of requests; the next has another."""
    settings = OpeningSettings(file=str(book(tmp_path / "b.bin")), per="encounter")
    loaded = load_opening_book(settings, seed=4, legs=2, folder=tmp_path)
    games = [Pairing("a", "b", encounter=number, leg=leg) for number in range(1, 30) for leg in (1, 2)]
    there = [loaded.pick(game) for game in games]
    back = [loaded.pick(game) for game in reversed(games)]
    assert there == back[::-1]
    assert there[0::2] == there[1::2]
    assert len(set(there)) == 29
    assert loaded.dealing.uses(games[-1]) == 0


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b"x" * 17, "not a valid Polyglot book"),
        (b"".join(struct.pack(">QHHI", 9 - n, 1, 1, 0) for n in range(9)), "not sorted"),
        (struct.pack(">QHHI", 5, 1, 1, 0), "does not have a move for the initial position"),
    ],
)
def test_no_book(tmp_path: Path, content: bytes, words: str) -> None:
    """A file that is not a Polyglot book raises an error before game 1."""
    (tmp_path / "b.bin").write_bytes(content)
    with pytest.raises(InputRefused, match=words):
        BookLines(tmp_path / "b.bin", "weight", 1)


def test_a_book_is_for_standard_chess(tmp_path: Path) -> None:
    """A Polyglot book raises an error for variants."""
    settings = OpeningSettings(file=str(book(tmp_path / "b.bin")))
    with pytest.raises(InputRefused, match="Polyglot book starts at the initial position"):
        load_opening_book(settings, seed=1, legs=2, folder=tmp_path, variant="atomic")


def test_draws_do_not_depend_on_python() -> None:
    """The random choices are the same with every version of Python."""
    assert [draw_number(f"7:{place}", 10) for place in range(8)] == [4, 5, 7, 6, 9, 4, 9, 7]


def _own(path: Path, protocol: str, plies: int = 40) -> tuple[Side, Side]:
    tc = TimeControl.parse("60")
    mine = OwnBook(str(path), "best", plies, "1")
    return (
        Side(sound(protocol, moves="b1c3,c3b1"), tc, own_book=mine),  # type: ignore[arg-type]
        Side(sound("uci", moves="g8f6,f6g8"), tc, own_book=mine),
    )


def _played(white: Side, black: Side) -> Game:
    pool = EnginePool()
    try:
        return play(GameTask(Pairing("sound", "other"), white, black), Link(), pool)
    finally:
        pool.close_all()


@pytest.mark.parametrize("protocol", ["uci", "cecp"])
def test_an_own_book_is_played_for_its_engine(tmp_path: Path, protocol: str) -> None:
    """Moves of an engine's own book take no time and are sent to both engines."""
    game = _played(*_own(book(tmp_path / "b.bin", {"e2e4 e7e5 g1f3": 5}), protocol))
    assert [move.uci for move in game.moves[:5]] == ["e2e4", "e7e5", "g1f3", "g8f6", "b1c3"]
    assert [move.book for move in game.moves[:5]] == [True, True, True, False, False]
    assert game.category == ""
    assert game.white.moves == sum(not move.book for move in game.moves[::2])
    assert [(move.elapsed_ms, move.clock_ms) for move in game.moves[:3]] == [(0, 60_000)] * 3


def test_an_own_book_ends_at_its_plies(tmp_path: Path) -> None:
    """After its own book ends, an engine does not return to it; the other continues with its own."""
    path = book(tmp_path / "b.bin", {"e2e4 e7e5 g1f3": 5})
    game = _played(_own(path, "uci", plies=1)[0], _own(path, "uci")[1])
    assert [move.uci for move in game.moves[:4]] == ["e2e4", "e7e5", "b1c3", "g8f6"]
    assert [move.book for move in game.moves[:4]] == [True, True, False, False]


def test_a_book_that_is_gone_is_the_machines_fault(tmp_path: Path) -> None:
    """If the book disappears, the game is void and no engine loses."""
    with pytest.raises(MachineFailure, match="opening book"):
        _played(*_own(tmp_path / "gone.bin", "uci"))


def test_moves_of_a_book_are_legal(tmp_path: Path) -> None:
    """An entry with an illegal move is skipped."""
    path = tmp_path / "b.bin"
    path.write_bytes(struct.pack(">QHHI", chess.polyglot.zobrist_hash(chess.Board()), chess.E4 << 6 | chess.E5, 5, 0))
    assert PolyglotBook(path).move(chess.Board(), "weight", "1", 0) is None
