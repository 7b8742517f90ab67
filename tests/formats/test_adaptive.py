"""Tests of formats/adaptive."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import ValidationError

from enginetour.formats.adaptive import Adaptive, AdaptiveOptions, AdaptiveState
from enginetour.formats.base import replay
from enginetour.formats.forecast import prior_ratings
from enginetour.model.game import (
    RESULTS,
    Added,
    Entrant,
    Event,
    Extended,
    GameFinished,
    GameVoided,
    Note,
    Outcome,
    Pairing,
    Replaced,
    Withdrawn,
)
from enginetour.ratings.elo import expected_score

LEAGUE: dict[str, Any] = {"divisions": [["A", "B"], ["C", "D", "E"]], "error": 60.0}
STRENGTHS = {"A": 200.0, "B": 190.0, "C": 0.0, "D": -190.0, "E": -200.0}


def format_of(seed: int = 1, **settings: Any) -> Adaptive:
    return Adaptive(AdaptiveOptions.model_validate(settings), seed)


def entrants(*names: str, **more: Any) -> tuple[Entrant, ...]:
    return tuple(Entrant(name, **more) for name in names or STRENGTHS)


def result(game: Pairing) -> Outcome:
    """Return a random result by the strengths, with a third of draws between equals."""
    share = expected_score(STRENGTHS.get(game.white, 0.0) - STRENGTHS.get(game.black, 0.0))
    luck, drawn = random.Random(f"0 {game.key}").random(), (1 - abs(2 * share - 1)) / 3
    return RESULTS[(luck > share - drawn / 2) + (luck > share + drawn / 2)]


def played(
    format_: Adaptive,
    field: Sequence[Entrant],
    ms: Callable[[Pairing], int | None] = lambda _: None,
    most: int = 10**6,
) -> tuple[AdaptiveState, list[Event]]:
    """Play games in the order of the offers, until the end or a number of games."""
    state, events = format_.start(tuple(field)), list[Event]()
    while (offers := format_.offers(state)) and len(events) < most:
        events.append(GameFinished(offers[0], result(offers[0]), ms(offers[0])))
        state = format_.step(state, events[-1])
    return state, events


def pairs(events: Sequence[Event]) -> Counter[tuple[str, str]]:
    return Counter(event.pairing.pair for event in events if isinstance(event, GameFinished))


def kinds(state: AdaptiveState) -> list[str]:
    return [note.kind for note in state.notes]


def fields(state: AdaptiveState, kind: str) -> list[dict[str, Any]]:
    return [dict(note.fields) for note in state.notes if note.kind == kind]


@pytest.mark.parametrize(
    "goal",
    [
        {"error": 110.0},
        {"los": 0.8, "level": 80.0},
        {"top": 2, "los": 0.8},
        {"entrant": "C", "error": 90.0},
        {"divisions": [["A", "B"], ["C"], ["D", "E"]], "error": 90.0},
    ],
    ids=["errors", "places", "top", "version", "divisions"],
)
def test_ends_when_the_goal_is_reached(goal: dict[str, Any]) -> None:
    """The last note says that the goal is reached, and no game is open; each encounter has a note with its purpose."""
    format_ = format_of(goal=goal, games=3000)
    state, events = played(format_, entrants())
    assert kinds(state)[-1] == "reached" and format_.remaining(state) == (0, 0)
    assert state.course is not None and bool(state.course.done)
    assert len(events) == 2 * len(fields(state, "chosen")) < 3000
    assert format_.likely(format_.start(entrants())) <= 3000


@pytest.mark.parametrize("goal", [{"los": 0.9}, {"top": 3, "los": 0.9}], ids=["places", "top"])
def test_the_first_estimate_agrees_with_the_warning(goal: dict[str, Any]) -> None:
    """Before the first game, the likely number of games is the first one without a warning that it does not suffice."""
    format_, names = format_of(goal=goal, games=3000), entrants()
    likely = format_.likely(format_.start(names))
    assert not any(format_.doubts(names, likely)) and any(format_.doubts(names, likely - 1))
    few = format_of(goal=goal, games=40)
    assert any(few.doubts(names, 40)) and few.likely(few.start(names)) == 40


def test_the_games_are_played_where_the_order_is_open() -> None:
    """With the goal `places`, neighbors of nearly equal strength get more games than pairs with a clear order."""
    _, events = played(format_of(goal={"los": 0.95}, games=200), entrants())
    count = pairs(events)
    assert min(count["A", "B"], count["D", "E"]) > 2 * max(count["A", "D"], count["A", "E"], count["B", "E"])


def test_one_entrant_against_the_others() -> None:
    """With a goal of one entrant, nearly all encounters after the first ones are its own."""
    _, events = played(format_of(goal={"entrant": "C", "error": 5.0}, games=100, share=1.0), entrants())
    assert sum(games for pair, games in pairs(events).items() if "C" in pair) > 75


def test_floors() -> None:
    """Every entrant meets three opponents and has its least number of games, also if the goal is reached early."""
    state, events = played(format_of(goal={"error": 400.0}, min_games=10), entrants())
    count = pairs(events)
    for name in STRENGTHS:
        own = {pair: games for pair, games in count.items() if name in pair}
        assert len(own) >= 3 and sum(own.values()) >= 10
    assert {one["purpose"] for one in fields(state, "chosen")} == {"floor"}


def test_share() -> None:
    """No pair has more than the share of an entrant's games, or twice the even share."""
    _, events = played(format_of(goal={"los": 0.99}, games=160), entrants())
    count = pairs(events)
    for pair, games in count.items():
        for name in pair:
            assert games <= 0.5 * sum(n for other, n in count.items() if name in other) + 2


