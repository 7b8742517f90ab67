"""Reads the games of PGN files one by one: quick where they are written as usual, else with care.

A piece is read the quick way only where that cannot err: each blank line before a bracket begins a game with the seven
tags in their order or with White, and nothing else in the piece could be one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate
from operator import add
from pathlib import Path

from enginetour.interop.gamecolumns import DIGEST, TERMINATION, WHITE_TC, Games, tags_in
from enginetour.interop.gamefile import MARK, opened
from enginetour.interop.gameopenings import LONGEST_OPENING, NOT_TOLD, opening_of, tells_opening
from enginetour.interop.gamereader import GameReader
from enginetour.interop.pgnscan import Progress, has_many_tags, has_untagged, read, refuse_empty, results_in
from enginetour.interop.pgntags import contradicts, tags_of
from enginetour.interop.tally import VARIANT, text

# PGN standard 8.1.1; the careful reader begins a game at Event or White, so no other tag may come first.
_GAME = re.compile(
    rb'\n\n\[(?:Event "[^\n]*\n(?:\[Site "[^\n]*\n)?(?:\[Date "([^\n]*)"\]\n)?(?:\[Round "[^\n]*\n)?\[)?'
    rb'White "([^\n]*)"\]\n\[Black "([^\n]*)"\]\n\[Result "([^"\n]*)"\](?=[ \t]*\n)'
)
_HEAD = b"\n\n["  # what stands between two games, and is no part of either
_NOTED = (b"Odds ", b"[Handicap ", b"[%s " % WHITE_TC, b"[%s " % VARIANT)  # what `Games.note` looks for
_UNUSUAL = re.compile(rb'\n(?:\[(?:\s|[^\s"]*\t)|"|[ \t]+\[)')  # a tag with unusual blanks, or one that goes on
_EVENT = re.compile(rb'\n\n\[Event "([^\n]*)"\]')


def read_games(
    paths: Iterable[Path],
    events: frozenset[str] = frozenset(),
    progress: Progress = lambda _: None,
    *,
    by_event: bool = False,
) -> Games:
    """All games of the files, with claims on the events; refusals and `progress` are those of `pgnscan.scan`.

    `by_event`: with the Event tag of each game.
    """
    games = Games(events=events, by_event=by_event)
    for path in paths:
        before = games.games + games.broken_games - games.untagged
        with opened(path) as (part, _):
            read(part, GameReader(games, part), lambda at, piece: _quick(games, at, piece), progress)
        refuse_empty(path, games.games + games.broken_games - games.untagged - before)
        games.ends.append(games.games)
    return games


def _quick(games: Games, at: int, piece: bytes) -> bool:
    """Keep the games of a piece that begins outside of comments; False, and nothing kept, if in doubt."""
    if not at and piece.startswith(MARK):
        at, piece = len(MARK), piece[len(MARK) :]
    ends = b"\r" in piece
    if ends:
        if not piece.count(b"\r") == piece.count(b"\r\n") == piece.count(b"\n"):
            return False
        piece = piece.replace(b"\r\n", b"\n")
    begun = piece.startswith(b"\n")
    at += begun * (1 + ends)
    piece = (b"\n" if begun else b"\n\n") + piece
    found = _GAME.findall(piece)
    front, *parts = piece.split(_HEAD)
    if front or not len(found) == len(parts) == results_in(piece, len(found)) == piece.count(b'\n[White "') > 0:
        return False
    if has_untagged(piece) or has_many_tags(piece):
        return False
    # A comment holds no game: within a game braces close after they open.
    if b"{" in piece and any(own.rfind(b"{") > own.rfind(b"}") for own in parts):
        return False
    if any(signs in piece for signs in (b"\t", b"\n[ ", b"\n ", b'\n"')) and _UNUSUAL.search(piece):
        return False
    dates, whites, blacks, results = zip(*found, strict=True)
    bodies = [own.rstrip() for own in parts]
    lasts = (own.rpartition(b"\n")[2] for own in bodies)
    contradicted = sum(map(contradicts, results, lasts))
    if contradicted and not games.contradicted_at:
        return False
    if not games.add(whites, blacks, results):
        return False
    games.contradicted += contradicted
    if b"" in dates:
        dates = tuple(_values(b"Date", piece, parts))
    games.days.extend(map(games.by_day.__getitem__, dates))
    games.control.extend(map(games.controls.__getitem__, _values(b"TimeControl", piece, parts)))
    if games.by_event:
        headers = (b"\n[" + own[: _header_end(own)] for own in parts)
        games.event.extend([games.event_tags[_value(b"Event", header, b"\n[Event ")] for header in headers])
    games.digests += b"".join([sha256(own).digest()[:DIGEST] for own in bodies])
    if tells_opening(piece):
        games.openings.extend([opening_of(b"[" + own[:LONGEST_OPENING]) for own in parts])
    else:
        games.openings.extend([NOT_TOLD] * len(parts))
    sizes = map(len, parts) if not ends else (len(own) + own.count(b"\n") + 2 for own in parts)
    games.offsets.extend(map(add, accumulate(sizes, initial=at), range(0, len(parts) * len(_HEAD), len(_HEAD))))
    first = len(games.days) - len(parts)
    for number, ending in enumerate(_values(TERMINATION, piece, parts), first):
        games.end(number, ending)
    if any(words in piece for words in _NOTED):
        for number, own in enumerate(parts, first):
            games.note(number, tags_in(b"[" + own[: _header_end(own)]))
    if games.events and not games.events.isdisjoint(map(text, set(_EVENT.findall(piece)))):
        for number, own in enumerate(parts, first):
            games.claim(number, tags_in(b"[" + own[: _header_end(own)]))
    return True


def _values(name: bytes, piece: bytes, parts: Sequence[bytes]) -> Sequence[bytes]:
    """Raw values of a tag that stands in a line of its own, b"" for games without it."""
    tag = b"\n[%s " % name
    if tag not in piece:
        return [b""] * len(parts)
    return [_value(name, own[: _header_end(own)], tag) for own in parts]


def _value(name: bytes, header: bytes, tag: bytes) -> bytes:
    at = header.rfind(tag)
    if at < 0:
        return b""
    end = header.find(b"\n", at + 1)
    return _in_line(name, header[at + 1 :] if end < 0 else header[at + 1 : end])


@lru_cache(maxsize=4096)  # a file has few dates and time controls
def _in_line(name: bytes, line: bytes) -> bytes:
    return dict(tags_of(line)).get(name, b"")


def _header_end(own: bytes) -> int:
    end = own.find(b"\n\n")
    return len(own) if end < 0 else end
