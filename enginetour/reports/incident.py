"""An incident for people: what was seen, then the talk with the engine in milliseconds from the moment it was asked."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from enginetour.model.game import Game, Incident
from enginetour.reports.sheet import safe

NARROWEST = 64  # columns; below this a terminal is no place to read traffic
_LINE = re.compile(r"(\d+\.\d+) ([<>]) (.*)")


def incident_lines(incident: Incident, width: int) -> Iterator[str]:
    """Lines of at most `width` columns; what was not measured is not told."""
    width = max(width, NARROWEST)
    yield from wrapped("incident: ", f"{incident.at_fault}, {incident.category} at ply {incident.ply}", width)
    yield from wrapped("  ", incident.cause, width)
    facts = "; ".join(_facts(incident))
    if facts:
        yield from wrapped("  ", facts, width)
    if incident.traffic:
        since = "it was asked" if incident.asked_us is not None else "its start"
        yield f"  traffic, > to and < from the engine, ms since {since}:"
        for line in incident.traffic:
            yield from _traffic(line, incident.asked_us or 0, width)
    for line in incident.stderr:
        yield from wrapped("  stderr: ", line, width)


def claim_lines(game: Game, width: int) -> Iterator[str]:
    """What the engines of a game said of their searches that was not so; `referee.claims` has the kinds."""
    for name, record in ((game.pairing.white, game.white), (game.pairing.black, game.black)):
        for kind, number, words in record.claims:
            more = f", {number} times, first at" if number > 1 else ","
            yield from wrapped("claim: ", f"{name}, {kind}{more} {words}", max(width, NARROWEST))


def _facts(incident: Incident) -> Iterator[str]:
    if incident.status:
        yield f"process ended: {incident.status}"
    if incident.memory_kb is not None:
        yield f"memory up to {incident.memory_kb / 1024:.0f} MiB"
    if incident.load is not None:
        yield f"load {incident.load:.1f}"
    if incident.own_us is not None:
        yield f"referee's own share up to {incident.own_us / 1000:.1f} ms"


def _traffic(line: str, asked_us: int, width: int) -> Iterator[str]:
    found = _LINE.fullmatch(line)
    if found is None:
        yield from wrapped("    ", line, width)
        return
    stamp, direction, words = found.groups()
    after_us = round(float(stamp) * 1e6) - asked_us  # whole, or the line that asked would be told at -0.000
    yield from wrapped(f"{after_us / 1000:14.3f} {direction} ", words, width)


def wrapped(first: str, words: str, width: int) -> Iterator[str]:
    """Nothing of it is lost; later lines stand below the first word."""
    lines = textwrap.wrap(safe(words), width - len(first), break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        yield f"{first if number == 0 else ' ' * len(first)}{line}".rstrip()
