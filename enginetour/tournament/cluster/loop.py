"""An asyncio loop in a thread of its own: others leave a word there, and all that is touched is touched by it alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from enginetour.engines.process import hear_no_end


class LoopThread:
    """Runs until `end` has been awaited in it."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    @property
    def is_here(self) -> bool:
        """The caller is this thread."""
        return threading.current_thread() is self._thread

    def post(self, act: Callable[[], object], delay: float = 0.0) -> None:
        """Have it done there, after `delay` seconds; nothing once the loop has ended."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act if not delay else lambda: self._loop.call_later(delay, act))

    def wait_for(self, act: Coroutine[Any, Any, Any]) -> Any:
        """Have it awaited there, and wait for what it returns or raises; not to be called in the loop itself."""
        return asyncio.run_coroutine_threadsafe(act, self._loop).result()

    def ask(self, question: Callable[[], Any]) -> Any:
        """What a function says there."""

        async def answer() -> Any:
            return question()

        return self.wait_for(answer())

    def join(self) -> None:
        """Wait until it has ended."""
        if not self.is_here:
            self._thread.join()

    # In the loop.

    def begin(self, act: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """A task that `end` will cancel."""
        task = self._loop.create_task(act)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def end(self) -> None:
        """Cancel the others; the thread ends when whoever called this has come back to the loop."""
        others = self._tasks - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self._loop.call_soon(self._loop.stop)

    def _run(self) -> None:
        hear_no_end()
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()
