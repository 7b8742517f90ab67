"""How the opening of a game is chosen: by its number, in order or at random.

A book is a sequence of openings: checked openings in memory, positions read from a large file on request, start
positions of Chess960 by number, or lines drawn from a Polyglot book.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from enginetour.interop.files import bundled_openings, file_digest
from enginetour.model.errors import InputRefused
from enginetour.model.game import Opening, Pairing
from enginetour.model.plugins import Registry
from enginetour.model.variants import STANDARD, VARIANTS, BackRanks, describe_start, start_count
from enginetour.openings.books import MOST_OPENINGS, HeldGames, holds_games, open_large_positions, read_openings
from enginetour.openings.polyglot import MOST_PLIES, BookChoice, BookLines
from enginetour.openings.positions import (
    MEND_OR_SKIP,
    NONE_SKIPPED,
    BadOpening,
    IndexedPositions,
    SkippedOpenings,
    WrittenOpening,
    check_opening,
    needs_setboard,
)

# How many openings the earlier games have taken: determined only by the numbers of the pairing and the policy.

OpeningScope = Literal["pairing", "round", "encounter"]


@dataclass(frozen=True, slots=True)
class _Dealing:
    """Policy for the use of openings: each opening is used for `repeat` games.

    `per` selects what is counted: encounters of the pair, rounds, or encounters of the tournament. `legs` is the number
    of games per encounter, `size` the number of openings.
    """

    per: OpeningScope
    legs: int
    repeat: int
    size: int

    def turn(self, pairing: Pairing) -> int:
        """Return how many openings the games before this one have taken."""
        counts = {"pairing": pairing.meeting, "round": pairing.round, "encounter": pairing.encounter}
        leg = min(pairing.leg, self.legs)  # a drawn knockout match continues with pairs of single games
        return ((counts[self.per] - 1) * self.legs + leg - 1) // self.repeat

    def uses(self, pairing: Pairing) -> int:
        return self.turn(pairing) // self.size

    def used_up(self, pairings: Iterable[Pairing]) -> str:
        """Return a note if the book was used up and started again, otherwise an empty text."""
        passes = max(map(self.uses, pairings), default=0)
        again = "once" if passes == 1 else f"{passes} times"
        return f"all {self.size} openings were used, and the book was started again {again}" if passes else ""


def stored_policy(config: Mapping[str, Any]) -> _Dealing | None:
    """Return the policy of a stored tournament, or None if it was created before policies were stored."""
    stored = config.get("dealing")
    return _Dealing(**stored) if stored else None


# The opening of a game depends only on the seed and the numbers of the pairing, never on timing.

HELD_ORDER = 1 << 16  # openings; up to this number the random order is kept in memory (8 bytes each)
AHEAD = 20_000  # positions of a large file that are checked before game 1; takes 2 s of CPU time (measured)
_MOST_SPARES = 1_000  # number of openings that are searched for one that `edit` can express
# Games of a PGN file that are checked before game 1; a game takes five times as long as a position. Larger files are
# not checked as a whole.
GAMES_AHEAD = 4_000
_ROUNDS = 4  # Luby and Rackoff 1988: four rounds make a strong pseudorandom permutation


class OpeningSettings(BaseModel):
    """Settings of ``[play.openings]``: the opening book and the choice of an opening for each game.

    `file` may be outside the configuration's directory, because testers share books between tournaments.

    The default of `per` is ``pairing`` if the format lists all encounters and an encounter has several games, so that
    all pairs are compared on the same openings. It is ``encounter`` for single games, because a single game without
    swapped colors measures the opening. It is also ``encounter`` if results decide who plays whom (Swiss, bubble): two
    engines then meet only once, and all games would use the same opening.
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
            description="Numbers of Chess960 start positions (0 to 959; in double Chess960: "
            "White's number x 960 + Black's number). Default: all start positions.",
        )
    )
    per: OpeningScope | None = Field(
        default=None,
        description='Which games share an opening. "encounter": the games of one encounter; "round": all games of a '
        'round; "pairing": the n-th encounters of all pairs. Default: depends on the format.',
    )
    repeat: int | None = Field(
        default=None, ge=1, le=10**6, description="Number of games per opening. Default: all games of an encounter."
    )
    skip_bad: bool = Field(default=False, description="Whether to skip invalid openings instead of stopping.")

    @field_validator("positions", mode="before")
    @classmethod
    def _as_tuple(cls, value: object) -> object:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="before")
    @classmethod
    def _check_format_keys(cls, settings: object) -> object:
        for key in ("swap", "reverse"):
            if isinstance(settings, Mapping) and key in settings:
                raise ValueError(f"{key} is a key of [format], not of [play.openings]")
        return settings

    @model_validator(mode="after")
    def _check_combinations(self) -> OpeningSettings:
        if self.plies is not None and self.moves is not None:
            raise ValueError("plies and moves cannot be combined: give only one of them")
        if self.positions is not None and self.file is not None:
            raise ValueError("file and positions cannot be combined: give only one of them")
        return self

    @property
    def longest(self) -> int | None:
        """Return the number of plies after which lines are cut, or None for whole lines."""
        return self.plies if self.moves is None else 2 * self.moves


