"""What a connection has open, by kind: a queue, a queue as a durable consumer, a topic, a
subscription. Soft state. This module does not know how a handle is opened or closed.
"""

from __future__ import annotations

from typing import TypeAlias

from adapter.core.attributes.objects import AliasAttributes
from adapter.core.contract.commands import INPUT
from adapter.core.contract.stored import Stored
from adapter.core.model.context import MessageContext
from adapter.core.model.groups import Progress
from adapter.core.model.paged_index import START
from adapter.core.model.queue import LocalQueue
from adapter.core.model.routes import RemoteRoute
from adapter.core.model.selector import Fits
from adapter.core.model.topics import SubscriptionState


class QueueHandle:
    """A queue opened in certain modes, with a browse cursor.

    alias: the attributes of the alias that led to it. is_maker: the queue was made for it.
    selection: what it was opened with, and fits what that says of a message. locked: the message
    that a browse has locked, if any. put_group, get_group, browse_group: where the handle is in a
    group or a segmented message, if it is in one. browse_head: where the group began that a browse
    in logical order has come to: the next one begins behind it. route: how puts leave, if it is a
    queue of another queue manager; queue is the transmission queue then. saved: the context of
    the message that was got last, if the handle saves contexts.
    """

    __slots__ = (
        "alias",
        "browse_group",
        "browse_head",
        "cursor",
        "fits",
        "get_group",
        "is_maker",
        "locked",
        "modes",
        "number",
        "put_group",
        "queue",
        "route",
        "saved",
        "selection",
    )

    def __init__(
        self,
        number: int,
        queue: LocalQueue,
        modes: int,
        alias: AliasAttributes | None = None,
        is_maker: bool = False,
        route: RemoteRoute | None = None,
    ) -> None:
        self.number = number
        self.queue = queue
        self.modes = modes
        self.alias = alias
        self.is_maker = is_maker
        self.route = route
        self.selection = ""
        self.fits: Fits | None = None
        self.cursor = START
        self.locked: Stored | None = None
        self.put_group: Progress | None = None
        self.get_group: Progress | None = None
        self.browse_group: Progress | None = None
        self.browse_head = START
        self.saved: MessageContext | None = None

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self.queue.name


class ConsumerHandle(QueueHandle):
    """A queue opened for input as one of its durable consumers.

    batches: what of the consumer's this handle has handed out. may_break_off: the program is not to
    blame if it does not close it.
    """

    __slots__ = ("batches", "consumer", "may_break_off")

    def __init__(
        self,
        number: int,
        queue: LocalQueue,
        consumer: str,
        alias: AliasAttributes | None = None,
        *,
        may_break_off: bool = False,
    ) -> None:
        super().__init__(number, queue, INPUT, alias)
        self.consumer = consumer
        self.may_break_off = may_break_off
        self.batches: set[int] = set()


class TopicHandle:
    """A topic opened for publishing. alias: the attributes of the alias that led to it."""

    __slots__ = ("alias", "modes", "number", "topic")

    def __init__(
        self, number: int, topic: str, modes: int, alias: AliasAttributes | None = None
    ) -> None:
        self.number = number
        self.topic = topic
        self.modes = modes
        self.alias = alias

    @property
    def name(self) -> str:
        """The topic string."""
        return self.topic


class SubscriptionHandle:
    """A subscription: it neither puts nor gets, so that it has no modes."""

    __slots__ = ("modes", "number", "subscription")

    def __init__(self, number: int, subscription: SubscriptionState) -> None:
        self.number = number
        self.subscription = subscription
        self.modes = 0

    @property
    def name(self) -> str:
        """The topic string."""
        return self.subscription.topic


Handle: TypeAlias = QueueHandle | TopicHandle | SubscriptionHandle
