"""Coverage of 95 % intervals in 400 tournaments of every kind; `pytest -s` shows the numbers."""

import pytest

from enginetour.ratings.likelihood import ModelName
from tests.laws.coverage import Field, chain, covered, gauntlet, mesh, shown_to_cover, thin

pytestmark = pytest.mark.night

TOURNAMENTS = 400


@pytest.mark.parametrize(
    ("name", "field", "least"),
    [
        ("mesh of 100", mesh(100, 2, 150), 0.94),
        ("thin, 60 games an engine", thin(100, 30, 1, 150), 0.93),
        ("gauntlet of 12", gauntlet(12, 50, 100), 0.94),
        ("chain of 30", chain(30, 50, 25), 0.93),
    ],
)
@pytest.mark.parametrize("paired", [False, True])
def test_intervals_cover(name: str, field: Field, least: float, paired: bool) -> None:
    """Intervals of independent games have the right coverage, with and without game pairs."""
    _show(f"{name}, {'pairs' if paired else 'games'}", shares := covered(field, TOURNAMENTS, paired=paired))
    assert all(least <= share <= 0.965 for share in shares.values())


@pytest.mark.parametrize("model", ["logistic", "davidson", "raokupper"])
@pytest.mark.parametrize("field", [mesh(12, 10, 120), gauntlet(12, 40, 100), chain(30, 50, 25)])
def test_favoured_openings_cover_by_pairs_only(field: Field, model: ModelName) -> None:
    """With openings that favor White, only errors from game pairs have the right coverage, in every model."""
    _show(f"{model}, games", single := covered(field, TOURNAMENTS, favour=1.2, model=model))
    _show(f"{model}, pairs", paired := covered(field, TOURNAMENTS, favour=1.2, model=model, paired=True))
    assert min(single.values()) > 0.965
    assert all(0.935 <= share <= 0.965 for share in paired.values())


def _show(name: str, shares: dict[str, float]) -> None:
    print(f"{name:<34} " + "  ".join(f"{place} {share:.2%}" for place, share in shares.items()))


@pytest.mark.parametrize(
    "field",
    [mesh(6, 1, 120), mesh(10, 1, 150), thin(60, 6, 1, 120), mesh(2, 6, 80), mesh(11, 1, 150), chain(10, 4, 25)],
    ids=["10 games", "18 games", "12 games, thin", "12 games, match", "20 games", "16 games, chain"],
)
def test_shown_intervals_of_few_games_cover(field: Field) -> None:
    """Displayed intervals (profile likelihood below twenty games) have a coverage of 94 to 96 %."""
    share = shown_to_cover(field, 4000 // len(field.truth))
    _show("few games", {"shown": share})
    assert 0.935 <= share <= 0.965
