"""What the scheduler's loop needs around it: a log to write into and a place where games are played."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, runtime_checkable

from enginetour.model.game import Event, Game, GameKey, Note
from enginetour.model.task import GameTask


class Log(Protocol):
    """What the loop needs of a tournament's log; the store's `TournamentLog` is one."""

    def events(self) -> Iterable[Event]:
        """Every event so far, in order."""

    def record_games(self, games: Sequence[tuple[Game, Sequence[Note]]]) -> list[int | None]:
        """Write games, each with the notes it caused, all or nothing; numbers, None of what was there already."""

    def record_event(self, event: Event, notes: Sequence[Note], *, why: str) -> int:
        """Write an event that is no game, with the notes it caused; its position."""

    def replays(self, key: GameKey) -> int:
        """How many void games that key has."""


class Place(Protocol):
    """Where games are played: local slots, a cluster."""

    def submit(self, task: GameTask, prefer: int | None = None) -> Future[Any]:
        """A game to play; its future raises `MachineFailure` when the host failed, `TourError` when we did."""

    def resize(self, slots: int) -> None:
        """More or fewer slots; surplus ones go when their game has ended."""

    def stop(self, *, now: bool) -> None:
        """No new games; `now` drops the running ones."""


@runtime_checkable
class Cluster(Protocol):
    """A place of several machines, each with a name."""

    def rows(self) -> list[dict[str, object]]:
        """Every machine as it stands, JSON-ready."""

    def drain(self, name: str) -> bool:
        """No new games for a machine; False where none has that name."""

    def use(self, name: str) -> bool:
        """Games again for a machine that was drained or set aside; False where none has that name."""
