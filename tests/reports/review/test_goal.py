"""Tests of the page about the goal of an adaptive tournament: progress, cost, purposes and games of its encounters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from enginetour.model.game import GameVoided
from enginetour.reports.charts.canvas import Label
from enginetour.reports.review.goal import goal_picture, purposes_sheet
from enginetour.reports.review.pages import report_pages, report_site
from enginetour.reports.review.tournament import TournamentReview, review_tournament
from tests.support.databases import reported_played

FOUR = ("Fruit", "Toga", "Phalanx", "HoiChess")
GOALS: dict[str, dict[str, Any]] = {
    "errors": {"error": 120.0},
    "places": {"los": 0.9},
    "top": {"top": 1, "los": 0.9},
    "version": {"entrant": "Toga", "error": 120.0},
    "divisions": {"divisions": [["Fruit", "Toga"], ["Phalanx", "HoiChess"]], "error": 120.0},
}


def reviewed(folder: Path, goal: dict[str, Any], *, most: int = 60, void: bool = False) -> TournamentReview:
    """Play an adaptive tournament with random results, annul its first game if `void` is true, and review it."""
    store, log = reported_played(folder / "db", FOUR, "adaptive", {"goal": goal, "games": 80}, most=most)
    with store:
        if void:
            pairing = next(log.full_games()).game.pairing
            log.record_event(GameVoided(pairing, log.games()[0].outcome, "a test"), why="a test")
        return review_tournament(log)


@pytest.mark.parametrize("kind", GOALS)
def test_the_course_ends_with_the_present_value(tmp_path: Path, kind: str) -> None:
    """The course has a point for each choice and ends with the present number of games and value."""
    review = reviewed(tmp_path, GOALS[kind])
    goal = review.goal
    assert goal is not None
    assert [games for games, _ in goal.course] == sorted(games for games, _ in goal.course)
    assert goal.course[-1] == (review.facts.games, goal.outlook.value)
    assert len(goal.course) == len(goal.encounters) + 1
    assert goal.by_error == ("error" in GOALS[kind])
    wanted = goal.outlook.wanted
    value = goal.outlook.value
    assert goal.reached == (value <= wanted if goal.by_error else value >= wanted)


@pytest.mark.parametrize("kind", GOALS)
def test_each_counted_game_belongs_to_one_encounter(tmp_path: Path, kind: str) -> None:
    """Each game that counts is in one encounter between its engines, and the purposes have the same sums."""
    review = reviewed(tmp_path, GOALS[kind], void=True)
    assert review.goal is not None
    engines = {game.number: {game.white, game.black} for game in review.games if game.counts}
    assert len(engines) == len(review.games) - 1
    found = [(number, {one.white, one.black}) for one in review.goal.encounters for number, _ in one.games]
    assert sorted(number for number, _ in found) == sorted(engines)
    assert all(engines[number] == pair for number, pair in found)
    sheet = purposes_sheet(review.goal)
    assert sum(row["games"] for row in sheet.rows) == len(found)
    assert sum(row["encounters"] for row in sheet.rows) == len(review.goal.encounters)


def test_the_chart_shows_the_value_so_far_and_the_expected_one(tmp_path: Path) -> None:
    """The chart has the course and the expected course. A tournament with few choices has no chart."""
    goal = reviewed(tmp_path, {"error": 60.0}).goal
    assert goal is not None and not goal.reached
    picture = goal_picture(goal)
    assert picture is not None
    assert {"so far", "expected"} <= {mark.text for mark in picture.marks if isinstance(mark, Label)}
    assert "largest error (Elo)" in picture.title
    (tmp_path / "few").mkdir()
    few = reviewed(tmp_path / "few", {"error": 60.0}, most=1).goal
    assert few is not None and goal_picture(few) is None


def test_the_page_names_every_encounter(tmp_path: Path) -> None:
    """The page has a row for each encounter with links to its games; it says how many games are expected."""
    review = reviewed(tmp_path, {"error": 60.0})
    page = dict(report_pages(review, report_site(review)))["goal.html"]()
    goal = review.goal
    assert goal is not None
    assert page.count('<tr><td class="n">') == len(goal.encounters)
    linked = {int(number) for number in re.findall(r'href="games/(\d+)\.html', page)}
    assert linked == {game.number for game in review.games}
    assert goal.lead in page and goal.left in page and "more game" in goal.left


def test_other_formats_have_no_goal(tmp_path: Path) -> None:
    """A round robin has neither a goal nor its page."""
    store, log = reported_played(tmp_path / "db", FOUR, options={"cycles": 2})
    with store:
        review = review_tournament(log)
    assert review.goal is None
    assert "goal.html" not in dict(report_pages(review, report_site(review)))
