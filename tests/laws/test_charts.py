"""Laws of charts: names stay text, any numbers can be drawn, and the bubble chart matches the bubble."""

from __future__ import annotations

import random
from itertools import pairwise
from xml.etree import ElementTree as ET

from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.bubble import Bubble
from enginetour.interop.bubblecase import read_case
from enginetour.model.game import Entrant, GameFinished
from enginetour.reports.charts.bubble import SectionRound, bubble_chart, round_robins
from enginetour.reports.charts.canvas import clean_text, linear_scale
from enginetour.reports.charts.curves import Curve, Point, curve_chart, movement_chart
from enginetour.reports.charts.lists import rating_chart
from enginetour.reports.charts.output import svg, svg_file
from tests.cli.test_charts import rated
from tests.laws.bubble_cases import random_case

floats = st.floats() | st.floats(-1e4, 1e4)
numbers = st.none() | floats
seen = st.text(max_size=100).filter(lambda text: clean_text(text).strip())  # blanks are not drawn
seeds = st.integers(0, 2**32)


@settings(max_examples=20, deadline=None)
@given(seen, seen)
def test_any_name_is_text_in_a_picture(name: str, title: str) -> None:
    """A name is drawn as text, without control characters, and adds no other kind of element to the image."""
    drawn = rating_chart([rated(name, 2600.0, 20.0, 30.0, games=7)], title=title)
    plain = rating_chart([rated("Toga", 2600.0, 20.0, 30.0, games=7)], title="t")
    for make in (svg, svg_file):
        root, other = ET.fromstring(make(drawn)), ET.fromstring(make(plain))
        assert {element.tag for element in root.iter()} == {element.tag for element in other.iter()}
        assert any(f"1. {clean_text(name)}: 2600" in words for words in root.itertext())


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(floats, numbers, numbers), max_size=5))
def test_any_numbers_can_be_drawn(rows: list[tuple[float, float | None, float | None]]) -> None:
    """Values that are not finite are left out, and nothing is drawn outside of the image."""
    engines = [rated(f"E{place}", *row, rank=place + 1) for place, row in enumerate(rows)]
    points = tuple(Point(float(place), *row) for place, row in enumerate(rows))
    for picture in (rating_chart(engines, title="t"), curve_chart([Curve("E", points)], title="t")):
        root = ET.fromstring(svg(picture))
        for element in root.iter("text"):
            x, y = (float(element.get(name, "0")) for name in ("x", "y"))
            assert -1 <= x <= picture.width + 1 and 0 <= y <= picture.height


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 40), st.lists(seen, min_size=1, max_size=9, unique=True), st.data())
def test_a_movement_chart_shows_each_place(count: int, names: list[str], data: st.DataObject) -> None:
    """Each place of the shown seasons is a point with its text, and nothing is drawn outside of the image."""
    seasons, present = [*range(1, count + 1)], st.lists(st.booleans(), min_size=len(names), max_size=len(names))
    places: dict[str, dict[int, int]] = {name: {} for name in names}
    for season in seasons:
        for place, (name, here) in enumerate(zip(names, data.draw(present), strict=True), 1):
            if here or season == count:
                places[name][season] = place
    for width in (720.0, 360.0):
        picture = movement_chart([("One", len(names))], places, seasons, title="t", width=width)
        root = ET.fromstring(svg(picture))
        tips = [tip.text or "" for tip in root.iter("title")][1:]
        first = min(int(tip.rpartition(", season ")[2].partition(":")[0]) for tip in tips)
        assert len(tips) == sum(season >= first for own in places.values() for season in own)
        for element in root.iter("text"):
            assert -1 <= float(element.get("x", "0")) <= width + 1
            assert 0 <= float(element.get("y", "0")) <= picture.height


@settings(deadline=None)
@given(st.lists(numbers, max_size=6), st.floats(0.5, 100))
def test_a_scale_holds_its_numbers(values: list[float | None], least: float) -> None:
    """All finite values and ticks are inside the scale, in order, with a limited number of ticks."""
    small = [value for value in values if value is None or not abs(value) > 1e6]
    scale = linear_scale(small, 0, 100, least=least)
    for value in small:
        if value is not None and value == value:
            assert -1e-6 <= scale.at(value) <= 100 + 1e-6
    ticks = scale.ticks(6)
    assert ticks == sorted({*ticks}) and len(ticks) <= 7
    assert all(-1e-6 <= scale.at(tick) <= 100 + 1e-6 for tick in ticks)


@settings(max_examples=25, deadline=None)
@given(seeds, st.randoms(use_true_random=False))
def test_a_bubble_chart_tells_what_its_bubble_did(seed: int, dice: random.Random) -> None:
    """The chart has the members, order, parking and games of the bubble at any time."""
    case = read_case(random_case(seed, longest=14), "case")
    bubble = Bubble(case.options, due=case.withdrawals)
    state = bubble.start(tuple(Entrant(name) for name in reversed(case.ranking)))
    left = dice.choice([0, 1, dice.randint(0, 200)])
    while (games := bubble.offers(state)) and (left != 1):
        state, left = bubble.step(state, GameFinished(games[0], case.outcome(games[0]))), left - 1
    rounds = round_robins(bubble.notes(state), state.finished)
    _check(rounds)
    if rounds and not state.ended:
        assert {*rounds[-1].members} == {*state.section} and rounds[-1].games == state.finished
        assert rounds[-1].parking == [*state.parked]
    assert [one.dropped for one in rounds if one.dropped] == [*state.new][: sum(bool(one.dropped) for one in rounds)]
    placed = bubble.standings(state)
    picture = bubble_chart(rounds, placed, title="t")
    assert picture.title == "t" and len(placed) == len(case.ranking)


def _check(rounds: tuple[SectionRound, ...]) -> None:
    """Check the changes of one round robin."""
    for before, after in pairwise(rounds):
        assert before.number < after.number and before.games <= after.games
        came, went = {*after.entered, *after.returned}, {before.parked, before.dropped, *after.left} - {None}
        assert {*after.members} == ({*before.members} | came) - (went - {*after.members})
        if before.parked is not None:
            assert before.parked in {*after.parking, *after.returned, *after.withdrawn}
    for one in rounds:
        assert not one.order or {*one.order} == {*one.members}
        assert not {*one.parking} & {*one.members}
