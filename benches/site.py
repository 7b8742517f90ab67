"""`python -m benches site`: time to write the site of a league, from scratch and after more games.

The league is a simulated season of MadChess: divisions of 12 engines, which meet in 100 double rounds, and matches
between neighboring divisions. No engine is started.
"""

from __future__ import annotations

import argparse
import random
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from benches.simulated import played, thought_moves
from enginetour.formats.base import make_format, options_model
from enginetour.formats.league import Rules, first_season
from enginetour.model.game import Entrant, Game, GameFinished, MoveMade, Opening, Pairing
from enginetour.model.task import EngineSpec, GameTask, Side
from enginetour.model.timecontrol import TimeControl
from enginetour.reports.site.write import write_site
from enginetour.store.address import stage_name
from enginetour.store.log import TournamentLog
from enginetour.store.replay import fold
from enginetour.store.seasons import seasons_of, write_season
from enginetour.store.tournaments import Draft, Store

LEAGUE = "MadChess"
_ENGINES, _CYCLES = 12, 100
_STEP = 60.0  # Elo between two neighboring engines
_VARIETY = 400  # different games; a season has many more, but the database stores each of them
_AT_ONCE = 500  # games in a transaction
_BOOK = 250  # openings


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmark."""
    parser.add_argument("--divisions", type=int, default=6, help="number of divisions (default %(default)s)")
    parser.add_argument("--left", type=int, default=300, help="games of each division to play (default %(default)s)")
    parser.add_argument("--more", type=int, default=100, help="games before the second site (default %(default)s)")


def measured(given: argparse.Namespace, folder: Path) -> Iterator[str]:
    """Yield the results as lines."""
    target, divisions, more = folder / "site", given.divisions, given.more
    with Store.open(folder / "league.db") as store:
        logs = season(store, divisions, given.left)
        games = sum(log.last_number for log in logs)
        yield f"{divisions} divisions of {_ENGINES} engines, {games:,} games"
        yield _timed("from scratch", lambda: write_site(store, LEAGUE, target))
        yield _timed("again", lambda: write_site(store, LEAGUE, target))
        for log in logs[:divisions]:
            play(log, more // divisions + (log is logs[0]) * (more % divisions))
        yield _timed(f"after {more} games", lambda: write_site(store, LEAGUE, target))
        yield _timed("from scratch", lambda: write_site(store, LEAGUE, folder / "other"))
    files = [path for path in target.rglob("*") if path.is_file()]
    largest = max(files, key=lambda path: path.stat().st_size)
    size = sum(path.stat().st_size for path in files)
    yield f"{len(files):,} files, {size / 1e6:.1f} MB; largest {largest.name}, {largest.stat().st_size / 1e6:.2f} MB"


def _timed(name: str, act: Callable[[], object]) -> str:
    began, used = time.perf_counter(), _cpu()
    act()
    return f"{name:<20} {time.perf_counter() - began:8.2f} s {_cpu() - used:8.2f} s of processor time"


def _cpu() -> float:
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def season(store: Store, divisions: int, left: int) -> list[TournamentLog]:
    """Write a season in which `left` games of each division remain, and return its tournaments, the cross last."""
    names = tuple(f"Engine {number:02} {'abcdef'[number % 6]}" for number in range(1, divisions * _ENGINES + 1))
    rules = Rules(
        tuple(f"Division {number}" for number in range(1, divisions + 1)),
        (_ENGINES,) * divisions,
        (2,) * (divisions - 1),
        (0,) * (divisions - 1),
    )
    first = first_season(rules, names)
    write_season(store, LEAGUE, 1, {"cross": {"engines": 3}}, rules, first)
    assert seasons_of(store)
    logs = []
    for title, engines in zip(rules.names, first.divisions, strict=True):
        log = begin(store, title, engines, {"cycles": 2 * _CYCLES})
        play(log, _CYCLES * _ENGINES * (_ENGINES - 1) - left)
        logs.append(log)
    if divisions > 1:
        pairs = [
            [upper, lower]
            for above, below in zip(first.divisions, first.divisions[1:], strict=False)
            for upper in above[-3:]
            for lower in below[:3]
        ]
        named = {name for pair in pairs for name in pair}
        there = tuple(name for name in names if name in named)
        logs.append(begin(store, "Cross", there, {"pairs": pairs, "games_per_pairing": 20}))
        play(logs[-1], 20 * len(pairs))
    return logs


def begin(store: Store, label: str, names: Sequence[str], options: dict[str, object]) -> TournamentLog:
    """Begin a tournament of the season."""
    model = options_model("roundrobin").model_validate(options)
    format_ = make_format("roundrobin", model, 1)
    entrants = tuple(Entrant(one) for one in names)
    specs = {one: EngineSpec(one, (f"/opt/{one}",), "uci", fingerprint=one) for one in names}
    config = {"format": {"system": "roundrobin", **model.model_dump(mode="json")}, "play": {"tc": "60+0.5"}}
    title = stage_name(LEAGUE, 1, label)
    draft = Draft(title, "roundrobin", format_.version, config, 1, entrants, specs)
    return store.create_tournament(draft, format_.notes(format_.start(entrants)))


def play(log: TournamentLog, most: int) -> None:
    """Play up to `most` more games of a tournament."""
    format_, state = fold(log)
    batch: list[Game] = []
    for number in range(log.last_number, log.last_number + most):
        if not (offers := format_.offers(state)):
            break
        batch.append(_game(offers[0], number))
        state = format_.step(state, GameFinished(batch[-1].pairing, batch[-1].outcome))
        if len(batch) == _AT_ONCE:
            log.record_games([(game, ()) for game in batch])
            batch.clear()
    log.record_games([(game, ()) for game in batch])


def _game(pairing: Pairing, number: int) -> Game:
    side = Side(EngineSpec("x", ("x",), "uci"), TimeControl.parse("60+0.5"))
    place = (number // 2) % _BOOK
    opening = Opening(f"Opening {place}", place + 1, None, (), f"{'ABCDE'[place % 5]}{place % 100:02}")
    elo = {name: -_STEP * int(name.split()[1]) / 2 for name in pairing.pair}
    ended = 1_790_000_000.0 + 30 * number
    dice = random.Random(f"{pairing.key}")
    task = GameTask(pairing, side, side, opening=opening)
    return replace(played(task, _moves(dice.randrange(_VARIETY)), elo, ended - 120, ended))


@cache
def _moves(variant: int) -> tuple[MoveMade, ...]:
    dice = random.Random(variant)
    made = []
    for move in thought_moves(dice.randint(70, 90)):
        words = move.pv.split()
        score, depth = dice.randrange(-400, 400), dice.randrange(8, 30)
        line = " ".join(words[: dice.randint(2, len(words))])
        made.append(move._replace(elapsed_ms=dice.randrange(900), score=score, depth=depth, pv=line))
    return tuple(made)
