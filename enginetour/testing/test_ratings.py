"""Laws of every registered incremental rating system, for `pytest --pyargs enginetour.testing`."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from enginetour.ratings.incremental import RatedGame, RatingState, Standing, Version, lineage, rate
from enginetour.ratings.systems import SYSTEMS, IncrementalSystem

NAMES = "ABCDEFG"
KIN = lineage(Version(name, "DEF" if name in "DEF" else name, "family" if name in "AG" else "") for name in NAMES)
ALL = pytest.mark.parametrize(
    ("system", "chosen"),
    [
        pytest.param(system, chosen, id=f"{name}-{number}")
        for name, system in SYSTEMS.items()
        for number, chosen in enumerate((system.settings, *system.examples))
    ],
)
LAW = settings(max_examples=30, deadline=None)

pairings = st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda pair: pair[0] != pair[1])


@st.composite
def logs(draw: st.DrawFn) -> list[RatedGame]:
    """Yield games of up to three events, one after the other."""
    played = draw(st.lists(st.tuples(pairings, st.integers(0, 2)), max_size=30))
    cuts = sorted(draw(st.tuples(st.integers(0, 30), st.integers(0, 30))))
    return [
        RatedGame(white, black, half_points, number, "xyz"[sum(number > cut for cut in cuts)])
        for number, ((white, black), half_points) in enumerate(played, 1)
    ]


def begun(system: IncrementalSystem, chosen: BaseModel, *, related: bool = False) -> RatingState:
    """Return the state before the first game. Some engines have start ratings."""
    start = system.fitting({"A": 1500.0, "B": 2410.0, "C": 130.0})
    return system.begin(chosen, start, KIN if related else None)


@ALL
@given(log=logs(), data=st.data())
@LAW
def test_replay_from_anywhere(
    system: IncrementalSystem, chosen: BaseModel, log: list[RatedGame], data: st.DataObject
) -> None:
    """A replay from any game, or any event in batch mode, gives the bits of a full replay, with inherited ratings."""
    if "inherit" in type(chosen).model_fields:
        chosen = chosen.model_copy(update={"inherit": data.draw(st.booleans())})
    state = begun(system, chosen, related=True)
    cut = data.draw(st.integers(0, len(log)))
    while state.rule.mode == "batch" and 0 < cut < len(log) and log[cut - 1].event == log[cut].event:
        cut -= 1
    written = rate(log[:cut], state)
    known = dict(state.standings)
    for event in written:
        before = known.get(event.engine, Standing(event.before, event.before))
        known[event.engine] = Standing(event.after, max(before.peak, event.after), event.games)
    written += rate(log[cut:], replace(state, standings=known))
    assert written == rate(log, state)


@ALL
@given(log=logs())
@LAW
def test_ratings_follow_each_other(system: IncrementalSystem, chosen: BaseModel, log: list[RatedGame]) -> None:
    """Each game is rated for both engines, each rating continues the one before, and all numbers are finite."""
    state = begun(system, chosen)
    known = dict(state.standings)
    written = rate(log, state)
    for event in written:
        before = known.get(event.engine)
        assert before is None or (event.before, event.games > before.games) == (before.rating, True)
        assert all(map(math.isfinite, (event.before, event.change, event.after, event.weight)))
        known[event.engine] = Standing(event.after, event.after, event.games)
    for name in NAMES:
        played = sum(name in (game.white, game.black) for game in log)
        assert known.get(name, Standing(0.0, 0.0)).games == played


@ALL
@given(log=logs(), data=st.data())
@LAW
def test_the_order_inside_an_event(
    system: IncrementalSystem, chosen: BaseModel, log: list[RatedGame], data: st.DataObject
) -> None:
    """In batch mode, the order of the games of an event changes no bit."""
    state = begun(system, chosen)
    if state.rule.mode == "batch":
        only = [game._replace(event="x") for game in log]
        assert rate(data.draw(st.permutations(only)), state) == rate(only, state)


@ALL
@given(log=logs())
@LAW
def test_names_are_only_names(system: IncrementalSystem, chosen: BaseModel, log: list[RatedGame]) -> None:
    """Other names of engines give the same ratings."""
    state, other = begun(system, chosen), dict(zip(NAMES, reversed(NAMES), strict=True))
    renamed = [game._replace(white=other[game.white], black=other[game.black]) for game in log]
    moved = replace(state, standings={other[name]: standing for name, standing in state.standings.items()})
    expected = sorted((other[event.engine], event.event, event.game or 0, event.after) for event in rate(log, state))
    assert sorted((one.engine, one.event, one.game or 0, one.after) for one in rate(renamed, moved)) == expected


@ALL
@given(white=st.floats(0, 1), black=st.floats(0, 1))
@LAW
def test_a_better_result_is_never_worse(
    system: IncrementalSystem, chosen: BaseModel, white: float, black: float
) -> None:
    """For any two ratings, more points never give a lower rating."""
    low, high = max(system.lowest, -3000.0), min(system.below, 3000.0)
    start = system.fitting({"A": low + white * (high - low), "B": low + black * (high - low)})
    state = system.begin(chosen, start, None)
    ends = [
        {event.engine: event.after for event in rate([RatedGame("A", "B", points, 1, "x")], state)}
        for points in (0, 1, 2)
    ]
    assert ends[0]["A"] <= ends[1]["A"] <= ends[2]["A"]
    assert ends[0]["B"] >= ends[1]["B"] >= ends[2]["B"]


@ALL
def test_settings_can_be_stored(system: IncrementalSystem, chosen: BaseModel) -> None:
    """The database stores settings as JSON, and a changed setting is described by its field."""
    assert type(system.settings).model_validate_json(chosen.model_dump_json()) == chosen
    assert [name for name, field in type(chosen).model_fields.items() if not field.description] == []
