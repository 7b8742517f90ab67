"""Which slot plays which game: all legs of an encounter the same one, one after the other; engines where they wait.

Source: runner spec 14. Slots are numbered from 0 on; their place takes a number as a wish, and heeds it where it can.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from enginetour.model import Pairing
from enginetour.task import GameTask, Side


class Allotment:
    """The slots of a run: what each plays, and what it played last, whose engines wait there."""

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self._playing: dict[int, Pairing] = {}
        self._last: dict[int, Pairing] = {}

    def ordered(self, offers: Iterable[Pairing]) -> list[Pairing]:
        """As wished, but with several slots what a free one has begun comes first: the other legs of its encounter."""
        if self.slots == 1:
            return list(offers)
        begun = {_encounter(self._last[slot]) for slot in self._free() if slot in self._last}
        return sorted(offers, key=lambda pairing: _encounter(pairing) not in begun)

    def slot_for(self, pairing: Pairing) -> int | None:
        """The free slot where most of its engines wait, the lowest of equals; None: all are busy, or one is at it."""
        encounter = _encounter(pairing)
        if any(_encounter(other) == encounter for other in self._playing.values()):
            return None

        def worth(slot: int) -> tuple[bool, int]:
            last = self._last.get(slot)
            return (False, 0) if last is None else (_encounter(last) == encounter, len({*last.pair} & {*pairing.pair}))

        return max(self._free(), key=worth, default=None)

    def begin(self, slot: int, pairing: Pairing) -> None:
        """It plays there from now on."""
        self._playing[slot] = pairing

    def end(self, pairing: Pairing, *, failed: bool) -> None:
        """It is over; where the machine `failed` nobody waits any more. A result may come twice."""
        for slot in [slot for slot, other in self._playing.items() if other.key == pairing.key]:
            del self._playing[slot]
            self._last.pop(slot, None)
            if not failed:
                self._last[slot] = pairing

    def _free(self) -> list[int]:
        return [slot for slot in range(self.slots) if slot not in self._playing]


def _encounter(pairing: Pairing) -> tuple[str, str, int]:
    return (*pairing.pair, pairing.meeting)


def unshared(task: GameTask, slots: int) -> GameTask:
    """The same game; where there are more slots than an engine may have copies its process goes with the game.

    One that waited in a slot for its next game would be a copy too, when that game is played in another.
    """

    def kept(side: Side) -> Side:
        if not 0 < side.spec.max_copies < slots:
            return side
        return replace(side, spec=replace(side.spec, restart="on"))

    white, black = kept(task.white), kept(task.black)
    return task if (white, black) == (task.white, task.black) else replace(task, white=white, black=black)
