"""The properties of a queue as the queue manager keeps them, read and set from a MessageQueue.

It knows no message.
"""

from __future__ import annotations

from typing import Any

from adapter.core.contract import msmq as c
from adapter.core.contract.results import Done
from adapter.msmq import requests
from adapter.msmq.computers import ComputerConnections, QueueRoute
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import MessageQueueException


class QueueProperties:
    """A queue's properties; each read asks the queue manager, each setting is durable."""

    def __init__(self, computers: ComputerConnections, path: str) -> None:
        self._computers = computers
        self._path = path
        self._route: QueueRoute | None = None

    @property
    def _reads(self) -> QueueRoute:
        """How it is read, which is where it is. Raises MessageQueueException."""
        route = self._route
        if route is None:
            route = self._route = self._computers.to(self._path)
        return route

    @property
    def path(self) -> str:
        """The path or format name that it was opened by."""
        return self._path

    @property
    def transactional(self) -> bool:
        """Whether it takes only messages sent in transactions."""
        return bool(self._inquire()["transactional"])

    @property
    def label(self) -> str:
        """Free text about the queue."""
        return str(self._inquire()["label"])

    @label.setter
    def label(self, value: str) -> None:
        self._alter(label=value)

    @property
    def use_journal_queue(self) -> bool:
        """Whether copies of received messages go to its journal."""
        return bool(self._inquire()["journaling"])

    @use_journal_queue.setter
    def use_journal_queue(self, value: bool) -> None:
        self._alter(journaling=value)

    @property
    def maximum_queue_size_kb(self) -> int:
        """How many KB of messages it takes."""
        return int(self._inquire()["quota_kb"])

    @maximum_queue_size_kb.setter
    def maximum_queue_size_kb(self, value: int) -> None:
        self._alter(quota_kb=value)

    @property
    def journal_quota_kb(self) -> int:
        """How many KB of messages its journal takes."""
        return int(self._inquire()["journal_quota_kb"])

    @journal_quota_kb.setter
    def journal_quota_kb(self, value: int) -> None:
        self._alter(journal_quota_kb=value)

    def count(self) -> int:
        """Return how many messages are on it that can be received."""
        return int(self._inquire()["message_count"])

    def _inquire(self) -> dict[str, Any]:
        found = requests.inquire(self._reads, self._path)
        if not found:
            raise MessageQueueException(
                Code.QUEUE_NOT_FOUND,
                f"queue {self._path} does not exist: create it, or check its path",
                self._path,
            )
        return found[0].attributes

    def _alter(self, **attributes: bool | int | str | None) -> None:
        route = self._reads
        command = c.MsmqAlter(self._path, attributes, route.computer)
        requests.ask(route.channel, command, Done, True, self._path)
