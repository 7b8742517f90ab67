"""Opening choice: how the opening of a game is chosen, by its number, in order or at random.

A suite is a sequence, whatever stands behind it: openings held and checked, positions read where they stand in a
large file, back ranks by number, or lines drawn from a Polyglot book.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from enginetour.interop.files import bundled_openings, file_digest
from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening, Pairing
from enginetour.model.variants import STANDARD, VARIANTS, BackRanks, describe_start, start_count
from enginetour.openings.polyglot import MOST_PLIES, BookChoice, BookLines
from enginetour.openings.positions import NONE_SKIPPED, IndexedPositions, SkippedOpenings, needs_setboard
from enginetour.openings.suites import MOST_OPENINGS, HeldGames, holds_games, open_large_positions, read_suite

# How many openings the games before one have taken: by the numbers of its pairing and the policy alone.

OpeningScope = Literal["pairing", "round", "encounter"]


@dataclass(frozen=True, slots=True)
class _Dealing:
    """`size` openings, a fresh one for each `repeat` games of what `per` counts, whose encounters have `legs` games."""

    per: OpeningScope
    legs: int
    repeat: int
    size: int

    def turn(self, pairing: Pairing) -> int:
        """How many openings the games before this one have taken, by the policy's count."""
        counts = {"pairing": pairing.meeting, "round": pairing.round, "encounter": pairing.encounter}
        leg = min(pairing.leg, self.legs)  # a level match of single games is decided by pairs of them
        return ((counts[self.per] - 1) * self.legs + leg - 1) // self.repeat

    def uses(self, pairing: Pairing) -> int:
        return self.turn(pairing) // self.size

    def used_up(self, pairings: Iterable[Pairing]) -> str:
        passes = max(map(self.uses, pairings), default=0)
        again = "once" if passes == 1 else f"{passes} times"
        return f"the {self.size} of the suite were used up {again} and came again" if passes else ""


def stored_policy(config: Mapping[str, Any]) -> _Dealing | None:
    """That of a stored tournament; None for one that was stored before dealings were."""
    stored = config.get("dealing")
    return _Dealing(**stored) if stored else None


# Which opening a game starts from: a pure function of the seed and the pairing's numbers, never of timing.

HELD_ORDER = 1 << 16  # openings; the order of so many is held (8 bytes each), of more each place is computed
AHEAD = 20_000  # positions of a large file that are checked before game 1: 2 s of processor (measured)
_MOST_SPARES = 1_000  # openings that are looked at for one that `edit` can express
GAMES_AHEAD = 4_000  # games of a PGN, which take five times as long; no more are checked whole
_ROUNDS = 4  # Luby and Rackoff 1988: four make a permutation that looks random both ways


