"""A topic of Kafka as a program produces to it: records are written once their unit is committed.

A record is a message on the queue of the topic's export. This module does not know how records are
written, nor where.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Unpack

from adapter.client.context import Context
from adapter.client.handles import TopicHandles
from adapter.client.message import PutResult
from adapter.client.producing import (
    KafkaRecord,
    RecordFields,
    as_topic,
    avro_encoding,
    many_messages,
    record_message,
)
from adapter.client.put_many import put_in_units, put_inside
from adapter.client.putting import check_wait, put_by
from adapter.connection.channel import arguments as a
from adapter.connection.channel.closing import Closing
from adapter.connection.channel.unit import AnyUnit, NoUnit, unit_for
from adapter.core.contract import commands as c


class KafkaTopic(Closing):
    """One topic of Kafka, for many records. Every method may be called from any thread."""

    def __init__(self, context: Context, name: str) -> None:
        self.name = as_topic(name)
        self._context = context
        self._handles = TopicHandles(context.channel)

    def produce(
        self,
        value: object,
        key: bytes | str | None = None,
        *,
        unit: AnyUnit | NoUnit | None = None,
        wait: bool = True,
        **fields: Unpack[RecordFields],
    ) -> PutResult:
        """Produce a record; see Connection.produce()."""
        return _produce(self._context, self._handles, self.name, value, key, unit, wait, fields)

    def produce_many(
        self, records: Iterable[KafkaRecord | bytes | str | None], *, unit_size: int = 1000
    ) -> int:
        """Produce records in units, the next one on its way while the last becomes durable.

        A record is an adapter.KafkaRecord, or the value of one without a key. Returns how many were
        produced; units, and what becomes of one that is refused: see Queue.put_many().
        """
        size = a.as_whole("unit_size", unit_size, 1, 10_000)
        channel = self._context.channel
        inside: AnyUnit | None = unit_for(channel, None)
        handle = self._handles.get(self.name, c.OUTPUT)
        ready = many_messages(records)
        if inside is not None:
            return put_inside(handle, ready, size, inside)
        return put_in_units(channel, handle, ready, size)

    def close(self) -> None:
        """Give its handle back. What was produced stays as it is."""
        self._handles.close()

    @property
    def is_closed(self) -> bool:
        """Whether it, or its connection, has been closed."""
        return self._handles.closing.is_set() or self._context.channel.is_closed

    def __repr__(self) -> str:
        return f"<KafkaTopic {self.name}>"


def produce(
    context: Context,
    topic: str,
    value: object,
    key: bytes | str | None,
    unit: AnyUnit | NoUnit | None,
    wait: bool,
    fields: RecordFields,
) -> PutResult:
    """Produce a record to a topic by the handle that the connection keeps; see the faces."""
    name = as_topic(topic)
    handles = context.topics.get(name, partial(TopicHandles, context.channel))
    return _produce(context, handles, name, value, key, unit, wait, fields)


def _produce(
    context: Context,
    handles: TopicHandles,
    topic: str,
    value: object,
    key: bytes | str | None,
    unit: AnyUnit | NoUnit | None,
    wait: bool,
    fields: RecordFields,
) -> PutResult:
    encoding = avro_encoding(topic, value, fields)
    if encoding is not None:
        value = context.schemas.encode(
            value,
            schema=encoding.schema,
            subject=encoding.subject,
            register=encoding.register,
        )
    message = record_message(value, key, fields)
    inside = unit_for(context.channel, unit)
    check_wait(inside, wait, topic)
    handle = handles.get(topic, c.OUTPUT)
    return put_by(handle, handles, message, inside, wait, context.channel)


class ProducingConnection:
    """What a connection offers to programs that produce records to topics of Kafka."""

    _context: Context

    def produce(
        self,
        topic: str,
        value: object,
        key: bytes | str | None = None,
        *,
        unit: AnyUnit | NoUnit | None = None,
        wait: bool = True,
        **fields: Unpack[RecordFields],
    ) -> PutResult:
        """Produce a record to a topic of Kafka: part of a unit, or durable when it returns.

        The queue manager writes it, exactly once, when the unit is committed; what is got, put and
        produced in one unit happens together. Records of one topic keep the order of commits. What
        the topic never takes goes to the dead-letter queue.
        value, key: bytes, text as UTF-8, or None; a value of None is a tombstone. headers: a
        mapping, or pairs in their order, of text to bytes, text or None. timestamp: a datetime
        with a zone, or milliseconds since 1970; without one it is the time of the put. partition:
        without one it is that of the key, as Kafka's own clients choose it.
        schema: value is an Avro value, written in Confluent's frame; subject (by default the
        topic's name with -value) and register: see Queue.put_value().
        wait=False, only in a unit: see Queue.put().
        Raises InvalidOption for what no record can be and for a topic that cannot be written,
        QueueFull, MessageTooLong, BackedOut, ...
        """
        return produce(self._context, topic, value, key, unit, wait, fields)

    def kafka_topic(self, name: str) -> KafkaTopic:
        """Return a topic of Kafka to produce many records to; nothing is asked yet."""
        return KafkaTopic(self._context, name)
