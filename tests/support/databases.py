"""Databases, fields and results for tests."""

from __future__ import annotations

import itertools
import json
import lzma
import os
import pwd
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from dataclasses import field as dataclasses_field
from datetime import UTC, datetime
from html.parser import HTMLParser
from importlib.util import find_spec
from itertools import chain, combinations, count
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner, Result
from sqlalchemy import insert, select, update

from enginetour.cli.main import cli
from enginetour.engines.launch import call
from enginetour.formats.base import Format, S, make_format, options_model
from enginetour.formats.league import Rules, first_season, next_season
from enginetour.formats.pairing.field import BLACK, NEITHER, WHITE, Field, Kind, Member, Paired, Turn
from enginetour.formats.rounds import Rounds, RoundsState
from enginetour.interop.gamefilter import EngineNames, ratable_games
from enginetour.interop.pgn import read_games
from enginetour.model.game import (
    Entrant,
    Game,
    GameFinished,
    Incident,
    MoveMade,
    Note,
    Opening,
    Outcome,
    Pairing,
    SideRecord,
    Termination,
    Withdrawn,
)
from enginetour.model.task import EngineSpec
from enginetour.ratings.ratinglist import RatingList, Row
from enginetour.store.address import Address, stage_name
from enginetour.store.check import inspect
from enginetour.store.counts import counts_by_name, counts_by_pair, kept_counts, pack_counts
from enginetour.store.database import Database
from enginetour.store.engines import rated_names
from enginetour.store.games import TournamentReader, recounted, versions_counts
from enginetour.store.imports import Imported, export_titles, import_games
from enginetour.store.log import TournamentLog
from enginetour.store.replay import fold
from enginetour.store.schema.versions.schema_9 import ADDED as NEW_TABLES
from enginetour.store.seasons import newest_season, write_season
from enginetour.store.tables import (
    EVENTS,
    IMPORTED_GAMES,
    IMPORTS,
    METADATA,
    SCHEMA_VERSION,
    TOURNAMENTS,
    GameConditions,
)
from enginetour.store.tournaments import Draft, Store

# Tournaments and games.

STORING_NAMES = ("Fruit", "Toga", "Phalanx", "HoiChess")


def spec(name: str, fingerprint: str = "f1", **options: str) -> EngineSpec:
    return EngineSpec(name, (f"/opt/{name}",), "uci", options=tuple(options.items()), fingerprint=fingerprint)


def draft(name: str = "autumn", names: tuple[str, ...] = STORING_NAMES, fingerprint: str = "f1") -> Draft:
    entrants = tuple(Entrant(entrant, rating=2700.0 - 100 * n) for n, entrant in enumerate(names))
    specs = {entrant: spec(entrant, fingerprint) for entrant in names}
    return Draft(name, "roundrobin", 1, {"format": {"cycles": 2}}, 7, entrants, specs)


def game(
    white: str = "Fruit",
    black: str = "Toga",
    outcome: Outcome = Outcome.WHITE,
    *,
    meeting: int = 1,
    leg: int = 1,
    replay: int = 0,
) -> Game:
    pairing = Pairing(white, black, meeting, leg, encounter=meeting, round=1)
    termination = Termination.ABORTED if outcome is Outcome.VOID else Termination.RESIGN
    return Game(pairing, outcome, termination, moves=(MoveMade("e2e4", "e4"),), replay=replay)


def full_game() -> Game:
    """Make a game with a value in every field, and with unusual texts of engines."""
    return Game(
        Pairing("Fruit", "Toga", 2, 2, 5, 3),
        Outcome.BLACK,
        Termination.CRASH,
        cause="White crashes; DROP TABLE games; -- \x1b[31m ½ 'quoted'",
        culprit="Fruit",
        category="crash",
        opening=Opening(
            "B20 Sicilian", 17, "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", ("e2e4", "c7c5"), "B20"
        ),
        moves=(
            MoveMade("e2e4", "e4", book=True),
            MoveMade("c7c5", "c5", 120, 59_980, -15, 14, 10**25, "g1f3 d7d6"),
            MoveMade("g1f3", "Nf3", 90, None, 31_997, None, None, "½"),
            MoveMade("d7d6", "d6", 30, 59_900, 0, 9, 0, "", False, 14, 900_000, 12, 0, 26, ("info string a", "½ {b}")),
        ),
        white=SideRecord("Fruit 2.1", 1, 90, 90, 59_000, 2, ("late pong", "odd\nline")),
        black=SideRecord(
            "Toga II",
            2,
            150,
            effort=(("depth", 2, 23), ("tbhits", 1, 0)),
            claims=(("pv-illegal", 2, "move 1: its PV goes on with 'x'"),),
        ),
        white_tc="60+0.1",
        black_tc="40/60",
        final_fen="8/8/8/8/8/8/8/8 w - - 0 1",
        started_unix=1_700_000_000.25,
        ended_unix=1_700_000_120.5,
        relay_gap_us=(10, 20, 30),
        incidents=(
            Incident(
                "Fruit",
                "crash",
                "signal 11 (SIGSEGV)",
                3,
                ("1.5 > go", "1.6 < \ud800"),
                ("boom",),
                "signal 11",
                9,
                77,
                1.5,
                8,
            ),
            Incident("Fruit", "protocol-warning", "odd"),
        ),
        replay=1,
    )


