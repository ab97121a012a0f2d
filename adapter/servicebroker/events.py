"""Following the events of queues: asking for them, and waiting out what keeps a program from it.

This module does not know what is done about an event.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Protocol

from adapter.core.contract import broker as b
from adapter.core.contract.results import Descriptions, QueueDescription
from adapter.errors import Error

log = logging.getLogger("adapter.servicebroker")

RECONNECT_S = 1.0
"""Between two attempts while the queue manager is away."""


class Asking(Protocol):
    """What asks a queue manager: a session."""

    def _ask(self, command: Any, kind: Any) -> Any: ...


def await_events(session: Asking, event: str, after: int, wait_ms: int) -> list[QueueDescription]:
    """Return the events of a kind behind a number, or wait for the next one: see BrokerAwaitEvent.

    after: -1: behind the last one that there is. What has no event in its attributes only says a
    number.
    """
    command = b.BrokerAwaitEvent(event, after, wait_ms)
    found: list[QueueDescription] = session._ask(command, Descriptions).queues
    return found


def number_of(found: list[QueueDescription]) -> int:
    """Return the number behind which the next events are."""
    return max((int(one.attributes["number"]) for one in found), default=-1)


class Outage:
    """What keeps a program from events, and is waited out. Its beginning is logged, once.

    what: waits. ended: the wait ends when this is set.
    """

    def __init__(self, what: str, ended: threading.Event) -> None:
        self._what, self._ended = what, ended
        self._is_on = False

    def wait(self, problem: Error) -> None:
        """Wait until it is worth trying again."""
        if not self._is_on:
            log.warning("%s waits for the queue manager: %s", self._what, problem)
        self._is_on = True
        self._ended.wait(RECONNECT_S)

    def over(self) -> None:
        """Know that an attempt has succeeded."""
        self._is_on = False
