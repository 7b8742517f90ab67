"""Tests of reports/starts."""

from __future__ import annotations

from typing import Any

import pytest

from enginetour.formats.base import make_format, options_model
from enginetour.model.game import Entrant, GameFinished, Outcome
from enginetour.ratings.elo import expected_score
from enginetour.ratings.gor import egf_expected
from enginetour.reports.progress import Progress, format_status, status_json
from enginetour.reports.starts import starts_json, starts_lines


def found_in(system: str, ratings: list[float | None], scale: str | None = None, **settings: Any) -> dict[str, Any]:
    """Return the starts of a new tournament of E0, E1, ... with these ratings."""
    format_ = make_format(system, options_model(system).model_validate(settings))
    entrants = tuple(Entrant(f"E{number}", rating=rating) for number, rating in enumerate(ratings))
    found = starts_json(format_, format_.start(entrants), scale)
    assert found is not None
    return found


def falling(count: int) -> list[float | None]:
    return [2800.0 - 20 * number for number in range(count)]


@pytest.mark.parametrize(
    ("system", "settings", "lines"),
    [
        ("swiss", {"rounds": 5}, ["all start with 0 points: E0 to E7 (8 entrants, ratings 2800 to 2660)"]),
        (
            "swiss",
            {"rounds": 7, "acceleration": "baku"},
            [
                "virtual points 1 in rounds 1 to 2, then 0.5 until round 4: E0, E1, E2, E3",
                "virtual points 0: E4, E5, E6, E7",
            ],
        ),
        (
            "swiss-cat",
            {"rounds": 3, "categories": [2750]},
            ["category 1: E0, E1, E2", "category 2: E3, E4, E5, E6, E7"],
        ),
        ("entropy", {"rounds": 3}, ["order by rating: E0 to E7 (8 entrants, ratings 2800 to 2660)"]),
        ("knockout", {}, []),
    ],
)
def test_groups_of_each_kind_of_system(system: str, settings: dict[str, Any], lines: list[str]) -> None:
    """Points, virtual points, categories and orders are one sentence for each group; a bracket has no points."""
    found = found_in(system, falling(8), **settings)
    assert found["lines"] == lines
    assert sum(len(group["entrants"]) for group in found["groups"]) in (0, 8)
    assert sorted(name for pair in found["pairs"] for name in (pair["white"], pair["black"])) == [
        f"E{number}" for number in range(8)
    ]


def test_large_groups_are_ranges() -> None:
    """The groups of a McMahon tournament of 100 entrants are named by their strongest and weakest entrant."""
    found = found_in("mcmahon", falling(100), rounds=5)
    bands, *groups = found["lines"]
    assert bands.startswith("bands of 100 rating points") and "bar" in bands and "floor" in bands
    assert len(groups) == len(found["groups"]) > 5 and all(len(line) < 90 for line in groups)
    assert groups[0].startswith("start ") and "E0 to E" in groups[0] and "entrants, ratings 2800 to" in groups[0]
    assert found["groups"][0]["points"] == len(groups) - 1


def test_round_one_has_its_expected_differences() -> None:
    """Each pair has White's rating difference and expected score; a large round has a summary."""
    found = found_in("swiss", falling(8), rounds=3)
    for pair in found["pairs"]:
        assert pair["expected"] == pytest.approx(expected_score(pair["gap"])) and abs(pair["gap"]) == 80
    lines = [*starts_lines(found)]
    score = "the stronger entrant is expected to score 61 % on average, at most 61 %"
    assert lines[1] == f"round 1: rating differences are 80 on average, at most 80; {score}"
    assert lines[2].count(", 61 %)") + lines[2].count(", 39 %)") == 4
    go = found_in("mcmahon", [2400.0, 2300.0], "go", rounds=1, groups=1)["pairs"][0]
    strong = egf_expected(2400.0, 2300.0, eps=0.0)[0]
    assert go["expected"] == pytest.approx(strong if go["gap"] > 0 else 1 - strong)
    large = [*starts_lines(found_in("swiss", falling(41), rounds=3))]
    assert "the most unequal of 20 pairs: " in large[2] and large[2].count("(") == 3
    assert large[3] == "bye in round 1: E40"


def test_missing_ratings_and_odds() -> None:
    """Without ratings, pairs have no difference; a game at time odds has no expected score."""
    lines = [*starts_lines(found_in("swiss", [None] * 4, rounds=2))]
    assert lines[1] == "round 1: expected scores are not known, because ratings are not known"
    assert lines[2].count(" - ") == 2 and "(" not in lines[2]
    odds = found_in("swiss", [2400.0, 2000.0], rounds=1, handicap={})
    assert odds["pairs"][0]["odds"] and odds["pairs"][0]["expected"] is None
    assert "odds" in [*starts_lines(odds)][-1]


def test_status_shows_the_starts() -> None:
    """During round 1, `status` has the sentences, and warns if a McMahon tournament has only one group."""
    format_ = make_format("mcmahon", options_model("mcmahon").model_validate({"rounds": 2, "bar": 7}))
    state = format_.start(tuple(Entrant(f"E{number}", rating=2000.0 + 90 * number) for number in range(4)))
    picture = Progress("mcmahon", "autumn")
    picture.stand(format_, state)
    found = status_json(picture, "stopped")
    lines = format_status(found).splitlines()
    assert lines[1:3] == [*starts_lines(found["starts"])][:2] and "bar 7" in lines[1]
    assert lines[-1].startswith("warning: all entrants start equal, as in a Swiss")
    for offer in format_.offers(state):
        state = format_.step(state, GameFinished(offer, Outcome.WHITE))
    picture.stand(format_, state)
    assert "starts" not in (later := status_json(picture, "stopped")) and later["warnings"] == []


def test_only_during_round_one() -> None:
    """After round 1, and for formats without rounds, nothing is shown."""
    format_ = make_format("swiss", options_model("swiss").model_validate({"rounds": 2}))
    state = format_.start(tuple(Entrant(f"E{number}", rating=2000.0) for number in range(4)))
    for offer in format_.offers(state):
        assert starts_json(format_, state, None) is not None
        state = format_.step(state, GameFinished(offer, Outcome.WHITE))
    assert starts_json(format_, state, None) is None
    league = make_format("roundrobin", options_model("roundrobin")())
    assert starts_json(league, league.start((Entrant("A"), Entrant("B"))), None) is None
