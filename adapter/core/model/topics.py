"""Topics: which subscriptions a topic string means, and what is known of the tree of topics.

A topic string is a path of levels with '/' between them. In a subscription the level '+' stands for
any one level and '#' for any number of levels, also none (MQSO_WILDCARD_TOPIC); anything else means
itself, whatever characters it has, and in a publication every level does. This module does not know
what a publication becomes.
"""

from __future__ import annotations

from typing import Generic, TypeVar

from msgspec import Struct

from adapter.core.contract.commands import AS_PUBLISHED
from adapter.core.contract.message import Message
from adapter.core.model.selector import Fits

SEPARATOR = "/"
ONE = "+"
ANY = "#"


Item = TypeVar("Item")


class Node(Generic[Item]):
    """A level of some subscriptions' topic strings. items: of those that end here, by name."""

    __slots__ = ("below", "is_any", "items")

    def __init__(self, is_any: bool = False) -> None:
        self.below: dict[str, Node[Item]] = {}
        self.items: dict[str, Item] = {}
        self.is_any = is_any


class Matcher(Generic[Item]):
    """Items under topic strings with wildcards; a topic finds its own, looking at no others.

    What is looked at for a topic are the paths that it may take through a tree of levels.
    """

    def __init__(self) -> None:
        self._root: Node[Item] = Node()

    def add(self, pattern: str, name: str, item: Item) -> None:
        """Keep an item under a topic string with wildcards, by a name of its own there."""
        node = self._root
        for level in levels(pattern):
            below = node.below.get(level)
            if below is None:
                below = node.below[level] = Node(level == ANY)
            node = below
        node.items[name] = item

    def remove(self, pattern: str, name: str) -> None:
        """Forget an item, and the levels that nothing else is below. KeyError if there is none."""
        path = [self._root]
        steps = levels(pattern)
        for level in steps:
            path.append(path[-1].below[level])
        del path[-1].items[name]
        for node, above, level in zip(path[:0:-1], path[-2::-1], reversed(steps), strict=True):
            if node.items or node.below:
                return
            del above.below[level]

    def matching(self, topic: str) -> list[Item]:
        """Return the items whose topic strings mean this topic, in an order that is always so."""
        reached = _with_any([self._root])
        for level in topic.split(SEPARATOR):
            following = []
            for node in reached:
                if node.is_any:
                    following.append(node)
                for step in (level, ONE) if level != ONE else (ONE,):
                    below = node.below.get(step)
                    if below is not None:
                        following.append(below)
            reached = _with_any(following)
            if not reached:
                return []
        return [item for node in reached for item in node.items.values()]


def _with_any(nodes: list[Node[Item]]) -> list[Node[Item]]:
    """Return each node once, and those that a '#' below it leads to with no level at all."""
    found: dict[int, Node[Item]] = {}
    for node in nodes:
        one: Node[Item] | None = node
        while one is not None and id(one) not in found:
            found[id(one)] = one
            one = one.below.get(ANY)
    return list(found.values())


def levels(pattern: str) -> list[str]:
    """Return the levels of a topic string with wildcards; '#/#' means what '#' means."""
    found: list[str] = []
    for level in pattern.split(SEPARATOR):
        if level != ANY or found[-1:] != [ANY]:
            found.append(level)
    return found


def means(pattern: str, topic: str) -> bool:
    """Whether a topic string with wildcards means a topic."""
    if pattern == topic:
        return True
    one: Matcher[bool] = Matcher()
    one.add(pattern, "", True)
    return bool(one.matching(topic))


def has_wildcards(pattern: str) -> bool:
    """Whether a topic string may mean more than one topic."""
    return any(level in (ONE, ANY) for level in pattern.split(SEPARATOR))


class Subscription(Struct, eq=False, kw_only=True):
    """A subscription. topic: its whole topic string. name: "" if it has none.

    ident: of 24 bytes, its own; of a durable one it is the same in every life of the queue manager.
    fits: whether a publication is what its selection asks for; None: each is. priority: of the
    copies, or AS_PUBLISHED, AS_QUEUE_SAYS. connection: who has it open, 0: nobody.
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

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return self.ident.hex()

    def selects(self, message: Message) -> bool:
        """Whether a publication is what its selection asks for."""
        return self.fits is None or self.fits(message)


class Topics:
    """The tree of topics: subscriptions to it, and its topic objects."""

    def __init__(self) -> None:
        self.matcher: Matcher[Subscription] = Matcher()
        self.named: dict[str, Subscription] = {}
        """The subscriptions that have a name, durable or not."""
        self.objects: dict[str, str] = {}
        """By topic string the name of the topic object that says what holds there."""

    def add(self, subscription: Subscription) -> None:
        """Take a subscription in."""
        self.matcher.add(subscription.topic, subscription.key, subscription)
        if subscription.name:
            self.named[subscription.name] = subscription

    def remove(self, subscription: Subscription) -> None:
        """Take a subscription out."""
        self.matcher.remove(subscription.topic, subscription.key)
        if subscription.name:
            del self.named[subscription.name]
