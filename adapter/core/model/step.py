"""Follow-up work of the current step, which is done before the step returns.

Decisions note here what follows from them, and applied records what became possible. Code that
notes something need not know what follows. This module knows no rule.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from adapter.core.contract.authorities import Denial
    from adapter.core.contract.pages import PageNeeded
    from adapter.core.model.broker_events import BrokerDue
    from adapter.core.model.moves import MoveDue
    from adapter.core.model.msmq_queue import MsmqQueue
    from adapter.core.model.queue import LocalQueue
    from adapter.core.model.report import MsmqExpiry, ReportDue
    from adapter.core.model.topics import SubscriptionState
    from adapter.core.model.trigger_event import TriggerEvent
    from adapter.core.model.trigger_put import TriggerPut


class Step:
    """The work that is left of a step."""

    __slots__ = (
        "asked_again",
        "broker_due",
        "denied",
        "made",
        "missing",
        "moves_due",
        "pages_wanted",
        "reports_due",
        "subscribed",
        "trigger_work",
        "unsettled",
    )

    def __init__(self) -> None:
        self.trigger_work: deque[TriggerEvent | TriggerPut] = deque()
        """What was decided may cause trigger messages, or has caused these."""
        self.moves_due: deque[MoveDue] = deque()
        """Messages that came back, perhaps too often. What a restart found is moved by its first
        step."""
        self.reports_due: deque[ReportDue | MsmqExpiry] = deque()
        """Of messages that expired, or have arrived after a delay."""
        self.pages_wanted: dict[tuple[str, int, str], PageNeeded] = {}
        """What is to be read, by queue, lane and field."""
        self.broker_due: deque[BrokerDue] = deque()
        """Events of queues of Service Broker; units that were lost are counted by the first step
        after a restart."""
        self.unsettled: dict[str, MsmqQueue] = {}
        """Queues of MSMQ, by name: subqueues that may be needed no more, and those on which there
        are not so many bytes as a replay without the contents of messages would come to."""
        self.missing: tuple[str, int, int] | None = None
        """Queue, lane and seq of a message that has just proved not to be on its topic."""
        self.asked_again: list[LocalQueue] = []
        """Queues whose suspended requests are decided again: they were deleted while requests
        waited for pages of them, or a request does more than one decision may."""
        self.denied: list[Denial] = []
        """Which authorities connections lacked, for the log."""
        self.made: dict[str, LocalQueue] = {}
        """New queues that a handle has open already, by name, until a record makes them known."""
        self.subscribed: dict[str, SubscriptionState] = {}
        """New durable subscriptions, likewise."""
