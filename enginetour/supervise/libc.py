"""Calls of the C library from the launcher, whose start-up is part of every engine's start.

`ctypes` costs 2.8 ms to import, the extension below it 0.4 (medians of 30 starts; a bare one takes 6.1); it is only
loaded for the error number of a call that failed.
"""

import _ctypes  # what ctypes itself is made of

_library = _ctypes.dlopen(None, 0)  # type: ignore[arg-type]  # None: what this process has loaded, dlopen(3)


def call(name: str, *arguments: int | bytes | None) -> int:
    """Integers as C int, bytes as a pointer to them, None as NULL. Raises OSError where the function returns -1.

    What failed is called a second time, so only for what may be tried twice.
    """
    result: int = _ctypes.call_function(_ctypes.dlsym(_library, name), arguments)
    return result if result >= 0 else _again(name, arguments)


def _again(name: str, arguments: tuple[int | bytes | None, ...]) -> int:
    import ctypes
    import os

    result: int = getattr(ctypes.CDLL(None, use_errno=True), name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
