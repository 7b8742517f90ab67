"""Game pairs in files: games that share an opening, and matches of two engines."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Generic, Literal, TypeVar

from enginetour.interop.tally import UNFINISHED, engine_name, normal_name
from enginetour.model.errors import UsageRefused, match_name, no_match_hint, suggest
from enginetour.ratings.pentanomial import PAIR_CLASSES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from enginetour.interop.gametags import GameColumns
    from enginetour.ratings.pairs import Openings


# The opening of each game as one number, and the rule for pairs. Two games of two engines are a pair if both begin
# with the same opening and the colors are swapped. The opening is the FEN tag and the moves with ``book`` comments,
# which cutechess, fastchess and enginetour write. The tags Encounter and OpeningNumber of enginetour's exports also
# show which games belong together and which opening was used. A game without this information does not have a
# partner.

_Place = TypeVar("_Place")
_Color = Literal["white", "black"]

LONGEST_OPENING = 1 << 16  # bytes of a game that are read; forty book moves with their tags take 2,000
UNKNOWN_OPENING = 0
_CACHED = 256  # entries, at most 16 MB; the two games of a pair are close to each other in files
_BYTES = 6  # bytes of an opening's number; among a million openings of two engines two are equal in one of 560 cases
_OPENING_TAGS = (b"[FEN", b"[Encounter")  # without these tags only book comments show the opening
_BOOK = re.compile(rb"(?:[^{]*\{\s*book[^}]*\})+")
_BOOK_FIRST = re.compile(rb"[^{]*\{\s*book")
_COMMENT = re.compile(rb"\{[^}]*\}|\}")
_NO_MOVE = re.compile(rb"\d+\.*|[\d/*-]+|\$\d+")  # move numbers, results, glyphs (PGN standard 8.2)


def may_have_opening(tags: bytes, moves: Iterable[bytes]) -> bool:
    """Return False if none of the games with these tags and moves can have an opening."""
    return any(tag in tags for tag in _OPENING_TAGS) or any(map(_BOOK_FIRST.match, moves))


def opening_of(own: bytes) -> int:
    """Return the number of a game's opening, or `UNKNOWN_OPENING`; `own` is the text of the game with LF line ends."""
    header, _, moves = own[:LONGEST_OPENING].partition(b"\n\n")
    position, encounter = _value(b"FEN", header), _value(b"Encounter", header)
    event = _value(b"Event", header) if encounter else b""
    if encounter and (number := _value(b"OpeningNumber", header)):  # moves of an engine's own book may follow it
        return _number(position, b"", event, b"%s, %s" % (encounter, number))
    book = _BOOK.match(moves)
    return _number(position, book[0] if book else b"", event, encounter)


@lru_cache(maxsize=_CACHED)
def _number(position: bytes, book: bytes, event: bytes, encounter: bytes) -> int:
    squares = b" ".join(position.split()[:4])  # without move counters
    moves = b" ".join(
        word.lstrip(b"0123456789.") for word in _COMMENT.sub(b" ", book).split() if not _NO_MOVE.fullmatch(word)
    )
    if not squares and not moves and not encounter:
        return UNKNOWN_OPENING
    ours = (event, encounter) if encounter else ()
    return int.from_bytes(sha256(b"\n".join((squares, moves, *ours))).digest()[:_BYTES], "little") or 1


def _value(name: bytes, header: bytes) -> bytes:
    value, sign = b"", b"[" + name
    at = header.find(sign)
    while at >= 0:
        end = header.find(b"\n", at)
        end = len(header) if end < 0 else end
        value = _in_line(name, header[header.rfind(b"\n", 0, at) + 1 : end]) or value
        at = header.find(sign, end)
    return value


@lru_cache(maxsize=_CACHED)
def _in_line(name: bytes, line: bytes) -> bytes:
    from enginetour.interop.gametags import tags_of  # imported late: the database counts pairs without reading files

    return dict(tags_of(line)).get(name, b"")


