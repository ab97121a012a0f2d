"""A channel of kombu: queues, exchanges, publishing and consuming with acknowledgements.

A message that was delivered and needs an acknowledgement is held in a unit of its own. ack()
commits the unit, a reject with requeue backs it out, and when the process dies the queue manager
does. This module knows neither how intakes wait nor how messages are held.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import count
from typing import Any, Protocol

from amqp.exceptions import RecoverableConnectionError
from amqp.protocol import queue_declare_ok_t
from kombu.exceptions import ChannelError
from kombu.log import get_logger
from kombu.transport import virtual
from kombu.transport.base import to_rabbitmq_queue_arguments
from kombu.utils.uuid import uuid

import adapter
from adapter.errors import Error, QueueInUse, QueueNotEmpty
from adapter.frameworks.names import queue_name
from adapter.frameworks.queues import backout_queue
from adapter.frameworks.rejected import LOST, end_rejected, end_undeliverable
from adapter.frameworks.units import give_back
from adapter.kombu import unsupported
from adapter.kombu.envelope import body_of, payload_of, put_fields
from adapter.kombu.held import HeldMessage, UnitQoS
from adapter.kombu.intakes import Inbox, Intake, QueueSource, Source, TemporaryQueueSource
from adapter.kombu.links import ProcessLink
from adapter.kombu.temporary import TemporaryQueue

logger = get_logger(__name__)


class Carrier(Protocol):
    """The transport of a channel, as the channel sees it."""

    link: ProcessLink
    inbox: Inbox
    channels: list[MqkChannel]
    delays_tasks: bool
    """Whether a task with an eta stays with the queue manager until then."""


class MqkChannel(virtual.Channel):
    """A channel. Its exchanges are topics of the queue manager, its bindings subscriptions."""

    QoS = UnitQoS
    connection: Carrier
    do_restore = False
    supports_fanout = True

    def __init__(self, connection: Carrier, **kwargs: Any) -> None:
        super().__init__(connection, **kwargs)
        self._link: ProcessLink = connection.link
        self._intakes: dict[str, tuple[Intake, str, TemporaryQueue | None]] = {}
        self._tags = count(1)
        self._qos = UnitQoS(
            self._link.held, partial(discard, self._link.qm), connection.inbox.note_room
        )

    # Queues and bindings.

    def prepare_queue_arguments(
        self, arguments: Mapping[str, Any], **kwargs: Any
    ) -> Mapping[str, Any]:
        """Return the arguments of a queue, by the names that RabbitMQ has for them."""
        prepared: Mapping[str, Any] = to_rabbitmq_queue_arguments(arguments, **kwargs)
        return prepared

    def queue_declare(
        self,
        queue: str | None = None,
        passive: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> queue_declare_ok_t:
        """Define a queue, if it does not exist; return its name, depth, and 0 consumers.

        An exclusive or auto_delete queue is temporary: it is gone when its last consumer is
        cancelled, an exclusive one also with the connection, any with this process. Any other is a
        local queue of the queue manager.
        """
        carrier = self._carrier()
        queue = queue or f"amq.gen-{uuid()}"
        is_temporary = exclusive or auto_delete
        if not passive:
            unsupported.check_queue(arguments or {}, is_temporary=is_temporary)
        if passive:
            if not self._link.has(queue):
                raise ChannelError(
                    f"NOT_FOUND - no queue {queue!r}", (50, 10), "Channel.queue_declare", "404"
                )
        elif is_temporary:
            self._link.declare_temporary(queue, declarer=id(carrier) if exclusive else None)
        else:
            self._link.define(queue, attributes_of(arguments or {}))
        return queue_declare_ok_t(queue, self._size(queue), 0)

    def queue_bind(
        self,
        queue: str,
        exchange: str | None = None,
        routing_key: str = "",
        arguments: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Have what is published on an exchange come to a queue.

        Raises ChannelError if the type of the exchange is not known: it was not declared.
        """
        self._carrier()
        exchange = exchange or "amq.direct"
        kind = self._link.exchanges.type_of(exchange)
        if kind is None:
            raise unsupported.no_exchange(exchange, (50, 20), "Channel.queue_bind")
        self._link.bind(queue, (exchange, kind, routing_key))

    def queue_unbind(
        self,
        queue: str,
        exchange: str | None = None,
        routing_key: str = "",
        arguments: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """End a binding."""
        self._carrier()
        self._link.unbind(queue, exchange or "amq.direct", routing_key)

    def queue_delete(
        self, queue: str, if_unused: bool = False, if_empty: bool = False, **kwargs: Any
    ) -> int:
        """Delete a queue, with its bindings and messages; return how many messages it had.

        Consumers of this connection are cancelled; those of a temporary queue in other connections
        hear of it by ConsumerCancelled. Raises QueueInUse while another program
        consumes from it, or messages of it are not acknowledged.
        """
        consumers = [
            (channel, tag)
            for channel in self._carrier().channels
            for tag in channel.consumers_of(queue)
        ]
        if (if_empty and self._size(queue)) or (if_unused and consumers):
            return 0
        for channel, tag in consumers:
            channel.basic_cancel(tag)
        try:
            return self._link.delete(queue, if_empty=if_empty)
        except QueueNotEmpty:
            return 0
        except QueueInUse:
            if if_unused:
                return 0
            raise

    def exchange_declare(
        self,
        exchange: str | None = None,
        type: str = "direct",  # noqa: A002 -- kombu gives it by this name
        durable: bool = False,
        auto_delete: bool = False,
        arguments: Mapping[str, Any] | None = None,
        nowait: bool = False,
        passive: bool = False,
    ) -> None:
        """Note the type of an exchange, for all programs; passive: only see that it is known.

        Raises ChannelError if it exists with another type, or, if passive, if it is not known.
        """
        self._carrier()
        kind = type or "direct"
        exchange = exchange or f"amq.{kind}"
        if passive:
            if self._link.exchanges.type_of(exchange) is None:
                raise unsupported.no_exchange(exchange, (40, 10), "Channel.exchange_declare")
            return
        unsupported.check_exchange(kind, arguments or {})
        self._link.exchanges.declare(
            exchange, kind, durable=bool(durable), auto_delete=bool(auto_delete)
        )
        super().exchange_declare(exchange, kind, durable, auto_delete, arguments, nowait=nowait)

    def exchange_delete(self, exchange: str, if_unused: bool = False, nowait: bool = False) -> None:
        """Forget an exchange. Its bindings end with their queues."""
        self._carrier()
        self._link.exchanges.delete(exchange)
        self.state.exchanges.pop(exchange, None)

    def after_reply_message_received(self, queue: str) -> None:
        """Do nothing: a reply queue is deleted with its last consumer."""

    def _size(self, queue: str) -> int:
        return self._link.depth(queue)

    def _purge(self, queue: str) -> int:
        self._carrier()
        return self._link.purge(queue)

    # Publishing.

    def basic_publish(
        self, message: dict[str, Any], exchange: str, routing_key: str, **kwargs: Any
    ) -> None:
        """Publish a message; it is durable when this returns, if it is persistent.

        One that reaches no queue is discarded; with mandatory=True that raises ChannelError.
        """
        carrier = self._carrier()
        unsupported.check_publication(kwargs)
        message["properties"]["delivery_info"] = {"exchange": exchange, "routing_key": routing_key}
        body = body_of(message)
        fields = put_fields(message, is_delayed=carrier.delays_tasks)
        if exchange:
            is_routed = self._link.publish(exchange, routing_key, body, fields)
        else:
            is_routed = self._link.put(routing_key, body, fields)
        if is_routed:
            return
        if kwargs.get("mandatory"):
            raise unsupported.no_route(exchange, routing_key)
        logger.debug("no queue for exchange %r, key %r: discarded", exchange, routing_key)

    # Consuming.

    def basic_consume(
        self,
        queue: str,
        no_ack: bool,
        callback: Callable[[virtual.Message], Any],
        consumer_tag: str,
        **kwargs: Any,
    ) -> None:
        """Consume from a queue: drain_events() of the connection calls back with each message."""
        inbox = self._carrier().inbox
        unsupported.check_consumer(consumer_tag, self._intakes, kwargs)

        def accept(message: adapter.Message, unit: adapter.Unit | None) -> Callable[[], Any]:
            return partial(callback, self._make_message(queue, message, unit))

        temporary = self._link.consume_temporary(queue)
        source = source_of(self._link.qm, queue, temporary, no_ack=bool(no_ack))
        intake = Intake(inbox, source, self.qos, accept)
        self._intakes[consumer_tag] = intake, queue, temporary
        self._consumers.add(consumer_tag)
        inbox.open(intake)
        if self.closed:  # meanwhile, by another thread
            self.basic_cancel(consumer_tag)

    def basic_cancel(self, consumer_tag: str) -> None:
        """End a consumer. Messages that it was delivered stay held until they are acknowledged."""
        intake, _, temporary = self._intakes.pop(consumer_tag, (None, "", None))
        if intake is None:
            return
        self._consumers.discard(consumer_tag)
        intake.inbox.close(intake)
        if temporary is not None:
            self._link.end_consumer(temporary)

    def consumers_of(self, queue: str) -> list[str]:
        """Return the tags of its consumers of a queue."""
        return [tag for tag, (_, consumed, _) in self._intakes.items() if consumed == queue]

    def basic_get(self, queue: str, no_ack: bool = False, **kwargs: Any) -> virtual.Message | None:
        """Return the next message of a queue, None if the queue has none."""
        self._carrier()
        unit = None if no_ack else self._link.qm.unit()
        if unit is not None:
            unit.begin()
        try:
            got = self._link.get(queue, unit)
        except Error:
            give_back(unit, counted=False)
            raise
        if got is not None:
            return self._make_message(queue, got, unit)
        give_back(unit, counted=False)
        return None

    def basic_ack(self, delivery_tag: int, multiple: bool = False) -> None:
        """Acknowledge a message, or all up to this one: it is gone for good when this returns.

        Raises BackedOut if it has gone back to its queue meanwhile; it is delivered again.
        """
        self.qos.ack(delivery_tag, multiple)

    def basic_recover(self, requeue: bool = False) -> None:
        """Put all messages that are not acknowledged back in their places, to be redelivered."""
        self._carrier()
        if not requeue:
            super().basic_recover()  # which refuses it
        self.qos.recover()

    def basic_reject(self, delivery_tag: int, requeue: bool = False) -> None:
        """Put a message back in its place, or discard it.

        That of a queue that has a backout_requeue_queue is moved there.
        """
        self.qos.reject(delivery_tag, requeue=requeue)

    def close(self) -> None:
        """End its consumers; what it holds goes back to its queues."""
        if self._link.is_inherited:
            self.closed = True  # the parent goes on with it
        super().close()

    def _carrier(self) -> Carrier:
        """Return the transport. Raises RecoverableConnectionError if the channel is closed."""
        carrier: Carrier | None = self.connection
        if self.closed or carrier is None:
            raise RecoverableConnectionError("channel is closed: open another")
        return carrier

    def _make_message(
        self, queue: str, message: adapter.Message, unit: adapter.Unit | None
    ) -> virtual.Message:
        tag = next(self._tags) * (-1 if unit is None else 1)
        made = self.Message(payload_of(message, tag, "", queue), channel=self)
        if unit is not None:
            self.qos.hold(tag, HeldMessage(queue, message, unit))
        return made


def source_of(
    qm: adapter.Connection, queue: str, temporary: TemporaryQueue | None, *, no_ack: bool
) -> Source:
    """Return where a consumer gets the messages of a queue. Raises QueueNotFound."""
    if temporary is not None:
        return TemporaryQueueSource(qm, temporary, no_ack=no_ack)
    return QueueSource(qm, queue_name(queue), no_ack=no_ack)


def discard(qm: adapter.Connection, held: HeldMessage) -> None:
    """End a message that is rejected, by moving it where its queue says, if it does."""
    source = queue_name(held.queue)
    try:
        target = backout_queue(qm, source)
    except LOST:
        raise
    except Error as error:
        end_undeliverable(qm, held.unit, held.message, source, "", error)
        return
    end_rejected(qm, held.unit, held.message, source, target)


def attributes_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a queue for arguments of RabbitMQ that have an equivalent.

    Raises ChannelError for values that RabbitMQ refuses.
    """
    attributes: dict[str, Any] = {}
    if "x-message-ttl" in arguments:
        ttl_ms = unsupported.whole_number(arguments, "x-message-ttl")
        attributes["expiry_cap"] = max(-(-ttl_ms // 100), 1)  # no message ends before its time
    if "x-max-length" in arguments:
        attributes["max_depth"] = unsupported.whole_number(arguments, "x-max-length")
    if "x-dead-letter-routing-key" in arguments:
        dead = arguments["x-dead-letter-routing-key"]
        if not isinstance(dead, str):
            raise unsupported.precondition_failed(
                f"invalid x-dead-letter-routing-key {dead!r}: use the name of a queue"
            )
        attributes["backout_requeue_queue"] = queue_name(dead)
    return attributes
