"""Error rates of sequential tests and of their estimates, in thousands of simulated matches."""

from __future__ import annotations

import heapq
import random
from itertools import islice
from statistics import fmean, median

import pytest

from enginetour.formats.match import Match, MatchOptions
from enginetour.model.game import Entrant, GameFinished, Outcome, Pairing
from enginetour.ratings.pentanomial import elo_of, moments
from enginetour.ratings.sequential import Model, Sprt, Walk, estimate, sample_number, step
from tests.support.tournaments import SEED

pytestmark = [pytest.mark.night, pytest.mark.timeout(0)]

TESTS = 4000
ERROR = 0.05
NOISE = 3 * (ERROR * (1 - ERROR) / TESTS) ** 0.5
PAIRS = (0.05, 0.2, 0.5, 0.2, 0.05)  # for equal engines; pairs with the same opening vary less than two games
SLOTS = 16
Flying = tuple[float, int, int, Pairing]  # end, number, half points of the first engine, game
SECONDS = (5.0, 3.0, 2.0)  # length of a lost, drawn and won game; the order in which games end is then biased


def walked(test: Sprt, chances: list[float], dice: random.Random) -> Walk:
    walk = Walk((0,) * 5)
    while not walk.verdict:
        for outcome in dice.choices(range(5), chances, k=50):
            walk = step(test, walk, outcome)
            if walk.verdict:
                break
    return walk


@pytest.mark.parametrize(("model", "elo1"), [("logistic", 10.0), ("logistic", 40.0)])
def test_verdicts_are_wrong_as_often_as_was_asked(
    model: Model, elo1: float, capsys: pytest.CaptureFixture[str]
) -> None:
    """H1 with true elo0 and H0 with true elo1 occur in 5 % of tests, within three standard deviations.

    Half of the estimates are too high, and their intervals have a coverage of 95 %.
    """
    test, dice = Sprt(0, elo1, model), random.Random(SEED)
    tests = TESTS if elo1 >= 40 else TESTS // 4  # a test takes sixteen times as long
    noise = NOISE * (TESTS / tests) ** 0.5
    for truth, right in ((0.0, "H0"), (elo1, "H1")):
        chances = test.likeliest(PAIRS, truth)
        walks = [walked(test, chances, dice) for _ in range(tests)]
        wrong = sum(walk.verdict != right for walk in walks) / tests
        length = fmean(sum(walk.stopped) for walk in walks)
        elo = elo_of(moments(chances)[0])
        found = [estimate(test, walk) for walk in walks]
        values = [one.elo for one in found if one is not None and one.elo is not None]
        high = sum(value > elo for value in values) / tests
        held = sum(
            one is not None and (one.low is None or one.low <= elo) and (one.high is None or elo <= one.high)
            for one in found
        )
        plain = median(elo_of(moments([c / sum(walk.stopped) for c in walk.stopped])[0]) for walk in walks)
        with capsys.disabled():
            print(
                f"\n{model} 0 : {elo1:g}, truth {truth:g}: wrong {100 * wrong:.2f} %, {length:.0f} pairs (Wald "
                f"{sample_number(test, chances):.0f}), Elo {elo:.1f}: estimate median {median(values):.1f}, too high "
                f"{100 * high:.1f} %, held {100 * held / tests:.1f} %, plain median {plain:.1f}"
            )
        assert wrong <= ERROR + noise
        assert abs(high - 0.5) <= 3 * 0.5 / tests**0.5 + 0.02
        assert held / tests >= 0.95 - noise - 0.01


def test_many_slots_make_no_verdict_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    """With sixteen concurrent games, and lost games longer than won ones, H1 between equal engines stays at 5 %."""
    format_ = Match(MatchOptions.model_validate({"games": 4000, "sprt": {"elo0": 0.0, "elo1": 60.0}}))
    dice, tests, wrong, over = random.Random(SEED), TESTS // 4, 0, 0
    for _ in range(tests):
        state, now, flying = format_.start((Entrant("A"), Entrant("B"))), 0.0, list[Flying]()
        while not state.verdict:
            busy = {number for _, number, _, _ in flying}
            fresh = ((state.number(pairing), pairing) for pairing in format_.offers(state))
            for number, pairing in islice((one for one in fresh if one[0] not in busy), SLOTS - len(flying)):
                half_points = dice.choices(range(3), (0.25, 0.5, 0.25))[0]
                ends = now + SECONDS[half_points] * dice.uniform(0.7, 1.3)
                heapq.heappush(flying, (ends, number, half_points, pairing))
            now, _, half_points, pairing = heapq.heappop(flying)
            for_white = half_points if pairing.white == "A" else 2 - half_points
            state = format_.step(state, GameFinished(pairing, (Outcome.BLACK, Outcome.DRAW, Outcome.WHITE)[for_white]))
        wrong += state.verdict == "H1"
        over += len(state.outcomes) - state.looked * 2 + len(flying)
    with capsys.disabled():
        print(f"\n{SLOTS} slots: H1 between equals {100 * wrong / tests:.2f} %, {over / tests:.1f} games overrun")
    assert wrong / tests <= ERROR + NOISE * 2
