"""PGN as other tools read it: python-chess and pgn-extract."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import textwrap
from dataclasses import replace
from pathlib import Path

import chess.pgn
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enginetour.model.game import Game, MoveMade, Opening, Outcome, Pairing, SideRecord, Termination
from enginetour.reports import pgn

MATE = ("f2f3", "e7e5", "g2g4", "d8h4")
BLACK_FIRST = "4k3/8/8/8/8/8/4p3/4K3 b - - 0 37"


def moves_of(ucis: tuple[str, ...], fen: str | None = None) -> tuple[MoveMade, ...]:
    board = chess.Board(fen or chess.STARTING_FEN)
    made = []
    for number, uci in enumerate(ucis):
        move = chess.Move.from_uci(uci)
        made.append(MoveMade(uci, board.san(move), 104, 900, 31 - 60 * number, 18, book=not number))
        board.push(move)
    return tuple(made)


def game(**more: object) -> Game:
    settings: dict[str, object] = {
        "pairing": Pairing("Ada 1.0", "Bea"),
        "outcome": Outcome.BLACK,
        "termination": Termination.MATE,
        "cause": "Black mates",
        "moves": moves_of(MATE),
        "white_tc": "1+0.05",
        "black_tc": "1+0.05",
        "started": 1_700_000_000.0,
        "ended": 1_700_000_075.0,
    }
    return Game(**(settings | more))  # type: ignore[arg-type]


def read(text: str) -> list[chess.pgn.Game]:
    source, games = io.StringIO(text), []
    while found := chess.pgn.read_game(source):
        assert not found.errors
        games.append(found)
    return games


def test_a_game_reads_back_with_tags_moves_and_comments() -> None:
    """What python-chess reads is what was played."""
    (found,) = read(pgn.text(game(), 7, "trial"))
    assert found.headers["White"] == "Ada 1.0"
    assert found.headers["Result"] == "0-1"
    assert found.headers["Termination"] == "normal"
    assert found.headers["PlyCount"] == "4"
    assert found.headers["GameDuration"] == "00:01:15"
    assert [move.uci() for move in found.mainline_moves()] == list(MATE)
    comments = [" ".join(node.comment.split()) for node in found.mainline()]
    assert comments == ["book", "-0.29/18 0.104s", "-0.89/18 0.104s", "-1.49/18 0.104s, Black mates"]


def test_a_comment_tells_more_when_asked() -> None:
    """In the order of the specification, whatever the order of asking; what is not known is left out."""
    move = MoveMade(
        "e2e4", "e4", 104, 900, 31, 18, 7_279, 'e2e4 e7e5 "x"', False, 20, 454_937, 3, 0, 213, ("info string {a}",)
    )
    asked = ("lines", "pv", "tbhits", "hashfull", "nps", "seldepth", "nodes", "latency", "timeleft")
    assert pgn.comment(move, asked) == (
        "+0.31/18 0.104s, tl=0.900s, lat=0.000213s, n=7279, sd=20, nps=454937, hf=3, tb=0,"
        ' pv="e2e4 e7e5 \'x\'", line="info string (a)"'
    )
    assert pgn.comment(MoveMade("e2e4", "e4", 104), pgn.EXTRAS) == "0.104s"
    assert pgn.comment(move) == "+0.31/18 0.104s"
    assert pgn.comment(MoveMade("e2e4", "e4", book=True), pgn.EXTRAS) == "book"


def test_a_long_comment_keeps_the_reason() -> None:
    """A PV of 200 plies stands before it."""
    last = MoveMade("d8h4", "Qh4#", 1, 1, 31_999, 9, pv="d8h4 " * 200)
    (found,) = read(pgn.text(game(moves=(*moves_of(MATE)[:3], last)), 1, "trial", comments=("pv",)))
    assert list(found.mainline())[-1].comment.endswith(", Black mates")


def test_what_is_known_of_engines_and_machine_is_tagged() -> None:
    """Elo only of those who have one."""
    text = pgn.text(game(hardware="Ryzen 9"), 1, "trial", ratings={"Ada 1.0": 2_811.6})
    (found,) = read(text)
    assert found.headers["WhiteElo"] == "2812"
    assert "BlackElo" not in found.headers
    assert found.headers["Hardware"] == "Ryzen 9"


def test_every_tag_in_its_place() -> None:
    """The roster, then where it began, who played, under what, how it went: what tools and people look for."""
    start = chess.Board.from_chess960_pos(0).fen()
    opening = Opening("Back rank 0", 3, start, ("g2g3", "g7g6"), "A00", "chess960")
    one = game(
        opening=opening,
        moves=(),
        black_tc="5+0.05",
        white=SideRecord(own_name="Ada the Engine"),
        black=SideRecord(own_name="Bea"),
        pairing=Pairing("Ada 1.0", "Bea", round=2, encounter=5, leg=2, handicap=-1),
        hardware="Ryzen 9",
    )
    tags, _, _ = pgn.text(one, 7, "trial", "here", ratings={"Ada 1.0": 2_811.6, "Bea": 2_700.0}).partition("\n\n")
    assert tags.splitlines() == [
        '[Event "trial"]',
        '[Site "here"]',
        '[Date "2023.11.14"]',
        '[Round "2.7"]',
        '[White "Ada 1.0"]',
        '[Black "Bea"]',
        '[Result "0-1"]',
        '[Variant "Chess960"]',
        '[SetUp "1"]',
        f'[FEN "{start}"]',
        '[WhiteElo "2812"]',
        '[BlackElo "2700"]',
        '[ECO "A00"]',
        '[Opening "Back rank 0"]',
        '[WhiteTimeControl "1+0.05"]',
        '[BlackTimeControl "5+0.05"]',
        '[Handicap "Black gives 1"]',
        '[PlyCount "0"]',
        '[Termination "normal"]',
        '[GameStartTime "2023-11-14T22:13:20Z"]',
        '[GameEndTime "2023-11-14T22:14:35Z"]',
        '[GameDuration "00:01:15"]',
        '[WhiteEngine "Ada the Engine"]',
        '[BlackEngine "Bea"]',
        '[Encounter "5"]',
        '[Leg "2"]',
        '[OpeningName "Back rank 0"]',
        '[OpeningNumber "3"]',
        '[OpeningPlies "2"]',
        '[Hardware "Ryzen 9"]',
    ]
    assert '[TimeControl "1+0.05"]' in pgn.text(game(), 7, "trial")
    glass = replace(game(), white_tc="hourglass=60", black_tc="hourglass=60")
    assert '[TimeControl "*60"]' in pgn.text(glass, 7, "trial")


def test_a_game_from_a_position_with_black_to_move_reads_back() -> None:
    """FEN and SetUp are there and the numbers start where the position says."""
    made = moves_of(("e8e7", "e1e2"), BLACK_FIRST)
    text = pgn.text(game(moves=made, opening=Opening("x", 1, BLACK_FIRST)), 1, "trial")
    assert "37... Ke7" in text
    (found,) = read(text)
    assert found.board().fen() == BLACK_FIRST
    assert [move.uci() for move in found.mainline_moves()] == ["e8e7", "e1e2"]


@pytest.mark.parametrize(
    ("termination", "words"),
    [
        (Termination.TIME, "time forfeit"),
        (Termination.ILLEGAL_MOVE, "rules infraction"),
        (Termination.FALSE_CLAIM, "rules infraction"),
        (Termination.CRASH, "abandoned"),
        (Termination.STALL, "abandoned"),
        (Termination.REPETITION, "normal"),
        (Termination.RESIGN, "normal"),
        (Termination.CLAIM, "normal"),
        (Termination.AGREEMENT, "normal"),
        (Termination.VARIANT, "normal"),
        (Termination.ADJUDICATION_DRAW, "adjudication"),
        (Termination.ADJUDICATION_RESIGN, "adjudication"),
        (Termination.ADJUDICATION_LENGTH, "adjudication"),
        (Termination.ADJUDICATION_TABLEBASE, "adjudication"),
    ],
)
def test_the_termination_tag_has_the_words_of_the_standard(termination: Termination, words: str) -> None:
    """PGN standard 9.8.1."""
    (found,) = read(pgn.text(game(termination=termination), 1, "trial"))
    assert found.headers["Termination"] == words


@pytest.mark.parametrize(("outcome", "words"), [(Outcome.BLACK, "abandoned"), (Outcome.VOID, "unterminated")])
def test_a_game_given_up_is_unterminated_only_without_a_result(outcome: Outcome, words: str) -> None:
    """The third one that an engine gives up is lost: programs that leave unterminated games out did not count it."""
    (found,) = read(pgn.text(game(termination=Termination.ABORTED, outcome=outcome), 1, "Club"))
    assert found.headers["Termination"] == words


def test_a_pawn_is_dropped_by_its_letter() -> None:
    """``P@e6``: cutechess takes ``@e6`` for an illegal move and drops the rest of the game."""
    text = pgn.text(game(moves=(MoveMade("P@e6", "@e6+", 1), MoveMade("N@f3", "N@f3", 1))), 1, "trial")
    assert re.findall(r"\S*@\S*", text) == ["P@e6+", "N@f3"]


def test_mate_scores_are_moves() -> None:
    """31995 is mate in 5, its negative being mated in 5."""
    assert pgn.score_words(31995) == "+M5"
    assert pgn.score_words(-31998) == "-M2"
    assert pgn.score_words(-31) == "-0.31"


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=80))
def test_no_name_or_comment_can_break_the_file(name: str, cause: str, own: str) -> None:
    """Quotes, braces, newlines, per cent signs and controls: two games in, two games with their tags out."""
    hostile = game(pairing=Pairing(name, "Bea"), cause=cause, white=SideRecord(own))
    text = pgn.text(hostile, 1, name) + pgn.text(game(), 2, "trial")
    first, second = read(text)
    assert first.headers["Black"] == "Bea"
    assert [move.uci() for move in first.mainline_moves()] == list(MATE)
    assert second.headers["White"] == "Ada 1.0"


@pytest.mark.engine("pgn-extract")
def test_pgn_extract_reads_every_game(tmp_path: Path) -> None:
    """The tool everybody checks with finds all games and nothing to complain about."""
    path = tmp_path / "games.pgn"
    path.write_text("".join(pgn.text(game(), number, "trial") for number in range(1, 4)), "utf-8")
    program = shutil.which("pgn-extract") or "/usr/games/pgn-extract"
    done = subprocess.run([program, "--quiet", "-r", str(path)], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == ""


@given(
    st.lists(st.text("ab{}.-", min_size=1, max_size=30) | st.sampled_from(["x" * 79, "x" * 80, "x" * 200]), max_size=60)
)
def test_lines_are_cut_as_by_textwrap(words: list[str]) -> None:
    """Up to 80 signs, between words only."""
    usual = textwrap.wrap(" ".join(words), width=80, break_long_words=False, break_on_hyphens=False)
    assert pgn.wrapped(" ".join(words)) == usual
