"""With any texts of engines and users, PGN and EPD files have all games for every reader."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import chess.pgn
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enginetour.model.game import Game, MoveMade, Outcome, Pairing, SideRecord, Termination
from enginetour.openings.positions import WrittenOpening, read_position
from enginetour.reports import pgn

MOVES = (("f2f3", "f3"), ("e7e5", "e5"), ("g2g4", "g4"), ("d8h4", "Qh4#"))
END = "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3"
# Difficult characters, and all other characters except surrogates.
NASTY = st.sampled_from(['[Event "x"]\n', "{", "}", '"', "\\", "%", ";", "\n\n", "1-0", "*", "(", ")", "$1", "<", "]"])
WORDS = st.lists(st.one_of(NASTY, st.text(st.characters(exclude_categories=["Cs"]), max_size=20)), max_size=6).map(
    "".join
)


@st.composite
def games(draw: st.DrawFn) -> Game:
    """Yield games with random texts in all fields."""
    thought: st.SearchStrategy[dict[str, Any]] = st.builds(
        dict,
        pv=WORDS,
        lines=st.lists(WORDS, max_size=2).map(tuple),
        score=st.none() | st.integers(-(2**63), 2**63 - 1),
        nps=st.none() | st.integers(0, 2**63 - 1),
    )
    moves = tuple(MoveMade(uci, san, 104, 900, depth=9, **draw(thought)) for uci, san in MOVES)
    return Game(
        Pairing(draw(WORDS), draw(WORDS)),
        Outcome.BLACK,
        Termination.MATE,
        cause=draw(WORDS),
        moves=moves,
        white=SideRecord(draw(WORDS)),
        final_fen=END,
        hardware=draw(WORDS),
    )


def tags(text: str) -> int:
    return len(re.findall(r"^\[\w+ \".*\"\]$", text, re.MULTILINE))


@settings(max_examples=40)
@given(st.lists(games(), min_size=1, max_size=3), WORDS)
def test_every_game_reads_back_with_its_tags_and_moves(played: list[Game], event: str) -> None:
    """python-chess reads all games with all tags and moves."""
    texts = [pgn.game_pgn(game, number, event, comments=pgn.COMMENT_FIELDS) for number, game in enumerate(played, 1)]
    source = io.StringIO("".join(texts))
    for text in texts:
        found = chess.pgn.read_game(source)
        assert found is not None
        assert not found.errors
        assert [move.uci() for move in found.mainline_moves()] == [uci for uci, _ in MOVES]
        assert len(found.headers) == tags(text)
    assert chess.pgn.read_game(source) is None


@pytest.mark.engine("pgn-extract")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(played=st.lists(games(), min_size=1, max_size=3), event=WORDS)
def test_pgn_extract_reads_as_many_games(tmp_path: Path, played: list[Game], event: str) -> None:
    """pgn-extract reads all games with full comments without complaints."""
    path = tmp_path / "games.pgn"
    texts = (pgn.game_pgn(game, number, event, comments=pgn.COMMENT_FIELDS) for number, game in enumerate(played, 1))
    path.write_text("".join(texts), "utf-8")
    program = shutil.which("pgn-extract") or "/usr/games/pgn-extract"
    done = subprocess.run([program, "-r", "-s", str(path)], capture_output=True, check=True)
    assert done.stderr.strip() == b""
    counted = subprocess.run([program, "-r", str(path)], capture_output=True, check=True)
    assert f"{len(played)} game" in counted.stderr.decode()


@settings(max_examples=60)
@given(games(), WORDS)
def test_every_final_position_is_one_line_of_epd(game: Game, event: str) -> None:
    """python-chess and enginetour read each line of EPD as the final position with its counters."""
    line = pgn.final_epd(game, 7, event)
    board = chess.Board()
    operations = board.set_epd(line)
    assert "\n" not in line
    assert board.fen() == END
    assert (operations["hmvc"], operations["fmvn"]) == (1, 3)
    assert isinstance(read_position(1, line), WrittenOpening)


def test_the_final_position_tells_whose_game_it_was() -> None:
    """A line of EPD has names, result and reason as a comment, and event and number as id."""
    game = Game(Pairing("A", 'B "x"'), Outcome.BLACK, Termination.MATE, "Black mates", final_fen=END)
    assert pgn.final_epd(game, 7, "trial").endswith(
        'w KQkq - hmvc 1; fmvn 3; id "trial, game 7"; c0 "A - B \'x\' 0-1, Black mates";'
    )
    assert pgn.final_epd(replace(game, cause=""), 7, "t").endswith('0-1";')
