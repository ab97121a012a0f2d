"""What readMode get takes for done, called as Spark 4.2 calls it; no Spark is needed for that."""

from types import SimpleNamespace

import pytest

from adapter.core.contract.results import BatchDescription, Batches
from spark_jobs import getting
from spark_jobs.getting import GetOffset, GetReader, SpanPart, count_of
from spark_jobs.options import SourceOptions


class MadeUpConsumer:
    """A durable consumer of a queue on which some messages wait: a batch claims all of them."""

    claim = b"claim"

    def __init__(self) -> None:
        self.waiting = 0
        self.last = self.consumed = 0
        self.held: dict[int, int] = {}
        """Messages by the batch that has them, until it is consumed."""

    def next_batch(self, _limit: int) -> int:
        return self.last + 1 if self.waiting else self.last

    def read(self, after: int, through: int, limit: int = 0) -> Batches:
        assert after >= self.consumed, "what is consumed cannot be read again"
        if through > self.last:
            count = min(limit, self.waiting)
            self.last, self.waiting = through, self.waiting - count
            self.held[through] = count
        found = [
            BatchDescription(one, [0, 1, self.held[one]] if self.held[one] else [], [])
            for one in range(after + 1, through + 1)
        ]
        return Batches(1, found)

    def consume(self, through: int) -> None:
        assert through <= self.last
        self.consumed = max(self.consumed, through)
        self.held = {at: count for at, count in self.held.items() if at > through}


class Query:
    """A query, of which the checkpoint outlives its drivers. They plan as those of Spark do."""

    def __init__(self, consumer: MadeUpConsumer) -> None:
        self.consumer = consumer
        self.offsets: list[GetOffset] = []
        """As they are logged: the beginning, and the end of each micro-batch."""
        self.done = 0
        """So many micro-batches are in the log of commits."""
        self.rows = 0

    def live(self, steps: int, *, available_now: bool) -> bool:
        """Run for so many steps; the driver is killed then. Say whether the query ended before."""
        reader = GetReader(SourceOptions("Q", read_mode="get", consumer="C"))
        if available_now:
            reader.prepareForTriggerAvailableNow()
        if not self.offsets:
            self.offsets.append(reader.initialOffset())
        for _ in range(steps):
            if self.done < len(self.offsets) - 1:
                parts = reader.partitions(*self.offsets[-2:])
                for part in parts:
                    assert isinstance(part, SpanPart)
                    self.rows += sum(map(count_of, part.lanes.values()))
                self.done += 1
                continue
            start = self.offsets[-1]
            end = reader.latestOffset(start)
            if end == start:
                return True
            self.offsets.append(end)
            if len(self.offsets) > 2:
                reader.commit(start)
        return False


@pytest.fixture
def query(monkeypatch: pytest.MonkeyPatch) -> Query:
    consumer = MadeUpConsumer()
    monkeypatch.setattr(GetReader, "_open", lambda _reader, _offset=None: consumer)
    monkeypatch.setattr(GetReader, "_depth", lambda _reader: consumer.waiting)
    manager = SimpleNamespace(name="QM1", bootstrap_servers="127.0.0.1:1")
    monkeypatch.setattr(GetReader, "_connect", lambda _reader: manager)
    monkeypatch.setattr(getting, "await_copies", lambda _manager: None)
    return Query(consumer)


@pytest.mark.parametrize("available_now", [True, False])
@pytest.mark.parametrize("killed_after", range(6))
@pytest.mark.parametrize("again_after", range(4))
def test_what_a_job_has_done_is_consumed_when_it_comes_back(
    query: Query, killed_after: int, again_after: int, *, available_now: bool
) -> None:
    """Also if nothing else comes, and wherever its drivers were killed; each message is a row once,
    as far as Spark knows which micro-batches were done.
    """
    query.consumer.waiting = 5
    query.live(killed_after, available_now=available_now)
    query.live(again_after, available_now=available_now)
    assert query.live(99, available_now=available_now)
    assert query.rows == 5
    assert sum(query.consumer.held.values()) == 0
    query.consumer.waiting = 2
    assert query.live(99, available_now=available_now)
    assert query.rows == 7
