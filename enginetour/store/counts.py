"""Pair counts of engine versions, variants of tournaments, removed imports, and the database at an earlier time."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from datetime import time as time_of_day
from fnmatch import fnmatchcase
from itertools import chain
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, insert, select

from enginetour.model.errors import StoreRefused, UsageRefused, suggest
from enginetour.model.game import Outcome
from enginetour.model.variants import STANDARD
from enginetour.store import codecs
from enginetour.store.codecs import LARGEST_NUMBER
from enginetour.store.database import Database
from enginetour.store.dialect import config_variant
from enginetour.store.tables import EVENTS, GAMES, IMPORTED_GAMES, IMPORTS, PAIR_COUNTS, TOURNAMENTS, title_of

# Removed imports: the removal is an event of the import, so that rating lists of an earlier time keep its games.

REMOVED = "removed"
_LATER_S = 1e-3  # seconds; added to the newest time if the clock was set back (a double resolves 2e-7 s)
_IS_REMOVAL = and_(EVENTS.c.tournament == IMPORTS.c.tournament, EVENTS.c.kind == REMOVED)


@dataclass(frozen=True, slots=True)
class Removal:
    """A removed import, or an import that will be removed.

    `key` is its key in the table of tournaments. `at` is the time of its removal in UTC seconds.
    """

    key: int
    name: str
    edition: int
    games: int
    at: float
    why: str

    @property
    def title(self) -> str:
        """The name, with the number of the edition for the second and later editions."""
        return title_of(self.name, self.edition)


def removed_imports(at: float | None = None) -> Select[Any]:
    """Build a query for the keys of imports that are removed now, or were removed at a time (UTC seconds)."""
    keys = select(EVENTS.c.tournament).join(IMPORTS, _IS_REMOVAL)
    return keys if at is None else keys.where(EVENTS.c.at_unix <= at)


def import_stands() -> ColumnElement[bool]:
    """Build the condition on IMPORTED_GAMES that the import of a game was not removed."""
    return IMPORTED_GAMES.c.tournament.not_in(removed_imports())


def removals(connection: Connection, after: float = float("-inf"), until: float = float("inf")) -> list[Removal]:
    """Return the imports that were removed later than `after` and not later than `until` (UTC seconds), in order."""
    columns = (TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition, IMPORTS.c.games, EVENTS.c.at_unix)
    rows = (
        select(*columns, EVENTS.c.payload)
        .join(IMPORTS, _IS_REMOVAL)
        .join(TOURNAMENTS, TOURNAMENTS.c.id == IMPORTS.c.tournament)
    )
    rows = rows.where(EVENTS.c.at_unix > after, EVENTS.c.at_unix <= until).order_by(EVENTS.c.at_unix, TOURNAMENTS.c.id)
    return [Removal(*row[:5], row.payload["why"]) for row in connection.execute(rows)]


def remove_imports(database: Database, names: Sequence[str], *, why: str = "", write: bool = True) -> list[Removal]:
    """Remove imports, and return them. Each of the `names` is a name, ``name #edition`` or a pattern for the latter.

    Raise UsageRefused for an unknown or already removed import, and for an ambiguous name. Nothing is removed then, and
    nothing is removed if `write` is false.
    """
    with database.writing() if write else database.reading() as connection:
        known = _all_imports(connection)
        at = removal_time(connection)
        chosen = {row.id: row for name in names for row in _imports_named(name, known)}
        reason = codecs.clean_text(why)
        removed = [Removal(row.id, row.name, row.edition, row.games, at, reason) for row in chosen.values()]
        for one in removed if write else ():
            event = {"tournament": one.key, "position": 1, "kind": REMOVED, "game": None, "at_unix": at}
            connection.execute(insert(EVENTS), {**event, "payload": {"why": one.why}})
    return removed


def removal_time(connection: Connection) -> float:
    """Return the time for a removal or annulment that is made now, in UTC seconds. It is later than every stored event.

    Otherwise, rating lists of an earlier time could lose games if the clock was set back.
    """
    newest = connection.execute(select(func.max(EVENTS.c.at_unix))).scalar() or 0.0
    return max(time.time(), newest + _LATER_S)


def _all_imports(connection: Connection) -> list[Any]:
    """Return all imports, oldest first. `at_unix` is the time of the removal, or None if the import was not removed."""
    columns = (TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition, IMPORTS.c.games, EVENTS.c.at_unix)
    rows = select(*columns).join(IMPORTS, IMPORTS.c.tournament == TOURNAMENTS.c.id).outerjoin(EVENTS, _IS_REMOVAL)
    return list(connection.execute(rows.order_by(TOURNAMENTS.c.id)))


def _imports_named(name: str, known: Sequence[Any]) -> list[Any]:
    named = [row for row in known if row.name == name]
    titles = {row.id: f"{row.name} #{row.edition}" for row in known}
    matches = named or [row for row in known if titles[row.id] == name or fnmatchcase(titles[row.id], name)]
    standing = [row for row in matches if row.at_unix is None]
    if not matches:
        step = "run enginetour imports for a list" if known else "import games first"
        what = f"import {name!r} not found{suggest(name, {row.name for row in known})}"
        raise UsageRefused(what, place="--remove", step=step)
    if not standing:
        day = datetime.fromtimestamp(matches[-1].at_unix, UTC)
        raise UsageRefused(f"import {name!r} was already removed on {day:%Y-%m-%d %H:%M} UTC", place="--remove")
    if named and len(standing) > 1:
        step = f"choose one edition with {name + f' #{standing[-1].edition}'!r}, or all with {name + ' #*'!r}"
        raise UsageRefused(f"{len(standing)} imports have the name {name!r}", place="--remove", step=step)
    return standing


def tournament_titles(connection: Connection) -> dict[int, str]:
    """Return the titles of all tournaments and imports by their keys, oldest first."""
    rows = select(TOURNAMENTS.c.id, TOURNAMENTS.c.name, TOURNAMENTS.c.edition).order_by(TOURNAMENTS.c.id)
    return {key: title_of(name, edition) for key, name, edition in connection.execute(rows)}


# Pair counts: tournaments have one row per pair, because their counts change with every game. The counts of an import
# never change. They are one column of its row, which is read 25 times as fast as half a million rows (measured).

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Sums = NDArray[np.signedinteger[Any]]  # rows: White's version, Black's version, White's wins, draws, losses

LINES = ("white_engine", "black_engine", "wins", "draws", "losses")
_PACKED = "<i4"  # type of the numbers in packed counts: little-endian, four bytes
_MOST_VERSIONS = 10_000_000  # an array of this length takes 80 MB; numpy's bincount of 2**63 - 1 overwrites memory


def kept_counts(connection: Connection, tournaments: Collection[int] | None = None) -> dict[int, Sums]:
    """Return the pair counts of all or some tournaments and imports, by key, without removed imports.

    If all games of a pair were annulled, its counts are zeros.
    """
    import numpy as np

    rows = select(PAIR_COUNTS.c.tournament, *(PAIR_COUNTS.c[name] for name in LINES))
    packs = select(IMPORTS.c.tournament, IMPORTS.c.counts).where(IMPORTS.c.tournament.not_in(removed_imports()))
    if tournaments is not None:
        rows = rows.where(PAIR_COUNTS.c.tournament.in_(tournaments))
        packs = packs.where(IMPORTS.c.tournament.in_(tournaments))
    cursor: Any = connection.execute(rows.order_by(PAIR_COUNTS.c.tournament)).cursor  # cursor of the database driver
    table = np.fromiter(chain.from_iterable(cursor), np.int64).reshape(-1, 1 + len(LINES)).T
    events, starts = np.unique(table[0], return_index=True)
    parts = np.split(check_versions(table[1:]), starts[1:], axis=1)
    found: dict[int, Sums] = dict(zip(events.tolist(), parts, strict=False))  # without rows, there is one empty part
    for event, pack in connection.execute(packs):
        found[event] = unpack_counts(pack)
    return found


def pack_counts(sums: Sums) -> bytes:
    """Pack pair counts into the bytes that an import stores."""
    return sums.astype(_PACKED).tobytes()


def unpack_counts(pack: bytes) -> Sums:
    """Unpack the pair counts of an import."""
    import numpy as np

    return check_versions(np.frombuffer(pack, _PACKED).reshape(len(LINES), -1))


def check_versions(sums: Sums) -> Sums:
    """Return the counts. Raise StoreRefused for invalid version numbers, because arrays for them would be too large."""
    for key in (sums[:2].min(initial=1), sums[:2].max(initial=1)):
        if not 0 < key <= _MOST_VERSIONS:
            what = f"pair counts refer to the engine version {key}, which does not exist"
            raise StoreRefused(what, step="run enginetour db check, and restore a backup")
    return sums


def join_counts(parts: Iterable[Sums]) -> Sums:
    """Concatenate pair counts. In the result, a pair may occur several times."""
    import numpy as np

    return np.concatenate([np.zeros((len(LINES), 0), np.int64), *parts], axis=1)


def engines_in(sums: Sums) -> set[int]:
    """Return the engine versions that occur in pair counts."""
    import numpy as np

    return set(np.flatnonzero(np.bincount(sums[:2].ravel())).tolist())


def counts_by_pair(sums: Sums) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Return White's wins, draws and losses by (white, black) version, for pairs with a result."""
    lines = zip(*sums.tolist(), strict=True)
    return {(white, black): (won, drawn, lost) for white, black, won, drawn, lost in lines if won or drawn or lost}


