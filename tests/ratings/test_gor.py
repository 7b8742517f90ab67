"""Tests of ratings/gor."""

from itertools import chain, combinations
from math import log2
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from enginetour.formats.pairing.mcmahon import band as band_of
from enginetour.model.errors import InputRefused
from enginetour.ratings import grades
from enginetour.ratings.gor import (
    CzechSettings,
    Egf2021Settings,
    EgfSettings,
    GorSettings,
    _bonus,
    _egf2021_con,
    _expected_score,
    begin,
    begin_egf2021,
    con,
    czech_expected,
    egf_expected,
    expected_total_change,
    grade_rating,
)
from enginetour.ratings.incremental import Mode, RatedGame, RatingEvent
from enginetour.ratings.systems import SYSTEMS

rate, rate_egf2021 = SYSTEMS["gor"].rate, SYSTEMS["egf2021"].rate

SIX = {"A": 509.0, "B": 902.0, "C": 464.0, "D": 800.0, "E": 340.0, "F": 646.0}
TABLE = """
A .       .10126/.33454 .56150/.46753 .16567/.42968 .71073/.35012 .31841/.52571
B .89874/.13842 .       .91733/.11420 .64980/.40413 .95209/.06744 .81454/.24106
C .43850/.52153 .08267/.29732 .       .13633/.39192 .65916/.39635 .26894/.50955
D .83433/.21801 .35020/.53011 .86367/.18262 .       .92033/.11024 .70893/.35184
E .28927/.51765 .04791/.21001 .34084/.52927 .07967/.29079 .       .16415/.42793
F .68159/.37693 .18546/.45082 .73106/.33040 .29107/.51827 .83585/.21622 .
"""


def after(events: list[RatingEvent]) -> dict[str, float]:
    return {event.engine: event.after for event in events}


@pytest.mark.parametrize(
    ("rating", "weight"),
    [(100, 116), (200, 110), (1500, 47), (1550, 45), (2000, 27), (2650, 10.5), (2700, 10), (3000, 10), (110, 115.4)],
)
def test_con(rating: float, weight: float) -> None:
    """Con is linear between the hundreds of the table and constant outside it."""
    assert con(rating) == pytest.approx(weight, abs=1e-12)


@pytest.mark.parametrize(
    ("gap", "printed"),
    [(20, 0.543), (40, 0.586), (60, 0.628), (80, 0.667), (100, 0.705), (120, 0.740), (140, 0.772), (160, 0.801),
     (180, 0.827), (200, 0.851), (300, 0.931)],
)  # fmt: skip
def test_czech_table(gap: float, printed: float) -> None:
    """The printed expected scores are the rounded formula."""
    assert round(czech_expected(gap), 3) == printed


def test_czech_misprint() -> None:
    """The printed .971 at 400 is a misprint: the formula gives .97006."""
    assert czech_expected(400) == pytest.approx(0.97006, abs=5e-6)


def test_czech_tournament() -> None:
    """1500 beats 1600, loses to 1450 and beats 1500: +28.089084, from the ratings before the tournament."""
    games = [RatedGame("A", "B", 2, 1), RatedGame("C", "A", 2, 2), RatedGame("A", "D", 2, 3)]
    events = rate(games, GorSettings(), {"A": 1500, "B": 1600, "C": 1450, "D": 1500})
    own = next(event for event in events if event.engine == "A")
    assert own.change == pytest.approx(28.089084, abs=1e-6)
    assert own.after == pytest.approx(1528.089084, abs=1e-6)
    assert (own.weight, own.game, own.games, own.system) == (47, None, 3, "gor-czech")


def test_floor() -> None:
    """110 that loses to 120 and 300 would lose 73.750976, but stays at 100."""
    games = [RatedGame("A", "B", 0, 1), RatedGame("A", "C", 0, 2)]
    own = rate(games, GorSettings(), {"A": 110, "B": 120, "C": 300})[0]
    assert own.change == pytest.approx(-73.750976, abs=1e-6)
    assert own.after == 100


