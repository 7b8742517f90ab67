"""The machines of a simulated cluster: a process that sends the events of games with realistic lengths, without chess.

`python -m benches.cluster_machines FD` exchanges frames with `cluster_place` over a socket. It receives the fields of
`Machinery`, then ("play", key, address, Order), ("drop", key) and ("end",). It sends ("workers", addresses and seats),
("reply", key, value), ("events", live events of a machine), and finally ("spans", begins, ends) of all games, in
seconds of CLOCK_MONOTONIC.
"""

from __future__ import annotations

import heapq
import random
import socket
import sys
import time
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benches.simulated import DICE, PLIES, length, live_moves, live_start, played, thought_moves
from enginetour.model.game import Game, MoveMade
from enginetour.referee.link import Frames, frame
from enginetour.tournament.cluster.machines import GameOrder
from enginetour.tournament.cluster.worker import FLUSH_S

AWAY_S = 5.0  # until a failed machine is back, with another address
READ = 1 << 18


@dataclass(frozen=True)
class Machinery:
    """Number of machines, seats per machine, mean seconds of a game, and mean seconds until a failure (0: never)."""

    machines: int
    seats: int
    mean: float
    life: float
    elo: dict[str, float]


@dataclass
class Playing:
    """A game in progress; `sent` is the number of plies that have been sent."""

    key: str
    address: str
    order: GameOrder
    moves: tuple[MoveMade, ...]
    begun: float
    ends: float
    sent: int = 0


class Machines:
    """All machines in one thread, with a heap of future events."""

    def __init__(self, link: socket.socket, built: Machinery) -> None:
        self._link = link
        self._built = built
        self._dice = random.Random(DICE)
        self._moves = [thought_moves(plies) for plies in PLIES]
        self._there: dict[str, int] = {}  # address -> machine
        self._games: dict[str, Playing] = {}
        self._due: list[tuple[float, int, str, object]] = []
        self._serial = 0
        self._begins, self._ends = array("d"), array("d")
        now = time.monotonic()
        for machine in range(built.machines):
            self._join(machine, now)
        self._later(now + FLUSH_S, "flush", None)
        self._send_workers()

    def serve(self) -> None:
        """Serve until the other process sends "end" or closes the socket."""
        frames = Frames()
        while True:
            now = time.monotonic()
            while self._due and self._due[0][0] <= now:
                _, _, what, which = heapq.heappop(self._due)
                self._happen(what, which, now)
            self._link.settimeout(max(1e-4, self._due[0][0] - now) if self._due else 1.0)
            try:
                chunk = self._link.recv(READ)
            except TimeoutError:
                continue
            if not chunk:
                return
            for message in frames.feed(chunk):
                if message[0] == "end":
                    now = time.monotonic()
                    for playing in self._games.values():
                        self._over(playing, now)
                    self._send(("spans", self._begins.tobytes(), self._ends.tobytes()))
                    return
                self._receive(*message)

    def _receive(self, kind: str, key: str, *args: Any) -> None:
        now = time.monotonic()
        if kind == "drop":
            self._forget(key, now)
        elif args[0] in self._there:
            self._begin(key, args[0], args[1], now)

    def _begin(self, key: str, address: str, order: GameOrder, now: float) -> None:
        mean = self._built.mean
        lasts = length(self._dice, mean)
        moves = self._dice.choice(self._moves)
        playing = self._games[key] = Playing(key, address, order, moves, now, now + lasts)
        self._later(playing.ends, "end", key)
        if not mean:
            return
        self._send(("events", [(key, "start", live_start(order.task))]))

    def _happen(self, what: str, which: object, now: float) -> None:
        if what == "end":
            playing = self._games.get(str(which))
            if playing is not None:
                self._send(("reply", playing.key, ("result", self._played(playing))))
                self._forget(playing.key, now)
        elif what == "flush":
            self._flush(now)
            self._later(now + FLUSH_S, "flush", None)
        elif what == "die":
            self._die(str(which), now)
        else:
            self._join(int(str(which)), now)
            self._send_workers()

    def _join(self, machine: int, now: float) -> None:
        self._serial += 1
        address = f"tcp://10.0.{machine // 250}.{machine % 250}:{30_000 + self._serial % 30_000}"
        self._there[address] = machine
        if self._built.life:
            self._later(now + self._dice.expovariate(1 / self._built.life), "die", address)

    def _die(self, address: str, now: float) -> None:
        machine = self._there.pop(address)
        for key in [key for key, playing in self._games.items() if playing.address == address]:
            self._forget(key, now)
        self._later(now + AWAY_S, "join", machine)
        self._send_workers()

    def _flush(self, now: float) -> None:
        """Send the moves since the last flush in a message per machine, as workers do."""
        unsent: dict[str, list[tuple[str, str, object]]] = {}
        for playing in self._games.values():
            if moves := list(self._new(playing, now)):
                unsent.setdefault(playing.address, []).append((playing.key, "moves", moves))
        for events in unsent.values():
            self._send(("events", events))

    def _new(self, playing: Playing, now: float) -> Iterator[dict[str, object]]:
        if playing.ends > playing.begun:
            share = (now - playing.begun) / (playing.ends - playing.begun)
            made = min(len(playing.moves), int(share * len(playing.moves)))
            yield from live_moves(playing.moves, playing.sent, made)
            playing.sent = made

    def _played(self, playing: Playing) -> Game:
        """Make the result of a game; it does not depend on machine or time."""
        ended = time.time()
        return played(playing.order.task, playing.moves, self._built.elo, ended - (playing.ends - playing.begun), ended)

    def _forget(self, key: str, now: float) -> None:
        playing = self._games.pop(key, None)
        if playing is not None:
            self._over(playing, now)

    def _over(self, playing: Playing, now: float) -> None:
        self._begins.append(playing.begun)
        self._ends.append(min(now, playing.ends))

    def _send_workers(self) -> None:
        there = {address: (f"m{machine:03}", self._built.seats) for address, machine in self._there.items()}
        self._send(("workers", there))

    def _later(self, at: float, what: str, which: object) -> None:
        self._serial += 1
        heapq.heappush(self._due, (at, self._serial, what, which))

    def _send(self, message: object) -> None:
        self._link.settimeout(None)
        self._link.sendall(frame(message))


def main(number: str) -> None:
    """Serve the socket with this file descriptor."""
    with socket.socket(fileno=int(number)) as link:
        frames = Frames()
        built: list[tuple[Any, ...]] = []
        while not built:
            built = frames.feed(link.recv(READ))
        Machines(link, Machinery(*built[0])).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
