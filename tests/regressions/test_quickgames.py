"""Quick games by a fixed time a move were played on one processor, where a neighbour could make an engine late."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from enginetour.model.task import Rules, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.referee.quickgames import _takes_turns
from enginetour.referee.seats import Seat
from tests.playing import sound


@pytest.mark.parametrize(
    ("tc", "hang_limit", "may"),
    [
        ("movetime=0.002", 60.0, False),
        ("movetime=9.9", 60.0, False),
        ("nodes=1", 60.0, True),
        ("nodes=1", 5.0, False),
        ("depth=3", 10.0, True),
        ("9+0.1", 60.0, False),
        ("60+1", 60.0, True),
    ],
)
def test_a_flag_that_is_near_is_no_game_of_turns(tc: str, hang_limit: float, may: bool) -> None:
    """Whatever says when it falls: a clock, the time of a move, the limit of a search without either."""
    seat = Seat(Side(sound(), TimeControl.parse(tc)), Rules(hang_limit=hang_limit), white=True)
    engine: Any = SimpleNamespace(games=2)
    seat.engine = engine
    assert _takes_turns(seat) == may
