"""Subscriptions: a callback for each event of the queues, while the session lives; or a message.

A program that must not miss an event has it put to a queue. This module does not know what causes
an event.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from msgspec import Struct

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.closing import Closing
from adapter.core.contract import broker as b
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import QueueDescription
from adapter.errors import Error
from adapter.host import watched
from adapter.servicebroker import arguments as a
from adapter.servicebroker.catalog import Catalog
from adapter.servicebroker.errors import InvalidArgument, InvalidArgumentType, ServiceBrokerError
from adapter.servicebroker.events import Following, Outage

log = logging.getLogger("adapter.servicebroker")

WAIT_MS = 1_000
"""A wait for events, after which a subscription looks whether it is closed."""
MISSED = (
    "subscription to %s: the callback may not have been called with some events, because the queue "
    "manager has started again, or too many came at once: look at the queues"
)


class QueueEvent(Struct, frozen=True):
    """Something that happened to a queue. details: what else is known, by name."""

    event: str
    queue: str
    time: datetime
    details: dict[str, str]


class EventSubscription(Closing):
    """A subscription; as a context manager it is closed when the context is left."""

    def __init__(self, close: Callable[[], None]) -> None:
        self._close = close
        self._closed = False

    def close(self) -> None:
        """End it: a callback that runs comes to its end, and no other is called. If it fails, it
        may be called again.
        """
        if not self._closed:
            self._close()
            self._closed = True  # not before: else a notification whose drop failed stays


class Subscribing(Catalog):
    """SUBSCRIBE: to what happens to queues."""

    channel: Channel

    def subscribe(
        self,
        callback: Callable[[QueueEvent], object] | None = None,
        *,
        event: str = b.QUEUE_DISABLED,
        queue: str | None = None,
    ) -> EventSubscription:
        """Have events noticed: callback is called with each, in a thread of its own; or a message
        about each is put to a queue (an event notification, which is dropped by close()).

        event: BROKER_QUEUE_DISABLED or QUEUE_ACTIVATION.
        """
        event = a.as_option("event", event)
        if event not in b.EVENTS:
            raise InvalidArgument(f"event is one of {', '.join(b.EVENTS)}, not {event!r}")
        if (callback is None) == (queue is None):
            raise InvalidArgument("give a callback or a queue, one of them")
        if queue is not None:
            name = f"subscription {uuid4()}"
            self.create_event_notification(name, queue, event=event)
            return EventSubscription(lambda: self._drop_notification(name))
        if not callable(callback):
            raise InvalidArgumentType(f"callback is a callable, not {callback!r}")
        return _Watch(self, event, callback).subscription

    def _drop_notification(self, name: str) -> None:
        """Drop the notification of a subscription, which may have gone with its queue, or by an
        attempt whose answer was lost.
        """
        try:
            self.drop_event_notification(name)
        except ServiceBrokerError as problem:
            if problem.refused is not Reason.OBJECT_NOT_FOUND:
                raise


class _Watch:
    """The thread that waits for events and calls the callback."""

    def __init__(
        self, session: Subscribing, event: str, callback: Callable[[QueueEvent], object]
    ) -> None:
        self._session, self._event, self._callback = session, event, callback
        self._ended = threading.Event()
        self._following = Following(event)
        self._following.read(session, 0)
        what = f"subscription to {event}"
        self._outage = Outage(what, self._ended)
        self._thread = watched.thread(what, self._run, self._report)
        self.subscription = EventSubscription(self._close)

    def _run(self) -> None:
        """Call the callback, through outages of any length, until the session or this is closed."""
        while not self._ended.is_set():
            try:
                found, has_missed = self._following.read(self._session, WAIT_MS)
            except Error as problem:
                if self._session.channel.is_closed:
                    return
                self._outage.wait(problem)
                continue
            self._outage.over()
            if has_missed:
                log.warning(MISSED, self._event)
            for one in found:
                if not self._ended.is_set():
                    self._call(one)

    def _call(self, one: QueueDescription) -> None:
        shown: Any = one.attributes
        time = datetime.fromtimestamp(shown["time_ms"] / 1000, UTC)
        try:
            self._callback(QueueEvent(shown["event"], one.name, time, dict(shown["details"])))
        except Exception:
            log.exception("the callback for event %s of queue %s failed", shown["event"], one.name)

    def _report(self, sentence: str) -> None:
        log.error("%s; no event reaches the callback any more", sentence)

    def _close(self) -> None:
        self._ended.set()
        if threading.current_thread() is not self._thread:
            self._thread.join()
