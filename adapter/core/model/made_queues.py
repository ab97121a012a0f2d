"""Queues that a step makes as it needs them: transmission queues, and those of other faces.

They count among those that there may be, which is asked here, for all that make some. This module
does not know what a queue is needed for.
"""

from __future__ import annotations

from typing import Any

from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import QueueDefined, Record
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue


def check_queue_room(qm: QueueManager, name: str, more: int = 1) -> None:
    """Refuse to make so many queues more than there may be. name: what a program has called for."""
    if len(qm.queues) + more > qm.limits.queues:
        raise Refusal(Reason.LIMIT_REACHED, name, f"{qm.limits.queues} queues at most")


class MadeQueues:
    """queues: by name; they can be put to at once. records: define them, before all else."""

    __slots__ = ("queues", "records")

    def __init__(self) -> None:
        self.queues: dict[str, LocalQueue] = {}
        self.records: list[Record] = []

    def has_room(self, qm: QueueManager) -> bool:
        """Whether there may be one queue more."""
        return len(qm.queues) + len(self.queues) < qm.limits.queues

    def add(
        self,
        qm: QueueManager,
        queue: LocalQueue,
        attributes: dict[str, Any],
        *,
        name: str = "",
        is_owed: bool = False,
    ) -> None:
        """Note a new queue, or refuse it. name: see check_queue_room(). attributes: those that are
        not as by default. is_owed: it is not refused, as what is put to it has been accepted; of
        such queues there must be another bound.
        """
        if not is_owed:
            check_queue_room(qm, name or queue.name, len(self.queues) + 1)
        self.queues[queue.name] = queue
        self.records.append(QueueDefined(queue.name, queue.incarnation, attributes))
