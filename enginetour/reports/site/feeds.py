"""Feeds of new results: Atom (RFC 4287) and JSON Feed 1.1. Identifiers do not change when the site is written again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from uuid import NAMESPACE_URL, uuid5
from xml.sax.saxutils import escape, quoteattr

from enginetour.reports.charts.canvas import clean_text
from enginetour.reports.sheet import iso_timestamp
from enginetour.reports.site.league import LeagueReview, Played, SeasonReview
from enginetour.store.games import GameLine

ENTRIES = 100  # entries of a feed
_LONGEST_TEXT = 500  # characters of the reason why a game ended
ATOM, JSON_FEED = "feed.xml", "feed.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """A result or a decision. `address` is relative to the site, and `at` are UTC seconds."""

    identity: str
    title: str
    text: str
    address: str
    at: float


@dataclass(frozen=True, slots=True)
class NewGame:
    """A game of a tournament."""

    played: Played
    line: GameLine

    @property
    def address(self) -> str:
        """The address of the page of the game."""
        return f"game.html#{self.played.log.slug}/{self.line.number}"

    @property
    def result(self) -> str:
        """The result, or ``void``."""
        return str(self.line.outcome) if self.line.counts else "void"


def newest_games(review: LeagueReview) -> list[NewGame]:
    """Return the newest games of a league, the newest first."""
    found: list[NewGame] = []
    for season in reversed(review.seasons):
        found += [NewGame(one, line) for one in season.played for line in one.log.games(limit=ENTRIES)]
        if len(found) >= ENTRIES:
            break
    found.sort(key=lambda new: (new.line.ended_unix, new.played.log.id, new.line.number), reverse=True)
    return found[:ENTRIES]


def feed_entries(review: LeagueReview, games: Sequence[NewGame]) -> list[Entry]:
    """Return the entries of the feeds: the newest games and decisions, the newest first."""
    found = [_game_entry(review, new) for new in games]
    for season in review.seasons:
        found += _decisions(review, season)
    found.sort(key=lambda entry: (entry.at, entry.identity), reverse=True)
    return found[:ENTRIES]


def _game_entry(review: LeagueReview, new: NewGame) -> Entry:
    line, log = new.line, new.played.log
    title = f"{line.white} – {line.black} {new.result}"
    text = f"{log.title}, game {line.number}: {line.how[:_LONGEST_TEXT]}."
    return Entry(_identity(review, log.title, line.number), title, text, new.address, line.ended_unix)


def _decisions(review: LeagueReview, season: SeasonReview) -> Iterator[Entry]:
    stored, name = season.book.stored, f"Season {season.number}"
    begins = [
        f"{move.engine}: {move.kind}{f', {move.target}' if move.target else ''} ({move.why})" for move in season.moves
    ]
    text = "; ".join(begins) or "No engine changes its division."
    yield Entry(_identity(review, name, "begin"), f"{name} begins", text, season.address, stored.created_unix)
    for one in season.played:
        if one.facts["finished"]:
            table = islice((row[1] for row in one.facts["standings"]), 3)
            title, text = f"{one.log.title} has ended", f"First places: {', '.join(table)}."
            yield Entry(_identity(review, one.log.title, "end"), title, text, one.address, one.facts["last_at"])


def _identity(review: LeagueReview, *words: object) -> str:
    began = review.seasons[0].book.stored.created_unix
    return f"urn:uuid:{uuid5(NAMESPACE_URL, repr((review.name, began, *map(str, words))))}"


def atom(review: LeagueReview, entries: Sequence[Entry], base: str) -> str:
    """Return the Atom feed. `base` is the address of the published site with a slash at its end, or empty."""
    newest = max((entry.at for entry in entries), default=0.0)
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<feed xmlns="http://www.w3.org/2005/Atom"{f" xml:base={quoteattr(base)}" if base else ""}>',
        f"<id>{_identity(review, 'feed')}</id>",
        f"<title>{_xml(review.name)}</title>",
        f"<updated>{iso_timestamp(round(newest))}</updated>",
        f"<author><name>{_xml(review.name)}</name></author>",
        "<generator>enginetour</generator>",
        f'<link rel="self" type="application/atom+xml" href={quoteattr(base + ATOM)}/>',
        f'<link rel="alternate" type="text/html" href={quoteattr(base + "index.html")}/>',
    ]
    for entry in entries:
        lines += [
            "<entry>",
            f"<id>{entry.identity}</id>",
            f"<title>{_xml(entry.title)}</title>",
            f"<updated>{iso_timestamp(round(entry.at))}</updated>",
            f'<link rel="alternate" type="text/html" href={quoteattr(base + entry.address)}/>',
            f"<content>{_xml(entry.text)}</content>",
            "</entry>",
        ]
    return "\n".join([*lines, "</feed>"]) + "\n"


def json_feed(review: LeagueReview, entries: Sequence[Entry], base: str) -> str:
    """Return the JSON feed. Addresses in it are only complete if `base` is known, so they are left out otherwise."""
    head = {"version": "https://jsonfeed.org/version/1.1", "title": clean_text(review.name)}
    if base:
        head |= {"home_page_url": f"{base}index.html", "feed_url": f"{base}{JSON_FEED}"}
    items = [
        {"id": entry.identity, "title": clean_text(entry.title), "content_text": clean_text(entry.text)}
        | ({"url": base + entry.address} if base else {})
        | {"date_published": iso_timestamp(round(entry.at))}
        for entry in entries
    ]
    return json.dumps({**head, "items": items}, indent=1) + "\n"


def _xml(text: str) -> str:
    return escape(clean_text(text))
