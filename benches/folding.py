"""Time to replay the log of a tournament, compared with a plain loop over the same events."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

from benches.measure import Settings, divided, in_turn, line
from enginetour.formats.base import Format, make_format, options_model, replay
from enginetour.model.game import Entrant, Event, GameFinished, Outcome

STRENGTH = 0.15  # value of a place in the list; the order is mostly right, as in a second edition


def folding(settings: Settings) -> Iterator[str]:
    """Measure a long round robin, and a bubble of many engines."""
    names = 101  # an odd number, so that there are byes
    cycles = ceil(settings.games / (names * (names - 1) / 2))
    yield _folded("roundrobin", names, settings, cycles=cycles)
    yield _folded("bubble", settings.engines, settings)


def _folded(system: str, names: int, settings: Settings, **options: Any) -> str:
    format_ = make_format(system, options_model(system)(**options))
    entrants = tuple(Entrant(f"Engine {number:04}") for number in range(names))
    most = settings.games if system == "roundrobin" else None
    events = played(format_, entrants, most)
    mine, plain = in_turn(settings.rounds, lambda: replay(format_, entrants, events), lambda: added_up(events))
    name = f"replay, {system} of {names}, {len(events)} games: per game"
    return line(name, divided(mine, len(events)), divided(plain, len(events)), "a plain loop")


def played(format_: Format[Any], entrants: tuple[Entrant, ...], most: int | None) -> list[Event]:
    """Return the events of a tournament, or of its first games, with random results."""
    dice = random.Random(len(entrants))
    place = {entrant.name: number for number, entrant in enumerate(entrants)}
    events: list[Event] = []
    state = format_.start(entrants)
    while offers := format_.offers(state):
        for pairing in offers:  # all offered games may be played
            if most is not None and len(events) >= most:
                return events
            ahead = STRENGTH * (place[pairing.black] - place[pairing.white]) / len(entrants) * 10
            roll = dice.gauss(ahead, 1.0)
            outcome = Outcome.WHITE if roll > 0.4 else Outcome.BLACK if roll < -0.4 else Outcome.DRAW
            events.append(GameFinished(pairing, outcome))
            state = format_.step(state, events[-1])
    return events


def added_up(events: Sequence[Event]) -> dict[str, int]:
    """Return the half points of all entrants, which is the minimal work for a log."""
    points: dict[str, int] = {}
    for event in events:
        if isinstance(event, GameFinished):
            pairing = event.pairing
            for name, white in ((pairing.white, True), (pairing.black, False)):
                points[name] = points.get(name, 0) + event.outcome.half_points(white=white)
    return points
