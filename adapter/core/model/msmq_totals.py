"""What the queues of MSMQ hold together: a quota is that of a queue with its subqueues, or that of
the computer. The sums are kept as they change, so that a send costs the same whatever the number of
queues is. This module does not know what a quota is.
"""

from __future__ import annotations

from adapter.core.model.msmq_queue import HeldTotal, MsmqQueue


class MsmqTotals:
    """computer: of all queues and journals but system queues. dependent: the system queues of
    computers that depend on this queue manager; how many there are.
    """

    __slots__ = ("_by_base", "computer", "dependent")

    def __init__(self) -> None:
        self.computer = HeldTotal()
        self.dependent = HeldTotal()
        self._by_base: dict[str, HeldTotal] = {}

    def held_by(self, base: str) -> int:
        """Return how many bytes a queue holds with its subqueues. base: its name."""
        total = self._by_base.get(base)
        return 0 if total is None else total.bytes

    def add(self, queue: MsmqQueue) -> None:
        """Count what a new queue holds, from now on."""
        if queue.is_system_queue:
            queue.totals = (self.dependent,) if queue.is_of_dependent else ()
        elif queue.is_delivered_to:
            queue.totals = self.computer, self._by_base.setdefault(queue.base, HeldTotal())
        else:
            queue.totals = (self.computer,)
        for total in queue.totals:
            total.queues += 1
            total.bytes += queue.held_bytes

    def remove(self, queue: MsmqQueue) -> None:
        """Count a queue no more: it is deleted."""
        for total in queue.totals:
            total.queues -= 1
            total.bytes -= queue.held_bytes
        queue.totals = ()
        known = self._by_base.get(queue.base)
        if known is not None and not known.queues:
            del self._by_base[queue.base]
