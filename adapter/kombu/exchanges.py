"""Exchanges and their types, known to all programs of a queue manager.

An exchange needs nothing at the queue manager but that its type is known: a binding to an exchange
of type topic is another subscription than one to the same name of type direct. So a declaration
keeps the type as a retained publication, on a topic of which no exchange is a part, and a binding
asks for it. A program that may not subscribe there knows what it has declared itself.

This module knows neither queues nor messages.
"""

from __future__ import annotations

from contextlib import suppress

from kombu.exceptions import ChannelError

import adapter
from adapter.errors import NotAuthorized, RetainedQueueError
from adapter.kombu.naming import type_topic
from adapter.kombu.unsupported import EXCHANGE_TYPES

PREDECLARED = {f"amq.{kind}": kind for kind in sorted(EXCHANGE_TYPES)}
"""The exchanges that every broker of AMQP has; kombu declares none of these."""
AUTO_DELETE_S = 86_400.0
"""So long the type of an auto_delete exchange is known after a declaration: its name is often used
once, and what is retained has a bound."""
DELETED_S = 1.0


class Exchanges:
    """The exchanges of a queue manager, as one connection of a process sees them."""

    def __init__(self, qm: adapter.Connection) -> None:
        self._qm = qm
        self._declared: dict[str, str] = {}

    def type_of(self, name: str) -> str | None:
        """Return the type of an exchange, None if it is not known."""
        if name in PREDECLARED:
            return PREDECLARED[name]
        kept: str | None = None
        with suppress(NotAuthorized):
            kept = self._read(name)
        return self._declared.get(name) if kept is None else kept or None

    def declare(self, name: str, kind: str, *, durable: bool, auto_delete: bool) -> None:
        """Declare an exchange. Raises ChannelError if it exists with another type."""
        kept, may_keep = PREDECLARED.get(name), False
        with suppress(NotAuthorized):
            if kept is None:
                kept, may_keep = self._read(name), True
        known = self._declared.get(name) if kept is None else kept
        if known and known != kind:
            raise ChannelError(
                f"PRECONDITION_FAILED - exchange {name!r} is of type {known}, not {kind}: declare "
                "it as it is, or delete it first",
                (40, 10),
                "Channel.exchange_declare",
                "406",
            )
        if may_keep and auto_delete:
            self._keep(name, kind, durable=False, expiry_s=AUTO_DELETE_S)
        elif may_keep and kept != kind:
            self._keep(name, kind, durable=durable, expiry_s=None)
        self._declared[name] = kind

    def delete(self, name: str) -> None:
        """Forget an exchange. Its bindings end with their queues."""
        if name in PREDECLARED:
            return
        with suppress(NotAuthorized):
            if self._read(name):
                self._keep(name, "", durable=False, expiry_s=DELETED_S)
        self._declared.pop(name, None)

    def _read(self, name: str) -> str | None:
        """Return what is kept of an exchange: its type, or "" if it was just deleted."""
        with self._qm.subscribe(type_topic(name)) as subscription:
            kept = subscription.get(timeout=0.0, unit=adapter.NO_UNIT)
        said = None if kept is None else kept.body.decode("ascii", "replace")
        return said if said in {"", *EXCHANGE_TYPES} else None

    def _keep(self, name: str, kind: str, *, durable: bool, expiry_s: float | None) -> None:
        with suppress(NotAuthorized, RetainedQueueError):  # then this process alone knows it
            self._qm.publish(
                type_topic(name), kind.encode(), retain=True, persistent=durable, expiry_s=expiry_s
            )
