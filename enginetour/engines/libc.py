"""Calls of the C library from the launcher, which imports nothing else of the package."""

import ctypes
import os

_library = ctypes.CDLL(None, use_errno=True)  # what this process has loaded: dlopen(3)


def call(name: str, *arguments: int | bytes | None) -> int:
    """Integers as C int, bytes as a pointer to them, None as NULL. Raises OSError where the function returns -1."""
    result: int = getattr(_library, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
