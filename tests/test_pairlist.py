"""What the formats with a pair list share, tried with round robin and gauntlet."""

from typing import Any

import pytest
from pydantic import ValidationError

from enginetour.formats.roundrobin import Gauntlet, GauntletOptions, RoundRobin, RoundRobinOptions
from enginetour.model.game import Extended
from tests.pairlists import field, played


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
