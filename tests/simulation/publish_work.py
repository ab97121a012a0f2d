"""Publishers and subscribers, drawn at random, for the auditor of publications to judge.

All is durable at once here. The queue manager crashes, with and without a snapshot, or its owner
takes over again.
"""

from __future__ import annotations

import itertools

from adapter.core.attributes.system import BASE_TOPIC, RETAINED_QUEUE
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, PutDone, Refused, Subscribed
from tests.simulation.programs import ident_of
from tests.simulation.publish_auditor import Kept, PublishAuditor, Subscription
from tests.simulation.work import CLIENTS, OBSERVER, Work, messages_of
from tests.support.by_hand import ByHand
from tests.support.core import Core

TOPICS = ("a", "a/b", "a/c", "a/b/c", "b/b")
PATTERNS = ("#", "a/#", "a/+", "+/b", "a/b", "#/c", "b/+", "a/#/c", "#/b/#")
PROVIDED = ("Q1", "Q2")
PUBLISHERS = {topic: number for number, topic in enumerate(TOPICS, 1)}
"""Handles of topics; those of subscriptions come behind them."""
ROOT = {
    "def_priority": 0,
    "def_persistence": "YES",
    "publish": "ENABLED",
    "subscribe": "ENABLED",
    "durable": "YES",
}


class PublishWork(Work[PublishAuditor]):
    """One run; a seed says everything that happens."""

    COMMITTED = 0.7
    LOOK_EVERY = 6

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        limits = Limits(window_messages=self.rng.choice([1, 3, 1_000]))
        self.core = ByHand() if seed % 2 == 0 else Core(limits)
        self.auditor = PublishAuditor()
        self.handles: dict[str, int] = {}
        """By subscription that somebody has open."""
        self._numbers = itertools.count(100)
        self._connect()
        for name in PROVIDED:
            self.people["ada"].define(name)
            self.auditor.queues[name] = []
        self.people["ada"].define(RETAINED_QUEUE, msg_delivery_sequence="FIFO")
        self._do("ada", c.DefineObject("topic", BASE_TOPIC, ROOT))
        self._open_all()
        self.operations = {
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

    def look(self) -> None:
        """Show the auditor what is on all queues, and how much is retained."""
        eve = self.people[OBSERVER]
        found: dict[str, list[str]] = {}
        for name in [name for name in self.core.qm.queues if name != RETAINED_QUEUE]:
            eve.do(c.Open(1, name, c.BROWSE))
            found[name] = []
            while messages := messages_of(eve.do(c.Browse(1, limit=1_000))):
                found[name] += map(told, messages)
            eve.do(c.Close(1))
        self.auditor.seen(found, self.core.qm.queues[RETAINED_QUEUE].available_count)

    # -- connections

    def _open_all(self, *people: str) -> None:
        self._forget_closed()
        for person in people or self.people:
            for topic, number in PUBLISHERS.items():
                self._do(person, c.OpenTopic(number + 1, topic))

    def _forget_closed(self) -> None:
        known = self.auditor.subscriptions
        opened = {name for name, one in known.items() if one.client}
        self.handles = {name: at for name, at in self.handles.items() if name in opened}

    # -- publications

    def publish(self) -> None:
        rng = self.rng
        person, topic = rng.choice(CLIENTS), rng.choice(TOPICS)
        unit = rng.choice([*self._mine(person), ""])
        one = Kept(f"m{next(self._numbers)}", rng.choice([0, 0, 5]), rng.random() < 0.6)
        message = MessageData(
            one.name.encode(),
            message_id=ident_of(one.name),
            priority=one.priority,
            persistence=int(one.hard),
        )
        retain = rng.random() < 0.4
        options = c.WARN_NO_SUBSCRIBERS | c.RETAIN * retain
        put = c.Put(PUBLISHERS[topic] + 1, [message], self._ident(unit), options)
        answer = self._do(person, put)
        assert isinstance(answer, PutDone), answer
        count = self.auditor.published(topic, one, unit, retain=retain)
        assert (answer.warning == Reason.NO_SUBSCRIBERS) == (not count), (answer, count)

    def clear(self) -> None:
        pattern = self.rng.choice(PATTERNS)
        answer = self._do("ada", c.ClearRetained(pattern))
        assert answer == Done(self.auditor.cleared(pattern)), (pattern, answer)

    def take(self) -> None:
        """Get what is first on a queue."""
        queue = self.rng.choice(list(self.auditor.queues))
        eve = self.people[OBSERVER]
        eve.do(c.Open(1, queue, c.INPUT))
        got = [told(one) for one in messages_of(eve.do(c.Get(1)))]
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
        answer = self._do(
            person,
            c.Subscribe(number, pattern, name=name, options=options, destination=destination),
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
        answer = self._do(person, c.Subscribe(number, name=name, options=c.RESUME))
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


def told(one: Delivered) -> str:
    """Say in the auditor's words what a copy is."""
    properties = one.message.properties or {}
    name = one.message.message_id.rstrip(b".").decode()
    assert one.message.body.decode() == name, one
    again = " retained" if properties.get("MQIsRetained") else ""
    return f"{name} {properties['MQTopicString']}{again}"
