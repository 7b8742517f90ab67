"""Tests of the page of a game."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import cycle, islice
from types import SimpleNamespace

import pytest
from chess.svg import PIECES

from enginetour.model.game import Game, Incident, MoveMade, Opening, Outcome, Pairing, SideRecord, Termination
from enginetour.reports.html import game as graphs
from enginetour.reports.html.game import GamePage, game_page, start_position
from enginetour.reports.html.page import PIECE_LETTERS, read_asset
from enginetour.reports.html.tables import Site
from tests.support.engines import SHUFFLE

SITE = Site("autumn", (("index.html", "Overview"), ("games.html", "Games")), {"Fruit": "fruit"})


def game(**more: object) -> Game:
    moves = (
        MoveMade("e2e4", "e4", book=True),
        MoveMade("e7e5", "e5", book=True),
        MoveMade("d1h5", "Qh5", 1_250, 58_750, 31, 14, pv="d1h5 b8c6 f1c4"),
        MoveMade("b8c6", "Nc6", 800, 59_200, 45, 9, pv="1... Nc6 2. Bc4 Nf6"),
        MoveMade("f1c4", "Bc4", 65_000, 3_000, 31_998, 20, pv="f1c4 g8f6 h5f7"),
        MoveMade("g8f6", "Nf6", 10, 59_000, -31_999, 3),
        MoveMade("h5f7", "Qxf7#", 5, 2_995, 31_999, 1, pv="h5f7"),
    )
    parts: dict[str, object] = {
        "pairing": Pairing("Fruit", "Toga", 2, 1, 5, 3), "outcome": Outcome.WHITE, "termination": Termination.MATE,
        "cause": "White mates", "opening": Opening("King's Pawn", 7, None, ("e2e4", "e7e5"), "C20"), "moves": moves,
        "white": SideRecord("Fruit 2.1", 3, 66_255, 65_000, 2_995, 1), "white_tc": "60+0.1", "black_tc": "60+0.1",
        "final_fen": "r1bqkb1r/pppp1Qpp/2n2n2/4p3/2B1P3/8/PPPP1PPP/RNB1K1NR b KQkq - 0 4",
        "started_unix": 1_700_000_000.0, "ended_unix": 1_700_000_120.0, "hardware": "AMD EPYC",
    }  # fmt: skip
    return Game(**(parts | more))  # type: ignore[arg-type]


def row(played: Game | None = None, **more: object) -> GamePage:
    parts: dict[str, object] = {"number": 12, "game": played or game(), "voided": False}
    return GamePage(**(parts | more))  # type: ignore[arg-type]


def test_the_page_tells_the_game() -> None:
    """The page has names, result, moves with evaluation, depth and time, opening, pairing and hardware."""
    page = game_page(row(), SITE)
    for words in (
        "1&ndash;0", "White mates", '<td class="m">Qh5</td><td>+0.31</td><td>14</td><td>1.25</td>',
        '<td class="m">Nc6</td><td>-0.45</td><td>9</td><td>0.80</td>', "<td>+M2</td><td>20</td><td>1:05</td>",
        '<td class="m b">e4</td><td class="b">book</td>', "C20 King&#39;s Pawn, number 7 of the opening book, 2 plies",
        "round 3, encounter 5, leg 1", "AMD EPYC", "7 plies in 2 min", '<a href="../engines/fruit.html">',
    ):  # fmt: skip
        assert words in page, words


def test_lines_are_listed_as_they_were_sent() -> None:
    """The page has the line of each ply as it was sent."""
    page = game_page(row(), SITE)
    told = ("2. d1h5 b8c6 f1c4", "2&hellip; 1... Nc6 2. Bc4 Nf6", "3. f1c4 g8f6 h5f7", "", "4. h5f7")
    assert "\n".join(f"<li>{words}</li>" for words in ("", "", *told)) in page
    assert '"plies":"e2e4 e7e5 d1h5 b8c6 f1c4 g8f6 h5f7"' in page


def test_other_games_of_the_encounter_and_neighbors_are_linked() -> None:
    """A page links to the other leg, to a replay of this leg (which is void then), and to the adjacent games."""
    beside = (
        SimpleNamespace(number=13, leg=2, replay=0, counts=True),
        SimpleNamespace(number=14, leg=1, replay=1, counts=True),
    )
    page = game_page(row(neighbors=beside, before=11, after=13), SITE)
    assert '<a href="../games/13.html">Game 13</a> is leg 2 of the same encounter.' in page
    assert '<a href="../games/14.html">Game 14</a> replays this game, which is void.' in page
    void = SimpleNamespace(number=10, leg=1, replay=-1, counts=False)
    assert 'This game replays <a href="../games/10.html">game 10</a>, which is void.' in game_page(
        row(neighbors=(void,)), SITE
    )
    assert '<a href="../games/11.html">previous</a>' in page
    assert '<a href="../games/13.html">next</a>' in page


def test_a_game_that_does_not_count_says_so() -> None:
    """A void game says that it is replayed or what its result was."""
    void = game(outcome=Outcome.VOID, termination=Termination.TIME, cause="Black loses on time; doubtful")
    assert "Black loses on time; doubtful. This game is void and is replayed." in game_page(row(void), SITE)
    assert "White mates. The result was 1-0; this game was voided later." in game_page(row(voided=True), SITE)


def test_an_ending_without_words_is_told_by_its_code() -> None:
    """The ending of a game without a cause comes from its termination."""
    assert '<p class="lead">Checkmate</p>' in game_page(row(game(cause="")), SITE)


@pytest.mark.parametrize("termination", Termination)
def test_every_ending_has_words(termination: Termination) -> None:
    """Every termination has a text."""
    page = game_page(row(game(termination=termination, cause="")), SITE)
    told = page.split('<p class="lead">')[1].split("</p>")[0]
    assert len(told.split()) > 1 or told in ("Checkmate", "Stalemate", "Resignation")


def test_the_board_stands_at_the_end_without_scripts() -> None:
    """The board shows the final position without scripts, with a description."""
    page = game_page(row(), SITE)
    assert '<use href="#piece-Q" x="225" y="45"/>' in page
    assert '<rect x="315" y="135" width="45" height="45"/>' in page
    assert "White: King e1, Queen f7, Rooks a1 h1, Bishops c1 c4, Knights b1 g1, pawns a2 b2 c2 d2" in page


def test_a_position_with_black_to_move_is_numbered_by_its_fen() -> None:
    """In a game that starts with Black, the first row has an empty cell for White."""
    fen = "4k3/8/8/8/8/8/4p3/K7 b - - 0 40"
    moves = (MoveMade("e2e1q", "e1=Q+", 10), MoveMade("a1a2", "Ka2", 10))
    page = game_page(row(game(opening=Opening(fen=fen), moves=moves)), SITE)
    assert '<tr><th scope="row">40</th><td></td><td></td><td></td><td></td><td class="m">e1=Q+</td>' in page
    assert '<tr><th scope="row">41</th><td class="m">Ka2</td>' in page
    assert '"plies":"e2e1q a1a2"' in page
    assert f'"fen":"{fen}","white":false,"number":40' in page


@pytest.mark.parametrize(
    ("variant", "fen", "told"),
    [
        (
            "crazyhouse",
            "8/8/8/3k4/8/8/8/3K4[PQpn] w - - 0 9",
            ('<span class="hand">Q P</span>', '<span class="hand">N P</span>'),
        ),
        ("3check", "8/8/8/3k4/8/8/8/3K4 w - - 1+3 0 9", (">2</span>", ">0</span>")),
        ("3check", "8/8/8/3k4/8/8/8/3K4 w - - 0 9 +1+2", (">1</span>", ">2</span>")),
    ],
)
def test_hands_and_checks_at_the_end_need_no_script(variant: str, fen: str, told: tuple[str, ...]) -> None:
    """Pieces in hand and checks are shown without scripts."""
    page = game_page(row(game(opening=Opening(variant=variant), final_fen=fen)), SITE)
    for words in told:
        assert words in page


def test_a_record_that_makes_no_sense_is_told() -> None:
    """A record with illegal moves is shown, with an empty board for an invalid position."""
    made = (*game().moves[:2], MoveMade("a1a8", "Ra8", 1, pv="a1a8 nonsense"), MoveMade("", "", 1))
    page = game_page(row(game(moves=made)), SITE)
    assert "<li>2. a1a8 nonsense</li>" in page
    assert '<use href="#piece-Q" x="225" y="45"/>' in page
    page = game_page(row(game(moves=made, final_fen="nothing", opening=Opening(fen="nothing"))), SITE)
    assert "White: no pieces; Black: no pieces" in page


def test_incidents_have_their_traffic_as_far_as_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine log of an incident is shown up to a limit."""
    incident = Incident("Toga", "crash", "signal 11", 6, ("1.5 > go", "1.6 < boom"), ("oops",), last_go_us=1_500_000)
    page = game_page(row(game(incidents=(incident,))), SITE)
    assert "100.000 &lt; boom" in page
    assert "stderr: oops" in page
    monkeypatch.setattr(graphs, "_MAX_LOG_LENGTH", 100)
    assert "boom" not in game_page(row(game(incidents=(incident,))), SITE)


