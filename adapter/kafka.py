"""For programs that read the topics of queues with a Kafka client of their own.

    consumer.subscribe([adapter.kafka.topic_name("QM1", "ORDERS")])
    message = adapter.kafka.decode(consumer.poll())

Read with isolation.level=read_committed, and partition by partition: a partition holds the messages
of one priority in the order in which their units were committed. A message stays on the topic when
it has been got from the queue. This module knows names and encodings, and no queue manager.
"""

from __future__ import annotations

import confluent_kafka

from adapter.client.message import Message, incoming
from adapter.core.model.message import Delivered
from adapter.errors import InvalidType, InvalidValue
from adapter.format import descriptor, names
from adapter.format.schemas import UnreadableError

__all__ = ["decode", "topic_name"]


def topic_name(queue_manager: str, queue: str, *, incarnation: int = 0) -> str:
    """Name the topic that holds a queue's messages; partition p holds those of priority p.

    incarnation: how many queues of this name were deleted before; each had a topic of its own.
    """
    return names.queue_topic(queue_manager, queue, incarnation)


def decode(record: confluent_kafka.Message) -> Message:
    """Make a message of a record of a queue's topic, its place and its unit included.

    Whether it was got since is not known here, nor how often it was backed out: backout_count is 0.
    Raises InvalidValue for a record that no queue manager wrote.
    """
    if not isinstance(record, confluent_kafka.Message):
        raise InvalidType(f"decode() takes a record of confluent_kafka, not {record!r}")
    where = f"{record.topic()}[{record.partition()}] at offset {record.offset()}"
    if record.error() is not None:
        raise InvalidValue(f"{where} is no record: {record.error()}")
    header = dict(record.headers() or ()).get(descriptor.HEADER)
    if not isinstance(header, bytes):
        raise InvalidValue(
            f"{where} is not a message of a queue: it has no header {descriptor.HEADER}; read the "
            "topics that topic_name() names"
        )
    try:
        message, at = descriptor.decode(header, record.value() or b"")
    except UnreadableError as error:
        raise InvalidValue(f"{where} cannot be read: {error}") from error
    return incoming(
        Delivered(
            message=message,
            lane=record.partition() or 0,
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