def test_floor_is_not_inside_the_tournament() -> None:
    """Within a tournament a win counts from the exact sum, not from the lowest rating."""
    games = [RatedGame("A", "B", 0, 1), RatedGame("A", "B", 0, 2), RatedGame("A", "B", 2, 3)]
    start = {"A": 110.0, "B": 110.0}
    assert after(rate(games, GorSettings(), start))["A"] == 100
    assert after(rate(games, GorSettings(mode="sequential"), start))["A"] > 150


@pytest.mark.parametrize(
    ("winner", "loser", "scores", "ratings"),
    [
        (1700.0, 1900.0, (0.158869, 0.825131), (1732.804105, 1874.420942)),
        (2720.0, 2800.0, (0.241796, 0.742204), (2727.582038, 2792.577962)),
    ],
)
def test_egf_examples(winner: float, loser: float, scores: tuple[float, float], ratings: tuple[float, float]) -> None:
    """The worked examples of the thesis are reproduced to the last printed digit."""
    assert egf_expected(winner, loser) == pytest.approx(scores, abs=1e-6)
    assert egf_expected(loser, winner) == pytest.approx(scores[::-1], abs=1e-6)
    events = rate([RatedGame("A", "B", 2, 1)], GorSettings(variant="egf"), {"A": winner, "B": loser})
    assert [event.after for event in events] == pytest.approx(ratings, abs=1e-6)


def test_egf_handicap() -> None:
    """Three stones raise 1200 to 1500 in the expected score; con is that of the actual rating."""
    settings = GorSettings(variant="egf")
    high, low = begin(settings, {}).rule.expected(1550, 1200, 3)
    assert (low, high) == pytest.approx((0.405014, 0.578986), abs=1e-6)
    assert 1200 + con(1200) * (1 - low) == pytest.approx(1235.699148, abs=1e-6)
    assert 1550 + con(1550) * (0 - high) == pytest.approx(1523.945639, abs=1e-6)


@pytest.mark.parametrize("mode", ["batch", "sequential"])
@pytest.mark.parametrize("giver", ["white", "black"])
def test_each_stone_counts_a_grade_in_rated_games(mode: Mode, giver: str) -> None:
    """The side that receives 3 stones counts as 300 points stronger with either color; con is that of its rating."""
    start = {"A": 1200.0, "B": 1550.0}
    game = RatedGame("B", "A", 0, 1, handicap=3) if giver == "white" else RatedGame("A", "B", 2, 1, handicap=-3)
    found = after(rate([game], GorSettings(variant="egf", mode=mode), start))
    assert found == pytest.approx({"A": 1235.699148, "B": 1523.945639}, abs=1e-6)
    won = after(rate([game], GorSettings(mode=mode), start))["A"]
    assert won == pytest.approx(1200 + con(1200) * (1 - czech_expected(-50)), abs=1e-9)


def test_even_games_and_games_with_stones_count_apart() -> None:
    """Even games and handicap games of one tournament have different expected scores."""
    start = {"A": 1200.0, "B": 1550.0}
    games = [RatedGame("A", "B", 2, 1), RatedGame("A", "B", 2, 2, handicap=-3), RatedGame("A", "B", 0, 3, handicap=-3)]
    hoped = czech_expected(-350) + 2 * czech_expected(-50)
    assert after(rate(games, GorSettings(), start))["A"] == pytest.approx(1200 + con(1200) * (2 - hoped), abs=1e-9)


def test_egf_equals() -> None:
    """Equals share the points that eps leaves."""
    assert egf_expected(1500, 1500) == (0.492, 0.492)
    assert egf_expected(1500, 1500, eps=0) == (0.5, 0.5)


