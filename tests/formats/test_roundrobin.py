"""Tests of formats/roundrobin."""

import random
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from enginetour.formats.base import make_format, options_model, replay
from enginetour.formats.pairing.tiebreaks import PLACEMENT_CODES
from enginetour.formats.roundrobin import (
    Gauntlet,
    GauntletOptions,
    ListOptions,
    ListState,
    PairList,
    RoundRobin,
    RoundRobinOptions,
    Scheveningen,
    ScheveningenOptions,
)
from enginetour.model.errors import InputRefused
from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Outcome,
    Pairing,
    Replaced,
    Withdrawn,
)
from tests.support.databases import field, played, rated, shown, surplus


def test_six_play_the_printed_table() -> None:
    """The first two rounds are those of Berger's table for six."""
    state = RoundRobin(RoundRobinOptions()).start(field(6))
    first = shown(state.schedule.games[:6], "round white black")
    assert first == ["1 E0 E5", "1 E1 E4", "1 E2 E3", "2 E5 E3", "2 E4 E2", "2 E0 E1"]


@pytest.mark.parametrize(("cycles", "games"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 4)])
@pytest.mark.parametrize("count", [2, 5, 6])
def test_cycles_and_matches(count: int, cycles: int, games: int) -> None:
    """All pairs meet equally often with balanced colors, and each opening has one number."""
    all_games = RoundRobin(RoundRobinOptions(cycles=cycles, games_per_pairing=games)).start(field(count)).schedule.games
    pairs = Counter(game.pair for game in all_games)
    assert len(pairs) == count * (count - 1) // 2
    assert set(pairs.values()) == {cycles * games}
    assert len({game.key for game in all_games}) == len(all_games)
    assert max(abs(extra) for extra in surplus(all_games).values()) <= 1
    encounters = [(game.encounter, game.pair, game.meeting) for game in all_games]
    assert len({number for number, _, _ in encounters}) == len(set(encounters))
    assert sorted({number for number, _, _ in encounters}) == list(range(1, len(set(encounters)) + 1))


def test_second_cycle_turns_the_colors() -> None:
    """With one game per match, the second cycle reverses colors and uses new openings."""
    state = RoundRobin(RoundRobinOptions(cycles=2)).start(field(4))
    first, second = state.schedule.games[:6], state.schedule.games[6:]
    assert [(game.white, game.black) for game in second] == [(game.black, game.white) for game in first]
    assert {game.meeting for game in second} == {2}
    assert [game.round for game in second] == [game.round + 3 for game in first]


def test_table_of_a_finished_round_robin() -> None:
    """The table orders by points, Sonneborn-Berger, direct encounter and wins."""
    format_ = RoundRobin(RoundRobinOptions())
    lines = format_.standings(played(format_, format_.start(field(4))))
    assert shown(lines) == ["1 E0 6 3", "2 E1 4 3", "3 E2 2 3", "4 E3 0 3"]
    assert lines[0].tiebreaks == (("SB", 2 * 4 + 2 * 2), ("DE", 0), ("WIN", 3))


def finished(format_: RoundRobin, entrants: tuple[Entrant, ...], results: str) -> ListState:
    """Finish all games in order of the list: 1, = or 0 for White."""
    state = format_.start(entrants)
    outcomes = {"1": Outcome.WHITE, "=": Outcome.DRAW, "0": Outcome.BLACK}
    for game, result in zip(state.schedule.games, results, strict=False):
        state = format_.step(state, GameFinished(game, outcomes[result]))
    return state


@settings(max_examples=60, deadline=None)
@given(
    count=st.integers(2, 6),
    games=st.sampled_from([1, 2]),
    cycles=st.sampled_from([1, 2]),
    results=st.text("1=0", max_size=60),
    gone=st.booleans(),
)
def test_the_usual_codes_by_choice(count: int, games: int, cycles: int, results: str, gone: bool) -> None:
    """The chosen codes PTS, SB, DE have the values of the default table."""
    lines = []
    for codes in ((), ("PTS", "SB", "DE")):
        options = RoundRobinOptions(cycles=cycles, games_per_pairing=games, placement=codes)
        format_ = RoundRobin(options)
        state = finished(format_, field(count), results)
        if gone:
            state = format_.step(state, Withdrawn("E0"))
        table = format_.standings(state)
        lines.append({line.name: (line.half_points, line.games, *line.tiebreaks[:2]) for line in table})
    assert lines[0] == lines[1]


