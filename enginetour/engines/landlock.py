"""Landlock: an engine that writes in its scratch folder only and opens no TCP connection (landlock(7), uapi header).

Part of the launcher: imports nothing of the package but `libc`. A right is asked for only where the kernel's version
of the interface (its ABI) knows it; what a kernel does not know stays allowed.
"""

import os

from enginetour.engines import libc

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446  # system calls, the same on every architecture
VERSION = 1  # LANDLOCK_CREATE_RULESET_VERSION: tell the ABI
PATH_BENEATH = 1  # LANDLOCK_RULE_PATH_BENEATH
PR_SET_NO_NEW_PRIVS = 38  # linux/prctl.h; without it the kernel restricts nobody but root
WRITE_FILE = 1 << 1
CHANGES = WRITE_FILE | 0x1FF0  # remove files and folders, make every kind of them
DEVICES = 1 << 6 | 1 << 11  # make character and block devices: allowed nowhere
REFER, TRUNCATE = 1 << 13, 1 << 14  # move between folders (ABI 2), shorten files (ABI 3)
IOCTL_DEV = 1 << 15  # commands to devices (ABI 5)
TCP = 1 | 2  # bind, connect (ABI 4)
SCOPES = 1 | 2  # abstract Unix sockets and signals to processes outside (ABI 6)
NEVER_FILES = ("/dev/null", "/dev/zero", "/dev/full")  # writing there changes nothing


def abi() -> int:
    """The kernel's version of the interface, from 1. Raises OSError where it has none."""
    return libc.call("syscall", CREATE_RULESET, None, 0, VERSION)


def restrict(folder: str) -> None:
    """From now on this process and all it starts write below `folder` only. Raises OSError."""
    version = abi()
    rights = CHANGES | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    devices = IOCTL_DEV if version >= 5 else 0
    words = [rights | devices, *([TCP] if version >= 4 else []), *([SCOPES] if version >= 6 else [])]
    wanted = b"".join(word.to_bytes(8, "little") for word in words)
    rules = libc.call("syscall", CREATE_RULESET, wanted, len(wanted), 0)
    try:
        _allow(rules, folder, rights & ~DEVICES)
        for path in NEVER_FILES:
            if os.path.exists(path):  # noqa: PTH110 - pathlib would double the start-up
                _allow(rules, path, WRITE_FILE | (rights & TRUNCATE) | devices)
        libc.call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        libc.call("syscall", RESTRICT_SELF, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    place = os.open(path, os.O_PATH)
    try:
        # struct landlock_path_beneath_attr is packed: 64 bits of rights, 32 of the descriptor
        rule = rights.to_bytes(8, "little") + place.to_bytes(4, "little")
        libc.call("syscall", ADD_RULE, rules, PATH_BENEATH, rule, 0)
    finally:
        os.close(place)