def counts_by_name(
    counts: Iterable[tuple[tuple[int, int], tuple[int, int, int]]], names: Mapping[int, str]
) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Sum White's wins, draws and losses by the names of both engines. Versions without a name are left out."""
    found: dict[tuple[str, str], tuple[int, int, int]] = {}
    for (white, black), (wins, draws, losses) in counts:
        if white in names and black in names:
            pair = names[white], names[black]
            before = found.get(pair, (0, 0, 0))
            found[pair] = before[0] + wins, before[1] + draws, before[2] + losses
    return dict(sorted(found.items()))


_VARIANT = func.coalesce(config_variant(TOURNAMENTS.c.config), STANDARD)


def nonstandard_variants(connection: Connection) -> dict[int, str]:
    """Return the variants of tournaments and imports that are not standard chess, by key."""
    rows = select(TOURNAMENTS.c.id, _VARIANT).where(_VARIANT != STANDARD)
    return {event: str(variant) for event, variant in connection.execute(rows)}


DAY = 86_400  # seconds of a day in UTC
_GAME = re.compile(r"game\s+(\d{1,19})")
_EDITION = re.compile(r"edition\s+(\d{1,9})")
_FORMS = "a day (2026-11-01), a UTC time (2026-11-01T22:30), 'edition N' of a list, or 'game N'"


