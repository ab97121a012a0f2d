"""Temporary queues: what kombu calls exclusive or auto_delete.

One is a subscription that lives as long as its connection, with the queue that the queue manager
makes for it. After a lost connection the SDK has subscribed again, and the queue has another name;
its bindings, which name the former queue, are gone. So a queue knows for which name it is bound,
and whatever uses it compares that.

This module does not know whose queues they are.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from amqp.exceptions import ConsumerCancelled

import adapter
from adapter.errors import BackedOut, Error, NotAuthorized, NotOpen, QueueNotFound
from adapter.kombu.naming import binding_topic, subscription_name

Binding = tuple[str, str, str]
"""Exchange, its type, and key."""


class TemporaryQueue:
    """A queue that is gone with the connection, or when its last consumer is cancelled."""

    def __init__(self, qm: adapter.Connection, name: str) -> None:
        """name: as kombu has it."""
        self.consumers = 0
        self.is_exclusive = False
        """Whether it is gone with the last of its declarers."""
        self.declarers: set[int] = set()
        self.is_dropped = False
        self._qm = qm
        self._name = name
        self._bindings: dict[Binding, adapter.Subscription | None] = {}
        """What is to be bound, and by what it is: None until that is made again."""
        self._is_whole = True
        self._waiting: set[adapter.CancelToken] = set()
        self._lock = threading.RLock()
        """Held while it is bound or made again: threads share it, and a message comes once."""
        self.subscription = self._subscribe()
        self._bound_to = self.subscription.name

    @property
    def is_whole(self) -> bool:
        """Whether it has all its bindings: not if it was lost, and is not made again yet."""
        return self._is_whole and self.subscription.name == self._bound_to

    def bind(self, binding: Binding) -> None:
        """Have what is published on an exchange from now on come here too.

        It takes the place of a binding to the exchange when that was of another type. Raises
        BackedOut if the queue went with a lost connection.
        """
        with self._lock:
            self.restore()
            if binding not in self._bindings:
                exchange, _, key = binding
                self.unbind(exchange, key)
                self._bindings[binding] = self._bind(binding)

    def restore(self) -> None:
        """Bind it again, if its connection was lost: what has come to it since then stays.

        Raises BackedOut if the connection is lost once more meanwhile.
        """
        with self._lock:
            if self.is_dropped:
                return
            self.depth()  # an answer: a loss that was not noticed before is noticed now
            if not self._is_whole:
                self.make_again(self.subscription)
            elif self.subscription.name != self._bound_to:
                self._is_whole = False
                self._bind_again()

    def depth(self) -> int:
        """Return how many messages are on it, 0 if that cannot be known."""
        while True:
            name = self.subscription.name
            try:
                return self.subscription.depth()
            except (QueueNotFound, NotAuthorized, NotOpen):
                if self.subscription.name == name:
                    return 0

    def get(self, unit: adapter.Unit | None) -> adapter.Message | None:
        """Get its next message, for good without a unit; None if it has none. If its bindings have
        gone, it has them again when this returns.
        """
        inside = adapter.NO_UNIT if unit is None else unit
        got = self.subscription.get(timeout=0.0, unit=inside)
        if not self.is_whole:
            self.restore()
        return got

    def make_again(self, lost: adapter.Subscription) -> None:
        """Make it again, with its bindings: a lost connection has deleted it.

        lost: its subscription then; nothing is done if another consumer has made it again. If the
        connection is lost once more meanwhile, the next call makes all of it. Raises BackedOut
        then, or ConnectionBroken.
        """
        with self._lock:
            if self.is_dropped or (self.subscription is not lost and self._is_whole):
                return
            self._is_whole = False
            self._close()
            self._bindings = dict.fromkeys(self._bindings)
            self.subscription = self._subscribe()
            self._bind_again()

    def unbind(self, exchange: str, key: str) -> None:
        """End bindings to an exchange."""
        with self._lock:
            for binding in [one for one in self._bindings if (one[0], one[2]) == (exchange, key)]:
                bound = self._bindings.pop(binding)
                if bound is not None:
                    with suppress(Error):  # it went with a lost connection
                        bound.close()

    def drop(self) -> None:
        """Delete it: its consumers, if any are left, are cancelled."""
        with self._lock:
            self.is_dropped = True
            self._close()
        for token in list(self._waiting):
            token.cancel()

    @contextmanager
    def waiting(self, token: adapter.CancelToken | None) -> Iterator[None]:
        """Let a get wait that the deletion of the queue ends. Raises ConsumerCancelled if it is."""
        if token is not None:
            self._waiting.add(token)
        try:
            self.check_there()
            yield
        except NotOpen:
            self.check_there()
            raise
        finally:
            if token is not None:
                self._waiting.discard(token)

    def check_there(self) -> None:
        """Raise ConsumerCancelled if it was deleted, as by another connection of the process."""
        if self.is_dropped:
            raise ConsumerCancelled(
                f"CONSUMER_CANCELLED - queue {self._name!r} was deleted: declare it again",
                (60, 20),
                "Channel.basic_consume",
            )

    def _close(self) -> None:
        for one in (*self._bindings.values(), self.subscription):
            if one is not None:
                with suppress(Error):  # it is gone with a lost connection
                    one.close()

    def _bind_again(self) -> None:
        """Bind what is subscribed as it was bound before."""
        self._bound_to = self.subscription.name
        for binding, bound in self._bindings.items():
            if bound is not None:
                with suppress(Error):  # it went with a lost connection
                    bound.close()
            self._bindings[binding] = self._bind(binding)
        self._is_whole = True

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
