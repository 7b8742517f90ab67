"""How a tournament stands, for a page that follows it: folded on from game to game, rated again after each."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from enginetour.formats.base import Format
from enginetour.model.errors import StoreRefused
from enginetour.reports.progress import is_open
from enginetour.reports.review.engines import slugs_of
from enginetour.reports.review.tournament import tournament_list
from enginetour.reports.sheet import points, safe
from enginetour.store import games
from enginetour.store.games import GameLine, incident_counts
from enginetour.store.log import TournamentLog
from enginetour.store.replay import format_of
from enginetour.store.tournaments import Entry, Store
from enginetour.web.room import LINES

MOST_ENGINES = 400  # rows of a table that a page follows; the crosstable's page has all
KEPT = 16  # tournaments that were looked at last: one of 10,000 games takes 5 MB (measured)


@dataclass(frozen=True, slots=True)
class Made:
    """What `Room` shows, ready for JSON."""

    table: dict[str, Any]
    progress: dict[str, Any]
    lines: tuple[dict[str, Any], ...] = ()
    incidents: tuple[dict[str, Any], ...] = ()


@dataclass
class _Fold:
    """A tournament up to `position` of its log."""

    log: TournamentLog
    format: Format[Any]
    state: Any
    position: int = 0
    rated: int = -1  # the position of the ratings
    elo: dict[str, tuple[float | None, float | None, float | None]] = field(default_factory=dict)


class Standings:
    """The folds of the tournaments that were looked at last. One thread at a time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._folds: OrderedDict[int, _Fold] = OrderedDict()
        self._states: dict[int, tuple[int, str]] = {}  # by tournament: the position of its log, and its state there

    def made(self, entry: Entry, *, lines: bool) -> Made:
        """Table and progress now; the last lines of the log too, if asked for."""
        fold = self._folds[entry.id] = self._folded(entry)
        self._folds.move_to_end(entry.id)
        while len(self._folds) > KEPT:
            self._folds.popitem(last=False)
        log = fold.log
        if fold.rated != fold.position:
            self._rate(fold)
        counts = games.endings(log.database, log.id)
        wrong = incident_counts(log)
        remaining = fold.format.remaining(fold.state)
        progress = {
            "tournament": entry.title,
            "system": entry.system,
            "state": _state(fold),
            "games_done": counts.total(),
            "remaining": list(remaining),
            "open_ended": is_open(counts.total(), remaining),
            "incidents": wrong.total(),
            "endings": dict(counts),
        }
        last = [_line(game) for game in log.games(limit=LINES)] if lines else []
        told = [_told(number, incident) for number, incident in log.incidents()[-LINES:]] if lines else []
        return Made(self._table(fold, wrong), progress, tuple(last), tuple(told))

    def states(self, wanted: Sequence[Entry]) -> dict[str, str]:
        """Finished or stopped, by slug; of one that cannot be folded, why not."""
        return {entry.slug: self._state_of(entry) for entry in wanted}

    def _state_of(self, entry: Entry) -> str:
        try:
            position = self._store.tournament(entry.name, entry.edition).last_position
            if self._states.get(entry.id, (-1, ""))[0] != position:
                self._states[entry.id] = position, _state(self._folded(entry))
        except StoreRefused as refused:
            return f"cannot be read: {refused.what}"
        return self._states[entry.id][1]

    def _folded(self, entry: Entry) -> _Fold:
        """Stepped on by what has come into the log since the last look; StoreRefused as by `folded.fold`."""
        fold = self._folds.get(entry.id)
        if fold is None:
            log = self._store.tournament(entry.name, entry.edition)
            format_ = format_of(log)
            fold = _Fold(log, format_, format_.start(log.entrants))
        last = fold.log.last_position
        if last > fold.position:
            try:
                for event in fold.log.events(after=fold.position):
                    fold.state = fold.format.step(fold.state, event)
                    fold.position += 1
            except ValueError as error:
                raise StoreRefused(f"the log does not fit its format: {error}", place=entry.title) from None
        return fold

    def _rate(self, fold: _Fold) -> None:
        found = tournament_list(fold.log, fold.log.config.get("ratings", {}).get("anchor") or {})
        fold.elo = {row.name: (row.rating, row.plus, row.minus) for row in found.rows}
        fold.rated = fold.position

    @staticmethod
    def _table(fold: _Fold, wrong: Counter[str]) -> dict[str, Any]:
        placed = fold.format.standings(fold.state)
        slugs = slugs_of([*(line.name for line in placed), *fold.log.specs])
        rows = []
        for line in placed[:MOST_ENGINES]:
            rating, plus, minus = fold.elo.get(line.name, (None, None, None))
            rows.append(
                {
                    "rank": line.rank,
                    "name": safe(line.name),
                    "slug": slugs.get(line.name),
                    "points": points(line.half_points) + (f" ({points(line.unplayed)} bye)" if line.unplayed else ""),
                    "games": line.games,
                    "elo": None if rating is None else round(rating),
                    "plus": None if plus is None else round(plus),
                    "minus": None if minus is None else round(minus),
                    "status": safe(line.status),
                    "incidents": wrong[line.name],
                }
            )
        return {"rows": rows, "more": max(0, len(placed) - MOST_ENGINES)}


def _state(fold: _Fold) -> str:
    return "stopped" if fold.format.offers(fold.state) else "finished"


def _line(game: GameLine) -> dict[str, Any]:
    return {
        "number": game.number,
        "white": safe(game.white),
        "black": safe(game.black),
        "result": "*" if game.voided else str(game.outcome),
        "cause": safe(game.how),
        "plies": game.plies,
        "seconds": round(game.ended - game.started, 3),
        "decisions": [],
    }


def _told(number: int, incident: Any) -> dict[str, Any]:
    words = f"{safe(incident.category)}: {safe(incident.cause)}"
    kind = "warning" if incident.is_warning else "incident"
    return {"kind": kind, "game": number, "engine": safe(incident.at_fault), "words": words}
