"""League: the divisions of a season, and who is promoted or relegated at its end.

A season follows from the season before, its tables, its playoffs, and the engines that the league has now. Places are
filled from the top division to the last one, so the size of every division holds:

1. At each border, the last `promote` engines of the upper table and the first `promote` engines of the lower table
   change places. An engine that left during the season counts as the last of its table.
2. The next `playoff` engines on both sides of the border play matches. The winner gets the place in the upper division.
3. A free place is filled by the next engine of the table below. If a division has too many engines, the last of its
   table moves down.
4. The engines that wait for a place enter the last division, up to `entries` per season, or play a qualifier for these
   places.

Divisions can be added at the end, and the last divisions can be removed. An added one takes the engines that wait. The
first engines of a removed one fill free places above, and the others wait.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

Entry = Literal["bottom", "qualifier", "rating"]
Kind = Literal["promoted", "relegated", "enters", "version", "leaves", "waits"]


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of a league.

    Attributes:
        names: names of the divisions, from top to bottom.
        sizes: number of engines in each division.
        promote: number of engines that move up and down at each border, from the top border to the bottom border.
        playoff: number of playoff matches at each border.
        new: how waiting engines enter: at the bottom, by a qualifier, or in the division that their rating suggests.
        entries: largest number of engines that enter the last division per season, in addition to its free places.
    """

    names: tuple[str, ...]
    sizes: tuple[int, ...]
    promote: tuple[int, ...] = ()
    playoff: tuple[int, ...] = ()
    new: Entry = "bottom"
    entries: int = 0

    def fault(self) -> tuple[str, int]:
        """Return the first contradiction of the rules and the number of its division, or "" and 0."""
        for place, (name, size) in enumerate(zip(self.names, self.sizes, strict=True)):
            down, up = self.moving(place), self.moving(place - 1)
            if place == len(self.sizes) - 1:
                down = self.entries
            if up + down > size:
                what = f"{up} engines of {name} may move up and {down} may move down, but its size is {size}"
                return what, place
        return "", 0

    def moving(self, border: int) -> int:
        """Return the number of engines that may change places at the border below a division."""
        return self.promote[border] + self.playoff[border] if 0 <= border < len(self.promote) else 0

    def with_divisions(self, names: Sequence[str]) -> Rules:
        """Return the rules with divisions without places after the last one, for those of `names` that are missing."""
        more = len(names) - len(self.names)
        if more <= 0:
            return self
        none = (0,) * more
        return replace(
            self,
            names=(*self.names, *names[-more:]),
            sizes=self.sizes + none,
            promote=self.promote + none,
            playoff=self.playoff + none,
        )


@dataclass(frozen=True, slots=True)
class Move:
    """What happens to an engine between two seasons.

    `source` and `target` are names of divisions, or "" outside of all divisions. `why` is the reason for users.
    """

    engine: str
    kind: Kind
    source: str
    target: str
    why: str


@dataclass(frozen=True, slots=True)
class Season:
    """The places of a season.

    Attributes:
        divisions: engines of each division, in starting order, without the places that the qualifier decides.
        open: number of places of each division that the qualifier decides.
        qualifier: engines that play the qualifier, in starting order; empty if there is none.
        waiting: engines without a place that do not play, first in the queue first.
        moves: how the season follows from the season before.
    """

    divisions: tuple[tuple[str, ...], ...]
    open: tuple[int, ...]
    qualifier: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    moves: tuple[Move, ...] = ()

    def settled(self, qualifier: Sequence[str], begun: Mapping[int, Sequence[str]] = {}) -> Season:
        """Return the season with the places that the table of the qualifier decides, best first.

        Engines of the qualifier that are not in its table have left it. Divisions that have `begun`, by their numbers,
        keep their engines, even if the table has changed since.
        """
        rest = [name for name in qualifier if not any(name in engines for engines in begun.values())]
        divisions = list[tuple[str, ...]]()
        for number, (present, places) in enumerate(zip(self.divisions, self.open, strict=True)):
            free = 0 if number in begun else places
            divisions.append(tuple(begun.get(number, (*present, *rest[:free]))))
            del rest[:free]
        return replace(
            self,
            divisions=tuple(divisions),
            open=(0,) * len(divisions),
            qualifier=(),
            waiting=(*rest, *self.waiting),
        )

    @property
    def engines(self) -> tuple[str, ...]:
        """All engines of the league in this season."""
        return (*(name for division in self.divisions for name in division), *self.qualifier, *self.waiting)


