"""Round robin and gauntlet by hand."""

from collections import Counter
from typing import Any

import pytest
from pydantic import ValidationError

from enginetour.formats.roundrobin import Gauntlet, GauntletOptions, ListState, RoundRobin, RoundRobinOptions
from enginetour.model import (
    Added,
    Entrant,
    Extended,
    GameFinished,
    GameVoided,
    Outcome,
    Pairing,
    Replaced,
    Withdrawn,
)


def field(count: int) -> tuple[Entrant, ...]:
    return tuple(Entrant(f"E{number}") for number in range(count))


def played(format_: RoundRobin, state: ListState, games: int = 10**6) -> ListState:
    """The earlier in the list always wins."""
    for _ in range(games):
        offers = format_.offers(state)
        if not offers:
            break
        white_wins = offers[0].white < offers[0].black
        state = format_.step(state, GameFinished(offers[0], Outcome.WHITE if white_wins else Outcome.BLACK))
    return state


def surplus(games: tuple[Pairing, ...]) -> Counter[str]:
    """Whites minus Blacks."""
    whites: Counter[str] = Counter(game.white for game in games)
    whites.subtract(game.black for game in games)
    return whites


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


def test_six_play_the_printed_table() -> None:
    """The first two rounds of Berger's table for six."""
    state = RoundRobin(RoundRobinOptions()).start(field(6))
    first = [(game.round, game.white, game.black) for game in state.docket.games[:6]]
    assert first == [
        (1, "E0", "E5"),
        (1, "E1", "E4"),
        (1, "E2", "E3"),
        (2, "E5", "E3"),
        (2, "E4", "E2"),
        (2, "E0", "E1"),
    ]


@pytest.mark.parametrize(("cycles", "games"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 4)])
@pytest.mark.parametrize("count", [2, 5, 6])
def test_cycles_and_matches(count: int, cycles: int, games: int) -> None:
    """Everybody meets everybody as often as asked, with fair colours, and every opening has one number."""
    all_games = RoundRobin(RoundRobinOptions(cycles=cycles, games_per_pairing=games)).start(field(count)).docket.games
    pairs = Counter(game.pair for game in all_games)
    assert len(pairs) == count * (count - 1) // 2
    assert set(pairs.values()) == {cycles * games}
    assert len({game.key for game in all_games}) == len(all_games)
    assert max(abs(extra) for extra in surplus(all_games).values()) <= 1
    encounters = [(game.encounter, game.pair, game.meeting) for game in all_games]
    assert len({number for number, _, _ in encounters}) == len(set(encounters))
    assert sorted({number for number, _, _ in encounters}) == list(range(1, len(set(encounters)) + 1))


def test_second_cycle_turns_the_colours() -> None:
    """With one game a match, the return game has the other colours and another opening."""
    state = RoundRobin(RoundRobinOptions(cycles=2)).start(field(4))
    first, second = state.docket.games[:6], state.docket.games[6:]
    assert [(game.white, game.black) for game in second] == [(game.black, game.white) for game in first]
    assert {game.meeting for game in second} == {2}
    assert [game.round for game in second] == [game.round + 3 for game in first]


def test_table_of_a_finished_round_robin() -> None:
    """Points with Sonneborn-Berger, direct encounter and wins behind them."""
    format_ = RoundRobin(RoundRobinOptions())
    lines = format_.standings(played(format_, format_.start(field(4))))
    assert [(line.rank, line.name, line.half_points, line.games) for line in lines] == [
        (1, "E0", 6, 3),
        (2, "E1", 4, 3),
        (3, "E2", 2, 3),
        (4, "E3", 0, 3),
    ]
    assert lines[0].tiebreaks == (("SB", 2 * 4 + 2 * 2), ("DE", 0), ("WIN", 3))