def test_printed_probabilities_and_entropies() -> None:
    """All thirty cells of the printed pairing tables are reproduced, with a in whole points and without eps."""
    for line in TABLE.strip().splitlines():
        row, *cells = line.split()
        for column, cell in zip(SIX, cells, strict=True):
            if row != column:
                share, bits = map(float, cell.split("/"))
                found = egf_expected(SIX[row], SIX[column], eps=0, integer_steps=True)[0]
                assert found == pytest.approx(share, abs=6e-6), (row, column)
                assert -found * log2(found) == pytest.approx(bits, abs=2e-5), (row, column)


def test_integer_steps_reach_the_ratings() -> None:
    """The option integer_steps changes ratings."""
    games, start = [RatedGame("A", "B", 2, 1)], {"A": 509.0, "B": 902.0}
    whole = rate(games, GorSettings(variant="egf", eps=0, integer_steps=True), start)[0]
    assert whole.change == pytest.approx(con(509) * (1 - 0.10126), abs=1e-3)
    assert whole.change != rate(games, GorSettings(variant="egf", eps=0), start)[0].change


@pytest.mark.parametrize(
    ("rating", "below", "points"), [(700, 246, 1.378774), (1400, 213, 0.831986), (2200, 138, 0.344215)]
)
def test_expected_total_change(rating: float, below: int, points: float) -> None:
    """The added points are largest against a weaker opponent and fall steadily against stronger ones."""
    against = {gap: expected_total_change(rating, rating + gap) for gap in range(-500, 501)}
    assert max(against, key=against.__getitem__) == -below
    assert against[-below] == pytest.approx(points, abs=1e-6)
    assert all(against[gap] > against[gap + 1] for gap in range(500))


def test_total_change_of_equals() -> None:
    """Between equals a game adds eps (1 - eps) con."""
    assert expected_total_change(1400, 1400) == pytest.approx(0.802944, abs=1e-9)


def test_the_pairing_that_tells_most() -> None:
    """Of all pairings of the printed six, A-F B-D C-E has most information, then A-E B-D C-F, as in the thesis."""
    bits = {
        (one, other): -sum(
            share * log2(share) for share in egf_expected(SIX[one], SIX[other], eps=0, integer_steps=True)
        )
        for one, other in combinations(SIX, 2)
    }
    sums = {pairs: sum(map(bits.__getitem__, pairs)) for pairs in combinations(bits, 3) if len({*chain(*pairs)}) == 6}
    best, second, *_ = sorted(sums, key=lambda pairs: -sums[pairs])
    assert len(sums) == 15
    assert (best, second) == ((("A", "F"), ("B", "D"), ("C", "E")), (("A", "E"), ("B", "D"), ("C", "F")))
    assert (sums[best], sums[second]) == pytest.approx((2.7625, 2.64196), abs=5e-5)


def test_nothing_injected_without_eps() -> None:
    """Without eps expected changes differ only by the difference in con."""
    assert expected_total_change(1500, 1800, eps=0) == 0


@pytest.mark.parametrize(
    ("grade", "czech", "egf"),
    [("20 kyu", 100, 100), ("1 kyu", 2000, 2000), ("1 dan", 2100, 2100), ("3 dan", 2300, 2300), ("7 dan", 2700, 2700),
     ("1 pro", 2700, 2700), ("9 pro", 3020, 2940)],
)  # fmt: skip
def test_grades(grade: str, czech: float, egf: float) -> None:
    """Grades are 100 points apart, professional grades 40 or 30."""
    assert (grade_rating(grade), grade_rating(grade, "egf")) == (czech, egf)


@pytest.mark.parametrize("grade", ["21 kyu", "8 dan", "0 pro", "dan", "", "x kyu"])
def test_unknown_grade(grade: str) -> None:
    """An unknown grade is named in the error."""
    with pytest.raises(InputRefused, match="not a valid grade"):
        grade_rating(grade)