def sound_log(path: Address) -> tuple[Store, TournamentLog]:
    """Open a log as `open_log` does, with the decisions of a replay."""
    store, plan = Store.open(path), draft()
    format_ = make_format(plan.system, options_model(plan.system)(**plan.config["format"]), plan.seed)
    return store, store.create_tournament(plan, format_.notes(format_.start(plan.entrants)))


def open_log(path: Address) -> tuple[Store, TournamentLog]:
    store = Store.open(path)
    return store, store.create_tournament(draft())


def add_game(log: TournamentLog, game: Game, notes: Sequence[Note] = ()) -> int | None:
    """Write a game with its decisions; return its number, or None if it is already stored."""
    return log.record_games([(game, notes)])[0]


def write_games(path: Path, told: Connection) -> None:
    """Write games and report their numbers, in a process that runs until it is killed."""
    with Store.open(path) as store:
        log = store.tournament()
        played = log.last_position
        while True:
            outcome = list(Outcome)[played % 4]
            number = log.record_games([(game(outcome=outcome, meeting=played + 1), [Note("n", str(played + 1))])])[0]
            played += 1
            told.send(number)


def counts_are_kept(log: TournamentReader) -> bool:
    """Check that the stored pair counts are those of the games."""
    return versions_counts(log.database, log.id) == recounted(log.database, log.id)


def meddled(path: Path, *statements: str) -> None:
    """Run statements of another program on a database."""
    raw = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        raw.execute(statement)
    raw.close()


def counted_pairs(store: Store) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Return White's wins, draws and losses by the names in lists, for the whole database."""
    with store.database.reading() as connection:
        kept = [counts_by_pair(part) for part in kept_counts(connection).values()]
        return counts_by_name(chain.from_iterable(part.items() for part in kept), rated_names(connection))


# A database of unknown origin, with malicious names and texts.

ESCAPES = "\x1b[2J\x1b]0;title\x07A"
FORMULA = "=cmd|'/c calc'!A1"
BIDI = "\u202eevil\u2066\u200b\u061cB"
MARKUP = "[red]markup[/red]\x9b31mC"
LINES = '+D\r\nnext\u2028[Event "no"]'
COMMENT = '{x} } [Event "no"] %s %n {0} 1-0'
SQL = "'; DROP TABLE games; --"
NAMES = (ESCAPES, FORMULA, BIDI, MARKUP, LINES, COMMENT, SQL)
TITLES = {"bubble": "bub\x1b[1m\u202e", "dutch": "swi\x1b]0;x\x07\r\n001", "roundrobin": "'; DROP TABLE games; --\x9b"}
SETTINGS: dict[str, dict[str, Any]] = {
    "bubble": {"size": 3, "min_matches": 2, "unpark_threshold": 2}, "dutch": {"rounds": 2}, "roundrobin": {},
}  # fmt: skip


def store(path: Path) -> None:
    """A database with a finished tournament for each kind of report."""
    with Store.open(path) as made:
        for system, title in TITLES.items():
            _play(made, title, system, SETTINGS[system])


def _play(made: Store, title: str, system: str, settings: dict[str, Any]) -> None:
    format_ = make_format(system, options_model(system)(**settings), 7)
    entrants = tuple(
        Entrant(name, family="fam\x1b\r\n", origin="CZE", rating=2700.0 - 50 * n) for n, name in enumerate(NAMES)
    )
    specs = {name: replace(spec("x"), name=name) for name in NAMES}
    state = format_.start(entrants)
    config = {"format": {"system": system, **settings}, "ratings": {"anchor": {}}}
    draft = Draft(title, system, format_.version, config, 7, entrants, specs)
    log = made.create_tournament(draft, format_.notes(state))
    dice = random.Random(1)
    while offers := format_.offers(state):
        outcome = dice.choice([Outcome.WHITE, Outcome.DRAW, Outcome.BLACK])
        white = offers[0].white
        game = Game(
            offers[0], outcome, Termination.RESIGN, f"{white} \x1b[31mcause\u202e }} {{", white, "crash\x1b",
            Opening('op\x1b "\\', 1), (MoveMade("e2e4", "e4", 120, 59_980, -(2**63), 14, 10**25, "g1f3 \x1b"),),
            SideRecord('own\x1b\u202e"\\', warnings=("w\x1b",)), white_tc="60\x1b", black_tc="60+1\u202e",
            final_fen="x\x1b", started_unix=1.7e9, ended_unix=1.7e9 + 60, hardware="cpu\x1b", load_average=9.0, cores=2,
            incidents=(Incident(white, "crash\x1b", "cause\x1b\u202e", 1, ("t\x1b",), ("s\x1b",)),),
        )  # fmt: skip
        told = len(format_.notes(state))
        state = format_.step(state, GameFinished(offers[0], outcome))
        add_game(log, game, format_.notes(state)[told:])


