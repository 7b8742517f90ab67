"""What Dask gives for a task, without Dask."""

from __future__ import annotations

import asyncio
from typing import Any


class Promise:
    """To be awaited, released, and in a state. A released one may be kept all the same: its worker did not know."""

    def __init__(self) -> None:
        self.status = "pending"
        self.released = False
        self._future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def __await__(self) -> Any:
        return self._future.__await__()

    def settle(self, value: object) -> None:
        """The first answer counts; an exception is raised where it is awaited."""
        if self._future.done():
            return
        if isinstance(value, BaseException):
            self._future.set_exception(value)
        else:
            self._future.set_result(value)

    def release(self) -> None:
        """Nobody waits for it any more."""
        self.released = True