@pytest.mark.parametrize(
    ("text", "grade", "band", "go", "aga"),
    [
        ("1 dan", "1 dan", 0, 2100, 50),
        ("1D", "1 dan", 0, 2100, 50),
        (" 6k ", "6 kyu", -6, 1500, -550),
        ("6 Kyu", "6 kyu", -6, 1500, -550),
        ("30K", "30 kyu", -30, -900, -2950),
        ("9-dan", "9 dan", 8, 2900, 850),
        ("3p", "3 pro", 6, 2760, 710),
    ],
)
def test_grades_are_read_in_every_usual_form(text: str, grade: str, band: int, go: float, aga: float) -> None:
    """Each notation of a grade gives its band, and its middle on both scales."""
    found = grades.parse(text)
    assert found is not None and (str(found), found.band) == (grade, band)
    assert (grades.rating(text), grades.rating(text, grades.AGA)) == (go, aga)
    assert found.rating(grades.AGA) - grades.AGA == found.rating() - grades.GO
    assert found.kind == "pro" or band_of(go, grades.GO) == band


@pytest.mark.parametrize("text", ["", "dan", "0 dan", "10 dan", "51k", "6 kuy", "k6", "\u0661k", "1e3", "nan", "1_0"])
def test_ratings_that_are_neither_number_nor_grade(text: str) -> None:
    """The error lists what is allowed."""
    assert grades.parse(text) is None
    with pytest.raises(ValueError, match="is not a valid rating: use a number, or a grade such as 6k"):
        grades.rating(text)


@given(st.sampled_from(["kyu", "dan", "pro"]), st.integers(1, 50))
def test_a_written_grade_reads_as_itself(kind: grades.Kind, number: int) -> None:
    """Grades in full or short form and in capitals are read as themselves; numbers are unchanged."""
    grade = grades.Grade(min(number, grades.HIGHEST[kind]), kind)
    short = f"{grade.number}{kind[0]}"
    assert [grades.parse(text) for text in (str(grade), str(grade).upper(), short, short.upper())] == [grade] * 4
    assert grades.rating(f"{-number}.5") == -number - 0.5


def test_newcomer_enters_at_the_floor() -> None:
    """An engine without a start rating starts at 100."""
    assert [event.before for event in rate([RatedGame("A", "B", 2, 1)], GorSettings(), {})] == [100, 100]


def test_ratings_of_another_scale_are_refused() -> None:
    """A rating below 100 is not on the Go scale, and the error names the engine."""
    with pytest.raises(InputRefused, match="Crafty"):
        rate([], GorSettings(), {"Crafty": -35.0})


def test_start_value_keeps_a_list_off_the_floor() -> None:
    """Engines without a start rating start at start_value, so that weak ones are above the lowest rating."""
    games = [RatedGame("A", "B", 2, number, str(number)) for number in range(3)]
    assert after(rate(games, GorSettings(), {}))["B"] == 100
    assert after(rate(games, GorSettings(start_value=1500), {}))["B"] < 1500


def test_a_gap_beyond_all_scales() -> None:
    """The expected score is between 0 and 1 for any rating difference."""
    assert czech_expected(-1e9) == pytest.approx(0)
    assert czech_expected(1e9) == 1
    assert egf_expected(1e9, 100, eps=0) == pytest.approx((1, 0))


@pytest.mark.parametrize(
    ("model", "wrong"),
    [
        (GorSettings, {"eps": 0.01}),
        (GorSettings, {"integer_steps": True}),
        (CzechSettings, {"variant": "egf"}),
        (EgfSettings, {"variant": "czech"}),
        (EgfSettings, {"start_value": 99}),
        (EgfSettings, {"mode": "daily"}),
    ],
)
def test_settings_are_checked(model: type[GorSettings], wrong: dict[str, Any]) -> None:
    """Settings of the other variant, its name, and ratings below the lowest rating are invalid."""
    with pytest.raises(ValidationError):
        model(**wrong)


