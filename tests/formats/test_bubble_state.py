"""Tests of formats/bubble_state: games that start before the next round robin."""

from __future__ import annotations

from dataclasses import replace

import pytest

from enginetour.formats.bubble import Bubble
from enginetour.formats.bubble_state import BubbleOptions, BubbleState, PlannedWithdrawal
from enginetour.model.game import Entrant, GameFinished, GameVoided, Outcome, Pairing, Withdrawn

OPTIONS = BubbleOptions(size=6, min_matches=7, unpark_threshold=2, games_per_pairing=2)
FIELD = tuple(Entrant(f"E{number}") for number in range(10))  # best first: E9 to E4 are the first section


def nearly_over(bubble: Bubble, left: int, field: tuple[Entrant, ...] = FIELD) -> BubbleState:
    """Play the first round robin except for the last `left` games; the higher entrant wins."""
    state = bubble.start(field)
    while state.number == 1 and state.schedule.left > left:
        game = bubble.offers(state)[0]
        state = bubble.step(state, GameFinished(game, Outcome.WHITE if game.white < game.black else Outcome.BLACK))
    return state


def names(games: tuple[Pairing, ...]) -> list[tuple[str, str, int]]:
    return [(game.white, game.black, game.leg) for game in games]


def test_at_most_four_matches_and_a_hundred_cases_are_looked_at() -> None:
    """Early games need at most four open matches and a hundred cases."""
    bubble = Bubble(OPTIONS)
    assert bubble.ahead(nearly_over(bubble, 6)) == ()
    certain = bubble.ahead(nearly_over(bubble, 4))
    assert certain and all("E3" in game.pair and game.round == 2 for game in certain)
    assert set(certain) <= set(bubble.ahead(nearly_over(bubble, 1)))


def test_the_last_round_robin_and_planned_withdrawals_have_no_lookahead() -> None:
    """The last round robin and planned withdrawals allow no early games."""
    bubble = Bubble(OPTIONS)
    assert bubble.ahead(nearly_over(bubble, 1, FIELD[:6])) == ()
    planned = Bubble(OPTIONS, due=[PlannedWithdrawal("E0", 40)])
    assert planned.ahead(nearly_over(planned, 1)) == ()


def test_an_early_result_is_held_back() -> None:
    """An early result counts only when its round robin begins."""
    bubble = Bubble(OPTIONS)
    before = nearly_over(bubble, 1)
    early = bubble.ahead(before)[0]
    state = bubble.step(before, GameFinished(early, Outcome.DRAW))
    assert (bubble.standings(state), state.finished, state.met) == (bubble.standings(before), 28 + 1, before.met)
    assert early not in bubble.ahead(state)
    fewest, most = bubble.remaining(before)
    assert bubble.remaining(state) == (fewest - 1, most - 1)
    with pytest.raises(ValueError, match="already finished"):
        bubble.step(state, GameFinished(early, Outcome.DRAW))
    (last,) = bubble.offers(state)
    state = bubble.step(state, GameFinished(last, Outcome.DRAW))
    assert (state.number, state.finished) == (2, 31)
    assert early not in bubble.offers(state)
    assert state.schedule.played[early.key] is Outcome.DRAW


def test_what_is_not_certain_is_refused() -> None:
    """Other pairs, colors or numbers than the certain games are errors."""
    bubble = Bubble(OPTIONS)
    state = nearly_over(bubble, 1)
    early = bubble.ahead(state)[0]
    for wrong in (
        Pairing("E3", "E2"),
        replace(early, white=early.black, black=early.white),
        replace(early, encounter=early.encounter + 1),
    ):
        with pytest.raises(ValueError, match="was not scheduled"):
            bubble.step(state, GameFinished(wrong, Outcome.DRAW))
    assert bubble.step(state, GameFinished(early, Outcome.VOID)) == state


def test_an_early_game_that_is_void_is_offered_again() -> None:
    """A void early game is offered again."""
    bubble = Bubble(OPTIONS)
    before = nearly_over(bubble, 1)
    early = bubble.ahead(before)[0]
    state = bubble.step(before, GameFinished(early, Outcome.WHITE))
    state = bubble.step(state, GameVoided(early, Outcome.WHITE, "power cut"))
    assert early in bubble.ahead(state)


def test_a_game_in_the_air_is_taken_after_a_withdrawal() -> None:
    """An early game in progress counts if a withdrawal makes its pair due at once."""
    bubble = Bubble(OPTIONS)
    state = nearly_over(bubble, 1)
    early = next(game for game in bubble.ahead(state) if game.leg == 1)
    member = next(name for name in early.pair if name != "E3")
    leaver = next(name for name in state.section if name not in (member, *bubble.offers(state)[0].pair))
    state = bubble.step(state, Withdrawn(leaver))
    assert state.section[-1] == "E3"
    due = next(game for game in bubble.offers(state) if game.key == early.key)
    assert (due.round, early.round) == (1, 2)
    state = bubble.step(state, GameFinished(early, Outcome.DRAW))
    (other,) = (game for game in bubble.offers(state) if game.pair == early.pair)
    assert (other.encounter, other.round, other.leg) == (early.encounter, 2, 2)


def test_games_of_who_withdraws_count_for_nothing() -> None:
    """Early games of a withdrawn engine are accepted but do not count."""
    bubble = Bubble(OPTIONS)
    before = nearly_over(bubble, 1)
    first, second = bubble.ahead(before)[:2]
    state = bubble.step(before, GameFinished(first, Outcome.WHITE))
    state = bubble.step(state, Withdrawn("E3"))
    late = bubble.step(state, GameFinished(second, Outcome.WHITE))
    assert bubble.standings(late) == bubble.standings(state)
    assert not any("E3" in game.pair for game in (*bubble.offers(late), *bubble.ahead(late)))
    voided = bubble.step(late, GameVoided(first, Outcome.WHITE))
    assert bubble.standings(voided) == bubble.standings(late)
