"""Openings of games in files: what tells one, and which two games are a pair."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest

from enginetour.interop import pgn
from enginetour.interop.gametags import LONGEST_OPENING, NOT_TOLD, Partners
from enginetour.interop.pgn import read_games

FEN = '[FEN "4k3/8/8/8/8/1P6/8/4K3 w - - 0 1"]\n'
OTHER = FEN.replace("1P6", "2P5")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def told(folder: Path, *games: tuple[str, str], end: str = "\n") -> list[int]:
    """The openings of games with these tags and moves, by both readers."""
    path = folder / "g.pgn"
    content = "".join(
        f'[Event "E"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n{tags}\n{moves} 1-0\n\n' for tags, moves in games
    )
    path.write_bytes(content.replace("\n", end).encode())
    quick = list(read_games([path]).openings)
    with patch.object(pgn, "_quick_game", lambda games, at, piece: False):
        assert list(read_games([path]).openings) == quick
    assert len(quick) == len(games)
    return quick


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_openings(folder: Path, end: str) -> None:
    """The position without its clocks, moves marked as book, our encounters and numbers; none where nothing tells."""
    clocks = FEN.replace("0 1", "5 9")
    one, same, other = told(folder, (FEN, "1. e4"), (clocks, "1. d4"), (OTHER, "1. e4"), end=end)
    assert one == same != other and NOT_TOLD not in (one, other)
    one, same, other, longer = told(
        folder,
        ("", "1. e4 {book} 1... c5 {book} 2. Nf3 {+0.1/9 1s} d6 {book}"),
        ("", "1. e4 {book} c5 $1 {\n book, Sicilian} 2. Nc3 {0.1}"),
        ("", "1. e4 {book} e5 {book} 2. Nf3 {+0.1/9 1s}"),
        ("", "1. e4 {book} c5 {book} 2. Nf3 {book} d6"),
        end=end,
    )
    assert one == same and len({one, other, longer, NOT_TOLD}) == 4
    third, fourth = told(folder, ('[Encounter "3"]\n', "1. e4 {+0.3/9 1s}"), ('[Encounter "4"]\n', "1. e4"), end=end)
    assert len({third, fourth, NOT_TOLD}) == 3
    assert told(folder, ("", "1. e4 c5"), ("", "1. e4 {a book} c5 {book}"), end=end) == [NOT_TOLD] * 2
    ours = '[Encounter "3"]\n[OpeningNumber "{}"]\n'
    one, own_book, other = told(
        folder,
        (ours.format(7), "1. e4 {book} c5 {book} 2. Nf3 {0.1}"),
        (ours.format(7), "1. e4 {book} c5 {book} 2. Nc3 {book} Nc6 {book}"),
        (ours.format(8), "1. e4 {book} c5 {book} 2. Nf3 {0.1}"),
        end=end,
    )
    assert one == own_book != other


def test_tags_that_only_look_like_one(folder: Path) -> None:
    """A tag that quotes another, one that begins alike, two in a line, two of a name: the last holds."""
    alone, quoted, alike, in_line, twice, words = told(
        folder,
        (FEN, "1. e4"),
        ('[Annotator "see [FEN 3]"]\n' + FEN, "1. e4"),
        ('[FENCE "x"]\n' + FEN, "1. e4"),
        ('[SetUp "1"] ' + FEN, "1. e4"),
        (OTHER + FEN, "1. e4"),
        ('[Annotator "see [FEN 3]"]\n', "1. e4 {[FEN 3]}"),
    )
    assert {alone, quoted, alike, in_line, twice} == {alone}
    assert alone != NOT_TOLD == words


def test_games_of_endless_length(folder: Path) -> None:
    """Only the front is looked at, by both readers alike."""
    long = "1. e4 {book} " + "e5 {book} " * LONGEST_OPENING
    assert len({*told(folder, ("", long), ("", "1. e4 {book}")), NOT_TOLD}) == 3


def test_partners() -> None:
    """Colours swapped, the same engines, the same opening, first come first served; untold openings stay alone."""
    partners = Partners[int]()
    games = [
        ("AB", 7, "white"),
        ("AB", 7, "white"),
        ("AC", 7, "black"),
        ("AB", 8, "black"),
        ("AB", 7, "black"),
        ("AB", NOT_TOLD, "white"),
        ("AB", NOT_TOLD, "black"),
        ("AB", 7, "black"),
        ("AB", 7, "black"),
        ("AB", 8, "white"),
    ]
    found = [partners.pair_of(*told, place) for place, told in enumerate(games)]  # type: ignore[arg-type]
    assert found == [0, 1, 2, 3, 0, 5, 6, 1, 8, 3]
