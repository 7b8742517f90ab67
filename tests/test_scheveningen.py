"""Scheveningen by hand."""

from collections import Counter

import pytest
from pydantic import ValidationError

from enginetour.formats.roundrobin import Scheveningen, ScheveningenOptions
from enginetour.model.errors import InputRefused
from enginetour.model.game import Added, Entrant, Replaced, Withdrawn
from tests.pairlists import field, played, surplus


@pytest.mark.parametrize("count", range(2, 10))
def test_everybody_meets_the_other_team(count: int) -> None:
    """And nobody of its own, nobody twice in a round, in as few rounds as can be, colours one apart at most."""
    for size in range(1, count):
        games = Scheveningen(ScheveningenOptions(team=size)).start(field(count)).docket.games
        first = {f"E{number}" for number in range(size)}
        assert Counter(len(first & set(game.pair)) for game in games) == {1: size * (count - size)}
        assert len({game.pair for game in games}) == len(games)
        assert max(game.round for game in games) == max(size, count - size)
        assert max(abs(extra) for extra in surplus(games).values()) <= 1
        for number in {game.round for game in games}:
            seated = [name for game in games if game.round == number for name in game.pair]
            assert len(seated) == len(set(seated))


def test_teams() -> None:
    """The first half by default, the larger one; or so many; or by name, wherever they stand."""
    for team, first in ((None, {"E0", "E1", "E2"}), (2, {"E0", "E1"}), (["E4"], {"E4"})):
        assert Scheveningen(ScheveningenOptions(team=team)).start(field(5)).seeds == first
    for team, found in ((0, "too few"), ([], "empty"), (["E1", "E1"], "twice")):
        with pytest.raises(ValidationError, match=found):
            ScheveningenOptions(team=team)
    for count, team, found in ((5, 5, "nobody to play"), (5, ["Z"], "not an entrant"), (1, None, "nobody to play")):
        with pytest.raises(InputRefused, match=found):
            Scheveningen(ScheveningenOptions(team=team)).start(field(count))


def test_the_winning_team_stands_first() -> None:
    """With its points; ranks inside a team, running through. A level match leaves the first team on top."""
    format_ = Scheveningen(ScheveningenOptions(team=["E2", "E3"]))
    state = format_.start(field(4))
    lines = format_.standings(state)
    assert [(line.rank, line.name, line.status) for line in lines][:3] == [
        (1, "E2", "team 1: 0 of 0"),
        (1, "E3", "team 1: 0 of 0"),
        (3, "E0", "team 2: 0 of 0"),
    ]
    lines = format_.standings(played(format_, state))
    assert [(line.rank, line.name, line.half_points, line.status) for line in lines] == [
        (1, "E0", 4, "team 2: 4 of 4"),
        (1, "E1", 4, "team 2: 4 of 4"),
        (3, "E2", 0, "team 1: 0 of 4"),
        (3, "E3", 0, "team 1: 0 of 4"),
    ]


def test_newcomers_join_the_smaller_team() -> None:
    """The second if level; one that takes another's place takes its team."""
    format_ = Scheveningen(ScheveningenOptions(games_per_pairing=2))
    state = format_.step(format_.start(field(4)), Added(Entrant("F")))
    assert Counter(len({"E0", "E1"} & set(game.pair)) for game in state.docket.games[8:]) == {1: 4}
    state = format_.step(state, Added(Entrant("G")))
    assert state.seeds == {"E0", "E1", "G"}
    assert Counter(game.pair for game in state.docket.games[12:]) == {("E2", "G"): 2, ("E3", "G"): 2, ("F", "G"): 2}
    state = format_.step(state, Replaced("E0", Entrant("H")))
    assert "H" in state.seeds
    state = format_.step(state, Withdrawn("E2"))
    games = {line.name: line.games for line in format_.standings(played(format_, state)) if line.rank is not None}
    assert games == {"E1": 4, "G": 4, "H": 4, "E3": 6, "F": 6}


def test_colours_come_back_in_the_second_cycle() -> None:
    """Two cycles of single games: both colours against everybody."""
    games = Scheveningen(ScheveningenOptions(cycles=2)).start(field(6)).docket.games
    assert set(surplus(games).values()) == {0}
    assert len({(game.white, game.black) for game in games}) == len(games) == 18
