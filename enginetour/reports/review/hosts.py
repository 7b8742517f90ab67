"""Whether games ended alike on all machines: Pearson's chi-square of machines by results."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, exp, gamma, sqrt

from enginetour.model.game import Outcome
from enginetour.store.games import Conditions

FEWEST = 5.0  # expected games in each cell; below, chi-square says too much (W. G. Cochran, Biometrics 10, 1954)
ODD = 0.01  # chance below which it is told as a warning (our decision)
RESULTS = (Outcome.WHITE, Outcome.DRAW, Outcome.BLACK)


@dataclass(frozen=True, slots=True)
class Hosts:
    """Games that count, by machine. `chi_square`, `chance` are None where there are too few games to tell.

    `chance` is that of results at least as uneven from machines that are alike. Engines meet others on other machines:
    a small one asks for a look, and proves nothing.
    """

    games: tuple[tuple[str, int], ...]
    chi_square: float | None = None
    freedom: int = 0
    chance: float | None = None

    @property
    def words(self) -> str:
        """One line; "" for one machine."""
        if len(self.games) < 2:
            return ""
        told = ", ".join(f"{count} on {machine}" for machine, count in self.games)
        if self.chi_square is None or self.chance is None:
            return f"games by machine: {told}; too few to compare their results"
        test = f"chi-square {self.chi_square:.1f} with {self.freedom} degrees of freedom, p = {self.chance:.3f}"
        return f"games by machine: {told}; their results: {test}"


def machine_of(hardware: str) -> str:
    """Processor and host, without the speed, which is measured anew at each start."""
    return hardware.partition(", speed")[0] + (")" if ", speed" in hardware else "")


def by_machine(games: Sequence[Conditions]) -> dict[str, list[Conditions]]:
    """In the order of their names."""
    found: dict[str, list[Conditions]] = defaultdict(list)
    for game in games:
        found[machine_of(game.hardware)].append(game)
    return dict(sorted(found.items()))


def hosts_of(games: Sequence[Conditions]) -> Hosts:
    """Games at odds left out by the caller."""
    cells = {machine: Counter(game.outcome for game in played) for machine, played in by_machine(games).items()}
    rows = tuple((machine, counts.total()) for machine, counts in cells.items())
    totals = [sum(counts[result] for counts in cells.values()) for result in RESULTS]
    seen = [(result, total) for result, total in zip(RESULTS, totals, strict=True) if total]
    whole = len(games)
    expected = {(machine, result): count * total / whole for machine, count in rows for result, total in seen}
    freedom = (len(rows) - 1) * (len(seen) - 1)
    if min(len(rows), len(seen)) < 2 or min(expected.values()) < FEWEST:
        return Hosts(rows)
    square = sum((cells[machine][result] - wish) ** 2 / wish for (machine, result), wish in expected.items())
    return Hosts(rows, square, freedom, beyond(square, freedom))


def beyond(square: float, freedom: int) -> float:
    """The chance of a chi-square above `square`: the upper incomplete gamma function, a finite sum for whole halves.

    Source: Abramowitz and Stegun 26.4.4 and 26.4.5.
    """
    half, x = freedom / 2, square / 2
    order, total = (0.5, erfc(sqrt(x))) if freedom % 2 else (1.0, exp(-x))
    while order < half:
        total += x**order * exp(-x) / gamma(order + 1)
        order += 1
    return min(1.0, total)
