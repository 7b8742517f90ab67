"""Tests of interop/gamepairs."""

from __future__ import annotations

import gzip
from collections import defaultdict
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from enginetour.cli.main import cli
from enginetour.interop import pgn
from enginetour.interop.gamefilter import EngineNames
from enginetour.interop.gamepairs import LONGEST_OPENING, UNKNOWN_OPENING, OpeningPairs, match_games, openings_of_games
from enginetour.interop.gametags import GameColumns
from enginetour.interop.pgn import read_games
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Outcome
from enginetour.ratings.pairs import Openings
from enginetour.ratings.pentanomial import pair_half_points
from enginetour.reports.pgn import export_pgn
from enginetour.store.tournaments import Store
from tests.cli.test_rate import invoke as invoke_rate
from tests.cli.test_rate import listed, row
from tests.support.databases import add_game, draft, game
from tests.support.tournaments import unwrapped

# Openings of games in files, and the rule for pairs.

FEN = '[FEN "4k3/8/8/8/8/1P6/8/4K3 w - - 0 1"]\n'
OTHER = FEN.replace("1P6", "2P5")


def told(tmp_path: Path, *games: tuple[str, str], end: str = "\n") -> list[int]:
    """Return the openings of games with these tags and moves, by both readers."""
    path = tmp_path / "g.pgn"
    content = "".join(
        f'[Event "E"]\n[White "A"]\n[Black "B"]\n[Result "1-0"]\n{tags}\n{moves} 1-0\n\n' for tags, moves in games
    )
    path.write_bytes(content.replace("\n", end).encode())
    quick = list(read_games([path]).openings)
    with patch.object(pgn, "_quick", lambda games, at, piece: False):
        assert list(read_games([path]).openings) == quick
    assert len(quick) == len(games)
    return quick


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_openings(tmp_path: Path, end: str) -> None:
    """The opening is the position without counters, book moves, or enginetour's tags; otherwise it is unknown."""
    clocks = FEN.replace("0 1", "5 9")
    one, same, other = told(tmp_path, (FEN, "1. e4"), (clocks, "1. d4"), (OTHER, "1. e4"), end=end)
    assert one == same != other and UNKNOWN_OPENING not in (one, other)
    one, same, other, longer = told(
        tmp_path,
        ("", "1. e4 {book} 1... c5 {book} 2. Nf3 {+0.1/9 1s} d6 {book}"),
        ("", "1. e4 {book} c5 $1 {\n book, Sicilian} 2. Nc3 {0.1}"),
        ("", "1. e4 {book} e5 {book} 2. Nf3 {+0.1/9 1s}"),
        ("", "1. e4 {book} c5 {book} 2. Nf3 {book} d6"),
        end=end,
    )
    assert one == same and len({one, other, longer, UNKNOWN_OPENING}) == 4
    third, fourth = told(tmp_path, ('[Encounter "3"]\n', "1. e4 {+0.3/9 1s}"), ('[Encounter "4"]\n', "1. e4"), end=end)
    assert len({third, fourth, UNKNOWN_OPENING}) == 3
    assert told(tmp_path, ("", "1. e4 c5"), ("", "1. e4 {a book} c5 {book}"), end=end) == [UNKNOWN_OPENING] * 2
    ours = '[Encounter "3"]\n[OpeningNumber "{}"]\n'
    one, own_book, other = told(
        tmp_path,
        (ours.format(7), "1. e4 {book} c5 {book} 2. Nf3 {0.1}"),
        (ours.format(7), "1. e4 {book} c5 {book} 2. Nc3 {book} Nc6 {book}"),
        (ours.format(8), "1. e4 {book} c5 {book} 2. Nf3 {0.1}"),
        end=end,
    )
    assert one == own_book != other


def test_tags_that_only_look_like_one(tmp_path: Path) -> None:
    """A quoted tag, a similar name, and two tags on a line are distinguished; the last of equal names counts."""
    alone, quoted, alike, in_line, twice, words = told(
        tmp_path,
        (FEN, "1. e4"),
        ('[Annotator "see [FEN 3]"]\n' + FEN, "1. e4"),
        ('[FENCE "x"]\n' + FEN, "1. e4"),
        ('[SetUp "1"] ' + FEN, "1. e4"),
        (OTHER + FEN, "1. e4"),
        ('[Annotator "see [FEN 3]"]\n', "1. e4 {[FEN 3]}"),
    )
    assert {alone, quoted, alike, in_line, twice} == {alone}
    assert alone != UNKNOWN_OPENING == words


def test_games_of_endless_length(tmp_path: Path) -> None:
    """Both readers read only the first bytes of a game."""
    long = "1. e4 {book} " + "e5 {book} " * LONGEST_OPENING
    assert len({*told(tmp_path, ("", long), ("", "1. e4 {book}")), UNKNOWN_OPENING}) == 3