@dataclass(frozen=True, slots=True)
class Moment:
    """An earlier state of the database.

    It includes the games up to the key `game`, the imported games up to the key `imported`, and the annulments until
    `at` (UTC seconds).
    """

    game: int
    imported: int
    at: float

    def standing(self) -> ColumnElement[bool]:
        """Build the condition on GAMES that a game with a result had been played by then, and not annulled."""
        voided = exists().where(EVENTS.c.game == GAMES.c.id, EVENTS.c.kind == "voided", EVENTS.c.at_unix <= self.at)
        return and_(GAMES.c.id <= self.game, GAMES.c.outcome != Outcome.VOID, ~voided)

    def read(self) -> ColumnElement[bool]:
        """Build the condition on IMPORTED_GAMES that a game had been imported by then, and not removed."""
        return and_(IMPORTED_GAMES.c.id <= self.imported, IMPORTED_GAMES.c.tournament.not_in(removed_imports(self.at)))


def edition_in(text: str | None) -> int | None:
    """Return the number N in the text ``edition N``, or None for other texts."""
    found = _EDITION.fullmatch((text or "").strip())
    return int(found[1]) if found else None


def moment_of(connection: Connection, text: str | None, tournament: int | None = None) -> Moment:
    """Parse the value of `--as-of`: the end of a day, a time, or the moment after ``game N``. None means now.

    N is the number of the game in the tournament. Without a tournament, N is its number in the database, as an edition
    shows it. Imports before that game and annulments until its end are included. Raise UsageRefused for any other text,
    also for ``edition N``, which is read with `editions.read_edition`.
    """
    if text is None:
        at = connection.execute(select(func.max(EVENTS.c.at_unix))).scalar() or 0.0
        return Moment(_newest(connection, GAMES), _newest(connection, IMPORTED_GAMES), at)
    if found := _GAME.fullmatch(text.strip()):
        return _after_game(connection, int(found[1]), tournament)
    if edition_in(text) is not None:
        step = f"run enginetour ratings LIST --as-of {text.strip()!r}"
        raise UsageRefused(f"{text.strip()!r} needs the name of a rating list", place="--as-of", step=step)
    at = _time(text.strip())
    game = select(func.max(EVENTS.c.game)).where(EVENTS.c.kind == "finished", EVENTS.c.at_unix <= at)
    imported = select(func.max(IMPORTED_GAMES.c.id)).join(
        TOURNAMENTS, and_(TOURNAMENTS.c.id == IMPORTED_GAMES.c.tournament, TOURNAMENTS.c.created_unix <= at)
    )
    return Moment(connection.execute(game).scalar() or 0, connection.execute(imported).scalar() or 0, at)


def _newest(connection: Connection, table: object) -> int:
    return int(connection.execute(select(func.coalesce(func.max(table.c.id), 0))).scalar_one())  # type: ignore[attr-defined]


def _after_game(connection: Connection, number: int, tournament: int | None) -> Moment:
    counted = GAMES.c.id if tournament is None else GAMES.c.number
    own = [] if tournament is None else [GAMES.c.tournament == tournament]
    row = select(GAMES.c.id, EVENTS.c.at_unix).join(EVENTS, EVENTS.c.game == GAMES.c.id)
    row = row.where(counted == min(number, LARGEST_NUMBER), EVENTS.c.kind == "finished", *own)
    found = connection.execute(row).first()
    if found is None:
        newest = connection.execute(select(func.coalesce(func.max(counted), 0)).where(*own)).scalar_one()
        where = "" if tournament is None else " in this tournament"
        newest_game = f"the newest is game {newest}" if newest else "no game was played yet"
        raise UsageRefused(f"game {number} does not exist{where}; {newest_game}", place="--as-of")
    imported = select(func.max(IMPORTED_GAMES.c.id)).join(
        IMPORTS, and_(IMPORTS.c.tournament == IMPORTED_GAMES.c.tournament, IMPORTS.c.after_game < found.id)
    )
    return Moment(found.id, connection.execute(imported).scalar() or 0, found.at_unix)


def _time(text: str) -> float:
    """Return the UTC seconds of a time, or of the last microsecond of a day."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise UsageRefused(f"{text!r} is not a valid time", place="--as-of", step=f"write {_FORMS}") from None
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    whole_day = len(text) <= len("2026-11-01") and found.time() == time_of_day()
    return found.timestamp() + (DAY - 1e-6 if whole_day else 0)
