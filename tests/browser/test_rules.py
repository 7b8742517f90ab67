"""The rules of chess and its variants in the script of a game page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chess
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page

from enginetour.model.game import Game, MoveMade, Opening, Outcome, Pairing, Termination
from enginetour.model.variants import VARIANTS, board_of, shuffled_fen
from enginetour.reports.html.game import GamePage, game_page
from enginetour.reports.html.page import read_asset
from enginetour.reports.html.tables import Site

# Random games with lines. Boards are 64 letters.


def shown(board: chess.Board) -> str:
    pieces = board.piece_map()
    return "".join(pieces[square].symbol() if square in pieces else "-" for square in chess.SQUARES)


def _walk(board: chess.Board, picks: list[int]) -> list[chess.Move]:
    """Yield random legal moves until there are none; the board is changed."""
    moves = []
    for pick in picks:
        legal = list(board.legal_moves)
        if not legal or board.is_variant_end():
            break
        captures = [
            move for move in legal if board.is_capture(move) or move.promotion
        ]  # because games would be too long
        some = captures if captures and pick % 3 == 0 else legal
        moves.append(some[pick % len(some)])
        board.push(moves[-1])
    return moves


PICKS = st.integers(0, 10_000)


@st.composite
def games_with_lines(draw: st.DrawFn, variants: tuple[str, ...] = tuple(VARIANTS)) -> tuple[Game, list[list[str]]]:
    """Return a game with a legal line in UCI or SAN at every ply, and the lines in SAN by python-chess."""
    variant = draw(st.sampled_from(variants))
    fen = None
    if VARIANTS[variant].any_rank:
        white = draw(st.integers(0, 959))
        fen = shuffled_fen(white, white if variant == "chess960" else draw(st.integers(0, 959)))
    board = board_of(variant, fen)
    moves, lines = [], []
    for move in _walk(board.copy(), draw(st.lists(PICKS, max_size=60))):
        ahead = board.copy(stack=False)
        ahead.push(move)
        line = [move, *_walk(ahead, draw(st.lists(PICKS, max_size=6)))]
        spoken, words, beside = [], [], board.copy(stack=False)
        for one in line:
            spoken.append(beside.san(one))
            words.append(one.uci())
            beside.push(one)
        said = spoken if draw(st.booleans()) else words
        moves.append(MoveMade(move.uci(), board.san(move), 10, 1000, 20, 5, pv=" ".join(said)))
        lines.append(spoken)
        board.push(move)
    outcome, end = Outcome.DRAW, Termination.AGREEMENT
    return Game(Pairing("A", "B"), outcome, end, "", opening=Opening(fen=fen, variant=variant), moves=tuple(moves),
                final_fen=board.fen()), lines  # fmt: skip


# Comparison with python-chess.

SITE = Site("autumn", (), single=True)
EXACT = (*(name for name, variant in VARIANTS.items() if variant.is_usual), "crazyhouse")
OPEN = "r3k2r/pPpp1ppp/8/3Pp3/1b2P3/2N2N2/PPP2PPP/R3K2R w KQkq e6 0 1"

# For each game: the board after each ply, the listed lines, and the board at the end of each line.
READ = """async () => {
  const lists = document.querySelectorAll("details.lines");
  const opened = Array.from(lists, (one) => new Promise((done) => one.addEventListener("toggle", done)));
  for (const one of lists) one.open = true;
  await Promise.all(opened);
  return Array.from(document.querySelectorAll(".game"), (game) => {
  const board = () => {
    const squares = Array(64).fill("-");
    for (const one of game.querySelectorAll(".men use")) {
      const [x, y] = ["x", "y"].map((name) => Number(one.getAttribute(name)) / 45);
      squares[x + 8 * (7 - y)] = one.getAttribute("href").slice(-1);
    }
    return squares.join("");
  };
  const press = (to) => game.querySelector(`[data-to="${to}"]`).click();
  const state = () => [".hand", ".checks"].map((name) =>
    ["white", "black"].map((side) => (game.querySelector(`.side.${side} ${name}`) || {}).textContent || ""));
  press("first");
  const boards = [board()], states = [state()], ends = [];
  for (const _ of game.querySelectorAll(".moves td.m")) {
    press("next");
    boards.push(board());
    states.push(state());
    const line = Array.from(game.querySelectorAll(".expects dd")).pop();
    const plies = line ? line.querySelectorAll(".ply") : [];
    if (plies.length) plies[plies.length - 1].dispatchEvent(new MouseEvent("mouseenter"));
    ends.push(plies.length ? board() : "");
    if (line) line.dispatchEvent(new MouseEvent("mouseleave"));
  }
  const list = game.parentElement.querySelector("details.lines");
  return { boards, states, ends, list: list ? Array.from(list.querySelectorAll("li"), (one) => one.textContent) : [] };
  });
}"""


@pytest.fixture(scope="module")
def blank(browser: Browser) -> Iterator[Page]:
    context = browser.new_context()
    yield context.new_page()
    context.close()


def read(page: Page, folder: Path, *games: Game) -> list[dict[str, Any]]:
    """Return what a page of these games shows with open lists of lines."""
    rows = [GamePage(number, game, voided=False) for number, game in enumerate(games, 1)]
    sections = "".join(game_page(row, SITE) for row in rows)
    path = folder / "games.html"
    path.write_text(
        f"<!doctype html><meta charset='utf-8'>{sections}<script>{read_asset('board.js')}</script>", "utf-8"
    )
    page.goto(path.as_uri())
    found: list[dict[str, Any]] = page.evaluate(READ)
    return found


def game(fen: str | None, variant: str, *moves: MoveMade) -> Game:
    opening = Opening(fen=fen, variant=variant)
    return Game(Pairing("A", "B"), Outcome.DRAW, Termination.AGREEMENT, "", opening=opening, moves=moves)


@settings(
    max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate], print_blob=False
)
@given(st.lists(games_with_lines(), min_size=12, max_size=24))
def test_games_and_lines_are_those_of_the_rules(
    blank: Page, tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[Game, list[list[str]]]]
) -> None:
    """In every variant, positions, lines in SAN and their final positions are right."""
    shown_ = read(blank, tmp_path_factory.mktemp("rules"), *(one for one, _ in drawn))
    for (played, lines), page in zip(drawn, shown_, strict=True):
        variant = played.opening.variant
        board = board_of(variant, played.opening.fen)
        assert page["boards"][0] == shown(board)
        for ply, (move, line) in enumerate(zip(played.moves, lines, strict=True)):
            told = page["list"][ply].split()[1:]
            if variant in EXACT:
                assert told == line
            else:  # python-chess writes # for every end of a variant
                assert [san.rstrip("+#") for san in told] == [san.rstrip("+#") for san in line]
            ahead = board.copy(stack=False)
            for san in line:
                ahead.push_san(san)
            assert page["ends"][ply] == shown(ahead)
            board.push_uci(move.uci)
            assert page["boards"][ply + 1] == shown(board)


@pytest.mark.parametrize(
    ("sent", "shown_"),
    [
        ("e1g1", "O-O"), ("Nd4", "Nd4"), ("Nf3-d4", "Nd4"), ("Nf3xe5", "Nxe5"), ("Nxe5!?", "Nxe5"), ("O-O", "O-O"),
        ("0-0-0", "O-O-O"), ("o-o+", "O-O"), ("12.Nd4", "Nd4"), ("h2-h4", "h4"), ("h4", "h4"), ("bxa8=Q", "bxa8=Q+"),
        ("bxa8(N)+", "bxa8=N"), ("b8Q", "b8=Q+"), ("dxe6", "dxe6"), ("dxe6e.p.", "dxe6"), ("Rd1", "Rd1"),
        ("Kd2", "Kd2"), ("1. O-O (-) ... 1... Ke7 2.", "O-O Ke7"),
        # text that is not a legal move is not changed: a blocked rook, a pinned knight, any other text
        ("Raf1", "Raf1"), ("Nb5", "Nb5"), ("c3b5", "c3b5"), ("hello", "hello"), ("Qd1", "Qd1"), ("e1e3", "e1e3"),
        ("d5c6", "d5c6"), ("b7b8", "b7b8"), ("O-O Ke7 nonsense-of-an-engine e4", "O-O Ke7 nonsense-of- e4"),
    ],
)  # fmt: skip
def test_a_word_is_a_legal_move_of_the_position(blank: Page, tmp_path: Path, sent: str, shown_: str) -> None:
    """UCI, all forms of SAN, and long notation are read as moves, with a pinned knight on c3."""
    (found,) = read(blank, tmp_path, game(OPEN, "standard", MoveMade("e1g1", "O-O", 10, pv=sent)))
    assert found["list"] == [f"1. {shown_}"]


def test_of_two_pieces_the_one_that_legally_can_is_meant(blank: Page, tmp_path: Path) -> None:
    """If one of two knights is pinned, SAN does not need a file for the other."""
    fen = "4r1k1/8/8/8/8/2N1N3/8/4K3 w - - 0 1"
    (found,) = read(blank, tmp_path, game(fen, "standard", MoveMade("c3d5", "Nd5", 10, pv="Nd5 g8g7 Nec4")))
    assert found["list"] == ["1. Nd5 Kg7 Nec4"]


def test_castling_needs_the_right_to_it(blank: Page, tmp_path: Path) -> None:
    """Castling is illegal after moves of king or rook, without the right in FEN, or through an attacked square."""
    fen = "4k3/8/8/8/8/8/8/R3K2R w KQ - 0 1"
    moves = [
        MoveMade("e1g1", "O-O", 10, pv="e1f1 e8e7 f1e1 e7e8 e1g1"),
        MoveMade("e8e7", "Ke7", 10),
    ]
    rook = MoveMade("h1h2", "Rh2", 10, pv="h1h2 e8e7 h2h1 e7e8 e1g1 e8e7")
    denied = MoveMade("e1c1", "O-O-O", 10, pv="e1g1")
    passed = MoveMade("e1c1", "O-O-O", 10, pv="e1g1")
    found = read(
        blank, tmp_path, game(fen, "standard", *moves), game(fen, "standard", rook),
        game(fen.replace("KQ", "Q"), "standard", denied), game(fen.replace("4k3", "4kr2"), "standard", passed),
    )  # fmt: skip
    assert [one["list"][0] for one in found] == [
        "1. Kf1 Ke7 Ke1 Ke8 e1g1", "1. Rh2 Ke7 Rh1 Ke8 e1g1 e8e7", "1. e1g1", "1. e1g1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("variant", "fen", "moves", "hands", "checks"),
    [
        ("crazyhouse", None, "e2e4 d7d5 e4d5 d8d5 P@e5", [" | ", " | ", " | ", "P | ", "P | P", " | P"], ""),
        ("3check", None, "e2e4 f7f6 d1h5", [], "0 0, 0 0, 0 0, 1 0"),
        ("3check", "4k3/8/8/8/8/8/8/R3K3 w Q - 2+1 0 1", "a1a8 e8e7 a8a7", [], "1 2, 2 2, 2 2, 3 2"),
        ("3check", "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1 +1+2", "a1a8", [], "1 2, 2 2"),
        # a captured promoted queen is a pawn in hand
        ("crazyhouse", "r3k3/1P6/8/8/8/8/8/4K3[] w q - 0 1", "b7a8q e8e7 a8a1 e7e6", [" | ", *["R | "] * 4], ""),
        ("crazyhouse", "Q~3k3/8/8/8/8/8/8/r3K3[Rq] b - - 0 1", "a1a8", ["R | Q", "R | Q P"], ""),
    ],
)  # fmt: skip
def test_hands_and_checks_follow_the_game(
    blank: Page, tmp_path: Path, variant: str, fen: str | None, moves: str, hands: list[str], checks: str
) -> None:
    """Pieces in hand (Crazyhouse) and the number of checks (Three-check) are right."""
    (found,) = read(blank, tmp_path, game(fen, variant, *(MoveMade(move, move) for move in moves.split())))
    held, given_ = zip(*found["states"], strict=True)
    if hands:
        assert [" | ".join(both) for both in held] == hands
    assert ", ".join(" ".join(both) for both in given_).strip(", ") == checks


@pytest.mark.parametrize(
    ("variant", "fen", "moves", "last"),
    [
        ("atomic", None, "g1f3 d7d5 f3e5 b8c6 e5c6", "r-bqkbnr/ppp-pppp/8/3p4/8/8/PPPPPPPP/RNBQKB-R"),
        ("chess960", "1r2k1r1/8/8/8/8/8/6P1/1R2K1R1 w GBgb - 0 1", "e1g1", "1r2k1r1/8/8/8/8/8/6P1/1R3RK1"),
        ("chess960", "1r2k1r1/8/8/8/8/8/8/1R2K1R1 w KQkq - 0 1", "e1b1", "1r2k1r1/8/8/8/8/8/8/2KR2R1"),
    ],
)
def test_variants_are_shown_by_their_rules(
    blank: Page, tmp_path: Path, variant: str, fen: str | None, moves: str, last: str
) -> None:
    """Atomic explosions and castling onto the rook's square are shown."""
    (found,) = read(blank, tmp_path, game(fen, variant, *(MoveMade(move, move) for move in moves.split())))
    assert found["boards"][-1] == shown(chess.Board(f"{last.replace('-', '1')} w - - 0 1"))


def test_a_record_that_makes_no_sense_is_shown_as_far_as_it_does(blank: Page, tmp_path: Path) -> None:
    """The page names the first invalid move; later lines are shown as they were sent."""
    made = (
        MoveMade("e2e4", "e4"), MoveMade("e7e5", "e5"), MoveMade("a1a8", "Ra8", 1, pv="a1a8 nonsense"),
        MoveMade("", "", 1, pv="Nf6"),
    )  # fmt: skip
    (found,) = read(blank, tmp_path, game(None, "standard", *made))
    assert blank.get_by_text("The board cannot show the moves from 2. to the end of the game.").is_visible()
    assert found["list"] == ["", "", "2. a1a8 nonsense", "2… Nf6"]
    read(blank, tmp_path, game("nothing", "standard", *made))
    assert blank.get_by_text("The board cannot show the moves from 1. to the end of the game.").is_visible()