def test_no_page_is_over_two_megabytes() -> None:
    """A page stays below 2 MB and says what is left out."""
    said = " ".join(islice(cycle(("<" * 30, "\u4e00" * 12)), 200))[:2048]
    moves = tuple(MoveMade(move, move, 10**9, 10**9, 12, 99, pv=f"{move} {said}") for move in SHUFFLE * 3000)
    side = SideRecord("x" * 100, warnings=("<" * 1000,) * 1000)
    noisy = Incident("Toga", "crash", "x" * 1000, 6, ("1.5 < " + "<" * 4000,) * 50, ("<" * 4000,) * 20)
    page = game_page(row(game(moves=moves, incidents=(noisy,) * 20, white=side)), SITE)
    assert len(page.encode()) < 2_000_000
    for words in ("Only the first 3000 plies", "Lines are limited", "are omitted", "too long for a PGN"):
        assert words in page


def test_a_usual_page_is_small() -> None:
    """A usual page is smaller than 60 KB."""
    line = " ".join(islice(cycle(SHUFFLE), 12))
    moves = tuple(MoveMade(move, "Nf3", 1234, 56_789, 12, 23, pv=line) for move in SHUFFLE * 30)
    assert len(game_page(row(game(moves=moves)), SITE).encode()) < 60_000


