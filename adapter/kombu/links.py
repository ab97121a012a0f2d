"""The connection of a process to a queue manager, shared by all transports of the process.

It is shared because of temporary queues. They belong to the connection that has declared them, and
Celery declares the queue of its results on one connection and consumes from it on another.

A temporary queue, which kombu calls exclusive or auto_delete, is a subscription that lives as long
as its connection, with the queue that the queue manager makes for it: nothing of it is on Kafka,
and nothing stays behind when a process dies. Programs that put to a queue by its name publish on
the default exchange if there is no permanent queue of this name.

This module does not know what is in a message.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

import adapter
from adapter.errors import (
    BackedOut,
    Error,
    NotAuthorized,
    QueueInUse,
    QueueNotEmpty,
    QueueNotFound,
    SubscriptionExists,
    SubscriptionNotFound,
)
from adapter.frameworks import queues
from adapter.frameworks.names import queue_name
from adapter.frameworks.processes import EachProcess
from adapter.kombu.naming import (
    binding_topic,
    bindings_of,
    publication_topic,
    subscription_name,
)
from adapter.kombu.unsupported import precondition_failed

ELSEWHERE_MAX = 1_000
"""Queues of other programs that are known to be temporary; those of results, one a client."""
Binding = tuple[str, str, str]
"""Exchange, its type, and key."""


class TemporaryQueue:
    """A queue that is gone with the connection, or when its last consumer is cancelled."""

    def __init__(self, qm: adapter.Connection, name: str) -> None:
        """name: as kombu has it."""
        self.consumers = 0
        self._qm = qm
        self._name = name
        self._bindings: dict[Binding, adapter.Subscription | None] = {}
        """What is to be bound, and by what it is: None until that is made again."""
        self._is_whole = True
        self._lock = threading.RLock()
        """Held while it is bound or made again: threads share it, and a message comes once."""
        self.subscription = self._subscribe()

    @property
    def is_whole(self) -> bool:
        """Whether it has all its bindings: not if it was lost, and is not made again yet."""
        return self._is_whole

    def bind(self, binding: Binding) -> None:
        """Have what is published on an exchange from now on come here too.

        It takes the place of a binding to the exchange when that was of another type. Raises
        BackedOut if the queue went with a lost connection.
        """
        with self._lock:
            if not self._is_whole:
                self.make_again(self.subscription)
            if binding not in self._bindings:
                exchange, _, key = binding
                self.unbind(exchange, key)
                self._bindings[binding] = self._bind(binding)

    def make_again(self, lost: adapter.Subscription) -> None:
        """Make it again, with its bindings: a lost connection has deleted it.

        lost: its subscription then; nothing is done if another consumer has made it again. If the
        connection is lost once more meanwhile, the next call makes all of it. Raises BackedOut
        then, or ConnectionBroken.
        """
        with self._lock:
            if self.subscription is not lost and self._is_whole:
                return
            self._is_whole = False
            self.close()
            self._bindings = dict.fromkeys(self._bindings)
            self.subscription = self._subscribe()
            for binding in self._bindings:
                self._bindings[binding] = self._bind(binding)
            self._is_whole = True

    def unbind(self, exchange: str, key: str) -> None:
        """End bindings to an exchange."""
        with self._lock:
            for binding in [one for one in self._bindings if (one[0], one[2]) == (exchange, key)]:
                bound = self._bindings.pop(binding)
                if bound is not None:
                    bound.close()

    def close(self) -> None:
        """Delete it."""
        with self._lock:
            for one in (*self._bindings.values(), self.subscription):
                if one is not None:
                    with suppress(Error):  # it is gone with a lost connection
                        one.close()

    def _bind(self, binding: Binding) -> adapter.Subscription:
        exchange, _, key = binding
        to = self.subscription.name
        try:
            return self._qm.subscribe(
                binding_topic(*binding),
                name=subscription_name(to, exchange, key),
                destination=to,
                retained=False,
            )
        except QueueNotFound as gone:
            text = "its temporary queue went with a lost connection: bind it again"
            raise BackedOut(text, self._name) from gone

    def _subscribe(self) -> adapter.Subscription:
        return self._qm.subscribe(binding_topic("", "direct", self._name))


class ProcessLink:
    """A connection, its temporary queues, and the way of a message to queues."""

    def __init__(self, qm: adapter.Connection) -> None:
        self.qm = qm
        self.users = 0
        self._pid = os.getpid()
        self._lock = threading.RLock()
        self._temporary: dict[str, TemporaryQueue] = {}
        self._elsewhere: dict[str, None] = {}

    @property
    def is_inherited(self) -> bool:
        """Whether it is the link of a parent process, which this forked child must leave alone."""
        return self._pid != os.getpid()

    def temporary(self, queue: str) -> TemporaryQueue | None:
        """Return a temporary queue of this process."""
        return self._temporary.get(queue)

    def consume_temporary(self, queue: str) -> TemporaryQueue | None:
        """Return a temporary queue of this process, which has one consumer more."""
        with self._lock:
            temporary = self.temporary(queue)
            if temporary is not None:
                temporary.consumers += 1
            return temporary

    def end_consumer(self, queue: str) -> None:
        """Note that a consumer is cancelled: the last one of a temporary queue deletes it."""
        with self._lock:
            temporary = self.temporary(queue)
            if temporary is None:
                return
            temporary.consumers -= 1
            if not temporary.consumers:
                self.drop_temporary(queue)

    def declare_temporary(self, queue: str) -> None:
        """Make a temporary queue, if it is not there.

        Raises ChannelError if there is a permanent one of this name, to which puts would go.
        """
        with self._lock:
            if queue in self._temporary:
                return
            with suppress(NotAuthorized):  # puts of this user find no permanent queue
                if queues.exists(self.qm, queue_name(queue)):
                    raise precondition_failed(
                        f"queue {queue!r} exists, and is neither auto_delete nor exclusive: use "
                        "another name, or declare it without these"
                    )
            self._temporary[queue] = TemporaryQueue(self.qm, queue)

    def drop_temporary(self, queue: str) -> None:
        """Delete a temporary queue, or forget one that a lost connection has deleted."""
        with self._lock:
            dropped = self._temporary.pop(queue, None)
        if dropped is not None:
            dropped.close()

    def define(self, queue: str, attributes: dict[str, Any]) -> None:
        """Define a permanent queue. If it exists, its attributes stay as they are.

        Raises ChannelError if a temporary queue of this process has the name, and its consumers.
        """
        if self.temporary(queue) is not None:
            raise precondition_failed(
                f"queue {queue!r} of this process is auto_delete or exclusive: use another name, "
                "or declare it with the same arguments as before"
            )
        queues.define(self.qm, queue_name(queue), **attributes)

    def bind(self, queue: str, binding: Binding) -> None:
        """Have what is published on an exchange come to a queue."""
        if (temporary := self.temporary(queue)) is not None:
            temporary.bind(binding)
            return
        exchange, _, key = binding
        name = queue_name(queue)
        self._bind(subscription_name(name, exchange, key), name, binding_topic(*binding))

    def unbind(self, queue: str, exchange: str, key: str) -> None:
        """End a binding."""
        if (temporary := self.temporary(queue)) is not None:
            temporary.unbind(exchange, key)
            return
        self._delete_subscription(subscription_name(queue_name(queue), exchange, key))

    def delete(self, queue: str, *, if_empty: bool = False) -> int:
        """Delete a queue with its bindings; return how many messages it had.

        Raises QueueInUse, and QueueNotEmpty with if_empty; then its bindings stay.
        """
        depth = self.depth(queue)
        if self.temporary(queue) is not None:
            self.drop_temporary(queue)
            return depth
        name = queue_name(queue)
        # Bindings first: what is published meanwhile must not find one that leads nowhere. Those of
        # a queue that is in use stay: it is not deleted.
        bound = [] if self._is_in_use(name) else self._bound(name)
        for one in bound:
            self._delete_subscription(one.name)
        try:
            with suppress(QueueNotFound):
                self.qm.delete_queue(name, purge=not if_empty)
        except (QueueInUse, QueueNotEmpty):
            for one in bound:
                self._bind(one.name, name, one.attributes["topic_string"])
            raise
        for one in self._bound(name):
            self._delete_subscription(one.name)
        return depth

    def has(self, queue: str) -> bool:
        """Whether there is such a queue."""
        return self.temporary(queue) is not None or queues.exists(self.qm, queue_name(queue))

    def depth(self, queue: str) -> int:
        """Return how many messages are on a queue; 0 if it does not exist."""
        with suppress(QueueNotFound):
            return self._queue(queue).depth()
        return 0

    def purge(self, queue: str) -> int:
        """Discard the messages of a queue that no unit holds; return how many."""
        with suppress(QueueNotFound):
            return self._queue(queue).purge()
        return 0

    def put(self, queue: str, body: bytes, fields: dict[str, Any]) -> bool:
        """Put a message on a queue by its name; whether there is one."""
        if queue in self._elsewhere:
            if self.publish("", queue, body, fields):
                return True
            self._elsewhere.pop(queue, None)
        try:
            self.qm.put(queue_name(queue), body, **fields)
        except (QueueNotFound, NotAuthorized) as refused:  # who may not put hears no more than that
            if not self.publish("", queue, body, fields):
                if isinstance(refused, NotAuthorized):
                    raise
                return False
            self._note_elsewhere(queue)
        return True

    def publish(self, exchange: str, key: str, body: bytes, fields: dict[str, Any]) -> bool:
        """Publish a message on an exchange; whether it has reached a queue."""
        topic = publication_topic(exchange, key)
        return bool(self.qm.publish(topic, body, **fields).subscriptions)

    def _bind(self, subscription: str, name: str, topic: str) -> None:
        """Have what is published on a topic come to a permanent queue, if that is not defined.

        A binding takes the place of one to an exchange of this name when it was of another type.
        """
        to: dict[str, Any] = {"topic_string": topic, "destination": name}
        with suppress(SubscriptionExists):
            self.qm.define_object("subscription", subscription, **to)
            return
        for one in self.qm.objects("subscription", subscription):
            if one.attributes["topic_string"] != topic:
                self._delete_subscription(subscription)
                self._bind(subscription, name, topic)

    def _bound(self, name: str) -> list[Any]:
        """Return the subscriptions that stand for bindings of a permanent queue."""
        return list(self.qm.objects("subscription", f"{bindings_of(name)}*"))

    def _is_in_use(self, name: str) -> bool:
        return any(
            one.open_input_count or one.open_output_count or one.uncommitted
            for one in self.qm.queue_status(name)
        )

    def _queue(self, queue: str) -> adapter.Queue:
        temporary = self.temporary(queue)
        return self.qm.queue(queue_name(queue)) if temporary is None else temporary.subscription

    def _note_elsewhere(self, queue: str) -> None:
        with self._lock:
            self._elsewhere[queue] = None
            while len(self._elsewhere) > ELSEWHERE_MAX:
                del self._elsewhere[next(iter(self._elsewhere))]

    def _delete_subscription(self, name: str) -> None:
        with suppress(SubscriptionNotFound):
            self.qm.delete_object("subscription", name)


class _OfProcess:
    """The links of one process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.links: dict[Hashable, ProcessLink] = {}


class ProcessLinks:
    """The links of this process. A forked child begins without any."""

    def __init__(self) -> None:
        self._each: EachProcess[_OfProcess] = EachProcess(_OfProcess)

    def acquire(self, key: Hashable, connect: Callable[[], adapter.Connection]) -> ProcessLink:
        """Return the link of these parameters, connecting for the first."""
        mine = self._each.mine()
        with mine.lock:
            link = mine.links.get(key)
            if link is None or link.qm.is_closed:
                link = mine.links[key] = ProcessLink(connect())
            link.users += 1
            return link

    def release(self, key: Hashable, link: ProcessLink) -> None:
        """Close a link if no transport uses it any more."""
        mine = self._each.mine()
        with mine.lock:
            link.users -= 1
            if link.users:
                return
            if mine.links.get(key) is link:
                del mine.links[key]
        link.qm.close()
