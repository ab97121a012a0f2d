"""An independent auditor of triggers: which trigger messages must be where, after each operation.

It imports nothing of the product and knows the manual's conditions by itself. It is told each
operation that was carried out, in order, and then what is on the initiation queues and on the
dead-letter queue: that must be what it expects, message by message.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.simulation.work_auditor import WorkAuditor

FULL, INHIBITED, MISSING = 2053, 2051, 2085


class Told(NamedTuple):
    """A trigger message. reason: 0, or why it is a dead letter; to: where it was to go then."""

    queue: str
    data: str
    process: str
    priority: int
    reason: int = 0
    to: str = ""


class Held(NamedTuple):
    """A trigger message that is to be put; every: it was one of TriggerType EVERY."""

    to: str
    message: Told
    every: bool


class Message:
    """A message of an application. by: the open unit that put it, or that has gotten it."""

    __slots__ = ("by", "gotten", "hard", "priority")

    def __init__(self, priority: int, hard: bool, by: str) -> None:
        self.priority = priority
        self.hard = hard
        self.by = by
        self.gotten = False


class Queue:
    """A queue: its attributes, who has it open for input, the applications' messages by body."""

    def __init__(self, attributes: dict[str, Any]) -> None:
        self.attributes = attributes
        self.inputs: set[str] = set()
        self.messages: dict[str, Message] = {}
        self.told: list[Told] = []
        """Trigger messages on it, in the order of delivery."""
        self.last_ms: int | None = None

    def __getitem__(self, name: str) -> Any:
        return self.attributes[name]

    @property
    def counted(self) -> int:
        """How many messages count for triggers."""
        least: int = self["trigger_msg_priority"]
        there = [one for one in self.messages.values() if not one.gotten]
        mine = sum(one.priority >= least for one in there)
        return mine + sum(one.priority >= least for one in self.told)


