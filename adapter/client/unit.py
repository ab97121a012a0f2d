"""Units of work as the SDK's programs have them: they also produce records to topics of Kafka.

This module does not know what a record becomes.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Unpack

from adapter.client.context import Context
from adapter.client.kafka_topic import produce
from adapter.client.message import PutResult
from adapter.client.producing import RecordFields
from adapter.connection.channel.unit import AnyUnit


class ProducingUnit(AnyUnit):
    """A unit of work on one connection: everything put, got and produced in it takes effect
    together.
    """

    _context: Context

    def produce(
        self,
        topic: Any,
        value: object,
        key: Any = None,
        *,
        wait: Any = True,
        **fields: Unpack[RecordFields],
    ) -> PutResult:
        """Produce a record to a topic of Kafka in this unit; see Connection.produce().

        topic: a str. key: bytes, str or None. wait: True or False. They are of any type here, for
        a compiled module would refuse others before they are checked, and not as InvalidType.
        """
        return produce(self._context, topic, value, key, self, wait, fields)


class Unit(ProducingUnit):
    """A unit as qm.unit() returns it.

    As a context manager, entering begins it, leaving normally commits, any exception backs out;
    after an explicit commit() or backout() leaving does nothing.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        super().__init__(context.channel)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._leave(error)
        except BaseException:
            self._exit_interrupted()
            raise
