"""Tests of openings/choice."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from enginetour.formats.pairing.schedule import match_games
from enginetour.interop.files import bundled_openings
from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening, Pairing
from enginetour.openings import books, choice
from enginetour.openings.books import read_openings
from enginetour.openings.choice import OpeningBook, OpeningSettings, load_opening_book, shuffled_places
from enginetour.openings.positions import WrittenOpening, check_opening
from enginetour.tournament.config import load
from tests.support.tournaments import audit, config, entrant, read, tour

# The opening with which a game starts.

OPENINGS = tuple(Opening(f"o{number}", number) for number in range(1, 8))


def _after(opening: Opening) -> chess.Board:
    board = chess.Board(opening.fen) if opening.fen else chess.Board()
    for move in opening.moves:
        board.push_uci(move)
    return board


def test_bundled_book() -> None:
    """The bundled book has 60 different named lines of 6 to 10 plies, quiet and with equal material."""
    book = load_opening_book(OpeningSettings(), seed=1, legs=2, folder=Path("/"))
    assert [opening.name for opening in book.openings] == [f"balanced {number}" for number in range(1, 61)]
    boards = [_after(opening) for opening in book.openings]
    assert len({board.epd() for board in boards}) == 60
    assert len({opening.moves[:4] for opening in book.openings}) == 60
    for opening, board in zip(book.openings, boards, strict=True):
        assert len(opening.moves) in (6, 8, 10)
        assert not board.is_check()
        worth = [sum(board.piece_map()[s].piece_type for s in chess.SquareSet(board.occupied_co[c])) for c in (0, 1)]
        assert abs(worth[0] - worth[1]) <= 1


def test_bundled_book_is_balanced() -> None:
    """Each line of the bundled book has an evaluation of at most 0.35 pawns."""
    lines = bundled_openings().read_text().splitlines()
    evals = [float(line.split('"')[1]) for line in lines if line.startswith("[Eval ")]
    assert len(evals) == 60
    assert max(map(abs, evals)) <= 0.35


def test_pairings_compare() -> None:
    """By default the n-th encounter of every pair uses the same opening in both games."""
    book = OpeningBook(OPENINGS, seed=5, order="random")
    for meeting in range(1, 10):
        picks = {
            book.pick(Pairing(white, black, meeting=meeting, leg=leg, encounter=encounter, round=encounter))
            for encounter, (white, black) in enumerate([("a", "b"), ("c", "a"), ("b", "c")], 10 * meeting)
            for leg in (1, 2)
        }
        assert len(picks) == 1


def test_single_games_vary() -> None:
    """Encounters of a single game use a new opening each, unless the configuration sets another rule."""
    settings = OpeningSettings(order="sequential")
    single = load_opening_book(settings, seed=1, legs=1, folder=Path("/"))
    assert [single.pick(Pairing("a", "b", encounter=n)).index for n in (1, 2, 3)] == [1, 2, 3]
    asked = load_opening_book(OpeningSettings(order="sequential", per="pairing"), seed=1, legs=1, folder=Path("/"))
    assert [asked.pick(Pairing("a", "b", encounter=n)).index for n in (1, 2, 3)] == [1, 1, 1]


@pytest.mark.parametrize(("listed", "indices"), [(False, [1, 2, 3]), (True, [1, 1, 1])])
def test_pairs_that_results_make_vary(listed: bool, indices: list[int]) -> None:
    """If all pairs are listed they share openings; if results decide who plays whom they do not."""
    book = load_opening_book(OpeningSettings(order="sequential"), seed=1, legs=2, listed=listed, folder=Path("/"))
    assert [book.pick(Pairing("a", name, encounter=n)).index for n, name in enumerate("bcd", 1)] == indices


def test_both_games_of_a_decider_have_one_opening() -> None:
    """A knockout of single games decides a drawn match by game pairs on one opening."""
    single = load_opening_book(OpeningSettings(order="sequential"), seed=1, legs=1, listed=False, folder=Path("/"))
    games = [match_games("a", "b", games=count, encounter=n, number=1) for n, count in enumerate((1, 2, 2, 1), 1)]
    assert [[single.pick(game).index for game in match] for match in games] == [[1], [2, 2], [3, 3], [4]]


def test_rounds() -> None:
    """With `per` round all games of a round share an opening."""
    book = OpeningBook(OPENINGS, per="round")
    games = (Pairing(white, "z", round=r, encounter=e) for r, e, white in ((1, 1, "a"), (1, 2, "b"), (2, 3, "a")))
    assert [book.pick(game).index for game in games] == [1, 1, 2]


@pytest.mark.parametrize(
    ("repeat", "legs", "indices"),
    [(2, 2, [1, 1, 2, 2, 3, 3]), (1, 2, [1, 2, 3, 4, 5, 6]), (4, 2, [1, 1, 1, 1, 2, 2]), (3, 3, [1, 1, 1, 2, 2, 2])],
)
def test_repeat(repeat: int, legs: int, indices: list[int]) -> None:
    """An opening is used for `repeat` games of a pair."""
    book = OpeningBook(OPENINGS, repeat=repeat, legs=legs)
    games = [Pairing("a", "b", meeting=n // legs + 1, leg=n % legs + 1) for n in range(6)]
    assert [book.pick(game).index for game in games] == indices


@given(
    seed=st.integers(0, 2**63),
    start=st.integers(1, 7),
    cycle=st.integers(0, 3),
    order=st.sampled_from(["random", "sequential"]),
)
def test_every_pass_uses_all(seed: int, start: int, cycle: int, order: str) -> None:
    """Each pass through the book uses every opening once, from any start, and passes are counted."""
    book = OpeningBook(OPENINGS, seed=seed, order="random" if order == "random" else "sequential", start=start)
    meetings = [Pairing("a", "b", meeting=n) for n in range(7 * cycle + 1, 7 * cycle + 8)]
    assert Counter(book.pick(meeting) for meeting in meetings) == Counter(OPENINGS)
    assert {book.dealing.uses(meeting) for meeting in meetings} == {cycle}
    if order == "sequential":
        assert book.pick(meetings[0]).index == start


def test_passes_differ() -> None:
    """Random order differs for every pass and every seed."""
    assert len({shuffled_places(seed, cycle, 30) for seed in range(5) for cycle in range(5)}) == 25


def test_random_is_dealt_in_the_order_of_the_shuffle() -> None:
    """The n-th opening of a pass is the n-th of the random order of that pass."""
    book = OpeningBook(OPENINGS, seed=5, order="random")
    dealt = [book.pick(Pairing("a", "b", meeting=n)) for n in range(1, 15)]
    for cycle in (0, 1):
        assert dealt[7 * cycle : 7 * cycle + 7] == [OPENINGS[place] for place in shuffled_places(5, cycle, 7)]
    assert dealt[:7] != dealt[7:] != list(OPENINGS)


def test_order_is_fixed_for_ever() -> None:
    """The random order does not depend on Python's hash seed or version."""
    assert shuffled_places(7, 0, 10) == (7, 6, 3, 8, 1, 4, 2, 5, 0, 9)
    assert shuffled_places(7, 1, 10) == (0, 7, 8, 6, 4, 5, 9, 1, 3, 2)


