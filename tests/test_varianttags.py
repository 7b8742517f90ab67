import json
from pathlib import Path
from typing import Any

import pytest

from enginetour.interop.gamefilter import GameFilter
from enginetour.interop.gametags import is_standard
from enginetour.interop.pgn import read_games, scan
from enginetour.interop.tally import OF_VARIANT
from tests.touring import tour

RESULTS = ("1-0", "1/2-1/2", "0-1", "1-0")
MOVES = "1. e4 {[%eval 0.1]} e5 " * 60  # a header is a small part of a game
PLAIN, LONG = "1. e4 ", MOVES


def games(white: str, black: str, tag: str = "", moves: str = PLAIN) -> str:
    """Four games; `tag` is the value of a Variant tag."""
    variant = f'[Variant "{tag}"]\n' if tag else ""
    return "".join(
        f'[Event "E"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{variant}\n{moves}{result}\n\n'
        for result in RESULTS
    )


def names(found: dict[str, Any]) -> set[str]:
    return {row["name"] for row in found["list"]}


@pytest.mark.parametrize(
    ("value", "standard"),
    [(b"Standard", True), (b"", True), (b"?", True), (b"From Position", True), (b"chess960", False), (b"\xff", False)],
)
def test_which_values_are_standard(value: bytes, standard: bool) -> None:
    """Spellings in use; whatever is not one of them is another variant."""
    assert is_standard(value) is standard


@pytest.mark.parametrize("moves", [PLAIN, LONG])
@pytest.mark.parametrize("black", ["[Black ", "[Black  "], ids=["quick", "careful"])
def test_the_scan_sets_other_variants_aside(tmp_path: Path, moves: str, black: str) -> None:
    """Whichever way a file is read, and however long its games are."""
    path = tmp_path / "mixed.pgn"
    path.write_text((games("A", "B", "", moves) + games("A", "B", "Crazyhouse", moves)).replace("[Black ", black))
    assert scan([path]).results.tobytes().count(OF_VARIANT) == len(RESULTS)
    kept = read_games([path])
    assert len(kept.variants) == len(RESULTS)
    assert GameFilter().taken(kept)[1] == {"variant": len(RESULTS)}
    assert GameFilter(variant="crazyhouse").taken(kept)[1] == {"variant": len(RESULTS)}


def test_a_word_in_a_comment_is_none(tmp_path: Path) -> None:
    """What looks like the tag inside of moves says nothing."""
    path = tmp_path / "comment.pgn"
    path.write_text(games("A", "B", moves='1. e4 {\n[Variant "Atomic"]\n} '))
    assert not scan([path]).results.tobytes().count(OF_VARIANT)
    assert not read_games([path]).variants


def test_a_list_of_files_is_of_one_variant(tmp_path: Path) -> None:
    """Standard unless told, by every spelling of the tag; what is left out is told."""
    path = tmp_path / "mixed.pgn"
    path.write_text(games("A", "B", "Standard") + games("C", "D", "Fischerandom") + games("E", "F", "Atomic"))
    assert names(json.loads(tour(tmp_path, "rate", str(path), "--json").stdout)) == {"A", "B"}
    assert "games left out: 8 of other variants (chess960 4, atomic 4; --variant NAME takes one)" in " ".join(
        tour(tmp_path, "rate", str(path)).stdout.split()
    )
    shuffled = json.loads(tour(tmp_path, "rate", str(path), "--variant", "chess960", "--json").stdout)
    assert names(shuffled) == {"C", "D"}
    done = tour(tmp_path, "rate", str(path), "--variant", "atomics", expect=2)
    assert "did you mean 'atomic'" in done.stderr


def test_a_file_of_another_variant_is_told(tmp_path: Path) -> None:
    """No list without a game, and how to get one."""
    path = tmp_path / "frc.pgn"
    path.write_text(games("C", "D", "chess 960"))
    assert "4 of other variants (chess960 4; --variant NAME" in " ".join(
        tour(tmp_path, "rate", str(path), expect=3).stderr.split()
    )


def test_an_import_is_of_one_variant(tmp_path: Path) -> None:
    """Standard unless told; others are left out, told by name, and taken by an import for lists of theirs."""
    (tmp_path / "results").mkdir()
    (tmp_path / "mixed.pgn").write_text(games("A", "B") + games("C", "D", "Atomic"))
    (tmp_path / "atomic.pgn").write_text(games("C", "D", "Atomic"))
    assert "games left out: 4 of other variants" in tour(tmp_path, "import", "mixed.pgn").stdout
    assert names(json.loads(tour(tmp_path, "ratings", "--all", "--json").stdout)) == {"A", "B"}
    assert "4 of other variants" in tour(tmp_path, "import", "atomic.pgn", expect=3).stderr
    told = " ".join(tour(tmp_path, "import", "mixed.pgn", "--variant", "atomic", "--name", "loud").stdout.split())
    assert "4 games imported" in told and "games left out: 4 of other variants (standard 4;" in told
    assert "nothing new" in tour(tmp_path, "import", "mixed.pgn").stdout
    for more in ((), ("--as-of", "2100-01-01"), ("--tc", "*")):  # by kept counts, and by games
        every = ("ratings", "--all", "--json", *more)
        assert names(json.loads(tour(tmp_path, *every).stdout)) == {"A", "B"}
        assert names(json.loads(tour(tmp_path, *every, "--variant", "atomic").stdout)) == {"C", "D"}
    assert "have not met" in tour(tmp_path, "ratings", "--all", "--sprt", "C", "D", "0", "5", expect=2).stderr
    assert names(json.loads(tour(tmp_path, "ratings", "--all", "--system", "elo", "--json").stdout)) == {"A", "B"}
    assert tour(tmp_path, "db", "check").stdout.startswith("sound")
    assert "did you mean 'atomic'" in tour(tmp_path, "import", "mixed.pgn", "--variant", "atomics", expect=2).stderr
