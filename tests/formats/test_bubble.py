"""Tests of formats/bubble."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from pydantic import ValidationError

from enginetour.formats.base import replay
from enginetour.formats.bubble import Bubble
from enginetour.formats.bubble_state import BubbleOptions, BubbleState, PlannedWithdrawal
from enginetour.model.game import (
    Added,
    Entrant,
    GameFinished,
    GameVoided,
    Outcome,
    Pairing,
    Replaced,
    StandingsRow,
    Withdrawn,
)
from tests.support.databases import field, played

SMALL = BubbleOptions(size=3, min_matches=3, unpark_threshold=1)


def by_status(lines: Iterable[StandingsRow], status: str) -> list[str]:
    return [line.name for line in lines if line.status == status]


def told(bubble: Bubble, state: BubbleState) -> list[tuple[str, Any]]:
    return [(note.kind, dict(note.fields).get("engine")) for note in bubble.notes(state)]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"size": 1}, "size"),
        ({"size": True}, "size"),
        ({"size": "10"}, "size"),
        ({"size": 10.0}, "size"),
        ({"min_matches": -1}, "min_matches"),
        ({"min_matches": False}, "min_matches"),
        ({"unpark_threshold": 10}, "unpark_threshold"),
        ({"unpark_threshold": -1}, "unpark_threshold"),
        ({"games_per_pairing": 3}, "games_per_pairing"),
        ({"games_per_pairing": 0}, "games_per_pairing"),
        ({"threshold": 3}, "threshold"),
    ],
)
def test_settings_outside_the_table_are_refused(wrong: dict[str, object], named: str) -> None:
    """Invalid settings are errors that name the field."""
    with pytest.raises(ValidationError) as refusal:
        BubbleOptions.model_validate(wrong)
    assert [error["loc"] for error in refusal.value.errors()] == [(named,)]


def test_defaults_and_help() -> None:
    """The defaults are Muller's, and each description says what it counts."""
    assert BubbleOptions() == BubbleOptions(size=10, min_matches=15, unpark_threshold=5, games_per_pairing=1)
    for name in ("min_matches", "unpark_threshold"):
        assert "matches" in (BubbleOptions.model_fields[name].description or "")
        assert "not games" in (BubbleOptions.model_fields[name].description or "")


def test_the_lower_end_starts_and_newcomers_are_below() -> None:
    """Entrants are listed best first; new ones are placed below all others."""
    bubble = Bubble(SMALL)
    entrants = (Entrant("new1", new=True), Entrant("A"), Entrant("new2", new=True), Entrant("B"), Entrant("C"))
    state = bubble.start(entrants)
    assert state.section == ("new2", "new1", "C")
    assert state.old == ("B", "A")


