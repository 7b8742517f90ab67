"""How games ended, engine by engine."""

from __future__ import annotations

from dataclasses import dataclass

from enginetour.model.game import Outcome
from enginetour.reports.games import endings, endings_counted, endings_words


@dataclass(frozen=True)
class Line:
    """A game of a list."""

    white: str
    black: str
    outcome: Outcome
    termination: str
    voided: bool = False

    @property
    def counts(self) -> bool:
        """It has a result that stands."""
        return self.outcome is not Outcome.VOID and not self.voided


GAMES = [
    Line("a", "b", Outcome.WHITE, "adjudication-resign"),
    Line("b", "a", Outcome.WHITE, "mate"),
    Line("a", "b", Outcome.BLACK, "mate"),
    Line("a", "c", Outcome.DRAW, "adjudication-tablebase"),
    Line("a", "b", Outcome.VOID, "aborted"),
    Line("a", "b", Outcome.WHITE, "mate", voided=True),
]


def test_a_line_for_each_engine_and_end() -> None:
    """In the order of the entrants, ends as the codes are ordered; what does not count is void for both."""
    sheet = endings("t", ["c", "b", "a"], GAMES)
    rows = [tuple(row.values()) for row in sheet.rows]
    assert rows == [
        ("c", "adjudication-tablebase", 0, 1, 0, 0),
        ("b", "mate", 2, 0, 0, 1),
        ("b", "adjudication-resign", 0, 0, 1, 0),
        ("b", "aborted", 0, 0, 0, 1),
        ("a", "mate", 0, 0, 2, 1),
        ("a", "adjudication-resign", 1, 0, 0, 0),
        ("a", "adjudication-tablebase", 0, 1, 0, 0),
        ("a", "aborted", 0, 0, 0, 1),
    ]
    assert [shown["name"] for shown in sheet.shown] == ["c", "b", "", "", "a", "", "", ""]


def test_the_sum_of_all_that_count() -> None:
    """Neither void games nor those struck out."""
    assert endings_words(endings_counted(GAMES)) == "ended by: 2 mate, 1 adjudication-resign, 1 adjudication-tablebase"
    assert endings_words({}) == ""
