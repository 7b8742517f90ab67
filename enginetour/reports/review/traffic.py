"""Incidents with the talk that led to them, as many as one page can hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from enginetour.reports.incident import incident_lines
from enginetour.reports.review.incidents import IncidentLine

LARGEST = 1_200_000  # signs of traffic on the page; of later incidents the game's own page tells it
_UNBROKEN = 1_000  # columns: the box scrolls, lines are broken for nobody


@dataclass(frozen=True, slots=True)
class Told:
    """An incident for the page; `talk` None: there was no room left for it here."""

    line: IncidentLine
    talk: tuple[str, ...] | None


def told(incidents: Sequence[IncidentLine]) -> tuple[Told, ...]:
    """Those that cost a game first, then the warnings; each oldest first."""
    room, found = LARGEST, []
    for line in sorted(incidents, key=lambda one: one.incident.is_warning):
        talk = tuple(incident_lines(line.incident, _UNBROKEN))[2:]
        room -= sum(map(len, talk))
        found.append(Told(line, talk if room >= 0 else None))
    return tuple(found)
