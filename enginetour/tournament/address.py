"""Where the socket lies, who is at its other end, and what a line is."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import select
import socket
import stat
import struct
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from enginetour.engines.strays import origin_trouble
from enginetour.store.address import Address, ServerAddress

SO_PEERPIDFD = 77  # asm-generic/socket.h
LONGEST_PATH = 107  # sun_path of 108 bytes with its end, unix(7)

LONGEST_REQUEST = 64 << 10  # bytes; an entrant with all its options is a few KB
PATIENCE_S = 5.0  # s for a whole request line; people type it into a command, not into the socket


def line_of(message: Mapping[str, Any]) -> bytes:
    """A message as it travels: compact JSON in ASCII and one newline."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def socket_path(database: Address | str, slug: str) -> Path:
    """Where the socket of a tournament would lie beside its database; `ask` and the server start from here.

    Beside a database on a server there is no place: such a path is relative, and only its digest counts.
    """
    if isinstance(database, ServerAddress):
        return Path(_tag(database)) / slug
    database = Path(os.path.realpath(database))
    return database.with_name(f"{database.name}.{slug}.sock")


@cache
def _tag(database: ServerAddress) -> str:
    """What its server calls it, whoever asks by which address: asked once, as a page looks for many tournaments."""
    from enginetour.store.database import ground_of

    return ground_of(database).tag()


def candidates(path: Path) -> list[Path]:
    """Where the socket may be: beside the database, in the runtime folder, in a folder of ours in /tmp."""
    name = f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:20]}.sock"
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    places = [path] if path.is_absolute() else []
    if runtime.startswith("/"):
        places.append(Path(runtime) / "enginetour" / name)
    places.append(Path("/tmp") / f"enginetour-{os.getuid()}" / name)  # noqa: S108 - owner and mode are checked
    return [place for place in places if len(os.fsencode(place)) <= LONGEST_PATH]


def is_ours(folder: Path) -> bool:
    """A real folder of this user that nobody else can enter."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def peer_is_us(connection: socket.socket) -> bool:
    """The process at the other end belongs to this user, as the kernel reports it."""
    return _credentials(connection)[1] == os.getuid()


def peer_trouble(connection: socket.socket) -> str:
    """Why the process that connected may not ask for anything, "" for one that this user started.

    An engine has the user's rights too: it is recognized by its namespaces and by the slot that started it. The process
    is held by its descriptor while it is judged: a number of a process that has ended says nothing.
    """
    pid, user, _ = _credentials(connection)
    if user != os.getuid():
        return "it belongs to another user"
    if pid <= 0:  # it has no number here
        return "it runs in another pid namespace"
    try:
        handle = _process(connection, pid)
    except OSError:
        return "it has ended"
    try:
        return origin_trouble(pid) or ("it has ended" if _has_ended(handle) else "")
    finally:
        os.close(handle)


def _credentials(connection: socket.socket) -> tuple[int, int, int]:
    """Process, user and group of who connected, or of who listens."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, user, group = struct.unpack("3i", found)
    return pid, user, group


def _process(connection: socket.socket, pid: int) -> int:
    """A descriptor of the process that connected. A kernel before 6.5 gives that of who has its number now."""
    try:
        return connection.getsockopt(socket.SOL_SOCKET, SO_PEERPIDFD)
    except OSError as error:
        if error.errno != errno.ENOPROTOOPT:
            raise
        return os.pidfd_open(pid)


def _has_ended(handle: int) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(0))