def games(path: Path) -> None:
    """A game file with malicious names and texts."""
    met = [(ESCAPES, FORMULA, "1-0"), (FORMULA, BIDI, "0-1"), (BIDI, MARKUP, "1/2-1/2"), (MARKUP, ESCAPES, "x\x1b")]
    written = "".join(
        f'[Event "e\x1b"]\n[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n1. e4 {result}\n\n'
        for white, black, result in met * 3
    )
    path.write_bytes((written + '[White "?"]\n[Black "b\x1b"]\n[Result "1-0"]\n\n*\n').encode())


# Knockout tournaments.


def pairs(format_: Rounds, state: RoundsState) -> list[str]:
    """Return the offered pairs as letters."""
    return sorted("".join(game.pair) for game in format_.offers(state))


def told(format_: Rounds, state: RoundsState) -> dict[str, str]:
    """Return rank and status of each entrant."""
    return {line.name: f"{line.rank} {line.status}" for line in format_.standings(state)}


def played_out(format_: Rounds, entrants: tuple[Entrant, ...], dice: random.Random, *, staying: int) -> RoundsState:
    """Play to the end with withdrawals, and check the bounds on the number of games after the last one."""
    state, present = format_.start(entrants), [entrant.name for entrant in entrants]
    since: list[tuple[int, int]] = []
    while offers := format_.offers(state):
        since.append(format_.remaining(state))
        if len(present) > staying and dice.random() < 0.1:
            state = format_.step(state, Withdrawn(present.pop(dice.randrange(len(present)))))
            since = []
        else:
            outcome = dice.choice([Outcome.WHITE, Outcome.BLACK, Outcome.DRAW])
            state = format_.step(state, GameFinished(dice.choice(offers), outcome))
    for done, (fewest, most) in enumerate(since):
        assert fewest <= len(since) - done <= most
    return state


# Databases with games of several time controls, machines and days.

_meetings = itertools.count(1)


def seconds(day: str) -> float:
    """Return the UTC seconds of a day or a time."""
    return datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp()


def record(
    log: TournamentLog,
    white: str,
    black: str,
    outcome: Outcome = Outcome.WHITE,
    *,
    day: str = "2026-11-01",
    tc: str = "180+2",
    hardware: str = "",
) -> int:
    """Write a game that ended at noon of a day; return its id."""
    at = seconds(f"{day}T12:00")
    played = game(white, black, outcome, meeting=next(_meetings))
    add_game(log, replace(played, white_tc=tc, black_tc=tc, hardware=hardware, started_unix=at - 60, ended_unix=at))
    return stamp(log, at)


def findings(store: Store) -> list[str]:
    """Return the findings of a check without those of the replay, because the games were never offered."""
    return [one.what for one in inspect(store).findings if not one.place.startswith("tournament")]


def with_values(game: GameConditions, **values: object) -> GameConditions:
    """Make conditions of a game, some of them with other values."""
    return game.model_copy(update=values)


def row(found: RatingList, name: str) -> Row:
    """Return the row of an engine."""
    return next(each for each in found.rows if each.name == name)


def stamp(log: TournamentLog, at: float) -> int:
    """Set the time of the newest event; return the id of its game."""
    newest = (EVENTS.c.tournament == log.id, EVENTS.c.position == log.last_position)
    with log.database.writing() as connection:
        connection.execute(update(EVENTS).where(*newest).values(at_unix=at))
        return int(connection.execute(select(EVENTS.c.game).where(*newest)).scalar_one() or 0)


def bring(
    store: Store, games: list[tuple[int, int, int]], *, name: str = "club", day: int = 20261101, tc: str = "300+3"
) -> None:
    """Import games, given as (White's version, Black's version, White's half points)."""
    with store.database.writing() as connection:
        row = {"name": name, "edition": 1, "slug": name, "system": "import", "format_version": 1}
        row |= {"config": {}, "seed": 1, "created_unix": seconds("2026-11-05"), "version": "1"}
        tournament = connection.execute(insert(TOURNAMENTS), row).inserted_primary_key[0]  # type: ignore[index]
        newest = connection.exec_driver_sql("SELECT coalesce(max(id), 0) FROM games").scalar_one()
        place = {"tournament": tournament, "files": (), "after_game": newest, "games": len(games)}
        met = sorted({(white, black) for white, black, _ in games})
        sums = np.array([(*pair, *(games.count((*pair, points)) for points in (2, 1, 0))) for pair in met]).T
        connection.execute(insert(IMPORTS), {**place, "duplicates": 0, "counts": pack_counts(sums), "digests": b""})
        for number, (white, black, points) in enumerate(games):
            ends = {"tournament": tournament, "white_engine": white, "black_engine": black}
            about = {
                "white_half_points": points,
                "played_yyyymmdd": day,
                "tc": tc,
                "file_index": 0,
                "offset_bytes": number,
            }
            connection.execute(insert(IMPORTED_GAMES), {**ends, **about})


# Fields, results and colors for formats.


def field(count: int) -> tuple[Entrant, ...]:
    return tuple(Entrant(f"E{number}") for number in range(count))


