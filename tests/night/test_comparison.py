"""Accuracy of tournament systems in hundreds of simulated tournaments of 32 engines and six rounds."""

from __future__ import annotations

import pytest

from enginetour.formats.simulation import ComparisonResult, SimulationModel, compare, parse_system

# Five bands around the median rating, which is 2000 in `World`.
MCMAHON = "mcmahon:base=2000:groups=bands:bar=2:floor=-2"
ENTROPY = "entropy:placement=['PTS','SOS']"
WIDE = 0.02  # two standard errors of 200 fields and of the published values together


def compared(noise: float) -> dict[str, ComparisonResult]:
    contenders = [parse_system(words, 6) for words in ("swiss-gotha", MCMAHON, ENTROPY)]
    found = compare(contenders, SimulationModel(noise=noise), entrants=32, count=200, seed=1)
    return {line.label: line for line in found}


@pytest.mark.night
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("noise", "published"),
    [
        (150.0, {"swiss-gotha": 0.57, MCMAHON: 0.64, ENTROPY: 0.38}),
        (400.0, {"swiss-gotha": 0.56, MCMAHON: 0.46}),
    ],
)
def test_tau_by_table_is_as_published(noise: float, published: dict[str, float]) -> None:
    """McMahon's table is more accurate than a Swiss with good ratings, and less with useless ones."""
    found = compared(noise)
    for words, tau in published.items():
        assert found[words].figures["tau_table"].mean == pytest.approx(tau, abs=WIDE)
    lead = found[MCMAHON].above["tau_table"]
    assert (lead.mean if noise < 300 else -lead.mean) > 5 * lead.error


@pytest.mark.night
@pytest.mark.timeout(1200)
def test_games_between_equals_tell_more_with_good_ratings_only() -> None:
    """Fitted games of `entropy` are better than those of a Swiss by 0.05 at noise 150, and equal at 400."""
    good, useless = (compared(noise)[ENTROPY].above["tau_fit"] for noise in (150.0, 400.0))
    assert good.mean > 4 * good.error
    assert abs(useless.mean) < 3 * useless.error
