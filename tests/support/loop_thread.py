"""An event loop in a thread of its own, for what tests talk to from theirs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

CALL_S = 10.0
Outcome = TypeVar("Outcome")


class LoopThread:
    """Runs an event loop until it is closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._thread = threading.Thread(target=loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """Run a coroutine on the loop, and wait for what it comes to."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(CALL_S)

    def close(self) -> None:
        """End the loop and its thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(CALL_S)
        self.loop.close()
