"""Tally of a scan of game files: three numbers per game, the names, and counts of games that were left out."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from enginetour.ratings.pairs import Pairs


RESULTS = {b"1-0": 0, b"1/2-1/2": 1, b"0-1": 2}  # PGN standard 8.1.1.7
UNFINISHED = 3  # any other result
TERMINATORS = {**RESULTS, b"*": UNFINISHED}  # what ends the moves of a game (PGN standard 8.2.6)
AT_ODDS = 4  # a game at odds, with any result
OF_VARIANT = 5  # a game of a variant, with any result
VARIANT = b"Variant"  # name of the tag
MOST_TAGS = 1000  # tags of one game (chosen here); the PGN standard has seven, usual programs write some dozens
_LONGEST_RESULT = 64  # bytes
_LONGEST_NAME = 4096  # bytes; the PGN standard requires 255 (4.3)
_BROKEN_KEPT = 1000  # number of broken games whose places are kept; all broken games are counted
_KINDS_KEPT = 1000  # number of unusual results whose first places are kept; all results are counted
# Hyphens, dashes, minus sign and colon; the dashes of cp1252 are 96 and 97.
_DASHES = dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212\x96\x97:"), "-")
_SPELLED = {"1-0": 0, "0-1": 2, **dict.fromkeys(("1/2-1/2", "1/2", "½-½", "½", "0.5-0.5", "0,5-0,5"), 1)}

# A quote without a backslash: the value did not end at its apparent end (PGN standard 7).
_BARE_QUOTE = re.compile(rb'(?<!\\)(?:\\\\)*"')
_ESCAPED = re.compile(rb'\\(["\\])')


def unescaped(raw: bytes) -> bytes:
    """Return the value of a tag from the bytes between its quotes; other backslashes are kept."""
    return _ESCAPED.sub(rb"\1", raw) if b"\\" in raw else raw


def escaped(value: bytes) -> bytes:
    """Return the bytes of a value between the quotes of a tag, the inverse of `unescaped`."""
    return value.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def is_unnamed(raw: bytes) -> bool:
    """Return whether a name is blank or "?", the PGN standard's value for unknown."""
    return raw.strip() in (b"", b"?")


def tag_text(raw: bytes) -> str:
    """Decode a name as UTF-8 or else as Latin-1, and strip it; NUL becomes "?", which PostgreSQL requires."""
    value = unescaped(raw).replace(b"\0", b"?")
    try:
        return value.decode("utf-8").strip()
    except UnicodeDecodeError:
        return value.decode("latin-1").strip()


def engine_name(raw: bytes) -> str:
    """Return the name of an engine as text in Unicode form NFC with single spaces, so that one name is one engine."""
    return normal_name(tag_text(raw))


def normal_name(name: str) -> str:
    """Return a name in Unicode form NFC with single spaces."""
    if not name.isascii():
        from unicodedata import normalize

        name = normalize("NFC", name)
    return " ".join(name.split())


@lru_cache(maxsize=_KINDS_KEPT)
def result_code(raw: bytes) -> int:
    """Return the code of a result in any usual spelling (``1/2``, ``½-½``, ``1:0``, dashes); UNFINISHED for others."""
    raw = raw.strip()
    if len(raw) > _LONGEST_RESULT:
        return UNFINISHED
    return _SPELLED.get("".join(tag_text(raw).replace("\u2044", "/").translate(_DASHES).split()), UNFINISHED)


class _Names(dict[bytes, int]):
    """Map raw names to consecutive numbers.

    A name that needs the careful reader is mapped to -1, is not kept, and is counted in `refused`.
    """

    refused = 0

    def __missing__(self, raw: bytes) -> int:
        if is_unnamed(raw) or len(raw) > _LONGEST_NAME or _BARE_QUOTE.search(raw):
            self.refused += 1
            return -1
        number = self[raw] = len(self)
        return number


class _Results(dict[bytes, int]):
    def __missing__(self, raw: bytes) -> int:
        return UNFINISHED


_CODES = _Results(RESULTS)


