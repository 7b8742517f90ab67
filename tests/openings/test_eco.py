"""Names of openings from files of other programs."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import chess.pgn
import pytest

from enginetour.model.errors import InputRefused
from enginetour.model.game import Game, MoveMade, Opening
from enginetour.openings.eco import OpeningNames, read_opening_names
from tests.support.databases import game
from tests.support.tournaments import config, tour

CODES = """\
A file of codes begins with words of its makers { in braces, too }

[ECO "C20"]
[Opening "King's pawn game"]

1. e4 e5 *

[ECO "C41"]
[Opening "Philidor"]
[Variation "Hanham variation"]

1. e4 e5 2. Nf3 d6 3. d4 Nf6 4. Nc3 Nbd7 *

[ECO "C20"]
[Opening "King's pawn game"]
[Variation "with a move that is none"]

1. e4 e5 2. Ke3 *

[ECO "A00"]
[Opening "Fool's mate"]

1. f3 e5 2. g4 Qh4 *
"""
TABLE = """\
eco\tname\tpgn
C20\tKing's Pawn Game\t1. e4 e5
C41\tPhilidor Defense: Hanham\t1.e4 e5 2.Nf3 d6 3.d4 Nf6 4.Nc3 Nbd7
"""


def played(sans: str, opening: Opening | None = None) -> Game:
    """Return a game of these moves."""
    opening = opening or Opening()
    board = chess.Board(opening.fen or chess.STARTING_FEN)
    moves = tuple(MoveMade(board.push_san(san).uci(), san) for san in sans.split())
    return replace(game(), opening=opening, moves=moves)


@pytest.fixture(params=["eco.pgn", "all.tsv"])
def names(request: pytest.FixtureRequest, tmp_path: Path) -> OpeningNames:
    """Yield names from both kinds of files with the same content."""
    path = tmp_path / request.param
    path.write_text(CODES if path.suffix == ".pgn" else TABLE)
    return read_opening_names(path, "eco")


def test_the_deepest_position_counts(names: OpeningNames) -> None:
    """The deepest known position gives the name, also after another order of moves."""
    assert names.of(played("e4 e5 Nc3"))[0] == "C20"  # type: ignore[index]
    found = names.of(played("e4 d6 d4 Nf6 Nc3 Nbd7 Nf3 e5 Bc4 Be7 O-O"))
    assert found is not None
    assert found[0] == "C41"
    assert re.fullmatch("Philidor, Hanham variation|Philidor Defense: Hanham", found[1])
    assert names.of(played("d4 d5")) is None


def test_positions_that_games_begin_with(names: OpeningNames) -> None:
    """Games from a given position get names too; other variants do not."""
    after = chess.Board()
    after.push_san("e4")
    assert names.of(played("e5", Opening(fen=after.fen())))[0] == "C20"  # type: ignore[index]
    assert names.of(played("e4 e5", Opening(variant="atomic"))) is None


def test_a_tournament_has_names_in_its_pgn(tmp_path: Path) -> None:
    """The PGN of a tournament and its export have codes and names; the setting may change later."""
    (tmp_path / "eco.pgn").write_text(CODES)
    (tmp_path / "suite.pgn").write_text('[ECO "B00"]\n[Opening "Mine"]\n\n1. e4 e5 *\n\n[ECO "D00"]\n\n1. d4 d5 *\n')
    path = config(tmp_path, ("wren1", "wren4"), "roundrobin", "cycles = 2")
    setting = '[play]\neco = "eco.pgn"\nopenings = { file = "suite.pgn" }\n'
    path.write_text(path.read_text().replace("[play]\n", setting))
    tour(tmp_path, "run", str(path), "--max-games", "1", expect=8)
    tour(tmp_path, "run", str(path))
    text = next((tmp_path / "results").glob("*.pgn")).read_text()
    assert set(re.findall(r'\[(?:ECO|Opening) "(.*)"', text)) == {"C20", "King's pawn game", "D00"}
    assert tour(tmp_path, "export", "pgn", "--eco", str(tmp_path / "eco.pgn")).stdout == text
    path.write_text(path.read_text().replace(setting, setting.replace("eco", "# eco")))
    tour(tmp_path, "run", str(path))
    assert '[Opening "Mine"]' in tour(tmp_path, "export", "pgn").stdout


def test_a_match_finds_the_file_from_here(tmp_path: Path) -> None:
    """`match` finds the file relative to the current directory."""
    (tmp_path / "eco.pgn").write_text(CODES)
    tour(tmp_path, "match", "wren1", "wren2", "--tc", "depth=1", "--games", "2", "--eco", "eco.pgn", "--write-only")
    written = next((tmp_path / "results").rglob("*.toml")).read_text()
    assert f'eco = "{tmp_path / "eco.pgn"}"' in written


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("gone.pgn", None, "is not a regular file"),
        ("empty.pgn", "", "does not contain openings with ECO codes"),
        ("games.pgn", '[Event "x"]\n\n1. e4 e5 *\n', "does not contain openings with ECO codes"),
        ("table.tsv", "name\tmoves\nx\ty\n\n\t\n", "does not contain openings with ECO codes"),
    ],
)
def test_what_names_nothing_is_refused(tmp_path: Path, name: str, text: str | None, told: str) -> None:
    """A file without names raises an error before game 1, with the line of the setting."""
    if text is not None:
        (tmp_path / name).write_text(text)
    path = config(tmp_path, ("wren1", "wren4"), "roundrobin", "cycles = 2")
    path.write_text(path.read_text().replace("[play]\n", f'[play]\neco = "{name}"\n'))
    refused = tour(tmp_path, "check", str(path), expect=3).stderr
    assert re.search(rf"trial\.toml:\d+: .*{name} {told}", refused)
    with pytest.raises(InputRefused, match="--eco"):
        read_opening_names(tmp_path / name, "--eco")


def test_names_go_with_pgn(tmp_path: Path) -> None:
    """Only PGN exports accept the option."""
    assert "--eco: is only for pgn" in tour(tmp_path, "export", "csv", "--eco", "eco.pgn", expect=2).stderr


@pytest.mark.engine("pgn-extract")
def test_the_file_of_pgn_extract_gives_its_codes(tmp_path: Path) -> None:
    """pgn-extract gives the same code and name for each line of the bundled book."""
    program = shutil.which("pgn-extract") or "/usr/games/pgn-extract"
    codes = Path(program).parents[1] / "share" / "pgn-extract" / "eco.pgn"
    bundled = Path(__file__).parents[2] / "configs" / "suite.pgn"
    done = subprocess.run(
        [program, "--quiet", f"-e{codes}", bundled], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    names, text, seen = read_opening_names(codes, "eco"), iter(done.stdout.split("[Event ")[1:]), 0
    with bundled.open() as source:
        while (one := chess.pgn.read_game(source)) is not None:
            found = names.of(replace(game(), opening=Opening(), moves=tuple(
                MoveMade(move.uci(), "") for move in one.mainline_moves()
            )))  # fmt: skip
            tags = dict(re.findall(r'\[(\w+) "(.*)"\]', next(text)))
            assert found is not None
            theirs = ", ".join(tags[key] for key in ("Opening", "Variation") if key in tags)
            assert found == (tags["ECO"], theirs)
            seen += 1
    assert seen == 60
