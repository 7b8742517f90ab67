"""Pairs on one opening in game files: what the errors of a list from files go by."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.interop.gamepairs import openings_of_games
from enginetour.interop.gametags import Games, Partners
from enginetour.ratings.pairs import Openings
from tests.test_rate import invoke, listed, row

NAMES = (b"Ada", b"Bob", b"Cid", b"Bob 2")
WORDS = (b"1-0", b"1/2-1/2", b"0-1", b"*")
FENS = ('[FEN "4k3/8/8/8/8/1P6/8/4K3 w - - 0 1"]', '[FEN "4k3/8/8/8/8/2P5/8/4K3 w - - 0 1"]')

each = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from(WORDS), st.integers(0, 3), st.booleans()
)


def called(name: str) -> str | None:
    """Two versions of one name, and one that is not wanted."""
    return {"Bob 2": "Bob", "Cid": None}.get(name, name)


@given(st.lists(each, max_size=60))
def test_pairs_are_those_that_the_tests_count(played: list[tuple[bytes, bytes, bytes, int, bool]]) -> None:
    """The same pairs as game by game: finished games that are taken, between two names, in the order of the files."""
    games = Games()
    games.add([row[0] for row in played], [row[1] for row in played], [row[2] for row in played], "here")
    games.openings.extend([opening for _, _, _, opening, _ in played])
    taken = np.array([wanted for *_, wanted in played], dtype=np.bool_)
    partners, points = Partners[int](), defaultdict[int, list[int]](list)
    for place, (white, black, word, opening, wanted) in enumerate(played):
        names = called(white.decode()), called(black.decode())
        if wanted and word != b"*" and None not in names and names[0] != names[1]:
            ada_is_white, got = names[0] == "Ada", {b"1-0": 2, b"1/2-1/2": 1, b"0-1": 0}[word]
            key = partners.pair_of("Ada - Bob", opening, "white" if ada_is_white else "black", place)
            points[key].append(got if ada_is_white else 2 - got)
    counts = [0] * 5
    for both in points.values():
        if len(both) == 2:
            counts[sum(both)] += 1
    expected: Openings = (
        {("Ada", "Bob"): (counts[0], counts[1], counts[2], counts[3], counts[4])} if any(counts) else {}
    )
    assert openings_of_games(games, called, ("Ada", "Bob"), taken) == expected


def written(path: Path, *games: tuple[str, str, str, str]) -> Path:
    """White, Black, result and a FEN tag or nothing, game by game."""
    path.write_text(
        "".join(
            f'[Event "E"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{fen}\n\n1. Kd1 {result}\n\n'
            for white, black, result, fen in games
        )
    )
    return path


def test_openings_that_decide_games_make_errors_smaller(tmp_path: Path) -> None:
    """White wins each game: every pair is level, and scatters far less than two games that have nothing in common."""
    path = written(tmp_path / "g.pgn", *((*ends, "1-0", FENS[0]) for _ in range(30) for ends in ("AB", "BA")))
    single, paired = listed(path), listed(path, "--pairs")
    assert [line["rating"] for line in single["list"]] == [line["rating"] for line in paired["list"]]
    ratio = row(paired, "A")["plus"] / row(single, "A")["plus"]
    # 20 pairs are believed that scatter as independent games do; of the 30 that were seen one goes to the rating.
    assert ratio == pytest.approx((20 / 49) ** 0.5, rel=0.01)
    assert any("errors by opening pairs: 0.64 x those of single games, 30 pairs" in line for line in paired["caption"])


def test_games_that_are_no_pairs_are_told(tmp_path: Path) -> None:
    """Without an opening, on two of them, or always with one colour: errors are those of single games."""
    games = [("A", "B", "1-0", ""), ("B", "A", "1-0", ""), ("A", "B", "0-1", FENS[0]), ("B", "A", "0-1", FENS[1])]
    path = written(tmp_path / "g.pgn", *games, ("A", "B", "1-0", FENS[0]))
    assert "no two games are a pair" in invoke(path, "--pairs").output
    assert "no two games are a pair" not in invoke(path).output
    assert listed(path, "--pairs")["list"] == listed(path)["list"]


def test_names_and_filters_hold_for_pairs_too(tmp_path: Path) -> None:
    """An alias joins a pair, a pattern and too few games take it out, and a day's filter half of it."""
    games = [("A", "B", "1-0", FENS[0]), ("B old", "A", "0-1", FENS[0]), ("A", "B", "1-0", FENS[1])]
    path = written(tmp_path / "g.pgn", *games, ("B", "A", "1-0", FENS[1]), ("A", "C", "1/2-1/2", ""))
    told = [
        next((line for line in listed(path, "--pairs", *words)["caption"] if "opening pairs" in line), "none")
        for words in ((), ("--alias", "B old=B"), ("--exclude", "C"), ("--include", "A", "--include", "C"))
    ]
    assert [line.rpartition(", ")[2] for line in told] == ["1 pair", "2 pairs", "1 pair", "none"]
