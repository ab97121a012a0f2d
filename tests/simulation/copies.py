"""What a reader of the simulated topics sees: messages, of one record or of several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adapter.storage.format import chunks, descriptor, names
from tests.simulation import transactions as t
from tests.simulation.auditor import Copied
from tests.simulation.world import LaneKey


class Copies:
    """Reads the topics of all queues, each record once. topics: how their names begin."""

    def __init__(self, topics: str) -> None:
        self._topics = topics
        self._seen: dict[tuple[str, int], int] = {}
        self._joiners: dict[t.Partition, chunks.Joiner] = {}
        self._descriptors = descriptor.DescriptorReader()

    def forget(self, topic: str) -> None:
        """A topic has gone: what comes is another one."""
        for key in [key for key in self._seen if key[0] == topic]:
            del self._seen[key]

    def new(self, kafka: t.Kafka) -> Iterator[Copied]:
        """Read what has been committed since the last time."""
        for topic, partitions in kafka.topics.items():
            if not topic.startswith(self._topics):
                continue
            _, queue, incarnation = names.parse_queue_topic(topic)
            for lane, partition in enumerate(partitions):
                start = self._seen.get((topic, lane), 0)
                records = (record for _, record in partition.committed(start))
                joiner = self._joiners.setdefault(partition, chunks.Joiner())
                for record in joined(joiner, records):
                    yield _copied((queue, incarnation, lane), record, self._descriptors)
                self._seen[topic, lane] = partition.stable


def joined(joiner: chunks.Joiner, records: Iterable[t.Record]) -> Iterator[t.Record]:
    """Put chunks together to records that hold whole messages."""
    for record in records:
        headers = dict(record.headers)
        described = headers[descriptor.HEADER]
        body = joiner.take(headers.get(chunks.HEADER), record.value or b"", described)
        if body is not None:
            yield t.Record(record.transaction, body, record.key, record.headers, record.time_ms)


def _copied(lane: LaneKey, record: t.Record, reader: descriptor.DescriptorReader) -> Copied:
    """Read a copy, as a reader of the topic does."""
    header = dict(record.headers)[descriptor.HEADER]
    message, at = reader.read(header, record.value or b"")
    return Copied(
        lane,
        message.body.decode(),
        at.seq,
        at.unit.hex(),
        at.unit_index,
        at.unit_size,
        at.queue_unit_index,
        at.queue_unit_size,
    )
