"""What waits to leave a queue manager, as the services that carry it away ask for it: exports and
transmission queues, and as what other queue managers know it.

It only reads, and what it returns is as it was then. This module must not know who carries what,
nor where to.
"""

from __future__ import annotations

from collections.abc import Mapping

from adapter.core.attributes.export import ExportAttributes
from adapter.core.attributes.msmq import computers_in
from adapter.core.model.manager import QueueManager


class Outgoing:
    """Questions about one queue manager that is served."""

    def __init__(self, qm: QueueManager) -> None:
        self._qm = qm

    @property
    def exports(self) -> Mapping[str, ExportAttributes]:
        """Exports by name, as they are defined; their attributes may change later."""
        return self._qm.exports

    def initiates(self, queue: str) -> bool:
        """Whether a queue is the initiation queue of others: who serves it must have it open."""
        return queue in self._qm.initiates

    def depth(self, queue: str) -> int | None:
        """How many messages are on a queue; None if it does not exist."""
        found = self._qm.queues.get(queue)
        return found.depth if found is not None else None

    def transmission_queues(self) -> dict[str, int]:
        """How many messages are on each transmission queue, by its name."""
        return {name: queue.depth for name, queue in self._qm.transmission_queues.items()}

    def computers(self) -> tuple[str, ...]:
        """The name of its computer in MSMQ, and then the former ones."""
        attributes = self._qm.attributes
        return attributes.msmq_computer or self._qm.name, *computers_in(
            attributes.msmq_former_computers
        )

    @property
    def first_n(self) -> int:
        """The first number of units of this term, larger than all of terms before."""
        return self._qm.numbers.first_n