@dataclass(frozen=True, slots=True)
class OpeningBook:
    """Checked openings and the policy for their use; `skipped` describes the openings that `skip_bad` left out."""

    openings: Sequence[Opening]
    seed: int = 0
    order: Literal["random", "sequential"] = "sequential"
    start: int = 1
    per: OpeningScope = "pairing"
    legs: int = 2
    repeat: int = 2
    source: str = ""
    skipped: SkippedOpenings = NONE_SKIPPED
    digest: str = ""  # digest of the file's bytes, because a changed file would change the openings

    def pick(self, pairing: Pairing) -> Opening:
        """Return the opening of one game."""
        return self.openings[self._place(self.dealing.turn(pairing))]

    def spare(self, pairing: Pairing) -> Opening | None:
        """Return another opening for engines without setboard that cannot start at the opening of this game, or None.

        The search starts at the end of the order, so that a short match does not use the opening twice.
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

    def seeded(self, seed: int) -> OpeningBook:
        """Return the book with another seed for all random choices."""
        drawn = self.openings.seeded(seed) if isinstance(self.openings, BookLines) else self.openings
        return replace(self, seed=seed, openings=drawn)

    def dealt(self, per: OpeningScope | None) -> OpeningBook:
        """Return the book with the stored policy of a tournament; None if the tournament is older than policies."""
        return replace(self, per=per or ("pairing" if self.legs > 1 else "encounter"))

    @property
    def is_large(self) -> bool:
        """Return whether the openings were not all checked when the file was read."""
        return isinstance(self.openings, IndexedPositions | HeldGames)

    def check(self, games: int, first: int = 0) -> None:
        """Check the openings that the games from `first` to `games` need, at most `ahead` of them, in a large book.

        Raise InputRefused as `load_opening_book` does.
        """
        if self.is_large:
            for turn in range(first, min(games, first + min(self.ahead, len(self.openings)))):
                self.openings[self._place(turn)]

    @property
    def ahead(self) -> int:
        """Return the maximum number of openings that are checked before game 1."""
        return GAMES_AHEAD if isinstance(self.openings, HeldGames) else AHEAD

    @property
    def dealing(self) -> _Dealing:
        """Return the policy for the use of the openings."""
        return _Dealing(self.per, self.legs, self.repeat, len(self.openings))

    def wrapped(self, pairings: Iterable[Pairing]) -> str:
        """Return a note if openings were used again because the book was used up, otherwise an empty text."""
        used_up = self.dealing.used_up(pairings)
        if used_up and len(self.openings) == 1:
            return f"all games started from the only opening ({self.source})"
        return used_up

    @property
    def description(self) -> str:
        """Return the number of openings and their source."""
        if isinstance(self.openings, BookLines):
            return f"{'best line' if self.openings.choice == 'best' else 'random lines by weight'} of {self.source}"
        return f"{len(self.openings)} from {self.source}"

    def shared(self, games: int) -> str:
        """Return a note if all pairs play the same openings of a larger book; `games` is the number per pair."""
        used = -(-games // self.repeat)
        if self.per != "pairing" or used >= len(self.openings):
            return ""
        same = "the same one" if used == 1 else f"the same {used}"
        hint = 'to use different openings for each pair, set per = "encounter" in openings'
        return f", of which all pairs play {same}; {hint}"

    @property
    def left_out(self) -> SkippedOpenings:
        """Return which openings `skip_bad` has left out, among the openings that were checked so far."""
        return self.openings.left_out() if isinstance(self.openings, IndexedPositions) else self.skipped


@lru_cache(maxsize=8)
def shuffled_places(seed: int, cycle: int, size: int) -> tuple[int, ...]:
    """Return the places 0..size-1 in a random order that depends on seed and cycle.

    The order is sorted by a digest, so that it does not depend on Python's version or hash seed.
    """

    def key(place: int) -> bytes:
        return hashlib.blake2b(f"{seed}:{cycle}:{place}".encode(), digest_size=16).digest()

    return tuple(sorted(range(size), key=key))


def permuted_place(seed: int, cycle: int, size: int, place: int) -> int:
    """Return the new place of `place` in 0..size-1 by a permutation that depends on seed and cycle.

    Feistel rounds over the next even power of two are repeated until the number is below `size`. Source: Black and
    Rogaway, Ciphers with Arbitrary Finite Domains, 2002 (cycle walking).
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


