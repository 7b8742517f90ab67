"""What a tournament is, how far it has come, and under what settings it was played."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from enginetour.formats.base import SYSTEMS, Format
from enginetour.model.timecontrol import told_by_colour
from enginetour.model.variants import STANDARD, VARIANTS, usual_beginning
from enginetour.store.games import GameLine, TournamentReader, machines
from enginetour.store.tournaments import Store

# Settings of a game that every reader of a list asks for, in the order they are told.
_CONTROLS = ("tc", "white_tc", "black_tc")
_OF_PLAY = ("variant", "margin_ms", "draw", "resign", "max_moves", "tablebases", "ponder")
NAMED = 5  # engines of one control

OFFERS = 4  # games that are told as the next ones


@dataclass(frozen=True, slots=True)
class Facts:
    """Times are UTC seconds, None before the first game; `settings` are words for people."""

    title: str
    name: str
    edition: int
    newest: bool  # there is no later edition
    system: str
    about: str  # what the format is, in a line
    entrants: int
    games: int  # that count
    void: int
    remaining: tuple[int, int]  # fewest and most games still to come
    offers: tuple[tuple[str, str], ...]  # the first that may be played now, White and Black
    stage: tuple[int, int] | None  # the round now and how many there are, of a tournament in rounds
    started: float | None
    ended: float | None
    hardware: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]

    @property
    def finished(self) -> bool:
        """Nothing is on offer any more."""
        return self.remaining[1] == 0


def facts_of(log: TournamentReader, format_: Format[Any], state: Any, games: Sequence[GameLine]) -> Facts:
    """From the log, its fold and its games."""
    stage = getattr(format_, "stage", None)
    counting = sum(game.counts for game in games)
    return Facts(
        title=log.title,
        name=log.name,
        edition=log.edition,
        newest=Store(log.database).tournament(log.name).id == log.id,
        system=log.system,
        about=SYSTEMS[log.system].summary,
        entrants=len(log.specs),
        games=counting,
        void=len(games) - counting,
        remaining=format_.remaining(state),
        offers=tuple((offer.white, offer.black) for offer in format_.offers(state)[:OFFERS]),
        stage=stage(state) if stage else None,
        started=min((game.started for game in games), default=None),
        ended=max((game.ended for game in games), default=None),
        hardware=machines(log),
        settings=tuple(_settings(log.config)),
    )


def _settings(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Of the games, then of the format; what is as nobody would ask is left out."""
    play, opened = config.get("play", {}), config.get("play", {}).get("openings") or {}
    sides = config.get("sides", {})
    if sides:
        yield "tc", _controls(sides)
    for key in (*(() if sides else _CONTROLS), *_OF_PLAY):
        if play.get(key) not in (None, "standard") and play[key] is not False:  # a margin of 0 is one
            yield key, _told(play[key])
    if opened:
        yield "openings", _suite(opened, play.get("variant") or STANDARD)
    for key, value in config.get("format", {}).items():
        if key != "system" and value not in (None, False, [], {}):
            yield key, _told(value)


def _suite(opened: Mapping[str, Any], variant: str) -> str:
    """``book.epd, random``; one start has no order."""
    usual = usual_beginning(variant)
    if usual and not opened.get("file") and not VARIANTS[variant].any_rank:
        return usual
    return f"{opened.get('file') or usual or 'the suite that comes with enginetour'}, {opened.get('order', '')}"


def _controls(sides: Mapping[str, Mapping[str, Any]]) -> str:
    """``10+0.1``, or each control with those who play by it: what [play] says need not be anybody's."""
    names: dict[str, list[str]] = {}
    for name, side in sides.items():
        white, black = side["tc"], side.get("black", side)["tc"]
        names.setdefault(told_by_colour(white, black), []).append(name)
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"{control}: {_few(by)}" for control, by in names.items())


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(names[:NAMED])}{more}"


def _told(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_told(one)}" for key, one in value.items() if one is not None)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    return ", ".join(map(_told, value)) if isinstance(value, list) else str(value)
