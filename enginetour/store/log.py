"""Write the log of a tournament: the row of each game and event, in durable transactions.

No other module writes games.
`record_games` and `record_event` return when the data is durable. The writer holds the tournament's lock.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection, bindparam, func, insert, or_, select, update

from enginetour.model.errors import StoreRefused, UsageRefused
from enginetour.model.game import (
    Added,
    Entrant,
    Event,
    Extended,
    Game,
    GameFinished,
    GameKey,
    GameVoided,
    Note,
    Outcome,
    Pairing,
    Replaced,
    Withdrawn,
)
from enginetour.model.moves import pack_moves
from enginetour.model.task import EngineSpec
from enginetour.store import codecs
from enginetour.store.counts import removal_time
from enginetour.store.database import PATIENCE_S, RETRY_S, Database, Prepared
from enginetour.store.dialect import Lock, LockLost, StoreUnreachable, upsert
from enginetour.store.engines import add_entrant
from enginetour.store.games import TournamentReader
from enginetour.store.tables import (
    ENGINES,
    ENTRANTS,
    EVENTS,
    GAMES,
    INCIDENTS,
    MOVES,
    NEXT_POSITION,
    NOTES,
    PAIR_COUNTS,
    STANDING,
    STRUCK,
)

# If a server disconnects during a commit, the commit may or may not have succeeded. The log shows it afterwards, so
# that a game is neither lost nor written twice.

_T = TypeVar("_T")
_NEXT = Prepared(NEXT_POSITION)
_MOMENT = select(EVENTS.c.at_unix).where(EVENTS.c.tournament == bindparam("t"), EVENTS.c.position == bindparam("p"))


@dataclass(frozen=True, slots=True)
class _Tried(Generic[_T]):
    """The last event of a transaction; the exact bits of its time distinguish it from events of other writers."""

    position: int
    at: float
    result: _T


class _WriteGuard:
    """Keeps the writes of one run consistent.

    `newest` is the position of the last event that the run has written, or None before its first event.
    """

    def __init__(self, database: Database, tournament: int, title: str) -> None:
        self.newest: int | None = None
        self._database = database
        self._here = {"t": tournament}
        self._title = title
        self._lock: Lock | None = None
        self._seen: int | None = None  # position of the newest event when the lock was taken
        self._event: tuple[int, float] | None = None  # position and time of the last event of the open transaction

    def require_lock(self, lock: Lock) -> None:
        """Allow writes only while this lock is held. It can be regained if no other process has written since."""
        self._lock = lock
        with self._database.reading() as connection:
            self._seen = self._next(connection) - 1

    def note_event(self, position: int, at: float) -> None:
        """Remember an event of the open transaction with its time in UTC seconds."""
        self._event = position, at

    def run(self, write: Callable[[Connection, int], _T], *, patience: float = 0.0) -> _T:
        """Call `write` with the position of its first event in a transaction, and return its result.

        While the server cannot be reached or the lock is lost, the transaction is tried again until the patience of the
        database ends. Raise StoreRefused if another process has written to this tournament.
        """
        deadline = time.monotonic() + self._database.patience
        tried: _Tried[_T] | None = None
        while True:
            try:
                with self._database.writing(patience=patience) as connection:
                    position = self._next(connection)
                    if tried is not None and self._was_committed(connection, tried):
                        self.newest = tried.position
                        return tried.result
                    self._check_only_writer(connection, position)
                    self._event = None
                    result = write(connection, position)
                    tried = None if self._event is None else _Tried(*self._event, result)
            except StoreUnreachable as error:
                if time.monotonic() >= deadline:
                    raise
                self._wait(error)
            else:
                self.newest = tried.position if tried is not None else position - 1
                return result

    def _next(self, connection: Connection) -> int:
        return int(_NEXT.first(connection, self._here)[0])

    def _was_committed(self, connection: Connection, tried: _Tried[_T]) -> bool:
        at = connection.execute(_MOMENT, {**self._here, "p": tried.position}).scalar()
        return bool(at == tried.at)

    def _check_only_writer(self, connection: Connection, position: int) -> None:
        if self._lock is not None and not self._lock.is_held(connection):
            raise LockLost("the tournament's lock was lost", place=str(self._database.path), step="resume the run")
        last = self._seen if self.newest is None else self.newest
        if last not in (None, position - 1):
            step = "end one of the two runs and resume the other; do not remove lock files"
            raise StoreRefused("another process writes to this tournament", place=self._title, step=step)

    def _wait(self, error: StoreUnreachable) -> None:
        """Regain a lost lock, or wait a short time for the server."""
        self._database.check_stop()
        if isinstance(error, LockLost) and self._lock is not None:
            try:
                self._lock.regain()
            except StoreUnreachable:
                pass
            else:
                return
        time.sleep(RETRY_S)


# Cached counts. A reader always queries the database, because other processes may write. A writer does the same before
# its first write, which proves that it is the only writer.

_ABORTED = "engine-abort"
_PairCounts = dict[tuple[str, str], tuple[int, int, int]]
_COUNTED = {Outcome.WHITE: (1, 0, 0), Outcome.DRAW: (0, 1, 0), Outcome.BLACK: (0, 0, 1), Outcome.VOID: (0, 0, 0)}


@dataclass
class _Cache:
    """Values that are valid after the last written event, or None if they have not been read yet."""

    versions: dict[str, Any] = field(default_factory=dict)  # rows of engine versions, by the names of entrants
    ratings: dict[str, float] | None = None
    counts: _PairCounts | None = None
    void: Counter[GameKey] | None = None  # the number of void or annulled games
    aborted: Counter[GameKey] = field(default_factory=Counter)  # valid if `void` is not None

    def load_void(self, database: Database, tournament: int) -> Counter[GameKey]:
        """Return the number of games that do not count, by key."""
        if self.void is None:
            void, counted, aborted = GAMES.c.outcome == Outcome.VOID, Counter[GameKey](), Counter[GameKey]()
            columns = [GAMES.c[name] for name in ("pair_low", "pair_high", "meeting", "leg", "outcome", "category")]
            rows = select(*columns).where(GAMES.c.tournament == tournament, or_(void, STRUCK))
            for low, high, meeting, leg, outcome, category in database.rows(rows):
                counted[low, high, meeting, leg] += 1
                aborted[low, high, meeting, leg] += outcome == Outcome.VOID and category == _ABORTED
            self.void, self.aborted = counted, aborted
        return self.void

    def add(self, game: Game, versions: Mapping[str, Any]) -> None:
        """Update the values after a game was written. `versions` has the engine versions of both sides."""
        pairing = game.pairing
        if game.outcome is Outcome.VOID and self.void is not None:
            self.void[pairing.key] += 1
            self.aborted[pairing.key] += game.category == _ABORTED
        elif game.outcome is not Outcome.VOID and not pairing.handicap and self.counts is not None:
            names = versions[pairing.white].plain, versions[pairing.black].plain
            before = self.counts.get(names)
            wins, draws, losses = (a + b for a, b in zip(before or (0, 0, 0), _COUNTED[game.outcome], strict=True))
            self.counts[names] = wins, draws, losses
            if before is None:
                self.counts = dict(sorted(self.counts.items()))


# Statements are built once, because building one takes longer than running it.
_GAME_KEY = ("tournament", "pair_low", "pair_high", "meeting", "leg", "replay")
_KNOWN = select(GAMES.c.number).where(*(GAMES.c[name] == bindparam(f"k_{name}") for name in _GAME_KEY))
_NEXT_NUMBER = select(func.coalesce(func.max(GAMES.c.number), 0) + 1).where(GAMES.c.tournament == bindparam("t"))
_KNOWN_AND_NEXT = Prepared(select(_KNOWN.exists(), _NEXT_NUMBER.scalar_subquery()))
_VERSIONS = (
    select(ENTRANTS.c.name, ENTRANTS.c.engine, ENGINES.c.own_name, ENGINES.c.name.label("plain"))
    .join(ENGINES, ENGINES.c.id == ENTRANTS.c.engine)
    .where(ENTRANTS.c.tournament == bindparam("t"), ENTRANTS.c.name.in_([bindparam("w"), bindparam("b")]))
    .order_by(ENTRANTS.c.since_event)
)
_GAME, _MOVES, _EVENT = (Prepared(insert(table)) for table in (GAMES, MOVES, EVENTS))
_NOTES, _INCIDENTS = insert(NOTES), insert(INCIDENTS)
_Row = tuple[Game, Sequence[Note], dict[str, Any], bytes]  # columns and moves are encoded before the transaction
_COUNTS = Prepared(
    upsert(PAIR_COUNTS, ("tournament", "white_engine", "black_engine"), ("wins", "draws", "losses"), adds=True)
)


def write_notes(connection: Connection, tournament: int, position: int, notes: Sequence[Note]) -> None:
    """Write the decisions of one event. Position 0 is for decisions before the first event."""
    place = {"tournament": tournament, "position": position}
    rows = [{**place, "ordinal": n, **codecs.note_columns(note)} for n, note in enumerate(notes, 1)]
    if rows:
        connection.execute(_NOTES, rows)


class TournamentLog(TournamentReader):
    """One edition of a tournament in an open database, for reading and writing. `Store` creates it."""

    def __init__(self, database: Database, row: Any) -> None:
        super().__init__(database, row)
        self._guard = _WriteGuard(database, self.id, self.title)
        self._cache = _Cache()

    def require_lock(self, lock: Lock) -> None:
        """Check before every later write that this lock is still held. It must be held now."""
        self._guard.require_lock(lock)

    def record_games(self, games: Sequence[tuple[Game, Sequence[Note]]]) -> list[int | None]:
        """Write games in one transaction, each with its event, notes, incidents and pair counts.

        Return the numbers of the games. The log is the same as with one transaction per game. A game that is already
        stored with this replay number is not written, and its number is None: a cluster can play a game twice.

        Raises:
            KeyError: A side is not an entrant.
        """
        rows = [(game, notes, codecs.game_columns(game), pack_moves(game.moves)) for game, notes in games]
        named: set[int] = set()

        def write(connection: Connection, position: int) -> list[tuple[int, dict[str, Any]] | None]:
            named.clear()
            found: list[tuple[int, dict[str, Any]] | None] = []
            for row in rows:
                found.append(self._write_game(connection, position, row, named))
                position += found[-1] is not None
            return found

        written = self._guard.run(write, patience=PATIENCE_S)
        if named:
            self._cache.versions = {}
        for (game, _), one in zip(games, written, strict=True):
            if one is not None:
                self._cache.add(game, one[1])
        return [None if one is None else one[0] for one in written]

    def _write_game(
        self, connection: Connection, position: int, row: _Row, named: set[int]
    ) -> tuple[int, dict[str, Any]] | None:
        """Write a game. Return its number and the engine versions, or None if the game is already stored.

        Versions that first report their name in this game are added to `named`.
        """
        game, notes, columns, blob = row
        pairing = game.pairing
        key = {f"k_{name}": columns[name] for name in _GAME_KEY[1:]}
        known, number = _KNOWN_AND_NEXT.first(connection, {"k_tournament": self.id, **key, "t": self.id})
        if known:
            return None
        versions = self._versions_playing(connection, pairing)
        white, black = versions[pairing.white].engine, versions[pairing.black].engine
        own = {"tournament": self.id, "number": number, "white_engine": white, "black_engine": black}
        made = _GAME.made(connection, {**columns, **own})
        _MOVES.write(connection, {"game": made, "moves": blob})
        self._write_event(connection, position, "finished", game=made)
        write_notes(connection, self.id, position, notes)
        for n, incident in enumerate(game.incidents, 1):
            columns = codecs.incident_columns(incident)
            connection.execute(_INCIDENTS, {"game": made, "ordinal": n, **columns})
        if game.outcome is not Outcome.VOID and not pairing.handicap:
            self._count(connection, white, black, game.outcome, 1)
        for one, side in ((versions[pairing.white], game.white), (versions[pairing.black], game.black)):
            if side.own_name and not one.own_name and one.engine not in named:
                own_name = codecs.clean_text(side.own_name)[:100]  # reliability spec 2.6
                connection.execute(update(ENGINES).where(ENGINES.c.id == one.engine).values(own_name=own_name))
                named.add(one.engine)
        return int(number), versions

    def _versions_playing(self, connection: Connection, pairing: Pairing) -> dict[str, Any]:
        sides = {"w": pairing.white, "b": pairing.black}
        found = self._cache.versions
        if self._guard.newest is None or not found.keys() >= set(sides.values()):
            rows = connection.execute(_VERSIONS, {"t": self.id, **sides})
            found = self._cache.versions = {**found, **{row.name: row for row in rows}}
        return found

    def record_event(
        self, event: Event, notes: Sequence[Note] = (), *, why: str = "", spec: EngineSpec | None = None
    ) -> int:
        """Write any event except a finished game, and return its position. `Added` and `Replaced` need the `spec`.

        Raise UsageRefused for an unknown game or entrant, and for a name that another entrant has.
        """
        self._cache = _Cache()

        def write(connection: Connection, position: int) -> int:
            match event:
                case GameVoided():
                    self._void(connection, position, event, why or event.why)
                case Withdrawn(name):
                    self._require(connection, name)
                    self._write_event(connection, position, "withdrawn", payload={"name": name, "why": why})
                case Added(entrant):
                    self._require_new(connection, entrant.name)
                    payload = {"entrant": codecs.entrant_payload(entrant), "why": why}
                    self._write_event(connection, position, "added", payload=payload)
                    self._join(connection, entrant, spec, position, self._last_place(connection) + 1)
                case Replaced(old, entrant):
                    place = self._require(connection, old)
                    if entrant.name != old:
                        self._require_new(connection, entrant.name)
                    payload = {"old": old, "entrant": codecs.entrant_payload(entrant), "why": why}
                    self._write_event(connection, position, "replaced", payload=payload)
                    self._join(connection, entrant, spec, position, place)
                case Extended(settings):
                    payload = {"settings": dict(settings), "why": why}
                    self._write_event(connection, position, "extended", payload=payload)
                case GameFinished():
                    raise TypeError("finished games are written by record_games")
            write_notes(connection, self.id, position, notes)
            return position

        return self._guard.run(write)

    @property
    def known_ratings(self) -> dict[str, float]:
        """The ratings that entrants got from the configuration, by name. They are cached."""
        if self._guard.newest is None:
            return super().known_ratings
        if self._cache.ratings is None:
            self._cache.ratings = super().known_ratings
        return self._cache.ratings

    def replays(self, key: GameKey) -> int:
        """Count the void games of a key, which is the replay number of the next game. The number is cached."""
        if self._guard.newest is None:
            return super().replays(key)
        return self._cache.load_void(self.database, self.id)[key]

    def aborts(self, key: GameKey) -> int:
        """Count the games of a key that an engine aborted with ``*``. The number is cached."""
        if self._guard.newest is None:
            return super().aborts(key)
        self._cache.load_void(self.database, self.id)
        return self._cache.aborted[key]

    def pair_counts(self) -> _PairCounts:
        """Return wins, draws and losses of White by (white, black). The counts are cached."""
        if self._guard.newest is None:
            return super().pair_counts()
        if self._cache.counts is None:
            self._cache.counts = super().pair_counts()
        return dict(self._cache.counts)

    def accept_change(self, specs: Mapping[str, EngineSpec]) -> None:
        """Record new engine versions of entrants, which are valid from the next event on."""
        self._cache = _Cache()

        def write(connection: Connection, position: int) -> None:
            for name, spec in specs.items():
                place = self._require(connection, name)
                latest = select(ENTRANTS).where(ENTRANTS.c.tournament == self.id, ENTRANTS.c.name == name)
                row = connection.execute(latest.order_by(ENTRANTS.c.since_event.desc())).first()
                assert row is not None
                entrant = codecs.entrant_of(row._asdict())
                add_entrant(connection, self.id, entrant, spec, since=position, place=place)

        self._guard.run(write)

    def _write_event(
        self,
        connection: Connection,
        position: int,
        kind: str,
        *,
        game: int | None = None,
        payload: dict[str, Any] | None = None,
        at: float | None = None,
    ) -> None:
        row = {"tournament": self.id, "position": position, "kind": kind, "game": game, "payload": payload}
        now = time.time() if at is None else at
        _EVENT.write(connection, {**row, "at_unix": now})
        self._guard.note_event(position, now)

    def _count(self, connection: Connection, white: int, black: int, outcome: Outcome, times: int) -> None:
        wins, draws, losses = (times * count for count in _COUNTED[outcome])
        pair = {"tournament": self.id, "white_engine": white, "black_engine": black}
        _COUNTS.write(connection, {**pair, "wins": wins, "draws": draws, "losses": losses})

    def _void(self, connection: Connection, position: int, event: GameVoided, why: str) -> None:
        row = connection.execute(select(GAMES).where(*self._of_key(event.pairing.key), STANDING)).first()
        if row is None or row.outcome != event.outcome or row.white != event.pairing.white:
            who = f"{event.pairing.white} - {event.pairing.black}"
            what = f"game {who} with the result {event.outcome} not found"
            raise UsageRefused(what, step="run enginetour games for a list")
        if not row.handicap:
            self._count(connection, row.white_engine, row.black_engine, event.outcome, -1)
        at = removal_time(connection)
        self._write_event(connection, position, "voided", game=row.id, payload={"why": why}, at=at)

    def _require(self, connection: Connection, name: str) -> int:
        """Return the starting rank of an entrant. Raise UsageRefused if it is not in the tournament now."""
        rows = select(ENTRANTS.c.starting_rank).where(ENTRANTS.c.tournament == self.id, ENTRANTS.c.name == name)
        place = connection.execute(rows).scalar()
        if place is None or name in self._gone(connection):
            state = "was withdrawn from" if place is not None else "is not an entrant of"
            raise UsageRefused(f"{name} {state} {self.title}", step="run enginetour standings for a list of entrants")
        return int(place)

    def _require_new(self, connection: Connection, name: str) -> None:
        rows = select(ENTRANTS.c.name).where(ENTRANTS.c.tournament == self.id, ENTRANTS.c.name == name)
        if connection.execute(rows).first() is not None:
            what = f"an entrant {name} already exists in {self.title}"
            raise UsageRefused(what, step="choose another name for the new entrant")

    def _last_place(self, connection: Connection) -> int:
        rows = select(func.max(ENTRANTS.c.starting_rank)).where(ENTRANTS.c.tournament == self.id)
        return int(connection.execute(rows).scalar_one())

    def _join(
        self, connection: Connection, entrant: Entrant, spec: EngineSpec | None, position: int, place: int
    ) -> None:
        if spec is None or spec.name != entrant.name:
            raise TypeError(f"the specification of {entrant.name} must be given with its event")
        add_entrant(connection, self.id, entrant, spec, since=position, place=place)
