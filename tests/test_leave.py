"""Leave asked for: who is away when, what it brings, and what cannot be asked."""

from __future__ import annotations

from typing import Any

import pytest

from enginetour.formats.base import make_format, options_model, replay
from enginetour.formats.pairing.field import Kind, Member
from enginetour.formats.pairing.mcmahon import founders
from enginetour.formats.rounds import Rounds, RoundsState
from enginetour.interop.pairers import Foreign, Separated, pairer
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Entrant, Event, GameFinished, Outcome, Withdrawn

FIVE = tuple(Entrant(name, rating=1500.0 - 100 * place) for place, name in enumerate("ABCDE"))


def rounds(system: str, **settings: Any) -> Rounds:
    found = make_format(system, options_model(system).model_validate({"rounds": 3, **settings}))
    assert isinstance(found, Rounds)
    return found


def played(format_: Rounds, state: RoundsState) -> tuple[RoundsState, list[Event]]:
    """All games won by White."""
    events: list[Event] = []
    while offers := format_.offers(state):
        events.append(GameFinished(offers[0], Outcome.WHITE))
        state = format_.step(state, events[-1])
    return state, events


@pytest.mark.parametrize("system", ["dutch", "mcmahon", "swiss-gotha", "entropy", "accelrat", "godraw", "epm"])
def test_leave_is_kept_to(system: str) -> None:
    """Whoever asked is not paired then and has half a match of a half-point bye; bounds of games are true."""
    format_ = rounds(system, absent={"A": [1, 3]}, half_bye={"C": [2], "D": [2]}, games_per_pairing=2)
    state = format_.start(FIVE)
    bounds = format_.remaining(state)
    state, events = played(format_, state)
    assert bounds == (len(events), len(events)) == (2 * (2 + 1 + 2), 2 * (2 + 1 + 2))
    assert replay(format_, FIVE, events).notes == state.notes
    first, second = (dict(zip("ABCDE", row, strict=True)) for row in state.field.history)
    assert (first["A"].kind, first["A"].points) == (Kind.ABSENT, 0)
    assert [(second[name].kind, second[name].points) for name in "CD"] == [(Kind.HALF_BYE, 2)] * 2
    assert "half-point bye C, D" in state.notes[-2].text and "absent A" in state.notes[-1].text


def test_a_round_that_nobody_can_play_passes() -> None:
    """When all but one are away because somebody withdrew, that one has the bye and the next round is played."""
    format_ = rounds("dutch", absent={"A": [2], "B": [2]}, half_bye={"C": [2]})
    state = format_.step(format_.start(FIVE), Withdrawn("D"))
    state, _ = played(format_, state)
    assert state.field.number == 3 and state.running
    assert [turn.kind for turn in state.field.history[1]] == [Kind.ABSENT] * 2 + [Kind.HALF_BYE, Kind.ABSENT, Kind.BYE]
    assert {note.text.split(";")[0] for note in state.notes} >= {"round 2: nobody meets"}


def test_whoever_withdraws_has_no_more_half_points() -> None:
    """A half-point bye asked for lapses with the entrant."""
    format_ = rounds("dutch", half_bye={"A": [3]})
    state, _ = played(format_, format_.step(format_.start(FIVE), Withdrawn("A")))
    assert format_.standings(state)[-1].half_points == 0 and state.half == ()


def test_limits_do_not_move_with_leave() -> None:
    """Bar and floor follow from those paired in round 1, before it and after it alike."""
    format_ = rounds("mcmahon", half_bye={"E": [1]}, bar="auto", floor="auto")
    state = format_.start(FIVE)
    before = founders(state.field)
    state, _ = played(format_, state)
    assert founders(state.field) == before == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"absent": {"F": [1]}}, "'F', who is no entrant"),
        ({"half_bye": {"A": [4]}}, "round 4, the last is 3"),
        ({"absent": {"A": [2]}, "half_bye": {"A": [2]}}, "in round 2"),
        ({"absent": {name: [3] for name in "ABCD"}}, "fewer than two entrants in round 3"),
    ],
)
def test_what_cannot_be_asked(settings: dict[str, Any], words: str) -> None:
    """Nobody of that name, no such round, both kinds at once, nobody left to play."""
    with pytest.raises(ValueError, match=words):
        rounds("dutch", **settings).start(FIVE)


@pytest.mark.parametrize("key", ["absent", "half_bye"])
def test_one_round_has_its_own_option(key: str) -> None:
    """The next round of another program's tournament is told by --absent; a setting for it would do nothing."""
    foreign = Foreign(Separated((Member("A"), Member("B")), (), (0, 1), 1), ("1", "2"), {}, {})
    with pytest.raises(UsageRefused, match="plans the rounds"):
        pairer("dutch", foreign, {key: {"A": [1]}})
