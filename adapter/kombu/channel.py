"""A channel of kombu: queues, exchanges, publishing and consuming with acknowledgements.

A message that was delivered and needs an acknowledgement is held in a unit of its own. ack()
commits the unit, a reject with requeue backs it out, and when the process dies the queue manager
does. This module does not know how intakes wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any, Protocol

from amqp.protocol import queue_declare_ok_t
from kombu.exceptions import ChannelError
from kombu.log import get_logger
from kombu.transport import virtual
from kombu.transport.base import to_rabbitmq_queue_arguments
from kombu.utils.uuid import uuid
from msgspec import Struct

import adapter
from adapter.errors import BackedOut, Error, QueueInUse, QueueNotEmpty
from adapter.frameworks.names import queue_name
from adapter.frameworks.queues import backout_queue
from adapter.frameworks.rejected import LOST, end_rejected, end_undeliverable
from adapter.frameworks.units import give_back
from adapter.kombu import unsupported
from adapter.kombu.envelope import body_of, payload_of, put_fields
from adapter.kombu.intakes import Inbox, Intake, QueueSource, Source, TemporaryQueueSource
from adapter.kombu.links import ProcessLink

HELD_MAX = 5_000
"""Messages of a channel without prefetch count that are not acknowledged: a connection may have
10,000 units."""

logger = get_logger(__name__)


class HeldMessage(Struct):
    """A message that waits for its acknowledgement."""

    queue: str
    message: adapter.Message
    unit: adapter.Unit


class Carrier(Protocol):
    """The transport of a channel, as the channel sees it."""

    link: ProcessLink
    inbox: Inbox
    channels: list[MqkChannel]
    delays_tasks: bool
    """Whether a task with an eta stays with the queue manager until then."""


class UnitQoS:
    """The messages of a channel that are not acknowledged, by delivery tag. For any thread."""

    def __init__(self, channel: MqkChannel) -> None:
        self.prefetch_count = 0
        self._channel = channel
        self._lock = threading.Lock()
        self._held: dict[int, HeldMessage] = {}

    def can_consume(self) -> bool:
        """Whether the channel may have a further message."""
        return len(self._held) < (self.prefetch_count or HELD_MAX)

    def can_consume_max_estimate(self) -> int:
        """Return how many further messages the channel may have."""
        return max((self.prefetch_count or HELD_MAX) - len(self._held), 0)

    def hold(self, tag: int, held: HeldMessage) -> None:
        """Note a message that is about to be delivered."""
        with self._lock:
            self._held[tag] = held

    def get(self, delivery_tag: int) -> adapter.Message:
        """Return a message that is held."""
        return self._held[delivery_tag].message

    def ack(self, delivery_tag: int, multiple: bool = False) -> None:
        """Commit the unit of a message, or of all up to this one.

        Raises BackedOut if the message has gone back to its queue because the connection was lost
        or the channel closed: it is delivered again.
        """
        with self._ending(delivery_tag, multiple) as released:
            for held in released:
                held.unit.commit()

    def reject(self, delivery_tag: int, requeue: bool = False) -> None:
        """Put a message back in its place, or end it: see MqkChannel.basic_reject()."""
        with self._ending(delivery_tag, False) as released:
            for held in released:
                if requeue:
                    give_back(held.unit, counted=True)
                else:
                    self._channel.discard(held)

    def restore_unacked(self) -> list[Any]:
        """Put all messages back in their places; returns what could not be: nothing.

        Their backout counts stay: a worker that stops has finished what it worked on, and only
        fetched the others.
        """
        with self._lock:
            held, self._held = list(self._held.values()), {}
        for one in held:
            give_back(one.unit, counted=False)
        return []

    def restore_unacked_once(self, stderr: object = None) -> None:
        """Put all messages back in their places: the channel is closed."""
        self.restore_unacked()

    @contextmanager
    def _ending(self, tag: int, multiple: bool) -> Iterator[list[HeldMessage]]:
        """Take messages out, for their units to be ended; those still open after that are held."""
        released = self._release(tag, multiple)
        try:
            yield list(released.values())
        finally:
            with self._lock:
                self._held |= {one: held for one, held in released.items() if held.unit.is_open}
            self._channel.connection.inbox.note_room()

    def _release(self, tag: int, multiple: bool) -> dict[int, HeldMessage]:
        if tag < 0:
            return {}  # it needs no acknowledgement: SimpleBuffer of kombu gives one all the same
        with self._lock:
            if tag not in self._held:
                raise BackedOut(
                    f"delivery {tag} is not held by this channel: it was acknowledged, or its "
                    "message is back on the queue because the channel was closed"
                )
            tags = [one for one in self._held if one <= tag] if multiple else [tag]
            return {one: self._held.pop(one) for one in tags}


class MqkChannel(virtual.Channel):
    """A channel. Its exchanges are topics of the queue manager, its bindings subscriptions."""

    QoS = UnitQoS
    connection: Carrier
    do_restore = False
    supports_fanout = True

    def __init__(self, connection: Carrier, **kwargs: Any) -> None:
        super().__init__(connection, **kwargs)
        self._link: ProcessLink = connection.link
        self._intakes: dict[str, tuple[Intake, str]] = {}
        self._tags = count(1)

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

        An exclusive or auto_delete queue is temporary: it is gone with this process, or when its
        last consumer is cancelled. Any other is a local queue of the queue manager.
        """
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
            self._link.declare_temporary(queue)
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
        """Have what is published on an exchange come to a queue."""
        exchange = exchange or "amq.direct"
        self._link.bind(queue, (exchange, self.typeof(exchange).type, routing_key))

    def queue_unbind(
        self,
        queue: str,
        exchange: str | None = None,
        routing_key: str = "",
        arguments: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """End a binding."""
        self._link.unbind(queue, exchange or "amq.direct", routing_key)

    def queue_delete(
        self, queue: str, if_unused: bool = False, if_empty: bool = False, **kwargs: Any
    ) -> int:
        """Delete a queue, with its bindings and messages; return how many messages it had.

        Consumers of this connection are cancelled. Raises QueueInUse while another program
        consumes from it, or messages of it are not acknowledged.
        """
        consumers = [
            (channel, tag)
            for channel in self.connection.channels
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
        """Note the type of an exchange, which needs no declaration at the queue manager."""
        if not passive:
            unsupported.check_exchange(type or "direct", arguments or {})
        super().exchange_declare(
            exchange, type, durable, auto_delete, arguments, nowait=nowait, passive=passive
        )

    def exchange_delete(self, exchange: str, if_unused: bool = False, nowait: bool = False) -> None:
        """Forget an exchange. Its bindings end with their queues."""
        self.state.exchanges.pop(exchange, None)

    def after_reply_message_received(self, queue: str) -> None:
        """Do nothing: a reply queue is deleted with its last consumer."""

    def _size(self, queue: str) -> int:
        return self._link.depth(queue)

    def _purge(self, queue: str) -> int:
        return self._link.purge(queue)

    # Publishing.

    def basic_publish(
        self, message: dict[str, Any], exchange: str, routing_key: str, **kwargs: Any
    ) -> None:
        """Publish a message; it is durable when this returns, if it is persistent.

        One that reaches no queue is discarded, as AMQP has it.
        """
        message["properties"]["delivery_info"] = {"exchange": exchange, "routing_key": routing_key}
        body = body_of(message)
        fields = put_fields(message, is_delayed=self.connection.delays_tasks)
        if exchange:
            is_routed = self._link.publish(exchange, routing_key, body, fields)
        else:
            is_routed = self._link.put(routing_key, body, fields)
        if not is_routed:
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
        unsupported.check_consumer(consumer_tag, self._intakes, kwargs)

        def accept(message: adapter.Message, unit: adapter.Unit | None) -> Callable[[], Any]:
            return partial(callback, self._make_message(queue, message, unit))

        temporary = self._link.consume_temporary(queue)
        qm = self._link.qm
        source: Source
        if temporary is None:
            source = QueueSource(qm, queue_name(queue), no_ack=bool(no_ack))
        else:
            source = TemporaryQueueSource(qm, temporary, no_ack=bool(no_ack))
        intake = Intake(self.connection.inbox, source, self.qos, accept)
        self._intakes[consumer_tag] = intake, queue
        self._consumers.add(consumer_tag)
        self.connection.inbox.open(intake)

    def basic_cancel(self, consumer_tag: str) -> None:
        """End a consumer. Messages that it was delivered stay held until they are acknowledged."""
        intake, queue = self._intakes.pop(consumer_tag, (None, ""))
        if intake is None:
            return
        self._consumers.discard(consumer_tag)
        self.connection.inbox.close(intake)
        self._link.end_consumer(queue)

    def consumers_of(self, queue: str) -> list[str]:
        """Return the tags of its consumers of a queue."""
        return [tag for tag, (_, consumed) in self._intakes.items() if consumed == queue]

    def basic_get(self, queue: str, no_ack: bool = False, **kwargs: Any) -> virtual.Message | None:
        """Return the next message of a queue, None if the queue has none."""
        temporary = self._link.temporary(queue)
        name = queue_name(queue) if temporary is None else temporary.subscription.name
        if no_ack:
            got = self._link.qm.get(name, unit=adapter.NO_UNIT)
            return None if got is None else self._make_message(queue, got, None)
        unit = self._link.qm.unit()
        unit.begin()
        got = self._link.qm.get(name, unit=unit)
        if got is None:
            give_back(unit, counted=False)
            return None
        return self._make_message(queue, got, unit)

    def basic_ack(self, delivery_tag: int, multiple: bool = False) -> None:
        """Acknowledge a message, or all up to this one: it is gone for good when this returns.

        Raises BackedOut if it has gone back to its queue meanwhile; it is delivered again.
        """
        self.qos.ack(delivery_tag, multiple)

    def basic_reject(self, delivery_tag: int, requeue: bool = False) -> None:
        """Put a message back in its place, or discard it.

        A message of a queue that has a backout_requeue_queue is moved there, not discarded.
        """
        self.qos.reject(delivery_tag, requeue=requeue)

    def close(self) -> None:
        """End its consumers; what it holds goes back to its queues."""
        if self._link.is_inherited:
            self.closed = True  # the parent goes on with it
        super().close()

    def discard(self, held: HeldMessage) -> None:
        """End a message that is rejected, by moving it where its queue says, if it does."""
        qm, source = self._link.qm, queue_name(held.queue)
        try:
            target = backout_queue(qm, source)
        except LOST:
            raise
        except Error as error:
            end_undeliverable(qm, held.unit, held.message, source, "", error)
            return
        end_rejected(qm, held.unit, held.message, source, target)

    def _make_message(
        self, queue: str, message: adapter.Message, unit: adapter.Unit | None
    ) -> virtual.Message:
        tag = next(self._tags) * (-1 if unit is None else 1)
        made = self.Message(payload_of(message, tag, "", queue), channel=self)
        if unit is not None:
            self.qos.hold(tag, HeldMessage(queue, message, unit))
        return made


def attributes_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a queue for arguments of RabbitMQ that have an equivalent.

    Raises ChannelError for values that RabbitMQ refuses.
    """
    attributes: dict[str, Any] = {}
    if "x-message-ttl" in arguments:
        ttl_ms = unsupported.whole_number(arguments, "x-message-ttl")
        attributes["expiry_cap"] = max(round(ttl_ms / 100), 1)
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
