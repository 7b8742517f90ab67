"""Which games of files a list takes by what their tags say: variant, odds, day, time class, control."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, TypeAlias

from enginetour.interop.naming import any_fits
from enginetour.interop.tally import UNFINISHED, text
from enginetour.model.errors import UsageRefused
from enginetour.model.timecontrol import TIME_CLASSES, time_class

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from enginetour.interop.gamecolumns import Games


Taken: TypeAlias = "tuple[NDArray[np.bool_], dict[str, int], dict[str, int]]"

PARTS = ("variant", "odds", "date", "time class", "control", "termination")  # in the order of the store's lists
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
    variant: str = "standard"  # of `variants`, which knows chess: it is not loaded for the usual one

    def check(self) -> None:
        """UsageRefused for days in the wrong order, and for a class, an ending or a variant that there is not."""
        if self.variant != "standard":
            from enginetour.model.variants import variant_named

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
                    from enginetour.model.errors import near

                    place = f"--{kind.replace(' ', '-')}"
                    what = kind.removeprefix("exclude ")
                    raise UsageRefused(f"unknown {what} {name!r}{near(name, known)}", place=place)

    @property
    def asks_tags(self) -> bool:
        """More must be read of a game than who played whom with what result."""
        tags = self.since or self.until or self.time_classes or self.tc or self.exclude_termination
        return bool(tags or self.variant != "standard")

    def taken(self, games: Games) -> Taken:
        """Which games are taken, and how many finished ones fall to each part, counted with the first that does.

        Last those of other variants, by name.
        """
        import numpy as np

        wanted = {"variant": of_variant(games, self.variant), "odds": np.ones(len(games.results), dtype=np.bool_)}
        if games.odds and not self.odds:
            wanted["odds"][list(games.odds)] = False
        days = np.array(games.days)
        first, last = (None if day is None else int(f"{day:%Y%m%d}") for day in (self.since, self.until))
        wanted["date"] = (days >= (first or 0)) & ((days <= last) & (days > 0) if last is not None else True)
        whites = np.array(games.control)
        blacks = whites.copy()
        if games.black_control:
            blacks[list(games.black_control)] = list(games.black_control.values())
        controls = [text(raw) for raw in games.controls]
        pairs, which = np.unique(np.stack((whites, blacks)), axis=1, return_inverse=True)
        ends = [(controls[white], controls[black]) for white, black in pairs.T.tolist()]
        fits = [not self.time_classes or time_class(*both) in self.time_classes for both in ends]
        wanted["time class"] = np.array(fits, dtype=np.bool_)[which.reshape(-1)]
        fits = [not self.tc or all(any_fits(control, self.tc) for control in both) for both in ends]
        wanted["control"] = np.array(fits, dtype=np.bool_)[which.reshape(-1)]
        wanted["termination"] = np.ones(len(games.results), dtype=np.bool_)
        wanted["termination"][
            [game for game, raw in games.terminations.items() if ended_so(text(raw), self.exclude_termination)]
        ] = False
        left, apart = np.array(games.results) < UNFINISHED, dict[str, int]()
        others = variants_of(games, left & ~wanted["variant"])
        taken = np.ones(len(left), dtype=np.bool_)
        for part in PARTS:
            apart[part] = int((left & ~wanted[part]).sum())
            left &= wanted[part]
            taken &= wanted[part]
        return taken, {part: count for part, count in apart.items() if count}, others


def ended_so(tag: str, endings: Collection[str]) -> bool:
    """Whether the value of a Termination tag says one of these endings."""
    return any(tag.casefold() in ENDINGS[name] for name in endings)


def of_variant(games: Games, variant: str) -> NDArray[np.bool_]:
    """Which games are of a variant; those that do not say are of standard chess."""
    import numpy as np

    fits = np.full(len(games.results), variant == "standard")
    if games.variants:
        from enginetour.interop import varianttags

        for game, raw in games.variants.items():
            fits[game] = varianttags.fits(raw, variant)
    return fits


def variants_of(games: Games, which: NDArray[np.bool_]) -> dict[str, int]:
    """How many of these games are of which variant, the most first."""
    if not which.any():
        return {}
    from enginetour.interop import varianttags

    tags = Counter(raw for game, raw in games.variants.items() if which[game])
    plain = int(which.sum()) - tags.total()
    return varianttags.by_name(tags + Counter({b"": plain}))