@pytest.mark.parametrize("code", sorted(PLACEMENT_CODES))
def test_every_code_orders_a_round_robin(code: str) -> None:
    """Each code orders the table, also in an odd field and during the tournament."""
    entrants = tuple(Entrant(f"E{number}", rating=2000.0 - 60 * number) for number in range(5))
    for games, results in ((1, "1=01=01=01"), (2, "1=01=01=01")):
        format_ = RoundRobin(RoundRobinOptions(games_per_pairing=games, placement=tuple(dict.fromkeys(("PTS", code)))))
        lines = format_.standings(finished(format_, entrants, results))
        assert sorted(line.name for line in lines) == [f"E{number}" for number in range(5)]
        assert [line.half_points for line in lines] == sorted((line.half_points for line in lines), reverse=True)


def test_the_least_predictable_game_is_removed() -> None:
    """LPR separates two equal entrants by the game between the nearest ratings."""
    entrants = tuple(Entrant(member.name, rating=member.rating) for member in rated(2000, 1990, 1700, 1650))
    format_ = RoundRobin(RoundRobinOptions(placement=("PTS", "LPR")))
    state = format_.start(entrants)
    won = {"AB": "B", "AC": "A", "AD": "A", "BC": "C", "BD": "B", "CD": "D"}
    for game in state.schedule.games:
        is_white = won["".join(sorted(game.pair))] == game.white
        state = format_.step(state, GameFinished(game, Outcome.WHITE if is_white else Outcome.BLACK))
    lines = format_.standings(state)
    assert shown(lines, "name half_points") == ["A 4", "B 4", "C 2", "D 2"]
    assert [dict(line.tiebreaks)["LPR"] for line in lines] == [4, 2, 2, 0]


def test_rounds_of_rest_are_not_cut() -> None:
    """In an odd field SOS-1 leaves out the lowest opponent, not the round without one."""
    format_ = RoundRobin(RoundRobinOptions(placement=("PTS", "SOS-1", "DC", "SOS")))
    lines = format_.standings(finished(format_, field(3), "111"))
    assert all(dict(line.tiebreaks)["SOS-1"] == dict(line.tiebreaks)["SOS"] - 2 for line in lines)


@pytest.mark.parametrize(
    ("codes", "told"), [(["LRP"], "unknown code 'LRP', did you mean 'LPR'"), ("LPR", "must be a list of codes")]
)
def test_codes_that_are_none(codes: object, told: str) -> None:
    """Unknown codes, and text instead of a list, are errors."""
    with pytest.raises(ValidationError, match=told):
        RoundRobinOptions.model_validate({"placement": codes})
    (note, *_) = RoundRobin(RoundRobinOptions(placement=("SOS", "DC", "SDC"))).start(field(3)).notes
    assert note.is_warning


def test_a_withdrawn_entrant_leaves_the_table_of_the_others() -> None:
    """Games of a withdrawn entrant do not count for the others."""
    format_ = RoundRobin(RoundRobinOptions())
    state = played(format_, format_.start(field(4)), 3)
    flying = next(game for game in format_.offers(state) if "E3" in game.pair)
    state = format_.step(state, Withdrawn("E3"))
    assert all("E3" not in game.pair for game in format_.offers(state))
    late = format_.step(state, GameFinished(flying, Outcome.WHITE))
    assert format_.standings(late) == format_.standings(state)
    lines = format_.standings(played(format_, late))
    assert shown(lines[:3], "rank name half_points games status") == ["1 E0 4 2", "2 E1 2 2", "3 E2 0 2"]
    assert shown(lines[3:], "rank name half_points status") == ["None E3 0 withdrawn"] and lines[3].games > 0
    with pytest.raises(ValueError, match="already withdrawn"):
        format_.step(late, Withdrawn("E3"))
    with pytest.raises(ValueError, match="not in this tournament"):
        format_.step(late, Withdrawn("Z"))


def test_a_voided_game_is_on_offer_again() -> None:
    """A void game is offered again unless one of its entrants has withdrawn."""
    format_ = RoundRobin(RoundRobinOptions())
    state = played(format_, format_.start(field(3)))
    game = state.schedule.games[0]
    again = format_.step(state, GameVoided(game, Outcome.WHITE))
    assert format_.offers(again) == (game,)
    assert sum(line.games for line in format_.standings(again)) == 4
    gone = format_.step(format_.step(state, Withdrawn(game.white)), GameVoided(game, Outcome.WHITE))
    assert format_.offers(gone) == ()
    with pytest.raises(ValueError, match="not a finished game"):
        format_.step(gone, GameVoided(game, Outcome.WHITE))


