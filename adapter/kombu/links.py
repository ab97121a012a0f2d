"""The connection of a process to a queue manager, shared by all transports of the process.

It is shared because of temporary queues. They belong to the connection that has declared them, and
Celery declares the queue of its results on one connection and consumes from it on another.

A temporary queue is a subscription: nothing of it is on Kafka, and nothing stays behind when a
process dies. Programs that put to a queue by its name publish on
the default exchange if there is no permanent queue of this name.

This module does not know what is in a message.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

from kombu.exceptions import ChannelError

import adapter
from adapter.errors import (
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
from adapter.kombu.exchanges import Exchanges
from adapter.kombu.held import HeldOfProcess
from adapter.kombu.naming import (
    binding_topic,
    bindings_of,
    publication_topic,
    subscription_name,
)
from adapter.kombu.temporary import Binding, TemporaryQueue
from adapter.kombu.unsupported import precondition_failed

ELSEWHERE_MAX = 1_000
"""Queues of other programs that are known to be temporary; those of results, one a client."""


class ProcessLink:
    """A connection, its temporary queues, and the way of a message to queues."""

    def __init__(self, qm: adapter.Connection) -> None:
        self.qm = qm
        self.users = 0
        self.exchanges = Exchanges(qm)
        self.held = HeldOfProcess()
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

    def end_consumer(self, temporary: TemporaryQueue) -> None:
        """Note that a consumer is cancelled: the last one of a temporary queue deletes it."""
        with self._lock:
            temporary.consumers -= 1
            if not temporary.consumers:
                self._drop(temporary)

    def declare_temporary(self, queue: str, *, declarer: int | None = None) -> None:
        """Make a temporary queue, if it is not there; one that a lost connection has deleted has
        its bindings again.

        declarer: whose it is, if it is exclusive; see end_declarer(). Raises ChannelError if there
        is a permanent one of this name, to which puts would go.
        """
        with self._lock:
            known = self._temporary.get(queue)
            if known is None:
                with suppress(NotAuthorized):  # puts of this user find no permanent queue
                    if queues.exists(self.qm, queue_name(queue)):
                        raise precondition_failed(
                            f"queue {queue!r} exists, and is neither auto_delete nor exclusive: "
                            "use another name, or declare it without these"
                        )
                known = self._temporary[queue] = TemporaryQueue(self.qm, queue)
                known.is_exclusive = declarer is not None
            else:
                known.restore()
            if declarer is None:
                known.is_exclusive = False
            else:
                known.declarers.add(declarer)

    def end_declarer(self, declarer: int) -> None:
        """Delete the exclusive queues whose last declarer this was, and that have no consumers."""
        with self._lock:
            for temporary in list(self._temporary.values()):
                temporary.declarers.discard(declarer)
                if temporary.is_exclusive and not (temporary.declarers or temporary.consumers):
                    self._drop(temporary)

    def drop_temporary(self, queue: str) -> None:
        """Delete a temporary queue, or forget one that a lost connection has deleted.

        Consumers that it has left are cancelled.
        """
        with self._lock:
            dropped = self._temporary.get(queue)
            if dropped is not None:
                self._drop(dropped)

    def restore_temporary(self) -> None:
        """Bind the temporary queues again: a lost connection has been made again."""
        for temporary in list(self._temporary.values()):
            with suppress(Error):  # whatever uses it next restores it
                temporary.restore()

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
            self._delete_queue(queue, purge=not if_empty)
        except (QueueInUse, QueueNotEmpty, ChannelError):
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
        if (temporary := self.temporary(queue)) is not None:
            return temporary.depth()
        return self._with_local(queue, adapter.Queue.depth)

    def purge(self, queue: str) -> int:
        """Discard the messages of a queue that no unit holds; return how many."""
        if (temporary := self.temporary(queue)) is not None:
            with suppress(QueueNotFound):
                return temporary.subscription.purge()
            return 0
        return self._with_local(queue, adapter.Queue.purge)

    def get(self, queue: str, unit: adapter.Unit | None) -> adapter.Message | None:
        """Get the next message of a queue, for good without a unit; None if the queue has none."""
        if (temporary := self.temporary(queue)) is not None:
            return temporary.get(unit)
        inside = adapter.NO_UNIT if unit is None else unit
        return self.qm.get(queue_name(queue), unit=inside)

    def put(self, queue: str, body: bytes, fields: dict[str, Any]) -> bool:
        """Put a message on a queue by its name; whether there is one."""
        if not queue:
            return False  # no queue has an empty name
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

    def _with_local(self, queue: str, act: Callable[[adapter.Queue], int]) -> int:
        """Do something with a permanent queue, or the one that its alias leads to; 0: no queue."""
        name = queue_name(queue)
        with suppress(QueueNotFound):
            return act(self.qm.queue(name))
        with suppress(QueueNotFound):
            local = queues.local_name(self.qm, name)
            return 0 if local == name else act(self.qm.queue(local))
        return 0

    def _delete_queue(self, queue: str, *, purge: bool) -> None:
        try:
            self.qm.delete_queue(queue_name(queue), purge=purge)
        except QueueNotFound:
            with suppress(NotAuthorized):
                if queues.exists(self.qm, queue_name(queue)):
                    raise precondition_failed(
                        f"queue {queue!r} is an alias of another: an administrator deletes it"
                    ) from None

    def _drop(self, temporary: TemporaryQueue) -> None:
        for queue in [name for name, one in self._temporary.items() if one is temporary]:
            del self._temporary[queue]
        temporary.drop()

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
        self.connecting: dict[Hashable, threading.Lock] = {}
        """Held while a link of these parameters is made: only those with the same ones wait for
        it. As many as a program has parameters."""


class ProcessLinks:
    """The links of this process. A forked child begins without any."""

    def __init__(self) -> None:
        self._each: EachProcess[_OfProcess] = EachProcess(_OfProcess)

    def acquire(self, key: Hashable, connect: Callable[[], adapter.Connection]) -> ProcessLink:
        """Return the link of these parameters, connecting for the first."""
        mine = self._each.mine()
        with mine.lock:
            connecting = mine.connecting.setdefault(key, threading.Lock())
        with connecting:
            with mine.lock:
                link = mine.links.get(key)
                if link is not None and not link.qm.is_closed:
                    link.users += 1
                    return link
            made = ProcessLink(connect())
            with mine.lock:
                mine.links[key] = made
                made.users += 1
                return made

    def restore(self, qm: adapter.Connection) -> None:
        """Have a link whose connection was made again bind its temporary queues again."""
        mine = self._each.mine()
        with mine.lock:
            links = [link for link in mine.links.values() if link.qm is qm]
        for link in links:
            link.restore_temporary()

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
