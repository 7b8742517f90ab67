"""What of the games is rated together, and what is believed of it before: whole pools, or the groups of a pool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from enginetour.ratings.bridges import connecting_points, points_told
from enginetour.ratings.connectivity import Parts, groups, unbeaten, winless
from enginetour.ratings.likelihood import ELO_SCALE, ModelName
from enginetour.ratings.loose import Loose, held
from enginetour.ratings.pairs import Pairs
from enginetour.ratings.priors import GaussianPrior, PhantomDraws, Prior, VirtualDraws

PRIOR_SD = 350.0  # Elo; Glickman 1999 starts a newcomer with it


@dataclass(frozen=True, slots=True)
class Terms:
    """What a whole list is made with."""

    model: ModelName
    anchors: Mapping[str, float]
    scale: float
    mean: float | None
    loose: Loose = field(default_factory=dict)

    @property
    def level(self) -> str:
        """Where the ratings lie when no prior says it, in words."""
        told = [f"{name} = {rating:g}" for name, rating in sorted(self.anchors.items())]
        told += [f"{name} = {each.told}" for name, each in sorted(self.loose.items())]
        return ", ".join(told) or f"pool average = {self.mean or 0:g}"


def units(
    pairs: Pairs,
    found: tuple[tuple[str, ...], ...],
    prior: Literal["auto", "none"] | Prior,
    terms: Terms,
    told: list[str],
) -> Iterator[tuple[tuple[str, ...], Prior | None]]:
    """Names with what is believed of them; what the list should say of it is added to `told`."""
    if isinstance(prior, VirtualDraws):
        told.append(f"{prior.weight:g} virtual draws an engine are counted, to compare with BayesElo's lists only")
    elif isinstance(prior, PhantomDraws):
        told.append(f"phantom draws are counted: {prior.weight:g} an engine, against {prior.about:g}")
    elif isinstance(prior, GaussianPrior) and not isinstance(prior.sd, Mapping):
        about = "the loose anchors" if terms.loose else "the pool mean" if prior.mean is None else "means of its own"
        told.append(f"a Gaussian prior is used: sd {prior.sd:g} about {about}")
    for pool in found:
        if not isinstance(prior, str):
            spread = prior.sd if isinstance(prior, GaussianPrior) else {}
            own = None if isinstance(spread, Mapping) else held(pool, terms.loose, spread)
            yield pool, own or prior
            continue
        inside = pairs.within(pool)
        parts = groups(inside, [name for name in pool if name in terms.anchors or name in terms.loose])
        if len(parts) == 1:
            yield pool, held(pool, terms.loose)
        elif prior == "none":
            told.append(f"{_told(parts)} are rated apart: the games between them bound no difference")
            told += _bridged(inside, parts)
            yield from ((part, held(part, terms.loose)) for part in parts)
        else:
            sd = PRIOR_SD * terms.scale / ELO_SCALE
            near_anchors = held(pool, terms.loose, sd)
            about = "the loose anchors" if near_anchors else "the pool mean"
            told.append(f"no finite maximum, so a Gaussian prior (sd {sd:g} about {about}) is used: {_told(parts)}")
            for word, which in (("unbeaten", unbeaten(inside)), ("winless", winless(inside))):
                if which:
                    told.append(f"{word}: {', '.join(which)}")
            told += _bridged(inside, parts)
            yield pool, near_anchors or GaussianPrior(sd)


def _bridged(pairs: Pairs, parts: Parts) -> Iterator[str]:
    """What would make one group of a pool's groups."""
    if points := connecting_points(pairs, parts):
        yield points_told(points)


def _told(parts: tuple[tuple[str, ...], ...]) -> str:
    """The groups as sets; a large one by its size."""
    shown = ("{" + (", ".join(part) if len(part) <= 8 else f"{len(part)} engines") + "}" for part in parts)
    return "groups " + ", ".join(shown)
