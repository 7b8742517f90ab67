"""Which games of files began alike: the opening of each as one number, and the rule by which two games are a pair.

Two games of two engines are a pair when both begin with the same opening and the colours are swapped. The opening is
the FEN tag and the moves whose comments are ``book``, as cutechess, fastchess and our own exports write them; the
latter tell by Encounter, too, which games belong together, and by OpeningNumber which opening it was. Where nothing
tells it, a game stands alone.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Hashable
from functools import lru_cache
from hashlib import sha256
from typing import Generic, Literal, TypeVar

from enginetour.interop.pgntags import tags_of

Place = TypeVar("Place")
Colour = Literal["white", "black"]

LONGEST_OPENING = 1 << 16  # bytes of a game that are looked at; forty moves of book with their tags take 2,000
NOT_TOLD = 0
CACHED = 256  # the two games of a pair are near each other in files; 16 MB if all were of the longest
_BYTES = 6  # of an opening's number: a million openings that two engines played have two alike once in 560 cases
_TOLD = (b"[FEN", b"[Encounter")  # without these only a book tells it
_BOOK = re.compile(rb"(?:[^{]*\{\s*book[^}]*\})+")
_SIGNS = re.compile(rb"\{[^}]*\}|\}")
_NO_MOVE = re.compile(rb"\d+\.*|[\d/*-]+|\$\d+")  # move numbers, results, glyphs (PGN standard 8.2)


def tells_opening(words: bytes) -> bool:
    """False where surely none of these games has an opening."""
    return any(sign in words for sign in _TOLD) or (b"{" in words and b"book" in words)


def opening_of(own: bytes) -> int:
    """The number of a game's opening, from its bytes with bare newlines; `NOT_TOLD` where nothing tells it."""
    header, _, moves = own[:LONGEST_OPENING].partition(b"\n\n")
    position, encounter = _value(b"FEN", header), _value(b"Encounter", header)
    event = _value(b"Event", header) if encounter else b""
    if encounter and (number := _value(b"OpeningNumber", header)):  # moves of an engine's own book may stand behind it
        return _number(position, b"", event, b"%s, %s" % (encounter, number))
    book = _BOOK.match(moves)
    return _number(position, book[0] if book else b"", event, encounter)


@lru_cache(maxsize=CACHED)
def _number(position: bytes, book: bytes, event: bytes, encounter: bytes) -> int:
    squares = b" ".join(position.split()[:4])  # without its clocks
    moves = b" ".join(
        word.lstrip(b"0123456789.") for word in _SIGNS.sub(b" ", book).split() if not _NO_MOVE.fullmatch(word)
    )
    if not squares and not moves and not encounter:
        return NOT_TOLD
    ours = (event, encounter) if encounter else ()
    return int.from_bytes(sha256(b"\n".join((squares, moves, *ours))).digest()[:_BYTES], "little") or 1


def _value(name: bytes, header: bytes) -> bytes:
    """Of a tag, the last one's; b"" where there is none."""
    value, sign = b"", b"[" + name
    at = header.find(sign)
    while at >= 0:
        end = header.find(b"\n", at)
        end = len(header) if end < 0 else end
        value = _in_line(name, header[header.rfind(b"\n", 0, at) + 1 : end]) or value
        at = header.find(sign, end)
    return value


@lru_cache(maxsize=CACHED)
def _in_line(name: bytes, line: bytes) -> bytes:
    return dict(tags_of(line)).get(name, b"")


class Partners(Generic[Place]):
    """Finds the pairs among games that are told one after the other."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, deque[Place]] = defaultdict(deque)

    def pair_of(self, engines: Hashable, opening: int, colour: Colour, place: Place) -> Place:
        """The place of the game, or of the one it is a pair with; `colour` is that of the same engine each time.

        Its partner is the game of these engines on this opening that has waited longest for swapped colours.
        """
        if opening == NOT_TOLD:
            return place
        if alike := self._waiting[engines, opening, "black" if colour == "white" else "white"]:
            return alike.popleft()
        self._waiting[engines, opening, colour].append(place)
        return place
