"""Queues that a step makes as it needs them: transmission queues, and those of other faces.

This module does not know what a queue is needed for.
"""

from __future__ import annotations

from typing import Any

from adapter.core.contract.records import QueueDefined, Record
from adapter.core.model.queue import LocalQueue


class MadeQueues:
    """queues: by name; they can be put to at once. records: define them, before all else."""

    __slots__ = ("queues", "records")

    def __init__(self) -> None:
        self.queues: dict[str, LocalQueue] = {}
        self.records: list[Record] = []

    def add(self, queue: LocalQueue, attributes: dict[str, Any]) -> None:
        """Note a new queue. attributes: those that are not as by default."""
        self.queues[queue.name] = queue
        self.records.append(QueueDefined(queue.name, queue.incarnation, attributes))