class TriggerAuditor(WorkAuditor):
    """Expects trigger messages. Raises AssertionError if there are others, or not those."""

    def __init__(self) -> None:
        super().__init__()
        self.queues: dict[str, Queue] = {}
        self.processes: set[str] = set()
        self.settings: dict[str, Any] = {
            "trigger_interval_ms": 999_999_999,
            "depth_trigger_disables": False,
            "every_triggers_on_backout": False,
            "dead_letter_queue": "",
        }
        self.units: dict[str, tuple[str, list[Held]]] = {}
        """Of open units: whose they are, and what they hold."""
        self._work: deque[tuple[str, tuple[Any, ...]]] = deque()

    # -- what is told

    def defined(self, name: str, attributes: dict[str, Any]) -> None:
        self.queues[name] = Queue(dict(attributes))

    def deleted(self, name: str) -> None:
        del self.queues[name]

    def put(self, name: str, messages: Iterable[tuple[str, int, bool]], unit: str) -> None:
        queue = self.queues[name]
        for body, priority, hard in messages:
            self._arrives(name, priority, unit)
            queue.messages[body] = Message(priority, hard, unit)
        self._do()

    def got(self, name: str, body: str, unit: str) -> None:
        queue = self.queues[name]
        if unit:
            message = queue.messages[body]
            message.by, message.gotten = unit, True
        else:
            del queue.messages[body]

    def took(self, name: str, seen: Told) -> None:
        """A monitor got a trigger message."""
        expected = self.queues[name].told.pop(0)
        assert seen == expected, f"{name} gave {seen}, and {expected} is due"

    def purged(self, name: str) -> None:
        queue = self.queues[name]
        queue.messages = {body: one for body, one in queue.messages.items() if one.by}

    def begun(self, client: str, unit: str) -> None:
        self.units[unit] = client, []

    def committed(self, unit: str) -> None:
        _, held = self.units.pop(unit)
        for queue in self.queues.values():
            for body in [body for body, one in queue.messages.items() if one.by == unit]:
                if queue.messages[body].gotten:
                    del queue.messages[body]
                else:
                    queue.messages[body].by = ""
        self._work.extend(("release", (one,)) for one in held)
        self._do()

    def backed_out(self, unit: str) -> None:
        self._back_out(unit)
        self._do()

    def opened(self, client: str, name: str) -> None:
        inputs = self.queues[name].inputs
        inputs.add(client)
        if len(inputs) == 1:
            self._work.append(("monitor", (name,)))
        self._do()

    def closed(self, client: str, name: str) -> None:
        self._close(client, name)
        self._do()

    def lost(self, client: str) -> None:
        """A connection is gone: its units first, then its handles."""
        for unit in [unit for unit, (whose, _) in self.units.items() if whose == client]:
            self._back_out(unit)
        for name in list(self.queues):
            self._close(client, name)
        self._do()

    def altered(self, name: str, attributes: dict[str, Any]) -> None:
        queue = self.queues[name]
        was = {key: queue[key] for key, value in attributes.items() if queue[key] != value}
        queue.attributes |= attributes
        self._work.append(("alter", (name, was)))
        self._do()

    def crashed(self, *, keeps_soft: bool) -> None:
        """The queue manager went, and is there again; nobody is connected.

        keeps_soft: its process lives on, and what is not persistent with it.
        """
        self.units.clear()
        for queue in self.queues.values():
            queue.inputs.clear()
            queue.last_ms = None
            queue.messages = {
                body: Message(one.priority, one.hard, "")
                for body, one in queue.messages.items()
                if (one.hard or keeps_soft) and (one.gotten or not one.by)
            }
            if not keeps_soft:
                queue.told.clear()

    def seen(self, name: str, told: list[Told]) -> None:
        """This is what is on an initiation queue, or on the dead-letter queue."""
        expected = self.queues[name].told
        assert told == expected, f"on {name} there is {told}, and should be {expected}"

    # -- what follows

    def _back_out(self, unit: str) -> None:
        _, held = self.units.pop(unit)
        for queue in self.queues.values():
            for body in [body for body, one in queue.messages.items() if one.by == unit]:
                if queue.messages[body].gotten:
                    queue.messages[body].by, queue.messages[body].gotten = "", False
                else:
                    del queue.messages[body]
        too = self.settings["every_triggers_on_backout"]
        self.met["trigger message taken back"] += sum(one.every and not too for one in held)
        self._work.extend(("release", (one,)) for one in held if not one.every)

    def _close(self, client: str, name: str) -> None:
        inputs = self.queues[name].inputs
        if client in inputs:
            inputs.remove(client)
            if not inputs:
                self._work.append(("close", (name,)))

    def _arrives(self, name: str, priority: int, unit: str = "") -> None:
        self._work.append(("arrival", (name, priority, self.queues[name].counted, unit)))

    def _do(self) -> None:
        """See to what was caused, and to what that causes, in this order."""
        while self._work:
            kind, facts = self._work.popleft()
            self.note(kind, *facts)
            getattr(self, f"_on_{kind}")(*facts)

    def _on_arrival(self, name: str, priority: int, before: int, unit: str) -> None:
        """Conditions 1, 2, 3 and 10."""
        queue = self.queues[name]
        depth, kind = queue["trigger_depth"], queue["trigger_type"]
        if priority < queue["trigger_msg_priority"]:
            return
        if kind == "FIRST":
            since = None if queue.last_ms is None else self.now_ms - queue.last_ms
            again = since is None or since >= self.settings["trigger_interval_ms"]
            way = "1" if not before else "10" if again else ""
        elif kind == "DEPTH":
            way = "1" if before == depth - 1 else "10" if before >= depth else ""
        else:
            way = "1"
        if way and self._is_free(queue) and self._is_ready(queue):
            self._make(name, way, unit)

    def _on_close(self, name: str) -> None:
        """Condition 11."""
        queue = self.queues[name]
        kind = queue["trigger_type"]
        if kind in ("FIRST", "DEPTH") and self._has_enough(queue) and self._is_ready(queue):
            self._make(name, "11", "")

    def _on_monitor(self, opened: str) -> None:
        """Condition 12d."""
        for name in self._that_name(opened):
            self._perhaps(name, "12d")

    def _on_alter(self, altered: str, was: dict[str, Any]) -> None:
        """Conditions 12a, b and c: each queue once, in the order of their names."""
        ways: dict[str, str] = {}
        kind = self.queues[altered]["trigger_type"]
        criteria = {"trigger_control", "trigger_type", "trigger_msg_priority"}
        if kind == "DEPTH":
            criteria |= {"trigger_depth"}
        if criteria & was.keys():
            ways[altered] = "12a"
        elif was.get("inhibit_get"):
            ways[altered] = "12c"
        for way, lifted in (("12b", "inhibit_put"), ("12c", "inhibit_get")):
            if was.get(lifted):
                for name in self._that_name(altered):
                    ways.setdefault(name, way)
        for name in sorted(ways):
            self._perhaps(name, ways[name])

    def _that_name(self, initiation: str) -> list[str]:
        return sorted(
            name for name, one in self.queues.items() if one["initiation_queue"] == initiation
        )

    def _perhaps(self, name: str, way: str) -> None:
        queue = self.queues[name]
        if self._has_enough(queue) and self._is_free(queue) and self._is_ready(queue):
            self._make(name, way, "")

    def _has_enough(self, queue: Queue) -> bool:
        least = queue["trigger_depth"] if queue["trigger_type"] == "DEPTH" else 1
        return bool(queue.counted >= least)

    def _is_free(self, queue: Queue) -> bool:
        """Condition 4."""
        return queue["trigger_type"] == "EVERY" or not queue.inputs

    def _is_ready(self, queue: Queue) -> bool:
        """Conditions 5 to 9."""
        if queue["process"]:
            starts = queue["process"] in self.processes
        else:
            starts = queue["usage"] == "XMITQ"
        initiation = self.queues.get(queue["initiation_queue"])
        return bool(
            starts
            and initiation is not None
            and not initiation["inhibit_get"]
            and not initiation["inhibit_put"]
            and initiation["usage"] == "NORMAL"
            and initiation.inputs
            and queue["trigger_control"]
            and queue["trigger_type"] != "NONE"
        )

    def _make(self, name: str, way: str, unit: str) -> None:
        queue = self.queues[name]
        self.met[f"trigger by {way}"] += 1
        queue.last_ms = self.now_ms
        to = queue["initiation_queue"]
        priority = self.queues[to]["def_priority"]
        message = Told(name, queue["trigger_data"], queue["process"], priority)
        every = queue["trigger_type"] == "EVERY" and not self.settings["every_triggers_on_backout"]
        held = Held(to, message, every)
        if queue["trigger_type"] == "DEPTH" and self.settings["depth_trigger_disables"]:
            queue.attributes["trigger_control"] = False
        if unit:
            self.units[unit][1].append(held)
        else:
            self._work.append(("release", (held,)))

    def _on_release(self, held: Held) -> None:
        """Put it, or on the dead-letter queue, or let it be lost."""
        name = held.message.queue
        if name in self.queues:
            self.queues[name].last_ms = self.now_ms
        reason = self._obstacle(held.to)
        if not reason:
            self._store(held.to, held.message)
            return
        dead = self.settings["dead_letter_queue"]
        if dead == name or self._obstacle(dead):
            self.met["trigger message lost"] += 1
            return
        self.met["trigger message is a dead letter"] += 1
        if self.queues[dead]["trigger_control"]:
            self._arrives(dead, held.message.priority)
        self._store(dead, held.message._replace(reason=reason, to=held.to))

    def _obstacle(self, name: str) -> int:
        queue = self.queues.get(name)
        if queue is None:
            return MISSING
        if queue["inhibit_put"]:
            return INHIBITED
        depth = len(queue.told) + sum(not one.gotten for one in queue.messages.values())
        return FULL if depth >= queue["max_depth"] else 0

    def _store(self, name: str, message: Told) -> None:
        told = self.queues[name].told
        behind = [at for at, one in enumerate(told) if one.priority < message.priority]
        told.insert(behind[0] if behind else len(told), message)
