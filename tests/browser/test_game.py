"""The game viewer in a browser: buttons, keyboard, clicks and screen readers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from enginetour.model.game import Game, MoveMade, Opening, Outcome, Pairing, Termination
from enginetour.reports.html.game import GamePage, game_page
from enginetour.reports.html.page import STATE_CSS, read_asset
from enginetour.reports.html.tables import Site
from tests.browser.accessible import findings, is_wider_than_its_window
from tests.browser.conftest import PHONE, Opened, shot

SITE = Site("autumn", (("index.html", "Overview"), ("games.html", "Games")))
NAMES = ("Fruit <b>2.1</b>", "\u202eToga " + "x" * 100)
MATE = (
    MoveMade("e2e4", "e4", book=True),
    MoveMade("e7e5", "e5", book=True),
    MoveMade("d1h5", "Qh5", 1_250, 58_750, 31, 14, pv="d1h5 b8c6 f1c4 g8f6 h5f7"),
    MoveMade("b8c6", "Nc6", 800, 59_200, 45, 9, pv="Nc6 Bc4 g6 Qf3"),
    MoveMade("f1c4", "Bc4", 65_000, 3_000, 31_998, 20, pv="f1c4 g8f6 h5f7"),
    MoveMade("g8f6", "Nf6", 10, 59_000, -31_999, 3, pv="<img src=x onerror=alert(1)>"),
    MoveMade("h5f7", "Qxf7#", 5, 2_995, 31_999, 1, pv="h5f7"),
)
DROPPED = (("e2e4", "e4"), ("d7d5", "d5"), ("e4d5", "exd5"), ("a7a6", "a6"), ("P@e4", "@e4"))
HOUSE = tuple(MoveMade(move, san) for move, san in DROPPED)


def page_of(folder: Path, number: int, moves: tuple[MoveMade, ...], opening: Opening, final: str) -> None:
    game = Game(
        Pairing(*NAMES), Outcome.WHITE, Termination.MATE, "White mates", opening=opening, moves=moves,
        white_tc="60+0.1", black_tc="60+0.1", final_fen=final, started_unix=1.7e9, ended_unix=1.7e9 + 120,
    )  # fmt: skip
    (folder / "games" / f"{number}.html").write_text(game_page(GamePage(number, game, voided=False), SITE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Pages of two games with the files they need."""
    place = tmp_path_factory.mktemp("report")
    for name in ("games", "assets"):
        (place / name).mkdir()
    for name in ("report.css", "game.css", "board.js", "pieces.js"):
        (place / "assets" / name).write_text(read_asset(name))
    (place / "assets" / STATE_CSS).write_text("")
    page_of(place, 1, MATE, Opening("C20"), "r1bqkb1r/pppp1Qpp/2n2n2/4p3/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 0 4")
    page_of(
        place, 2, HOUSE, Opening(variant="crazyhouse"), "rnbqkbnr/1pp1pppp/p7/3P4/4P3/8/PPPP1PPP/RNBQKBNR[] b KQkq -"
    )
    yield place.as_uri()


def pieces_on(page: Page) -> set[str]:
    """Return the letter and position of each piece, in units of the board."""
    where = "['href', 'x', 'y'].map((name) => one.getAttribute(name))"
    drawn = page.locator(".men use").evaluate_all(f"all => all.map((one) => {where})")
    return {f"{name.removeprefix('#piece-')}{x},{y}" for name, x, y in drawn}


def said(page: Page) -> str:
    return page.locator(".announced").inner_text()


def test_the_keyboard_steps_through_the_game(folder: str, opened: Opened) -> None:
    """Home, End and the arrows navigate, every position is described as text, and f flips the board."""
    page = opened(f"{folder}/games/1.html")
    end = pieces_on(page)
    assert {"Q225,45", "k180,0"} <= end
    page.keyboard.press("Home")
    assert said(page) == "Start of the game"
    assert len(pieces_on(page)) == 32
    assert page.locator(".last rect").count() == 0
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert said(page) == "2. White: Queen h5, evaluation +0.31"
    assert "Q315,135" in pieces_on(page)
    assert page.locator(".moves td.on").inner_text() == "Qh5"
    assert "Queen h5" in (page.locator("svg.board").get_attribute("aria-label") or "")
    assert page.locator(".side.white .clock").inner_text() == "58.8 s"
    page.keyboard.press("f")
    assert "Q0,180" in pieces_on(page)
    assert page.locator(".view .side").first.locator(".who").inner_text() == NAMES[0]
    page.keyboard.press("f")
    page.keyboard.press("End")
    assert pieces_on(page) == end
    assert said(page) == "4. White: Queen takes f7, checkmate, evaluation +M1"
    page.keyboard.press("ArrowRight")
    assert pieces_on(page) == end
    page.keyboard.press("ArrowLeft")
    assert said(page).startswith("3… Black: Knight f6")


