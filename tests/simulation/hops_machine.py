"""Queue managers in a ring: each feeds its queue from the topic that the one before exports to, so
that every record comes round, until it has gone through too many exports. Judged by hops_model.py.

Feeds read, and exporters write, by the product's own code; meanwhile queue managers are killed.
"""

from __future__ import annotations

import logging
from unittest.mock import patch

from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule
from msgspec import Struct

from adapter.core import inputs
from adapter.core.attributes.export import EXPORT, ExportAttributes
from adapter.core.attributes.feed import FEED, FeedAttributes
from adapter.core.contract import commands as c
from adapter.core.contract.feeds import FedBatch, FeedStart
from adapter.core.model.feeds import FeedState
from adapter.runtime.exports import exporter
from adapter.runtime.exports.exporter import Counts, Export, ExportSession, RefusedMessages
from adapter.runtime.exports.memory import MemoryExports
from adapter.storage.format.feeds import TopicRecord, message_of
from adapter.storage.topics.memory import MemoryRecord, MemoryTopics, UnwrittenRecord
from tests.simulation.hops_model import HopsModel
from tests.simulation.judged_machine import JudgedMachine
from tests.support.core import Core
from tests.support.core_link import channel_on

RING = 2
AT = st.integers(0, RING - 1)
ALLOWED = st.integers(1, 3)
HEADERS = st.sampled_from(("ALL", "NONE"))
SELDOM = st.sampled_from((False, False, True))


class RingMember(Struct):
    """A queue manager of the ring. reads, writes: topics. feed, export: what it is defined with."""

    core: Core
    reads: str
    writes: str
    feed: FeedAttributes
    export: ExportAttributes

    @property
    def state(self) -> FeedState:
        return self.core.qm.feeds.by_name["F"]

    def depth(self, queue: str) -> int:
        return self.core.queue(queue).depth


class HopsMachine(JudgedMachine):
    """A ring of queue managers, and topics between them."""

    events = (
        *("crash", "restart from a snapshot", "dead letter", "a record of another program"),
        *(f"gone through {hops}" for hops in range(1, 4)),
    )
    model: HopsModel

    def __init__(self) -> None:
        super().__init__()
        logging.getLogger("adapter.client").setLevel(logging.ERROR)
        self.model = HopsModel()
        self.topics = MemoryTopics()
        self.exports = MemoryExports(self.topics)
        self.ring: list[RingMember] = []
        self.values = 0

    @initialize(
        allowed=st.tuples(ALLOWED, ALLOWED),
        read=st.tuples(HEADERS, HEADERS),
        written=st.tuples(HEADERS, HEADERS),
        origin=st.booleans(),
    )
    def define(
        self,
        allowed: tuple[int, ...],
        read: tuple[str, ...],
        written: tuple[str, ...],
        origin: bool,
    ) -> None:
        for at in range(RING):
            self.topics.create(f"T{at}")
            feed = FeedAttributes(
                topic=f"T{at}", queue="QUEUE", hops=allowed[at], headers=read[at], origin=origin
            )
            after = f"T{(at + 1) % RING}"
            export = ExportAttributes(queue="QUEUE", topic=after, headers=written[at])
            self._join(RingMember(Core(name=f"QM{at}"), feed.topic, export.topic, feed, export))

    def _join(self, one: RingMember) -> None:
        client = one.core.connect()
        for name in ("QUEUE", "DEAD"):
            client.define(name, msg_delivery_sequence="FIFO")
        manager = one.core.qm.name
        client.do(c.AlterObject("queue_manager", manager, {"dead_letter_queue": "DEAD"}))
        feed = {name: getattr(one.feed, name) for name in ("topic", "queue", "hops", "headers")}
        client.do(c.DefineObject(FEED, "F", {**feed, "origin": one.feed.origin}))
        told = {name: getattr(one.export, name) for name in ("topic", "queue", "headers")}
        client.do(c.DefineObject(EXPORT, "E", told))
        client.lose()
        self.ring.append(one)
        self._begin(one)

    def _begin(self, one: RingMember) -> None:
        """Let a reader of the feed begin."""
        start = FeedStart("F", one.state.version, one.reads, {0: 0})
        one.core.take(one.core.give(inputs.FeedBegins(start)))

    @rule(at=AT, count=st.integers(1, 3))
    def append(self, at: int, count: int) -> None:
        """Let another program write records."""
        for _ in range(count):
            self.values += 1
            self.topics.append(
                f"T{at}", UnwrittenRecord(b"%d" % self.values, headers=[("x", b"1")])
            )
        self.meet("a record of another program")

    @rule(at=AT)
    def read(self, at: int) -> None:
        """Let a feed read all that its topic has; each record as a batch of its own."""
        one = self.ring[at]
        offset = one.state.offsets[0]
        for record in self.topics.next_records(one.reads, {0: offset}, 1_000, 0.0):
            self._feed(one, record)

    def _feed(self, one: RingMember, record: MemoryRecord) -> None:
        value = record.value or b""
        found = message_of(
            TopicRecord(0, record.offset, record.key, value, record.headers, record.time_ms),
            one.feed,
        )
        assert found is not None, "it is left out"
        batch = FedBatch(
            *("F", one.state.version, one.reads, 0, record.offset, record.offset + 1, [found])
        )
        before = one.depth("DEAD"), one.depth("QUEUE")
        one.core.take(one.core.give(inputs.Fed(batch)))
        dead, queued = one.depth("DEAD") - before[0], one.depth("QUEUE") - before[1]
        assert dead + queued == 1, f"{value!r} is {dead} dead letters, and {queued} messages"
        self.meet("dead letter", when=dead)
        self.model.read(value.decode(), one.feed.hops, is_dead=bool(dead))

    @rule(at=AT)
    def write(self, at: int) -> None:
        """Let an exporter write all that is on its queue."""
        one = self.ring[at]
        written = len(self.topics.records(one.writes))
        export = Export("E", one.export)
        with patch.multiple(exporter, WAITS=1):
            channel = channel_on(one.core)
            try:
                ExportSession(export, channel, self.exports, Counts(), RefusedMessages()).run()
            finally:
                channel.close()
        assert not one.depth("QUEUE"), "it does not go on"
        for record in self.topics.records(one.writes)[written:]:
            value = (record.value or b"").decode()
            self.model.write(value)
            self.meet(f"gone through {self.model.exports[value]}")

    @rule(at=AT, seldom=SELDOM, snapshot=SELDOM)
    def crash(self, at: int, seldom: bool, snapshot: bool) -> None:
        """Let a queue manager go on with what its ledger says."""
        if not seldom:
            return
        one = self.ring[at]
        if snapshot:
            one.core.crash_with_snapshot()
        else:
            one.core.crash()
        self.meet("restart from a snapshot" if snapshot else "crash")
        self._begin(one)

    def teardown(self) -> None:
        """Let all come round until each record is a dead letter."""
        most = sum(one.feed.hops for one in self.ring)
        for at in range(2 * most + 2 * RING):
            if self.ring:
                self.read(at % RING)
                self.write(at % RING)
        assert len(self.model.dead) == self.values, "a record goes round for ever"
