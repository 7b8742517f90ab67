"""Nothing can be played but with engines that do not start: what their withdrawal would open, and how long to wait.

Where others could go on without them the run waits and probes, so that a mended engine loses nothing, and then lets
them go, so that the night is not lost (reliability spec 1). Where nothing would be won the pairings stay open.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from enginetour.formats.base import Format
from enginetour.model.game import Pairing, Withdrawn


@dataclass
class Standstill:
    """The memory of one run. `patience` in seconds; `withdraws`: what happens when it is used up, or the run ends."""

    patience: float = 0.0
    withdraws: bool = False
    names: tuple[str, ...] = ()  # who is waited for
    until: float | None = None

    def begin(self, names: Collection[str], now: float) -> str:
        """Wait for these; the words for the user, "" when they are waited for already."""
        if self.until is not None:
            return ""
        self.names, self.until = tuple(sorted(names)), now + self.patience
        if not self.patience:
            return ""
        then = "withdrawn" if self.withdraws else "the run ends"
        return f"nothing can be played without {' and '.join(self.names)}: waiting {self._long()}, then {then}"

    def is_over(self, now: float) -> bool:
        """Nobody waits any more."""
        return self.until is not None and now >= self.until

    def end(self) -> None:
        """A game was played, or somebody left."""
        self.names, self.until = (), None

    def why(self, cause: str) -> str:
        """The reason of a withdrawal, for the log."""
        return f"did not start for {self._long()} while nothing else could be played: {cause}"

    def _long(self) -> str:
        return f"{self.patience / 60:.0f} min" if self.patience >= 120 else f"{self.patience:.0f} s"


def would_go_on(format_: Format[Any], state: Any, names: Collection[str], is_open: Callable[[Pairing], bool]) -> bool:
    """Whether something could be played if `names` withdrew; `is_open` knows the pairings that cannot."""
    try:
        for name in sorted(names):
            state = format_.step(state, Withdrawn(name))
    except ValueError:  # the format cannot do without it
        return False
    return any(not is_open(pairing) for pairing in format_.offers(state) if not set(pairing.pair) & set(names))