def letters(count: int) -> tuple[Entrant, ...]:
    """Return A, B, C ..."""
    return tuple(map(Entrant, "ABCDEFGHIJKLMNOP"[:count]))


def earlier_wins(game: Pairing) -> Outcome:
    """The engine whose name sorts first wins."""
    return Outcome.WHITE if game.white < game.black else Outcome.BLACK


def white_wins(_: Pairing) -> Outcome:
    """White wins every game."""
    return Outcome.WHITE


def played(format_: Format[S], state: S, games: int = 10**6, judge: Callable[[Pairing], Outcome] = earlier_wins) -> S:
    """Play this number of games in the offered order, or all games."""
    while games and (offers := format_.offers(state)):
        state = format_.step(state, GameFinished(offers[0], judge(offers[0])))
        games -= 1
    return state


def shown(lines: Iterable[object], fields: str = "rank name half_points games") -> list[str]:
    """Return these fields of each line of a table, or of each game."""
    return [" ".join(str(getattr(line, field)) for field in fields.split()).strip() for line in lines]


def surplus(games: tuple[Pairing, ...]) -> Counter[str]:
    """Return the number of games with White minus the number of games with Black."""
    whites: Counter[str] = Counter(game.white for game in games)
    whites.subtract(game.black for game in games)
    return whites


# Small tournaments in rounds, written as their results.

MARKS = {"0": 0, "=": 1, "1": 2}


