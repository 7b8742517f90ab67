"""Quality control of a tournament: failures of each engine, their limits, and the reserves for engines over a limit.

The counts are a function of the log: games that count, and those of them that an engine ended by a failure. A void game
is not a failure, because the machine or the opponent may have caused it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from enginetour.formats.base import Format
from enginetour.model.game import Entrant, Game, Outcome, Replaced, Termination

if TYPE_CHECKING:
    from enginetour.store.games import TournamentReader

GAMES = 100  # the limits are numbers of failures per 100 games

# Keys of [quality], with the endings that they limit, and the words for one and for several failures.
_KINDS = {
    "crashes": (Termination.CRASH, "crash", "crashes"),
    "stalls": (Termination.STALL, "stall", "stalls"),
    "time_losses": (Termination.TIME, "time loss", "time losses"),
    "illegal_moves": (Termination.ILLEGAL_MOVE, "illegal move", "illegal moves"),
}


class FailureCounts:
    """The games and failures of each entrant, and the limits per 100 games by key of ``[quality]``."""

    def __init__(self, limits: Mapping[str, int] | None = None, gone: Iterable[str] = ()) -> None:
        """Entrants in `gone` were withdrawn or replaced, so they cannot exceed a limit any more."""
        self._limits = {_KINDS[key][0]: limit for key, limit in (limits or {}).items()}
        self._games: Counter[str] = Counter()
        self._failures: dict[str, Counter[Termination]] = {}
        self._gone = set(gone)

    def is_failure(self, game: Game) -> bool:
        """Return whether an engine ended the game by a failure that has a limit."""
        return bool(game.culprit) and game.termination in self._limits and game.outcome is not Outcome.VOID

    def record(self, game: Game) -> None:
        """Count a game that is in the log."""
        if self._limits and game.outcome is not Outcome.VOID:
            self.add(game.pairing.pair, game.culprit, game.termination)

    def add(self, players: tuple[str, str], culprit: str, termination: Termination, games: int = 1) -> None:
        """Count games with a result between two entrants; `culprit` is the entrant at fault, or ""."""
        for name in players:
            self._games[name] += games
        if culprit in players and termination in self._limits:
            self._failures.setdefault(culprit, Counter())[termination] += games

    def forget(self, name: str) -> None:
        """Leave out an entrant that was withdrawn or replaced."""
        self._gone.add(name)

    def exceeding(self) -> Iterator[tuple[str, str]]:
        """Yield each entrant with more failures of a kind than allowed, and the reason, in the order of the names.

        A limit of 3 allows 3 failures in the first 100 games of the engine, and 3 per 100 games afterwards.
        """
        for name in sorted(self._failures.keys() - self._gone):
            if reasons := [*self._reasons(name)]:
                yield name, "; ".join(reasons)

    def _reasons(self, name: str) -> Iterator[str]:
        games = self._games[name]
        for termination, one, several in _KINDS.values():
            limit, count = self._limits.get(termination), self._failures[name][termination]
            if limit is not None and count * GAMES > limit * max(GAMES, games):
                failures = f"{count} {one if count == 1 else several} in {games:,} game{'s' * (games != 1)}"
                yield f"{failures}, limit {limit} per {GAMES}"


def counted_failures(log: TournamentReader, limits: Mapping[str, int]) -> FailureCounts:
    """Return the failures of a tournament so far. Without limits, nothing is read."""
    if not limits:
        return FailureCounts()
    from enginetour.store.games import games_by_ending  # imported here: most tournaments have no limits

    found = FailureCounts(limits, log.gone)
    for players, culprit, termination, games in games_by_ending(log):
        found.add(players, culprit, termination, games)
    return found


class Reserves:
    """Names of reserves, in the order in which they are used. Several tournaments of one process can share them."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        self._names = list(dict.fromkeys(names))
        self._lock = threading.Lock()

    @property
    def free(self) -> tuple[str, ...]:
        """The reserves that were not taken so far."""
        with self._lock:
            return tuple(self._names)

    def take(self, suits: Callable[[str], bool] = lambda _name: True) -> str | None:
        """Return the first reserve that `suits` accepts and remove it, or return None. It is never returned again."""
        with self._lock:
            for name in self._names:
                if suits(name):
                    self._names.remove(name)
                    return name
        return None


def can_replace(format_: Format[Any], state: Any, old: str, entrant: Entrant) -> bool:
    """Return whether the format accepts a new entrant in the place of another one, and the new entrant would play."""
    names: Collection[str] = {line.name for line in format_.standings(state)}
    if entrant.name in names or (hasattr(format_, "too_late") and format_.too_late(state)):
        return False
    try:
        format_.step(state, Replaced(old, entrant))
    except ValueError:  # the format does not accept newcomers, or not this one
        return False
    return True