def test_slow_engines_play_less() -> None:
    """The gain is divided by the expected time: an engine whose games take ten times as long plays fewer games."""

    def games_of_c(ms: Callable[[Pairing], int | None]) -> int:
        _, events = played(format_of(goal={"error": 10.0}, games=80), entrants(), ms)
        return sum(games for pair, games in pairs(events).items() if "C" in pair)

    assert games_of_c(lambda game: 10_000 if "C" in game.pair else 1000) < games_of_c(lambda _: 1000)


def test_hours() -> None:
    """The tournament ends when the games have taken the hours, and the open encounters count as expected."""
    format_ = format_of(goal={"error": 1.0}, hours=1.0, ahead=4)
    state, events = played(format_, entrants(), lambda _: 60_000)
    assert kinds(state)[-1] == "undecided"
    assert 60 <= len(events) <= 62
    assert format_.remaining(state) == (0, 0)


def test_another_machine_breaks_ties_differently() -> None:
    """A replay follows the choices in the notes if they are nearly the best; other choices are not followed."""
    first, other = format_of(seed=1, games=60), format_of(seed=2, games=60)
    state, events = played(first, entrants())
    with pytest.raises(ValueError, match="was not chosen"):
        replay(other, entrants(), events)
    other.follow(first.notes(state))
    assert replay(other, entrants(), events) == state
    bad = format_of(seed=1, games=60)
    worst = Note("chosen", "", (("choice", 20), ("white", "A"), ("black", "E")))
    bad.follow([note for note in state.notes if dict(note.fields).get("choice") != 20] + [worst])
    assert replay(bad, entrants(), events) == state


def test_a_counted_game_is_voided() -> None:
    """Its result is removed from the ratings and its games are allowed again; an open game is offered again."""
    format_ = format_of(goal={"error": 30.0}, games=20, ahead=2)
    state, events = played(format_, entrants())
    assert kinds(state)[-1] == "undecided"
    first, second = events[0], events[1]
    assert isinstance(first, GameFinished) and isinstance(second, GameFinished)
    for one in (first, second):
        state = format_.step(state, GameVoided(one.pairing, one.outcome))
    more = format_.offers(state)
    assert len(more) == 2 and first.pairing.key not in {game.key for game in more}
    with pytest.raises(ValueError, match="is not a finished game"):
        format_.step(state, GameVoided(first.pairing, first.outcome))
    half = format_.step(state, GameFinished(more[0], Outcome.DRAW))
    assert format_.offers(format_.step(half, GameVoided(more[0], Outcome.DRAW))) == more


def test_the_goal_is_not_reached_any_more() -> None:
    """After voided games, a finished tournament continues."""
    format_ = format_of(goal={"error": 150.0}, ahead=1)
    state, events = played(format_, entrants())
    assert kinds(state)[-1] == "reached"
    for event in events[:6]:
        assert isinstance(event, GameFinished)
        state = format_.step(state, GameVoided(event.pairing, event.outcome))
    assert "reopened" in kinds(state) and format_.offers(state)


