"""Publishers and subscribers, drawn at random, for the auditor of publications to judge.

All is durable at once here. The queue manager crashes, with and without a snapshot, or its owner
takes over again.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

from adapter.core import commands as c
from adapter.core.model.manager import Limits
from adapter.core.model.message import Delivered, Message
from adapter.core.model.topics import BASE_TOPIC, RETAINED_QUEUE
from adapter.core.reasons import Reason
from adapter.core.results import Done, Messages, PutDone, Refused, Result, Subscribed
from tests.simulation.programs import ident_of
from tests.simulation.publish_auditor import Kept, PublishAuditor, Subscription
from tests.support.by_hand import ByHand
from tests.support.core import Client, Core

TOPICS = ("a", "a/b", "a/c", "a/b/c", "b/b")
PATTERNS = ("#", "a/#", "a/+", "+/b", "a/b", "#/c", "b/+", "a/#/c", "#/b/#")
PROVIDED = ("Q1", "Q2")
CLIENTS = ("ada", "bob")
OBSERVER = "eve"
PUBLISHERS = {topic: number for number, topic in enumerate(TOPICS, 1)}
"""Handles of topics; those of subscriptions come behind them."""
UNITS_MAX = 2
LOOK_EVERY = 6
ROOT = {
    "def_priority": 0,
    "def_persistence": "YES",
    "publish": "ENABLED",
    "subscribe": "ENABLED",
    "durable": "YES",
}


class PublishWork:
    """One run; a seed says everything that happens."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        limits = Limits(window_messages=self.rng.choice([1, 3, 1_000]))
        self.core = ByHand() if seed % 2 == 0 else Core(limits)
        self.auditor = PublishAuditor()
        self.people: dict[str, Client] = {}
        self.units: dict[str, tuple[str, bytes]] = {}
        self.handles: dict[str, int] = {}
        """By subscription that somebody has open."""
        self._numbers = itertools.count(100)
        self._connect(*CLIENTS, OBSERVER)
        for name in PROVIDED:
            self.people["ada"].define(name)
            self.auditor.queues[name] = []
        self.people["ada"].define(RETAINED_QUEUE, msg_delivery_sequence="FIFO")
        self.people["ada"].do(c.DefineObject("topic", BASE_TOPIC, ROOT))
        self.operations: dict[Callable[[], None], float] = {
            self.publish: 40,
            self.subscribe: 14,
            self.resume: 5,
            self.ask: 3,
            self.close: 8,
            self.take: 20,
            self.clear: 1,
            self.begin: 6,
            self.end: 7,
            self.lose: 1.5,
            self.crash: 1.5,
        }

    def run(self, operations: int) -> None:
        """Do so many operations; look at what is there now and then."""
        verbs = list(self.operations)
        weights = list(itertools.accumulate(self.operations.values()))
        for count in range(operations):
            self.rng.choices(verbs, cum_weights=weights)[0]()
            if count % LOOK_EVERY == 0:
                self.look()
        self.look()

    def look(self) -> None:
        """Show the auditor what is on all queues, and how much is retained."""
        eve = self.people[OBSERVER]
        found: dict[str, list[str]] = {}
        for name in [name for name in self.core.qm.queues if name != RETAINED_QUEUE]:
            eve.do(c.Open(1, name, c.BROWSE))
            found[name] = []
            while messages := _messages(eve.do(c.Browse(1, limit=1_000))):
                found[name] += map(told, messages)
            eve.do(c.Close(1))
        self.auditor.seen(found, self.core.qm.queues[RETAINED_QUEUE].available_count)

    # -- connections and units

    def _connect(self, *names: str) -> None:
        for name in names:
            self.people[name] = client = self.core.connect()
            client.open_session(self.core.new_session_id())
            for topic, number in PUBLISHERS.items():
                client.do(c.OpenTopic(number + 1, topic))

    def lose(self) -> None:
        person = self.rng.choice(CLIENTS)
        self.people[person].lose()
        self.units = {unit: one for unit, one in self.units.items() if one[0] != person}
        self.auditor.lost(person)
        self._forget_closed()
        self._connect(person)

    def crash(self) -> None:
        """Crash, after a snapshot or without one, or let the owner take over from itself."""
        core, keeps_soft = self.core, False
        if not isinstance(core, ByHand):
            self.rng.choice([core.crash, core.crash_with_snapshot])()
        elif self.rng.random() < 0.5:
            keeps_soft = True
            core.answers.clear()
            core.take_over(core.qm)
        else:
            core.crash()
        self.auditor.crashed(keeps_soft=keeps_soft)
        self.units.clear()
        self._forget_closed()
        self._connect(*CLIENTS, OBSERVER)
        self.look()

    def _forget_closed(self) -> None:
        known = self.auditor.subscriptions
        opened = {name for name, one in known.items() if one.client}
        self.handles = {name: at for name, at in self.handles.items() if name in opened}

    def begin(self) -> None:
        person = self.rng.choice(CLIENTS)
        if sum(whose == person for whose, _ in self.units.values()) < UNITS_MAX:
            unit = f"u{next(self._numbers)}"
            self.units[unit] = person, self.people[person].begin()
            self.auditor.begun(person, unit)

    def end(self) -> None:
        if not self.units:
            return
        unit = self.rng.choice(list(self.units))
        person, ident = self.units.pop(unit)
        if self.rng.random() < 0.7:
            self.people[person].do(c.Commit(ident))
            self.auditor.committed(unit)
        else:
            self.people[person].do(c.Backout(ident))
            self.auditor.backed_out(unit)

    # -- publications

    def publish(self) -> None:
        rng = self.rng
        person, topic = rng.choice(CLIENTS), rng.choice(TOPICS)
        mine = [unit for unit, (whose, _) in self.units.items() if whose == person]
        unit = rng.choice([*mine, ""])
        ident = self.units[unit][1] if unit else b""
        one = Kept(f"m{next(self._numbers)}", rng.choice([0, 0, 5]), rng.random() < 0.6)
        message = Message(
            one.name.encode(),
            message_id=ident_of(one.name),
            priority=one.priority,
            persistence=int(one.hard),
        )
        retain = rng.random() < 0.4
        options = c.WARN_NO_SUBSCRIBERS | c.RETAIN * retain
        put = c.Put(PUBLISHERS[topic] + 1, [message], ident, options)
        answer = self.people[person].do(put)
        assert isinstance(answer, PutDone), answer
        count = self.auditor.published(topic, one, unit, retain=retain)
        assert (answer.warning == Reason.NO_SUBSCRIBERS) == (not count), (answer, count)

    def clear(self) -> None:
        pattern = self.rng.choice(PATTERNS)
        answer = self.people["ada"].do(c.ClearRetained(pattern))
        assert answer == Done(self.auditor.cleared(pattern)), (pattern, answer)

    def take(self) -> None:
        """Get what is first on a queue."""
        queue = self.rng.choice(list(self.auditor.queues))
        eve = self.people[OBSERVER]
        eve.do(c.Open(1, queue, c.INPUT))
        got = [told(one) for one in _messages(eve.do(c.Get(1)))]
        eve.do(c.Close(1))
        assert got or not self.auditor.queues[queue], f"{queue} gave nothing"
        for name in got:
            self.auditor.took(queue, name)

    # -- subscriptions

    def subscribe(self) -> None:
        rng = self.rng
        person, pattern = rng.choice(CLIENTS), rng.choice(PATTERNS)
        if len(self.auditor.subscriptions) > 7:
            return
        name = f"s{next(self._numbers)}"
        durable, managed = rng.random() < 0.4, rng.random() < 0.5
        new_only = rng.random() < 0.3
        options = c.CREATE | c.DURABLE * durable | c.MANAGED * managed | c.NEW_ONLY * new_only
        destination = "" if managed else rng.choice(PROVIDED)
        number = next(self._numbers)
        answer = self.people[person].do(
            c.Subscribe(number, pattern, name=name, options=options, destination=destination)
        )
        assert isinstance(answer, Subscribed), answer
        made = Subscription(pattern, answer.queue, person, durable=durable, managed=managed)
        count = self.auditor.subscribed(name, made, retained=not new_only)
        assert answer.retained == count, f"{answer.retained} were given, due is {count}"
        self.handles[name] = number

    def resume(self) -> None:
        """Go on with a durable subscription; with one that somebody has open, it is refused."""
        names = [name for name, one in self.auditor.subscriptions.items() if one.durable]
        if not names:
            return
        person, name = self.rng.choice(CLIENTS), self.rng.choice(names)
        number = next(self._numbers)
        answer = self.people[person].do(c.Subscribe(number, name=name, options=c.RESUME))
        if self.auditor.subscriptions[name].client:
            assert isinstance(answer, Refused), answer
            return
        assert isinstance(answer, Subscribed), answer
        self.auditor.resumed(name, person)
        self.handles[name] = number

    def ask(self) -> None:
        """Ask for what is retained, again."""
        if not self.handles:
            return
        name = self.rng.choice(list(self.handles))
        client = self.people[self.auditor.subscriptions[name].client]
        answer = client.do(c.SubscriptionRequest(self.handles[name]))
        count = self.auditor.asked(name)
        given = answer.count if isinstance(answer, Done) else 0
        assert given == count, f"{answer}, due is {count}"

    def close(self) -> None:
        if not self.handles:
            return
        name = self.rng.choice(list(self.handles))
        remove = self.rng.random() < 0.4
        client = self.people[self.auditor.subscriptions[name].client]
        answer = client.do(c.CloseSubscription(self.handles.pop(name), remove))
        assert isinstance(answer, Done), answer
        self.auditor.closed(name, remove=remove)


def _messages(result: Result) -> list[Delivered]:
    assert isinstance(result, Messages), result
    return result.messages


def told(one: Delivered) -> str:
    """Say in the auditor's words what a copy is."""
    properties = one.message.properties or {}
    name = one.message.message_id.rstrip(b".").decode()
    assert one.message.body.decode() == name, one
    again = " retained" if properties.get("MQIsRetained") else ""
    return f"{name} {properties['MQTopicString']}{again}"
