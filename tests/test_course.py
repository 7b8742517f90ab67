"""A format played to its end without engines."""

from __future__ import annotations

import pytest

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.formats.simulation import World, drawn, play
from enginetour.model.game import GameFinished


@pytest.mark.parametrize("system", sorted(set(SYSTEMS) - {"match"}))
def test_every_format_comes_to_its_end(system: str) -> None:
    """Any registered format, as many games as it foretold, everybody in the table, and twice the same."""
    field = drawn(World(), 12, "1/0")
    courses = [play(make_format(system, options_model(system)(), 1), field) for _ in range(2)]
    fewest, most = courses[0].bounds
    assert fewest <= len(courses[0].games) <= most
    assert {line.name for line in courses[0].table} == set(field.strengths)
    assert courses[0] == courses[1]


def test_a_test_between_two_stops_at_its_verdict() -> None:
    """No game is played after it, though more were on offer."""
    options = options_model("match").model_validate(
        {"games": 4000, "games_per_pairing": 2, "sprt": {"elo0": 0.0, "elo1": 50.0}}
    )
    format_, field = make_format("match", options, 1), drawn(World(spread=300), 2, "1/0")
    course = play(format_, field)
    assert len(course.games) < 4000
    shorter = format_.start(field.entrants)
    for number, (pairing, outcome) in enumerate(course.games):
        assert format_.offers(shorter), number
        shorter = format_.step(shorter, GameFinished(pairing, outcome))
    assert format_.offers(shorter) == ()
