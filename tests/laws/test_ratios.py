"""Compare the log likelihood ratio with an independent computation with 60 digits and bisection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext

import pytest

from enginetour.ratings.sequential import Model, Sprt

DIGITS = 60
EMPTY = Decimal("0.001")
HALF = Decimal("0.5")


def root(function: Callable[[Decimal], Decimal], low: Decimal, high: Decimal) -> Decimal:
    """Return the zero of a decreasing function in an open interval, by bisection."""
    for _ in range(DIGITS * 7 // 2):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) > 0 else (low, middle)
    return (low + high) / 2


def tilt(seen: Sequence[Decimal], values: Sequence[Decimal]) -> list[Decimal]:
    """Return seen_i/(1 + theta value_i), with the theta for which the values have the average zero."""

    def mean(theta: Decimal) -> Decimal:
        return sum((s * v / (1 + theta * v) for s, v in zip(seen, values, strict=True)), Decimal(0))

    theta = root(mean, -1 / max(values), -1 / min(values))
    return [s / (1 + theta * v) for s, v in zip(seen, values, strict=True)]


def score(elo: Decimal) -> Decimal:
    return 1 / (1 + Decimal(10) ** (-elo / 400))


def hypothesis(seen: Sequence[Decimal], elo: Decimal, model: Model) -> list[Decimal]:
    places = [Decimal(i) / (len(seen) - 1) for i in range(len(seen))]
    if model == "normalized":
        target = elo * Decimal(10).ln() / 800 * (Decimal(2).sqrt() if len(seen) == 5 else 1)
        found = [Decimal(1) / len(seen)] * len(seen)
        for _ in range(400):
            mu = sum((p * a for p, a in zip(found, places, strict=True)), Decimal(0))
            sd = sum((p * (a - mu) ** 2 for p, a in zip(found, places, strict=True)), Decimal(0)).sqrt()
            before = found
            found = tilt(seen, [a - HALF - target * sd * (1 + ((a - mu) / sd) ** 2) / 2 for a in places])
            if max(abs(p - q) for p, q in zip(found, before, strict=True)) < Decimal(10) ** -25:
                return found
        raise AssertionError("not stable")
    if model == "logistic":
        return tilt(seen, [a - score(elo) for a in places])
    loss, _, win = seen
    draw_elo = 200 * ((1 - loss) / loss * (1 - win) / win).log10()
    won, lost = score(elo - draw_elo), score(-elo - draw_elo)
    return tilt(seen, [a - (won + (1 - won - lost) / 2) for a in places])


def exact(counts: Sequence[int], elo0: float, elo1: float, model: Model) -> float:
    with localcontext() as context:
        context.prec = DIGITS
        regular = [Decimal(count) if count else EMPTY for count in counts]
        number = sum(regular, Decimal(0))
        seen = [count / number for count in regular]
        zero, one = (hypothesis(seen, Decimal(elo), model) for elo in (elo0, elo1))
        return float(sum((c * (q / p).ln() for c, p, q in zip(regular, zero, one, strict=True)), Decimal(0)))


COUNTS = (
    (900, 2100, 1000),
    (0, 0, 4250),
    (4250, 0, 0),
    (0, 300, 0),
    (1, 0, 0),
    (0, 1, 0),
    (0, 0, 1),
    (1, 0, 1),
    (3, 1, 0),
    (1, 1_000_000, 2),
    (3_000_000, 9_000_000, 3_010_000),
    (30, 440, 1100, 500, 30),
    (0, 0, 0, 0, 2125),
    (0, 0, 700, 0, 0),
    (1, 0, 0, 0, 0),
    (0, 0, 0, 1, 0),
    (5, 0, 0, 0, 6),
    (0, 1, 1_000_000, 2, 0),
    (90_000, 1_200_000, 3_300_000, 1_210_000, 91_000),
)
BOUNDS = ((0, 5), (-3, 1), (0, 10), (40, 90))


@pytest.mark.parametrize("counts", COUNTS, ids=lambda counts: "-".join(map(str, counts)))
@pytest.mark.parametrize("model", ["logistic", "normalized", "bayesian"])
def test_the_ratio_to_seven_digits(counts: tuple[int, ...], model: Model) -> None:
    """The ratio is right to 1e-7 (relative 1e-11) for all models, games and pairs, and tiny and huge counts."""
    if len(counts) == 5 and model == "bayesian":
        with pytest.raises(ValueError, match="but not pairs"):
            Sprt(0, 5, model).llr(counts)
        return
    for elo0, elo1 in BOUNDS:
        assert Sprt(elo0, elo1, model).llr(counts) == pytest.approx(
            exact(counts, elo0, elo1, model), abs=1e-7, rel=1e-11
        )


def test_the_example_that_breaks_closed_forms() -> None:
    """4250 wins of 4250 with 0 against 10 nElo give 120.5 in both computations."""
    assert exact((0, 0, 4250), 0, 10, "normalized") == pytest.approx(120.5, abs=0.05)