def test_partners() -> None:
    """Partners have swapped colors, the same engines and opening; games without an opening have none."""
    partners = OpeningPairs[int]()
    games = [
        ("AB", 7, "white"),
        ("AB", 7, "white"),
        ("AC", 7, "black"),
        ("AB", 8, "black"),
        ("AB", 7, "black"),
        ("AB", UNKNOWN_OPENING, "white"),
        ("AB", UNKNOWN_OPENING, "black"),
        ("AB", 7, "black"),
        ("AB", 7, "black"),
        ("AB", 8, "white"),
    ]
    found = [partners.pair_of(*told, place) for place, told in enumerate(games)]  # type: ignore[arg-type]
    assert found == [0, 1, 2, 3, 0, 5, 6, 1, 8, 3]


# Pairs on one opening in files, for the errors of a list.

NAMES = (b"Ada", b"Bob", b"Cid", b"Bob 2")
WORDS = (b"1-0", b"1/2-1/2", b"0-1", b"*")
FENS = ('[FEN "4k3/8/8/8/8/1P6/8/4K3 w - - 0 1"]', '[FEN "4k3/8/8/8/8/2P5/8/4K3 w - - 0 1"]')

each = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from(WORDS), st.integers(0, 3), st.booleans()
)


def called(name: str) -> str | None:
    """Return one name for two versions, and None for an unwanted engine."""
    return {"Bob 2": "Bob", "Cid": None}.get(name, name)


@given(st.lists(each, max_size=60))
def test_pairs_are_those_that_the_tests_count(played: list[tuple[bytes, bytes, bytes, int, bool]]) -> None:
    """The pairs are the same as those found game by game."""
    games = GameColumns()
    games.add([row[0] for row in played], [row[1] for row in played], [row[2] for row in played], "here")
    games.openings.extend([opening for _, _, _, opening, _ in played])
    taken = np.array([wanted for *_, wanted in played], dtype=np.bool_)
    partners, points = OpeningPairs[int](), defaultdict[int, list[int]](list)
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
    """Write games given as White, Black, result and FEN tag."""
    path.write_text(
        pgn_text(*((white, black, result, f"{fen}\n") for white, black, result, fen in games), moves="1. Kd1")
    )
    return path


def test_openings_that_decide_games_make_errors_smaller(tmp_path: Path) -> None:
    """If the opening decides every game, errors are smaller."""
    path = written(tmp_path / "g.pgn", *((*ends, "1-0", FENS[0]) for _ in range(30) for ends in ("AB", "BA")))
    single, paired = listed(path), listed(path, "--pairs")
    assert [line["rating"] for line in single["list"]] == [line["rating"] for line in paired["list"]]
    ratio = row(paired, "A")["plus"] / row(single, "A")["plus"]
    # The prior has 20 pairs with the variance of independent games; of the 30 pairs one is used for the rating.
    assert ratio == pytest.approx((20 / 49) ** 0.5, rel=0.01)
    assert any(
        "errors by game pairs: 0.64 times those of single games, 30 game pairs" in line for line in paired["caption"]
    )


def test_games_that_are_no_pairs_are_told(tmp_path: Path) -> None:
    """Games without an opening, on different ones, or with one color have the errors of single games."""
    games = [("A", "B", "1-0", ""), ("B", "A", "1-0", ""), ("A", "B", "0-1", FENS[0]), ("B", "A", "0-1", FENS[1])]
    path = written(tmp_path / "g.pgn", *games, ("A", "B", "1-0", FENS[0]))
    assert "no game pairs found" in invoke_rate(path, "--pairs").output
    assert "no game pairs found" not in invoke_rate(path).output
    assert listed(path, "--pairs")["list"] == listed(path)["list"]


def test_names_and_filters_hold_for_pairs_too(tmp_path: Path) -> None:
    """Aliases, patterns and filters apply to pairs too."""
    games = [("A", "B", "1-0", FENS[0]), ("B old", "A", "0-1", FENS[0]), ("A", "B", "1-0", FENS[1])]
    path = written(tmp_path / "g.pgn", *games, ("B", "A", "1-0", FENS[1]), ("A", "C", "1/2-1/2", ""))
    told = [
        next((line for line in listed(path, "--pairs", *words)["caption"] if "errors by game pairs" in line), "none")
        for words in ((), ("--alias", "B old=B"), ("--exclude", "C"), ("--include", "A", "--include", "C"))
    ]
    assert [line.rpartition(", ")[2] for line in told] == ["1 game pair", "2 game pairs", "1 game pair", "none"]


# A sequential test of PGN files agrees with one of the database.