def load_opening_book(
    settings: OpeningSettings,
    *,
    seed: int,
    legs: int,
    folder: Path,
    listed: bool = True,
    variant: str = STANDARD,
    most_plies: int = MOST_PLIES,
) -> OpeningBook:
    """Return the book of a tournament; a relative `file` belongs to `folder`, the directory of the configuration.

    `legs` is the number of games per encounter; `listed` is whether the format lists all encounters before results.
    Lines of a Polyglot book are cut after `most_plies` unless settings give a length. Small books are checked as a
    whole: raise InputRefused, with file and line, for the first invalid opening. Large books need `check`.
    """
    found, source, skipped = _open_book(settings, seed, folder, variant, most_plies)
    return OpeningBook(
        found,
        seed=seed,
        order="sequential" if isinstance(found, BookLines) else settings.order,  # its lines are random already
        start=(settings.start - 1) % len(found) + 1,
        per=settings.per or ("pairing" if listed and legs > 1 else "encounter"),
        legs=legs,
        repeat=settings.repeat or legs,
        source=source,
        skipped=skipped,
        digest=file_digest(Path(source)) if Path(source).is_file() else "",
    )


def _open_book(
    settings: OpeningSettings, seed: int, folder: Path, variant: str, most_plies: int
) -> tuple[Sequence[Opening], str, SkippedOpenings]:
    if settings.positions is not None and not VARIANTS[variant].any_rank:
        what = f"positions are start positions of Chess960, but the variant is {variant}"
        raise InputRefused(what, step='add variant = "chess960" under [play], or remove positions')
    if settings.file is None and VARIANTS[variant].any_rank:
        if too_high := [number for number in settings.positions or () if number >= start_count(variant)]:
            found, last = too_high[0], start_count(variant) - 1
            raise InputRefused(f"a start position of {variant} must be between 0 and {last} (found {found})")
        return BackRanks(variant, settings.positions), describe_start(variant), NONE_SKIPPED
    if settings.file is None and variant != STANDARD:
        return (Opening(index=1, variant=variant),), describe_start(variant), NONE_SKIPPED
    path = (folder / Path(settings.file).expanduser()) if settings.file else bundled_openings()
    if path.suffix.lower() == ".bin":
        if variant != STANDARD:
            what = f"a Polyglot book starts at the initial position of standard chess, but the variant is {variant}"
            raise InputRefused(what, place=str(path), step="use PGN games, EPD or FEN lines")
        plies = min(MOST_PLIES, most_plies) if settings.longest is None else settings.longest
        return BookLines(path, settings.choice, seed, plies), str(path), NONE_SKIPPED
    kind = path.suffix.lower().removeprefix(".")
    if kind in READERS:
        return _checked(settings, path, _by_plugin(READERS[kind], path, settings.longest, variant))
    return _read(settings, path, variant)


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of opening books, from a plug-in; the name of its entry point is the ending of the files, without a dot.

    `read` yields the openings of a file as written. It raises ValueError or OSError if it cannot read the file.
    `example` is the content of a valid file, for the laws of `enginetour.testing`.
    """

    read: Callable[[Path], Iterable[WrittenOpening]]
    example: bytes = b""


CONTRACT = 1  # version of the contract of a reader, for plug-ins
BUILT_IN = ("", "pgn", "epd", "fen", "bin", "gz", "txt")  # endings of files that enginetour reads itself
READERS = Registry("enginetour.openings", Reader, CONTRACT, {}, reserved=BUILT_IN)


def _by_plugin(reader: Reader, path: Path, plies: int | None, variant: str) -> Iterator[Opening | BadOpening]:
    index = 0
    try:
        for written in reader.read(path):
            found = check_opening(written, plies, variant)
            index += isinstance(found, Opening)
            if index > MOST_OPENINGS:
                raise ValueError(f"more than {MOST_OPENINGS:,} openings")
            yield replace(found, index=index) if isinstance(found, Opening) else found
    except Exception as error:  # a plug-in may raise anything
        why = str(error) if isinstance(error, OSError | ValueError) else f"{type(error).__name__}: {error}"
        raise InputRefused(f"opening book cannot be read: {why}", place=str(path)) from None


def _read(settings: OpeningSettings, path: Path, variant: str) -> tuple[Sequence[Opening], str, SkippedOpenings]:
    stream = open_large_positions(path)
    if stream is not None:
        indexed = IndexedPositions(stream, path, variant, skip_bad=settings.skip_bad)
        if not 0 < len(indexed) <= MOST_OPENINGS:
            what = f"number of openings must be between 1 and {MOST_OPENINGS:,} (found {len(indexed):,})"
            raise InputRefused(what, place=str(path), step="use a smaller file")
        return indexed, str(path), NONE_SKIPPED
    # With skip_bad, invalid games must be found before openings are counted.
    if not settings.skip_bad and holds_games(path):
        games = HeldGames(path, settings.longest, variant)
        if len(games) > GAMES_AHEAD:
            games.check_readable()
        if games:
            return games if len(games) > GAMES_AHEAD else tuple(games), str(path), NONE_SKIPPED
    return _checked(settings, path, read_openings(path, settings.longest, variant))


def _checked(
    settings: OpeningSettings, path: Path, openings: Iterable[Opening | BadOpening]
) -> tuple[Sequence[Opening], str, SkippedOpenings]:
    good: list[Opening] = []
    count, first = 0, ""
    for found in openings:
        if isinstance(found, Opening):
            good.append(found)
            continue
        place = f"{path}:{found.line}"
        if not settings.skip_bad:
            raise InputRefused(f"invalid opening: {found.why}", place=place, step=MEND_OR_SKIP)
        count += 1
        first = first or f"{place}: {found.why}"
    if not good:
        more = f" ({count} invalid)" if count else ""
        raise InputRefused(f"no valid openings found{more}", place=str(path), step="use PGN games, EPD or FEN lines")
    return tuple(good), str(path), SkippedOpenings(count, len(good) + count, first)