@pytest.mark.parametrize(
    "goal",
    [{"error": 60.0}, {"entrant": "C", "error": 50.0}, {"divisions": [["A", "B"], ["C", "D", "E"]], "error": 50.0}],
    ids=["errors", "version", "divisions"],
)
def test_many_open_encounters_cost_no_games(goal: dict[str, Any]) -> None:
    """Enough encounters are open for 40 slots, but none that the goal is not expected to need."""
    one, many = (len(played(format_of(goal=goal, ahead=ahead), entrants())[1]) for ahead in (1, 80))
    assert 100 < many < 1.2 * one


def test_a_large_field_ends_with_all_open_encounters_complete() -> None:
    """More than 64 entrants: the ratings are computed again when no encounter is open, and the goal is reached then."""
    names = [f"E{number}" for number in range(70)]
    goal = {"divisions": [names[:35], names[35:]], "error": 40.0}
    one, many = (played(format_of(goal=goal, ahead=ahead), entrants(*names)) for ahead in (1, 300))
    assert kinds(many[0])[-1] == "reached"
    assert len(many[1]) < 1.6 * len(one[1])


def double_round(*divisions: str, games: int = 20) -> list[tuple[str, str, int, int, int]]:
    """Return results in divisions: White's wins, draws and losses of each pair, by strength."""
    found = []
    for white, black in ((one, other) for own in divisions for one in own for other in own if one != other):
        share = expected_score(STRENGTHS[white] - STRENGTHS[black])
        drawn = round(games * (1 - abs(2 * share - 1)) / 3)
        won = round(games * share - drawn / 2)
        found.append((white, black, won, drawn, games - won - drawn))
    return found


def test_games_between_divisions_end_at_the_error() -> None:
    """Only entrants of different divisions meet, and one encounter earlier the difference was not known yet."""
    format_ = format_of(goal=LEAGUE, known=double_round("AB", "CDE"), ahead=1)
    state, events = played(format_, entrants())
    assert kinds(state)[-1] == "reached" and state.course is not None
    assert 57 < float(state.course.reached) <= 60 < fields(state, "chosen")[-1]["value"]
    assert all(len({"A", "B"} & set(pair)) == 1 for pair in pairs(events))
    assert {one["purpose"] for one in fields(state, "chosen")} == {"divisions"}
    assert state.notes[-2].text.endswith("to compare divisions 1 and 2")
    assert sum(line.games for line in format_.standings(state)) == 2 * len(events)  # without the earlier games
    outlook = format_.outlook(state)
    assert outlook is not None and outlook.goal == "the differences of neighboring divisions are known to ± 60 Elo"
    assert outlook.games == len(events) and outlook.round_robin is not None


def test_an_engine_with_few_games_in_its_division() -> None:
    """It plays more games between divisions, because its error is a large part of the error of its division."""

    def games_of_d(known: Sequence[tuple[str, str, int, int, int]]) -> int:
        _, events = played(format_of(goal=LEAGUE, known=known, games=100), entrants())
        return sum(games for pair, games in pairs(events).items() if "D" in pair)

    rows = double_round("AB", "CDE", games=200)
    assert games_of_d([row for row in rows if "D" not in row[:2]] + [("C", "D", 1, 1, 0)]) > 2 * games_of_d(rows)


@pytest.mark.parametrize("result", [0, 2])
def test_an_engine_with_equal_results_in_all_earlier_games(result: int) -> None:
    """Engines that won or lost all games in their divisions have finite ratings, and the goal is reached."""
    rows = []
    for white, black, *_ in double_round("AB", "CDE"):
        results = [0, 0, 0]
        results[result if white < black else 2 - result] = 20
        rows.append((white, black, *results))
    state, events = played(format_of(goal=LEAGUE | {"error": 150.0}, known=rows), entrants())
    assert kinds(state)[-1] == "reached" and len(events) < 600


def test_divisions_begin_at_different_levels() -> None:
    """Before the first game, neighboring divisions differ by 150 Elo, also in a forecast."""
    format_ = format_of(goal={"divisions": [["A", "B"], ["C"], ["D", "E"]], "error": 90.0})
    levels = [150.0, 150.0, 0.0, -150.0, -150.0]
    table = format_.standings(format_.start(entrants()))
    assert [dict(line.tiebreaks)["RATING"] for line in table] == levels
    assert prior_ratings(format_, "ABCDE", {}).center("ABCDE").tolist() == levels
    assert prior_ratings(format_, "ABCDE", {"A": 2000.0, "B": 1900.0}).center("ABC").tolist() == [50.0, -50.0, 0.0]


