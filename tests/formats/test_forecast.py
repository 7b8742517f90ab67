"""Tests of formats/forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.base import SYSTEMS, make_format, options_model
from enginetour.formats.forecast import Belief, GameLengths, Prospect, Quantiles, prior_ratings
from enginetour.formats.roundrobin import PairList
from enginetour.formats.simulation import DavidsonModel, Population, play_on
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Entrant, GameFinished, Outcome, Pairing
from enginetour.ratings.elo import expected_score
from enginetour.ratings.priors import GaussianPrior

FOUR = tuple(map(Entrant, "ABCD"))
EVEN = {(one, other): (2, 4, 2) for one in "ABCD" for other in "ABCD" if one != other}


def prospect(system: str, entrants: Sequence[Entrant], belief: Belief | None = None, **given: Any) -> Prospect:
    """Return the prospect of a tournament before its first game."""
    format_ = make_format(system, options_model(system).model_validate(given))
    names = [entrant.name for entrant in entrants]
    believed = belief or Belief.of(names, {}, prior_ratings(format_, names, {}))
    return Prospect("trial", system, format_, format_.start(tuple(entrants)), believed)


def sure(**strengths: float) -> Belief:
    """Return a belief without uncertainty, with few draws and no advantage of White."""
    names, values = tuple(strengths), np.array([*strengths.values()])
    return Belief(names, values, np.zeros((len(names), len(names))), 0.0, 0.1, 0.0)


# Belief.


def test_without_games_the_belief_is_the_prior() -> None:
    """Ratings have the given means and errors, and all draw rates of usual engines are possible."""
    found = Belief.of("AB", {}, GaussianPrior(150.0, {"A": 100.0, "B": -100.0}))
    drawn = [found.draw("x", number) for number in range(2000)]
    gaps = [one.strengths["A"] - one.strengths["B"] for one in drawn]
    assert np.mean(gaps) == pytest.approx(200, abs=25)
    assert np.std(gaps) == pytest.approx(150 * 2**0.5, abs=20)
    rates = [one.nu / (2 + one.nu) for one in drawn]
    assert np.quantile(rates, 0.1) < 0.2
    assert np.quantile(rates, 0.9) > 0.55


def test_games_move_the_belief_and_reduce_its_error() -> None:
    """An engine that scores 75 % in many games without draws is near 191 Elo; more games make it more certain."""
    spreads = []
    for games in (40, 400):
        counts = {("A", "B"): (3 * games // 4, 0, games // 4), ("B", "A"): (games // 4, 0, 3 * games // 4)}
        found = Belief.of("AB", counts, GaussianPrior(350.0))
        gaps = [one.strengths["A"] - one.strengths["B"] for one in (found.draw("x", n) for n in range(1000))]
        spreads.append(float(np.std(gaps)))
    assert np.mean(gaps) == pytest.approx(191, abs=20)
    assert spreads[1] < 0.5 * spreads[0]


def test_many_games_determine_the_draw_rate() -> None:
    """With half of 4,000 games drawn, every draw has nearly this rate between equal engines."""
    found = Belief.of("AB", {("A", "B"): (500, 1000, 500), ("B", "A"): (500, 1000, 500)}, GaussianPrior(350.0))
    rates = [one.nu / (2 + one.nu) for one in (found.draw("x", n) for n in range(500))]
    assert np.mean(rates) == pytest.approx(0.5, abs=0.01)
    assert np.std(rates) == pytest.approx((0.25 / 4000) ** 0.5, rel=0.2)


def test_the_same_seed_draws_the_same_numbers() -> None:
    """Draws depend on the seed and their number only."""
    found = Belief.of("ABCD", EVEN, GaussianPrior(350.0))
    assert found.draw("x", 3) == found.draw("x", 3)
    assert found.draw("x", 3) != found.draw("y", 3)
    assert found.draw("x", 3) != found.draw("x", 4)


def test_a_test_expects_differences_near_its_hypotheses() -> None:
    """The prior difference of two tested engines is around the middle of elo0 and elo1; ratings are not used."""
    match = make_format("match", options_model("match").model_validate({"sprt": {"elo0": 0.0, "elo1": 4.0}}))
    prior = prior_ratings(match, ["A", "B"], {"A": 3000.0, "B": 2000.0})
    assert isinstance(prior, GaussianPrior)
    assert (prior.mean_of("A") or 0) - (prior.mean_of("B") or 0) == 2.0
    assert np.hypot(prior.sd_of("A"), prior.sd_of("B")) == pytest.approx(8.0)


def test_entrants_without_a_rating_are_near_the_others() -> None:
    """Known ratings are centered; an unknown one is in their middle with a larger error."""
    bubble = make_format("bubble", options_model("bubble")())
    prior = prior_ratings(bubble, ["A", "B", "C"], {"A": 2900.0, "C": 2700.0})
    assert isinstance(prior, GaussianPrior)
    assert [prior.mean_of(name) for name in "ABC"] == [100.0, 0.0, -100.0]
    assert prior.sd_of("B") > prior.sd_of("A")


@given(st.floats(-600, 600), st.floats(0.05, 20))
def test_davidson_probabilities_agree_with_elo_for_small_gaps(gap: float, nu: float) -> None:
    """They sum to 1; equal engines score one half; the slope at equality is that of the Elo formula."""
    model = DavidsonModel(white=0.0, nu=nu)
    assert sum(model.chances(gap, 0.0)) == pytest.approx(1)
    assert model.chances(0.0, 0.0)[1] == pytest.approx(nu / (2 + nu))
    won, drawn, _ = model.chances(1.0, 0.0)
    assert won + drawn / 2 - 0.5 == pytest.approx(expected_score(1.0) - 0.5, rel=1e-3)


# Forecasts.

SMALL: Mapping[str, Mapping[str, Any]] = {
    "bubble": {"size": 3, "min_matches": 2, "unpark_threshold": 2},
    "match": {"games": 8, "sprt": {"elo0": 0.0, "elo1": 200.0}},
    "adaptive": {"goal": {"error": 200.0}, "games": 12},  # to its goal, it takes hundreds of games
}


@pytest.mark.parametrize("system", sorted(SYSTEMS))
@settings(max_examples=2)
@given(data=st.data())
def test_a_forecast_of_every_format_keeps_its_bounds(system: str, data: st.DataObject) -> None:
    """In every state, probabilities sum to 1 and the remaining games are within the bounds of the format."""
    entrants = FOUR[:2] if system == "match" else FOUR
    rated = tuple(Entrant(one.name, rating=2000.0 - 50 * place) for place, one in enumerate(entrants))
    given_ = dict(SMALL.get(system, {}))
    if "rounds" in options_model(system).model_fields and system not in ("knockout", "double-elimination"):
        given_["rounds"] = 2
    found = prospect(system, rated, **given_)
    format_, state = found.format, found.state
    for _ in range(data.draw(st.integers(0, 4), "games")):
        if not (offers := format_.offers(state)):
            break
        state = format_.step(state, GameFinished(offers[0], data.draw(st.sampled_from([*Outcome][:3]), "outcome")))
    if not format_.offers(state):
        return
    made = Prospect("trial", system, format_, state, found.belief).forecast(2)
    fewest, most = format_.remaining(state)
    assert fewest <= made.games.p10 <= made.games.p50 <= made.games.p90 <= most
    assert sum(one.wins for one in made.entrants) == pytest.approx(1)
    for one in made.entrants:
        assert sum(one.places.values()) == pytest.approx(1)
    assert {one.name for one in made.entrants} == {entrant.name for entrant in entrants}
    assert sum(made.verdicts.values()) == pytest.approx(1 if system == "match" else 0)


def test_the_far_strongest_engine_wins() -> None:
    """With certain strengths 3,000 Elo apart, the places are those of the strengths, in any order of entry."""
    made = prospect("roundrobin", FOUR, sure(A=-3000.0, B=3000.0, C=0.0, D=6000.0)).forecast(20)
    assert [one.name for one in made.entrants] == ["D", "B", "C", "A"]
    assert [one.places for one in made.entrants] == [{1: 1.0}, {2: 1.0}, {3: 1.0}, {4: 1.0}]
    assert made.entrants[0].wins == 1.0
    assert (made.games.p10, made.games.p90) == (6, 6)


@pytest.mark.parametrize("system", ["roundrobin", "gauntlet"])
def test_equal_games_can_be_drawn_together(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If results do not change the remaining games, the forecast is that of games that are played one by one."""
    known = sure(A=60.0, B=30.0, C=0.0, D=-30.0)
    together = prospect(system, FOUR, known, cycles=3).forecast(800)
    monkeypatch.setattr(PairList, "rest", lambda self, state: None)
    single = prospect(system, FOUR, known, cycles=3).forecast(800)
    chances = [{one.name: one.places for one in made.entrants} for made in (together, single)]
    for name in "ABCD":
        for place in range(1, 5):
            one, other = (found[name].get(place, 0.0) for found in chances)
            assert abs(one - other) < 4 * sqrt(2 * 0.25 / 800)
    assert together.games == single.games