@dataclass(frozen=True, slots=True)
class SeasonResult:
    """The results of a season.

    Attributes:
        tables: final table of each division, best first, with the engines that took a place during the season and
            without those that left the division.
        playoffs: for each border, the playoff matches as (upper engine, lower engine, whether the lower engine won).
        left: engines that left a tournament of the season, and with it the league, with the reason.
    """

    tables: tuple[tuple[str, ...], ...]
    playoffs: Mapping[int, Sequence[tuple[str, str, bool]]] = field(default_factory=dict)
    left: Mapping[str, str] = field(default_factory=dict)


_MORE_ENGINES = "add entrants or reduce sizes"


def first_season(rules: Rules, ranked: Sequence[str], *, qualifier: bool = False) -> Season:
    """Return the first season from a list of engines, best first; raise ValueError if there are too few.

    With a `qualifier`, all engines play it for all places.
    """
    wanted = sum(rules.sizes)
    if len(ranked) < wanted:
        raise ValueError(f"the divisions need {wanted} engines (found {len(ranked)}). Hint: {_MORE_ENGINES}")
    if qualifier:
        return Season(((),) * len(rules.sizes), rules.sizes, qualifier=tuple(ranked))
    rest, divisions = list(ranked), list[list[str]]()
    for size in rules.sizes:
        divisions.append(rest[:size])
        del rest[:size]
    moves = {
        name: Move(name, "enters", "", title, f"number {ranked.index(name) + 1} of the starting list")
        for title, division in zip(rules.names, divisions, strict=True)
        for name in division
    }
    rules = rules if rules.new == "qualifier" else replace(rules, entries=0)  # the order of the list decides
    return _entered(rules, divisions, rest, moves)


def playoff_pairs(rules: Rules, tables: Sequence[Sequence[str]], border: int) -> tuple[tuple[str, str], ...]:
    """Return the playoff matches at the border below a division, as (upper engine, lower engine).

    The best of the upper engines meets the last of the lower engines, and so on.
    """
    count = rules.playoff[border] if border < len(rules.playoff) else 0
    upper, lower = tables[border], tables[border + 1]
    end = len(upper) - _relegated(rules, border, len(upper))
    above = upper[max(rules.moving(border - 1), end - count) : end]  # engines that may move up do not move down
    below = lower[rules.promote[border] : rules.promote[border] + count]
    pairs = min(len(above), len(below))
    return tuple(zip(above[len(above) - pairs :], reversed(below[:pairs]), strict=True)) if pairs else ()


def zones(rules: Rules, tables: Sequence[Sequence[str]], tier: int) -> list[str]:
    """Return what each place of a division's table means, from the first place to the last; "" without a meaning.

    An engine is in a zone of playoffs only if it has an opponent there.
    """
    table, found = tables[tier], dict[str, str]()
    rising = min(len(table), rules.moving(tier - 1))
    if tier < len(rules.names) - 1:
        down = min(len(table) - rising, _relegated(rules, tier, len(table)))
        found |= dict.fromkeys(table[len(table) - down :], "relegation")
        found |= {upper: "playoff against relegation" for upper, _ in playoff_pairs(rules, tables, tier)}
    if rising:
        found |= dict.fromkeys(table[: min(rising, rules.promote[tier - 1])], "promotion")
        found |= {lower: "playoff for promotion" for _, lower in playoff_pairs(rules, tables, tier - 1)}
    return [found.get(name, "") for name in table]


def _relegated(rules: Rules, border: int, present: int) -> int:
    """Return how many engines of a table move down at the border below it; engines that left are the last of it."""
    return max(0, rules.promote[border] - max(0, rules.sizes[border] - present))


