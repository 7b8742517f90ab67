"""The live table of a terminal."""

from __future__ import annotations

import pytest

from enginetour.cli.screen import REDRAW_S, LiveTable
from enginetour.reports.progress import Progress
from tests.test_scheduler import ended, scheduler, task_for


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> tuple[LiveTable, list[float], list[float]]:
    """A table, its clock, and when it was drawn."""
    now, drawn = [100.0], list[float]()
    made = LiveTable(Progress("roundrobin", "autumn"), clock=lambda: now[0])
    draw = made.draw

    def noted() -> None:
        drawn.append(now[0])
        draw()

    monkeypatch.setattr(made, "draw", noted)
    return made, now, drawn


def test_quick_games_bring_no_redraw_each(screen: tuple[LiveTable, list[float], list[float]]) -> None:
    """Twice a second is often enough for a person; the last picture has them all."""
    table, now, drawn = screen
    loop = scheduler(ended)
    for number in range(1, 25):
        table.game(number, ended(task_for(loop.format.offers(loop.state)[0], 0)), ())
        table.progress(loop)
        now[0] += REDRAW_S / 8
    table.close()
    assert drawn == [100.0, 100.0 + REDRAW_S, 100.0 + 2 * REDRAW_S, now[0]]


def test_trouble_is_shown_at_once(screen: tuple[LiveTable, list[float], list[float]]) -> None:
    """A person should read it now."""
    table, now, drawn = screen
    loop = scheduler(ended)
    table.progress(loop)
    now[0] += REDRAW_S / 8
    table.trouble("the disk is full")
    table.progress(loop)
    table.close()
    assert drawn[:2] == [100.0, now[0]]
    assert table.words == ["the disk is full"]
