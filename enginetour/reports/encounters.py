"""What to play next: the suggested encounters of a rating list with their expected effect, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from enginetour.ratings.encounters import MOST_ENGINES, Encounter, Suggestion, suggest_encounters
from enginetour.reports.sheet import Column, Sheet, format_count, format_duration, format_error, format_hours
from enginetour.store.definition import ListDefinition
from enginetour.store.lists import GameTimes, game_times
from enginetour.store.selection import Selection, select_games
from enginetour.store.tournaments import Store

_FEWEST = 3  # engines; two engines have only one encounter
GAMES = 20  # games of an encounter; ten openings with both colors (enginetour's choice)


def _format_errors(both: Sequence[float]) -> str:
    return ", ".join(f"±{format_error(error)}" for error in both)


_COLUMNS = (
    Column("engine", "engine", left=True, flexible=True),
    Column("opponent", "against", left=True, flexible=True),
    Column("games", "games"),
    Column("hours", "time", form=format_hours),
    Column("why", "why", left=True),
    Column("errors_after", "afterwards", left=True, form=_format_errors),
    Column("mean_error_after", "list mean", form="±{:.1f}".format),
)


@dataclass(frozen=True, slots=True)
class NextEncounters:
    """The encounters to play next in a list, and the times that they are expected to take.

    `by_version` is true if the list rates each version of an engine as an engine of its own.
    """

    title: str
    suggestion: Suggestion
    times: GameTimes
    by_version: bool = True

    @property
    def seconds(self) -> float | None:
        """Return the expected duration of all games, one after the other, or None if it is not known."""
        found = [one.seconds for one in self.suggestion.encounters]
        known = [each for each in found if each is not None]
        return sum(known) if known and len(known) == len(found) else None

    def to_json(self) -> dict[str, Any]:
        """Return the encounters, and the list before and after them, ready for JSON."""
        found, seconds = self.suggestion, self.seconds
        chosen = found.encounters
        return {
            "list": self.title,
            "encounters": [_row(one) for one in chosen],
            "engines": found.engines,
            "pools": [list(pool) for pool in found.pools],
            "mean_error": found.mean,
            "mean_error_after": chosen[-1].mean_after,
            "games": sum(one.games for one in chosen),
            "hours": None if seconds is None else seconds / 3600,
            "control": self.times.control or None,
        }

    def sheet(self) -> Sheet:
        """Return the table of the encounters."""
        rows = tuple(_row(one) for one in self.suggestion.encounters)
        columns = tuple(column for column in _COLUMNS if column.key != "hours" or self.seconds is not None)
        return Sheet(f"what to play next · {self.title}", columns, rows, notes=self._notes())

    def _notes(self) -> tuple[str, ...]:
        found, seconds = self.suggestion, self.seconds
        games = sum(one.games for one in found.encounters)
        at = f" at {self.times.control}" if self.times.control else ""
        time = "" if seconds is None else f", about {format_duration(seconds)}{at}, one game at a time"
        notes = [
            f"mean error of {format_count(found.engines, 'engine')}: ±{found.mean:.1f} Elo now, "
            f"±{found.encounters[-1].mean_after:.1f} expected after these {games} games{time}",
            "errors are half-widths of 95 % intervals in Elo, relative to the average of all engines",
        ]
        if len(found.pools) > 1:
            left = len(found.pools) - 1 - sum(one.pools is not None for one in found.encounters)
            more = f"; {left} pools are still apart afterwards" if left else ""
            notes.insert(0, f"{len(found.pools)} rating pools never met: the games that connect them come first{more}")
        if seconds is None:
            notes.append("durations of games are not known, so the gain per game decides instead of the gain per hour")
        return tuple(notes)


def _row(one: Encounter) -> dict[str, Any]:
    return {
        "engine": one.one,
        "opponent": one.other,
        "games": one.games,
        "hours": None if one.seconds is None else one.seconds / 3600,
        "why": _why(one),
        "pools": None if one.pools is None else list(one.pools),
        "gap": one.gap,
        "errors": list(one.errors),
        "errors_after": list(one.errors_after),
        "mean_error_after": one.mean_after,
    }


def _why(one: Encounter) -> str:
    if one.pools is not None:
        return f"connects pools {one.pools[0]} and {one.pools[1]}"
    return f"errors {_format_errors(one.errors)}"


def next_encounters(
    title: str,
    selection: Selection,
    times: GameTimes,
    *,
    games: int = GAMES,
    among: Collection[str] | None = None,
) -> NextEncounters:
    """Choose the encounters of a list that reduce its errors most per hour.

    `games` is the number of games of each encounter, and `among` are the engines that can play (None: all). Raise
    UsageRefused as `suggest_encounters` does.
    """
    pairs, by = selection.pairs, selection.definition.by
    found = suggest_encounters(pairs, seconds=times.seconds, usual=times.usual, games=games, among=among)
    return NextEncounters(title, found, times, by == "version")


def list_encounters(store: Store, title: str, definition: ListDefinition) -> NextEncounters | None:
    """Return the encounters to play next in a list; None for fewer than three engines or a list without errors."""
    selection = select_games(store, definition)
    if definition.system != "ml" or not _FEWEST <= len(selection.names) <= MOST_ENGINES:
        return None
    return next_encounters(title, selection, game_times(store, selection))