def test_settings_are_strict() -> None:
    """Unknown keys and impossible numbers raise an error."""
    for wrong in ({"ordre": "random"}, {"start": 0}, {"plies": -1}, {"order": "reverse"}, {"repeat": 0}):
        with pytest.raises(ValidationError):
            OpeningSettings.model_validate(wrong)


def test_bad_openings(tmp_path: Path) -> None:
    """An invalid opening raises an error with file and line; `skip_bad` skips it with a note."""
    (tmp_path / "s.epd").write_text("4k3/8/8/8/8/8/P7/4K3 w - -\n8/8/8/8/8/8/8/8 w - -\n")
    with pytest.raises(InputRefused, match=r"s\.epd:2: invalid opening: impossible position .*skip_bad"):
        load_opening_book(OpeningSettings(file="s.epd"), seed=1, legs=2, folder=tmp_path)
    book = load_opening_book(OpeningSettings(file="s.epd", skip_bad=True), seed=1, legs=2, folder=tmp_path)
    assert len(book.openings) == 1
    words = (
        f"openings: 1 of 2 skipped because they cannot be played; first: {tmp_path / 's.epd'}:2: impossible position "
    )
    assert book.left_out.count == 1
    assert book.left_out.first.startswith(f"{tmp_path / 's.epd'}:2: ")
    assert str(book.left_out).startswith(words)