def next_season(
    rules: Rules,
    season: Season,
    result: SeasonResult,
    engines: Sequence[str],
    *,
    before: Rules | None = None,
    versions: Mapping[str, str] = {},
    ratings: Mapping[str, float] = {},
    barred: Mapping[str, str] = {},
) -> Season:
    """Return the season after a settled season.

    Args:
        rules: the rules of the new season. Divisions may be added after the last one, and the last ones removed.
        season: the season that has ended.
        result: its results.
        engines: engines that the file has now, in the order in which new ones enter.
        before: the rules of the season that has ended, which decide who moves up and down. Default: `rules`.
        versions: new engines that take the places of their predecessors, and those predecessors.
        ratings: prior ratings, for new engines that enter by rating.
        barred: engines of the file that do not come back, with the reasons.

    Raises:
        ValueError: The divisions have another order, there are too few engines, or ratings are missing.
    """
    before = before or rules
    for place, name in enumerate(before.names):
        if name in rules.names and rules.names.index(name) != place:
            what = f"{name} was division {place + 1} and is now division {rules.names.index(name) + 1}"
            raise ValueError(f"{what}. Hint: restore the order of the divisions")
    known = _known(season, result)
    barred = {name: why for name, why in barred.items() if name not in result.left}
    engines = [name for name in engines if name not in result.left and name not in barred]
    present = {*season.waiting, *(name for table in result.tables for name in table)}  # a place can be inherited
    heirs = {old: new for new, old in versions.items() if old in present and new in engines and new not in known}
    succession = _Succession(rules, before, season, result, engines, heirs, ratings)
    succession.refuse_few(barred)
    return succession.season()


def _known(season: Season, result: SeasonResult) -> set[str]:
    """Return the engines that were in the league during a season."""
    return {*season.engines, *result.left, *(name for table in result.tables for name in table)}


