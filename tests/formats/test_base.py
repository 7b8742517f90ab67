"""Tests of formats/base."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.formats.base import SYSTEMS, RatingHandicap, make_format, options_model, replay, without_odds_colors
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Board, Field, Kind, Member, Paired, Turn
from enginetour.formats.pairing.mcmahon import first_round_members
from enginetour.formats.rounds import Rounds, RoundsState
from enginetour.interop.foreign import ForeignTournament, SeparatedField
from enginetour.interop.pairers import make_pairing_system
from enginetour.model.errors import UsageRefused
from enginetour.model.game import Added, Entrant, Event, GameFinished, Outcome, Pairing, Withdrawn

GIVING = sorted(name for name in SYSTEMS if "handicap" in options_model(name).model_fields)
BY_SCORE = {"mcmahon", "gerlach", "gotha-2005", "swiss-cat"}


@pytest.mark.parametrize(
    ("one", "other", "settings", "expected"),
    [
        (2350.0, 2000.0, {}, 2),
        (2000.0, 2350.0, {}, -2),
        (2199.0, 2000.0, {}, 0),
        (2350.0, 2000.0, {"correction": 0}, 3),
        (2350.0, 2000.0, {"per": 50.0}, 6),
        (4000.0, 1000.0, {}, 9),
        (4000.0, 1000.0, {"ceiling": 3}, 3),
        (2900.0, 2000.0, {"threshold": 2200.0}, 1),
        (2900.0, 2300.0, {"threshold": 2200.0}, 0),
        (2900.0, None, {}, 0),
    ],
)
def test_between(one: float, other: float | None, settings: dict[str, Any], expected: int) -> None:
    """The handicap is the difference less the correction, up to the ceiling and the threshold."""
    assert RatingHandicap(**settings).between(one, other) == expected


def test_the_stronger_has_white() -> None:
    """The stronger entrant has White in a handicap game; even games keep their colors."""
    field = Field((Member("A", 2000.0), Member("B", 2500.0), Member("C", 2040.0), Member("D", 2000.0)))
    paired = RatingHandicap().seated(field, Paired((Board(0, 1), Board(3, 2)), (), "by rule", ("said",)))
    assert paired == Paired((Board(1, 0, 4), Board(3, 2)), (), "by rule", ("said",))


def test_colors_at_odds_are_nobodys() -> None:
    """Colors of handicap games do not count."""
    even = Turn(Kind.PLAYED, 1, WHITE, 2), Turn(Kind.PLAYED, 0, BLACK, 0)
    odd = Turn(Kind.PLAYED, 1, WHITE, 2, 3), Turn(Kind.PLAYED, 0, BLACK, 0, -3)
    seen = without_odds_colors(Field((Member("A"), Member("B")), (even, odd)))
    assert [[turn.color for turn in row] for row in seen.history] == [[WHITE, BLACK], [NEITHER, NEITHER]]
    assert [turn.handicap for turn in seen.history[1]] == [3, -3]


def test_who_has_no_rating() -> None:
    """The error names the first entrants without a rating."""
    ratings = {"A": 1.0, **dict.fromkeys("BCDEFGH")}
    with pytest.raises(ValueError, match=r"missing: B, C, D, E, F and 2 more\). Hint: set rating"):
        RatingHandicap().check(ratings)


def entrants(*ratings: float | None) -> tuple[Entrant, ...]:
    return tuple(Entrant(f"E{number}", rating=rating) for number, rating in enumerate(ratings, 1))


@pytest.mark.parametrize("system", GIVING)
@settings(max_examples=20)
@given(ratings=st.lists(st.integers(1000, 3000), min_size=4, max_size=7), games=st.sampled_from([1, 2]))
def test_every_system(system: str, ratings: list[int], games: int) -> None:
    """With each system, handicaps follow from the ratings, and the giver has White in game 1."""
    handicap = {"correction": 0, "ceiling": 4}
    given_options = {"games_per_pairing": games, "handicap": handicap}
    given_options |= {"rounds": 2} if SYSTEMS[system].rounds else {}
    field = entrants(*map(float, sorted(ratings, reverse=True)))
    format_ = make_format(system, options_model(system).model_validate(given_options))
    known = {entrant.name: entrant.rating for entrant in field}
    state = format_.start(field)
    seen = 0
    for _ in range(100):
        offers = format_.offers(state)
        if not offers:
            break
        (game,) = islice(offers, 1)
        if game.leg == 1:
            assert game.handicap >= 0
        if system not in BY_SCORE:
            assert game.handicap == RatingHandicap(**handicap).between(known[game.white], known[game.black])
        state = format_.step(state, GameFinished(game, Outcome.DRAW))
        seen += 1
    assert seen >= 2 * games


def games_of(system: str, field: tuple[Entrant, ...], *joining: Entrant, **settings: Any) -> tuple[Pairing, ...]:
    format_ = make_format(system, options_model(system).model_validate({"handicap": {}, **settings}))
    state = format_.start(field)
    for entrant in joining:
        state = format_.step(state, Added(entrant))
    return format_.offers(state)


def test_the_other_leg_gives_the_same() -> None:
    """Both games of an opening have the same handicap."""
    (one, other) = games_of("roundrobin", entrants(2000.0, 2500.0), games_per_pairing=2)
    assert (one.white, one.handicap) == ("E2", 4)
    assert (other.white, other.handicap) == ("E1", -4)
    assert one.encounter == other.encounter


@pytest.mark.parametrize("system", sorted(BY_SCORE))
def test_mcmahon_scores(system: str) -> None:
    """Five bands of difference give a handicap of four."""
    settings = (
        {"rounds": 1, "categories": 1}
        if system == "swiss-cat"
        else {"rounds": 1, "groups": "bands", "bar": 99, "floor": 0}
    )
    (game,) = games_of(system, entrants(2000.0, 2500.0), **settings)
    assert (game.white, game.handicap) == ("E2", 4)


def test_whoever_joins() -> None:
    """A late entrant plays with the handicap of its rating, or even games without one."""
    newcomers = Entrant("N", rating=2400.0), Entrant("U")
    found = {
        game.pair: (game.white, game.handicap) for game in games_of("gauntlet", entrants(2000.0, 2000.0), *newcomers)
    }
    assert found["E1", "N"] == ("N", 3)
    assert found["E1", "U"][1] == 0


def test_a_round_tells_its_odds() -> None:
    """The note of a round has the handicaps, if there are any."""
    for ratings, told in (((2500.0, 2000.0), [4]), ((2000.0, 2000.0), None)):
        format_ = make_format("dutch", options_model("dutch").model_validate({"handicap": {}, "rounds": 1}))
        note = next(note for note in format_.notes(format_.start(entrants(*ratings))) if note.kind == "round")
        assert dict(note.fields).get("odds") == told
        assert ("(odds 4)" in note.text) == (told is not None)


@pytest.mark.parametrize(("system", "settings"), [("roundrobin", {}), ("dutch", {"rounds": 1})])
def test_unrated_fields_are_refused(system: str, settings: dict[str, Any]) -> None:
    """A handicap by rating needs ratings."""
    with pytest.raises(ValueError, match="missing: E2"):
        games_of(system, entrants(2000.0, None), **settings)


FIVE = tuple(Entrant(name, rating=1500.0 - 100 * place) for place, name in enumerate("ABCDE"))


def rounds(system: str, **settings: Any) -> Rounds:
    found = make_format(system, options_model(system).model_validate({"rounds": 3, **settings}))
    assert isinstance(found, Rounds)
    return found


def played(format_: Rounds, state: RoundsState) -> tuple[RoundsState, list[Event]]:
    """Finish all games with a win for White."""
    events: list[Event] = []
    while offers := format_.offers(state):
        events.append(GameFinished(offers[0], Outcome.WHITE))
        state = format_.step(state, events[-1])
    return state, events


@pytest.mark.parametrize("system", ["dutch", "mcmahon", "swiss-gotha", "entropy", "accelrat", "godraw", "epm"])
def test_leave_is_kept_to(system: str) -> None:
    """An absent entrant is not paired, and a half-point bye gives half of a match's points."""
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
    """If one entrant is left in a round, it has the bye and the next round follows."""
    format_ = rounds("dutch", absent={"A": [2], "B": [2]}, half_bye={"C": [2]})
    state = format_.step(format_.start(FIVE), Withdrawn("D"))
    state, _ = played(format_, state)
    assert state.field.number == 3 and state.running
    assert [turn.kind for turn in state.field.history[1]] == [Kind.ABSENT] * 2 + [Kind.HALF_BYE, Kind.ABSENT, Kind.BYE]
    assert {note.text.split(";")[0] for note in state.notes} >= {"round 2: no games"}


