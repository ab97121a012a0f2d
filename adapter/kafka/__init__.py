"""For programs that read the topics of queues with a Kafka client of their own.

    consumer.subscribe([adapter.kafka.topic_name("QM1", "ORDERS")])
    decoder = adapter.kafka.Decoder()
    message = decoder.decode(consumer.poll())

Read with isolation.level=read_committed, and partition by partition: a partition holds the messages
of one priority in the order in which their units were committed. A message stays on the topic when
it has been got from the queue. One of more than 4 MiB is several records, each with the header
`mqck`: a Decoder joins them. inbound_record() makes the record by which such a program puts a
message. A Table is a compacted topic as a mapping. This module knows names and encodings, and no
queue manager.
"""

from __future__ import annotations

import confluent_kafka

from adapter.client.conversion import incoming, outgoing
from adapter.client.message import Message
from adapter.connection.channel.arguments import as_name
from adapter.core.contract.message import Delivered
from adapter.core.contract.message import MessageData as Content
from adapter.errors import InvalidOption, InvalidType, InvalidValue
from adapter.kafka.table import Table
from adapter.storage.format import inbound, names
from adapter.storage.format.descriptor import UnitPosition
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.topics.decoder import NotAMessageError, RecordDecoder, chunk_of, is_no_message

__all__ = ["Decoder", "Table", "decode", "inbound_record", "topic_name"]

QUEUE_MANAGER = "QM1"
"""The name that examples and queue managers for tests have."""
InboundRecord = tuple[str, None, bytes, list[tuple[str, bytes]]]
"""Topic, key, value and headers of a record."""


def topic_name(queue_manager: str, queue: str, *, incarnation: int = 0) -> str:
    """Name the topic that holds a queue's messages; partition p holds those of priority p.

    incarnation: how many queues of this name were deleted before; each had a topic of its own.
    """
    return names.queue_topic(queue_manager, queue, incarnation)


def inbound_record(
    queue: str, message: bytes | str | Message, *, queue_manager: str = QUEUE_MANAGER
) -> InboundRecord:
    """Return topic, key, value and headers of the record that puts a message to a queue.

        topic, key, value, headers = adapter.kafka.inbound_record("ORDERS", "one dozen")
        producer.produce(topic, value, key, headers=headers)

    The queue manager puts it once it has read the record: committed records only, in the order of
    the topic, and each exactly once. What its queue does not take goes to the dead-letter queue.
    docs/inbound-records.md has the headers, for other languages. Raises InvalidOption for what a
    record cannot say.
    """
    content = outgoing(message, {})
    try:
        headers = inbound.encode(as_name(queue), content)
    except ValueError as error:
        raise InvalidOption(f"{error}: put it by a connection") from error
    return names.inbound_topic(queue_manager), None, content.body, headers


def decode(record: confluent_kafka.Message) -> Message:
    """Make a message of a record of a queue's topic, its place and its unit included.

    Whether it was got since is not known here, nor how often it was backed out: backout_count is 0.
    Raises InvalidValue for a record that no queue manager wrote, and for one that is only a part of
    a message: see Decoder.
    """
    _check(record)
    try:
        index, count = chunk_of(record)
    except UnreadableError as error:
        raise _unreadable(record, error) from error
    if is_no_message(record):
        raise InvalidValue(
            f"{_where(record)} only ends a transaction, and belongs to no message: use a Decoder, "
            "which leaves it out"
        )
    if count > 1:
        raise InvalidValue(
            f"{_where(record)} is chunk {index + 1} of {count} of a message: use a Decoder, which "
            "joins them"
        )
    message = Decoder().decode(record)
    assert message is not None, "one record is the whole message"
    return message


class Decoder:
    """Makes messages of the records of queues' topics, also of those that are several records.

    Give it every record of a partition, in order. For one thread. It keeps the records of a
    message, of each partition, until the last one has come.
    """

    def __init__(self) -> None:
        self._decoders: dict[tuple[str | None, int | None], RecordDecoder] = {}

    def decode(self, record: confluent_kafka.Message) -> Message | None:
        """As the function decode; None for a record with which no message is complete.

        A message within which reading began is left out.
        """
        _check(record)
        partition = record.topic(), record.partition()
        decoder = self._decoders.setdefault(partition, RecordDecoder())
        try:
            found = decoder.take(record)
        except UnreadableError as error:
            raise _unreadable(record, error) from error
        return None if found is None else _message(record.partition() or 0, *found)


def _where(record: confluent_kafka.Message) -> str:
    return f"{record.topic()}[{record.partition()}] at offset {record.offset()}"


def _check(record: object) -> None:
    if not isinstance(record, confluent_kafka.Message):
        raise InvalidType(f"decode() takes a record of confluent_kafka, not {record!r}")
    if record.error() is not None:
        raise InvalidValue(f"{_where(record)} is not a record: {record.error()}")


def _unreadable(record: confluent_kafka.Message, problem: UnreadableError) -> InvalidValue:
    if isinstance(problem, NotAMessageError):
        return InvalidValue(
            f"{_where(record)} is not a message of a queue: {problem}; read the topics that "
            "topic_name() names"
        )
    return InvalidValue(f"{_where(record)} cannot be read: {problem}")


def _message(lane: int, message: Content, at: UnitPosition) -> Message:
    return incoming(
        Delivered(
            message=message,
            lane=lane,
            seq=at.seq,
            n=0,
            backout_count=0,
            unit=at.unit,
            unit_index=at.unit_index,
            unit_size=at.unit_size,
            queue_unit_index=at.queue_unit_index,
            queue_unit_size=at.queue_unit_size,
        )
    )