def test_divisions_keep_their_places() -> None:
    """A successor joins the division of its predecessor, a withdrawn entrant leaves it, and others cannot join."""
    format_ = format_of(goal=LEAGUE, known=double_round("AB", "CDE"), games=2000)
    state, _ = played(format_, entrants(), most=20)
    with pytest.raises(ValueError, match=r"G cannot join, because its division is not known\. Hint: `enginetour"):
        format_.step(state, Added(Entrant("G")))
    state = format_.step(state, Replaced("A", Entrant("F")))
    state = format_.step(state, Withdrawn("D"))
    assert state.divisions == (("F", "B"), ("C", "E"))
    while offers := format_.offers(state):
        assert all(len({"F", "B"} & set(game.pair)) == 1 and "D" not in game.pair for game in offers)
        state = format_.step(state, GameFinished(offers[0], result(offers[0])))
    assert kinds(state)[-1] == "reached"


def test_a_division_is_empty() -> None:
    """The divisions above and below it become neighbors; one division alone has no goal."""
    format_ = format_of(goal={"divisions": [["A", "B"], ["C"], ["D", "E"]], "error": 90.0}, games=2000)
    state, _ = played(format_, entrants(), most=10)
    state = format_.step(state, Withdrawn("C"))
    while offers := format_.offers(state):
        state = format_.step(state, GameFinished(offers[0], result(offers[0])))
    assert kinds(state)[-1] == "reached" and state.notes[-2].text.endswith("to compare divisions 1 and 3")
    for name in ("D", "E"):
        state = format_.step(state, Withdrawn(name))
    assert not format_.offers(state) and kinds(state)[-1] == "stuck"


def test_known_results_count_for_the_ratings_only() -> None:
    """Earlier results make errors smaller and move the ratings, but they give no entrant points or games."""
    plain, told = (format_of(known=known, games=20) for known in ([], double_round("ABCDE")))
    before, after = plain.start(entrants()), told.start(entrants())
    assert before.course is not None and after.course is not None
    assert float(after.course.reached) < 100 < 600 < float(before.course.reached)
    table = told.standings(after)
    assert [line.name for line in table] == list("ABCDE") and not any(line.games or line.half_points for line in table)
    assert told.remaining(after) == plain.remaining(before)


def test_entrants_come_and_go() -> None:
    """Withdrawn entrants are last in the table and play no more; new ones get their first games."""
    format_ = format_of(goal={"error": 110.0}, games=400)
    state, _ = played(format_, entrants(), most=31)
    state = format_.step(state, Withdrawn("B"))
    state = format_.step(state, Replaced("D", Entrant("F")))
    state = format_.step(state, Added(Entrant("G")))
    while offers := format_.offers(state):
        assert {"B", "D"}.isdisjoint(offers[0].pair)
        state = format_.step(state, GameFinished(offers[0], result(offers[0])))
    table = format_.standings(state)
    assert [line.name for line in table[5:]] == ["B", "D"] and {line.status for line in table[5:]} == {"withdrawn"}
    assert all(line.status.startswith("± ") and line.games >= 6 for line in table[:5])
    assert [dict(line.tiebreaks)["RATING"] for line in table[:5]] == sorted(
        (dict(line.tiebreaks)["RATING"] for line in table[:5]), reverse=True
    )


def test_the_entrant_of_the_goal_withdraws() -> None:
    """The tournament ends after the open games, with one line on the reason."""
    format_ = format_of(goal={"entrant": "C", "error": 5.0}, games=100)
    state, _ = played(format_, entrants(), most=20)
    state = format_.step(state, Withdrawn("C"))
    while offers := format_.offers(state):
        state = format_.step(state, GameFinished(offers[0], result(offers[0])))
    assert state.notes[-1] == Note("stuck", "the goal cannot be reached without the entrants that withdrew")


def test_extend() -> None:
    """More games continue a tournament that has ended without its goal."""
    format_ = format_of(goal={"error": 10.0}, games=20)
    state, _ = played(format_, entrants())
    assert not format_.offers(state)
    state = format_.step(state, Extended((("games", 30),)))
    assert format_.remaining(state)[1] == 10
    with pytest.raises(ValueError, match="games must be greater than 30"):
        format_.step(state, Extended((("games", 30),)))


