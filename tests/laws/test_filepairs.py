"""Imported games form the same pairs as in their files."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.cli.main import cli
from enginetour.interop.gamefilter import EngineNames
from enginetour.interop.gamepairs import match_games
from enginetour.interop.pgn import read_games
from enginetour.ratings.pentanomial import pair_half_points
from enginetour.store.games import head_to_head
from enginetour.store.tournaments import Store

FEN = '[SetUp "1"]\n[FEN "4k3/8/8/8/8/{}P6/8/4K3 w - - 0 {}"]\n'
OPENINGS = st.one_of(
    st.just(("", "1. e4 {+0.3/9 1s}")),
    st.tuples(st.integers(1, 2), st.integers(1, 9)).map(lambda one: (FEN.format(*one), "1. e4")),
    st.sampled_from(["c5", "e5"]).map(lambda reply: ("", f"1. e4 {{book}} {reply} {{book}} 2. Nf3 {{+0.1/9 1s}}")),
    st.integers(1, 2).map(lambda number: (f'[Encounter "{number}"]\n', "1. e4")),
)
ENDS = st.sampled_from([("A", "B"), ("B", "A"), ("A", "B"), ("B", "A"), ("A", "C"), ("C", "B")])
ODD = st.sampled_from([""] * 9 + ['[WhiteOdds "f7"]\n', '[Variant "atomic"]\n', '[Date "2024.01.02"]\n'])
GAME = st.tuples(ENDS, st.sampled_from(["1-0", "0-1", "1/2-1/2", "*"]), OPENINGS, ODD)
TEST = ("--sprt", "A", "B", "0", "30", "--sprt-model", "normalized", "--json")


@settings(max_examples=15, deadline=None)  # each example makes two databases
@given(files=st.lists(st.lists(GAME, max_size=14), min_size=1, max_size=3), careful=st.booleans())
def test_a_store_says_what_files_say(files: list[list[Any]], careful: bool) -> None:
    """Pairs, counts, ratio and verdict are the same by `rate`, after one import and after several imports."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [folder / f"{number}.pgn" for number in range(len(files))]
        for number, (path, games) in enumerate(zip(paths, files, strict=True)):
            plain = (("A", "B"), "1-0", ("", "1. d4"), "")
            path.write_text("".join(written(one, f"{number}.{at}", careful) for at, one in enumerate([plain, *games])))
        pairs = pair_half_points(match_games(read_games(paths), EngineNames(), "A", "B"))
        theirs = figures("rate", *paths)
        told("import", *paths, "--name", "all", "--db", folder / "one.db")
        for path in paths:
            told("import", path, "--db", folder / "each.db")
        for db in (folder / "one.db", folder / "each.db"):
            assert figures("ratings", "--all", "--db", db) == theirs
            with Store.open(db, readonly=True) as store:
                assert pair_half_points(head_to_head(store.database, "A", "B").scheduled) == pairs


def written(game: Any, number: str, careful: bool) -> str:
    """Write each game once, with tags in the usual or an unusual order."""
    (white, black), result, (tags, moves), odd = game
    ends = [f'[White "{white}"]\n', f'[Black "{black}"]\n', f'[Result "{result}"]\n']
    head = "".join(ends[::-1] if careful else ends)
    return f'[Event "E"]\n[Site "?"]\n[Round "{number}"]\n{head}{tags}{odd}\n{moves} {result}\n\n'


def told(*words: object) -> str:
    done = CliRunner().invoke(cli, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def figures(*words: object) -> dict[str, Any]:
    """Return the results without the source of the games."""
    found = json.loads(told(*words, *TEST))
    return {key: value for key, value in found.items() if key not in ("files", "versions", "openings_not_kept")}
