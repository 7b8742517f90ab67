"""Tests of formats/outlook."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from enginetour.formats.adaptive import Adaptive, AdaptiveOptions
from enginetour.formats.outlook import describe_goal, expected_games, outlook
from enginetour.model.game import Entrant
from enginetour.ratings.design import Goal, posterior, progress
from enginetour.ratings.pairs import Vector
from enginetour.ratings.priors import GaussianPrior

NAMES = tuple("ABCDE")
PRIOR = GaussianPrior()
GAMES = 8  # of each pair and color
DIVISIONS = Goal(divisions=(("A", "B"), ("C",), ("D", "E")), error=40)


def evenly(games: int, goal: Goal) -> Vector:
    """Return equally many games of all pairs that may meet, 40 % of them draws."""
    return np.asarray(games * goal.meets(NAMES)[..., None] * np.array((0.3, 0.4, 0.3)))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"goal": {"error": 10.0}, "games": 100}, "100 games reach about ± 70 Elo, but the goal is ± 10"),
        (
            {"goal": {"los": 0.95}, "games": 40},
            "40 games will probably not reach the goal: if the ratings scatter by 150 Elo, they leave about 4 of 4",
        ),
        (
            {"goal": {"top": 1, "los": 0.99}, "games": 12},
            "12 games will probably not reach the goal: if the ratings scatter by 150 Elo, they decide the first 1",
        ),
        ({"goal": {"entrant": "A", "error": 5.0}, "games": 100}, "100 games reach about ± "),
        (
            {"goal": {"divisions": [["A", "B"], ["C", "D", "E"]], "error": 10.0}, "games": 100},
            "100 games reach about ± 61 Elo, but the goal is ± 10 Elo, which needs about 3,800 games",
        ),
    ],
)
def test_a_goal_out_of_reach(settings: dict[str, Any], says: str) -> None:
    """Before the first game, a warning says what the allowed games can reach."""

    def warnings(**given: Any) -> list[str]:
        format_ = Adaptive(AdaptiveOptions.model_validate(given))
        return [note.text for note in format_.start(tuple(map(Entrant, NAMES))).notes if note.is_warning]

    (warning,) = warnings(**settings)
    assert warning.startswith(says)
    assert not warnings(**settings | {"games": 10**6})


@pytest.mark.parametrize("goal", [Goal(error=40), DIVISIONS], ids=["errors", "divisions"])
def test_the_expected_games_reach_the_error(goal: Goal) -> None:
    """If the pairs play that many games more, the error is the wanted one, and the expected course ends there."""
    before = posterior(NAMES, evenly(0, goal), PRIOR)
    known = posterior(NAMES, evenly(GAMES, goal), PRIOR)
    course = progress(known, goal)
    left = expected_games(goal, known, course)
    assert left > 50
    pairs = int(goal.meets(NAMES).sum())
    open_pairs = course.doubt if goal.divisions else goal.meets(NAMES)
    more = evenly(1, goal) * (left * open_pairs / open_pairs.sum())[..., None]
    after = posterior(NAMES, evenly(GAMES, goal) + more, PRIOR)
    assert float(progress(after, goal).reached) == pytest.approx(goal.wanted, rel=0.1)
    found = outlook(goal, known, course, before, GAMES * pairs)
    assert found.left == left
    assert found.expected[-1][1] == pytest.approx(goal.wanted, rel=0.1)
    assert found.round_robin == pytest.approx(GAMES * pairs, rel=0.1)


def test_nothing_is_expected_after_the_goal() -> None:
    """A goal that is reached needs no games, and has no course to come."""
    known = posterior(NAMES, evenly(200, DIVISIONS), PRIOR)
    found = outlook(DIVISIONS, known, progress(known, DIVISIONS), known, 3200)
    assert (found.left, found.expected) == (0, ())


@pytest.mark.parametrize(
    ("goal", "text"),
    [
        (Goal(error=10), "every rating is known to ± 10 Elo"),
        (Goal(entrant="A", error=8), "the difference of A to the others is known to ± 8 Elo"),
        (DIVISIONS, "the differences of neighboring divisions are known to ± 40 Elo"),
        (Goal(top=3, los=0.9, ordered=True), "the first 3 in their order are known with a likelihood of 90 %"),
        (Goal(los=0.9), "all neighbors in the list are separated or level (within 5 Elo) with a likelihood of 90 %"),
    ],
)
def test_texts_of_goals(goal: Goal, text: str) -> None:
    """Each goal is a clause."""
    assert describe_goal(goal) == text
