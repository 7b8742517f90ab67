"""Which of the games of a tally make a list: aliases, patterns of names, fewest games; and what was left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from enginetour.interop.naming import Naming
from enginetour.interop.tally import AT_ODDS, OF_VARIANT, Tally
from enginetour.ratings.pairs import Pairs

if TYPE_CHECKING:
    from enginetour.interop.gamefilter import Taken


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Games that are not rated, by reason."""

    others: Mapping[str, int]  # by the result that is none
    broken: int
    alone: int  # of an engine against itself
    unwanted: int  # by the patterns
    few: int  # of engines with too few
    engines: tuple[str, ...]  # those with too few
    apart: Mapping[str, int]  # by the part of a `GameFilter`
    variants: Mapping[str, int]  # those that are apart by variant, by its name

    @property
    def games(self) -> int:
        """All of them."""
        return (
            sum(self.others.values()) + self.broken + self.alone + self.unwanted + self.few + sum(self.apart.values())
        )


def select(
    tally: Tally,
    *,
    aliases: Mapping[str, str] | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    min_games: int = 0,
    taken: Taken | None = None,
) -> tuple[Pairs, LeftOut]:
    """The games to rate, of those `taken` by a filter. UsageRefused for a pattern that nobody answers to: a slip.

    An engine with fewer than `min_games` games goes with all of them, until every engine left has that many.
    """
    naming = Naming(aliases, include, exclude)
    pairs, alone, others = tally.pairs(naming, None if taken is None else taken[0])
    naming.refuse_unanswered()
    enough = at_least(pairs, min_games)
    aside = {part: tally.results.tobytes().count(code) for part, code in (("variant", OF_VARIANT), ("odds", AT_ODDS))}
    few = tuple(sorted(set(pairs.names) - set(enough.names)))
    variants = taken[2] if taken else _named(tally)
    return enough, LeftOut(
        others=dict(tally.others.most_common()),
        broken=tally.broken_games,
        alone=alone,
        unwanted=others,
        few=int(pairs.games.sum() - enough.games.sum()),
        engines=few,
        apart=dict(taken[1]) if taken else {part: games for part, games in aside.items() if games},
        variants=variants,
    )


def _named(tally: Tally) -> Mapping[str, int]:
    if not tally.variants_aside:
        return {}
    from enginetour.interop.varianttags import by_name  # it knows chess: most files have no such tag

    return by_name(tally.variants_aside)


def at_least(pairs: Pairs, games: int) -> Pairs:
    """Without engines that have fewer games, again and again: each that goes takes games from others."""
    while True:
        kept = [name for name, played in zip(pairs.names, pairs.played, strict=True) if played >= games]
        if len(kept) == len(pairs.names):
            return pairs
        pairs = pairs.within(kept)
