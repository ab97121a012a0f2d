"""A feed is read by readers that are deposed and live on, while its topic, its queue and its
definition change, and the queue manager is killed; judged by feeds_model.py.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule
from msgspec import Struct

from adapter.core import inputs
from adapter.core.attributes.feed import FEED
from adapter.core.contract import commands as c
from adapter.core.contract.feeds import NOT_A_MESSAGE, FedBatch, FedMessage, FeedStart
from adapter.core.contract.message import MessageData
from adapter.core.model.feeds import FeedState
from tests.simulation.feeds_model import DEAD, FeedsModel
from tests.simulation.judged_machine import JudgedMachine
from tests.support.core import Client, client_on
from tests.support.hard_state import check_snapshots

PARTITIONS = 3
PARTITION = st.integers(0, PARTITIONS - 1)
KIND = st.sampled_from(("", "", "", DEAD, "gap"))
SIZE = st.integers(1, 4)
SELDOM = st.sampled_from((False, False, True))


class Reader(Struct):
    """What reads for a version of the feed: a topic, from these offsets on."""

    version: int
    topic: str
    next: dict[int, int]


class FeedsMachine(JudgedMachine):
    """One queue manager, one feed, its topic, and all that ever read for it."""

    events = (
        "batch given again",
        "batch of a deposed reader",
        "batch that does not follow",
        "crash",
        "dead letter",
        "feed altered",
        "offset without a record",
        "partition set back",
        "queue full",
        "queue inhibited",
        "restart from a snapshot",
        "topic made again",
    )
    model: FeedsModel

    def __init__(self) -> None:
        super().__init__()
        self.model = FeedsModel()
        self.core = client_on().core
        self.topics = 1
        self.topic = "t1"
        self.given: list[FedBatch] = []
        self.began: dict[tuple[str, int], int] = {}
        """From where the stretches are read that are not over."""

    @initialize(depth=st.sampled_from((3, 1_000)))
    def define(self, depth: int) -> None:
        client = self.core.connect()
        for name in ("QUEUE", "DEAD"):
            client.define(name, msg_delivery_sequence="FIFO")
        client.do(c.AlterQueue("QUEUE", {"max_depth": depth}))
        client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
        client.do(c.DefineObject(FEED, "F", {"topic": "others", "queue": "QUEUE"}))
        self._begin()

    @property
    def state(self) -> FeedState:
        return self.core.qm.feeds.by_name["F"]

    def _client(self) -> Client:
        client = self.core.connect()
        client.open_session(self.core.new_session_id())
        return client

    def _begin(self) -> None:
        """Begin to read what the ledger says, as a new reader does; at offset 0 if it says nothing.

        A topic that was made again is not read until that was said.
        """
        if self.state.topic_id in ("", self.topic):
            offsets = dict.fromkeys(range(PARTITIONS), 0)
            start = FeedStart("F", self.state.version, self.topic, offsets)
            self.core.take(self.core.give(inputs.FeedBegins(start)))
            for partition in range(PARTITIONS):
                self.began.setdefault((self.topic, partition), self.state.offsets[partition])
        self.reader = Reader(self.state.version, self.state.topic_id, dict(self.state.offsets))

    @rule(partition=PARTITION, kinds=st.lists(KIND, min_size=1, max_size=6), size=SIZE)
    def append(self, partition: int, kinds: list[str], size: int) -> None:
        """Append records, and read some."""
        self.meet("offset without a record", when="gap" in kinds)
        for kind in kinds:
            self.model.append(self.topic, partition, None if kind == "gap" else kind)
        self.read(partition, size)

    @rule(partition=PARTITION, size=SIZE, back=st.integers(0, 2))
    def read(self, partition: int, size: int, back: int = 0) -> None:
        """Read some records, and give them. back: how many of them were read before."""
        reader = self.reader
        start = max(0, reader.next.get(partition, 0) - back)
        at = reader.topic, partition
        until = min(start + size, self.model.ends.get(at, 0))
        if until <= start:
            return
        values = self.model.records.get(at, {})
        messages = [
            FedMessage(
                MessageData(body=values[offset].encode(), persistence=1),
                offset,
                NOT_A_MESSAGE if values[offset].startswith(DEAD) else 0,
            )
            for offset in range(start, until)
            if offset in values
        ]
        self.meet("dead letter", when=any(one.code for one in messages))
        batch = FedBatch("F", reader.version, reader.topic, partition, start, until, messages)
        reader.next[partition] = max(until, reader.next[partition])
        self.given.append(batch)
        self._give(batch)

    def _give(self, batch: FedBatch) -> None:
        self.core.take(self.core.give(inputs.Fed(batch)))
        why = self.state.blocked.get(batch.partition, "")
        self.meet("queue full", when=why.endswith("is full"))
        self.meet("queue inhibited", when=why.endswith("for puts"))

    @precondition(lambda self: self.given)
    @rule(back=st.integers(1, 12))
    def give_again(self, back: int) -> None:
        """Give what some reader has read before, perhaps one that was deposed."""
        batch = self.given[-min(back, len(self.given))]
        position = self.state.offsets.get(batch.partition, 0)
        self.meet("batch of a deposed reader", when=batch.version != self.state.version)
        self.meet("batch given again", when=batch.next <= position)
        self.meet("batch that does not follow", when=batch.start > position)
        self._give(batch)

    @rule(seldom=SELDOM, snapshot=SELDOM)
    def crash(self, seldom: bool, snapshot: bool) -> None:
        """Go on with what the ledger says."""
        if not seldom:
            return
        check_snapshots(self.core.qm, self.core.replayed())
        if snapshot:
            self.core.crash_with_snapshot()
        else:
            self.core.crash()
        self.meet("restart from a snapshot" if snapshot else "crash")
        self._begin()

    @rule()
    def get(self) -> None:
        """Let programs get a message, and a dead letter."""
        client = self._client()
        client.open("QUEUE", c.INPUT)
        client.open("DEAD", c.INPUT, handle=2)
        self.model.got += client.get()
        for one in client.take(handle=2):
            self.model.dead.append(one.message.body[172:].decode())

    @rule(inhibit=SELDOM)
    def alter_queue(self, inhibit: bool) -> None:
        self._client().do(c.AlterQueue("QUEUE", {"inhibit_put": inhibit}))

    @rule(seldom=SELDOM)
    def alter_feed(self, seldom: bool) -> None:
        """Alter the feed: its reader is deposed, and another one begins."""
        if not seldom:
            return
        self._client().do(c.AlterObject(FEED, "F", {"headers": "NONE"}))
        self.meet("feed altered")
        self._begin()

    @rule(partition=PARTITION, back=st.integers(0, 5))
    def seek(self, partition: int, back: int) -> None:
        """Set a partition back."""
        topic = self.state.topic_id
        position = self.state.offsets[partition]
        to = max(0, position - back)
        self._client().do(c.SeekFeed("F", f"{partition}:{to}"))
        self._end_stretch(topic, partition, position)
        self.began[topic, partition] = to
        self.meet("partition set back", when=to < position)
        self._begin()

    def _end_stretch(self, topic: str, partition: int, position: int) -> None:
        self.model.read(topic, partition, self.began.pop((topic, partition)), position)

    @rule(seldom=SELDOM)
    def make_again(self, seldom: bool) -> None:
        """Delete the topic and make it again; then an operator says that it is to be read."""
        if not seldom:
            return
        topic, positions = self.state.topic_id, dict(self.state.offsets)
        self.topics += 1
        self.topic = f"t{self.topics}"
        for partition, position in positions.items():
            self._end_stretch(topic, partition, position)
        self._client().do(c.SeekFeed("F", "EARLIEST"))
        self.meet("topic made again")
        self._begin()

    def teardown(self) -> None:
        """Read all that is left, get it, and judge."""
        client = self._client()
        client.do(c.AlterQueue("QUEUE", {"inhibit_put": False, "max_depth": 1_000}))
        self._begin()
        for partition in range(PARTITIONS):
            while self.state.offsets[partition] < self.model.ends.get((self.topic, partition), 0):
                before = self.state.offsets[partition]
                self.read(partition, 5)
                assert self.state.offsets[partition] > before, "it does not go on"
            self._end_stretch(self.topic, partition, self.state.offsets[partition])
        depth = self.core.queue("QUEUE").depth + self.core.queue("DEAD").depth
        for _ in range(depth):
            self.get()
        self.model.check()
