"""The games of two engines in PGN files, with their openings: what a sequential test looks at.

Two games are a pair when both begin with the same opening and the colours are swapped. The opening is the FEN tag and
the moves whose comments are ``book``, as cutechess, fastchess and our own exports write them; the latter tell by
Encounter, too, which games belong together. Where nothing tells it, a game stands alone.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from enginetour.errors import UsageRefused
from enginetour.interop.gamecolumns import Games, tags_in
from enginetour.interop.gamefile import Part, opened
from enginetour.interop.tally import UNFINISHED, text
from enginetour.nearmiss import near

LONGEST_OPENING = 1 << 16  # bytes of a game that are looked at; forty moves of book with their tags take 2,000
LARGEST_NUMBER = (1 << 63) - 1  # no file is longer
BLOCK = 1 << 20  # bytes read at once
_WORDS = re.compile(rb"\{([^}]*)\}|([^\s{}]+)")
_NO_MOVE = re.compile(rb"\d+\.*|[\d/*-]+|\$\d+")  # move numbers, results, glyphs (PGN standard 8.2)

Met = list[tuple[Hashable, int]]


def match_games(paths: Sequence[Path], games: Games, naming: Callable[[str], str | None], one: str, other: str) -> Met:
    """(what the two games of a pair share, half points of `one`) in the order of the files.

    Only even games of standard chess with a result. UsageRefused for names that have no games here, or have not met.
    """
    called = [naming(text(raw)) for raw in games.names]
    _refuse_strangers(one, other, {name for name in called if name is not None})
    sides = {one: 0, other: 1}
    places = np.array([-1 if name is None else sides.get(name, -1) for name in called])
    white, black = (places[np.array(end, dtype=np.intp)] for end in (games.white, games.black))
    met = (white >= 0) & (black >= 0) & (white != black) & (np.array(games.results) < UNFINISHED)
    met[[*games.odds, *games.variants]] = False
    wanted = np.flatnonzero(met)
    if not len(wanted):
        step = "without a game there is nothing to test"
        raise UsageRefused(f"{one!r} and {other!r} have not met here", place="--sprt", step=step)
    found: Met = []
    waiting: dict[tuple[Hashable, bool], list[int]] = defaultdict(list)
    for place, opening in zip(wanted.tolist(), _openings(paths, games, wanted), strict=True):
        is_white = bool(white[place] == 0)
        points = 2 - games.results[place] if is_white else games.results[place]
        key = place
        if opening is not None:
            partners = waiting[opening, not is_white]
            if partners:
                key = partners.pop(0)
            else:
                waiting[opening, is_white].append(place)
        found.append((key, points))
    return found


def opening_of(own: bytes) -> Hashable:
    """The opening of a game from its bytes; None where nothing tells it."""
    header, _, moves = own.lstrip().replace(b"\r\n", b"\n").partition(b"\n\n")
    tags, book = tags_in(header), tuple(_book(moves))
    position, encounter = b" ".join(tags.get(b"FEN", b"").split()[:4]), tags.get(b"Encounter", b"")
    if not position and not book and not encounter:
        return None
    return position, book, (tags.get(b"Event", b""), encounter) if encounter else None


def _book(moves: bytes) -> Iterator[bytes]:
    """The first moves, as far as they come from a book."""
    since: list[bytes] = []  # moves that no comment followed yet
    for found in _WORDS.finditer(moves):
        comment, word = found.groups()
        if comment is None:
            if not _NO_MOVE.fullmatch(word):
                since.append(word.lstrip(b"0123456789."))
        elif comment.strip().startswith(b"book"):
            yield from since
            since = []
        else:
            return


def _openings(paths: Sequence[Path], games: Games, wanted: NDArray[np.intp]) -> Iterator[Hashable]:
    """Of the wanted games, in order; every file is read once more."""
    begin = 0
    for path, end in zip(paths, games.ends, strict=True):
        inside = wanted[(wanted >= begin) & (wanted < end)].tolist()
        if inside:
            ends = (games.offsets[place + 1] if place + 1 < end else LARGEST_NUMBER for place in inside)
            spans = [(games.offsets[place], after) for place, after in zip(inside, ends, strict=True)]
            with opened(path) as (part, _):
                yield from (opening_of(own) for own in _slices(part, spans))
        begin = end


def _slices(part: Part, spans: Sequence[tuple[int, int]]) -> Iterator[bytes]:
    """The bytes between these places, which rise; of each at most the longest opening."""
    at, held = 0, b""
    for start, end in spans:
        stop = min(end, start + LONGEST_OPENING)
        while at + len(held) < stop and (fresh := part.read(BLOCK)):
            drop = min(len(held), max(0, start - at))
            held, at = held[drop:] + fresh, at + drop
        yield held[max(0, start - at) : stop - at]


def _refuse_strangers(one: str, other: str, names: set[str]) -> None:
    for name in (one, other):
        if name not in names:
            raise UsageRefused(f"{name!r} has no games here{near(name, sorted(names)[:50])}", place="--sprt")
    if one == other:
        raise UsageRefused(f"{one!r} and {other!r} are one engine, a test needs two", place="--sprt")
