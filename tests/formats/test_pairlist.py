"""Tests of formats/pairlist."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from enginetour.formats.base import options_model
from enginetour.formats.pairlist import ListOptions, PairList
from enginetour.formats.roundrobin import (
    Gauntlet,
    GauntletOptions,
    RoundRobin,
    RoundRobinOptions,
    Scheveningen,
    ScheveningenOptions,
)
from enginetour.model.game import Added, Entrant, Extended, Pairing
from tests.support.databases import field, played

# What the formats with a pair list share, tried with round robin and gauntlet.


@pytest.mark.parametrize(
    ("options", "wrong", "named"),
    [
        (RoundRobinOptions, {"games_per_pairing": 3}, "games_per_pairing"),
        (RoundRobinOptions, {"games_per_pairing": 0}, "games_per_pairing"),
        (RoundRobinOptions, {"cycles": 0}, "cycles"),
        (RoundRobinOptions, {"cycles": True}, "cycles"),
        (RoundRobinOptions, {"seeds": 1}, "seeds"),
        (GauntletOptions, {"seeds": 0}, "seeds"),
        (GauntletOptions, {"seeds": True}, "seeds"),
        (GauntletOptions, {"seeds": []}, "seeds"),
        (GauntletOptions, {"seeds": ["A", "A"]}, "seeds"),
        (GauntletOptions, {"seeds_meet": 1}, "seeds_meet"),
    ],
)
def test_settings_that_cannot_be_are_refused(options: Any, wrong: dict[str, object], named: str) -> None:
    """The refusal names the field."""
    with pytest.raises(ValidationError) as refusal:
        options.model_validate(wrong)
    assert {error["loc"][0] for error in refusal.value.errors()} == {named}


@pytest.mark.parametrize(
    "options", [RoundRobinOptions(), RoundRobinOptions(games_per_pairing=2), GauntletOptions(seeds=2, seeds_meet=True)]
)
@pytest.mark.parametrize("after", [0, 3, 10**6])
def test_more_cycles_are_those_of_a_longer_tournament(options: RoundRobinOptions | GauntletOptions, after: int) -> None:
    """Asked for at any time, before the first game or after the last: the same games, numbers and table."""
    made = Gauntlet if isinstance(options, GauntletOptions) else RoundRobin
    short, long = (made(options.model_copy(update={"cycles": cycles})) for cycles in (1, 3))  # type: ignore[arg-type]
    begun = played(short, short.start(field(5)), after)
    extended = short.step(begun, Extended((("cycles", 3),)))
    whole = long.start(field(5))
    assert {game.key: game for game in extended.docket.games} == {game.key: game for game in whole.docket.games}
    assert extended.rounds == whole.rounds
    assert short.standings(played(short, extended)) == long.standings(played(long, whole))
    assert set(short.offers(begun)) <= set(short.offers(extended))


# Colours that stay or are reversed, in the formats that have them; refused with the reason where they have not.

LISTS = (
    (RoundRobin, RoundRobinOptions),
    (Gauntlet, GauntletOptions),
    (Scheveningen, ScheveningenOptions),
)


@pytest.mark.parametrize(("made", "options"), LISTS)
@pytest.mark.parametrize("games", [1, 4])
def test_colours_that_stay(made: type[PairList], options: type[ListOptions], games: int) -> None:
    """Without `swap` one of each pair has White in all games of all cycles; seeds and the first team always."""
    format_ = made(options(games_per_pairing=games, cycles=3, swap=False))
    state = format_.start(field(5))
    state = format_.step(state, Added(Entrant("N")))
    whites: dict[tuple[str, str], set[str]] = {}
    for game in state.docket.games:
        whites.setdefault(game.pair, set()).add(game.white)
    assert all(len(who) == 1 for who in whites.values())
    if state.seeds:
        assert {name for who in whites.values() for name in who} <= state.seeds


@pytest.mark.parametrize(("made", "options"), LISTS)
@pytest.mark.parametrize("swap", [True, False])
def test_colours_in_reverse(made: type[PairList], options: type[ListOptions], swap: bool) -> None:
    """The same games in the same order, White and Black exchanged, also those of a newcomer."""

    def games(reverse: bool) -> list[Pairing]:
        format_ = made(options(games_per_pairing=2, cycles=2, swap=swap, reverse=reverse))
        return list(format_.step(format_.start(field(5)), Added(Entrant("N"))).docket.games)

    turned = [replace(game, white=game.black, black=game.white) for game in games(reverse=False)]
    assert games(reverse=True) == turned


@pytest.mark.parametrize(("made", "options"), LISTS)
def test_reverse_and_odds_are_refused(made: type[PairList], options: type[ListOptions]) -> None:
    """With odds the weaker has Black first, so there is nothing to reverse."""
    with pytest.raises(ValidationError, match="leave one of them out"):
        options.model_validate({"reverse": True, "handicap": {}})


@pytest.mark.parametrize("system", ["bubble", "dutch", "mcmahon", "cup", "gopair", "entropy"])
@pytest.mark.parametrize("key", ["swap", "reverse"])
def test_formats_with_colours_of_their_own_say_so(system: str, key: str) -> None:
    """They refuse the setting with the reason, and name the formats that have it."""
    with pytest.raises(ValidationError, match=f"{key} is for match, roundrobin, gauntlet and scheveningen: here"):
        options_model(system).model_validate({key: False})
