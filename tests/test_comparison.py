"""Systems on the same fields, and one format many times."""

from __future__ import annotations

import pytest

from enginetour.formats.base import make_format, options_model
from enginetour.formats.simulation import World, compare, contender, rehearse
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Entrant


def test_the_same_system_twice_differs_by_nothing() -> None:
    """Both play the same engines with the same luck."""
    twice = [contender("entropy", 3), contender("entropy:rerate=true", 3)]
    one, other = compare(twice, World(), entrants=8, count=4, seed=1)
    assert one.figures == other.figures
    assert {(figure.mean, figure.error) for figure in other.above.values()} == {(0.0, 0.0)}
    assert one.figures["games"].mean == 12


def test_more_games_tell_more() -> None:
    """A round robin is nearer to the truth than two rounds, by more than five standard errors of the difference."""
    pair = [contender("entropy:placement=['PTS']", 2), contender("roundrobin", 2)]
    rounds, everybody = compare(pair, World(), entrants=10, count=20, seed=1)
    for key in ("tau_table", "tau_fit"):
        assert everybody.above[key].mean > 5 * everybody.above[key].error > 0
        assert everybody.above[key].mean == pytest.approx(everybody.figures[key].mean - rounds.figures[key].mean)


def test_told_field_by_field() -> None:
    """Once for each, whatever the number of systems."""
    told: list[int] = []
    compare([contender("roundrobin", 1)] * 2, World(), entrants=3, count=5, seed=1, told=told.append)
    assert told == [1] * 5


def test_fields_that_do_not_suit_a_system() -> None:
    """The refusal names it."""
    for words in ("entropy", "match"):
        with pytest.raises(UsageRefused, match=f"^{words}|{words}") as refusal:
            compare([contender(words, 6)], World(), entrants=4, count=1, seed=1)
        assert str(refusal.value).startswith(f"{words}: ")


def test_a_format_rehearsed() -> None:
    """Bounds from before the first game hold the simulated numbers; the same seed gives the same figures."""
    options = options_model("bubble").model_validate({"size": 4, "min_matches": 6, "unpark_threshold": 2})
    entrants = [Entrant(f"E{place}", rating=1500.0 - 40 * place) for place in range(8)]

    def rehearsed(seed: int) -> object:
        return rehearse(lambda number: make_format("bubble", options, number), entrants, World(), count=8, seed=seed)

    found = rehearse(lambda number: make_format("bubble", options, number), entrants, World(), count=8, seed=1)
    assert found.fewest <= found.low <= found.figures["games"].mean <= found.high <= found.most
    assert rehearsed(1) == found != rehearsed(2)


@pytest.mark.parametrize("words", ["mcmahon", "mcmahon:base=2000:groups=bands:bar=2:floor=-2"])
@pytest.mark.parametrize(("noise", "better"), [(150.0, 1), (400.0, -1)])
def test_mcmahon_lives_on_good_ratings(words: str, noise: float, better: int) -> None:
    """Its table beats that of a Swiss when ratings are off by 150 Elo, and loses when they are off by 400."""
    pair = [contender("swiss-gotha", 6), contender(words, 6)]
    lead = compare(pair, World(noise=noise), entrants=32, count=24, seed=1)[1].above["tau_table"]
    assert better * lead.mean > 2 * lead.error
