"""Topic strings: levels, wildcards, and which strings with wildcards match a topic.

A topic string is a path of levels with '/' between them. In a subscription the level '+' stands for
any one level and '#' for any number of levels, also none (MQSO_WILDCARD_TOPIC); every other level
matches itself, whatever characters it has, and in a publication every level does. This module does
not know subscriptions.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

SEPARATOR: Final = "/"
ONE: Final = "+"
ANY: Final = "#"


Item = TypeVar("Item")


class LevelNode(Generic[Item]):
    """A level of some subscriptions' topic strings. items: of those that end here, by name."""

    __slots__ = ("below", "is_any", "items")

    def __init__(self, is_any: bool = False) -> None:
        self.below: dict[str, LevelNode[Item]] = {}
        self.items: dict[str, Item] = {}
        self.is_any = is_any


class Matcher(Generic[Item]):
    """Items under topic strings with wildcards; a topic finds its own, looking at no others.

    What is looked at for a topic are the paths that it may take through a tree of levels.
    """

    def __init__(self) -> None:
        self._root: LevelNode[Item] = LevelNode()

    def add(self, pattern: str, name: str, item: Item) -> None:
        """Keep an item under a topic string with wildcards, by a name of its own there."""
        node = self._root
        for level in levels(pattern):
            below = node.below.get(level)
            if below is None:
                below = node.below[level] = LevelNode(level == ANY)
            node = below
        node.items[name] = item

    def remove(self, pattern: str, name: str) -> None:
        """Forget an item, and the levels that nothing else is below. KeyError if it is unknown."""
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


def _with_any(nodes: list[LevelNode[Item]]) -> list[LevelNode[Item]]:
    """Return each node once, and those that a '#' below it leads to with no level at all."""
    found: dict[int, LevelNode[Item]] = {}
    for node in nodes:
        one: LevelNode[Item] | None = node
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
