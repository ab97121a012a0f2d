"""An independent auditor of publications: who gets which, in which order, and what is retained.

It imports nothing of the product and knows the rules by itself. It is told each operation in
order; what is on the queues of subscriptions must be what it expects. All is durable at once here.
"""

from __future__ import annotations

from typing import NamedTuple

from tests.simulation.work_auditor import WorkAuditor


class Copy(NamedTuple):
    """A message on a queue. place: copies that came together have the same, in any order."""

    place: tuple[int, int]
    name: str
    hard: bool


class Kept(NamedTuple):
    """A retained publication."""

    name: str
    priority: int
    hard: bool


class Subscription:
    """A subscription. client: who has it open, or "". soft: its queue takes none but soft ones."""

    def __init__(
        self, topic: str, queue: str, client: str, *, durable: bool, managed: bool
    ) -> None:
        self.topic = topic
        self.queue = queue
        self.client = client
        self.durable = durable
        self.managed = managed

    @property
    def soft(self) -> bool:
        """Whether its queue is a temporary one."""
        return self.managed and not self.durable


class Unit:
    """An open unit: what it puts where, and what it retains."""

    def __init__(self, client: str) -> None:
        self.client = client
        self.copies: list[tuple[str, int, str, bool]] = []
        self.kept: list[tuple[str, Kept]] = []


def means(pattern: list[str], topic: list[str]) -> bool:
    """Whether a subscription's topic string means a topic, level by level."""
    if not pattern:
        return not topic
    first, *rest = pattern
    if first == "#":
        return any(means(rest, topic[at:]) for at in range(len(topic) + 1))
    return bool(topic) and first in ("+", topic[0]) and means(rest, topic[1:])


def is_meant(pattern: str, topic: str) -> bool:
    """Whether a topic string with wildcards means a topic."""
    return means(pattern.split("/"), topic.split("/"))


