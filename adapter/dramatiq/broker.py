"""The broker: queues, and messages on their way to them.

Each queue of dramatiq is a local queue of the queue manager, `default` and its dead letters
`default.XQ`. There is no queue `default.DQ`: delayed messages wait in the queue manager.

This module does not know how messages are consumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from dramatiq import Broker, Message, Middleware
from dramatiq.common import q_name, xq_name
from dramatiq.errors import ActorNotFound, QueueJoinTimeout

import adapter
from adapter.dramatiq.connection import ProcessConnection, in_dramatiqs_names
from adapter.dramatiq.consumer import MqkConsumer
from adapter.errors import QueueNotFound
from adapter.frameworks import names, queues
from adapter.frameworks.options import as_kept_s, check_connecting, check_put

ResultT = TypeVar("ResultT")

DEAD_MESSAGE_TTL_S = 7 * 24 * 3600.0
"""As long as dramatiq's other brokers keep dead letters."""


class MqkBroker(Broker):
    """A broker on a queue manager.

    Messages are persistent. One that is being processed is held by its worker in a unit: it is
    gone with the ack, and back on its queue as soon as the worker dies. The option
    `broker_priority` of actors and messages, 0 to 9, is the priority on the queue: the highest
    first.
    """

    def __init__(
        self,
        *,
        address: str = "127.0.0.1:1414",
        middleware: list[Middleware] | None = None,
        dead_message_ttl_s: float | None = DEAD_MESSAGE_TTL_S,
        **options: Any,
    ) -> None:
        """address: of the queue manager, see adapter.connect(); options: its further arguments.

        dead_message_ttl_s: how long dead letters are kept; None: without end.
        The broker connects when it is first used, once in each process.
        Raises InvalidOption.
        """
        connecting = {"address": address, **options}
        check_connecting(connecting)
        super().__init__(middleware=middleware)
        self.queues: set[str] = set()
        self.dead_message_ttl_s = dead_message_ttl_s
        self._connections = ProcessConnection(connecting)
        self._defined: set[str] = set()

    @property
    def dead_message_ttl_s(self) -> float | None:
        """How long dead letters are kept, in seconds; None: without end."""
        return self._dead_message_ttl_s

    @dead_message_ttl_s.setter
    def dead_message_ttl_s(self, seconds: float | None) -> None:
        self._dead_message_ttl_s = as_kept_s("dead_message_ttl_s", seconds)

    @property
    def actor_options(self) -> set[str]:
        """The options that actors may have."""
        return self._actor_options | {"broker_priority"}

    @actor_options.setter
    def actor_options(self, options: set[str]) -> None:
        self._actor_options = options

    @property
    def connection(self) -> adapter.Connection:
        """The connection of this process to the queue manager. Raises ConnectionClosed."""
        with in_dramatiqs_names():
            return self._connections.get()

    def close(self) -> None:
        """Close the connection of this process; messages that it holds are back on their queues."""
        self._connections.close()

    def declare_queue(self, queue_name: str) -> None:
        """Declare a queue. It is defined at the queue manager when it is first used."""
        name = q_name(queue_name)
        if name not in self.queues:
            self.emit_before("declare_queue", name)
            self.queues.add(name)
            self.emit_after("declare_queue", name)

    def get_declared_queues(self) -> set[str]:
        """Return the names of the queues that were declared on this broker."""
        return self.queues.copy()

    def enqueue(self, message: Message[Any], *, delay: int | None = None) -> Message[Any]:
        """Put a message on its queue; it is durable when this returns.

        delay: in milliseconds, for which the queue manager keeps the message; below 0 as 0.
        Raises ConnectionClosed if the queue manager is not to be reached, InvalidValue and
        InvalidType for what no message may have.
        """
        name = q_name(message.queue_name)
        self.declare_queue(name)
        check_put(self._fields(message, delay))  # before middleware hears of the message
        self.emit_before("enqueue", message, delay)
        fields = self._fields(message, delay)  # again: middleware may have changed its options
        with in_dramatiqs_names():
            to, body = names.queue_name(name), message.encode()
            self._on(name, lambda: self.connection.put(to, body, **fields))
        self.emit_after("enqueue", message, delay)
        return message

    def _fields(self, message: Message[Any], delay: int | None) -> dict[str, Any]:
        """Return the fields of the put of a message: its options come before those of its actor."""
        options: dict[str, Any] = {}
        with suppress(ActorNotFound):  # a program may send to actors that it does not have
            options = self.get_actor(message.actor_name).options
        priority = message.options.get("broker_priority", options.get("broker_priority"))
        return {
            "priority": priority,
            "properties": {"actor": message.actor_name, "id": message.message_id},
            "deliver_after": max(delay, 0) / 1000 if delay else None,
        }

    def consume(self, queue_name: str, prefetch: int = 1, timeout: int = 5000) -> MqkConsumer:
        """Return an iterator over the messages of a queue.

        prefetch: messages that it may hold. timeout: in milliseconds, after which it returns None.
        Raises ConnectionClosed.
        """
        name = q_name(queue_name)
        with in_dramatiqs_names():
            self._define_again(name)  # the consumer before this one may have lost its queue
            return MqkConsumer(
                self.connection,
                name,
                prefetch,
                timeout / 1000,
                self.dead_message_ttl_s,
                partial(self._define_again, name),
            )

    def get_queue_message_counts(self, queue_name: str) -> tuple[int, int, int]:
        """Return how many messages of a queue wait or are processed, are delayed, are dead."""
        with in_dramatiqs_names():
            alive, dead = self._on(
                q_name(queue_name), lambda: [self._queue(to).status() for to in _both(queue_name)]
            )
        return alive.current_depth + alive.uncommitted_gets, alive.delayed, dead.current_depth

    def flush(self, queue_name: str) -> None:
        """Discard the messages of a queue, delayed ones and dead letters too."""
        with in_dramatiqs_names():
            self._on(
                q_name(queue_name), lambda: [self._queue(to).purge() for to in _both(queue_name)]
            )

    def flush_all(self) -> None:
        """Discard the messages of all queues that were declared on this broker."""
        for name in self.get_declared_queues():  # a copy: other threads may declare some
            self.flush(name)

    def join(self, queue_name: str, *, interval: int = 100, timeout: int | None = None) -> None:
        """Wait until all messages of a queue have been processed, delayed ones too.

        interval, timeout: in milliseconds. Raises QueueJoinTimeout.
        """
        until_s = None if timeout is None else time.monotonic() + timeout / 1000
        while any(self.get_queue_message_counts(queue_name)[:2]):
            if until_s is not None and time.monotonic() >= until_s:
                raise QueueJoinTimeout(queue_name)  # type: ignore[no-untyped-call]
            time.sleep(interval / 1000)

    def _on(self, queue: str, act: Callable[[], ResultT]) -> ResultT:
        """Do something with a queue, which is defined before that."""
        self._define(queue)
        try:
            return act()
        except QueueNotFound:
            self._define_again(queue)
            return act()

    def _define_again(self, queue: str) -> None:
        """Define a queue that may have been deleted since this process has defined it."""
        self._defined.discard(queue)
        self._define(queue)

    def _define(self, queue: str) -> None:
        """Define a queue and that of its dead letters, once a process."""
        if queue not in self._defined:
            for name in _both(queue):
                queues.define(self.connection, names.queue_name(name))
            self._defined.add(queue)

    def _queue(self, name: str) -> adapter.Queue:
        return self.connection.queue(queues.local_name(self.connection, names.queue_name(name)))


def _both(queue: str) -> tuple[str, str]:
    """Return the names of a queue and of the queue of its dead letters, as dramatiq has them."""
    return q_name(queue), xq_name(queue)