def test_who_joins_plays_everybody_after_the_others() -> None:
    """A late entrant plays all others after the scheduled games, with balanced colors."""
    format_ = RoundRobin(RoundRobinOptions(cycles=2))
    state = format_.start(field(4))
    more = format_.step(state, Added(Entrant("late")))
    assert more.schedule.games[:12] == state.schedule.games
    new = more.schedule.games[12:]
    assert Counter(name for game in new for name in game.pair) == {"late": 8, "E0": 2, "E1": 2, "E2": 2, "E3": 2}
    assert set(surplus(new).values()) == {0}
    assert [game.round for game in new] == list(range(7, 15))
    with pytest.raises(ValueError, match="already"):
        format_.step(more, Added(Entrant("E0")))


def test_replaced_takes_the_place_in_the_list() -> None:
    """A replacement takes the place in the list and meets all present entrants."""
    format_ = RoundRobin(RoundRobinOptions())
    state = played(format_, format_.start(field(4)), 2)
    state = format_.step(state, Replaced("E1", Entrant("F1")))
    assert state.names == ("E0", "F1", "E1", "E2", "E3")
    lines = format_.standings(played(format_, state))
    assert [line.games for line in lines if line.rank] == [3, 3, 3, 3]


def test_more_cycles_after_comings_and_goings() -> None:
    """Added cycles have the present entrants, and later entrants play all cycles."""
    format_ = RoundRobin(RoundRobinOptions())
    state = format_.step(format_.start(field(4)), Withdrawn("E0"))
    state = format_.step(state, Added(Entrant("F")))
    state = format_.step(state, Extended((("cycles", 2),)))
    assert state.notes[-1].text == "2 cycles instead of 1: 6 more games"
    state = played(format_, format_.step(state, Added(Entrant("G"))))
    assert {line.games for line in format_.standings(state) if line.rank is not None} == {8}
    with pytest.raises(ValueError, match="greater than 2"):
        format_.step(state, Extended((("cycles", 2),)))


def test_decisions_are_noted() -> None:
    """Schedule, withdrawals and late entries are noted in sentences."""
    format_ = RoundRobin(RoundRobinOptions())
    state = format_.step(format_.step(format_.start(field(4)), Withdrawn("E3")), Added(Entrant("F")))
    assert [note.kind for note in format_.notes(state)] == ["schedule", "withdraw", "add"]
    assert format_.notes(state)[0].text == "4 entrants, 3 rounds, 6 games"
    assert format_.remaining(state) == (6, 6) == (format_.likely(state),) * 2


@pytest.mark.parametrize("order", ["seats", "circle"])
def test_other_orders_are_whole_round_robins(order: Literal["seats", "circle"]) -> None:
    """The orders seats and circle are complete round robins with board order by columns."""
    state = RoundRobin(RoundRobinOptions(order=order, cycles=2)).start(field(6))
    assert Counter((game.white, game.black) for game in state.schedule.games) == Counter(
        (one.name, other.name) for one in field(6) for other in field(6) if one != other
    )
    opponent = {"seats": "E3", "circle": "E5"}[order]
    assert (state.schedule.games[0].white, state.schedule.games[0].black) == ("E0", opponent)


def test_rows_need_rows() -> None:
    """colors = rows does not work with the Berger tables."""
    with pytest.raises(ValidationError, match="requires order"):
        RoundRobinOptions(colors="rows")
    state = RoundRobin(RoundRobinOptions(order="seats", colors="rows")).start(field(6))
    assert {game.white for game in state.schedule.games[:3]} == {"E0", "E1", "E2"}


@pytest.mark.parametrize("count", range(2, 9))
def test_gauntlet_pairs_and_colors(count: int) -> None:
    """Each seed meets all others once per cycle with balanced colors."""
    for seeds in range(1, count):
        for meet in (False, True):
            options = GauntletOptions(seeds=seeds, seeds_meet=meet, cycles=2)
            games = Gauntlet(options).start(field(count)).schedule.games
            front = {f"E{number}" for number in range(seeds)}
            pairs = Counter(game.pair for game in games)
            among = seeds * (seeds - 1) // 2 if meet else 0
            assert len(pairs) == seeds * (count - seeds) + among
            assert set(pairs.values()) == {2}
            assert all(front & set(pair) and (meet or not front.issuperset(pair)) for pair in pairs)
            assert all(surplus(games)[name] == 0 for name in front)
            once = Gauntlet(options.model_copy(update={"cycles": 1})).start(field(count)).schedule.games
            assert all(abs(surplus(once)[name]) <= 1 for name in front)
            for number in {game.round for game in games}:
                seated = [name for game in games if game.round == number for name in game.pair]
                assert len(seated) == len(set(seated))