def test_a_withdrawn_entrant_leaves_the_table_of_the_others() -> None:
    """Its unplayed games are off, its played ones give the others nothing, and it stands last."""
    format_ = RoundRobin(RoundRobinOptions())
    state = played(format_, format_.start(field(4)), 3)
    flying = next(game for game in format_.offers(state) if "E3" in game.pair)
    state = format_.step(state, Withdrawn("E3"))
    assert all("E3" not in game.pair for game in format_.offers(state))
    late = format_.step(state, GameFinished(flying, Outcome.WHITE))
    assert format_.standings(late) == format_.standings(state)
    lines = format_.standings(played(format_, late))
    assert [(line.rank, line.name, line.half_points, line.games, line.status) for line in lines] == [
        (1, "E0", 4, 2, ""),
        (2, "E1", 2, 2, ""),
        (3, "E2", 0, 2, ""),
        (None, "E3", 0, lines[3].games, "withdrawn"),
    ]
    assert lines[3].games > 0
    with pytest.raises(ValueError, match="withdrawn already"):
        format_.step(late, Withdrawn("E3"))
    with pytest.raises(ValueError, match="not in this tournament"):
        format_.step(late, Withdrawn("Z"))


def test_a_voided_game_is_on_offer_again() -> None:
    """Also when it was the last; unless one of the two has withdrawn."""
    format_ = RoundRobin(RoundRobinOptions())
    state = played(format_, format_.start(field(3)))
    game = state.docket.games[0]
    again = format_.step(state, GameVoided(game, Outcome.WHITE))
    assert format_.offers(again) == (game,)
    assert sum(line.games for line in format_.standings(again)) == 4
    gone = format_.step(format_.step(state, Withdrawn(game.white)), GameVoided(game, Outcome.WHITE))
    assert format_.offers(gone) == ()
    with pytest.raises(ValueError, match="not a finished game"):
        format_.step(gone, GameVoided(game, Outcome.WHITE))


def test_who_joins_plays_everybody_after_the_others() -> None:
    """No pairing of the others moves, and colours are fair."""
    format_ = RoundRobin(RoundRobinOptions(cycles=2))
    state = format_.start(field(4))
    more = format_.step(state, Added(Entrant("late")))
    assert more.docket.games[:12] == state.docket.games
    new = more.docket.games[12:]
    assert Counter(name for game in new for name in game.pair) == {"late": 8, "E0": 2, "E1": 2, "E2": 2, "E3": 2}
    assert set(surplus(new).values()) == {0}
    assert [game.round for game in new] == list(range(7, 15))
    with pytest.raises(ValueError, match="already"):
        format_.step(more, Added(Entrant("E0")))


def test_replaced_takes_the_place_in_the_list() -> None:
    """It starts with no games and meets all who are present."""
    format_ = RoundRobin(RoundRobinOptions())
    state = played(format_, format_.start(field(4)), 2)
    state = format_.step(state, Replaced("E1", Entrant("F1")))
    assert state.names == ("E0", "F1", "E1", "E2", "E3")
    lines = format_.standings(played(format_, state))
    assert [line.games for line in lines if line.rank] == [3, 3, 3, 3]


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


def test_more_cycles_after_comings_and_goings() -> None:
    """Those present play the new cycle, newcomers among them; who joins later plays all of them."""
    format_ = RoundRobin(RoundRobinOptions())
    state = format_.step(format_.start(field(4)), Withdrawn("E0"))
    state = format_.step(state, Added(Entrant("F")))
    state = format_.step(state, Extended((("cycles", 2),)))
    assert state.notes[-1].text == "2 cycles instead of 1: 6 more games"
    state = played(format_, format_.step(state, Added(Entrant("G"))))
    assert {line.games for line in format_.standings(state) if line.rank is not None} == {8}
    with pytest.raises(ValueError, match="only more than 2 cycles"):
        format_.step(state, Extended((("cycles", 2),)))


def test_decisions_are_noted() -> None:
    """Schedule, withdrawals and late entries, each in a sentence."""
    format_ = RoundRobin(RoundRobinOptions())
    state = format_.step(format_.step(format_.start(field(4)), Withdrawn("E3")), Added(Entrant("F")))
    assert [note.kind for note in format_.notes(state)] == ["schedule", "withdraw", "add"]
    assert format_.notes(state)[0].text == "4 entrants, 3 rounds, 6 games"
    assert format_.remaining(state) == (6, 6) == (format_.likely(state),) * 2
