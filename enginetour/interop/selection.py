"""Which of the games of a tally make a list: aliases, patterns of names, fewest games; and what was left out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from enginetour.interop.naming import Naming
from enginetour.interop.tally import AT_ODDS, OF_VARIANT, Tally, name_text, text
from enginetour.ratings.pairs import Pairs

if TYPE_CHECKING:
    from enginetour.interop.gamefilter import Taken

FEW_NAMED = 10  # engines or results in a note


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Games that are not rated, by reason."""

    others: Mapping[str, int]  # by the result that is none
    places: Mapping[str, str]  # where the first game with each of these results is
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
        places=places_of(tally),
        broken=tally.broken_games,
        alone=alone,
        unwanted=others,
        few=int(pairs.games.sum() - enough.games.sum()),
        engines=few,
        apart=dict(taken[1]) if taken else {part: games for part, games in aside.items() if games},
        variants=variants,
    )


def places_of(tally: Tally) -> dict[str, str]:
    """Where the first game with each result that is not one is."""
    return {result: tally.places[result] for result, _ in tally.others.most_common() if result in tally.places}


def spelling_notes(tally: Tally, names: Collection[str]) -> list[str]:
    """What was read in another spelling or is contradicted, one note for each kind; `names` are those that play."""
    notes = []
    if tally.respelled:
        told = (f"{count:,} {result!r} ({tally.places.get(result, 'many kinds')})" for result, count in _most(tally))
        notes.append(f"unusual results that count: {', '.join(told)}")
    if tally.contradicted:
        games = "1 game ends" if tally.contradicted == 1 else f"{tally.contradicted:,} games end"
        notes.append(
            f"{games} with another result than the Result tag; the tag counts (first: {tally.contradicted_at})"
        )
    spelled: dict[str, set[str]] = {}
    for raw in tally.names:
        spelled.setdefault(name_text(raw), set()).add(text(raw))
    if merged := sorted(name for name, written in spelled.items() if len(written) > 1):
        notes.append(f"names that differ only by blanks or Unicode form, rated as one engine: {few_of(merged)}")
    alike: dict[str, list[str]] = {}
    for name in sorted(names):
        alike.setdefault(_bare(name), []).append(name)
    if pairs := [" / ".join(map(_visible, one)) for one in alike.values() if len(one) > 1]:
        different = (
            "names that differ only by case, blanks, invisible or compatible characters, rated as different engines"
        )
        notes.append(f"{different}: {few_of(pairs)}; --alias OTHER=NAME joins them")
    return notes


def _most(tally: Tally) -> list[tuple[str, int]]:
    return tally.respelled.most_common(FEW_NAMED)


def few_of(names: Sequence[str]) -> str:
    """The first of them, as a note has room for."""
    return ", ".join(names[:FEW_NAMED]) + ", ..." * (len(names) > FEW_NAMED)


def _bare(name: str) -> str:
    """What is left of a name without case, Unicode form, blanks and signs that nobody sees."""
    if not name.isascii():
        from unicodedata import normalize

        name = normalize("NFKC", name)
    folded = name.casefold()
    return "".join(sign for sign in folded if sign.isprintable() and not sign.isspace())


def _visible(name: str) -> str:
    """A name whose invisible signs show as escapes."""
    return name if name.isprintable() else repr(name)[1:-1]


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
