"""The Dutch system against its plain reading, and against all rounds there are."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enginetour.dutch import BREACH, CERTIFIED, pair_dutch
from enginetour.dutch.preparation import cards
from enginetour.field import Field, Paired, Unpairable
from tests.laws.dutch_oracle import Illegal, oracle
from tests.roundplay import after, entered

SEEDS = st.integers(0, 10**9)


def course(seed: int, most: int, rounds: int) -> Iterator[tuple[Field, int, Paired]]:
    """A tournament's fields, how many rounds are accelerated, and what was paired."""
    dice = random.Random(seed)
    field = entered(dice.randint(2, most), dice.randint(1, rounds))
    trouble, accelerated = dice.choice([0, 0, 0.05, 0.2]), dice.choice([0, 0, (field.rounds + 1) // 2])
    for _ in range(field.rounds):
        if len(field.present) > 1:
            paired = pair_dutch(field, accelerated=accelerated)
            yield field, accelerated, paired
            field = after(field, paired, dice, trouble)


def agree(seed: int, most: int, rounds: int) -> None:
    """Pairs and byes of all rounds are the oracle's, or both find no legal one."""
    for field, accelerated, paired in course(seed, most, rounds):
        try:
            pairs, byes = oracle(field, accelerated)
        except Illegal:
            assert paired.guarantee.startswith(BREACH) and paired.remarks
            with pytest.raises(Unpairable, match="no legal round"):
                pair_dutch(field, accelerated=accelerated, strict=True)
        else:
            assert ({frozenset(board.pair) for board in paired.boards}, paired.byes) == (pairs, byes)
            assert (paired.guarantee, paired.remarks) == (CERTIFIED, ())


@settings(max_examples=60, deadline=None)
@given(SEEDS)
def test_small_fields_as_the_plain_reading(seed: int) -> None:
    """Up to fourteen entrants, absences, forfeits and Baku included."""
    agree(seed, 14, 7)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_deep_tournaments_as_the_plain_reading(seed: int) -> None:
    """As many rounds as a small field has and more: hardly a legal pair is left, or none."""
    agree(seed, 8, 10)


def cost(field: Field, pairs: list[tuple[int, int]], byes: tuple[int, ...]) -> list[int]:
    """Rematches, those of each round from the latest, second byes, clashes of colour."""
    known = {card.place: card for card in cards(field)}
    again = [field.meetings[i][j] for i, j in pairs if field.met(i, j)]
    clashes = sum(known[i].colours.clashes(known[j].colours) and not (known[i].top or known[j].top) for i, j in pairs)
    latest = [again.count(number) for number in range(len(field.history), 0, -1)]
    return [len(again), *latest, sum(known[i].barred for i in byes), clashes]


def every_round(there: list[int]) -> Iterator[tuple[list[tuple[int, int]], tuple[int, ...]]]:
    """All ways to pair them, one being left out if they are odd."""
    if not there:
        yield [], ()
    elif len(there) % 2:
        for rest in there:
            for pairs, _ in every_round([member for member in there if member != rest]):
                yield pairs, (rest,)
    else:
        first = there[0]
        for other in there[1:]:
            for pairs, byes in every_round([member for member in there[1:] if member != other]):
                yield [(first, other), *pairs], byes


@settings(max_examples=15, deadline=None)
@given(SEEDS)
def test_the_law_is_broken_as_little_as_can_be(seed: int) -> None:
    """No round of all there are has fewer or older rematches, then fewer second byes, then fewer clashes."""
    for field, accelerated, paired in course(seed, 6, 8):
        if not accelerated and len(field.history) > 2:
            mine = cost(field, [board.pair for board in paired.boards], paired.byes)
            best = min(cost(field, *way) for way in every_round(list(field.present)))
            assert mine == best
            assert any(best) == paired.guarantee.startswith(BREACH)