@pytest.mark.parametrize("size", range(2, 9))
def test_the_default_threshold_fits_a_small_section(size: int) -> None:
    """A user who sets only a small size gets half of it; a threshold that is too large is an error with a hint."""
    assert BubbleOptions(size=size).unpark_threshold == (5 if size > 5 else size // 2)
    assert BubbleOptions.model_validate_json(f'{{"size": {size}}}') == BubbleOptions(size=size)
    wrong = rf"at most size - 1 = {size - 1} \(found {size}\)\. Hint: set unpark_threshold = {size // 2}, or remove it"
    with pytest.raises(ValidationError, match=wrong):
        BubbleOptions(size=size, unpark_threshold=size)


def test_names_twice_and_unknown_withdrawals_are_refused() -> None:
    """Repeated names and unknown withdrawals raise ValueError."""
    with pytest.raises(ValueError, match="A is listed twice"):
        Bubble(SMALL).start((Entrant("A"), Entrant("A")))
    with pytest.raises(ValueError, match="X"):
        Bubble(SMALL, due=[PlannedWithdrawal("X", 1)]).start(field(2))
    with pytest.raises(ValueError, match="E1 is listed twice"):
        Bubble(SMALL, due=[PlannedWithdrawal("E1", 1), PlannedWithdrawal("E1", 2)]).start(field(2))


def test_an_edition_in_the_right_order_keeps_the_order() -> None:
    """If the stronger engine always wins, the ranking does not change."""
    bubble = Bubble(SMALL)
    state = played(bubble, bubble.start(field(8)))
    lines = bubble.standings(state)
    assert [(line.rank, line.name, line.status) for line in lines] == [(n + 1, f"E{n}", "final") for n in range(8)]
    assert sum(line.half_points for line in lines) == 2 * state.finished
    assert sum(line.games for line in lines) == 2 * state.finished
    assert (bubble.remaining(state), bubble.likely(state)) == ((0, 0), 0)


def test_interim_ranking_from_new_to_waiting() -> None:
    """The interim ranking lists waiting, parked, active and final engines."""
    bubble = Bubble(BubbleOptions(size=3, min_matches=4, unpark_threshold=1))
    state = played(bubble, bubble.start(field(8)), 3 + 2 + 2 + 1)
    lines = bubble.standings(state)
    statuses = [line.status for line in lines]
    assert statuses == sorted(statuses, key=["waiting", "parked", "active", "final"].index)
    assert by_status(lines, "parked") == list(reversed(state.parked))
    assert by_status(lines, "final") == ["E7"]
    assert [line.rank for line in lines] == list(range(1, 9))


def test_members_without_a_game_count_one_half() -> None:
    """A member without a game ranks between winners and losers."""
    bubble = Bubble(SMALL)
    state = bubble.start(field(3))
    assert [line.name for line in bubble.standings(state)] == ["E0", "E1", "E2"]
    first = bubble.offers(state)[0]  # E2 (lowest) meets E1, the dummy sits with E2 or E0
    idle = next(iter({"E0", "E1", "E2"} - set(first.pair)))
    state = bubble.step(state, GameFinished(first, Outcome.WHITE))
    assert [line.name for line in bubble.standings(state)] == [first.white, idle, first.black]


def test_a_void_game_changes_nothing() -> None:
    """A void game stays on offer."""
    bubble = Bubble(SMALL)
    state = bubble.start(field(5))
    assert bubble.step(state, GameFinished(bubble.offers(state)[1], Outcome.VOID)) == state


def test_voided_before_the_decision_is_played_again() -> None:
    """A game voided before the decision is offered again, and its new result counts."""
    bubble = Bubble(BubbleOptions(size=3, min_matches=3, unpark_threshold=1, games_per_pairing=2))
    start = played(bubble, bubble.start(field(5)), 1)
    game = bubble.offers(start)[0]
    state = bubble.step(start, GameFinished(game, Outcome.BLACK))
    state = bubble.step(state, GameVoided(game, Outcome.BLACK, "power cut"))
    assert bubble.offers(state) == bubble.offers(start)
    assert bubble.remaining(state) == bubble.remaining(start)
    assert bubble.standings(state) == bubble.standings(start)
    assert bubble.standings(played(bubble, state)) == bubble.standings(played(bubble, start))


def test_voided_after_the_decision_stands() -> None:
    """A game voided after the decision does not change it and cannot be voided twice."""
    bubble = Bubble(SMALL)
    state = bubble.start(field(5))
    game = bubble.offers(state)[0]
    state = played(bubble, state, 3)
    after = bubble.step(state, GameVoided(game, Outcome.BLACK))
    assert (bubble.offers(after), bubble.notes(after)) == (bubble.offers(state), bubble.notes(state))
    assert bubble.standings(after) == bubble.standings(state)
    with pytest.raises(ValueError, match="not a finished game"):
        bubble.step(after, GameVoided(game, Outcome.BLACK))


def test_a_member_withdraws_and_is_replaced_at_once() -> None:
    """A withdrawn member is replaced in the same round robin, and its game in progress does not count."""
    bubble = Bubble(SMALL)
    state = played(bubble, bubble.start(field(6)), 1)
    flying = next(game for game in bubble.offers(state) if "E4" in game.pair)
    left = bubble.step(state, Withdrawn("E4"))
    assert left.section == ("E5", "E3", "E2")
    assert all("E4" not in game.pair for game in bubble.offers(left))
    late = bubble.step(left, GameFinished(flying, Outcome.WHITE))
    assert (bubble.offers(late), bubble.standings(late)) == (bubble.offers(left), bubble.standings(left))
    assert bubble.standings(left)[-1].status == "withdrawn" and bubble.standings(left)[-1].rank is None
    with pytest.raises(ValueError, match="already withdrawn"):
        bubble.step(left, Withdrawn("E4"))
    with pytest.raises(ValueError, match="not in this tournament"):
        bubble.step(left, Withdrawn("Z"))


def test_colors_come_back_with_unplayed_games() -> None:
    """Canceled games do not count for the color balance."""
    bubble = Bubble(SMALL)
    state = played(bubble, bubble.start(field(6)), 1)
    state = bubble.step(state, Withdrawn("E4"))
    games = state.schedule.games
    for name in state.section:
        whites = sum(game.white == name for game in games) - sum(game.black == name for game in games)
        assert state.balance.get(name, 0) == whites


def test_ranked_waiting_and_parked_engines_withdraw() -> None:
    """A ranked engine keeps its place; others leave list and parking."""
    bubble = Bubble(BubbleOptions(size=3, min_matches=4, unpark_threshold=1))
    state = played(bubble, bubble.start(field(8)), 7)
    parked, ranked = state.parked[0], state.new[0]
    for name in (parked, ranked, "E0"):
        state = bubble.step(state, Withdrawn(name))
    was = {
        dict(note.fields)["engine"]: dict(note.fields)["was"] for note in bubble.notes(state) if note.kind == "withdraw"
    }
    assert was == {parked: "parked", ranked: "ranked", "E0": "listed"}
    lines = bubble.standings(played(bubble, state))
    assert by_status(lines, "withdrawn") == [parked, "E0"]
    assert lines[5].name == ranked and lines[5].status == "final"


def test_everybody_withdraws() -> None:
    """If all withdraw at once there is no champion; otherwise the last one left is."""
    at_once = Bubble(SMALL, due=[PlannedWithdrawal(entrant.name, 1) for entrant in field(4)])
    state = played(at_once, at_once.start(field(4)))
    assert (state.finished, told(at_once, state)[-1]) == (1, ("finish", None))
    bubble = Bubble(SMALL)
    state = bubble.start(field(4))
    for entrant in field(4):
        state = bubble.step(state, Withdrawn(entrant.name))
    assert bubble.offers(state) == ()
    assert told(bubble, state)[-2:] == [("finish", "E3"), ("withdraw", "E3")]


def test_an_added_engine_enters_next() -> None:
    """An added engine enters next; after the end it is an error."""
    bubble = Bubble(SMALL)
    state = bubble.step(bubble.start(field(6)), Added(Entrant("late")))
    assert state.old[0] == "late"
    state = played(bubble, state, 3)
    assert "late" in state.section
    short = bubble.step(bubble.start(field(2)), Added(Entrant("late")))
    assert short.section == ("late", "E1", "E0")
    assert len(bubble.offers(short)) == 3
    with pytest.raises(ValueError, match="already"):
        bubble.step(short, Added(Entrant("E0")))
    with pytest.raises(ValueError, match="ended"):
        bubble.step(played(bubble, short), Added(Entrant("later")))


def test_replaced_while_waiting_keeps_the_place() -> None:
    """A replacement takes the place of a waiting engine."""
    bubble = Bubble(SMALL)
    state = bubble.step(bubble.start(field(6)), Replaced("E1", Entrant("F1")))
    assert state.old == ("E2", "F1", "E0")
    assert state.withdrawn == ("E1",)


def test_replaced_in_the_section_comes_in_for_itself() -> None:
    """A replacement of a member is the next to enter."""
    bubble = Bubble(SMALL)
    state = played(bubble, bubble.start(field(6)), 1)
    state = bubble.step(state, Replaced("E4", Entrant("F4")))
    assert state.section == ("E5", "F4", "E3")
    with pytest.raises(ValueError, match="not in this tournament"):
        bubble.step(state, Replaced("Z", Entrant("Y")))
    ranked = sorted(line.name for line in bubble.standings(played(bubble, state)) if line.rank)
    assert ranked == ["E0", "E1", "E2", "E3", "E5", "F4"]


def test_results_of_games_never_offered_are_refused() -> None:
    """Unknown games, repeated results and reversed colors are errors."""
    bubble = Bubble(SMALL)
    state = bubble.start(field(6))
    game = bubble.offers(state)[0]
    for wrong in (Pairing("E0", "E1"), Pairing(game.black, game.white)):
        with pytest.raises(ValueError):
            bubble.step(state, GameFinished(wrong, Outcome.DRAW))
    with pytest.raises(ValueError, match="already finished"):
        replay(bubble, field(6), [GameFinished(game, Outcome.DRAW)] * 2)


def test_planned_withdrawals_come_before_the_decision() -> None:
    """A planned withdrawal happens before the decision, and its replacement plays first."""
    planned = Bubble(SMALL, due=[PlannedWithdrawal("E5", 3)])
    state = played(planned, planned.start(field(6)), 3)
    assert state.number == 1 and state.section == ("E4", "E3", "E2")
    assert [note.kind for note in planned.notes(state)] == ["enter", "withdraw"]


def test_encounters_are_numbered_in_the_order_of_scheduling() -> None:
    """Each opening of a match has its own number, shared by both games."""
    bubble = Bubble(BubbleOptions(size=4, min_matches=5, unpark_threshold=2, games_per_pairing=4))
    state, seen = bubble.start(field(7)), []
    while games := bubble.offers(state):
        seen.append((games[0].encounter, games[0].leg))
        state = bubble.step(state, GameFinished(games[0], Outcome.DRAW))
    assert seen == [(number, leg) for number in range(1, len(seen) // 2 + 1) for leg in (1, 2)]


def test_every_decision_says_why() -> None:
    """Each note has a sentence with the reason and all fields of the trace."""
    bubble = Bubble(BubbleOptions(size=4, min_matches=5, unpark_threshold=2))
    state = played(bubble, bubble.start(field(8)))
    texts = {note.kind: note.text for note in bubble.notes(state)}
    assert set(texts) == {"enter", "unpark", "park", "drop", "finish"}
    assert "can drop out only after 5" in texts["park"]
    assert " (last) drops out" in texts["drop"]
    assert texts["finish"].startswith("E0 wins the edition")
    keys = {"step", "active", "table", "games", "games_total", "parked", "action", "engine", "reason"}
    for note in bubble.notes(state):
        assert note.kind not in ("park", "drop", "finish") or keys <= dict(note.fields).keys()


def test_the_forecast_lies_within_the_bounds() -> None:
    """The forecast of a default edition of 100 is about half more than the fewest games."""
    bubble = Bubble(BubbleOptions())
    state = bubble.start(field(100))
    fewest, most = bubble.remaining(state)
    assert (fewest, most) == (45 + 90 * 9, 4950)
    assert bubble.likely(state) == round(45 + 810 * (1 + 40.5 / 90))


BEFORE = """1-4 2 1-0, 0-5 1 =, 3-5 5 =, 4-0 4 1-0, 2-4 8 0-1, 2-3 3 1-0, 5-1 9 0-1, 1-2 6 =, 0-3 7 1-0, 0-2 10 1-0,
3-1 11 1-0, 1-0 13 0-1"""
AFTER = "5-2 14 1-0, 4-5 12 0-1, 3-4 15 1-0"
OUTCOMES = {"1-0": Outcome.WHITE, "0-1": Outcome.BLACK, "=": Outcome.DRAW}


def early_told(words: str) -> GameFinished:
    """Return pair, encounter and outcome of an early game."""
    pair, number, outcome = words.split()
    white, black = (f"E{name}" for name in pair.split("-"))
    return GameFinished(Pairing(white, black, encounter=int(number)), OUTCOMES[outcome])


def test_one_promise_of_a_pair_is_enough() -> None:
    """A game that began early is accepted after a new entrant or a void game; no others begin early."""
    bubble = Bubble(BubbleOptions(size=6, min_matches=6, unpark_threshold=2))
    state = bubble.start(field(11)[::-1])
    for words in BEFORE.split(","):
        state = bubble.step(state, early_told(words.strip()))
    begun = Pairing("E5", "E6", encounter=20, round=2)
    assert begun in bubble.ahead(state)
    first = early_told(BEFORE.split(",")[0])
    for event in (Added(Entrant("N1")), GameVoided(first.pairing, first.outcome), first):
        state = bubble.step(state, event)
        assert bubble.ahead(state) == ()
    for words in AFTER.split(","):
        state = bubble.step(state, early_told(words.strip()))
    state = bubble.step(state, GameFinished(begun, Outcome.WHITE))
    assert state.early.results[begun.key] is Outcome.WHITE
