"""Selection of the games to rate, and the engine names under which they count."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from enginetour.interop.files import read_input
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


# Engine names of game files: first aliases, then patterns of names to include or exclude.


def matches_any(name: str, globs: Collection[str]) -> bool:
    """Return whether a pattern matches or equals the name.

    Version names often contain brackets, which a pattern does not match literally.
    """
    return any(name == glob or fnmatchcase(name, glob) for glob in globs)


class EngineNames:
    """Convert engine names of files to the names in a list, and record which patterns matched."""

    def __init__(
        self, aliases: Mapping[str, str] | None = None, include: Iterable[str] = (), exclude: Iterable[str] = ()
    ) -> None:
        self.aliases = {normal_name(other): normal_name(name) for other, name in (aliases or {}).items()}
        self.include = tuple(map(normal_name, include))
        self.exclude = tuple(map(normal_name, exclude))
        self._matched: set[str] = set()

    def __call__(self, name: str) -> str | None:
        """Return the name to use for a name in a file, or None if the games of this engine are left out."""
        name = self.aliases.get(name, name)
        fits = {pattern for pattern in (*self.include, *self.exclude) if matches_any(name, (pattern,))}
        self._matched |= fits
        if (self.include and fits.isdisjoint(self.include)) or not fits.isdisjoint(self.exclude):
            return None
        return name

    @staticmethod
    def check_aliases(aliases: Mapping[str, str]) -> None:
        """Raise ValueError for an alias that refers to another alias."""
        for alias, name in aliases.items():
            if aliases.get(name, name) != name:
                raise ValueError(f"alias {alias!r} refers to {name!r}, which is also an alias")

    def check_all_matched(self) -> None:
        """Raise UsageRefused for a pattern that no engine matches, because it is probably a typing error."""
        for pattern in (*self.include, *self.exclude):
            if pattern not in self._matched:
                step = "use a pattern as in a shell, for example 'Fruit*'"
                raise UsageRefused(f"no engine name matches {pattern!r}", step=step)


# Selection of games by their tags: variant, odds, date, time class and time control.

SelectedGames: TypeAlias = "tuple[NDArray[np.bool_], dict[str, int], dict[str, int]]"

_PARTS = ("variant", "odds", "date", "time class", "control", "termination")  # in the order of the database's lists
# Ends of games that a list can leave out, with the values of Termination tags (PGN standard 9.8.1, and values of
# tournament managers). `store.cuts` has the codes of games that were played here.
ENDINGS: Mapping[str, frozenset[str]] = {
    "time": frozenset({"time forfeit"}),
    "crash": frozenset({"abandoned"}),
    "stall": frozenset({"abandoned", "stalled connection"}),
    "illegal-move": frozenset({"rules infraction", "illegal move"}),
    "adjudication": frozenset({"adjudication"}),
}


@dataclass(frozen=True, slots=True)
class GameFilter:
    """Select games; by default all games of standard chess without odds are selected.

    Dates are values of the Date tag. A game without a date is outside of every range, and a game whose month or day is
    unknown is in a range only if all its possible days are.
    """

    since: date | None = None
    until: date | None = None
    time_classes: tuple[str, ...] = ()
    tc: tuple[str, ...] = ()
    exclude_termination: tuple[str, ...] = ()  # keys of `ENDINGS`
    odds: bool = False
    variant: str = STANDARD

    def check(self) -> None:
        """Raise UsageRefused for dates in the wrong order, and for an unknown time class, ending or variant."""
        if self.variant != STANDARD:
            try:
                variant_named(self.variant)
            except ValueError as error:
                raise UsageRefused(str(error), place="--variant") from None
        if self.since and self.until and self.until < self.since:
            raise UsageRefused(f"the date {self.until} is before the date of --since ({self.since})", place="--until")
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
        """Return whether the selection needs other tags than players and result."""
        tags = self.since or self.until or self.time_classes or self.tc or self.exclude_termination
        return bool(tags or self.variant != STANDARD)

    def taken(self, games: GameColumns) -> SelectedGames:
        """Return which games are selected, and the numbers of excluded finished games by part and by variant.

        A game counts for the first part that excludes it.
        """
        import numpy as np

        wanted = {"variant": _of_variant(games, self.variant), "odds": np.ones(len(games.results), dtype=np.bool_)}
        if games.odds and not self.odds:
            wanted["odds"][list(games.odds)] = False
        wanted["date"] = np.ones(len(games.results), dtype=np.bool_)
        if self.since or self.until:
            days, (lowest, highest, later) = np.array(games.days), games.day_numbers(self.since, self.until)
            wanted["date"] = (days >= lowest) & (days <= highest) & ~np.isin(days, later)
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
    """Return whether the value of a Termination tag is one of these endings."""
    return any(tag.casefold() in ENDINGS[name] for name in endings)


def _of_variant(games: GameColumns, variant: str) -> NDArray[np.bool_]:
    """Return which games are of a variant; games without a Variant tag are standard chess."""
    import numpy as np

    fits = np.full(len(games.results), variant == STANDARD)
    if games.variants:
        for game, raw in games.variants.items():
            fits[game] = variant_matches(raw, variant)
    return fits


def _variants_of(games: GameColumns, which: NDArray[np.bool_]) -> dict[str, int]:
    """Return the number of these games by variant, the most frequent variant first."""
    if not which.any():
        return {}
    tags = Counter(raw for game, raw in games.variants.items() if which[game])
    plain = int(which.sum()) - tags.total()
    return games_by_variant(tags + Counter({b"": plain}))


# Selection of the games of a tally for a list, by aliases, patterns of names and minimum number of games; the games
# that are left out are counted by reason.

FEW_NAMED = 10  # engines or results that a note lists


@dataclass(frozen=True, slots=True)
class UnratedGames:
    """Numbers of games that are not rated, by reason."""

    others: Mapping[str, int]  # games with unknown results, by the text of the result
    places: Mapping[str, str]  # place of the first game with each of these results
    broken: int
    alone: int  # games of an engine against itself
    unwanted: int  # excluded by patterns
    few: int  # games of engines with too few games
    engines: tuple[str, ...]  # engines with too few games
    apart: Mapping[str, int]  # games that a `GameFilter` excludes, by its part
    variants: Mapping[str, int]  # games of other variants, by name of the variant

    @property
    def games(self) -> int:
        """Return the number of all games that are left out."""
        counted = self.broken + self.alone + self.unwanted + self.few
        return counted + sum(self.others.values()) + sum(self.apart.values())

    def to_json(self) -> dict[str, object]:
        """Return the numbers with their sum, ready for JSON."""
        return {**asdict(self), "games": self.games}


def select_games(
    tally: Tally,
    *,
    aliases: Mapping[str, str] | None = None,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    min_games: int = 0,
    taken: SelectedGames | None = None,
) -> tuple[Pairs, UnratedGames]:
    """Return the games to rate and the games that are left out; `taken` is the selection of a filter.

    An engine with fewer than `min_games` games is left out with all its games. This is repeated until all remaining
    engines have enough games. Raise UsageRefused for a pattern that no engine matches.
    """
    naming = EngineNames(aliases, include, exclude)
    pairs, alone, others = tally.pairs(naming, None if taken is None else taken[0])
    naming.check_all_matched()
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
    """Return notes about unusual spellings and contradictions in the files, one per kind; `names`: rated engines."""
    notes = []
    if most := tally.respelled.most_common(FEW_NAMED):
        shown = (f"{count:,} {result!r} ({tally.places.get(result, 'many places')})" for result, count in most)
        notes.append(f"results with unusual spelling that are counted: {', '.join(shown)}")
    if tally.contradicted:
        games = "1 game ends" if tally.contradicted == 1 else f"{tally.contradicted:,} games end"
        first = tally.contradicted_at
        notes.append(f"{games} with a result that differs from the Result tag; the tag is used (first: {first})")
    spelled: dict[str, set[str]] = {}
    for raw in tally.names:
        spelled.setdefault(engine_name(raw), set()).add(tag_text(raw))
    if merged := sorted(name for name, written in spelled.items() if len(written) > 1):
        notes.append(f"names that differ only by spaces or Unicode form, rated as one engine: {list_few(merged)}")
    alike: dict[str, list[str]] = {}
    for name in sorted(names):
        alike.setdefault(_bare(name), []).append(name)
    if pairs := [" / ".join(map(_visible, one)) for one in alike.values() if len(one) > 1]:
        different = "names that differ only by case, spaces, invisible or compatible characters"
        notes.append(f"{different}, rated as different engines: {list_few(pairs)}; use --alias OTHER=NAME to join them")
    return notes


def list_few(names: Sequence[str]) -> str:
    """Return the first `FEW_NAMED` names, separated by commas."""
    return ", ".join(names[:FEW_NAMED]) + ", ..." * (len(names) > FEW_NAMED)


def _bare(name: str) -> str:
    """Return a name without case, Unicode form, spaces and invisible characters."""
    if not name.isascii():
        from unicodedata import normalize

        name = normalize("NFKC", name)
    folded = name.casefold()
    return "".join(char for char in folded if char.isprintable() and not char.isspace())


def _visible(name: str) -> str:
    return name if name.isprintable() else repr(name)[1:-1]


# Games of files that can be rated, the names of their engines, and the games that are left out.


@dataclass(frozen=True, slots=True, eq=False)
class RatableGames:
    """Players as indices in `names`, results as in the tally, and (`wanted`) the indices of games that can be rated."""

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
    """Yield the taken games between two of these names, in order, for incremental rating systems.

    An event is a file, or an Event tag if Event tags were kept. Odds of unknown size count as no odds.
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
    """Return the games of the variant that have a result and were played by two wanted engines.

    Raise UsageRefused for a pattern that no engine matches.
    """
    import numpy as np

    names, white, black = games.sides(naming)
    naming.check_all_matched()
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


