"""The games of a tournament in its report."""

from __future__ import annotations

from pathlib import Path

from enginetour.model.game import Outcome
from enginetour.reports.review.tournament import game_rows
from enginetour.reports.review.write import write_report
from tests.storing import add_game, game, open_log, sound_log


def test_rows_know_the_games_beside_them(tmp_path: Path) -> None:
    """The other leg, the one that was played again, and the numbers before and after."""
    store, log = open_log(tmp_path / "t.db")
    with store:
        add_game(log, game(outcome=Outcome.VOID))
        for meeting in (1, 2):
            for leg in (1, 2):
                add_game(log, game(meeting=meeting, leg=leg, replay=int(meeting == leg == 1)))
        rows = list(game_rows(log))
        assert [(one.number, one.before, one.after) for one in rows] == [
            (1, None, 2), (2, 1, 3), (3, 2, 4), (4, 3, 5), (5, 4, None),
        ]  # fmt: skip
        assert [[(near.number, near.leg, near.replay) for near in one.neighbours] for one in rows] == [
            [(2, 1, 1), (3, 2, 0)], [(1, 1, 0), (3, 2, 0)], [(1, 1, 0), (2, 1, 1)], [(5, 2, 0)], [(4, 1, 0)],
        ]  # fmt: skip
        assert [one.number for one in game_rows(log, 2, 3)] == [2, 3]


def test_each_game_has_its_page(tmp_path: Path) -> None:
    """Void games and those that were replayed too."""
    store, log = sound_log(tmp_path / "t.db")
    with store:
        add_game(log, game(outcome=Outcome.VOID))
        add_game(log, game(replay=1))
        add_game(log, game(meeting=2, white="Toga", black="Fruit"))
        written = write_report(log, tmp_path / "report")
    pages = sorted(path.name for path in (tmp_path / "report" / "games").iterdir())
    assert pages == ["1.html", "2.html", "3.html"]
    assert written.pages == len(list((tmp_path / "report").rglob("*.html")))