class _Succession:
    """Computes a season from the season before. `heirs` has the new version of an engine by the engine's name.

    Divisions of only one of the seasons have no places and no engines in the other one.
    """

    def __init__(
        self,
        rules: Rules,
        before: Rules,
        season: Season,
        result: SeasonResult,
        engines: Sequence[str],
        heirs: Mapping[str, str],
        ratings: Mapping[str, float],
    ) -> None:
        self.count = len(rules.names)  # divisions of the new season
        self.rules, self.before = rules.with_divisions(before.names), before.with_divisions(rules.names)
        self.ratings = ratings
        self.former = {new: old for old, new in heirs.items()}
        self.moves: dict[str, Move] = {}
        known = _known(season, result)
        # The tables with the names of new versions; `ranks` also has the engines that are not in the league any more.
        added = ((),) * (len(self.before.names) - len(before.names))
        played = (*result.tables, *added)
        self.ranks = [[heirs.get(name, name) for name in table] for table in played]
        self.tables = [[name for name in table if name in engines] for table in self.ranks]
        self.tiers = {name: tier for tier, table in enumerate(self.ranks) for name in table}
        self.playoffs = {
            border: {heirs.get(lower, lower): heirs.get(upper, upper) for upper, lower, won in matches if won}
            for border, matches in result.playoffs.items()
        }
        waiting = [name for name in season.waiting if not any(name in table for table in result.tables)]
        self.newcomers = [name for name in engines if name not in known and name not in heirs.values()]
        self.queue = [name for name in (heirs.get(each, each) for each in waiting) if name in engines] + self.newcomers
        places = zip(self.before.names, self.rules.names, (*season.divisions, *added), played, strict=True)
        for title, following, division, table in places:
            for name in division:
                if name in result.left and name not in table:
                    self.moves[name] = Move(name, "leaves", title, "", result.left[name])
            self._note_changes(title, following, table, heirs, engines, result.left)
        self._note_changes("", "", waiting, heirs, engines, result.left)

    def _note_changes(
        self,
        title: str,
        following: str,
        names: Sequence[str],
        heirs: Mapping[str, str],
        engines: Sequence[str],
        left: Mapping[str, str],
    ) -> None:
        for name in names:
            if name in heirs:
                self.moves[heirs[name]] = Move(heirs[name], "version", title, following, f"new version of {name}")
            elif name not in engines:
                why = left.get(name, "it is not an entrant of the league any more")
                self.moves[name] = Move(name, "leaves", title, "", why)

    def refuse_few(self, barred: Mapping[str, str]) -> None:
        """Raise ValueError if there are too few engines; name those that left, and those that do not come back."""
        found, wanted = sum(map(len, self.tables)) + len(self.queue), sum(self.rules.sizes)
        if found >= wanted:
            return
        moves = [move for move in self.moves.values() if move.kind == "leaves"]
        left = [f"{move.engine} left {move.source or 'the engines that wait'} ({move.why})" for move in moves]
        left += [f"{name} {why}" for name, why in barred.items()]
        what = f"the divisions need {wanted} engines (found {found})"
        step = "add entrants, such as new versions with other names, or reduce sizes"
        raise ValueError(f"{what}: {', '.join(left)}. Hint: {step}" if left else f"{what}. Hint: {_MORE_ENGINES}")

    def season(self) -> Season:
        """Return the new season."""
        rules, tables = self.rules, self.tables
        staying = [list(table) for table in tables]
        arriving = [list[str]() for _ in tables]  # from above, or by rating
        rising = [list[str]() for _ in tables]  # from below
        for border in range(len(tables) - 1):
            for name, why in self._falling(border):
                if name in staying[border]:  # otherwise it moves up by a playoff from before a game was replayed
                    self._move(name, border + 1, why)
                    staying[border].remove(name)
                    arriving[border + 1].append(name)
            for name, why in self._climbing(border):
                self._move(name, border, why)
                staying[border + 1].remove(name)
                rising[border].append(name)
        by_rating = self._placed_by_rating()
        for name, tier in by_rating.items():
            arriving[tier].append(name)
        divisions = list[list[str]]()
        for tier, size in enumerate(rules.sizes):
            if tier < min(self.count, len(tables) - 1):
                self._fit(tier, size, staying, arriving, rising)
            divisions.append([*arriving[tier], *staying[tier], *rising[tier]])
        titles = {name: self.before.names[tier] for name, tier in self.tiers.items()}
        homeless = [name for division in divisions[self.count :] for name in division]
        for name in homeless:
            earlier, why = self.moves.get(name), "its division has been removed"
            self.moves[name] = Move(
                name, "waits", titles.get(name, ""), "", f"{earlier.why}; {why}" if earlier else why
            )
        kept = replace(rules, names=rules.names[: self.count], sizes=rules.sizes[: self.count])
        season = _entered(kept, divisions[: self.count], self.queue, self.moves, titles, protected=by_rating)
        return replace(season, waiting=(*homeless, *season.waiting))

    def _falling(self, border: int) -> Iterator[tuple[str, str]]:
        """Yield the engines that move down at a border, with the reasons, in the order of the table."""
        ranks = self.ranks[border]
        relegated = ranks[len(ranks) - _relegated(self.before, border, len(ranks)) :]
        beaten = {upper: lower for lower, upper in self._won(border).items()}
        for name in self.tables[border]:
            if name in relegated:
                yield name, self._place(name)
            elif name in beaten:
                yield name, f"lost the playoff against {self.former.get(beaten[name], beaten[name])}"

    def _climbing(self, border: int) -> Iterator[tuple[str, str]]:
        """Yield the engines that move up at a border, with the reasons, in the order of the table."""
        promoted = self.ranks[border + 1][: self.before.promote[border]]
        for name in self.tables[border + 1]:
            if name in promoted:
                yield name, self._place(name)
            elif (upper := self._won(border).get(name)) is not None:
                yield name, f"won the playoff against {self.former.get(upper, upper)}"

    def _won(self, border: int) -> Mapping[str, str]:
        """Return the lower engines that won a playoff at a border and are still in the league, with their opponents."""
        below = self.tables[border + 1]
        return {lower: upper for lower, upper in self.playoffs.get(border, {}).items() if lower in below}

    def _fit(
        self, tier: int, size: int, staying: list[list[str]], arriving: list[list[str]], rising: list[list[str]]
    ) -> None:
        """Move engines between a division and those below it, so that the division has its size."""
        title = self.rules.names[tier]
        while len(arriving[tier]) + len(staying[tier]) + len(rising[tier]) > size:
            name = (staying[tier] or arriving[tier] or rising[tier]).pop()
            self._move(name, tier + 1, f"{title} has {size} {'place' if size == 1 else 'places'}")
            arriving[tier + 1].append(name)
        while len(arriving[tier]) + len(staying[tier]) + len(rising[tier]) < size:
            below = ((low, staying[low] or arriving[low] or rising[low]) for low in range(tier + 1, len(staying)))
            source, names = next((one for one in below if one[1]), (None, self.queue))
            name = names.pop(0)
            place = f"{self._place(name)}, and " if source is not None and source == self.tiers.get(name) else ""
            self._move(name, tier, f"{place}{title} had a free place")
            rising[tier].append(name)

    def _place(self, name: str) -> str:
        tier = self.tiers[name]
        return f"place {self.ranks[tier].index(name) + 1} of {self.before.names[tier]}"

    def _move(self, name: str, target: int, why: str) -> None:
        """Note that an engine moves to a division, perhaps after another move."""
        tier, earlier = self.tiers.get(name), self.moves.get(name)
        source, title = "" if tier is None else self.before.names[tier], self.rules.names[target]
        if tier == target:  # it lost its place, and a free place gives it back
            self.moves.pop(name)
            if name in self.former:
                self.moves[name] = Move(name, "version", source, title, f"new version of {self.former[name]}")
            return
        kind: Kind = "enters" if tier is None else "promoted" if target < tier else "relegated"
        self.moves[name] = Move(name, kind, source, title, f"{earlier.why}; {why}" if earlier else why)

    def _placed_by_rating(self) -> dict[str, int]:
        """Take the newcomers with a rating from the queue; return the divisions whose mean ratings are nearest."""
        rated = [name for name in self.newcomers if name in self.ratings] if self.rules.new == "rating" else []
        means = dict[int, float]()
        for tier, table in enumerate(self.tables[: self.count]):
            if not self.before.sizes[tier]:  # a new division, whose engines are not known yet
                continue
            known = [self.ratings[name] for name in table if name in self.ratings]
            if rated and not known:
                what = f'new = "rating" needs a rating in each division (missing: {self.rules.names[tier]})'
                raise ValueError(f"{what}. Hint: set rating = ... of its entrants")
            means[tier] = sum(known) / max(1, len(known))
        found = dict[str, int]()
        for name in rated:
            rating = self.ratings[name]
            tier = found[name] = min(means, key=lambda each: (abs(means[each] - rating), each))
            self.queue.remove(name)
            mean = f"the mean of {self.rules.names[tier]}, {means[tier]:.0f}"
            self._move(name, tier, f"its rating {rating:g} is nearest to {mean}")
        return found


