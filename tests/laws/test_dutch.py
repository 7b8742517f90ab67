"""Compare the Dutch system with a simple implementation and with all possible rounds."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from enginetour.formats.dutch import BREACH, LegalRounds, pair_brackets, pair_dutch
from enginetour.formats.pairing.dutch_criteria import Bye, Colors, Float, PlayerCard, player_cards, settle_bye
from enginetour.formats.pairing.field import BLACK, CERTIFIED, WHITE, Board, Field, Paired, Unpairable
from enginetour.formats.pairing.matching import Face
from tests.laws.dutch_oracle import Illegal, Round, oracle
from tests.support.databases import after, entered, unmet

SEEDS = st.integers(0, 10**9)


def course(seed: int, most: int, rounds: int) -> Iterator[tuple[Field, int, Paired]]:
    """Play a random tournament; return its fields, the accelerated rounds and the pairings."""
    dice = random.Random(seed)
    field = entered(dice.randint(2, most), dice.randint(1, rounds))
    trouble, draws = dice.choice([0, 0, 0.05, 0.2]), dice.choice([0.4, 0.9, 1])
    accelerated = dice.choice([0, 0, (field.rounds + 1) // 2])
    for _ in range(field.rounds):
        if len(field.present) > 1:
            paired = pair_dutch(field, accelerated=accelerated)
            yield field, accelerated, paired
            field = after(field, paired, dice, trouble, draws)


def agree(seed: int, most: int, rounds: int) -> None:
    """Check that all rounds are the oracle's, or that both find no legal round."""
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
    """Up to fourteen entrants, with absences, forfeits and Baku acceleration."""
    agree(seed, 14, 7)


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_deep_tournaments_as_the_plain_reading(seed: int) -> None:
    """Small fields with so many rounds that hardly any legal pair is left."""
    agree(seed, 8, 10)


def cost(field: Field, pairs: list[tuple[int, int]], byes: tuple[int, ...]) -> list[int]:
    """Return rematches by round from the latest, second byes, and color clashes of a round."""
    known = {card.place: card for card in player_cards(field)}
    again = [field.meetings[i][j] for i, j in pairs if field.met(i, j)]
    clashes = sum(known[i].colors.clashes(known[j].colors) and not (known[i].top or known[j].top) for i, j in pairs)
    latest = [again.count(number) for number in range(len(field.history), 0, -1)]
    return [len(again), *latest, sum(known[i].barred for i in byes), clashes]


def every_round(there: list[int]) -> Iterator[tuple[list[tuple[int, int]], tuple[int, ...]]]:
    """Yield all possible rounds, with a bye if the number is odd."""
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
    """No possible round has fewer or older rematches, then fewer second byes, then fewer clashes."""
    for field, accelerated, paired in course(seed, 6, 8):
        if not accelerated and len(field.history) > 2:
            mine = cost(field, [board.pair for board in paired.boards], paired.byes)
            best = min(cost(field, *way) for way in every_round(list(field.present)))
            assert mine == best
            assert any(best) == paired.guarantee.startswith(BREACH)


def any_cards(dice: random.Random) -> tuple[Field, list[PlayerCard]]:
    """Make random colors, floats, scores and opponents that no tournament needs to have."""
    count, scores = dice.randint(2, 11), dice.choice([1, 2, 3])
    colored, floated = dice.random() < 0.6, dice.random() < 0.6
    field = entered(count, 9)
    for _ in range(dice.randint(0, count - 2)):
        order = dice.sample(range(count), count - count % 2)
        pairs = [Board(*order[i : i + 2]) for i in range(0, len(order), 2)]
        field = after(field, Paired(tuple(pairs), tuple(set(range(count)) - set(order))), dice)
    drawn = [
        PlayerCard(
            place,
            2 * dice.randrange(scores),
            Colors.of([dice.choice([WHITE, BLACK]) for _ in range(dice.randint(0, 5) * colored)]),
            (dice.choice(list(Float)), dice.choice(list(Float))) if floated else (Float.NONE, Float.NONE),
            barred=dice.random() < 0.3,
            played=dice.randint(3, 5),
            top=dice.random() < 0.7,
        )
        for place in range(count)
    ]
    return field, sorted(drawn, key=lambda card: card.order)


def agree_on_cards(seed: int) -> None:
    """Check that a round is the oracle's, or that both find no legal round."""
    field, there = any_cards(random.Random(seed))
    face, legal = LegalRounds(field, there, forbid_family=False).face(strict=False)
    try:
        expected = Round(field, there).paired()
    except Illegal:
        assert not legal
    else:
        pairs, mates = pair_brackets(*placed_with(face, there))
        byes = (there[mates[-1]].place,) if len(there) % 2 else ()
        assert ({frozenset((there[i].place, there[j].place)) for i, j in pairs}, byes) == expected


def placed_with(face: Face, there: list[PlayerCard]) -> tuple[Face, list[PlayerCard], Bye | None]:
    """Return the input of the brackets."""
    narrowed, bye = settle_bye(face, there)
    return narrowed, there, bye


@settings(max_examples=40, deadline=None)
@given(SEEDS)
def test_exchanges_as_the_plain_reading(seed: int) -> None:
    """In a bracket with few legal pairs, exchanges between the halves are the oracle's."""
    dice = random.Random(seed)
    count = dice.choice([8, 10, 12])
    every = list(combinations(range(count), 2))
    field = unmet(count, dice.sample(every, dice.randint(count, 2 * count)))
    there = [PlayerCard(place, 0, Colors(), (Float.NONE, Float.NONE), False, 0, False) for place in range(count)]
    face, legal = LegalRounds(field, there, forbid_family=False).face(strict=False)
    if legal:
        pairs, _ = pair_brackets(*placed_with(face, there))
        assert {frozenset(pair) for pair in pairs} == Round(field, there).paired()[0]


@settings(max_examples=300, deadline=None)
@example(51)  # the bye is in the first bracket, and an entrant floats down from it
@example(147)  # the same in a later bracket
@given(SEEDS)
def test_any_cards_as_the_plain_reading(seed: int) -> None:
    """Every criterion and exchange is tested with random cards."""
    agree_on_cards(seed)
