"""Files of other people are read within bounds: never more of one than its kind can have, packed or not."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

from enginetour.errors import InputRefused

UNPACKED_AT_LEAST = 10_000_000  # bytes; what unpacks to less harms nobody
# Measured: a night of games packs 5 times, their tags alone 27, one game again and again 238 (zstd -19); zeros 1029
# times by gzip, and 32 000 by zstd.
MOST_TIMES = 500


def read_whole(path: Path, largest: int) -> bytes:
    """All bytes of a file of at most `largest`; InputRefused for a larger one.

    OSError is the caller's to tell. One byte more is read at most: devices and pipes have no size to be asked for.
    """
    with path.open("rb") as source:
        content = source.read(largest + 1)
    if len(content) > largest:
        raise InputRefused(f"more than {largest:,} bytes", place=str(path), step="is it the right file?")
    return content


def refuse_bomb(path: Path, packed: int, unpacked: int) -> None:
    """InputRefused for a file that unpacks to far more than any text does; both are bytes so far."""
    if unpacked > UNPACKED_AT_LEAST and unpacked > MOST_TIMES * packed:
        what = f"unpacks to more than {MOST_TIMES} times its size, as no game file does"
        raise InputRefused(what, place=str(path), step="if it is one all the same, unpack it first")


def file_digest(path: Path) -> str:
    """128 bits of the bytes as they are on the disk; 200 MB take a quarter of a second of processor (measured)."""
    with path.open("rb") as source:
        return hashlib.file_digest(source, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def is_special(path: Path) -> bool:
    """A device, pipe or socket lies there, or is linked to: to be written into, never to be replaced by a file."""
    try:
        kind = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(kind) and not stat.S_ISDIR(kind)
