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


class Following:
    """Follows the events of a kind, from now on. number: of the last one that is known; term: of
    the owner of the queue manager that has said so, which begins to number anew.
    """

    def __init__(self, event: str) -> None:
        self._event = event
        self.number, self.term = -1, ""

    def read(self, session: Asking, wait_ms: int) -> tuple[list[QueueDescription], bool]:
        """Return the next events, or wait for one; and whether there were others, which the queue
        manager does not know any more. The first time, it is only said where events begin.
        """
        command = b.BrokerAwaitEvent(self._event, self.number, wait_ms, self.term)
        found: list[QueueDescription] = session._ask(command, Descriptions).queues
        if not found:
            return [], False
        term = str(found[-1].attributes.get("term", ""))
        numbers = [int(one.attributes["number"]) for one in found]
        self.number = max(numbers) if term != self.term else max(self.number, *numbers)
        self.term = term
        has_missed = any(one.attributes.get("missed") for one in found)
        return [one for one in found if one.attributes.get("event")], has_missed


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