def test_openings_that_were_left_out_are_told(tmp_path: Path) -> None:
    """`check`, its JSON and each start of a run show the first skipped opening and their number."""
    (tmp_path / "s.epd").write_text("4k3/8/8/8/8/8/P7/4K3 w - -\n8/8/8/8/8/8/8/8 w - -\n\nnonsense\n")
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 2")
    assert "skipped" not in tour(tmp_path, "check", path.name).stdout
    assert read(tmp_path, "check", path.name)["openings_left_out"]["count"] == 0
    text = path.read_text().replace("[play]", '[play]\nopenings = { file = "s.epd", skip_bad = true }')
    path.write_text(text)
    first = f"{tmp_path / 's.epd'}:2: impossible position "
    words = f"warning: openings: 2 of 3 skipped because they cannot be played; first: {first}"
    assert words in tour(tmp_path, "check", path.name).stdout
    left_out = read(tmp_path, "check", path.name)["openings_left_out"]
    assert (left_out["count"], left_out["of"], left_out["whole"]) == (2, 3, True)
    assert left_out["first"].startswith(f"{tmp_path / 's.epd'}:2: impossible position ")
    for more, code in (("1", 8), ("1", 0)):
        done = tour(tmp_path, "run", path.name, "--max-games", more, expect=code)
        assert (done.stdout + done.stderr).count(words) == 1


def test_no_openings(tmp_path: Path) -> None:
    """A file without a valid opening raises an error."""
    (tmp_path / "s.epd").write_text("\n# nothing\n")
    with pytest.raises(InputRefused, match="no valid openings found"):
        load_opening_book(OpeningSettings(file="s.epd"), seed=1, legs=2, folder=tmp_path)


def test_start_wraps() -> None:
    """A `start` beyond the end continues from the beginning."""
    book = load_opening_book(OpeningSettings(order="sequential", start=63), seed=1, legs=2, folder=Path("/"))
    assert book.pick(Pairing("a", "b")).index == 3
    assert book.dealing.uses(Pairing("a", "b")) == 0


def test_plies_cut() -> None:
    """`plies` cuts every line, and never lengthens one."""
    cut = load_opening_book(OpeningSettings(plies=7), seed=1, legs=2, folder=Path("/"))
    whole = tuple(read_openings(bundled_openings()))
    assert [o.moves for o in cut.openings] == [o.moves[:7] for o in whole if isinstance(o, Opening)]


def test_moves_cut(tmp_path: Path) -> None:
    """`moves` cuts after whole moves of two plies, counted from the start of the line."""
    cut = load_opening_book(OpeningSettings(moves=2), seed=1, legs=2, folder=Path("/"))
    whole = tuple(read_openings(bundled_openings()))
    assert [o.moves for o in cut.openings] == [o.moves[:4] for o in whole if isinstance(o, Opening)]
    assert {len(o.moves) for o in cut.openings} == {4}
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
    (tmp_path / "s.pgn").write_text(f'[SetUp "1"]\n[FEN "{fen}"]\n\n1... e5 2. Nf3 Nc6 3. Bb5 *\n')
    (opening,) = load_opening_book(OpeningSettings(file="s.pgn", moves=1), seed=1, legs=2, folder=tmp_path).openings
    assert opening.moves == ("e7e5", "g1f3")


