"""What a bubble's notes say of each of its round robins, as the ladder's picture needs it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from enginetour.model.game import Note


@dataclass(frozen=True, slots=True)
class RoundRobin:
    """One round robin of the section. `games` were finished in all when it was decided, or are so far.

    `order` are its members by place, best first; while it is played there is none, and `members` stand as they came.
    `parking` were parked while it was played, the longest first. Of those `withdrawn` some `left` the section itself.
    """

    number: int
    games: int
    members: tuple[str, ...]
    order: tuple[str, ...] = ()
    parking: tuple[str, ...] = ()
    entered: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    parked: str | None = None
    dropped: str | None = None
    withdrawn: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(slots=True)
class _Fold:
    """Where everybody is while notes are read."""

    members: list[str] = field(default_factory=list)
    parking: list[str] = field(default_factory=list)
    entered: list[str] = field(default_factory=list)
    returned: list[str] = field(default_factory=list)
    withdrawn: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def enter(self, entry: dict[str, Any]) -> None:
        name = entry["engine"]
        (self.returned if entry["from"] == "parked" else self.entered).append(name)
        self.leave(name)
        self.members.append(name)

    def leave(self, name: str) -> None:
        for where in (self.members, self.parking):
            if name in where:
                where.remove(name)

    def taken(self, number: int, games: int, **decided: Any) -> RoundRobin:
        """The round robin as it stands; the next one begins without comings and goings."""
        made = RoundRobin(
            *(number, games, tuple(self.members)),
            parking=tuple(self.parking),
            entered=tuple(self.entered),
            returned=tuple(self.returned),
            withdrawn=tuple(self.withdrawn),
            left=tuple(self.left),
            **decided,
        )
        self.entered, self.returned, self.withdrawn, self.left = [], [], [], []
        return made


def round_robins(notes: Iterable[Note], games: int | None = None) -> tuple[RoundRobin, ...]:
    """In their order; the last one may be playing, after `games` finished in all."""
    fold, found, number = _Fold(), list[RoundRobin](), 1
    for note in notes:
        told: dict[str, Any] = dict(note.fields)
        number = told["step"]
        if note.kind in ("enter", "unpark"):
            for entry in told["entered"]:
                fold.enter(entry)
        elif note.kind == "withdraw":
            fold.leave(told["engine"])
            fold.withdrawn.append(told["engine"])
            fold.left += [told["engine"]] if told["was"] == "active" else []
            if told["replacement"] is not None:
                fold.enter(told["replacement"])
        elif note.kind in ("park", "drop", "finish"):
            leaver = told["engine"]
            who = {
                "parked": leaver if note.kind == "park" else None,
                "dropped": leaver if note.kind == "drop" else None,
            }
            order = tuple(line[0] for line in told["table"])
            found.append(fold.taken(number, told["games_total"], order=order, **who))
            if note.kind == "finish":
                fold.members, fold.parking = [], []
            else:
                fold.leave(leaver)
                fold.parking += [leaver] if note.kind == "park" else []
    if fold.members:
        so_far = found[-1].games if found else 0
        found.append(fold.taken(number, max(so_far, games or 0)))
    return tuple(found)
