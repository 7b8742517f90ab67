"""Which slot plays which game: all legs of an encounter the same one, one after the other; engines where they wait.

Source: runner spec 14. Slots are numbered from 0 on; their place takes a number as a wish, and heeds it where it can.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from enginetour.model.game import Pairing
from enginetour.model.task import GameTask, Side

Encounter = tuple[str, str, int]  # the pair in sorted order, its meeting


class Allotment:
    """The slots of a run: what each plays, and what it played last, whose engines wait there.

    Nothing here goes through all slots for each game: there may be a thousand.
    """

    def __init__(self, slots: int, copies: Mapping[str, int] | None = None) -> None:
        """`copies`: how often an entrant's engine may run at once, where that is not 0; it may change meanwhile."""
        self._slots = slots
        self._copies = {} if copies is None else copies
        self._running: Counter[str] = Counter()
        self._playing: dict[int, Pairing] = {}
        self._engaged: dict[Encounter, int] = {}  # slot of each encounter that is played
        self._engaged_either_way: set[Encounter] = set()  # the same with the names in both orders
        self._last: dict[int, Pairing] = {}
        self._free = set(range(slots))
        self._waiting: dict[str, set[int]] = {}  # entrant -> free slots where its engine waits

    @property
    def slots(self) -> int:
        """How many there are; those beyond end what they play."""
        return self._slots

    @slots.setter
    def slots(self, slots: int) -> None:
        self._slots = slots
        self._waiting = {}
        self._free = set()
        for slot in range(slots):
            if slot not in self._playing:
                self._release(slot)

    def ordered(self, offers: Iterable[Pairing]) -> Iterator[Pairing]:
        """As wished, but with several slots what a free one has begun comes first: the other legs of its encounter.

        Those of encounters that are played now are left out: they wait for their slot. A look goes no further than
        whoever asks: mostly for one game, of thousands.
        """
        offers = tuple(offers)
        if self._slots == 1:
            yield from offers
            return
        begun = {name for slot in self._free & self._last.keys() for name in _either_way(self._last[slot])}
        engaged = self._engaged_either_way
        if begun:
            names = {name for encounter in begun for name in encounter[:2]}  # few: a cheap look for most of the offers
            meetings = {encounter[2] for encounter in begun}
            for one in offers:
                if one.meeting in meetings and one.white in names and one.black in names:
                    encounter = (one.white, one.black, one.meeting)
                    if encounter in begun and encounter not in engaged:
                        yield one
        for one in offers:
            encounter = (one.white, one.black, one.meeting)
            if encounter not in engaged and encounter not in begun:
                yield one

    def slot_for(self, pairing: Pairing) -> int | None:
        """The free slot where most of its engines wait, the lowest of equals.

        None: all are busy, one is at its encounter, or one of both engines runs as often as it may.
        """
        encounter = _encounter(pairing)
        if encounter in self._engaged or not self._free:
            return None
        if any(0 < self._copies.get(name, 0) <= self._running[name] for name in pairing.pair):
            return None
        there = [self._waiting.get(name, set()) for name in pairing.pair]
        if not any(there):
            return min(self._free)

        def worth(slot: int) -> tuple[bool, int, int]:
            last = self._last[slot]
            return _encounter(last) == encounter, len({*last.pair} & {*pairing.pair}), -slot

        return max(there[0] | there[1], key=worth)

    def begin(self, slot: int, pairing: Pairing) -> None:
        """It plays there from now on."""
        self._playing[slot] = pairing
        self._running.update(pairing.pair)
        self._engaged[_encounter(pairing)] = slot
        self._engaged_either_way.update(_either_way(pairing))
        self._free.discard(slot)
        for name in self._last[slot].pair if slot in self._last else ():
            self._waiting.get(name, set()).discard(slot)

    def end(self, pairing: Pairing, *, failed: bool) -> None:
        """It is over; where the machine `failed` nobody waits any more. A result may come twice."""
        slot = self._engaged.get(_encounter(pairing))
        if slot is None or self._playing[slot].key != pairing.key:
            return
        del self._playing[slot], self._engaged[_encounter(pairing)]
        self._engaged_either_way.difference_update(_either_way(pairing))
        self._running.subtract(pairing.pair)
        self._last.pop(slot, None)
        if not failed:
            self._last[slot] = pairing
        if slot < self._slots:
            self._release(slot)

    def _release(self, slot: int) -> None:
        self._free.add(slot)
        for name in self._last[slot].pair if slot in self._last else ():
            self._waiting.setdefault(name, set()).add(slot)


def _either_way(pairing: Pairing) -> tuple[Encounter, Encounter]:
    """Its encounter as the games of both colours name it: sorting names of thousands of offers takes its time."""
    return (pairing.white, pairing.black, pairing.meeting), (pairing.black, pairing.white, pairing.meeting)


def _encounter(pairing: Pairing) -> Encounter:
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