class PublishAuditor(WorkAuditor):
    """Expects copies. Raises AssertionError if there are others, or not those."""

    def __init__(self) -> None:
        super().__init__()
        self.queues: dict[str, list[Copy]] = {}
        self.subscriptions: dict[str, Subscription] = {}
        self.units: dict[str, Unit] = {}
        self.kept: dict[str, list[Kept]] = {}
        """By topic, what is retained: one, or nothing."""
        self._order = 0

    # -- what is told

    def subscribed(self, name: str, one: Subscription, *, retained: bool) -> int:
        """A subscription was made; returns how many publications it must have been given."""
        self.note("subscribed", name, one.topic, one.queue)
        self.subscriptions[name] = one
        self.queues.setdefault(one.queue, [])
        self.met["subscription durable" if one.durable else "subscription not durable"] += 1
        return self._give_retained(one) if retained else 0

    def asked(self, name: str) -> int:
        """MQSUBRQ: returns how many publications must have been given."""
        return self._give_retained(self.subscriptions[name])

    def resumed(self, name: str, client: str) -> None:
        self.subscriptions[name].client = client
        self.met["subscription resumed"] += 1

    def closed(self, name: str, *, remove: bool) -> None:
        """MQCLOSE; remove: a durable one is to go as well."""
        self.note("closed", name, remove)
        one = self.subscriptions[name]
        one.client = ""
        if remove or not one.durable:
            self._remove(name)

    def published(self, topic: str, one: Kept, unit: str = "", *, retain: bool = False) -> int:
        """A publication was made; returns for how many subscriptions it was."""
        self.note("published", topic, one, unit, retain)
        matching = [sub for sub in self.subscriptions.values() if is_meant(sub.topic, topic)]
        copies = [
            (sub.queue, one.priority, f"{one.name} {topic}", one.hard and not sub.soft)
            for sub in matching
        ]
        self.met["publication to several"] += len(matching) > 1
        before = self.kept.get(topic, [])
        if unit:
            self.units[unit].copies += copies
            self.units[unit].kept += [(topic, one)] if retain else []
            return len(matching)
        self._put(copies)
        if retain:
            self.met["retained publication replaced"] += bool(before)
            self.kept[topic] = [one]
        return len(matching)

    def cleared(self, pattern: str) -> int:
        """CLEAR TOPICSTR; returns for how many topics there was something."""
        gone = [topic for topic, kept in self.kept.items() if kept and is_meant(pattern, topic)]
        for topic in gone:
            del self.kept[topic]
        return len(gone)

    def begun(self, client: str, unit: str) -> None:
        self.units[unit] = Unit(client)

    def committed(self, unit: str) -> None:
        self.note("committed", unit)
        ended = self.units.pop(unit)
        self.met["publication in a unit"] += len(ended.copies)
        self._put(ended.copies)
        for topic, one in ended.kept:
            self.kept[topic] = [one]

    def backed_out(self, unit: str) -> None:
        self.note("backed out", unit)
        del self.units[unit]

    def took(self, queue: str, name: str) -> None:
        """Somebody got the first message of a queue."""
        copies = self.queues[queue]
        first = [one for one in copies if one.place == copies[0].place] if copies else []
        found = [one for one in first if one.name == name]
        assert found, f"{queue} gave {name!r}, due is one of {first}"
        copies.remove(found[0])

    def lost(self, client: str) -> None:
        """A connection is gone: its units are backed out, its subscriptions closed."""
        self.note("lost", client)
        for unit in [unit for unit, one in self.units.items() if one.client == client]:
            self.backed_out(unit)
        for name, one in list(self.subscriptions.items()):
            if one.client == client:
                self.closed(name, remove=False)

    def crashed(self, *, keeps_soft: bool) -> None:
        """The queue manager went, and is there again. keeps_soft: its process lived on."""
        self.note("crashed", keeps_soft)
        for client in {one.client for one in self.subscriptions.values() if one.client}:
            self.lost(client)
        self.units.clear()
        if keeps_soft:
            return
        for name, copies in self.queues.items():
            self.queues[name] = [one for one in copies if one.hard]
        for topic, kept in self.kept.items():
            self.kept[topic] = [one for one in kept if one.hard]

    def seen(self, found: dict[str, list[str]], kept: int) -> None:
        """These are the names on the queues, in order, and how many messages are retained."""
        self.note("seen", found, kept)
        assert found.keys() == self.queues.keys(), f"{sorted(found)}, due {sorted(self.queues)}"
        for queue, names in found.items():
            expected = self.queues[queue]
            for at, one in enumerate(expected):
                together = [other.name for other in expected if other.place == one.place]
                first = at - [other.place for other in expected[:at]].count(one.place)
                got = names[first : first + len(together)]
                assert sorted(got) == sorted(together), f"on {queue} {names}, due is {expected}"
            assert len(names) == len(expected), f"on {queue} there is {names}, due is {expected}"
        assert kept == sum(map(len, self.kept.values())), (
            f"{kept} messages are retained, due is {self.kept}"
        )

    # -- what follows

    def _put(self, copies: list[tuple[str, int, str, bool]]) -> None:
        for queue, priority, name, hard in copies:
            if queue in self.queues:
                self._order += 1
                self._add(queue, Copy((-priority, self._order), name, hard))

    def _add(self, queue: str, one: Copy) -> None:
        self.queues[queue].append(one)
        self.queues[queue].sort(key=lambda copy: copy.place)

    def _give_retained(self, one: Subscription) -> int:
        self._order += 1
        count = 0
        for topic, kept in self.kept.items():
            if kept and is_meant(one.topic, topic):
                last = kept[-1]
                name = f"{last.name} {topic} retained"
                hard = last.hard and not one.soft
                self._add(one.queue, Copy((-last.priority, self._order), name, hard))
                count += 1
        self.met["retained publication given"] += count
        return count

    def _remove(self, name: str) -> None:
        one = self.subscriptions.pop(name)
        self.met["subscription gone"] += 1
        if one.managed:
            del self.queues[one.queue]
            for unit in self.units.values():
                unit.copies = [copy for copy in unit.copies if copy[0] != one.queue]