class OpeningSettings(BaseModel):
    """``[play.openings]``: where openings come from, and which games share one.

    By default, `per` is "pairing" where a list determines the pairs and encounters have game pairs: all pairs are
    compared on the same openings. With single games it is "encounter", because one opening without swapped colors
    would measure the opening. It is also "encounter" where results determine the pairs, as in a Swiss or a bubble:
    two entrants meet once there, so all games would start from one opening.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)
    file: Annotated[str, Field(min_length=1, max_length=4096)] | None = Field(
        default=None, description="Opening book: PGN, EPD, FEN or Polyglot .bin. Default: bundled openings."
    )
    order: Literal["random", "sequential"] = Field(default="random", description="Order of the openings.")
    start: int = Field(default=1, ge=1, le=10**9, description="Number of the first opening in sequential order.")
    plies: int | None = Field(
        default=None, ge=0, le=200, description="Number of plies after which lines are cut. Default: whole lines."
    )
    moves: int | None = Field(
        default=None, ge=0, le=100, description="Number of moves after which lines are cut. Default: whole lines."
    )
    choice: BookChoice = Field(default="weight", description="How lines are drawn from a Polyglot book.")
    positions: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1, max_length=921_600)] | None = (
        Field(
            default=None,
            description="Numbers of Chess960 start positions (0 to 959; in double Chess960, White's x 960 + Black's). "
            "Default: all.",
        )
    )
    per: OpeningScope | None = Field(
        default=None,
        description='What has its own opening: "encounter": each; "round": all of a round share one; '
        '"pairing": the n-th encounters of all pairs share one. Default: depends on the format.',
    )
    repeat: int | None = Field(
        default=None, ge=1, le=10**6, description="Number of games per opening. Default: all games of an encounter."
    )
    skip_bad: bool = Field(default=False, description="Whether to skip invalid openings instead of stopping.")

    @field_validator("positions", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="before")
    @classmethod
    def _no_colours(cls, settings: object) -> object:
        for key in ("swap", "reverse"):
            if isinstance(settings, Mapping) and key in settings:
                raise ValueError(f"{key} is a setting of the format: write it under [format]")
        return settings

    @model_validator(mode="after")
    def _one_of_each(self) -> OpeningSettings:
        if self.plies is not None and self.moves is not None:
            raise ValueError("plies and moves both cut lines: give one of them")
        if self.positions is not None and self.file is not None:
            raise ValueError("openings come from a file or from positions: give one of them")
        return self

    @property
    def longest(self) -> int | None:
        """Plies after which lines are cut."""
        return self.plies if self.moves is None else 2 * self.moves


@dataclass(frozen=True, slots=True)
class OpeningSuite:
    """Checked openings and the rule by which they are dealt; `skipped` is what `skip_bad` left out of those read."""

    openings: Sequence[Opening]
    seed: int = 0
    order: Literal["random", "sequential"] = "sequential"
    start: int = 1
    per: OpeningScope = "pairing"
    legs: int = 2
    repeat: int = 2
    source: str = ""
    skipped: SkippedOpenings = NONE_SKIPPED
    digest: str = ""  # of the bytes of its file; a file that changed would change openings

    def pick(self, pairing: Pairing) -> Opening:
        """The opening of one game."""
        return self.openings[self._place(self.dealing.turn(pairing))]

    def spare(self, pairing: Pairing) -> Opening | None:
        """Another opening for engines without setboard, which cannot be told the one of this game; None: there is none.

        It is looked for from the end of the order, so that a short match does not meet it twice.
        """
        turn, size = self.dealing.turn(pairing), len(self.openings)
        cycle, last = turn // size, size - 1 - turn % size
        for back in range(min(size, _MOST_SPARES)):
            other = self.openings[self._place(cycle * size + (last - back) % size)]
            if not needs_setboard(other):
                return other
        return None

    def _place(self, turn: int) -> int:
        size = len(self.openings)
        cycle, place = turn // size, (turn + self.start - 1) % size
        if self.order == "sequential":
            return place
        return (
            shuffled_places(self.seed, cycle, size)[place]
            if size <= HELD_ORDER
            else permuted_place(self.seed, cycle, size, place)
        )

    def seeded(self, seed: int) -> OpeningSuite:
        """The same with another seed for all that is drawn."""
        drawn = self.openings.seeded(seed) if isinstance(self.openings, BookLines) else self.openings
        return replace(self, seed=seed, openings=drawn)

    def dealt(self, per: OpeningScope | None) -> OpeningSuite:
        """The same by the policy of a tournament that has begun; None: it was stored before policies were."""
        return replace(self, per=per or ("pairing" if self.legs > 1 else "encounter"))

    @property
    def is_large(self) -> bool:
        """Not all of it was checked when it was read."""
        return isinstance(self.openings, IndexedPositions | HeldGames)

    def check(self, games: int, first: int = 0) -> None:
        """Look at what so many games can need behind the `first` ones, at most `ahead`, where not all was checked.

        InputRefused as `load`.
        """
        if self.is_large:
            for turn in range(first, min(games, first + min(self.ahead, len(self.openings)))):
                self.openings[self._place(turn)]

    @property
    def ahead(self) -> int:
        """Openings that are looked at before game 1 at most."""
        return GAMES_AHEAD if isinstance(self.openings, HeldGames) else AHEAD

    @property
    def dealing(self) -> _Dealing:
        """The policy by which they are dealt."""
        return _Dealing(self.per, self.legs, self.repeat, len(self.openings))

    def wrapped(self, pairings: Iterable[Pairing]) -> str:
        """A sentence where openings came again, as they do once a suite is used up; else an empty text."""
        used_up = self.dealing.used_up(pairings)
        if used_up and len(self.openings) == 1:
            return f"openings: there is one, and all games began from it, {self.source}"
        return used_up and f"openings: {used_up}"

    @property
    def description(self) -> str:
        """How many there are and where from."""
        if isinstance(self.openings, BookLines):
            return f"{'the best line' if self.openings.choice == 'best' else 'lines drawn by weight'} of {self.source}"
        return f"{len(self.openings)} from {self.source}"

    def shared(self, games: int) -> str:
        """What must be known of a suite larger than what pairs of so many games play of it, all of them the same."""
        used = -(-games // self.repeat)
        if self.per != "pairing" or used >= len(self.openings):
            return ""
        same = "the same one" if used == 1 else f"the same {used}"
        return f', of which all pairs play {same}; per = "encounter" under openings takes fresh ones'

    @property
    def left_out(self) -> SkippedOpenings:
        """What `skip_bad` has left out, as far as that was looked at."""
        return self.openings.left_out() if isinstance(self.openings, IndexedPositions) else self.skipped


@lru_cache(maxsize=8)
def shuffled_places(seed: int, cycle: int, size: int) -> tuple[int, ...]:
    """The places 0..size-1 in an order of their own for each seed and pass.

    Sorted by a digest, so that neither Python's version nor its hash seed has a say.
    """

    def key(place: int) -> bytes:
        return hashlib.blake2b(f"{seed}:{cycle}:{place}".encode(), digest_size=16).digest()

    return tuple(sorted(range(size), key=key))


def permuted_place(seed: int, cycle: int, size: int, place: int) -> int:
    """Where `place` of 0..size-1 goes in an order of their own for each seed and pass: a keyed permutation.

    Feistel rounds over the next even power of two, again until the number is below `size`. Source: Black and Rogaway,
    Ciphers with Arbitrary Finite Domains, 2002 (cycle walking).
    """
    half = (max(size - 1, 1).bit_length() + 1) // 2
    mask = (1 << half) - 1
    while True:
        left, right = place >> half, place & mask
        for turn in range(_ROUNDS):
            digest = hashlib.blake2b(f"{seed}:{cycle}:{turn}:{right}".encode(), digest_size=8).digest()
            left, right = right, left ^ (int.from_bytes(digest) & mask)
        place = left << half | right
        if place < size:
            return place


def load_suite(
    settings: OpeningSettings,
    *,
    seed: int,
    legs: int,
    folder: Path,
    listed: bool = True,
    variant: str = STANDARD,
    most_plies: int = MOST_PLIES,
) -> OpeningSuite:
    """The suite of a tournament; a relative `file` belongs to `folder`, the configuration's.

    `legs` is games per encounter; a list, `listed`, or else results say who meets whom. Lines of a Polyglot book whose
    length nobody gave are cut after `most_plies`. Small suites are checked whole: InputRefused names file and line of
    the first bad opening. What `check` does is for large ones.
    """
    found, source, skipped = _found(settings, seed, folder, variant, most_plies)
    return OpeningSuite(
        found,
        seed=seed,
        order="sequential" if isinstance(found, BookLines) else settings.order,  # its lines are drawn already
        start=(settings.start - 1) % len(found) + 1,
        per=settings.per or ("pairing" if listed and legs > 1 else "encounter"),
        legs=legs,
        repeat=settings.repeat or legs,
        source=source,
        skipped=skipped,
        digest=file_digest(Path(source)) if Path(source).is_file() else "",
    )


def _found(
    settings: OpeningSettings, seed: int, folder: Path, variant: str, most_plies: int
) -> tuple[Sequence[Opening], str, SkippedOpenings]:
    if settings.positions is not None and not VARIANTS[variant].any_rank:
        what = f"positions are numbers of back ranks, and {variant} is played"
        raise InputRefused(what, step='add variant = "chess960" under [play], or leave them out')
    if settings.file is None and VARIANTS[variant].any_rank:
        if too_high := [number for number in settings.positions or () if number >= start_count(variant)]:
            raise InputRefused(f"no start number {too_high[0]}: {variant} has 0 to {start_count(variant) - 1}")
        return BackRanks(variant, settings.positions), describe_start(variant), NONE_SKIPPED
    if settings.file is None and variant != STANDARD:
        return (Opening(index=1, variant=variant),), describe_start(variant), NONE_SKIPPED
    path = (folder / Path(settings.file).expanduser()) if settings.file else bundled_openings()
    if path.suffix.lower() == ".bin":
        if variant != STANDARD:
            what = f"a Polyglot book begins at the usual start of standard chess, and {variant} is played"
            raise InputRefused(what, place=str(path), step="give PGN games, EPD or FEN lines")
        plies = min(MOST_PLIES, most_plies) if settings.longest is None else settings.longest
        return BookLines(path, settings.choice, seed, plies), str(path), NONE_SKIPPED
    return _read(settings, path, variant)


def _read(settings: OpeningSettings, path: Path, variant: str) -> tuple[Sequence[Opening], str, SkippedOpenings]:
    stream = open_large_positions(path)
    if stream is not None:
        indexed = IndexedPositions(stream, path, variant, skip_bad=settings.skip_bad)
        if not 0 < len(indexed) <= MOST_OPENINGS:
            raise InputRefused(f"{len(indexed):,} openings, at most {MOST_OPENINGS:,}", place=str(path), step="cut it")
        return indexed, str(path), NONE_SKIPPED
    if not settings.skip_bad and holds_games(path):  # else it must be known which are bad before they are counted
        games = HeldGames(path, settings.longest, variant)
        if len(games) > GAMES_AHEAD:
            games.refuse_unreadable()
        if games:
            return games if len(games) > GAMES_AHEAD else tuple(games), str(path), NONE_SKIPPED
    good: list[Opening] = []
    count, first = 0, ""
    for found in read_suite(path, settings.longest, variant):
        if isinstance(found, Opening):
            good.append(found)
            continue
        place = f"{path}:{found.line}"
        if not settings.skip_bad:
            step = "mend it, or leave bad openings out with skip_bad = true"
            raise InputRefused(f"bad opening, {found.why}", place=place, step=step)
        count += 1
        first = first or f"{place}: {found.why}"
    if not good:
        more = f", {count} bad ones" if count else ""
        raise InputRefused(f"no openings in it{more}", place=str(path), step="give PGN games, EPD or FEN lines")
    return tuple(good), str(path), SkippedOpenings(count, len(good) + count, first)