def test_whoever_withdraws_has_no_more_half_points() -> None:
    """A withdrawn entrant gets no half-point byes."""
    format_ = rounds("dutch", half_bye={"A": [3]})
    state, _ = played(format_, format_.step(format_.start(FIVE), Withdrawn("A")))
    assert format_.standings(state)[-1].half_points == 0 and state.half == ()


def test_limits_do_not_move_with_leave() -> None:
    """Bar and floor depend on the entrants paired in round 1 only."""
    format_ = rounds("mcmahon", half_bye={"E": [1]}, bar="auto", floor="auto")
    state = format_.start(FIVE)
    before = first_round_members(state.field)
    state, _ = played(format_, state)
    assert first_round_members(state.field) == before == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"absent": {"F": [1]}}, "'F' is not an entrant"),
        ({"half_bye": {"A": [4]}}, "round 4 of A does not exist"),
        ({"absent": {"A": [2]}, "half_bye": {"A": [2]}}, "round 2 of A is in both"),
        ({"absent": {name: [3] for name in "ABCD"}}, "fewer than two entrants in round 3"),
    ],
)
def test_what_cannot_be_asked(settings: dict[str, Any], words: str) -> None:
    """Invalid requested byes are errors."""
    with pytest.raises(ValueError, match=words):
        rounds("dutch", **settings).start(FIVE)


@pytest.mark.parametrize("key", ["absent", "half_bye"])
def test_one_round_has_its_own_option(key: str) -> None:
    """`absent` and `half_bye` are errors for the next round of a file, which has --absent."""
    foreign = ForeignTournament(SeparatedField((Member("A"), Member("B")), (), (0, 1), 1), ("1", "2"), {}, {})
    with pytest.raises(UsageRefused, match="applies only to tournaments"):
        make_pairing_system("dutch", foreign, {key: {"A": [1]}})