def test_buttons_have_names_and_do_the_same(folder: str, opened: Opened) -> None:
    """The buttons have names and navigate as the keys do; play runs until it is stopped."""
    page = opened(f"{folder}/games/1.html")
    page.get_by_role("button", name="first position").click()
    assert said(page) == "Start of the game"
    page.get_by_role("button", name="next move").click()
    page.get_by_role("button", name="next move").click()
    page.get_by_role("button", name="previous move").click()
    assert said(page) == "1. White: e4"
    page.get_by_role("button", name="flip the board").click()
    assert "P135,135" in pieces_on(page)
    page.clock.install()
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(2_100)
    assert said(page).startswith("2. White: Queen h5")
    page.get_by_role("button", name="Stop").click()
    page.clock.run_for(5_000)
    assert said(page).startswith("2. White: Queen h5")


def test_a_click_on_a_move_or_a_graph_goes_there(folder: str, opened: Opened) -> None:
    """A click on the move list or a graph, and an address, lead to a ply."""
    page = opened(f"{folder}/games/1.html")
    page.locator(".moves td.m", has_text="Nc6").click()
    assert said(page).startswith("2… Black: Knight c6")
    for graph in page.locator(".graph").all():
        box = graph.bounding_box()
        assert box is not None
        graph.click(position={"x": box["width"] * 3 / 7, "y": 20})
        assert said(page).startswith("2. White: Queen h5")
        page.keyboard.press("End")
    page = opened(f"{folder}/games/1.html#ply-5")
    assert said(page).startswith("3. White: Bishop c4")


def test_lines_of_both_engines_can_be_looked_into(folder: str, opened: Opened) -> None:
    """The board shows a position of a line under the pointer, and then the game again; other text stays text."""
    page = opened(f"{folder}/games/1.html#ply-4")
    lines = page.locator(".expects dd")
    assert lines.all_inner_texts() == ["Qh5 Nc6 Bc4 Nf6 Qxf7#", "Nc6 Bc4 g6 Qf3"]
    before = pieces_on(page)
    lines.first.get_by_text("Qxf7#", exact=True).hover()
    assert "Q225,45" in pieces_on(page)
    lines.nth(1).get_by_text("Qf3", exact=True).hover()
    assert {"Q225,225", "p270,90"} <= pieces_on(page)
    page.locator("h1").hover()
    assert pieces_on(page) == before
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert "<img" in page.locator(".expects").inner_text()
    assert page.locator(".expects img").count() == 0


def test_the_list_of_lines_is_in_move_notation_once_it_is_opened(folder: str, opened: Opened) -> None:
    """Lines in UCI notation are shown in SAN; text that is not a move is not changed."""
    page = opened(f"{folder}/games/1.html")
    items = page.locator(".lines li:not(:empty)")
    assert items.first.text_content() == "2. d1h5 b8c6 f1c4 g8f6 h5f7"
    page.get_by_text("Lines the engines expected").click()
    expect(items.first).to_have_text("2. Qh5 Nc6 Bc4 Nf6 Qxf7#")
    assert items.all_inner_texts() == [
        "2. Qh5 Nc6 Bc4 Nf6 Qxf7#", "2… Nc6 Bc4 g6 Qf3", "3. Bc4 Nf6 Qxf7#", "3… <img src=x onerror=aler",
        "4. Qxf7#",
    ]  # fmt: skip


def test_pieces_in_hand_follow_the_game(folder: str, opened: Opened) -> None:
    """In Crazyhouse, captured pieces are shown in hand until they are dropped."""
    page = opened(f"{folder}/games/2.html")
    hand = page.locator(".side.white .hand")
    assert hand.inner_text() == ""
    page.keyboard.press("ArrowLeft")
    assert hand.inner_text() == "P"
    page.keyboard.press("Home")
    assert hand.inner_text() == ""


def test_the_game_can_be_taken_along(folder: str, opened: Opened) -> None:
    """The link downloads the game, from disk and with the policy of the page."""
    page = opened(f"{folder}/games/1.html")
    with page.expect_download() as taken:
        page.get_by_role("link", name="Game as PGN").click()
    assert taken.value.suggested_filename == "game-1.pgn"
    assert "4. Qxf7#" in Path(taken.value.path()).read_text("utf-8")


@pytest.mark.parametrize(("scheme", "size"), [("light", None), ("dark", None), ("light", PHONE), ("dark", PHONE)])
def test_the_page_is_sound_for_everybody(folder: str, opened: Opened, scheme: str, size: object) -> None:
    """Names, headings and contrast are right in both color schemes, and a phone does not scroll sideways."""
    page = opened(f"{folder}/games/1.html", color_scheme=scheme, **({"viewport": size} if size else {}))
    assert findings(page) == []
    assert not is_wider_than_its_window(page)
    shot(page, f"game-{scheme}-{'phone' if size else 'desktop'}")


def test_without_scripts_the_game_can_be_read(folder: str, opened: Opened) -> None:
    """Without scripts, the page shows final position, moves and graphs, and no useless buttons."""
    page = opened(f"{folder}/games/1.html", java_script_enabled=False)
    assert page.locator(".men use").count() > 0
    assert page.locator(".moves td.m").count() == 7
    assert page.locator(".graph polyline").count() >= 2
    assert not page.locator(".controls").is_visible()
    assert page.get_by_text("Lines the engines expected").is_visible()