# Aliases of engines, from a file like Ordo's synonyms. Each line has the name of an engine and then its aliases; quotes
# are optional.

_LARGEST_FILE = 10_000_000  # bytes (chosen here): about 200,000 names
_LONGEST_LINE = 65_536  # characters, as in a game file


def read_aliases(path: Path) -> dict[str, str]:
    """Read a mapping from alias to name; empty lines and ``#`` comments are ignored. Errors name file and line."""
    try:
        lines = read_input(path, _LARGEST_FILE).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InputRefused("the text is not UTF-8", place=str(path), step="save the file as UTF-8") from None
    found: dict[str, str] = {}
    lines_of: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if len(line) > _LONGEST_LINE:
            raise InputRefused(f"the line is longer than {_LONGEST_LINE:,} characters", place=f"{path}:{number}")
        if "\0" in line:
            raise InputRefused("not a valid list of names: the line contains a NUL character", place=f"{path}:{number}")
        try:
            name, *others = (cell.strip() for cell in next(csv.reader([line], skipinitialspace=True, strict=True)))
        except csv.Error as error:
            raise InputRefused(f"not a valid list of names: {error}", place=f"{path}:{number}") from None
        if not name or not others or not all(others):
            raise InputRefused("expected a name and at least one alias", place=f"{path}:{number}")
        lines_of.setdefault(name, number)
        for other in others:
            if found.setdefault(other, name) != name:
                raise InputRefused(f"{other!r} is also an alias of {found[other]!r}", place=f"{path}:{number}")
    for alias, name in found.items():
        if alias in lines_of and alias != name:
            message = f"{alias!r} is listed as a name, but is also an alias of {name!r}"
            step = f"write all aliases on one line after {name!r}"
            raise InputRefused(message, place=f"{path}:{lines_of[alias]}", step=step)
    return found
