"""Tables from games."""

from enginetour.formats.pairing.standings import CrossRow, Scored, cross, crosstable, table, total, with_game
from enginetour.formats.pairing.tiebreaks import Tally
from enginetour.model.game import Outcome, Placed

W, D, B, VOID = Outcome.WHITE, Outcome.DRAW, Outcome.BLACK, Outcome.VOID
GAMES = [
    Scored("A", "B", W),
    Scored("B", "A", D),
    Scored("A", "C", B),
    Scored("B", "C", W),
    Scored("C", "B", VOID),
]


def test_table_with_tie_breaks() -> None:
    """Points first, then Sonneborn-Berger; units are those of the codes."""
    assert table(["C", "B", "A"], cross(GAMES)) == (
        Placed(1, "A", 3, 3, "", (("SB", 3 * 3), ("DE", 0), ("WIN", 1))),
        Placed(2, "B", 3, 3, "", (("SB", 1 * 3 + 2 * 2), ("DE", 0), ("WIN", 1))),
        Placed(3, "C", 2, 2, "", (("SB", 2 * 3), ("DE", 0), ("WIN", 1))),
    )


def test_fully_tied_share_a_rank_in_list_order() -> None:
    """Equal on everything is an equal rank, and the next rank is left out."""
    lines = table(["X", "Y", "Z"], cross([Scored("Y", "X", D), Scored("Z", "X", D), Scored("Y", "Z", D)]))
    assert [(line.rank, line.name) for line in lines] == [(1, "X"), (1, "Y"), (1, "Z")]


def test_each_code_splits_those_still_tied() -> None:
    """Direct encounter is played among those level on points; after Sonneborn-Berger nobody is level any more."""
    lines = table(["B", "A", "C"], cross(GAMES), ("DE",))
    assert [(line.name, line.tiebreaks) for line in lines] == [
        ("A", (("DE", 3),)),
        ("B", (("DE", 1),)),
        ("C", (("DE", 0),)),
    ]
    assert [line.tiebreaks[1] for line in table(["B", "A", "C"], cross(GAMES))] == [("DE", 0)] * 3


def test_only_games_among_the_named_count() -> None:
    """Who is not named gives no points to those who are."""
    assert [(line.name, line.half_points, line.games) for line in table(["B", "C"], cross(GAMES))] == [
        ("B", 2, 1),
        ("C", 0, 1),
    ]


def test_a_game_taken_back_leaves_no_trace_in_the_sums() -> None:
    """Counting a game off undoes counting it on."""
    grid = with_game(with_game(cross(GAMES[:3]), GAMES[3]), GAMES[3], -1)
    for name in "ABC":
        assert total(grid, name) == total(cross(GAMES[:3]), name)
    assert total(cross(GAMES), "B", ["A"]) == Tally(1, 2, 0)


def test_crosstable_cells_read_from_the_row() -> None:
    """Games in order, each from the row's side; void games are not there."""
    rows = crosstable(["A", "B", "C"], GAMES)
    assert [[cell.text if cell else "x" for cell in row.cells] for row in rows] == [
        ["x", "1=", "0"],
        ["0=", "x", "1"],
        ["1", "0", "x"],
    ]
    assert [(row.name, row.half_points, row.games) for row in rows] == [("A", 3, 3), ("B", 3, 3), ("C", 2, 2)]
    assert crosstable(["A"], GAMES) == (CrossRow("A", 0, 0, (None,)),)