def pgn_text(*games: tuple[str, str, str, str], moves: str = "1. e4 {+0.3/9 1s} 1-0") -> str:
    """Return the PGN of games given as White, Black, result and further tags."""
    return "".join(
        f'[Event "E"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n{tags}\n{moves}\n\n'
        for white, black, result, tags in games
    )


def met(path: Path, *aliases: tuple[str, str]) -> list[tuple[object, int]]:
    return list(match_games(read_games([path]), EngineNames(dict(aliases)), "A", "B"))


def fen(number: int) -> str:
    """Return one of six different positions."""
    return f'[SetUp "1"]\n[FEN "4k3/8/8/8/8/{number}P{7 - number}/8/4K3 w - - 0 1"]\n'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "g.pgn"


def test_colors_swapped_on_one_position_are_a_pair(path: Path) -> None:
    """Two games with swapped colors on one position are a pair, wherever they are in the file."""
    path.write_text(
        pgn_text(
            ("A", "B", "1-0", fen(1)),
            ("A", "B", "1/2-1/2", fen(2)),
            ("C", "A", "1-0", fen(1)),
            ("A", "B", "0-1", fen(1)),
            ("B", "A", "0-1", fen(1)),
            ("B", "A", "1-0", fen(1)),
            ("B", "A", "*", fen(2)),
        )
    )
    games = met(path)
    assert [points for _, points in games] == [2, 1, 0, 2, 0]
    assert pair_half_points(games) == [4, 0]


def test_long_and_packed_files(tmp_path: Path, path: Path) -> None:
    """A pair may be in two files, packed or not, and in pieces of any size."""
    text = pgn_text(*[(*("AB" if number % 2 else "BA"), "1-0", fen(number // 2 % 4 + 1)) for number in range(40)])
    path.write_text(text)
    assert len(pair_half_points(met(path))) == 20
    packed = tmp_path / "more.pgn.gz"
    packed.write_bytes(gzip.compress((text + pgn_text(("A", "B", "1-0", fen(6)))).encode()))
    path.write_text(text + pgn_text(("B", "A", "1-0", fen(6))))
    assert len(pair_half_points(match_games(read_games([path, packed]), EngineNames(), "A", "B"))) == 41


def test_a_file_says_what_the_store_says(tmp_path: Path) -> None:
    """An exported match has the same pairs, counts and ratio as the database."""
    path = tmp_path / "match.pgn"
    outcomes = [Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.WHITE, Outcome.DRAW, Outcome.WHITE, Outcome.WHITE]
    with Store.open(tmp_path / "x.db") as store:
        log = store.create_tournament(draft())
        for number, outcome in enumerate(outcomes):
            names = ("Fruit", "Toga") if number % 2 == 0 else ("Toga", "Fruit")
            add_game(log, game(*names, outcome, meeting=number // 2 + 1, leg=number % 2 + 1))
        path.write_text("".join(export_pgn(log)))
    ours = unwrapped(invoke("ratings", "--all", "--sprt", "Fruit", "Toga", "0", "5", "--db", tmp_path / "x.db").stdout)
    theirs = unwrapped(invoke("rate", path, "--sprt", "Fruit", "Toga", "0", "5").stdout)
    for key in ("games", "wins", "pentanomial", "elo", "los", "sprt"):
        assert ours[key] == theirs[key]
    assert theirs["lone_games"] == 1


def invoke(*words: object) -> Result:
    return CliRunner().invoke(cli, [*map(str, words), "--json"], standalone_mode=True)


def test_names_and_refusals(path: Path) -> None:
    """Aliases count; unknown names, one engine twice and engines without common games raise an error."""
    path.write_text(pgn_text(("A", "B", "1-0", ""), ("A 2", "B", "1-0", ""), ("C", "B", "1-0", "")))
    assert [points for _, points in met(path, ("A 2", "A"))] == [2, 2]
    for words, refusal in (
        (("A", "D"), "no games of engine 'D' found"),
        (("A", "A"), "the same engine"),
        (("A", "C"), "there are no games between 'A' and 'C'"),
    ):
        done = invoke("rate", path, "--sprt", *words, 0, 5)
        assert isinstance(done.exception, UsageRefused)
        assert refusal in str(done.exception)
    for text in ("--min-games 3", "--since 2026-01-01", "--head-to-head A", "-o x.txt", "--errors-for A"):
        error = str(invoke("rate", path, "--sprt", "A", "B", 0, 5, *text.split()).exception)
        assert "--sprt: cannot be combined with" in error
    error = str(invoke("rate", path, "--sprt", "A", "B", 0, 5, "--pairs").exception)
    assert "--sprt: cannot be combined with --pairs" in error
    assert "--alpha: needs --sprt" in str(invoke("rate", path, "--alpha", "0.1").exception)
    assert unwrapped(invoke("rate", path, "--sprt", "A", "B", 0, 5, "--alias", "A 2=A").stdout)["games"] == 2
