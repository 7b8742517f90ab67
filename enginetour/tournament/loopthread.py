"""An asyncio event loop in its own thread, shared by the control socket and the cluster executor.

It is not part of `control`, because clients of the socket do not need asyncio.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from enginetour.engines.process import block_ending_signals

_Answer = TypeVar("_Answer")


class LoopThread:
    """An event loop that runs in a thread until `end` has been awaited in it."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """Return whether the caller is in this thread."""
        return threading.current_thread() is self._thread

    def post(self, act: Callable[[], object], delay: float = 0.0) -> None:
        """Call a function in the loop after `delay` seconds; do nothing once the loop has ended."""
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(act if not delay else lambda: self._loop.call_later(delay, act))

    def wait_for(self, act: Coroutine[Any, Any, _Answer]) -> _Answer:
        """Await a coroutine in the loop and return its result. Do not call this in the loop itself."""
        return asyncio.run_coroutine_threadsafe(act, self._loop).result()

    def ask(self, question: Callable[[], _Answer]) -> _Answer:
        """Call a function in the loop and return its result."""

        async def answer() -> _Answer:
            return question()

        return self.wait_for(answer())

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end of the thread, at most `timeout` seconds."""
        if not self.is_here:
            self._thread.join(timeout)

    def begin(self, act: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task, which `end` cancels. Call this in the loop only."""
        task = self._loop.create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def end(self) -> None:
        """Cancel all other tasks; the thread ends when the caller has returned to the loop."""
        others = self._tasks - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self._loop.call_soon(self._loop.stop)

    def _run(self) -> None:
        block_ending_signals()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()