def _entered(
    rules: Rules,
    divisions: Sequence[list[str]],
    queue: Sequence[str],
    moves: Mapping[str, Move],
    titles: Mapping[str, str] = {},
    protected: Collection[str] = (),
) -> Season:
    """Return a season with the last division completed by waiting engines, or with a qualifier for its places.

    `titles` are the divisions of the season before. Engines that are `protected` do not lose their places to waiting
    engines.
    """
    *upper, bottom = divisions
    size, title, moves = rules.sizes[-1], rules.names[-1], dict(moves)
    losing = [name for name in bottom if name in protected] + [name for name in bottom if name not in protected]
    free = size - len(bottom)
    places = max(0, min(len(queue), free + rules.entries, size - sum(name in protected for name in bottom)))
    leaving = losing[len(losing) - max(0, places - free) :]
    staying = [name for name in bottom if name not in leaving]
    if rules.new == "qualifier" and places and len(queue) + len(leaving) > places:
        open_places = (*(0 for _ in upper), size - len(staying))
        candidates = (*leaving, *queue)
        for name in leaving:
            earlier = moves.pop(name, None)
            if name in titles:
                why = f"plays the qualifier for {title}"
                moves[name] = Move(name, "waits", titles[name], "", f"{earlier.why}; {why}" if earlier else why)
        return Season((*map(tuple, upper), tuple(staying)), open_places, candidates, moves=tuple(moves.values()))
    for place, name in enumerate(queue[:places]):
        earlier, why = moves.get(name), f"{'next' if place else 'first'} of the waiting engines"
        why = f"{earlier.why}; {why}" if earlier else why
        moves[name] = Move(name, "enters", "", title, why)
    for name in leaving:
        who = "1 engine enters" if places == 1 else f"{places} engines enter"
        moves[name] = Move(name, "waits", titles.get(name, ""), "", f"{title} has {size} places, and {who}")
    places_of = (*map(tuple, upper), (*staying, *queue[:places]))
    waiting = (*queue[places:], *leaving)
    return Season(places_of, (0,) * len(divisions), waiting=waiting, moves=tuple(moves.values()))