def test_gauntlet_seeds_by_name() -> None:
    """Seeds can be named; unknown names and missing opponents are errors."""
    state = Gauntlet(GauntletOptions(seeds=["E2"])).start(field(4))
    assert {game.pair for game in state.schedule.games} == {("E0", "E2"), ("E1", "E2"), ("E2", "E3")}
    for seeds in (["E9"], 4, ["E0", "E1", "E2", "E3"]):
        with pytest.raises(ValueError, match="seeds"):
            Gauntlet(GauntletOptions(seeds=seeds)).start(field(4))


def test_gauntlet_table_has_the_seeds_on_top() -> None:
    """Seeds are above the others in the table, with consecutive ranks."""
    gauntlet = Gauntlet(GauntletOptions(seeds=["E3"]))
    lines = gauntlet.standings(played(gauntlet, gauntlet.start(field(4))))
    assert shown(lines, "rank name half_points") == ["1 E3 0", "2 E0 2", "2 E1 2", "2 E2 2"]


def test_chosen_pairs() -> None:
    """With `pairs`, only these pairs meet, in each cycle; a round has an entrant once, and entrants cannot join."""
    chosen = [["E0", "E1"], ["E3", "E0"], ["E2", "E4"]]
    options = {"cycles": 2, "games_per_pairing": 4, "pairs": chosen}
    format_ = RoundRobin(RoundRobinOptions.model_validate(options))
    state = format_.start(field(5))
    games = state.schedule.games
    pairs = {("E0", "E1"), ("E0", "E3"), ("E2", "E4")}
    assert Counter(game.pair for game in games) == dict.fromkeys(pairs, 8)
    assert len({game.key for game in games}) == 24 and state.rounds == max(game.round for game in games) == 4
    with pytest.raises(ValueError, match="pairs lists who meets whom"):
        format_.step(state, Added(Entrant("late")))
    left = format_.step(state, Withdrawn("E0"))
    assert {game.pair for game in format_.offers(left)} == {("E2", "E4")}
    longer = format_.step(state, Extended((("cycles", 3),)))
    assert Counter(game.pair for game in longer.schedule.games) == dict.fromkeys(pairs, 12)


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ([["E0", "E0"]], "'E0' cannot meet itself"),
        ([["E0", "E1"], ["E1", "E0"]], "the pair E0 - E1 is listed twice"),
        ([["E0", "E9"]], "'E9' is not an entrant"),
        ([["E0", "E1"]], "no pair contains E2. Hint"),
        ([["E0"]], "Field required"),
    ],
)
def test_wrong_pairs(pairs: list[list[str]], told: str) -> None:
    """A pair of one entrant, a repeated pair, an unknown name and an entrant without a pair are errors."""
    with pytest.raises(ValueError, match=told):
        RoundRobin(RoundRobinOptions.model_validate({"pairs": pairs})).start(field(3))


def test_gauntlet_newcomers_meet_whom_they_should() -> None:
    """A new opponent meets the seeds, and a replaced seed is a seed."""
    gauntlet = Gauntlet(GauntletOptions(seeds=2, games_per_pairing=2))
    state = gauntlet.start(field(4))
    more = gauntlet.step(state, Added(Entrant("late"))).schedule.games[len(state.schedule.games) :]
    assert {game.pair for game in more} == {("E0", "late"), ("E1", "late")} and len(more) == 4
    state = gauntlet.step(state, Replaced("E0", Entrant("F0")))
    assert state.seeds == {"E0", "E1", "F0"}
    assert {game.pair for game in gauntlet.offers(state) if "F0" in game.pair} == {("E2", "F0"), ("E3", "F0")}
    meeting = Gauntlet(GauntletOptions(seeds=2, seeds_meet=True))
    state = meeting.step(meeting.start(field(4)), Replaced("E0", Entrant("F0")))
    assert ("E1", "F0") in {game.pair for game in meeting.offers(state)}