def test_the_next_engine_that_drops_out_of_a_bubble_is_the_weakest() -> None:
    """The probability of dropping out next counts the first departure only."""
    known = sure(A=3000.0, B=2000.0, C=1000.0, D=0.0)
    made = prospect("bubble", FOUR, known, size=3, min_matches=2, unpark_threshold=1).forecast(20)
    assert made.leaving == "drops out"
    assert {one.name: one.leaves_next for one in made.entrants} == {"A": 0.0, "B": 0.0, "C": 0.0, "D": 1.0}


def test_a_test_of_a_much_stronger_engine_is_decided_soon() -> None:
    """The verdict is that of the strength; the number of games is that until the verdict."""
    stronger = sure(A=300.0, B=0.0)
    made = prospect("match", FOUR[:2], stronger, games=1000, sprt={"elo0": 0.0, "elo1": 50.0}).forecast(20)
    assert made.verdicts == {"H1": 1.0}
    assert made.games.p90 < 100


def test_a_forecast_ends_when_it_is_told_to() -> None:
    """The function `going_on` receives the number of finished simulations and ends the forecast."""
    told: list[int] = []
    made = prospect("roundrobin", FOUR).forecast(50, going_on=lambda done: told.append(done) or done < 7)  # type: ignore[func-returns-value]
    assert made.simulations == 7
    assert told == [1, 2, 3, 4, 5, 6, 7]


