"""A topic as a table follows it: from its first record on, committed records only, in a thread.

It reports up to where each partition was read: records that are not shown count, so that the ends
of transactions, and what was aborted, keep no one waiting. This module does not know what becomes
of a record.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, IsolationLevel
from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]  # not in its __all__

from adapter.connection.channel.forking import disown_in_child
from adapter.errors import TableBehind, TableError
from adapter.host import watched
from adapter.runtime.feeds.kafka import ANSWER_S, KafkaFeedConsumer
from adapter.runtime.feeds.port import (
    FeedError,
    MissingTopicError,
    PartitionEnd,
    PartitionLost,
    Read,
    UnreadableTopicError,
)
from adapter.storage.format.feeds import TopicRecord

GROUP = "mqk-table"
"""Asked for by the client, never used."""
READ_S, BEGIN_S = 0.2, 0.01
"""How long to wait for records; and for the partitions to be known."""
END_MS = 20
"""After so long Kafka answers that there is nothing more: so soon the end of a partition is seen
behind the end of a transaction, which sync() waits for."""
JOIN_S = 10.0
LEAST_S = 0.1
"""A question that is sent nevertheless has so much time."""
AGAIN_S = 0.5
"""Between two attempts to reach a Kafka that does not answer."""

MISSING_S, MISSING_AGAIN_S = 2.0, 0.05
"""A topic, or a partition, that was made just now is not known to every broker: it is asked for
again, so often and for so long."""

Take = Callable[[list[TopicRecord]], None]


class TableConsumer(KafkaFeedConsumer):
    """Reads one topic for a program."""

    _reader = "this program"
    _remedy = "create it first"
    _record_remedy = "delete what the topic has up to there, and make another table"

    def answer_by(self, until_s: float) -> None:
        """Let Kafka answer by then."""
        self._answer_s = min(max(until_s - time.monotonic(), LEAST_S), ANSWER_S)

    def all_ends(self, partitions: tuple[int, ...]) -> dict[int, int]:
        """Ask for the offset behind the last record, committed or not."""
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        return self._offsets(partitions, latest, IsolationLevel.READ_UNCOMMITTED)


class TableFollower:
    """Follows one topic. Its methods may be called from any thread."""

    def __init__(
        self, topic: str, bootstrap_servers: str, options: Mapping[str, Any], take: Take
    ) -> None:
        """take: called in the thread of the follower. Raises TableError."""
        self._topic = topic
        self._take = take
        self._positions: dict[int, int] = {}
        self._topic_id = ""
        self._partitions: tuple[int, ...] = ()
        self._changed = threading.Condition()
        self._asking = threading.Lock()
        self._problem = ""
        self._stopping = threading.Event()
        waits = {"fetch.wait.max.ms": END_MS, **options}
        try:
            self._consumer = TableConsumer(bootstrap_servers, waits, GROUP, topic)
        except FeedError as error:
            raise TableError(str(error), topic) from error
        disown_in_child(self)
        self._thread = watched.thread(f"table-{topic}", self._run, self._fail)

    def ends(self, until_s: float) -> dict[int, int]:
        """Ask for the ends of all partitions; new partitions are read from now on.

        Raises TableError; TableBehind if Kafka does not answer in time.
        """
        missing_until_s = until_s
        while True:
            self.check()
            try:
                with self._asking:
                    self._consumer.answer_by(until_s)
                    found = self._consumer.describe()
                    self._accept(found.topic_id, found.partitions)
                    return self._consumer.all_ends(found.partitions)
            except UnreadableTopicError as error:
                now_s = time.monotonic()
                if not isinstance(error, MissingTopicError) or now_s > missing_until_s:
                    raise TableError(str(error), self._topic) from error
                # From the first such answer on, which may itself have come late.
                missing_until_s = min(missing_until_s, now_s + MISSING_S)
                self._stopping.wait(MISSING_AGAIN_S)
                continue
            except FeedError as error:
                if time.monotonic() + AGAIN_S > until_s:
                    raise TableBehind(str(error), self._topic) from error
            self._stopping.wait(AGAIN_S)

    def _accept(self, topic_id: str, partitions: tuple[int, ...]) -> None:
        if self._topic_id and topic_id != self._topic_id:
            self._problem = f"topic {self._topic} was deleted and made again: make another table"
            self.check()
        self._topic_id = topic_id
        self._partitions = partitions

    def reach(self, ends: Mapping[int, int], until_s: float) -> None:
        """Wait until everything before these offsets was read. Raises TableError, TableBehind."""
        with self._changed:
            while self._behind(ends) and not self._problem:
                left_s = min(until_s - time.monotonic(), threading.TIMEOUT_MAX)
                if left_s <= 0:
                    n = self._behind(ends)[0]
                    raise TableBehind(
                        f"the table of topic {self._topic} has read partition {n} up to "
                        f"{self._positions.get(n, 0)}, and not to its end {ends[n]}: Kafka is "
                        "slow, or a transaction that is open hides what comes behind it",
                        self._topic,
                    )
                self._changed.wait(left_s)
        self.check()

    def await_records(self, seconds: float) -> None:
        """Wait until something is read, but no longer than this. Raises TableError."""
        self.check()
        with self._changed:
            self._changed.wait(seconds)

    def _behind(self, ends: Mapping[int, int]) -> list[int]:
        return [n for n, end in ends.items() if self._positions.get(n, -1) < end]

    def check(self) -> None:
        """Raise TableError if nothing is read any more."""
        if self._problem:
            raise TableError(self._problem, self._topic)

    def _run(self) -> None:
        assigned: set[int] = set()
        try:
            while not self._stopping.is_set():
                new = set(self._partitions) - assigned
                if new:  # only here: the client assigns nothing while another thread reads
                    self._consumer.assign(dict.fromkeys(new, OFFSET_BEGINNING))
                    assigned |= new
                found = self._consumer.read(READ_S if assigned else BEGIN_S)
                if found:
                    self._note(found)
        except FeedError as error:
            self._fail(str(error))
        finally:
            self._consumer.close()

    def _note(self, found: list[Read]) -> None:
        self._take([one for one in found if isinstance(one, TopicRecord)])
        with self._changed:
            for one in found:
                if isinstance(one, TopicRecord):
                    self._positions[one.partition] = one.offset + 1
                elif isinstance(one, PartitionEnd):
                    self._positions[one.partition] = one.offset
                elif isinstance(one, PartitionLost):
                    self._problem = (
                        f"records of topic {self._topic}, partition {one.partition}, were deleted "
                        "before they were read: make another table"
                    )
                    self._stopping.set()
            self._changed.notify_all()

    def _fail(self, why: str) -> None:
        self._problem = why
        with self._changed:
            self._changed.notify_all()

    def close(self, why: str) -> None:
        """End it; bounded. why: nothing is read any more."""
        self._problem = self._problem or why
        self._stopping.set()
        with self._changed:
            self._changed.notify_all()
        self._thread.join(JOIN_S)

    @property
    def is_ended(self) -> bool:
        """Whether it reads no further."""
        return self._stopping.is_set()

    def let_go(self) -> None:
        """Let it end by itself; the garbage collector may call it, in any thread."""
        self._stopping.set()

    def disown(self) -> None:
        """Read nothing in a forked child: it has no thread for it. Takes no lock."""
        self._problem = (
            f"the table of topic {self._topic} was made in another process than {os.getpid()}: "
            "make it after the fork"
        )
        self._stopping = threading.Event()
        self._stopping.set()

    def statistics(self) -> dict[str, Any]:
        """Figures."""
        return {"positions": dict(self._positions), "partitions": len(self._partitions)}