def test_a_line_cut_to_nothing_has_no_name() -> None:
    """A line cut to nothing loses its name; a given position keeps it."""
    cut = load_opening_book(OpeningSettings(plies=0), seed=1, legs=2, folder=Path("/"))
    assert {(opening.name, opening.eco) for opening in cut.openings} == {("", "")}
    written = WrittenOpening(1, "Catalan", "E04", None, ((1, "d4"),))
    assert check_opening(written, 0) == Opening()
    assert check_opening(written, 1) == Opening("Catalan", moves=("d2d4",), eco="E04")
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
    assert check_opening(replace(written, name="1. e4", fen=fen, sans=()), 0) == Opening("1. e4", fen=fen, eco="E04")


def test_init_takes_openings_and_variant(tmp_path: Path) -> None:
    """`init` writes the given openings and variant, and rejects an unknown variant."""
    new, here = tmp_path / "new.toml", tmp_path / "here"
    here.mkdir()
    wish = ("init", str(new), "--openings", "my book.bin", "--variant")
    assert "did you mean 'atomic'" in tour(here, *wish, "atom", expect=2).stderr
    assert not new.exists()
    tour(here, *wish, "chess960")
    play = load.load(new).play
    assert (play.openings.file, play.variant) == (str(here / "my book.bin"), "chess960")


def test_a_book_that_was_used_up_is_told() -> None:
    """The note about a book that was used up appears with the first repeated opening."""
    book = OpeningBook(OPENINGS)
    assert book.wrapped(Pairing("a", "b", meeting=n) for n in range(1, 8)) == ""
    told = "all 7 openings were used, and the book was started again once"
    assert book.wrapped([Pairing("a", "b", meeting=8)]) == told
    alone = OpeningBook(OPENINGS[:1], source="the initial position of horde")
    told = "all games started from the only opening (the initial position of horde)"
    assert alone.wrapped([Pairing("a", "b", meeting=8)]) == told


def test_a_run_tells_at_its_end_that_openings_came_again(tmp_path: Path) -> None:
    """A run notes at its end that openings were used again, if the book was used up."""
    (tmp_path / "two.epd").write_text("4k3/8/8/8/8/8/8/R3K3 w - -\n4k3/8/8/8/8/8/8/1R2K3 w - -\n")
    path = config(tmp_path, ("wren1", "wren2"), "match", "games = 6\ngames_per_pairing = 2")
    path.write_text(path.read_text().replace("[play]", '[play]\nopenings = { file = "two.epd" }'))
    told = "all 2 openings were used, and the book was started again once\n"
    assert told not in tour(tmp_path, "run", str(path), "--max-games", "4", expect=8).stdout
    assert told in tour(tmp_path, "run", str(path)).stdout


def test_a_plan_says_how_many_of_the_openings_are_played() -> None:
    """The plan shows how many openings of a larger book are played."""
    book = OpeningBook(OPENINGS)
    fresh = 'to use different openings for each pair, set per = "encounter" in openings'
    assert book.shared(2) == f", of which all pairs play the same one; {fresh}"
    assert "the same 2;" in book.shared(4)
    assert book.shared(2 * len(OPENINGS)) == replace(book, per="encounter").shared(2) == ""