def test_stored_settings_come_back() -> None:
    """Settings can be written as JSON and read again."""
    for told in (GorSettings(), CzechSettings(start_value=1500), EgfSettings(eps=0.01, integer_steps=True)):
        assert type(told).model_validate_json(told.model_dump_json()) == told


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
    """Published games are reproduced with both colors."""
    assert _expected_score(own, opponent) == pytest.approx(expected, abs=5e-7)
    assert _egf2021_con(own) == pytest.approx(weight, abs=5e-7)
    assert extra is None or _bonus(own) == pytest.approx(extra, abs=5e-7)
    start = {"A": own, "B": opponent}
    white = rate_egf2021([RatedGame("A", "B", half_points, 1)], Egf2021Settings(), start)[0]
    black = rate_egf2021([RatedGame("B", "A", 2 - half_points, 1)], Egf2021Settings(), start)[1]
    assert white.after == black.after == pytest.approx(after, abs=1e-9 if extra is None else 5e-7)
    assert (white.system, white.weight) == ("egf2021", _egf2021_con(own))


def test_the_two_sides_expect_one_point() -> None:
    """The expected scores of both sides add up to 1 for any rating difference."""
    for one, other in ((100, 3299), (2100, 2100), (-900, 500)):
        assert _expected_score(one, other) + _expected_score(other, one) == pytest.approx(1, abs=1e-15)


def test_class_weighs_the_whole_change() -> None:
    """A class D event has a quarter of the change and bonus; events without a class have the default class."""
    games = [RatedGame("A", "B", 2, 1, "city"), RatedGame("A", "B", 2, 2, "club")]
    start = {"A": 2100.0, "B": 2100.0}
    full = rate_egf2021(games[:1], Egf2021Settings(), start)[0]
    city, _, club, _ = rate_egf2021(games, Egf2021Settings(event_class="D", classes={"club": "B"}), start)
    assert (city.change, city.weight) == pytest.approx((full.change / 4, full.weight / 4))
    assert club.weight == pytest.approx(0.75 * _egf2021_con(club.before))


def test_batch_takes_the_ratings_before_the_event() -> None:
    """In batch mode every game adds its bonus, with the factor of the rating before the event."""
    games = [RatedGame("A", "B", 2, 1), RatedGame("B", "A", 2, 2), RatedGame("A", "B", 1, 3)]
    event = rate_egf2021(games, Egf2021Settings(mode="batch"), {"A": 2100.0, "B": 2100.0})[0]
    assert event.change == pytest.approx(3 * _bonus(2100), abs=1e-9)
    assert (event.game, event.games) == (None, 3)


def test_bonus_far_from_its_bend() -> None:
    """Far below 2300 the bonus is linear, far above it is nearly 0, and neither overflows."""
    assert _bonus(-900) == pytest.approx(3200 / 80 / 5, abs=1e-12)
    assert _bonus(-1e6) == pytest.approx((1e6 + 2300) / 400)
    assert 0 < _bonus(3299) < 1e-6


def test_no_rating_from_3300_up() -> None:
    """A rating of 3300 or more raises an error, because the formulas end there."""
    with pytest.raises(InputRefused, match="A has the start rating 3300"):
        begin_egf2021(Egf2021Settings(), {"A": 3300.0})
    with pytest.raises(InputRefused, match="outside the EGF 2021 system"):
        rate_egf2021([RatedGame("A", "B", 2, n) for n in range(99)], Egf2021Settings(mode="batch"), {})
    with pytest.raises(ValidationError):
        Egf2021Settings(start_value=3300)
    many = rate_egf2021([RatedGame("A", "B", 2, n) for n in range(999)], Egf2021Settings(), {})
    assert max(event.after for event in many) < 3300


def test_floor_only_when_asked() -> None:
    """A rating falls without limit unless a lowest rating is set."""
    games = [RatedGame("A", "B", 0, n) for n in range(30)]
    start = {"A": -880.0, "B": -880.0}
    lowest = [min(e.after for e in rate_egf2021(games, Egf2021Settings(floor=floor), start)) for floor in (None, -900)]
    assert lowest[0] < -900 == lowest[1]