class OpeningPairs(Generic[_Place]):
    """Find the pairs in a sequence of games."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[_Place]] = defaultdict(deque)

    def pair_of(self, engines: Hashable, opening: int, color: _Color, place: _Place) -> _Place:
        """Return the place of the game's partner, or of the game itself if it does not have a partner yet.

        `color` is always the color of the same engine.
        The partner is the oldest game of these engines on this opening with swapped colors that has no partner yet.
        """
        if opening == UNKNOWN_OPENING:
            return place
        if alike := self._waiting[engines, opening, "black" if color == "white" else "white"]:
            return alike.popleft()
        self._waiting[engines, opening, color].append(place)
        return place


# The game pairs in files, counted by their points, for the error margins of a list.


def openings_of_games(
    games: GameColumns, naming: Callable[[str], str | None], names: Sequence[str], taken: NDArray[np.bool_]
) -> Openings:
    """Count the game pairs among the games that are `taken`, for the engines in `names`.

    Pairs are formed as in `OpeningPairs`: the first game of two engines with an opening is paired with their first game
    with swapped colors, the second with the second, in the order of the files.
    """
    import numpy as np

    shown, white, black = games.sides(naming, sorted(names))
    results, openings = np.array(games.results), np.array(games.openings)
    met = (
        taken & (white >= 0) & (black >= 0) & (white != black) & (results < UNFINISHED) & (openings != UNKNOWN_OPENING)
    )
    turned = (white > black)[met]  # White's name comes after Black's in the alphabet
    points = np.where(turned, results[met], 2 - results[met])
    match = np.minimum(white, black)[met] * len(shown) + np.maximum(white, black)[met]
    alike = np.stack((match, openings[met]))
    rank = _ranks(np.stack((*alike, turned)))
    order = np.lexsort((turned, rank, *alike))
    keys = np.stack((*alike, rank))[:, order]
    first = np.flatnonzero((keys[:, 1:] == keys[:, :-1]).all(axis=0))
    brought = points[order][first] + points[order][first + 1]
    matches, row = np.unique(match[order][first], return_inverse=True)
    counts = np.zeros((len(matches), PAIR_CLASSES), dtype=np.int64)
    np.add.at(counts, (row, brought), 1)
    ends = zip(*(end.tolist() for end in np.divmod(matches, max(1, len(shown)))), strict=True)
    lines = ((c[0], c[1], c[2], c[3], c[4]) for c in counts.tolist())
    return {(shown[one], shown[other]): line for (one, other), line in zip(ends, lines, strict=True)}


def _ranks(columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each column the number of equal columns before it."""
    import numpy as np

    order = np.lexsort(columns)  # stable: equal columns keep their order
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (columns[:, order][:, 1:] != columns[:, order][:, :-1]).any(axis=0)
    places = np.arange(len(order))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = places - np.maximum.accumulate(np.where(new, places, 0)) if len(order) else places
    return ranks


# The games of two engines in PGN files, in pairs on one opening, for a sequential test.

_MatchGames = list[tuple[Hashable, int]]


def match_games(games: GameColumns, naming: Callable[[str], str | None], one: str, other: str) -> _MatchGames:
    """Return (key shared by the two games of a pair, half points of `one`) in the order of the files.

    Only even games of standard chess with a result count. Raise UsageRefused for names without games, or without a
    common game.
    """
    import numpy as np

    one, other = meant_engines(games, naming, (one, other))
    _, white, black = games.sides(naming, (one, other))
    met = (white >= 0) & (black >= 0) & (white != black) & (np.array(games.results) < UNFINISHED)
    met[[*games.odds, *games.variants]] = False
    wanted = np.flatnonzero(met)
    if not len(wanted):
        raise UsageRefused(f"there are no games between {one!r} and {other!r}", place="--sprt")
    found: _MatchGames = []
    partners = OpeningPairs[int]()
    for place in wanted.tolist():
        is_white = bool(white[place] == 0)
        points = 2 - games.results[place] if is_white else games.results[place]
        key = partners.pair_of((one, other), games.openings[place], "white" if is_white else "black", place)
        found.append((key, points))
    return found


def meant_engines(games: GameColumns, naming: Callable[[str], str | None], texts: tuple[str, str]) -> tuple[str, str]:
    """Return the two engines of a test; a text is a name of an engine or a unique beginning of a name."""
    known = sorted({name for raw in games.names if (name := naming(engine_name(raw))) is not None})
    found = [match_name(normal_name(text), known) for text in texts]
    for text, name in zip(texts, found, strict=True):
        if name is None:
            hint = no_match_hint(text, known) or suggest(text, known[:50])
            raise UsageRefused(f"no games of engine {text!r} found{hint}", place="--sprt")
    one, other = map(str, found)
    if one == other:
        raise UsageRefused(f"{texts[0]!r} and {texts[1]!r} are the same engine, but a test needs two", place="--sprt")
    return one, other
