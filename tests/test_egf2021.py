import pytest
from pydantic import ValidationError

from enginetour.model.errors import InputRefused
from enginetour.ratings.gor import Egf2021Settings, begin_egf2021, bonus, egf2021_con, expected_score, rate_egf2021
from enginetour.ratings.pairs import RatedGame


@pytest.mark.parametrize(
    ("own", "opponent", "half_points", "expected", "weight", "extra", "after"),
    [
        (2100, 2100, 2, 0.5, 17.580936, 0.515778, 2109.306246),
        (2674.564, 2611.051, 0, 0.663075, 6.197901, None, 2670.45617061712),
        (1500, 1600, 1, 0.401286, 33.634735, 2.000009, 1505.320222),
    ],
)
def test_published_games(
    own: float, opponent: float, half_points: int, expected: float, weight: float, extra: float | None, after: float
) -> None:
    """Published games come out as published, with either colour."""
    assert expected_score(own, opponent) == pytest.approx(expected, abs=5e-7)
    assert egf2021_con(own) == pytest.approx(weight, abs=5e-7)
    assert extra is None or bonus(own) == pytest.approx(extra, abs=5e-7)
    start = {"A": own, "B": opponent}
    white = rate_egf2021([RatedGame("A", "B", half_points, 1)], Egf2021Settings(), start)[0]
    black = rate_egf2021([RatedGame("B", "A", 2 - half_points, 1)], Egf2021Settings(), start)[1]
    assert white.after == black.after == pytest.approx(after, abs=1e-9 if extra is None else 5e-7)
    assert (white.system, white.weight) == ("egf2021", egf2021_con(own))


def test_the_two_sides_expect_one_point() -> None:
    """What one side expects the other does not, however far apart."""
    for one, other in ((100, 3299), (2100, 2100), (-900, 500)):
        assert expected_score(one, other) + expected_score(other, one) == pytest.approx(1, abs=1e-15)


def test_class_weighs_the_whole_change() -> None:
    """A class D event counts a quarter, bonus included; events without a class of their own have the common one."""
    games = [RatedGame("A", "B", 2, 1, "city"), RatedGame("A", "B", 2, 2, "club")]
    start = {"A": 2100.0, "B": 2100.0}
    full = rate_egf2021(games[:1], Egf2021Settings(), start)[0]
    city, _, club, _ = rate_egf2021(games, Egf2021Settings(event_class="D", classes={"club": "B"}), start)
    assert (city.change, city.weight) == pytest.approx((full.change / 4, full.weight / 4))
    assert club.weight == pytest.approx(0.75 * egf2021_con(club.before))


def test_batch_takes_the_ratings_before_the_event() -> None:
    """In batch mode every game gives its bonus, and all weigh what the first one does."""
    games = [RatedGame("A", "B", 2, 1), RatedGame("B", "A", 2, 2), RatedGame("A", "B", 1, 3)]
    event = rate_egf2021(games, Egf2021Settings(mode="batch"), {"A": 2100.0, "B": 2100.0})[0]
    assert event.change == pytest.approx(3 * bonus(2100), abs=1e-9)
    assert (event.game, event.games) == (None, 3)


def test_bonus_far_from_its_bend() -> None:
    """Far below 2300 the bonus is a fifth of a straight line, far above it is next to nothing; neither overflows."""
    assert bonus(-900) == pytest.approx(3200 / 80 / 5, abs=1e-12)
    assert bonus(-1e6) == pytest.approx((1e6 + 2300) / 400)
    assert 0 < bonus(3299) < 1e-6


def test_no_rating_from_3300_up() -> None:
    """3300 brought along or reached is refused: the formulas end below it."""
    with pytest.raises(InputRefused, match="A starts at 3300"):
        begin_egf2021(Egf2021Settings(), {"A": 3300.0})
    with pytest.raises(InputRefused, match="reaches"):
        rate_egf2021([RatedGame("A", "B", 2, n) for n in range(99)], Egf2021Settings(mode="batch"), {})
    with pytest.raises(ValidationError):
        Egf2021Settings(start_value=3300)
    assert (
        max(
            event.after
            for event in rate_egf2021([RatedGame("A", "B", 2, n) for n in range(999)], Egf2021Settings(), {})
        )
        < 3300
    )


def test_floor_only_when_asked() -> None:
    """Without a floor a rating falls as far as it is beaten; with one it stays on it."""
    games = [RatedGame("A", "B", 0, n) for n in range(30)]
    start = {"A": -880.0, "B": -880.0}
    lowest = [min(e.after for e in rate_egf2021(games, Egf2021Settings(floor=floor), start)) for floor in (None, -900)]
    assert lowest[0] < -900 == lowest[1]