def test_one_color_each() -> None:
    """With single games, White and Black games of an entrant differ by at most one or two."""
    _, events = played(format_of(goal={"error": 10.0}, games=51, games_per_pairing=1), entrants())
    whites = Counter(event.pairing.white for event in events if isinstance(event, GameFinished))
    blacks = Counter(event.pairing.black for event in events if isinstance(event, GameFinished))
    assert all(abs(whites[name] - blacks[name]) <= 2 for name in STRENGTHS)


def test_two_entrants() -> None:
    """Two entrants play like a match until their difference is known."""
    state, events = played(format_of(goal={"error": 60.0}), entrants("A", "C"))
    assert kinds(state)[-1] == "reached" and set(pairs(events)) == {("A", "C")}


@pytest.mark.parametrize(
    ("settings", "field", "says"),
    [
        ({}, entrants("A"), r"needs at least two entrants \(found 1\)"),
        ({"forbid_family": True}, entrants(family="f"), "all entrants have the family 'f', so no pair can play. Hint:"),
        ({"prior_error": 40.0}, entrants(), "prior_error needs ratings, but no entrant has one. Hint:"),
        ({"goal": {"top": 5, "los": 0.9}}, entrants(), "top must be below the number of entrants"),
        ({"goal": {"entrant": "X", "error": 9.0}}, entrants(), "'X' is not an entrant"),
        ({}, entrants("A", "A"), "entrant A is listed twice"),
        ({"goal": LEAGUE}, entrants(*"ABCD"), "divisions contains 'E', which is not an entrant"),
        ({"goal": LEAGUE}, entrants(*"ABCDEF"), "the entrant 'F' is in no division. Hint:"),
        ({"known": [("A", "X", 1, 0, 0)]}, entrants(), "known: 'X' is not an entrant"),
    ],
)
def test_unsuitable_entrants(settings: dict[str, Any], field: tuple[Entrant, ...], says: str) -> None:
    """Settings that do not fit the entrants are one line."""
    with pytest.raises(ValueError, match=says):
        format_of(**settings).start(field)


def test_some_ratings_are_missing() -> None:
    """A warning names the entrants without a rating; the others begin with theirs."""
    format_ = format_of(prior_error=40.0, games=1000, goal={"error": 60.0})
    state = format_.start((Entrant("A", rating=2100.0), Entrant("B", rating=1900.0), Entrant("C")))
    (warning,) = [note.text for note in state.notes if note.is_warning]
    assert warning.startswith("C: the entrant has no rating, so the calculation begins with the average")
    assert [dict(line.tiebreaks)["RATING"] for line in format_.standings(state)] == [2100, 2000, 1900]


def test_a_large_field() -> None:
    """Choices of a large field do not depend on the order in which games end, between two exact computations too."""
    names = tuple(f"E{number}" for number in range(66))
    notes = []
    for order in (0, -1):
        format_ = format_of(goal={"error": 10.0}, games=60, ahead=3)
        state = format_.start(entrants(*names))
        while offers := format_.offers(state):
            state = format_.step(state, GameFinished(offers[order], result(offers[order])))
        notes.append(state.notes)
        assert state.sketch is not None and state.looked % 8 != 0
    assert notes[0] == notes[1]


def test_too_few_games_for_an_encounter() -> None:
    """At least one encounter must be allowed."""
    with pytest.raises(ValidationError, match="games must be at least games_per_pairing, 4"):
        AdaptiveOptions(games=2, games_per_pairing=4)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"goal": LEAGUE, "min_games": 8}, "min_games has no effect with a goal that has divisions. Hint:"),
        ({"known": [["A", "A", 1, 0, 0]]}, "known: 'A' cannot meet itself"),
        ({"known": [["A", "B", 1, 0, 0], ["A", "B", 1, 0, 0]]}, "known: the pair A - B is listed twice"),
        ({"known": [["A", "B", 1, 0]]}, "Field required"),
        ({"known": [["A", "B", 1, 0, -1]]}, "greater than or equal to 0"),
    ],
)
def test_settings_that_are_not_valid(settings: dict[str, Any], says: str) -> None:
    """Each error is one line that names the setting."""
    with pytest.raises(ValidationError, match=says):
        format_of(**settings)