def test_a_simulation_without_an_end_is_an_error() -> None:
    """The forecast ends during its first simulation if its time is over; no number is invented."""
    with pytest.raises(UsageRefused, match=r"trial: the remaining games \(found 100000 to 100000\) take too long"):
        prospect("match", FOUR[:2], games=100_000).forecast(going_on=lambda _: False)


def test_the_remaining_games_of_a_simulation_follow_the_present_state() -> None:
    """A simulation from a state continues the same rounds as one from the start with the same results."""
    found = prospect("dutch", tuple(map(Entrant, "ABCDEF")), rounds=3)
    population = Population(
        tuple(map(Entrant, "ABCDEF")), dict.fromkeys("ABCDEF", 0.0), DavidsonModel(nu=1.0, white=0.0), "x"
    )
    rounds, last = play_on(found.format, found.state, population)
    state = found.state
    for pairing, outcome in rounds[0]:
        state = found.format.step(state, GameFinished(pairing, outcome))
    rest, again = play_on(found.format, state, population)
    assert rest == rounds[1:]
    assert found.format.standings(again) == found.format.standings(last)


# Durations.


def test_lengths_follow_the_observed_games() -> None:
    """A pair of slow engines takes longer; the spread is that within the pairs of engines."""
    slow, fast = [30.0, 50.0] * 50, [3.0, 5.0] * 50
    observed = {
        ("A", "B"): (100, sum(slow), sum(s * s for s in slow)),
        ("C", "D"): (100, sum(fast), sum(s * s for s in fast)),
    }
    found = GameLengths.of(observed)
    assert found is not None
    assert found.games == 200
    assert found.expected(Pairing("A", "B")) == pytest.approx(40, rel=0.05)
    assert found.expected(Pairing("C", "D")) == pytest.approx(4, rel=0.25)
    assert found.expected(Pairing("A", "E")) == pytest.approx((40 + 22) / 2, rel=0.05)
    assert found.spread == pytest.approx((10**2 / 2 + 1 / 2) ** 0.5 / 22, rel=0.02)
    assert GameLengths.of({}) is None


def test_concurrent_games_share_the_time_but_an_encounter_does_not() -> None:
    """Games of different encounters run in parallel; the two games of one encounter do not."""
    lengths = GameLengths({}, 10.0)
    two = [Pairing("A", "B"), Pairing("C", "D")]
    legs = [Pairing("A", "B", leg=1), Pairing("B", "A", leg=2)]
    assert [lengths.duration(games, slots) for games in (two, legs) for slots in (1, 2)] == [20, 10, 20, 20]


def test_unknown_lengths_are_less_certain_than_observed_ones() -> None:
    """An estimate from the time control has an error of its own, which more games do not reduce."""
    estimated, observed = GameLengths({}, 10.0), GameLengths({}, 10.0, games=10_000)
    assert log(observed.factor(10_000, 1.0)) < 0.01
    assert estimated.factor(10_000, 1.0) > exp(0.29)


def test_quantiles_are_values_of_the_sample() -> None:
    """Numbers of games are whole."""
    assert Quantiles.of([*range(1, 12)]) == Quantiles(2, 6, 10)
    assert Quantiles.of([5]) == Quantiles(5, 5, 5)
