"""Topics: the subscriptions to them, and what is known of their tree.

This module does not know what a publication becomes.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from adapter.core.contract.commands import AS_PUBLISHED
from adapter.core.contract.message import MessageData
from adapter.core.contract.topic_strings import Matcher
from adapter.core.model.selector import Fits

THE_QUEUE_MANAGER: Final = "*QMGR"


class SubscriptionState(Struct, eq=False, kw_only=True):
    """A subscription. topic: its whole topic string. name: "" if it has none.

    ident: of 24 bytes, its own; of a durable one it is the same in every life of the queue manager.
    fits: whether a publication is what its selection asks for; None: each is. priority: of the
    copies, or AS_PUBLISHED, AS_QUEUE_SAYS. owner: whose it is; "": that is not known; or
    THE_QUEUE_MANAGER, which may put everywhere. connection: which has it open, 0: none.
    """

    ident: bytes
    name: str
    topic: str
    destination: str
    is_managed: bool
    is_durable: bool
    correlation_id: bytes = b""
    user_data: str = ""
    on_request: bool = False
    level: int = 1
    selection: str = ""
    fits: Fits | None = None
    priority: int = AS_PUBLISHED
    connection: int = 0
    destination_queue_manager: str = ""
    owner: str = ""

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return self.ident.hex()

    @property
    def group(self) -> tuple[str | bool, ...]:
        """What it has in common with those that give their queue one copy together.

        That is said by names, `GROUP QUEUE ...`: a word, and the queue that it puts to. Any other
        subscription is a group of its own.
        """
        word, queue = self.name.partition(" ")[0], self.destination
        if word and self.name.startswith(f"{word} {queue} "):
            return word, queue, self.destination_queue_manager, self.is_durable
        return (self.key,)

    def selects(self, message: MessageData) -> bool:
        """Whether a publication is what its selection asks for."""
        return self.fits is None or self.fits(message)


class Topics:
    """The tree of topics: subscriptions to it, and its topic objects."""

    def __init__(self) -> None:
        self.matcher: Matcher[SubscriptionState] = Matcher()
        self.named: dict[str, SubscriptionState] = {}
        """The subscriptions that have a name, durable or not."""
        self.objects: dict[str, str] = {}
        """By topic string the name of the topic object that says what holds there."""

    def add(self, subscription: SubscriptionState) -> None:
        """Take a subscription in."""
        self.matcher.add(subscription.topic, subscription.key, subscription)
        if subscription.name:
            self.named[subscription.name] = subscription

    def remove(self, subscription: SubscriptionState) -> None:
        """Take a subscription out."""
        self.matcher.remove(subscription.topic, subscription.key)
        if subscription.name:
            del self.named[subscription.name]
