"""What a tester must see: each incident with its game and the command that plays the position again."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from enginetour.model.game import Incident
from enginetour.store.games import GameLine


@dataclass(frozen=True, slots=True)
class IncidentLine:
    """One incident; `verdict` is how its game ended, `replay` the command that tries the engine again, "" for none."""

    number: int
    white: str
    black: str
    verdict: str
    struck: bool  # the game does not count
    incident: Incident
    replay: str


def incident_lines(
    incidents: Iterable[tuple[int, Incident]], games: Mapping[int, GameLine], title: tuple[str, int]
) -> tuple[IncidentLine, ...]:
    """Oldest first; `title` is the tournament's name and edition."""
    found = list(incidents)
    grave = Counter(number for number, incident in found if incident.is_repeatable)
    return tuple(_line(games[number], incident, title, several=grave[number] > 1) for number, incident in found)


def _line(game: GameLine, incident: Incident, title: tuple[str, int], *, several: bool) -> IncidentLine:
    words = ["enginetour", "games", str(game.number), "--replay", "-t", title[0], "--edition", str(title[1])]
    words += ["--engine", incident.engine] if several else []
    verdict = f"{game.outcome} by {game.termination}" + (f": {game.cause}" if game.cause else "")
    replay = shlex.join(words) if incident.is_repeatable else ""
    return IncidentLine(game.number, game.white, game.black, verdict, not game.counts, incident, replay)
