"""How far a mover is behind, as its figures tell, on topics and a ledger in memory."""

import itertools
import os

import msgspec
import pytest

from adapter.core.contract import records as r
from adapter.core.contract.message import NO_ID, MessageData
from adapter.storage.format import entries
from adapter.storage.ledger.memory import MemoryLedger, MemoryLedgerReader, MemoryLog
from adapter.storage.ledger.port import Entry, LedgerReader, Position
from adapter.storage.movers.mover import Mover
from adapter.storage.movers.pace import BUSY_BYTES
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.movers.stream import Stream
from adapter.storage.topics.specs import TopicSettings
from tests.simulation import transactions as t

COUNT = 20
MESSAGE = MessageData(
    body=b"body",
    message_id=NO_ID,
    correlation_id=NO_ID,
    group_id=NO_ID,
    priority=0,
    persistence=1,
    put_time_ms=1,
)
SETTINGS = MoverSettings(
    queue_manager="QM1",
    source=KafkaCluster("nowhere:9"),
    destination=KafkaCluster("nowhere:9"),
    topics=TopicSettings.for_brokers(1),
    interval_ms=0,
)


class Calm:
    """Nothing goes wrong."""

    def at_step(self, step: str) -> None:
        """See transactions.Trouble."""

    def at_commit(self) -> str:
        """See transactions.Trouble."""
        return ""

    def arrives(self) -> bool:
        """See transactions.Trouble."""
        return True


class OneByOne:
    """A reader that gives one entry at a time, and keeps the figures as they are before each."""

    def __init__(self, log: MemoryLog, mover: Mover, position: Position | None) -> None:
        self._inner = MemoryLedgerReader(log, position)
        self._left: list[Entry] = []
        self._mover = mover
        self.figures: list[dict[str, int]] = []

    def read(self, _timeout_s: float) -> list[Entry]:
        """See LedgerReader."""
        self.figures.append(self._mover.statistics())
        self._left += self._inner.read(0.0)
        if not self._left:
            self._mover.stop()
        return [self._left.pop(0)] if self._left else []

    def offset_and_end(self) -> tuple[int, int]:
        """See LedgerReader."""
        offset, end = self._inner.offset_and_end()
        return (self._left[0].offset if self._left else offset), end

    def close(self) -> None:
        """See LedgerReader."""


def filled(body: bytes = b"body") -> tuple[MemoryLog, int]:
    """A ledger with a message in each of so many entries, and how long each entry is."""
    log = MemoryLog()
    message = msgspec.structs.replace(MESSAGE, body=body)
    ledger = MemoryLedger(log)
    ledger.take_over(b"o" * 16, "a test", lambda _entry: None)
    ledger.append(entries.encode([r.QueueDefined("Q", 0, {})]))
    size = 0
    for number in range(COUNT):
        unit = r.UnitCommitted(
            os.urandom(24), 1, [r.Placed("Q", 0, number + 1, 0, 0, 0, 1, message)], [], "put", None
        )
        payload = entries.encode([unit])
        size = len(payload)
        ledger.append(payload)
    return log, size


def test_the_lag_is_what_lies_behind_the_position() -> None:
    log, size = filled()
    kafka = t.Kafka(Calm())
    readers: list[OneByOne] = []

    def reader(position: Position | None) -> LedgerReader:
        readers.append(OneByOne(log, mover, position))
        return readers[-1]

    with kafka.installed(t.Life):
        mover = Mover(SETTINGS, Stream(SETTINGS), reader)
        mover.run()
    (one,) = readers
    # Before the second read, the entry that defines the queue is copied; then one after another.
    lags = [figures["lag_records"] for figures in one.figures[2 : COUNT + 2]]
    assert lags == list(range(COUNT - 1, -1, -1))
    for figures in one.figures[2:]:
        assert figures["lag_records"] == log.end - 1 - figures["position"]
        assert figures["pinned_records"] == figures["lag_records"]
        estimate = figures["lag_records"] * size
        # From those read so far, of which the first was a short one.
        assert 0.4 * estimate <= figures["lag_bytes"] <= estimate
    last = mover.statistics()
    assert (last["lag_records"], last["lag_bytes"], last["copied"]) == (0, 0, COUNT)
    assert last["written"] == last["position"] == log.end - 1


@pytest.mark.parametrize(
    ("body", "interval_ms", "transactions"),
    [
        (bytes(BUSY_BYTES), 50, range(5, COUNT // 2)),
        (bytes(BUSY_BYTES), 0, range(COUNT, COUNT + 3)),
        (b"few", 50, range(COUNT, COUNT + 3)),
    ],
    ids=["load", "load, each read at once", "few messages"],
)
def test_under_load_a_transaction_takes_in_several_reads(
    body: bytes, interval_ms: int, transactions: range
) -> None:
    """Each read is 0.15 s by the clock of this Kafka. What is not committed is not copied."""
    log, _ = filled(body)
    kafka = t.Kafka(Calm())
    readers: list[OneByOne] = []
    settings = msgspec.structs.replace(SETTINGS, interval_ms=interval_ms)

    def reader(position: Position | None) -> LedgerReader:
        readers.append(OneByOne(log, mover, position))
        return readers[-1]

    with kafka.installed(t.Life):
        mover = Mover(settings, Stream(settings), reader)
        mover.run()
    last = mover.statistics()
    assert (last["lag_records"], last["copied"]) == (0, COUNT)
    assert last["transactions"] in transactions
    (one,) = readers
    for figures in one.figures:
        assert figures["position"] <= figures["written"] or not figures["transactions"]
    lags = [figures["lag_records"] for figures in one.figures[2:]]
    assert all(now <= before + 1 for before, now in itertools.pairwise(lags))