@dataclass(slots=True)
class Tally:
    """Count games in the order of reading; `broken` has place and reason of the first games that were not counted.

    Games with enginetour's Handicap tag are not rated unless `take_odds` is true. Games of variants are never rated.
    """

    take_odds: bool = False
    names: _Names = field(default_factory=_Names)
    white: array[int] = field(default_factory=lambda: array("i"))
    black: array[int] = field(default_factory=lambda: array("i"))
    results: array[int] = field(default_factory=lambda: array("b"))
    others: Counter[str] = field(default_factory=Counter)
    respelled: Counter[str] = field(default_factory=Counter)  # results in an unusual spelling that count
    places: dict[str, str] = field(default_factory=dict)  # first place of each of `others` and `respelled`
    contradicted: int = 0  # games whose moves end with another result than their tag
    contradicted_at: str = ""  # place of the first of them
    variants_aside: Counter[bytes] = field(default_factory=Counter)  # raw tags of the games that are OF_VARIANT
    broken: list[tuple[str, str]] = field(default_factory=list)
    broken_games: int = 0
    untagged: int = 0  # number of broken games that are moves without tags
    ends: list[int] = field(default_factory=list)  # number of games at the end of each file

    @property
    def games(self) -> int:
        """Return the number of games with two names and a result, finished or not."""
        return len(self.results)

    @property
    def latin(self) -> int:
        """Return the number of names that are not UTF-8."""
        return sum(raw.decode("utf-8", "replace").encode() != raw for raw in self.names)

    def add(self, whites: Sequence[bytes], blacks: Sequence[bytes], results: Sequence[bytes], place: str = "") -> bool:
        """Count games by raw columns; return False, with no game counted, if a game needs the careful reader.

        The careful reader is necessary for games with quotes in names. It is also necessary for the first game with
        each unusual result, because only the careful reader determines the `place`.
        """
        refused = self.names.refused
        # an array takes a third longer from an iterator (measured)
        white = array("i", list(map(self.names.__getitem__, whites)))
        black = array("i", list(map(self.names.__getitem__, blacks)))
        if self.names.refused != refused:
            return False
        codes = bytes(map(_CODES.__getitem__, results))
        if UNFINISHED in codes:
            if not self._placed([raw for raw in results if raw.strip() not in RESULTS], place):
                return False
            codes = bytes(map(result_code, results))
        self.white.extend(white)
        self.black.extend(black)
        self.results.frombytes(codes)
        return True

    def append(self, white: bytes, black: bytes, codes: bytes) -> bool:
        """Count games by numbers of names and codes of results; return False if the first ``*`` needs its place."""
        if not self._placed([b"*"] * codes.count(UNFINISHED), ""):
            return False
        self.white.frombytes(white)
        self.black.frombytes(black)
        self.results.frombytes(codes)
        return True

    def _placed(self, unusual: Sequence[bytes], place: str) -> bool:
        """Count unusual results; return False, with none counted, if the place of a new kind is unknown."""
        written = [tag_text(raw[:_LONGEST_NAME]) for raw in unusual]
        fresh = set(written) - self.places.keys() if len(self.places) < _KINDS_KEPT else set()
        if fresh and not place:
            return False
        self.places.update(dict.fromkeys(fresh, place))
        for raw, shown in zip(unusual, written, strict=True):
            (self.others if result_code(raw) == UNFINISHED else self.respelled)[shown] += 1
        return True

    def contradict(self, place: str) -> None:
        """Count a game whose moves end with another result than its tag; the tag counts."""
        self.contradicted += 1
        self.contradicted_at = self.contradicted_at or place

    def set_aside(self, *, odds: bool, variant: bytes) -> None:
        """Mark the last game as a game at odds or of another variant."""
        if self.results[-1] < UNFINISHED and (variant or (odds and not self.take_odds)):
            self.results[-1] = OF_VARIANT if variant else AT_ODDS
            self.variants_aside.update([variant] if variant else [])

    def break_at(self, place: str, why: str, *, games: int = 1) -> None:
        """Note a part that cannot be read, and the number of games that are certainly lost."""
        self.broken_games += games
        if len(self.broken) < _BROKEN_KEPT:
            self.broken.append((place, why))

    def break_untagged(self, place: str) -> None:
        """Note moves that begin without tags before them."""
        self.untagged += 1
        self.break_at(place, "the game does not have tags")

    def join(self, other: Self) -> None:
        """Append the games of another tally."""
        import numpy as np

        self.ends += [self.games + end for end in other.ends]
        numbers = np.array([self.names[raw] for raw in other.names], dtype=np.intc)
        for mine, theirs in ((self.white, other.white), (self.black, other.black)):
            mine.frombytes(numbers[np.array(theirs, dtype=np.intc)].tobytes())
        self.results.extend(other.results)
        self.others.update(other.others)
        self.respelled.update(other.respelled)
        self.places = {**other.places, **self.places}
        self.contradicted += other.contradicted
        self.contradicted_at = self.contradicted_at or other.contradicted_at
        self.variants_aside.update(other.variants_aside)
        self.broken += other.broken[: _BROKEN_KEPT - len(self.broken)]
        self.broken_games += other.broken_games
        self.untagged += other.untagged

    def sides(
        self, naming: Callable[[str], str | None], names: Sequence[str] | None = None
    ) -> tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.int64]]:
        """Return sorted engine names (default: all that `naming` returns), and White and Black of each game as indices.

        An engine that is not in `names` is -1.
        """
        import numpy as np

        called = [naming(engine_name(raw)) for raw in self.names]
        known = tuple(sorted({name for name in called if name is not None}) if names is None else names)
        place = {name: number for number, name in enumerate(known)}
        places = np.array([-1 if name is None else place.get(name, -1) for name in called], dtype=np.int64)
        white, black = (places[np.array(end, dtype=np.intp)] for end in (self.white, self.black))
        return known, white, black

    def pairs(
        self, naming: Callable[[str], str | None], taken: NDArray[np.bool_] | None = None
    ) -> tuple[Pairs, int, int]:
        """Return the pairs for ratings, and the numbers of games of engines against themselves and of unwanted engines.

        `naming` returns the name for an engine, or None if its games are left out; `taken` selects games.
        """
        import numpy as np

        from enginetour.ratings.pairs import Pairs

        known, white, black = self.sides(naming)
        results = np.array(self.results, dtype=np.int8)
        finished, wanted = results < UNFINISHED, (white >= 0) & (black >= 0)
        if taken is not None:
            finished &= taken
        alone = finished & wanted & (white == black)
        # One number per game, with White's win first, so that sorted numbers are sorted pairs.
        code = (white * len(known) + black) * len(RESULTS) + results
        if len(RESULTS) * len(known) ** 2 <= np.iinfo(np.int32).max:
            code = code.astype(np.int32)  # sorts in 0.7 to 0.9 of the time (measured)
        kept = finished & wanted & ~alone
        found, times = np.unique(code if kept.all() else code[kept], return_counts=True)
        met, result = np.divmod(found, len(RESULTS))
        first = np.diff(met, prepend=-1) != 0
        counts = np.zeros((len(RESULTS), int(first.sum())))
        counts[result, first.cumsum() - 1] = times
        ends = (end.astype(np.intp) for end in np.divmod(met[first], max(1, len(known))))
        pairs = Pairs(known, *ends, *counts)
        playing = [name for name, played in zip(known, pairs.played, strict=True) if played]
        return pairs.within(playing), int(alone.sum()), int((finished & ~wanted).sum())
