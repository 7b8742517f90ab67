"""What pools without a common game share: White's advantage and the draw parameter, most likely over all their games.

Each pool is then fitted with what the others say of both, so errors know how sure the shared numbers are.
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np

from enginetour.ratings.climb import (
    DRAWISH,
    MOST_STEPS,
    RUNAWAY,
    STEP_DONE,
    Elsewhere,
    Undetermined,
    followed,
    told_apart,
)
from enginetour.ratings.likelihood import Fit
from enginetour.ratings.pairs import Vector
from enginetour.ratings.sandwich import middle_of


class Refit(Protocol):
    """Fits one of several pools, by its number, with this advantage and draw parameter."""

    def __call__(
        self,
        pool: int,
        advantage: float | Literal["fit"],
        draw: float | Literal["fit"],
        *,
        start: Fit | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> Fit:
        """As `fit`."""


def joint(refit: Refit, pools: int, advantage: float | Literal["fit"], draw: float | Literal["fit"]) -> list[Fit]:
    """Pools without a common game, with the White advantage and the draw parameter most likely over all their games.

    By Newton's method in those two, the ratings of each pool following them. Undetermined as for `fit`.
    """
    given = 0.0 if advantage == "fit" else advantage
    found = [refit(pool, given, draw) for pool in range(pools)]
    lead = next((each for each in found if each.draw_fitted and not each.problem.imagined), found[0])
    model, unit, drawn = lead.problem.model, lead.unit, lead.draw or draw  # without any draw there is none to share
    extra = np.array([0] * (advantage == "fit") + [1] * (lead.draw_fitted and not lead.problem.imagined), dtype=np.intp)
    at, place = np.array([given / unit, lead.at[-1]]), np.ix_(extra, extra)
    for _ in range(MOST_STEPS):
        found = [refit(pool, float(at[0]) * unit, drawn, start=each) for pool, each in enumerate(found)]
        slopes, bends, own = np.zeros((pools, 2)), np.zeros((pools, 2, 2)), np.zeros(len(extra))
        ways = list[Vector]()
        for pool, each in enumerate(found):
            gradient, bent = each.problem.slopes(each.at)
            slopes[pool][extra] = gradient[-2:][extra]
            way, bends[pool][place], alone = followed(each.problem, bent, extra + len(each.names))
            own += alone
            ways.append(way)
        slope, bend = slopes.sum(axis=0), bends.sum(axis=0)
        if not told_apart(bend[place], own):
            raise Undetermined(
                "White's advantage does not show apart from the strengths", step="give the advantage as a number"
            )
        step = np.linalg.solve(bend[place], slope[extra])
        moved = float(np.abs(step).max(initial=0.0))
        if moved < STEP_DONE:
            break
        at[extra] += step / max(1.0, moved)
        if model.draws and 1 in extra:
            at[1] = at[1] if model.told(float(at[1]), unit) > 0 else lead.at[-1] / 2
            drawn = model.told(float(at[1]), unit)
        if abs(at[0]) > RUNAWAY or (1 in extra and at[1] > DRAWISH):
            raise Undetermined("these games put no bound on White's advantage", step="give the advantage as a number")
    spreads = bends.copy()
    for pool, (each, way) in enumerate(zip(found, ways, strict=True)):
        middle = middle_of(each)
        if middle is not None and len(extra):  # of the logistic model, which has no draw parameter
            spreads[pool][0, 0] = middle.square(way[0])
    spread = spreads.sum(axis=0)
    shared = [
        Elsewhere(at.copy(), slope - slopes[pool], bend - bends[pool], spread - spreads[pool]) for pool in range(pools)
    ]
    last: float | Literal["fit"] = "fit" if 1 in extra else drawn
    return [
        refit(pool, advantage, last, start=each, elsewhere=shared[pool] if len(extra) else None)
        for pool, each in enumerate(found)
    ]