@pytest.mark.parametrize("count", range(2, 10))
def test_everybody_meets_the_other_team(count: int) -> None:
    """Each entrant meets the other team once, in the fewest rounds, with balanced colors."""
    for size in range(1, count):
        games = Scheveningen(ScheveningenOptions(team=size)).start(field(count)).schedule.games
        first = {f"E{number}" for number in range(size)}
        assert Counter(len(first & set(game.pair)) for game in games) == {1: size * (count - size)}
        assert len({game.pair for game in games}) == len(games)
        assert max(game.round for game in games) == max(size, count - size)
        assert max(abs(extra) for extra in surplus(games).values()) <= 1
        for number in {game.round for game in games}:
            seated = [name for game in games if game.round == number for name in game.pair]
            assert len(seated) == len(set(seated))


def test_teams() -> None:
    """The first team is the first half, a number of entrants, or a list of names."""
    for team, first in ((None, {"E0", "E1", "E2"}), (2, {"E0", "E1"}), (["E4"], {"E4"})):
        assert Scheveningen(ScheveningenOptions(team=team)).start(field(5)).seeds == first
    for team, found in ((0, "at least 1"), ([], "empty"), (["E1", "E1"], "twice")):
        with pytest.raises(ValidationError, match=found):
            ScheveningenOptions(team=team)
    for count, team, found in ((5, 5, "no opponents"), (5, ["Z"], "not an entrant"), (1, None, "no opponents")):
        with pytest.raises(InputRefused, match=found):
            Scheveningen(ScheveningenOptions(team=team)).start(field(count))


def test_the_winning_team_stands_first() -> None:
    """The team with more points is first; a tie keeps the first team on top."""
    format_ = Scheveningen(ScheveningenOptions(team=["E2", "E3"]))
    state = format_.start(field(4))
    lines = format_.standings(state)
    level = shown(lines[:3], "rank name status")
    assert level == ["1 E2 team 1: 0 of 0", "1 E3 team 1: 0 of 0", "3 E0 team 2: 0 of 0"]
    second = shown(format_.standings(played(format_, state)), "rank name half_points status")
    assert second[:2] == ["1 E0 4 team 2: 4 of 4", "1 E1 4 team 2: 4 of 4"]
    assert second[2:] == ["3 E2 0 team 1: 0 of 4", "3 E3 0 team 1: 0 of 4"]


def test_newcomers_join_the_smaller_team() -> None:
    """A new entrant joins the smaller team, and a replacement its predecessor's team."""
    format_ = Scheveningen(ScheveningenOptions(games_per_pairing=2))
    state = format_.step(format_.start(field(4)), Added(Entrant("F")))
    assert Counter(len({"E0", "E1"} & set(game.pair)) for game in state.schedule.games[8:]) == {1: 4}
    state = format_.step(state, Added(Entrant("G")))
    assert state.seeds == {"E0", "E1", "G"}
    assert Counter(game.pair for game in state.schedule.games[12:]) == {("E2", "G"): 2, ("E3", "G"): 2, ("F", "G"): 2}
    state = format_.step(state, Replaced("E0", Entrant("H")))
    assert "H" in state.seeds
    state = format_.step(state, Withdrawn("E2"))
    games = {line.name: line.games for line in format_.standings(played(format_, state)) if line.rank is not None}
    assert games == {"E1": 4, "G": 4, "H": 4, "E3": 6, "F": 6}


def test_colors_come_back_in_the_second_cycle() -> None:
    """Two cycles of single games have both colors for all pairs."""
    games = Scheveningen(ScheveningenOptions(cycles=2)).start(field(6)).schedule.games
    assert set(surplus(games).values()) == {0}
    assert len({(game.white, game.black) for game in games}) == len(games) == 18


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
    """Invalid settings are errors that name the field."""
    with pytest.raises(ValidationError) as refusal:
        options.model_validate(wrong)
    assert {error["loc"][0] for error in refusal.value.errors()} == {named}