def field_of(members: Sequence[Member], *rounds: str, total: int = 5, win: int = 2, seed: int = 1) -> Field:
    """Parse rounds such as ``"A1B C=D E"``: the left entrant has White and scores 1, = or 0; E has the bye.

    ``A+B`` is a win by forfeit, ``A?`` a half-point bye; missing entrants are absent. With `win` above 2, a match has
    both colors and the given result.
    """
    history = []
    for text in rounds:
        row = [Turn() for _ in members]
        for word in text.split():
            one = ord(word[0]) - ord("A")
            if len(word) < 3:
                row[one] = Turn(Kind.BYE, points=win) if len(word) == 1 else Turn(Kind.HALF_BYE, points=win // 2)
                continue
            other, forfeit = ord(word[2]) - ord("A"), word[1] == "+"
            points = win * MARKS["1" if forfeit else word[1]] // 2
            kind, games = (Kind.FORFEIT, 0) if forfeit else (Kind.PLAYED, win // 2)
            colors = (WHITE, BLACK) if win == 2 else (NEITHER, NEITHER)
            row[one] = Turn(kind, other, colors[0], points, 0, games)
            row[other] = Turn(kind, one, colors[1], win - points, 0, games)
        history.append(tuple(row))
    return Field(tuple(members), tuple(history), tuple(range(len(members))), total, win, seed)


def rated(*ratings: float, families: str = "", origins: str = "") -> tuple[Member, ...]:
    """Make members A, B ... with these ratings, and with a letter of `families` and `origins` each (blank: none)."""
    return tuple(
        Member(chr(ord("A") + place), rating, families[place : place + 1].strip(), origins[place : place + 1].strip())
        for place, rating in enumerate(ratings)
    )


def random_field(seed: int, count: int, rounds: int) -> Field:
    """Play random legal rounds with draws, byes, absences and forfeits."""
    dice = random.Random(seed)
    members = tuple(
        Member(f"E{place}", float(dice.randint(1000, 2000)), dice.choice(["", "f", "g"]), dice.choice(["", "x", "y"]))
        for place in range(count)
    )
    field = Field(members, (), tuple(range(count)), 5)
    for _ in range(rounds):
        there = [place for place in range(count) if dice.random() < 0.95]
        dice.shuffle(there)
        row = [Turn() for _ in members]
        while len(there) > 1:
            one = there.pop()
            other = next((place for place in there if not field.met(one, place)), None)
            if other is None:
                continue
            there.remove(other)
            points = dice.choice([0, 1, 2])
            kind = Kind.FORFEIT if points != 1 and dice.random() < 0.05 else Kind.PLAYED
            row[one] = Turn(kind, other, WHITE, points, 0, int(kind is Kind.PLAYED))
            row[other] = Turn(kind, one, BLACK, 2 - points, 0, int(kind is Kind.PLAYED))
        if there:
            row[there[0]] = Turn(Kind.BYE, points=2)
        field = Field(members, (*field.history, tuple(row)), field.present, 5)
    return field


def names(field: Field, paired: Paired) -> str:
    """Format pairs in the order of entry, with the bye after a comma: ``"AB CD, E"``."""
    called = [member.name for member in field.members]
    pairs = " ".join("".join(called[place] for place in board.pair) for board in paired.boards)
    return pairs + "".join(f", {called[place]}" for place in paired.byes)


# Recorded tournaments of a current Gotha program.

FOLDER = Path(__file__).parents[1] / "golden" / "gotha"
POINTS = {"1-0": 2, "1/2": 1, "0-1": 0}


def read(name: str) -> dict[str, Any]:
    """Read a recorded tournament; the README of the files describes them."""
    told: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return told


def turns(told: dict[str, Any], state: dict[str, Any]) -> tuple[Turn, ...]:
    """Return a round in the order of the members."""
    place = {line["name"]: at for at, line in enumerate(told["players"])}
    row = [Turn()] * len(place)
    for (white, black, handicap), result in zip(state["pairs"], state["results"], strict=True):
        one, other, points = place[white], place[black], POINTS[result]
        row[one] = Turn(Kind.PLAYED, other, WHITE, points, handicap, 1)
        row[other] = Turn(Kind.PLAYED, one, BLACK, 2 - points, -handicap, 1)
    if state["bye"]:
        row[place[state["bye"]]] = Turn(Kind.BYE, points=2)
    return tuple(row)


def recorded(name: str) -> Iterator[tuple[Field, dict[str, Any]]]:
    """Yield the field before each round, and the recorded round."""
    told = read(name)
    members = tuple(Member(line["name"], line["rating"], line["family"], line["origin"]) for line in told["players"])
    history: tuple[tuple[Turn, ...], ...] = ()
    for state in told["states"]:
        yield Field(members, history, tuple(range(len(members))), told["rounds"]), state
        history += (turns(told, state),)


# Tournaments with random results for tests of reports, and a strict parser of pages.

STARTED = 1_700_000_000.0
OPENINGS = (("Open", "e2e4", "e4"), ("Closed", "d2d4", "d4"))
BUBBLE = {"size": 3, "min_matches": 2, "unpark_threshold": 2, "games_per_pairing": 2}


def reported_played(
    path: Path,
    names: tuple[str, ...],
    system: str = "roundrobin",
    options: dict[str, Any] | None = None,
    *,
    name: str = "autumn",
    most: int = 10_000,
    seed: int = 1,
) -> tuple[Store, TournamentLog]:
    """Play a tournament with random results, up to `most` games, in a new or an existing database.

    Every seventh game has a time loss with an engine log, and every fifth used the time margin once.
    """
    model = options_model(system)(**(options or {}))
    format_ = make_format(system, model, seed)
    entrants = tuple(Entrant(one) for one in names)
    specs = {one: EngineSpec(one, (f"/opt/{n}/engine",), "uci", fingerprint=f"f{n}") for n, one in enumerate(names)}
    config = {
        "format": model.model_dump(mode="json"),
        "play": {"tc": "10+0.1", "openings": {"file": "suite.epd", "order": "random"}},
        "ratings": {"systems": ["ml"], "anchor": {}},
    }
    store = Store.open(path)
    draft = Draft(name, system, format_.version, config, seed, entrants, specs)
    log = store.create_tournament(draft, format_.notes(format_.start(entrants)))
    play_on(log, most, seed)
    return store, log


def play_on(log: TournamentLog, most: int, seed: int = 1) -> None:
    """Play up to `most` more games of a tournament, as `reported_played` does."""
    names = tuple(entrant.name for entrant in log.entrants)
    dice, first = random.Random(seed), log.last_number + 1
    format_, state = fold(log)
    told = len(format_.notes(state))
    for number in range(first, first + most):
        if not (offers := format_.offers(state)):
            return
        game = replace(_game(offers[0], number, names, dice), replay=log.replays(offers[0].key))
        state = format_.step(state, GameFinished(game.pairing, game.outcome))
        notes = format_.notes(state)
        add_game(log, game, notes[told:])
        told = len(notes)


def _game(pairing: Pairing, number: int, names: tuple[str, ...], dice: random.Random) -> Game:
    better = names.index(pairing.white) < names.index(pairing.black)
    outcome = dice.choices((Outcome.WHITE, Outcome.DRAW, Outcome.BLACK), (3, 2, 1) if better else (1, 2, 3))[0]
    opening, uci, san = OPENINGS[pairing.encounter % 2]
    game = Game(
        pairing,
        outcome,
        Termination.REPETITION if outcome is Outcome.DRAW else Termination.MATE,
        opening=Opening(opening, 1 + pairing.encounter % 2),
        moves=(MoveMade(uci, san, book=True), MoveMade("e7e5", "e5", 120, 9_880, -15, 14)),
        white=SideRecord("own name", 20, 2_000, 300, margin_uses=int(number % 5 == 0), effort=(("depth", 20, 200),)),
        black=SideRecord("own name", 20, 1_500, 200),
        white_tc="10+0.1",
        black_tc="10+0.1",
        started_unix=STARTED + 60 * number,
        ended_unix=STARTED + 60 * number + 45,
        relay_gap_us=(100, 200, 300 + number),
        hardware="Example CPU",
        load_average=1.5,
        cores=2,
        steal_percent=0.0,
    )
    if number % 7 or outcome is Outcome.DRAW:
        return game
    loser = pairing.black if outcome is Outcome.WHITE else pairing.white
    cause = f"{'Black' if loser == pairing.black else 'White'} loses on time, 80 ms over"
    late = Incident(
        loser, "time", cause, 2, ("1.000000 > go wtime 100", "1.180000 < bestmove e7e5"), ("slow",), "", 1_000_000
    )
    return replace(
        game,
        termination=Termination.TIME,
        cause=cause,
        culprit=loser,
        category="time",
        incidents=(late,),
        referee_us=400,
    )


def league_played(
    path: Path, names: tuple[str, ...], seasons: int = 1, *, name: str = "Mini", left: int = 0, first: int = 1
) -> None:
    """Play seasons of a league of two divisions, with a match between them and a playoff; `left` games remain."""
    half = len(names) // 2
    rules = Rules(("Premier", "First"), (half, half), (1,), (1,))
    with Store.open(path) as store:
        for number in range(first, first + seasons):
            before = newest_season(store, name)
            season = first_season(rules, names)
            if before is not None:
                season = next_season(rules, before.season, before.result(), names)
            write_season(store, name, number, {"cross": {"engines": 1}}, rules, season)
            is_cut = left and number == seasons + first - 1
            for label, entrants in zip(rules.names, season.divisions, strict=True):
                _league_stage(path, name, number, label, entrants, half * (half - 1) - (left if is_cut else 0))
            if is_cut:
                return
            book = newest_season(store, name)
            assert book is not None
            (upper, lower), (match,) = book.tables, book.playoffs
            _league_stage(path, name, number, "Cross", (upper[-1], lower[0]))
            _league_stage(path, name, number, match.label, match.entrants)


def _league_stage(path: Path, name: str, season: int, label: str, names: tuple[str, ...], most: int = 10_000) -> None:
    options = {"games_per_pairing": 2}
    title = stage_name(name, season, label)
    reported_played(path, names, options=options, name=title, most=most, seed=season)[0].close()


VOID = frozenset({"meta", "link", "input", "br", "hr", "img", "use", "wbr"})
ADDRESSES = ("href", "src", "action", "formaction", "poster", "xlink:href", "srcset")
SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*:|//)", re.IGNORECASE)


@dataclass
class Page(HTMLParser):
    """A parser that rejects unclosed elements and collects links, ids and text."""

    text: str
    links: list[str] = dataclasses_field(default_factory=list)
    ids: list[str] = dataclasses_field(default_factory=list)
    words: list[str] = dataclasses_field(default_factory=list)
    elements: list[tuple[str, dict[str, str | None]]] = dataclasses_field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[str] = []
        self.feed(self.text)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._noted(tag, attrs)
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._noted(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open[-1] == tag, f"</{tag}> inside {self._open[-3:]}"
        self._open.pop()

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def _noted(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"twice the same attribute in <{tag}>"
        found = dict(attrs)
        self.elements.append((tag, found))
        self.links += [value for name in ADDRESSES if (value := found.get(name)) is not None]
        self.ids += [value for value in (found.get("id"),) if value is not None]

    @property
    def said(self) -> str:
        """The text of the page."""
        return "".join(self.words)

    def tags(self, name: str) -> Iterator[dict[str, str | None]]:
        """Return the attributes of every element with this name."""
        return (attributes for tag, attributes in self.elements if tag == name)


def leads_away(page: Page) -> list[str]:
    """Return addresses with a scheme or a host, except embedded downloads."""
    return [link for link in page.links if SCHEME.match(link) and not link.startswith("data:")]


def runs_strange(page: Page) -> list[str]:
    """Return everything that could run or style besides enginetour's files: handlers, inline scripts, styles."""
    found = [f"{tag} {name}" for tag, own in page.elements for name in own if name.startswith("on") or name == "style"]
    found += [
        f"script {own}" for own in page.tags("script") if "src" not in own and own.get("type") != "application/json"
    ]
    return found + ["style" for _ in page.tags("style")]


def broken(folder: Path, here: str, pages: dict[str, Page]) -> list[str]:
    """Return links to missing files of the directory or to missing ids."""
    ids = {(folder / address).resolve(): page.ids for address, page in pages.items()}
    missing = []
    for link in pages[here].links:
        address, _, part = link.partition("#")
        target = ((folder / here).parent / address if address else folder / here).resolve()
        if not link.startswith("data:") and (not target.is_file() or (part and part not in ids[target])):
            missing.append(link)
    return missing


# Random outcomes, drawn in blocks because a single draw of numpy is slow.

BLOCK = 256


def rolled(dice: np.random.Generator, chances: Sequence[float]) -> Iterator[int]:
    """Yield random classes of outcomes with these probabilities."""
    while True:
        yield from dice.choice(len(chances), size=BLOCK, p=chances).tolist()


# Fields of tournaments in rounds with random results.

ABSENCES = (Turn(), Turn(), Turn(Kind.HALF_BYE, points=1), Turn(Kind.FULL_BYE, points=2))


def entered(count: int, rounds: int) -> Field:
    """Return a field of members E1, E2, ... before round 1."""
    members = tuple(Member(f"E{number}") for number in range(1, count + 1))
    return Field(members, (), tuple(range(count)), rounds)


def unmet(count: int, pairs: Collection[tuple[int, int]]) -> Field:
    """Return a field in which all have met except these pairs, in games without points."""
    field = entered(count, count * count)
    met = [pair for pair in combinations(range(count), 2) if pair not in pairs]
    return replace(field, history=tuple(_only(count, *pair) for pair in met))


def _only(count: int, one: int, other: int) -> tuple[Turn, ...]:
    row = [Turn()] * count
    row[one], row[other] = Turn(Kind.PLAYED, other), Turn(Kind.PLAYED, one)
    return tuple(row)


def after(field: Field, paired: Paired, dice: random.Random, trouble: float = 0.0, draws: float = 0.4) -> Field:
    """Play one round; some games are forfeited and some members are absent, with the probability `trouble`."""
    row = [Turn()] * len(field.members)
    for member in set(range(len(row))) - set(field.present):
        row[member] = dice.choice(ABSENCES)
    for board in paired.boards:
        points = 1 if dice.random() < draws else dice.choice([0, 2])
        kind = Kind.FORFEIT if points != 1 and dice.random() < trouble else Kind.PLAYED
        colors = (WHITE, BLACK) if kind is Kind.PLAYED else (0, 0)
        row[board.white] = Turn(kind, board.black, colors[0], points, games=1)
        row[board.black] = Turn(kind, board.white, colors[1], 2 - points, games=1)
    for member in paired.byes:
        row[member] = Turn(Kind.BYE, points=field.win)
    present = tuple(member for member in range(len(row)) if dice.random() >= trouble)
    return Field(field.members, (*field.history, tuple(row)), present, field.rounds, field.win, field.seed)


# A PostgreSQL server for tests, in a temporary directory and on a free port.

PROGRAMS = Path("/usr/lib/postgresql")  # with a directory for each version in Debian
PR_SET_PDEATHSIG = 1  # prctl(2)
_NUMBERS = count(1)


def lacking() -> str:
    """Say why no server can be started, with the next step; "" if one can."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'enginetour[postgres]'"
    return "" if programs() else "PostgreSQL is not on this machine: apt install postgresql-15"


def programs() -> Path | None:
    """Return the directory of initdb and postgres of the newest version; None if there is none."""
    found = sorted(PROGRAMS.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


def nobody() -> str | None:
    """Return the user of the server, which does not run as root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _die_with_the_tests() -> None:
    """End the server with the process of the tests, even after a kill."""
    call("prctl", PR_SET_PDEATHSIG, signal.SIGQUIT)


@dataclass
class Server:
    """A running server; `url` gives addresses of the databases that `database` creates."""

    programs: Path
    folder: Path
    port: int
    process: subprocess.Popen[bytes] = dataclasses_field(init=False)

    def start(self) -> None:
        """Start the server again on the same port, from the main thread, with which it ends."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "fsync": "off",  # no power failure is tested
            "max_connections": 40,
            "shared_buffers": "16MB",
            "log_min_messages": "fatal",
        }
        command = [os.fspath(self.programs / "postgres"), "-D", os.fspath(self.folder / "data")]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, user=nobody(), cwd=self.folder, preexec_fn=_die_with_the_tests
            )
        while self.process.poll() is None:
            if self.answers():
                return
        raise RuntimeError((self.folder / "log").read_text())

    def stop(self) -> None:
        """End the server with SIGQUIT: immediately, as after a crash."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def ask_there(self, url: str, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement in the database and schema of an address."""
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def holds(self, url: str) -> list[tuple[Any, ...]]:
        """Return columns, types and indexes of a schema, and the comments on its tables."""
        columns = """SELECT table_name, column_name, data_type, is_nullable, collation_name
        FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, ordinal_position"""
        indexes = "SELECT indexname, tablename FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"
        comments = """SELECT relname, obj_description(oid) FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY 1"""
        return [row for asked in (columns, indexes, comments) for row in self.ask_there(url, asked)]

    def answers(self) -> bool:
        """Whether the server accepts connections."""
        import psycopg

        try:
            self.ask("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement as the owner of the server."""
        return self.ask_there(self.url("postgres"), statement)

    def url(self, database: str, user: str = "tester", password: str = "") -> str:
        """Return the address of a database."""
        who = f"{user}:{password}" if password else user
        return f"postgresql://{who}@127.0.0.1:{self.port}/{database}"

    def cut(self, name: str) -> None:
        """End the connections whose name matches, and wait until they have ended."""
        like = f"FROM pg_stat_activity WHERE application_name LIKE '{name}'"
        self.ask(f"SELECT pg_terminate_backend(pid, 10000) {like}")

    def user(self, name: str, password: str) -> str:
        """Create a user without privileges and return its unique name."""
        name = f"{name}{next(_NUMBERS)}"
        self.ask(f"CREATE USER {name} PASSWORD '{password}'")
        return name

    @staticmethod
    def schema_of(url: str) -> str:
        """Return the schema in an address."""
        return url.rpartition("%3D")[2]

    def schema(self) -> str:
        """Create an empty schema, much faster than a database, and return its address."""
        name = f"s{next(_NUMBERS)}"
        self.ask(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}?options=-csearch_path%3D{name}"

    def database(self, more: str = "") -> str:
        """Create an empty database and return its address."""
        name = f"t{next(_NUMBERS)}"
        self.ask(f'CREATE DATABASE "{name}" {more}')
        return self.url(name)


@contextmanager
def server() -> Iterator[Server]:
    """A server with a superuser `tester` without password; other users need a password."""
    found = programs()
    assert found is not None
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        user = nobody()
        if user is not None:
            shutil.chown(folder, user)
        options = [
            "-U",
            "tester",
            "-E",
            "UTF8",
            "--locale=C",
            "-A",
            "trust",
            "--no-sync",
            "-D",
            os.fspath(folder / "data"),
        ]
        subprocess.run(
            [os.fspath(found / "initdb"), *options],
            user=user,
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
        )
        rules = "host all tester 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\nlocal all all trust\n"
        (folder / "data" / "pg_hba.conf").write_text(rules)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        made = Server(found, folder, port)
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def garbage(path: Path) -> None:
    path.write_bytes(b"[tournament]\nname = 'autumn'\n" * 300)


def foreign(path: Path) -> None:
    meddled(path, "CREATE TABLE bookmarks (url TEXT)")


def changed(path: Path, *statements: str) -> None:
    """Run statements of another program on a database."""
    Database.open(path).close()
    meddled(path, *statements)


def newer(path: Path) -> None:
    changed(path, f"PRAGMA user_version={SCHEMA_VERSION + 1}")


OLDER = Path(__file__).parents[1] / "golden" / "older"  # files of commit 433f15d


def older(path: Path, name: str = "interrupted") -> Path:
    """Unpack a recorded database of schema 6."""
    path.write_bytes(lzma.decompress((OLDER / "databases" / f"{name}.db.xz").read_bytes()))
    return path


def older_on_server(server: Server, folder: Path, name: str = "interrupted") -> str:
    """Copy a recorded database into a new schema of a server; return its address."""
    import psycopg

    url = server.schema()
    server.ask_there(url, (OLDER / "postgresql.sql").read_text("utf-8"))
    with closing(sqlite3.connect(older(folder / f"{name}.recorded", name))) as raw, psycopg.connect(url) as there:
        for table in (table for table in METADATA.sorted_tables if table.name not in NEW_TABLES):
            found = raw.execute(f'SELECT * FROM "{table.name}"')
            columns = [column[0] for column in found.description]
            names, marks = ", ".join(f'"{one}"' for one in columns), ", ".join(["%s"] * len(columns))
            truth = columns.index("new") if "new" in columns else -1  # SQLite has a number instead of a boolean
            rows = [[bool(cell) if place == truth else cell for place, cell in enumerate(row)] for row in found]
            with there.cursor() as cursor:
                cursor.executemany(f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})'.encode(), rows)
                if "id" in columns:
                    counter = f"pg_get_serial_sequence('{table.name}', 'id')"
                    cursor.execute(f'SELECT setval({counter}, coalesce(max(id), 1)) FROM "{table.name}"'.encode())
        there.execute(b"COMMENT ON TABLE tournaments IS 'enginetour, schema 6'")
    return url


def with_trigger(path: Path) -> None:
    changed(path, "CREATE TRIGGER t AFTER INSERT ON games BEGIN DELETE FROM games; END")


def pgn(*games: tuple[str, str, str], event: str = "E", moves: str = "1. e4 ") -> str:
    """Make games of White, Black and result, each in its own round."""
    return "".join(
        f'[Event "{event}"]\n[Site "?"]\n[Date "2024.02.{number:02}"]\n[Round "{number}"]\n[White "{white}"]\n'
        f'[Black "{black}"]\n[Result "{result}"]\n\n{moves}{result}\n\n'
        for number, (white, black, result) in enumerate(games, 1)
    )


def enter(store: Store, path: Path, name: str = "CCRL", naming: EngineNames | None = None) -> Imported:
    games = read_games([path], export_titles(store.database))
    rated = ratable_games(games, naming or EngineNames())
    return import_games(store.database, name, games, rated, [str(path)])[0]


def rows(path: Path, table: str) -> list[Any]:
    connection = sqlite3.connect(path)
    found = connection.execute(f"SELECT * FROM {table}").fetchall()
    connection.close()
    return found


# Commands.


def invoke(folder: Path, *words: object) -> Result:
    line = [str(word) for word in words]
    return CliRunner().invoke(cli, [*line, "--db", str(folder / "x.db")], standalone_mode=True)


# An engine that moves its knights back and forth, with an option that names a file.
WITH_NET = """\
import sys
moves, plies = ["g1f3", "g8f6", "f3g1", "f6g8"], 0
for line in sys.stdin:
    words = line.split()
    if words[0] == "position":
        plies = len(words[words.index("moves") + 1:]) if "moves" in words else 0
    if words[0] == "uci":
        print("option name EvalFile type string default <empty>\\nuciok", flush=True)
    if words[0] == "isready":
        print("readyok", flush=True)
    if words[0] == "go":
        print("bestmove", moves[plies % 4], flush=True)
"""
STOPS = "changed since the last game: Netty (binary, net or options)"
