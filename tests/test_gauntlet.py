"""Gauntlet by hand."""

from collections import Counter

import pytest

from enginetour.formats.roundrobin import Gauntlet, GauntletOptions
from enginetour.model.game import Added, Entrant, Replaced
from tests.pairlists import field, played, surplus


@pytest.mark.parametrize("count", range(2, 9))
def test_gauntlet_pairs_and_colours(count: int) -> None:
    """Every seed meets all others and only them, nobody twice in a round, seeds with equal colours."""
    for seeds in range(1, count):
        for meet in (False, True):
            options = GauntletOptions(seeds=seeds, seeds_meet=meet, cycles=2)
            games = Gauntlet(options).start(field(count)).docket.games
            front = {f"E{number}" for number in range(seeds)}
            pairs = Counter(game.pair for game in games)
            among = seeds * (seeds - 1) // 2 if meet else 0
            assert len(pairs) == seeds * (count - seeds) + among
            assert set(pairs.values()) == {2}
            assert all(front & set(pair) and (meet or not front.issuperset(pair)) for pair in pairs)
            assert all(surplus(games)[name] == 0 for name in front)
            once = Gauntlet(options.model_copy(update={"cycles": 1})).start(field(count)).docket.games
            assert all(abs(surplus(once)[name]) <= 1 for name in front)
            for number in {game.round for game in games}:
                seated = [name for game in games if game.round == number for name in game.pair]
                assert len(seated) == len(set(seated))


def test_gauntlet_seeds_by_name() -> None:
    """Named seeds may stand anywhere in the list; names must be entrants, and somebody must be left."""
    state = Gauntlet(GauntletOptions(seeds=["E2"])).start(field(4))
    assert {game.pair for game in state.docket.games} == {("E0", "E2"), ("E1", "E2"), ("E2", "E3")}
    for seeds in (["E9"], 4, ["E0", "E1", "E2", "E3"]):
        with pytest.raises(ValueError, match="seeds"):
            Gauntlet(GauntletOptions(seeds=seeds)).start(field(4))


def test_gauntlet_table_has_the_seeds_on_top() -> None:
    """A seed that lost all its games still stands above the field it played; ranks run through."""
    gauntlet = Gauntlet(GauntletOptions(seeds=["E3"]))
    lines = gauntlet.standings(played(gauntlet, gauntlet.start(field(4))))
    assert [(line.rank, line.name, line.half_points) for line in lines] == [
        (1, "E3", 0),
        (2, "E0", 2),
        (2, "E1", 2),
        (2, "E2", 2),
    ]


def test_gauntlet_newcomers_meet_whom_they_should() -> None:
    """A new opponent meets the seeds; a replaced seed is a seed."""
    gauntlet = Gauntlet(GauntletOptions(seeds=2, games_per_pairing=2))
    state = gauntlet.start(field(4))
    more = gauntlet.step(state, Added(Entrant("late"))).docket.games[len(state.docket.games) :]
    assert {game.pair for game in more} == {("E0", "late"), ("E1", "late")} and len(more) == 4
    state = gauntlet.step(state, Replaced("E0", Entrant("F0")))
    assert state.seeds == {"E0", "E1", "F0"}
    assert {game.pair for game in gauntlet.offers(state) if "F0" in game.pair} == {("E2", "F0"), ("E3", "F0")}
    meeting = Gauntlet(GauntletOptions(seeds=2, seeds_meet=True))
    state = meeting.step(meeting.start(field(4)), Replaced("E0", Entrant("F0")))
    assert ("E1", "F0") in {game.pair for game in meeting.offers(state)}