@pytest.mark.parametrize(
    "options", [RoundRobinOptions(), RoundRobinOptions(games_per_pairing=2), GauntletOptions(seeds=2, seeds_meet=True)]
)
@pytest.mark.parametrize("after", [0, 3, 10**6])
def test_more_cycles_are_those_of_a_longer_tournament(options: RoundRobinOptions | GauntletOptions, after: int) -> None:
    """Added cycles give the same games and table as a longer tournament."""
    made = Gauntlet if isinstance(options, GauntletOptions) else RoundRobin
    short, long = (made(options.model_copy(update={"cycles": cycles})) for cycles in (1, 3))
    begun = played(short, short.start(field(5)), after)
    extended = short.step(begun, Extended((("cycles", 3),)))
    whole = long.start(field(5))
    assert {game.key: game for game in extended.schedule.games} == {game.key: game for game in whole.schedule.games}
    assert extended.rounds == whole.rounds
    assert short.standings(played(short, extended)) == long.standings(played(long, whole))
    assert set(short.offers(begun)) <= set(short.offers(extended))


LISTS = (
    (RoundRobin, RoundRobinOptions),
    (Gauntlet, GauntletOptions),
    (Scheveningen, ScheveningenOptions),
)


@pytest.mark.parametrize(("made", "options"), LISTS)
@pytest.mark.parametrize("games", [1, 4])
def test_colors_that_stay(made: type[PairList], options: type[ListOptions], games: int) -> None:
    """Without `swap` one entrant of each pair has White in all games."""
    format_ = made(options(games_per_pairing=games, cycles=3, swap=False))
    state = format_.start(field(5))
    state = format_.step(state, Added(Entrant("N")))
    whites: dict[tuple[str, str], set[str]] = {}
    for game in state.schedule.games:
        whites.setdefault(game.pair, set()).add(game.white)
    assert all(len(who) == 1 for who in whites.values())
    if state.seeds:
        assert {name for who in whites.values() for name in who} <= state.seeds


@pytest.mark.parametrize(("made", "options"), LISTS)
@pytest.mark.parametrize("swap", [True, False])
def test_colors_in_reverse(made: type[PairList], options: type[ListOptions], swap: bool) -> None:
    """`reverse` exchanges White and Black in all games, also of late entrants."""

    def games(reverse: bool) -> list[Pairing]:
        format_ = made(options(games_per_pairing=2, cycles=2, swap=swap, reverse=reverse))
        return list(format_.step(format_.start(field(5)), Added(Entrant("N"))).schedule.games)

    turned = [replace(game, white=game.black, black=game.white) for game in games(reverse=False)]
    assert games(reverse=True) == turned


@pytest.mark.parametrize(("made", "options"), LISTS)
def test_reverse_and_odds_are_refused(made: type[PairList], options: type[ListOptions]) -> None:
    """`reverse` and `handicap` exclude each other."""
    with pytest.raises(ValidationError, match="exclude each other"):
        options.model_validate({"reverse": True, "handicap": {}})


@pytest.mark.parametrize("system", ["bubble", "dutch", "mcmahon", "knockout", "gopair", "entropy"])
@pytest.mark.parametrize("key", ["swap", "reverse"])
def test_formats_with_colors_of_their_own_say_so(system: str, key: str) -> None:
    """Other formats reject color settings and name the formats that have them."""
    with pytest.raises(ValidationError, match=f"{key} is only for match, roundrobin, gauntlet and scheveningen; here"):
        options_model(system).model_validate({key: False})


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("system", ["roundrobin", "gauntlet", "scheveningen"])
def test_a_replay_of_a_long_tournament_is_that_of_its_steps(system: str, seed: int) -> None:
    """A replay records games together; the state, the offers and the table are those after single steps."""
    dice = random.Random(f"{system} {seed}")
    options = options_model(system)(cycles=90, games_per_pairing=dice.choice([1, 2]))
    format_, names = make_format(system, options), [Entrant(f"e{number}") for number in range(dice.choice([4, 6, 8]))]
    state, events = format_.start(tuple(names)), list[Event]()
    for number in range(dice.randint(1, 150)):
        if not (offers := format_.offers(state)):
            break
        luck, made = dice.random(), cast("Event", GameFinished(dice.choice(offers), dice.choice([*Outcome])))
        if luck < 0.02 and len(state.present) > 3:
            made = Withdrawn(dice.choice(state.present))
        elif luck < 0.04:
            made = Added(Entrant(f"n{number}"))
        elif luck < 0.08 and (known := [game for game in state.schedule.games if game.key in state.schedule.played]):
            game = dice.choice(known)
            made = GameVoided(game, state.schedule.played[game.key])
        with suppress(ValueError):  # the last seed cannot leave
            state, events = format_.step(state, made), [*events, made]
    again = replay(format_, tuple(names), events)
    assert again == state
    assert format_.offers(again) == format_.offers(state)
    assert format_.standings(again) == format_.standings(state)
