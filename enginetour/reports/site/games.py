"""The games of a league's site: scripts with the moves of 100 games, and scripts with lines of the list of games.

A browser loads a script from disk, too, where it must not read other files. Games are append-only, so only the last
script of a tournament changes with a new game, and one more with an annulled game.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise, repeat
from typing import Any

from pydantic_core import to_json

from enginetour.model.game import MoveMade, Outcome
from enginetour.reports.html.game import (
    MAX_LINE_WORDS,
    MAX_PLIES,
    GamePage,
    cut_line,
    ending_text,
    game_facts,
    start_position,
)
from enginetour.reports.sheet import Texts, safe_text
from enginetour.store.games import StoredGame, TournamentReader, game_openings

GAMES_A_SCRIPT, LINES_A_SCRIPT = 100, 1000
MOST_BYTES = 1_900_000  # bytes of a script
_COLUMNS = tuple(map(MoveMade._fields.index, ("uci", "san", "elapsed_ms", "clock_ms", "score", "depth", "book", "pv")))
_LINES = 7  # place of the lines that engines expected in `_COLUMNS`
_LONGEST_TEXT = 500  # characters of a text of an engine, user or book
_LEVEL = 6  # of compression; level 9 takes twice the time and makes scripts smaller by 3 % (measured)
_RESULTS = {Outcome.WHITE: "1", Outcome.DRAW: "=", Outcome.BLACK: "0", Outcome.VOID: "*"}

KeyedTexts = Iterator[tuple[str, str, Callable[[], str]]]
"""Address of a file, a text on which its content depends besides the stored games before it, and its content."""


def game_scripts(log: TournamentReader) -> KeyedTexts:
    """Yield the scripts with all games of a tournament, and those with their lines in the list of games."""
    for number, first, last, key in _parts(log, GAMES_A_SCRIPT):
        yield f"games/{log.slug}/{number:04}.js", key, partial(_games_text, log, first, last)
    for number, first, last, key in _parts(log, LINES_A_SCRIPT):
        yield f"lists/{log.slug}/{number:04}.js", key, partial(_lines_text, log, number, first, last)


def _parts(log: TournamentReader, size: int) -> Iterator[tuple[int, int, int, str]]:
    """Yield the number of each part, its first and last game, and a key of the state of its games."""
    newest, annulled = log.last_number, log.annulled_numbers
    for number, (begin, end) in enumerate(pairwise(range(0, newest + size, size)), 1):
        first, last = begin + 1, min(end, newest)
        void = [each for each in annulled if first <= each <= last]
        yield number, first, last, f"{log.id} {log.created_unix} {last} {void}"


def _games_text(log: TournamentReader, first: int, last: int) -> str:
    games = list(log.full_games(first, last=last))
    text = _packed([_game_json(one, lines=True) for one in games])
    if len(text) > MOST_BYTES:
        text = _packed([_game_json(one, lines=False) for one in games])
    if len(text) > MOST_BYTES:  # only for texts that are not texts of chess games
        text = _packed([])
    return text


def _packed(games: Sequence[Mapping[str, Any]]) -> str:
    """Return a script that passes the compressed games to the page. It contains no text of an engine or user."""
    packed = base64.b64encode(zlib.compress(to_json(games), _LEVEL)).decode()
    return f'siteGames("{packed}");\n'


def _game_json(stored: StoredGame, *, lines: bool) -> dict[str, Any]:
    """Return the data of a game for ``site-game.js``."""
    game, page = stored.game, GamePage(stored.number, stored.game, stored.voided)
    start, pairing = start_position(game), game.pairing
    columns = [*zip(*game.moves[:MAX_PLIES], strict=True)]
    moves: list[Sequence[Any]] = [columns[place] if columns else () for place in _COLUMNS]
    moves[_LINES] = _clean_lines(moves[_LINES]) if lines else ()
    return {
        "number": stored.number,
        "white": _clean(pairing.white),
        "black": _clean(pairing.black),
        "result": str(Outcome.VOID if stored.voided else game.outcome),
        "ending": _clean(ending_text(page)),
        "began": game.started_unix,
        "facts": [[label, _clean(text)] for label, text in _facts(page) if text],
        "variant": game.opening.variant,
        "fen": start.fen,
        "whiteBegins": start.white_begins,
        "first": start.number,
        "moves": moves,
    }


def _facts(page: GamePage) -> Iterator[tuple[str, str]]:
    yield from game_facts(page)
    for incident in page.game.incidents:
        yield ("warning" if incident.is_warning else "incident"), f"{incident.at_fault}: {incident.cause}"


def _clean_lines(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines that engines expected, without unsafe characters, and none of them too long."""
    if max(map(str.count, lines, repeat(" ")), default=0) >= MAX_LINE_WORDS:
        lines = [*map(cut_line, lines)]
    return lines if "".join(lines).isprintable() else [*map(safe_text, lines)]


_CLEANED = Texts[str](safe_text)


def _clean(text: str) -> str:
    if len(text) > _LONGEST_TEXT:
        text = f"{text[:_LONGEST_TEXT]}…"
    return text if text.isascii() and text.isprintable() else _CLEANED[text]


# The list of games.


def _lines_text(log: TournamentReader, number: int, first: int, last: int) -> str:
    lines = log.games(first=first, limit=last - first + 1, oldest=True)
    names, openings, endings = _Numbers(), _Numbers(), _Numbers()
    ended = [round(line.ended_unix) for line in lines]
    found = {
        "first": first,
        "white": [names[line.white] for line in lines],
        "black": [names[line.black] for line in lines],
        "result": "".join(_RESULTS[line.outcome if line.counts else Outcome.VOID] for line in lines),
        "ending": [endings[str(line.termination)] for line in lines],
        "plies": [line.plies for line in lines],
        "ended": [after - before for before, after in pairwise([0, *ended])],
        "incidents": {at: line.incidents for at, line in enumerate(lines) if line.incidents},
    }
    found["opening"] = [openings[f"{one.eco} {one.name}".strip()] for one in game_openings(log, first, last)]
    texts = {"names": [*map(_clean, names)], "openings": [*map(_clean, openings)], "endings": list(endings)}
    return f"siteList({json.dumps([log.slug, number, found | texts], separators=(',', ':'))});\n"


class _Numbers(dict[str, int]):
    """Numbers of texts in the order of their first use, from 0."""

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number