def test_in_a_single_file_a_game_is_a_section() -> None:
    """In a single file a game is a section without drawings of pieces."""
    page = game_page(row(), replace(SITE, single=True))
    assert page.lstrip().startswith('<section id="games-12">')
    assert 'id="piece-' not in page


# Graphs of evaluations and clocks.


def graphs_game(*moves: MoveMade, fen: str | None = None) -> Game:
    return Game(Pairing("A", "B"), Outcome.DRAW, Termination.AGREEMENT, opening=Opening(fen=fen), moves=moves)


def test_a_score_is_drawn_as_the_points_it_promises() -> None:
    """An even evaluation is the middle of the graph and a mate its edge."""
    assert [graphs.evaluation_height(score) for score in (0, 32_000, -32_000)] == [0, 100, -100]
    assert graphs.evaluation_height(100) == -graphs.evaluation_height(-100) == 18  # a share of 59 % by the source


def test_both_engines_are_told_from_white_and_gaps_stay_gaps() -> None:
    """Evaluations are from White's side, gaps interrupt lines, and a single point is a dot."""
    played = graphs_game(*(MoveMade("a1a1", "?", score=score) for score in (100, 100, None, 100, 100, 0, 100, 0)))
    drawn = str(graphs.evaluation_graph(start_position(played), played.moves))
    assert '<polyline class="w" points="1,-18 1,-18"/><polyline class="w" points="5,-18 7,-18"/>' in drawn
    assert '<polyline class="b" points="2,18 4,18 6,0 8,0"/>' in drawn


def test_nothing_told_is_nothing_drawn() -> None:
    """Without data there is no graph."""
    played = graphs_game(MoveMade("e2e4", "e4", book=True))
    assert graphs.evaluation_graph(start_position(played), played.moves) is None
    assert graphs.clock_graph(start_position(played), played.moves) is None


def test_without_clocks_the_time_of_each_move_is_drawn() -> None:
    """Games without a clock show the time per move."""
    played = graphs_game(MoveMade("e2e4", "e4", 500), MoveMade("e7e5", "e5", 1000))
    found = graphs.clock_graph(start_position(played), played.moves)
    assert found is not None
    assert found[0] == "Time per move"
    assert 'points="1,50 1,50"' in found[1]


@pytest.mark.parametrize(
    ("ms", "words"),
    [(0, "0.00 s"), (1_250, "1.25 s"), (12_340, "12.3 s"), (245_000, "4:05"), (3_845_000, "1:04:05")],
)
def test_times_are_as_long_as_they_need(ms: int, words: str) -> None:
    """The format of a time depends on its length."""
    assert graphs.format_clock_time(ms) == words


def test_move_numbers_stand_below_white_moves() -> None:
    """Move numbers are below the moves of White."""
    shuffled = ("g1f3", "g8f6", "f3g1", "f6g8") * 6
    played = graphs_game(*(MoveMade(move, "?", score=0) for move in shuffled))
    assert '<text class="x" x="37.5%" y="100%" dy="1.2em">5</text>' in str(
        graphs.evaluation_graph(start_position(played), played.moves)
    )


# Drawings of the pieces.


def test_pieces_have_ids_and_no_styles() -> None:
    """The pieces have ids and no styles, which the policy of pages forbids."""
    drawn = graphs.piece_drawings()
    assert set(drawn) == set(PIECE_LETTERS)
    for letter, drawing in drawn.items():
        assert f'<g id="piece-{letter}"' in drawing
        assert "style=" not in drawing
        assert "class=" not in drawing
    assert 'fill="#000000"' in drawn["n"]


def test_pieces_are_those_of_python_chess() -> None:
    """The drawings are those of the installed python-chess, apart from their ids and styles."""

    def attributes(found: re.Match[str]) -> str:
        rules = (rule.split(":") for rule in found[1].split(";") if rule.strip())
        return "".join(f' {name.strip()}="{value.strip()}"' for name, value in rules)

    for letter, drawing in graphs.piece_drawings().items():
        named = re.sub('<g id="[^"]*" class="[^"]*"', f'<g id="piece-{letter}"', PIECES[letter], count=1)
        assert drawing == re.sub(' style="([^"]*)"', attributes, named)


def test_the_script_brings_all_of_them() -> None:
    """The script defines one object with all pieces."""
    head, _, rest = read_asset("pieces.js").partition(" = ")
    assert head == "window.chessPieces"
    assert json.loads(rest.rstrip().rstrip(";")) == dict(graphs.piece_drawings())
