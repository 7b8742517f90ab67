"""`enginetour games N --replay`: does an engine do it again? It is told what it was told then; nothing is written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import takewhile
from typing import TYPE_CHECKING, cast

import click

from enginetour.cli.common import say_json

if TYPE_CHECKING:
    from enginetour.model.game import Game, Incident
    from enginetour.model.task import EngineSpec, Reenacted, ReenactTask
    from enginetour.store.log import TournamentLog


MARGIN_MS = 50  # of an entrant that joined later and whose margin the log does not tell: the default (runner spec 3)


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for on the command line."""

    times: int
    speed: float
    last_search: bool
    accept_change: bool
    engine: str | None


def replay_incident(log: TournamentLog, number: int, wish: Wish, *, as_json: bool) -> None:
    """Replay it so often, one line each time, then how often it happened again."""
    from enginetour.model.errors import TaskFailed, TourError
    from enginetour.tournament.places import LocalPlace

    game = log.game(number).game
    incident = _incident(game, wish.engine, number)
    task = _task(log, number, game, incident, wish)
    if not as_json:
        _announce(incident, task, wish)
    found: list[Reenacted] = []
    with LocalPlace(1) as place:
        for turn in range(1, wish.times + 1):
            try:
                one = cast("Reenacted", place.submit(task).result())
            except TaskFailed as failure:
                raise TourError(f"the replay failed: {failure}", step=failure.step) from None
            found.append(one)
            if not as_json:
                click.echo(f"{turn}: {_words(incident, one)}")
    again = sum(happened_again(incident, one) for one in found)
    if as_json:
        runs = [{"again": happened_again(incident, one), **_plain(one)} for one in found]
        say_json(
            {"game": number, "engine": incident.engine, "category": incident.category, "again": again, "runs": runs}
        )
    else:
        click.echo(f"it happened again in {again} of {wish.times}")


def happened_again(incident: Incident, found: Reenacted) -> bool:
    """The same crash by its signal or exit code, the same illegal move, or the same kind of anything else."""
    if found.category == "crash" or incident.category == "crash":
        return bool(found.status) and found.status in (incident.status, _tail(incident.cause))
    if found.category == incident.category == "illegal-move":
        return f": {found.text or repr(found.text)} in " in incident.cause
    return found.category == incident.category


def _tail(cause: str) -> str:
    """What stands behind the last colon but one of a sentence: the status, in incidents that have none of their own."""
    return cause.partition("disconnects: ")[2] or cause.rpartition(": ")[2]


def _words(incident: Incident, found: Reenacted) -> str:
    from enginetour.reports.sheet import safe

    verdict = "again" if happened_again(incident, found) else "otherwise" if found.category else "not again"
    place = f" (at ply {found.ply}, then at {incident.ply})" if found.ply != incident.ply else ""
    return safe(f"{verdict}: {found.words}{place}")


def _plain(found: Reenacted) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(found)


def _incident(game: Game, engine: str | None, number: int) -> Incident:
    """The last one that cost somebody a game."""
    from enginetour.model.errors import UsageRefused, called

    engine = None if engine is None else called(engine, game.pairing.pair) or engine
    grave = [one for one in game.incidents if one.is_repeatable]
    named = [one for one in grave if engine is None or one.engine == engine]
    if not named:
        who = f" of {engine}" if engine is not None else ""
        what = f"game {number} has no incident{who} that an engine could repeat"
        raise UsageRefused(what, step="enginetour games --incidents lists those that have one")
    return named[-1]


def _task(log: TournamentLog, number: int, game: Game, incident: Incident, wish: Wish) -> ReenactTask:
    from enginetour.model.errors import StoreRefused
    from enginetour.model.task import GameTask, ReenactTask, Rules, Side
    from enginetour.model.timecontrol import TimeControl
    from enginetour.store.games import spec_in

    specs = {name: spec_in(log, number, name) for name in game.pairing.pair}
    sides: dict[str, Side] = {}
    for name, tc in ((game.pairing.white, game.white_tc), (game.pairing.black, game.black_tc)):
        spec = specs[name]
        if spec is None:
            raise StoreRefused(f"does not know how {name} was started", place=log.title)
        terms = log.config.get("sides", {}).get(name, {})
        if name == game.pairing.black:
            terms = terms.get("black", terms)
        sides[name] = Side(spec, TimeControl.parse(tc), terms.get("margin_ms", MARGIN_MS))
    engine = incident.engine
    sides[engine] = replace(sides[engine], spec=_fit(sides[engine].spec, accept_change=wish.accept_change))
    rules = Rules(hang_limit=log.config["play"].get("hang_limit", Rules().hang_limit))
    white, black = sides[game.pairing.white], sides[game.pairing.black]
    told = sum(1 for _ in takewhile(lambda move: move.book, game.moves))  # both sides' own books may go on longer
    opening = replace(game.opening, moves=tuple(move.uci for move in game.moves[:told])) if told else game.opening
    return ReenactTask(
        GameTask(game.pairing, white, black, opening, rules),
        white=engine == game.pairing.white,
        moves=tuple((move.uci, None if move.book else move.elapsed_ms) for move in game.moves[told:]),
        last_only=wish.last_search,
        speed=wish.speed,
    )


def _fit(spec: EngineSpec, *, accept_change: bool) -> EngineSpec:
    """EngineRefused when its program is gone, or is another than in the game."""
    from enginetour.engines import identity
    from enginetour.model.errors import EngineRefused

    now = identity.fingerprint(spec)
    if spec.fingerprint and now != spec.fingerprint and not accept_change:
        what = f"its files have changed since the game ({spec.fingerprint} then, {now} now)"
        raise EngineRefused(what, place=spec.name, step="put them back, or --accept-change replays with what is there")
    return spec


def _announce(incident: Incident, task: ReenactTask, wish: Wish) -> None:
    from enginetour.reports.sheet import safe

    click.echo(safe(f"{incident.engine}, {incident.category} at ply {incident.ply}: {incident.cause}"))
    if wish.last_search:
        how = "the last search alone, from its position, with the clocks as they stood"
    else:
        seconds = sum(elapsed or 0 for _, elapsed in task.moves) / 1000 / wish.speed
        how = f"handshake, options, new game, then {len(task.moves)} plies, about {seconds:.0f} s each time"
    click.echo(f"built again from the moves of the game: {how}")