def test_positions_by_number(tmp_path: Path) -> None:
    """Chess960 uses all start positions or the listed ones; other variants have none."""
    drawn = load_opening_book(OpeningSettings(), seed=4, legs=2, folder=tmp_path, variant="chess960")
    picks = [drawn.pick(Pairing("a", "b", meeting=n)) for n in range(1, 961)]
    assert {pick.index for pick in picks} == set(range(1, 961))
    named = OpeningSettings(positions=(518, 0), order="sequential")
    book = load_opening_book(named, seed=4, legs=2, folder=tmp_path, variant="chess960")
    assert [opening.name for opening in book.openings] == ["SP 518", "SP 0"]
    assert book.openings[0].fen == chess.STARTING_FEN
    double = load_opening_book(OpeningSettings(), seed=4, legs=2, folder=tmp_path, variant="double-chess960")
    assert len(double.openings) == 960 * 960
    fen = double.pick(Pairing("a", "b")).fen
    assert chess.Board(fen, chess960=True).status() == chess.STATUS_VALID
    with pytest.raises(InputRefused, match="the variant is standard"):
        load_opening_book(named, seed=4, legs=2, folder=tmp_path)
    with pytest.raises(InputRefused, match=r"must be between 0 and 959 \(found 960\)"):
        load_opening_book(OpeningSettings(positions=(960,)), seed=4, legs=2, folder=tmp_path, variant="chess960")


@pytest.mark.parametrize("wrong", [{"plies": 3, "moves": 2}, {"positions": [1], "file": "x"}, {"positions": []}])
def test_settings_that_exclude_each_other(wrong: dict[str, object]) -> None:
    """Settings that exclude each other raise an error."""
    with pytest.raises(ValidationError):
        OpeningSettings.model_validate(wrong)


@pytest.mark.parametrize("key", ["swap", "reverse"])
def test_colors_are_a_setting_of_the_format(key: str) -> None:
    """The error for a key of the format names the section [format]."""
    with pytest.raises(ValidationError, match=rf"{key} is a key of \[format\], not of \[play\.openings\]"):
        OpeningSettings.model_validate({key: False})


@pytest.mark.parametrize(("cycles", "told"), [(2, False), (3, True)])
def test_a_book_that_was_used_up_is_told_in_the_report(tmp_path: Path, cycles: int, told: bool) -> None:
    """The report notes that openings were used again."""
    (tmp_path / "two.epd").write_text("4k3/8/8/8/8/8/P7/4K3 w - -\n4k3/p7/8/8/8/8/8/4K3 w - -\n")
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", f"games_per_pairing = 2\ncycles = {cycles}")
    text = path.read_text().replace("[report]", 'max_moves = 2\n[play.openings]\nfile = "two.epd"\n[report]')
    path.write_text(text)
    tour(tmp_path, "run", str(path))
    tour(tmp_path, "report")
    (page,) = (tmp_path / "results").glob("*/fairness.html")
    assert ("All 2 openings were used, and the book was started again once." in page.read_text()) is told


# Large books are checked only as far as needed before game 1.

