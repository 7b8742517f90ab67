"""Tests of formats/elimination, both forms."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from enginetour.formats.elimination import DoubleElimination, DoubleEliminationOptions
from enginetour.formats.rounds import Rounds, RoundsState
from enginetour.model.game import GameFinished, Outcome
from enginetour.reports import standings
from enginetour.reports.sheet import render
from tests.support.databases import letters, pairs, played_out, told

FORMS = pytest.mark.parametrize("bracket", ["score", "fixed"])


def elimination(**settings: Any) -> Rounds:
    return Rounds(DoubleElimination(DoubleEliminationOptions(**{"games_per_pairing": 1, **settings})))


def play(format_: Rounds, state: RoundsState, upsets: str = "") -> RoundsState:
    """Play one round; entrants in `upsets` win, otherwise the first letter."""
    for game in format_.offers(state):
        won = min(game.pair, key=lambda name: (name not in upsets, name))
        outcome = Outcome.WHITE if won == game.white else Outcome.BLACK
        state = format_.step(state, GameFinished(game, outcome))
    return state


@FORMS
def test_four_with_a_reset(bracket: str) -> None:
    """The unbeaten entrant that loses the final plays a second one, unless `reset` is off."""
    format_ = elimination(bracket=bracket)
    state = format_.start(letters(4))
    seen = []
    for upsets in ("", "", "", "B", ""):
        seen.append((pairs(format_, state), format_.remaining(state)[0]))
        state = play(format_, state, upsets)
    assert seen == [(["AD", "BC"], 6), (["AB", "CD"], 4), (["BC"], 2), (["AB"], 1), (["AB"], 1)]
    assert format_.offers(state) == ()
    assert told(format_, state) == {
        "A": "1 winner",
        "B": "2 lost the final",
        "C": "3 out in round 3",
        "D": "4 out in round 2",
    }
    short = elimination(bracket=bracket, reset=False)
    state = short.start(letters(4))
    for upsets in ("", "", "", "B"):
        state = play(short, state, upsets)
    assert short.offers(state) == () and told(short, state)["B"] == "1 winner"
    assert told(short, state)["A"] == "2 lost the final"


def test_words_while_it_runs() -> None:
    """Status and notes describe losses, rematches and results."""
    format_ = elimination()
    state = play(format_, format_.start(letters(4)))
    assert told(format_, state) == {"A": "1 unbeaten", "B": "1 unbeaten", "C": "3 one loss", "D": "3 one loss"}
    assert "unbeaten" in render(standings.standings_sheet("trial", format_.standings(state)), 80)
    assert format_.notes(state)[1].text == "round 2: B - A, D - C; A beat D 1-0; B beat C 1-0"
    state = play(format_, play(format_, state))
    assert "A and B meet again" in format_.notes(state)[-1].text


def test_odd_groups_exchange_a_pair() -> None:
    """With odd groups, the lowest unbeaten entrant meets the highest with a loss."""
    format_ = elimination()
    state = play(format_, format_.start(letters(6)))
    assert pairs(format_, state) == ["AB", "CE", "DF"]  # C has beaten D


def test_passes_go_round() -> None:
    """In an odd group the highest entrant with the fewest passes passes."""
    format_ = elimination()
    state = format_.start(letters(5))
    assert state.paired.byes == (0,)
    state = play(format_, state)
    assert len(state.paired.byes) == 1 and state.paired.byes != (0,)


@FORMS
@pytest.mark.parametrize("seed", range(25))
def test_two_losses_and_out(bracket: str, seed: int) -> None:
    """All entrants but the winner lose twice, within the announced rounds and games.

    No entrant plays after its second loss, and unbeaten entrants do not meet again.
    """
    dice = random.Random(seed)
    count = dice.randint(2, 13)
    reset = dice.random() < 0.5
    format_ = elimination(bracket=bracket, reset=reset, extra_pairs=0, seeding=dice.choice(["fold", "lottery"]))
    state = format_.start(letters(count))
    losses: Counter[str] = Counter()
    games = 0
    while offers := format_.offers(state):
        game = dice.choice(offers)
        assert losses[game.white] < 2 and losses[game.black] < 2
        white = dice.random() < 0.5
        losses[game.black if white else game.white] += 1
        games += 1
        state = format_.step(state, GameFinished(game, Outcome.WHITE if white else Outcome.BLACK))
    (winner,) = (line.name for line in format_.standings(state) if line.status == "winner")
    others = [losses[entrant.name] for entrant in letters(count) if entrant.name != winner]
    assert losses[winner] <= 1 and format_.standings(state)[0].name == winner
    assert sorted(others)[1:] == [2] * (count - 2) and (min(others) == 2 or not reset)
    assert games == sum(losses.values())
    assert state.field.number <= state.field.rounds


@pytest.mark.parametrize("seed", range(10))
def test_who_drops_comes_in_from_the_far_end(seed: int) -> None:
    """In the fixed form no pair meets twice in the first three rounds of eight."""
    dice = random.Random(seed)
    format_ = elimination(bracket="fixed")
    state = format_.start(letters(8))
    seen: Counter[str] = Counter()
    for _ in range(3):
        seen.update(pairs(format_, state))
        state = play(format_, state, "".join(dice.sample("ABCDEFGH", 4)))
    assert max(seen.values()) == 1


@FORMS
@pytest.mark.parametrize("seed", range(25))
def test_withdrawals_leave_a_winner(bracket: str, seed: int) -> None:
    """With any withdrawals the tournament ends with one winner, and the bounds hold."""
    dice = random.Random(seed)
    format_ = elimination(bracket=bracket, games_per_pairing=2, extra_pairs=0, sudden_death=dice.random() < 0.5)
    state = played_out(format_, letters(dice.randint(3, 12)), dice, staying=1)
    assert [line.status for line in format_.standings(state)].count("winner") == 1
