"""How fast this machine is: a fixed piece of work of our own, timed by the processor time it takes.

The work is bzip2 of a text of moves: integers, branches and a few megabytes of tables, as in engines, in C that has not
changed since 2019 (libbz2 1.0.8). bzip2 and a chess engine stood side by side in the integer part of SPEC CPU2006.
"""

from __future__ import annotations

import bz2
import hashlib
import time

DIGESTS = 10_000  # of 16 moves each: 0.8 MB, one block of bzip2, more than a second-level cache holds
ROUNDS = 20  # the best counts: whatever else runs makes rounds longer, nothing makes them shorter
REFERENCE = 17.0  # MB/s of an AMD EPYC with 2 processors at a load of 13 (measured): there the speed is 1


def work() -> bytes:
    """The same bytes everywhere, whatever the version of Python."""
    squares = [file + rank for file in "abcdefgh" for rank in "12345678"]
    digests = b"".join(hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(DIGESTS))
    pairs = zip(digests[::2], digests[1::2], strict=True)
    return " ".join(squares[one & 63] + squares[other & 63] for one, other in pairs).encode("ascii")


def speed(rounds: int = ROUNDS) -> float:
    """This machine's against the reference: 2 is twice as fast. Takes about a second; three digits."""
    text = work()
    spent = []
    for _ in range(rounds):
        begun = time.thread_time_ns()  # a worker of a cluster has other threads, and they work meanwhile
        bz2.compress(text, 9)
        spent.append(time.thread_time_ns() - begun)
    return round(len(text) * 1000 / min(spent) / REFERENCE, 3)
