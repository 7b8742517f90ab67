"""Tests of openings/books."""

from __future__ import annotations

import gzip
import itertools
import zipfile
from pathlib import Path

import pytest

from enginetour.interop.files import bundled_openings
from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening
from enginetour.openings import choice
from enginetour.openings.books import HeldGames, read_openings
from enginetour.openings.choice import OpeningBook, OpeningSettings
from enginetour.openings.positions import BadOpening
from tests.support.tournaments import config, tour

# Large books of PGN games, which are read as a whole and checked on request.

GOOD = '[Event "x"]\n\n1. e4 e5\n2. Nf3 Nc6 *\n\n'
ILLEGAL = '[Event "x"]\n\n1. e4 e5\n2. Ke3 *\n\n'
BROKEN = '[Event "x"]\n[Variant "atomic"]\n\n1. e4 *\n\n'


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat a file of four games as a large one."""
    monkeypatch.setattr(choice, "GAMES_AHEAD", 3)


def book(tmp_path: Path, *games: str, **settings: object) -> OpeningBook:
    """Return the book of these games, in order, one per encounter."""
    (tmp_path / "a.pgn").write_text("".join(games))
    read = OpeningSettings(file="a.pgn", order="sequential", **settings)  # type: ignore[arg-type]
    return choice.load_opening_book(read, seed=1, legs=1, folder=tmp_path)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("plies", [None, 4, 0])
def test_they_are_those_that_are_checked_at_once(plies: int | None) -> None:
    """A large book gives the same openings as a small one."""
    held = HeldGames(bundled_openings(), plies)
    assert list(held) == list(read_openings(bundled_openings(), plies))
    assert held[-1] == held[59]
    assert held[3:9:2] == [held[3], held[5], held[7]]
    with pytest.raises(IndexError):
        held[60]


@pytest.mark.usefixtures("few")
def test_only_what_is_needed_is_checked(tmp_path: Path) -> None:
    """Only openings that are needed are checked; an error names the line of the illegal move."""
    found = book(tmp_path, *[GOOD] * 4, ILLEGAL)
    assert isinstance(found.openings, HeldGames)
    found.check(4)
    bad = r"a\.pgn:24: invalid opening: illegal or unreadable move 'Ke3' after 2 plies.*correct.*skip_bad = true"
    with pytest.raises(InputRefused, match=bad):
        found.openings[4]
    with pytest.raises(InputRefused, match=r"a\.pgn:4: invalid opening: illegal"):
        book(tmp_path, ILLEGAL, *[GOOD] * 4).check(1)
    with pytest.raises(
        InputRefused, match=r"a\.pgn:17: invalid opening: illegal"
    ):  # a small book is checked as a whole
        book(tmp_path, GOOD, GOOD, ILLEGAL.replace("\n", "\n\n\n\n", 1))


@pytest.mark.usefixtures("few")
def test_what_is_no_game_is_refused_at_once(tmp_path: Path) -> None:
    """A game that cannot be read raises an error at once, or is skipped and counted."""
    with pytest.raises(InputRefused, match=r"a\.pgn:21: invalid opening: the game is of variant 'atomic'"):
        book(tmp_path, *[GOOD] * 4, BROKEN)
    found = book(tmp_path, *[GOOD] * 4, BROKEN, ILLEGAL, skip_bad=True)
    assert (len(found.openings), found.left_out.count) == (4, 2)


@pytest.mark.usefixtures("few")
def test_a_tournament_from_a_large_book(tmp_path: Path) -> None:
    """A large book is checked and played; lines longer than the games raise an error."""
    (tmp_path / "a.pgn").write_text("".join(itertools.repeat(GOOD, 8)))
    path = config(tmp_path, ("wren1", "wren2"), "roundrobin", "games_per_pairing = 2")
    path.write_text(path.read_text().replace("[play]\n", '[play]\nopenings = { file = "a.pgn" }\n'))
    assert "openings: 8 from" in tour(tmp_path, "check", path.name).stdout
    tour(tmp_path, "run", path.name)
    assert '[OpeningPlies "4"]' in tour(tmp_path, "export", "pgn").stdout
    path.write_text(path.read_text().replace("[play]\n", "[play]\nmax_moves = 2\n"))
    words = "max_moves 2 is reached during the opening 'x', which has 4 plies"
    assert words in tour(tmp_path, "check", path.name, expect=3).stderr


# Opening books as text.

MATED = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3"


def _read(tmp_path: Path, text: str, name: str, plies: int | None = None) -> list[Opening | BadOpening]:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    return list(read_openings(tmp_path / name, plies))


PGN = """\
% a line to be passed over
[Event "First \\"one\\""]
[Result "1-0"]