GOOD = "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n"
OVER = "7k/5Q2/6K1/8/8/8/8/8 b - -\n"  # stalemate
MANY = 40
ROOT = Path(__file__).parents[2]


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat a file of forty positions as a large one."""
    monkeypatch.setattr(books, "LARGE", 1000)


def written(folder: Path, *bad: int) -> None:
    """Write a book in which the positions with these numbers (from 1) cannot be played."""
    lines = [OVER if number in bad else GOOD for number in range(1, MANY + 1)]
    (folder / "suite.epd").write_text("".join(lines))


def tournament(folder: Path, engines: tuple[str, ...], settings: str = "", *, order: str = "file", **more: str) -> Path:
    """Write a configuration that uses the book; `order` is that of the starting list."""
    path = config(folder, engines, "roundrobin", settings or "games_per_pairing = 1", more.get("entrants", ""))
    book = f'[play.openings]\nfile = "suite.epd"\norder = "{more.get("dealt", "sequential")}"\n[report]'
    text = path.read_text().replace("[report]", book).replace("seed = 4", f'seed = 4\norder = "{order}"')
    path.write_text(text)
    return path


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("order", ["rating", "standings"])
def test_a_starting_list_by_what_the_database_knows(tmp_path: Path, order: str) -> None:
    """The order of the starting list does not change how many openings are needed."""
    written(tmp_path, 1)
    path = tournament(tmp_path, ("wren1", "wren2"), order=order)
    for command in ("check", "run"):
        assert (
            "suite.epd:1: invalid opening: the final position is stalemate"
            in tour(tmp_path, command, str(path), expect=3).stderr
        )
    assert not (tmp_path / "results").exists()


@pytest.mark.usefixtures("few")
def test_an_edition_deals_in_its_own_order(tmp_path: Path) -> None:
    """The first openings of the second edition are checked, not those of the first."""
    written(tmp_path)
    path = tournament(tmp_path, ("wren1", "wren2"), dealt="random")
    read = OpeningSettings(file="suite.epd")
    book = choice.load_opening_book(read, seed=4, legs=1, folder=tmp_path)
    first, second = (book.seeded(4 + (number - 1) * (1 << 32))._place(0) + 1 for number in (1, 2))
    assert first != second
    written(tmp_path, second)
    tour(tmp_path, "run", str(path))
    for command in (("check", str(path)), ("run", str(path), "--new")):
        assert (
            f"suite.epd:{second}: invalid opening: the final position is stalemate"
            in tour(tmp_path, *command, expect=3).stderr
        )
    assert audit(tmp_path) == 1
    path.write_text(path.read_text().replace("games_per_pairing = 1", "games_per_pairing = 1\ncycles = 2"))
    for command in (("check", str(path)), ("run", str(path))):  # the first edition continues: its openings are valid
        tour(tmp_path, *command)
    assert audit(tmp_path) == 2


@pytest.mark.usefixtures("few")
def test_what_comes_next_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At each resume the next openings are checked, not the first ones again."""
    monkeypatch.setattr(choice, "AHEAD", 10)
    written(tmp_path, 14)
    path = tournament(tmp_path, ("wren1", "wren2"), "games_per_pairing = 1\ncycles = 20")
    tour(tmp_path, "run", str(path), "--max-games", "12", expect=8)
    for command in ("check", "run"):
        assert (
            "suite.epd:14: invalid opening: the final position is stalemate"
            in tour(tmp_path, command, str(path), expect=3).stderr
        )
    assert audit(tmp_path) == 12


@pytest.mark.usefixtures("few")
def test_encounters_are_numbered_past_games(tmp_path: Path) -> None:
    """Encounters of an engine that has left are not played, but keep their numbers."""
    written(tmp_path, 8, 9, 10, 11, 12)
    path = tournament(tmp_path, ("wren1", "wren2", "wren3", "wren4"))
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    tour(tmp_path, "withdraw", "Wren 4")
    tour(tmp_path, "run", str(path))
    played = audit(tmp_path)
    path.write_text(path.read_text().replace("games_per_pairing = 1", "games_per_pairing = 1\ncycles = 2"))
    for command in ("check", "run"):
        assert (
            "suite.epd:8: invalid opening: the final position is stalemate"
            in tour(tmp_path, command, str(path), expect=3).stderr
        )
    assert audit(tmp_path) == played


@pytest.mark.usefixtures("few")
def test_more_cycles_with_an_engine_gone(tmp_path: Path) -> None:
    """A tournament checks the additional openings before it grows."""
    written(tmp_path, 14)  # of 12 games, then 14
    program = tmp_path / "guest"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {ROOT / 'engines' / 'wren.py'}\n")
    program.chmod(0o755)
    guest = entrant("Guest", ["./guest"])
    path = tournament(tmp_path, ("wren1", "wren2"), "games_per_pairing = 2\ncycles = 2", entrants=guest)
    tour(tmp_path, "run", str(path))
    tour(tmp_path, "withdraw", "Guest")
    program.unlink()
    path.write_text(path.read_text().replace("cycles = 2", "cycles = 3"))
    assert (
        "suite.epd:14: invalid opening: the final position is stalemate"
        in tour(tmp_path, "run", str(path), expect=3).stderr
    )
    assert audit(tmp_path) == 12
