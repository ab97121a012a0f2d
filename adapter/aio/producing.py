"""Units of work as programs have them: they also produce records to topics of Kafka.

This module does not know what a record becomes.
"""

from __future__ import annotations

from types import TracebackType
from typing import Unpack

from adapter.aio.context import TaskContext
from adapter.aio.kafka_topic import produce
from adapter.aio.unit import TaskUnit
from adapter.client.message import PutResult
from adapter.client.producing import RecordFields


class ProducingTaskUnit(TaskUnit):
    """A unit of work on one connection: everything put, got and produced in it takes effect
    together.
    """

    _context: TaskContext

    async def produce(
        self,
        topic: str,
        value: object,
        key: bytes | str | None = None,
        *,
        wait: bool = True,
        **fields: Unpack[RecordFields],
    ) -> PutResult:
        """Produce a record to a topic of Kafka in this unit; see adapter.Connection.produce()."""
        return await produce(self._context, topic, value, key, self, wait, fields)


class Unit(ProducingTaskUnit):
    """A unit as qm.unit() returns it.

    As a context manager, entering begins it, leaving normally commits, any exception backs out, a
    cancellation too; after an explicit commit() or backout() leaving does nothing.
    """

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        super().__init__(context.channel)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._leave(error)