1. e4 {a (comment; with 1. d4
} e5 $1 2.Nf3 (2. f4 exf4 (2... d5)) 2... Nc6 ; to the end of the line 3. Bb5
3. O-O-O?! *
[Event "Second"]
[ECO "A00"]
[FEN "4k3/8/8/8/8/8/P7/4K2R w K - 3 40"]
[SetUp "1"]
1. 0-0 1-0

1.e4 e5 2... Ke7 1/2-1/2
[Event "Position only"]
[Opening "Kings"]
[FEN "4k3/8/8/8/8/8/P7/4K2R b K - 0 40"]

[Event "?"]

1. d4"""


def test_pgn(tmp_path: Path) -> None:
    """Games with comments, variations, glyphs, any castling notation, or only tags are read."""
    found = _read(tmp_path, PGN, "s.pgn")
    assert found == [
        BadOpening(7, "illegal or unreadable move 'O-O-O' after 4 plies"),
        Opening("A00", 1, "4k3/8/8/8/8/8/P7/4K2R w K - 3 40", ("e1g1",), "A00"),
        BadOpening(14, "illegal or unreadable move 'Ke7' after 2 plies"),
        Opening("Kings", 2, "4k3/8/8/8/8/8/P7/4K2R b K - 0 40", ()),
        Opening("", 3, None, ("d2d4",)),
    ]
    assert _read(tmp_path, PGN, "s.pgn", plies=1)[0] == Opening('First "one"', 1, None, ("e2e4",))


EPD = f"""\
\ufeffrnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - id "the start"; bm e4;\r
4k3/8/8/8/8/8/P7/4K3 b - - hmvc 12; fmvn 34; id "count; ers";
4k3/8/8/8/8/8/P7/4K3 b - - 5 60
4k3/8/8/8/8/8/P7/4K3 b - - 5 60 id "both";

4k3/8/8/8/8/8/P7/4K3 b -
4k3/8/8/8/8/8/8/4K3 b - -
{MATED}
4k3/8/8/8/8/8/P7/4K3 w - - 100 90
7k/5K2/6Q1/8/8/8/8/8 b - - 0 1
4k3/8/8/8/8/8/8/4KR1R w Q -
nonsense in four fields
4k3/8/8/8/8/8/P7/4K3 b - - hmvc x;
"""


def test_epd(tmp_path: Path) -> None:
    """The operations id, hmvc and fmvn are kept; positions without moves are invalid."""
    found = _read(tmp_path, EPD, "s.epd")
    good = [one for one in found if isinstance(one, Opening)]
    assert good == [
        Opening("the start", 1, None),
        Opening("count; ers", 2, "4k3/8/8/8/8/8/P7/4K3 b - - 12 34"),
        Opening("", 3, "4k3/8/8/8/8/8/P7/4K3 b - - 5 60"),
        Opening("both", 4, "4k3/8/8/8/8/8/P7/4K3 b - - 5 60"),
    ]
    bad = [(one.line, one.why) for one in found if isinstance(one, BadOpening)]
    words = (
        "not a valid FEN",
        "neither side",
        "checkmate",
        "fifty",
        "stalemate",
        "castling",
        "not a valid position",
        "whole num",
    )
    assert [line for line, _ in bad] == list(range(6, 14))
    assert [word for (_, why), word in zip(bad, words, strict=True) if word not in why] == []


def test_repetition(tmp_path: Path) -> None:
    """A line with a threefold repetition is invalid."""
    knights = "Nf3 Nf6 Ng1 Ng8 " * 2
    assert _read(tmp_path, knights + "*", "s.pgn") == [BadOpening(1, "threefold repetition after 8 plies")]
    assert isinstance(_read(tmp_path, knights + "*", "s.pgn", plies=7)[0], Opening)


def test_whole_games(tmp_path: Path) -> None:
    """A finished game is invalid with a hint, and valid if cut."""
    game = "1. f3 e5 2. g4 Qh4# 0-1"
    assert _read(tmp_path, game, "s.pgn") == [
        BadOpening(1, "the final position is checkmate; set plies to cut whole games")
    ]
    assert _read(tmp_path, game, "s.pgn", plies=3) == [Opening("", 1, None, ("f2f3", "e7e5", "g2g4"))]


def test_no_reply(tmp_path: Path) -> None:
    """A position whose only move is stalemate is invalid."""
    found = _read(tmp_path, "7K/7q/8/8/1Q6/8/p7/k7 w - - 0 1", "s.fen")
    assert found == [BadOpening(1, "every move ends the game")]


def test_variants(tmp_path: Path) -> None:
    """Books of other variants are invalid, with the name of the variant."""
    found = _read(tmp_path, '[Variant "Crazyhouse"]\n\n1. e4 *', "s.pgn")
    assert found == [BadOpening(1, "the game is of variant 'Crazyhouse', but the variant is standard")]


@pytest.mark.parametrize("name", ["s.pgn.gz", "s.gz", "book"])
def test_packed_or_nameless(tmp_path: Path, name: str) -> None:
    """Gzip is recognized by its first bytes, PGN by its first character."""
    text = b'\n[Event "x"]\n\n1. e4 *'
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    assert list(read_openings(tmp_path / name)) == [Opening("x", 1, None, ("e2e4",))]


def test_hostile(tmp_path: Path) -> None:
    """A very long line gives one message, and damaged gzip raises an error."""
    fen = "4k3/8/8/8/8/8/P7/4K3 w - - 0 1"
    found = _read(tmp_path, "x" * 1_000_000 + "\n" + fen + "\n", "s.epd")
    assert found == [BadOpening(1, "the line is longer than 65,536 bytes"), Opening("", 1, fen)]
    (tmp_path / "s.epd.gz").write_bytes(gzip.compress(b"hello " * 1000)[:30])
    with pytest.raises(InputRefused, match="damaged gzip"):
        list(read_openings(tmp_path / "s.epd.gz"))
    for name in ("none.pgn", "none.epd"):
        with pytest.raises(InputRefused, match="not found"):
            list(read_openings(tmp_path / name))
    assert _read(tmp_path, "1. e4 {never closed", "s.pgn") == [BadOpening(1, "a comment or variation is not closed")]


def test_names_are_clean(tmp_path: Path) -> None:
    """Names do not contain control characters."""
    found = _read(tmp_path, '[Opening "a\x1b[31m\u202eb  c"]\n\n1. e4 *', "s.pgn")
    assert [one.name for one in found if isinstance(one, Opening)] == ["a[31mb c"]


ANNOTATED = """\
[Event "Both"] [Opening "Dragon"]

1. e4! e5?! 2. Nf3 !? Nc6?? *
[Event "One a line"][Result "*"] 1. d4! d5 *
[Opening "The "Dragon""]
[White "A \\"B\\""]

1. c4 !! *
"""


def test_annotated_games(tmp_path: Path) -> None:
    """Annotations of moves, several tags per line and quotes in tags are read."""
    found = _read(tmp_path, ANNOTATED, "s.pgn")
    assert found == [
        Opening("Dragon", 1, None, ("e2e4", "e7e5", "g1f3", "b8c6")),
        Opening("One a line", 2, None, ("d2d4", "d7d5")),
        Opening('The "Dragon"', 3, None, ("c2c4",)),
    ]


def test_files_of_windows(tmp_path: Path) -> None:
    """Names in cp1252 are kept; UTF-16 raises an error that names it."""
    text = '[Opening "Grünfeld"]\r\n\r\n1. d4 {für} Nf6 *\r\n'
    (tmp_path / "s.pgn").write_bytes(text.encode("cp1252") + b"\x1a")  # DOS programs end files with ^Z
    assert list(read_openings(tmp_path / "s.pgn")) == [Opening("Grünfeld", 1, None, ("d2d4", "g8f6"))]
    (tmp_path / "s.pgn").write_bytes(text.encode("utf-16"))
    with pytest.raises(InputRefused, match="UTF-16"):
        list(read_openings(tmp_path / "s.pgn"))


def test_packed_otherwise(tmp_path: Path) -> None:
    """Zip and other packed files raise an error that names the format."""
    with zipfile.ZipFile(tmp_path / "s.pgn.zip", "w") as packed:
        packed.writestr("s.pgn", "1. e4 *")
    with pytest.raises(InputRefused, match="zip files are not supported"):
        list(read_openings(tmp_path / "s.pgn.zip"))


def test_an_opening_behind_a_wall_of_pawns_is_no_game(tmp_path: Path) -> None:
    """A position behind a wall of pawns is invalid, because nobody can checkmate (FIDE 5.2.2)."""
    wall = "4k3/8/8/p1p1p1p1/P1P1P1P1/8/8/4K3 w - - 0 1"
    assert _read(tmp_path, wall, "s.fen") == [BadOpening(1, "neither side can checkmate")]
    open_ = "4k3/8/8/p1p1p1p1/P1P1P1P1/8/8/4K1N1 w - - 0 1"
    assert _read(tmp_path, open_, "s.fen") == [Opening("", 1, open_)]


CASES = Path(__file__).parents[1] / "cases" / "openings"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("en-passant-suffix", Opening("ep", 1, None, ("e2e4", "g8f6", "e4e5", "d7d5", "e5d6", "e7d6", "d2d4"))),
        (
            "informant-signs",
            Opening("dots", 1, None, ("e2e4", "e7e5", "g1f3", "b8c6", "f1b5", "a7a6", "b5c6", "d7c6", "e1g1")),
        ),
        ("bom-and-one-cp1252-byte", Opening("R\u00e9sum\u00e9", 1, None, ("e2e4", "e7e5"))),
    ],
)
def test_files_of_other_programs(name: str, found: Opening) -> None:
    """Annotations of moves and a byte order mark are ignored."""
    assert list(read_openings(CASES / f"{name}.pgn")) == [found]


@pytest.mark.parametrize(
    "moves",
    [
        "1. e4! d5?! 2. e5+= f5\u00b1 3. exf6ep+- \u221e Nxf6\u2a72 N 4.d4 TN $14 D *",
        "1.e4 !? d5 = 2.e5 (=) f5 3.exf6 e.p. +/- Nxf6 4. d4-+ {D} *",
        "1.e4 d5 2.e5 f5 3.exf6e.p.! Nxf6 -/+ 4. d4\u25a1 1-0",
    ],
)
def test_signs_behind_moves(tmp_path: Path, moves: str) -> None:
    """Annotations are ignored with or without a space before them."""
    played = ("e2e4", "d7d5", "e4e5", "f7f5", "e5f6", "g8f6", "d2d4")
    assert _read(tmp_path, moves, "s.pgn") == [Opening("", 1, None, played)]


@pytest.mark.parametrize(("moves", "word"), [("1. e4 -- *", "null moves"), ("1. e4 X *", "'X'"), ("1. e4 e *", "'e'")])
def test_what_is_no_sign_stays_unreadable(tmp_path: Path, moves: str, word: str) -> None:
    """A null move and unknown text after a move are invalid."""
    (bad,) = _read(tmp_path, moves, "s.pgn")
    assert isinstance(bad, BadOpening) and word in bad.why
