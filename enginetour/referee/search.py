"""The search under way, as the referee measures it (runner spec 3)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Search:
    """Stamps are CLOCK_MONOTONIC in ns; all but the stamps is what we ourselves may have cost the move."""

    answered_ns: int = 0  # of the answer that is to be relayed, or was; 0: none, a first move or one of a book
    go_ns: int = 0  # right after the write
    write_ns: int = 0  # how long that took
    gap_ns: int = 0  # from the answer to the write
    late_ns: int = 0  # how late this process itself was for the wait under way

    def own_ns(self, waited_ns: int) -> int:
        """The error budget; `waited_ns`: for a processor, by the kernel."""
        return self.write_ns + self.gap_ns + self.late_ns + waited_ns
