"""How engines worked over a tournament."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from enginetour.model.game import Game, GameVoided, MoveMade, Outcome, Pairing, SideRecord, Termination
from enginetour.referee.books import effort
from enginetour.reports.games import averages
from enginetour.reports.html.game import used
from enginetour.reports.sheet import render
from enginetour.store.games import sides
from tests.storing import NAMES, add_game, open_log


def record(*moves: MoveMade) -> SideRecord:
    total = sum(move.elapsed_ms for move in moves)
    return SideRecord("x", len(moves), total, 80, effort=effort(moves))


def test_averages_are_over_the_moves_that_told_the_figure() -> None:
    """Two games: depth of three moves, nodes of two by their own time, nothing of what nobody told."""
    first = record(MoveMade("a", "a", 80, depth=10, nodes=4_000, tbhits=3), MoveMade("b", "b", 40, depth=20))
    second = record(MoveMade("c", "c", 20, depth=12, nodes=1_000))
    (row,) = averages("t", ["A"], [("A", first), ("A", second)]).rows
    assert (row["games"], row["moves"], row["depth"], row["nps"]) == (2, 3, 14, 50_000)
    assert (row["tbhits"], row["seldepth"], row["longest_ms"]) == (3, None, 80)
    assert row["ms"] == 140 / 3


def test_nodes_of_pondering_count_by_the_time_of_pondering() -> None:
    """Stockfish at 1+0.02 made 225 k a second, and 410 k in searches that began in its opponent's time."""
    hit = SideRecord("x", 2, 100, 80, effort=effort((MoveMade("a", "a", 20, nodes=9_000), MoveMade("b", "b", 80)), 80))
    assert averages("t", [], [("A", hit)]).rows[0]["nps"] == 90_000


def test_the_speed_of_moves_too_quick_to_measure_is_what_the_engine_says() -> None:
    """With nodes=1 our clock shows 0 ms."""
    quick = record(MoveMade("a", "a", 0, nodes=1, nps=900), MoveMade("b", "b", 0, nodes=1, nps=1_100))
    assert averages("t", [], [("A", quick)]).rows[0]["nps"] == 1_000


def test_the_page_of_a_game_tells_the_speed_as_the_table_does() -> None:
    """An engine that says 0 nps for its quick moves is not of speed 0."""
    quick = record(MoveMade("a", "a", 2, depth=4, nodes=90, nps=0), MoveMade("b", "b", 4, depth=5, nodes=210, nps=0))
    told = dict(used(quick))
    assert (told["depth, mean"], told["nps, mean"]) == ("4.5", "50,000")
    assert averages("t", [], [("A", quick)]).rows[0]["nps"] == 50_000


def test_counts_are_added_up() -> None:
    """Margin, ponder, warnings and claims; an engine that did not ponder has no rate."""
    one = SideRecord(margin_uses=2, warnings=("a",), ponders=8, ponder_hits=2, claims=(("pv-other", 3, "x"),))
    two = SideRecord(margin_uses=1, ponders=2, ponder_hits=2, claims=(("pv-other", 1, "y"), ("no-score", 1, "z")))
    sheet = averages("t", ["B", "A"], [("A", one), ("A", two), ("B", SideRecord())])
    none, row = sheet.rows
    assert (row["margin_uses"], row["ponder_hits"], row["warnings"], row["claims"]) == (3, 0.4, 1, 5)
    assert row["claims_by_kind"] == {"pv-other": 4, "no-score": 1}
    assert (none["name"], none["ponder_hits"]) == ("B", None)


def test_the_table_fits_a_terminal() -> None:
    """Columns in which nobody has anything are left out; where all have something the last ones stand below."""
    plain = SideRecord(moves=1234, think_ms=9_000, longest_ms=5_000, effort=(("depth", 9, 90), ("seldepth", 9, 99)))
    text = render(averages("t", [], [("A middling name 1.2", plain)]), 80)
    assert "A middling name 1.2" in text and "ponder " not in text.splitlines()[1]
    claims = (("pv-other", 3, "x"),)
    busy = replace(plain, margin_uses=200, warnings=("a",), ponders=8, ponder_hits=2, claims=claims)
    busy = replace(busy, effort=(*busy.effort, ("tbhits", 9, 90), ("nps", 9, 9_000_000)))
    text = render(averages("t", [], [("A middling name 1.2", busy)]), 80)
    assert max(map(len, text.splitlines())) <= 80
    assert all(head in text for head in ("TB hits", "late", "ponder", "warn.", "claims"))


def test_only_games_that_count_are_looked_at(tmp_path: Path) -> None:
    """A void game and one struck out tell nothing."""
    store, log = open_log(tmp_path / "x.db")
    white, black = NAMES[:2]
    for meeting, outcome in enumerate((Outcome.DRAW, Outcome.VOID, Outcome.WHITE), 1):
        pairing = Pairing(white, black, meeting, encounter=meeting)
        side = SideRecord(moves=meeting)
        add_game(log, Game(pairing, outcome, Termination.MATE, white=side, black=side))
    log.record_event(GameVoided(Pairing(white, black, encounter=1), Outcome.DRAW), (), why="odd")
    found = sorted((name, side.moves) for name, side in sides(log))
    store.close()
    assert found == sorted([(white, 3), (black, 3)])
