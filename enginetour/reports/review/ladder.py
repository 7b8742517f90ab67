"""A bubble's story: round robin by round robin, who entered, who was parked, who dropped out, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from enginetour.model.game import Note, Placed
from enginetour.reports.ladder import steps


@dataclass(frozen=True, slots=True)
class Decision:
    """`action` is park, drop or finish; `engine` is whom it is about ("" for nobody left)."""

    action: str
    engine: str
    reason: str
    games_total: int  # finished by then


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """One round robin of the section. `decision` None: it is being played; `table` is best first once it is decided.

    A line of the table has the name, half points, and Sonneborn-Berger in quarter points.
    """

    number: int
    entered: tuple[tuple[str, str], ...]  # name, from: start, list or parked
    table: tuple[tuple[str, int, int], ...]
    decision: Decision | None
    told: tuple[str, ...]  # every note of it, in words


@dataclass(frozen=True, slots=True)
class Ladder:
    """`by_rating` is the order by the ratings of the same games, beside that of dropping out."""

    steps: tuple[RoundRobin, ...]
    ranking: tuple[Placed, ...]
    by_rating: tuple[str, ...]


def ladder_of(notes: Sequence[Note], ranking: Sequence[Placed], by_rating: Sequence[str]) -> Ladder:
    """From a bubble's notes, the tables as they were decided."""
    entered: dict[int, list[tuple[str, str]]] = {}
    for note in notes:
        told: dict[str, Any] = dict(note.fields)
        came = [(entry["engine"], entry["from"]) for entry in told.get("entered", ())]
        entered.setdefault(told["step"], []).extend(came)
    return Ladder(tuple(_step(one, entered) for one in steps(notes)), tuple(ranking), tuple(by_rating))


def _step(told: dict[str, Any], entered: dict[int, list[tuple[str, str]]]) -> RoundRobin:
    why = told["decision"]
    decision = None
    if why is not None:
        decision = Decision(why["action"], why["engine"] or "", why["reason"] or "", told["games_total"])
    table = tuple(
        (row["engine"], round(2 * row["points"]), round(4 * row["sonneborn_berger"])) for row in told["table"]
    )
    return RoundRobin(told["step"], tuple(entered[told["step"]]), table, decision, tuple(told["told"]))
