"""The parts of a queue manager's process: what it does beside serving requests.

A server begins and ends its parts in one order and asks each for its figures; it does not know what
a part does, and a part does not know the others. Every method is called on the event loop's thread,
and does nothing unless a part says otherwise. An end comes in any state, also before a start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

AcceptOwn = Callable[[], asyncio.Protocol]
"""Makes the server's end of a connection of the queue manager's own."""


class Part:
    """One part. In the order of a life: stand_by, prepare, start, stop, end; or abandon."""

    def stand_by(self) -> None:
        """The process follows another owner, and may take over."""

    async def prepare(self) -> None:
        """The owner runs; clients are not served yet, and wait for this. Bounded."""

    async def start(self, accept: AcceptOwn) -> None:
        """Clients are served from now on."""

    async def stop(self) -> None:
        """The owner is about to end: ask nothing of it any more. Bounded."""

    async def end(self) -> None:
        """The owner has ended, and so have its clients. Bounded."""

    def abandon(self) -> None:
        """A start has failed: let go of what was begun, without waiting."""

    def figures(self) -> dict[str, Any]:
        """Return figures by the names of their fields in ServerFigures."""
        return {}

    def undone(self) -> dict[str, str]:
        """Return what does not get done for now, and why; it keeps no client waiting."""
        return {}
