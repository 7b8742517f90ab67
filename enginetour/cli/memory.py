"""Memory of a command that makes one list and ends: kept rather than given back and fetched again."""

from __future__ import annotations

ROOM = 31 << 20  # bytes; glibc follows blocks below 32 MiB only (mallopt(3), M_MMAP_THRESHOLD)


def keep_memory() -> None:
    """Let malloc keep what is freed, up to twice ROOM.

    glibc maps every large block anew and gives it back, until one of that size was freed; then its threshold follows
    (mallopt(3)). A zeroed block that nobody writes to costs nothing, pages that are fetched again a twentieth of a list
    and a sixth of the reading of long games (measured). Elsewhere it does nothing.
    """
    bytes(ROOM)
