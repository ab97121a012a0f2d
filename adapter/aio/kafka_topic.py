"""A topic of Kafka as a task produces to it: records are written once their unit is committed.

This module does not know what a record becomes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Unpack

from adapter.aio.closing import TaskClosing
from adapter.aio.context import TaskContext
from adapter.aio.handles import TaskTopicHandles
from adapter.aio.put_many import put_in_units, put_inside
from adapter.aio.putting import put_by
from adapter.aio.unit import TaskUnit
from adapter.aio.values import encode
from adapter.client.message import PutResult
from adapter.client.producing import (
    KafkaRecord,
    RecordFields,
    as_topic,
    avro_encoding,
    many_messages,
    record_message,
)
from adapter.client.putting import check_wait
from adapter.connection.channel import arguments as a
from adapter.connection.channel.unit import NoUnit, unit_for
from adapter.core.contract import commands as c


class KafkaTopic(TaskClosing):
    """One topic of Kafka, for many records, for all tasks of the connection's event loop."""

    def __init__(self, context: TaskContext, name: str) -> None:
        self.name = as_topic(name)
        self._context = context
        self._handles = TaskTopicHandles(context.channel)

    async def produce(
        self,
        value: object,
        key: bytes | str | None = None,
        *,
        unit: TaskUnit | NoUnit | None = None,
        wait: bool = True,
        **fields: Unpack[RecordFields],
    ) -> PutResult:
        """Produce a record; see adapter.Connection.produce(). A cancellation comes as for a put."""
        return await _produce(
            self._context, self._handles, self.name, value, key, unit, wait, fields
        )

    async def produce_many(
        self, records: Iterable[KafkaRecord | bytes | str | None], *, unit_size: int = 1000
    ) -> int:
        """Produce records in units; see adapter.KafkaTopic.produce_many().

        A cancellation comes as for Queue.put_many().
        """
        size = a.as_whole("unit_size", unit_size, 1, 10_000)
        channel = self._context.channel
        inside: TaskUnit | None = unit_for(channel, None)
        handle = await self._handles.get(self.name, c.OUTPUT)
        ready = many_messages(records)
        if inside is not None:
            return await put_inside(handle, ready, size, inside)
        return await put_in_units(channel, handle, ready, size)

    async def close(self) -> None:
        """Give its handle back. What was produced stays as it is."""
        await self._handles.close()

    @property
    def is_closed(self) -> bool:
        """Whether it, or its connection, has been closed."""
        return self._handles.is_closing or self._context.channel.is_closed

    def __repr__(self) -> str:
        return f"<KafkaTopic {self.name}>"


async def produce(
    context: TaskContext,
    topic: str,
    value: object,
    key: bytes | str | None,
    unit: TaskUnit | NoUnit | None,
    wait: bool,
    fields: RecordFields,
) -> PutResult:
    """Produce a record to a topic by the handle that the connection keeps; see the faces."""
    name = as_topic(topic)
    handles = context.topics.get(name, partial(TaskTopicHandles, context.channel))
    return await _produce(context, handles, name, value, key, unit, wait, fields)


async def _produce(
    context: TaskContext,
    handles: TaskTopicHandles,
    topic: str,
    value: object,
    key: bytes | str | None,
    unit: TaskUnit | NoUnit | None,
    wait: bool,
    fields: RecordFields,
) -> PutResult:
    encoding = avro_encoding(topic, value, fields)
    if encoding is not None:
        schemas = context.schemas
        value = await encode(schemas, value, encoding.schema, encoding.subject, encoding.register)
    message = record_message(value, key, fields)
    inside = unit_for(context.channel, unit)
    check_wait(inside, wait, topic)
    handle = await handles.get(topic, c.OUTPUT)
    return await put_by(handle, handles, message, inside, wait, context.channel)


class ProducingTaskConnection:
    """What a connection offers to programs that produce records to topics of Kafka."""

    _context: TaskContext

    async def produce(
        self,
        topic: str,
        value: object,
        key: bytes | str | None = None,
        *,
        unit: TaskUnit | NoUnit | None = None,
        wait: bool = True,
        **fields: Unpack[RecordFields],
    ) -> PutResult:
        """Produce a record to a topic of Kafka: part of a unit, or durable when it returns.

        Its arguments are those of adapter.Connection.produce(); a cancellation comes as for a put.
        Raises InvalidOption, QueueFull, MessageTooLong, BackedOut, ...
        """
        return await produce(self._context, topic, value, key, unit, wait, fields)

    def kafka_topic(self, name: str) -> KafkaTopic:
        """Return a topic of Kafka to produce many records to; nothing is asked yet."""
        return KafkaTopic(self._context, name)
