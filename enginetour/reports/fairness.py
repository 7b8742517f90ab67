"""What a tester asks before believing a time loss: how busy the machine was, and how quick the referee."""

from __future__ import annotations

from collections.abc import Iterator

from enginetour.model.game import Game


def machine_lines(game: Game) -> Iterator[str]:
    """Load of the machine, and the referee's own times, in words; nothing of what was not measured."""
    if game.load is not None and game.cores is not None:
        busy = ": busy, clocks may have suffered" if game.load > game.cores else ""
        stolen = f", {game.steal:.1%} of their time taken by the host" if game.steal else ""
        yield f"machine: load {game.load:.1f} on {game.cores} processors{stolen}{busy}"
    if game.relay_us is not None:
        median, high, largest = (f"{gap / 1000:.1f}" for gap in game.relay_us)
        yield f"referee: an answer became the opponent's go after {median} ms, 99 % within {high}, at most {largest}"
    waits = [
        f"{name} {record.waited_ms} ms"
        for name, record in ((game.pairing.white, game.white), (game.pairing.black, game.black))
        if record.waited_ms is not None
    ]
    if waits:
        yield f"engines waited for a processor: {', '.join(waits)} of the game"
    if game.own_us is not None:
        share = f"{game.own_us / 1000:.1f} ms"
        yield f"referee: its own share of the late move was at most {share} (relay gap, late wake-ups)"
