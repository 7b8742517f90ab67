"""Tests of formats/planning."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import pytest

from enginetour.formats.planning import (
    Candidate,
    Night,
    Played,
    Proposal,
    best_of_systems,
    fitting,
    parse_goal,
    play,
    shapes,
)
from enginetour.formats.simulation import SimulationModel
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Entrant

NAMES = tuple("ABCDEFGH")
UNKNOWN = tuple(map(Entrant, NAMES))
KNOWN = tuple(Entrant(name, rating=2200.0 - 50 * place) for place, name in enumerate(NAMES))
TOP = parse_goal("top=2", NAMES)
NIGHT = Night(UNKNOWN, SimulationModel(noise=inf), 150, TOP)
RATED = Night(KNOWN, SimulationModel(noise=30.0), 150, TOP)


def test_goals_as_a_user_types_them() -> None:
    """A likelihood that is not given is 0.95; names and lists need no quotes or TOML quotes."""
    assert (TOP.kind, TOP.top, TOP.los) == ("top", 2, 0.95)
    assert parse_goal("los=0.9", NAMES).kind == "places"
    assert parse_goal('error=8,of=["A","B"]', NAMES).of == ("A", "B")
    assert parse_goal("entrant=C, error=8", NAMES).entrant == "C"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("best", "unknown goal 'best'"),
        ("to=3", "unknown goal 'to', did you mean 'top'?"),
        ("error=-3", "error: must be greater than 0"),
        ("top=8", "top must be below the number of entrants (found 8 of 8)"),
        ("entrant=Z,error=8", "'Z' is not an entrant"),
        ("entrant=A", "a goal must have error or los"),
        ('error=20,divisions=[["A"],["B"]]', "compares formats for one field, not for games between divisions"),
    ],
)
def test_goals_that_cannot_be(text: str, told: str) -> None:
    """The error is one line with the option, the value and the allowed goals."""
    with pytest.raises(UsageRefused) as refusal:
        parse_goal(text, NAMES)
    assert str(refusal.value).startswith("--goal: ") and told in str(refusal.value)


def nights(candidate: Candidate, night: Night, count: int) -> list[Played]:
    found = [play(candidate, night, number) for number in range(count)]
    assert None not in found
    return [one for one in found if one is not None]


def test_candidates_use_the_night() -> None:
    """Every fixed format plays at most the games of the night, and one more encounter of all its pairs is too many."""
    found, needed = fitting(NIGHT)
    assert {"roundrobin", "gauntlet", "bubble", "swiss-gotha"} <= {candidate.system for candidate in found}
    assert needed == {}
    for candidate in found:
        if candidate.system == "adaptive":
            continue
        games, once = nights(candidate, NIGHT, 1)[0].games, candidate.length(NIGHT)
        assert games <= NIGHT.games * (1.25 if candidate.system == "bubble" else 1)
        assert games + 2 * once > NIGHT.games or candidate.system == "bubble"


def test_ratings_allow_mcmahon() -> None:
    """McMahon needs ratings, which infinite noise hides."""
    assert "mcmahon" in {candidate.system for candidate in shapes(RATED)}
    assert "mcmahon" not in {candidate.system for candidate in shapes(NIGHT)}


def test_what_is_too_long_is_told() -> None:
    """In 12 games, eight engines play a Swiss of three rounds, and a round robin needs 28 games."""
    found, needed = fitting(replace(NIGHT, games=12))
    assert needed["roundrobin"] == 28
    assert Candidate("swiss-gotha", {"rounds": 3, "games_per_pairing": 1}) in found


def test_one_engine_against_the_others() -> None:
    """For the goal of one engine, the gauntlet of this engine is better than a round robin of all."""
    night = replace(NIGHT, goal=parse_goal("entrant=C,error=30", NAMES))
    found = [candidate for candidate in fitting(night)[0] if candidate.system in ("gauntlet", "roundrobin")]
    assert {str(candidate.settings.get("seeds")) for candidate in found} == {"['C']", "None"}
    proposals = [Proposal.of(candidate, night, nights(candidate, night, 4)) for candidate in found]
    assert [one.candidate.system for one in best_of_systems(proposals)] == ["gauntlet", "roundrobin"]


def test_more_games_decide_more() -> None:
    """With more cycles the error falls, and fewer pairs stay undecided."""
    few, many = (
        Proposal.of(one, RATED, nights(one, RATED, 6))
        for one in (Candidate("roundrobin", {"cycles": cycles}) for cycles in (1, 40))
    )
    assert many.rms.mean < few.rms.mean / 2
    assert many.undecided < few.undecided
    assert many.merit > few.merit
    assert (few.games.mean, many.games.mean) == (28, 28 * 40)


def test_a_summary() -> None:
    """Means, share of reached goals, and the places most often in doubt."""
    nights = [Played(10, 20.0, 0.5, 1.0, True, 0.97, ()), Played(14, 30.0, 0.7, 0.0, False, 0.6, ((2, 3), (3, 4)))]
    found = Proposal.of(Candidate("bubble", {}), NIGHT, [*nights, replace(nights[1], doubts=((3, 4),))])
    assert found.nights == 3
    assert found.games.mean == pytest.approx(38 / 3)
    assert found.reached == pytest.approx(1 / 3)
    assert found.doubts[0][0] == (3, 4)
    assert found.doubts[0][1] == pytest.approx(2 / 3)
    assert found.undecided == 1


def test_enough_is_better_than_more() -> None:
    """Of two proposals that surely reach the goal, the shorter one is better."""
    short, long = (
        Proposal.of(Candidate(system, {}), NIGHT, [Played(games, 9.0, 1.0, 1.0, True, los, ())])
        for system, games, los in (("bubble", 80, 0.96), ("roundrobin", 150, 0.99))
    )
    assert best_of_systems([long, short]) == [short, long]
