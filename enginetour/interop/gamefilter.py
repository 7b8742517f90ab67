"""Which games are read, and under which engine names."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from enginetour.interop.files import read_whole
from enginetour.interop.gametags import GameColumns, games_by_variant, variant_matches
from enginetour.interop.tally import AT_ODDS, OF_VARIANT, UNFINISHED, Tally, engine_name, normal_name, tag_text
from enginetour.model.errors import InputRefused, UsageRefused, suggest
from enginetour.model.timecontrol import TIME_CLASSES, time_class
from enginetour.model.variants import STANDARD, variant_named
from enginetour.ratings.incremental import RatedGame

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from enginetour.ratings.pairs import Pairs


# What the engines of game files are called here: aliases first, then patterns of the names that are wanted.


def matches_any(name: str, globs: Collection[str]) -> bool:
    """One of the patterns fits the name, or is the name: brackets mark versions as well as sets of signs."""
    return any(name == glob or fnmatchcase(name, glob) for glob in globs)


class EngineNames:
    """The name to count an engine under, None for one whose games are left out. Remembers which patterns fitted."""

    def __init__(
        self, aliases: Mapping[str, str] | None = None, include: Iterable[str] = (), exclude: Iterable[str] = ()
    ) -> None:
        self.aliases = {normal_name(other): normal_name(name) for other, name in (aliases or {}).items()}
        self.include = tuple(map(normal_name, include))
        self.exclude = tuple(map(normal_name, exclude))
        self._answered: set[str] = set()

    def __call__(self, name: str) -> str | None:
        """By the name as a file has it."""
        name = self.aliases.get(name, name)
        fits = {pattern for pattern in (*self.include, *self.exclude) if matches_any(name, (pattern,))}
        self._answered |= fits
        if (self.include and fits.isdisjoint(self.include)) or not fits.isdisjoint(self.exclude):
            return None
        return name

    def refuse_unanswered(self) -> None:
        """UsageRefused for a pattern that no engine answered to: it is misspelt."""
        for pattern in (*self.include, *self.exclude):
            if pattern not in self._answered:
                raise UsageRefused(f"no engine is called like {pattern!r}", step="patterns are as in a shell: 'Fruit*'")


# Which games of files a list takes by what their tags say: variant, odds, day, time class, control.

SelectedGames: TypeAlias = "tuple[NDArray[np.bool_], dict[str, int], dict[str, int]]"

_PARTS = ("variant", "odds", "date", "time class", "control", "termination")  # in the order of the store's lists
# How games can end that a list leaves out, by the values of Termination tags (PGN standard 9.8.1, and what tournament
# managers write). `store.cuts` has the codes of games that were played here.
ENDINGS: Mapping[str, frozenset[str]] = {
    "time": frozenset({"time forfeit"}),
    "crash": frozenset({"abandoned"}),
    "stall": frozenset({"abandoned", "stalled connection"}),
    "illegal-move": frozenset({"rules infraction", "illegal move"}),
    "adjudication": frozenset({"adjudication"}),
}


@dataclass(frozen=True, slots=True)
class GameFilter:
    """The defaults take every even game of standard chess.

    Days are those of the Date tag; a game without one is on no day.
    """

    since: date | None = None
    until: date | None = None
    time_classes: tuple[str, ...] = ()
    tc: tuple[str, ...] = ()
    exclude_termination: tuple[str, ...] = ()  # of `ENDINGS`
    odds: bool = False
    variant: str = STANDARD

    def check(self) -> None:
        """UsageRefused for days in the wrong order, and for a class, an ending or a variant that there is not."""
        if self.variant != STANDARD:
            try:
                variant_named(self.variant)
            except ValueError as error:
                raise UsageRefused(str(error), place="--variant") from None
        if self.since and self.until and self.until < self.since:
            raise UsageRefused(f"until {self.until} is before since {self.since}", place="--until")
        for kind, names, known in (
            ("time class", self.time_classes, TIME_CLASSES),
            ("exclude termination", self.exclude_termination, tuple(ENDINGS)),
        ):
            for name in names:
                if name not in known:
                    place = f"--{kind.replace(' ', '-')}"
                    what = kind.removeprefix("exclude ")
                    raise UsageRefused(f"unknown {what} {name!r}{suggest(name, known)}", place=place)

    @property
    def asks_tags(self) -> bool:
        """More must be read of a game than who played whom with what result."""
        tags = self.since or self.until or self.time_classes or self.tc or self.exclude_termination
        return bool(tags or self.variant != STANDARD)

    def taken(self, games: GameColumns) -> SelectedGames:
        """Which games are taken, and how many finished ones fall to each part, counted with the first that does.

        Last those of other variants, by name.
        """
        import numpy as np

        wanted = {"variant": _of_variant(games, self.variant), "odds": np.ones(len(games.results), dtype=np.bool_)}
        if games.odds and not self.odds:
            wanted["odds"][list(games.odds)] = False
        days = np.array(games.days)
        first, last = (None if day is None else int(f"{day:%Y%m%d}") for day in (self.since, self.until))
        wanted["date"] = (days >= (first or 0)) & ((days <= last) & (days > 0) if last is not None else True)
        whites = np.array(games.control)
        blacks = whites.copy()
        if games.black_control:
            blacks[list(games.black_control)] = list(games.black_control.values())
        controls = [tag_text(raw) for raw in games.controls]
        pairs, which = np.unique(np.stack((whites, blacks)), axis=1, return_inverse=True)
        ends = [(controls[white], controls[black]) for white, black in pairs.T.tolist()]
        fits = [not self.time_classes or time_class(*both) in self.time_classes for both in ends]
        wanted["time class"] = np.array(fits, dtype=np.bool_)[which.reshape(-1)]
        fits = [not self.tc or all(matches_any(control, self.tc) for control in both) for both in ends]
        wanted["control"] = np.array(fits, dtype=np.bool_)[which.reshape(-1)]
        wanted["termination"] = np.ones(len(games.results), dtype=np.bool_)
        wanted["termination"][
            [game for game, raw in games.terminations.items() if has_ending(tag_text(raw), self.exclude_termination)]
        ] = False
        left, apart = np.array(games.results) < UNFINISHED, dict[str, int]()
        others = _variants_of(games, left & ~wanted["variant"])
        taken = np.ones(len(left), dtype=np.bool_)
        for part in _PARTS:
            apart[part] = int((left & ~wanted[part]).sum())
            left &= wanted[part]
            taken &= wanted[part]
        return taken, {part: count for part, count in apart.items() if count}, others


def has_ending(tag: str, endings: Collection[str]) -> bool:
    """Whether the value of a Termination tag says one of these endings."""
    return any(tag.casefold() in ENDINGS[name] for name in endings)


def _of_variant(games: GameColumns, variant: str) -> NDArray[np.bool_]:
    """Which games are of a variant; those that do not say are of standard chess."""
    import numpy as np

    fits = np.full(len(games.results), variant == STANDARD)
    if games.variants:
        for game, raw in games.variants.items():
            fits[game] = variant_matches(raw, variant)
    return fits


def _variants_of(games: GameColumns, which: NDArray[np.bool_]) -> dict[str, int]:
    """How many of these games are of which variant, the most first."""
    if not which.any():
        return {}
    tags = Counter(raw for game, raw in games.variants.items() if which[game])
    plain = int(which.sum()) - tags.total()
    return games_by_variant(tags + Counter({b"": plain}))


# Which of the games of a tally make a list: aliases, patterns of names, fewest games; and what was left out.

FEW_NAMED = 10  # engines or results in a note


@dataclass(frozen=True, slots=True)
class UnratedGames:
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
        counted = self.broken + self.alone + self.unwanted + self.few
        return counted + sum(self.others.values()) + sum(self.apart.values())


def select_games(
    tally: Tally,
    *,
    aliases: Mapping[str, str] | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    min_games: int = 0,
    taken: SelectedGames | None = None,
) -> tuple[Pairs, UnratedGames]:
    """The games to rate, of those `taken` by a filter. UsageRefused for a pattern that nobody answers to: a slip.

    An engine with fewer than `min_games` games goes with all of them, until every engine left has that many.
    """
    naming = EngineNames(aliases, include, exclude)
    pairs, alone, others = tally.pairs(naming, None if taken is None else taken[0])
    naming.refuse_unanswered()
    enough = pairs.with_min_games(min_games)
    aside = {part: tally.results.tobytes().count(code) for part, code in (("variant", OF_VARIANT), ("odds", AT_ODDS))}
    return enough, UnratedGames(
        others=dict(tally.others.most_common()),
        places=_places_of(tally),
        broken=tally.broken_games,
        alone=alone,
        unwanted=others,
        few=int(pairs.games.sum() - enough.games.sum()),
        engines=tuple(sorted(set(pairs.names) - set(enough.names))),
        apart=dict(taken[1]) if taken else {part: games for part, games in aside.items() if games},
        variants=taken[2] if taken else games_by_variant(tally.variants_aside),
    )


def _places_of(tally: Tally) -> dict[str, str]:
    return {result: tally.places[result] for result, _ in tally.others.most_common() if result in tally.places}


def spelling_notes(tally: Tally, names: Collection[str]) -> list[str]:
    """What was read in another spelling or is contradicted, one note for each kind; `names` are those that play."""
    notes = []
    if most := tally.respelled.most_common(FEW_NAMED):
        told = (f"{count:,} {result!r} ({tally.places.get(result, 'many kinds')})" for result, count in most)
        notes.append(f"unusual results that count: {', '.join(told)}")
    if tally.contradicted:
        games = "1 game ends" if tally.contradicted == 1 else f"{tally.contradicted:,} games end"
        first = tally.contradicted_at
        notes.append(f"{games} with another result than the Result tag; the tag counts (first: {first})")
    spelled: dict[str, set[str]] = {}
    for raw in tally.names:
        spelled.setdefault(engine_name(raw), set()).add(tag_text(raw))
    if merged := sorted(name for name, written in spelled.items() if len(written) > 1):
        notes.append(f"names that differ only by blanks or Unicode form, rated as one engine: {list_few(merged)}")
    alike: dict[str, list[str]] = {}
    for name in sorted(names):
        alike.setdefault(_bare(name), []).append(name)
    if pairs := [" / ".join(map(_visible, one)) for one in alike.values() if len(one) > 1]:
        different = "names that differ only by case, blanks, invisible or compatible characters"
        notes.append(f"{different}, rated as different engines: {list_few(pairs)}; --alias OTHER=NAME joins them")
    return notes


def list_few(names: Sequence[str]) -> str:
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
    return name if name.isprintable() else repr(name)[1:-1]


# Which games of files can be rated, under which names, and which are left out.


@dataclass(frozen=True, slots=True, eq=False)
class RatableGames:
    """Sides as places in `names`, results as the tally has them; `wanted` are the places of games that can be rated."""

    naming: EngineNames
    names: tuple[str, ...]
    white: NDArray[np.int64]
    black: NDArray[np.int64]
    results: NDArray[np.int64]
    wanted: NDArray[np.intp]
    left_out: UnratedGames


def rated_games(
    games: GameColumns, naming: EngineNames, names: Collection[str], taken: NDArray[np.bool_], files: Sequence[str]
) -> Iterator[RatedGame]:
    """The games taken between two of these names, in order, for systems that rate game by game or event by event.

    An event is a file, or an Event tag where those were kept. Odds of unknown size count as none.
    """
    import numpy as np

    called = [name if name in names else None for name in (naming(engine_name(raw)) for raw in games.names)]
    results = np.array(games.results)
    tags = [" ".join(tag_text(raw).split()) for raw in games.event_tags]
    file_of = np.searchsorted(np.array(games.ends), np.arange(len(results)), side="right")
    for place in np.flatnonzero(taken & (results < UNFINISHED)).tolist():
        white, black = called[games.white[place]], called[games.black[place]]
        if white is not None and black is not None and white != black:
            event = (tags[games.event[place]] if games.by_event else "") or files[file_of[place]]
            points = 2 - int(results[place])
            yield RatedGame(white, black, points, place + 1, event, games.odds.get(place, 0) or 0)


def ratable_games(games: GameColumns, naming: EngineNames, variant: str = STANDARD) -> RatableGames:
    """Of the variant, between two engines that are wanted, with a result.

    UsageRefused for a pattern that no engine answers to.
    """
    import numpy as np

    names, white, black = games.sides(naming)
    naming.refuse_unanswered()
    results = np.array(games.results, dtype=np.int64)
    finished, ours = results != UNFINISHED, (white >= 0) & (black >= 0)
    inside = _of_variant(games, variant)
    others = _variants_of(games, finished & ~inside)
    finished &= inside
    alone = finished & ours & (white == black)
    left_out = UnratedGames(
        others=dict(games.others.most_common()),
        places=_places_of(games),
        broken=games.broken_games,
        alone=int(alone.sum()),
        unwanted=int((finished & ~ours).sum()),
        few=0,
        engines=(),
        apart={"variant": sum(others.values())} if others else {},
        variants=others,
    )
    return RatableGames(naming, names, white, black, results, np.flatnonzero(finished & ours & ~alone), left_out)


# Other names of engines, from a file as Ordo's synonyms: one line an engine, the name to use first, quoted or not.

_LARGEST_FILE = 10_000_000  # bytes, our choice: some 200,000 names
_LONGEST_LINE = 65_536  # signs, as of a game file


def read_aliases(path: Path) -> dict[str, str]:
    """Alias to name. Empty lines and those that begin with ``#`` are skipped; InputRefused as file:line."""
    try:
        lines = read_whole(path, _LARGEST_FILE).decode("utf-8-sig").splitlines()
    except OSError as error:
        raise InputRefused(f"cannot read: {error.strerror}", place=str(path)) from None
    except UnicodeDecodeError:
        raise InputRefused("is not UTF-8", place=str(path), step="save it as UTF-8") from None
    found: dict[str, str] = {}
    lines_of: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) > _LONGEST_LINE:
            raise InputRefused(f"a line longer than {_LONGEST_LINE:,} signs", place=f"{path}:{number}")
        if "\0" in line:
            raise InputRefused("no list of names: it holds NUL", place=f"{path}:{number}")
        try:
            name, *others = (cell.strip() for cell in next(csv.reader([line], skipinitialspace=True, strict=True)))
        except csv.Error as error:
            raise InputRefused(f"no list of names: {error}", place=f"{path}:{number}") from None
        if not name or not others or not all(others):
            raise InputRefused("a name and at least one alias are needed", place=f"{path}:{number}")
        lines_of.setdefault(name, number)
        for other in others:
            if found.setdefault(other, name) != name:
                raise InputRefused(f"{other!r} is also an alias of {found[other]!r}", place=f"{path}:{number}")
    for alias, name in found.items():
        if name in found and found[name] != name:
            step = f"write all of them in one line behind {found[name]!r}"
            raise InputRefused(f"{name!r} is itself an alias", place=f"{path}:{lines_of[name]}", step=step)
        if alias in lines_of and alias != name:
            raise InputRefused(f"{alias!r} is an alias of {name!r}", place=f"{path}:{lines_of[alias]}")
    return found
