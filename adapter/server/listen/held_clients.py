"""Clients that came while nothing is served: held for a moment, and let in as soon as it is.

A take-over and a restart last a fraction of a second. A client that is refused meanwhile comes
again after a pause, and thousands of them come again and again: their attempts would take the time
that the take-over needs. So a client that has said hello is held for HOLD_S, and admitted once the
queue manager serves; some at a time, so that others have their turn. One that a standby refuses, or
a queue manager that ends, is told so at once.

This module knows neither the protocol of a client nor why nothing is served.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.server.listen.clients import ServedClient

HOLD_S: Final = 1.0
"""Less than a client waits for its welcome; with several addresses it tries the next one then."""
LOOK_S: Final = 0.02
AT_ONCE: Final = 20
"""Are admitted in one turn of the loop: some milliseconds."""


class Waiting(Struct):
    """A held client. admit: what is done when the queue manager serves. until_s: of the loop."""

    admit: Callable[[], object]
    until_s: float


class HeldClients:
    """Of one queue manager, on its event loop. why_not: says why nothing is served; None: it is."""

    def __init__(self, why_not: Callable[[], Refused | None]) -> None:
        self._why_not = why_not
        self._waiting: dict[ServedClient, Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def hold(self, client: ServedClient, admit: Callable[[], object]) -> bool:
        """Hold or refuse a client that cannot be served now; False: it can be."""
        refused = self._why_not()
        if refused is None and not self._waiting:
            return False
        if refused is not None and not may_wait(refused):
            client.goodbye(refused)
            return True
        loop = asyncio.get_running_loop()
        if not self._waiting:
            loop.call_later(LOOK_S, self._look)
        self._waiting[client] = Waiting(admit, loop.time() + HOLD_S)
        return True

    def gone(self, client: ServedClient) -> None:
        """A client has gone, held or not."""
        self._waiting.pop(client, None)

    def _look(self) -> None:
        """Admit some clients if there is service, and refuse those that have waited for long."""
        refused, loop = self._why_not(), asyncio.get_running_loop()
        if refused is None:
            for client in list(self._waiting)[:AT_ONCE]:
                waiting = self._waiting.pop(client, None)
                if waiting is not None:
                    waiting.admit()
        else:
            for client, waiting in list(self._waiting.items()):
                if not may_wait(refused) or loop.time() >= waiting.until_s:
                    self._waiting.pop(client, None)
                    client.goodbye(refused)
        if self._waiting:
            loop.call_later(0.0 if refused is None else LOOK_S, self._look)


def may_wait(refused: Refused) -> bool:
    """Whether service may begin soon."""
    return refused.reason == Reason.QUEUE_MANAGER_NOT_AVAILABLE
