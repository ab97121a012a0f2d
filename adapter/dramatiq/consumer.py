"""The messages of one queue as a worker of dramatiq gets, acknowledges and rejects them.

This module does not know how messages are put.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from dramatiq import Consumer, Message, MessageProxy, get_encoder
from dramatiq.common import xq_name
from dramatiq.errors import DecodeError
from dramatiq.logging import get_logger

import adapter
from adapter.dramatiq.connection import in_dramatiqs_names
from adapter.frameworks.names import queue_name
from adapter.frameworks.rejected import LOST, end_rejected
from adapter.frameworks.units import SpareUnit, give_back

_KINDS: dict[str, type | tuple[type, ...]] = {
    "queue_name": str,
    "actor_name": str,
    "args": (list, tuple),
    "kwargs": dict,
    "options": dict,
    "message_id": str,
    "message_timestamp": int,
}
"""What the fields of a message are; dramatiq does not look."""


class MqkMessage(MessageProxy):
    """A message that a unit holds until it is acknowledged."""

    def __init__(
        self, message: Message[Any], got: adapter.Message, unit: adapter.Unit, consumer: MqkConsumer
    ) -> None:
        super().__init__(message)
        self.redelivered = got.backout_count > 0
        self.got = got
        self.unit = unit
        self.consumer = consumer
        self.is_held = True
        """Whether it was neither acknowledged, rejected nor requeued."""


class MqkConsumer(Consumer):
    """An iterator over the messages of a queue. None: no message came in time.

    A message that it has returned stays held when the consumer is closed: a worker that makes a new
    consumer goes on with the messages that it has, and acknowledges them to the new one.
    """

    def __init__(
        self,
        qm: adapter.Connection,
        queue: str,
        prefetch: int,
        timeout_s: float,
        dead_message_ttl_s: float | None,
        define: Callable[[], None] | None = None,
    ) -> None:
        """define: defines the queue and that of its dead letters, if one was deleted."""
        self.logger = get_logger(__name__, type(self))  # type: ignore[no-untyped-call]
        self._qm = qm
        self._queue = qm.queue(queue_name(queue))
        self._dead_letters = queue_name(xq_name(queue))
        self._prefetch = prefetch
        self._timeout_s = timeout_s
        self._dead_message_ttl_s = dead_message_ttl_s
        self._define = define
        self._spare = SpareUnit(qm)
        self._changed = threading.Condition()
        self._held = 0

    def __next__(self) -> MqkMessage | None:
        """Return the next message, None if none comes in time, or enough of them are held.

        Raises ConnectionClosed.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._held < self._prefetch, self._timeout_s):
                return None
        with in_dramatiqs_names(), self._spare.lent() as spare:
            got = self._queue.get(timeout=self._timeout_s, unit=spare)
            if got is None:
                return None
            unit = self._spare.take()
        try:
            message = _decode(got.body)
        except DecodeError:
            self.logger.exception("Failed to decode message using encoder %r.", get_encoder())
            with in_dramatiqs_names():
                self._bury(got, unit)
            return None
        with self._changed:
            self._held += 1
        return MqkMessage(message, got, unit, self)

    def ack(self, message: MessageProxy) -> None:
        """End a message: it is gone for good when this returns."""
        held = self._release(message)
        if held is not None:
            with self._loss_noted(held):
                held.unit.commit()

    def nack(self, message: MessageProxy) -> None:
        """Move a message to the dead letters of its queue."""
        held = self._release(message)
        if held is not None:
            with self._loss_noted(held):
                self._bury(held.got, held.unit)

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Put messages back in their places: the worker stops, and has not begun them."""
        for message in messages:
            held = self._release(message)
            if held is not None:
                give_back(held.unit, counted=False)

    def close(self) -> None:
        """Close the queue."""
        self._spare.close()
        self._queue.close()

    def _bury(self, got: adapter.Message, unit: adapter.Unit) -> None:
        """Make a message a dead letter, of its queue or else of the queue manager."""
        end_rejected(
            self._qm,
            unit,
            got,
            self._queue.name,
            self._dead_letters,
            define=self._define,
            expiry_s=self._dead_message_ttl_s,
        )

    def _release(self, message: MessageProxy) -> MqkMessage | None:
        """Let the consumer that has returned a message get another one; None: no unit holds it."""
        if not isinstance(message, MqkMessage) or not message.is_held:
            self.logger.warning("Message %r is not held by this worker.", message.message_id)
            return None
        returned_by = message.consumer
        with returned_by._changed:
            message.is_held = False
            returned_by._held -= 1
            returned_by._changed.notify_all()
        return message

    @contextmanager
    def _loss_noted(self, message: MqkMessage) -> Iterator[None]:
        """Say that a message comes again if its unit was lost with the connection.

        If that was raised, dramatiq would try to acknowledge the message for ever. After any other
        error it does not try again: a unit that is open then is backed out.
        """
        try:
            yield
        except LOST as error:
            self.logger.warning(
                "Message %r comes again, because the connection was lost meanwhile: %s",
                message.message_id,
                error,
            )
        finally:
            give_back(message.unit, counted=True)


def _decode(body: bytes) -> Message[Any]:
    """Decode a message. Raises DecodeError for one that would end a worker which looks at it."""
    try:
        message: Message[Any] = Message.decode(body)
        eta = message.options.get("eta")
    except DecodeError:
        raise
    except Exception as error:  # encoders raise what they like
        raise _no_message(body, error) from error
    is_sound = all(isinstance(getattr(message, name), kind) for name, kind in _KINDS.items())
    if not is_sound or not isinstance(eta, int | float | None):
        raise _no_message(body, TypeError("a field has a value of a wrong type"))
    return message


def _no_message(body: bytes, error: Exception) -> DecodeError:
    return DecodeError("it is no message", body, error)  # type: ignore[no-untyped-call]
