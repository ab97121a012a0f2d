"""The audit in the log: who gave which administrative command to which object, and its outcome.

A line is written when the outcome is known, which is when it is durable. Commands that move
messages are not administrative. This module knows what commands are called, not what they do.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import structlog
from msgspec import Struct

from adapter.core.attributes.objects import QUEUE_MANAGER
from adapter.core.contract import broker, msmq
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused, Result
from adapter.core.model.connection import Party
from adapter.core.model.manager import Reply
from adapter.owner.inquiries import Inquiries

QueueOf = Callable[[int], str]
"""Names the queue that is open under a handle."""
ObjectName = tuple[str, str]
"""What a command is called, and the object that it is about."""
Describe = Callable[[Any, QueueOf], ObjectName]

OF_COMMANDS = "mqk "
"""What the application begins with that a command of mqk says it is."""

log = structlog.get_logger("mqk.audit")


def _of_queue(verb: str, kind: str = "queue") -> Describe:
    return lambda command, _queue_of: (f"{verb} {kind}", command.name)


def _of_object(verb: str) -> Describe:
    def describe(command: Any, _queue_of: QueueOf) -> ObjectName:
        kind = "queue manager" if command.kind == QUEUE_MANAGER else command.kind
        return f"{verb} {kind}", command.name

    return describe


def _of_catalog(verb: str) -> Describe:
    return lambda command, _queue_of: (f"{verb} Service Broker {command.kind}", command.name)


def _of_handle(command: c.SetAttributes, queue_of: QueueOf) -> ObjectName:
    return "set attributes of queue", queue_of(command.handle)


AUDITED: Mapping[type[Struct], Describe] = {
    c.DefineQueue: _of_queue("define"),
    c.AlterQueue: _of_queue("alter"),
    c.DeleteQueue: _of_queue("delete"),
    c.PurgeQueue: _of_queue("purge"),
    c.SetAttributes: _of_handle,
    c.DefineObject: _of_object("define"),
    c.AlterObject: _of_object("alter"),
    c.DeleteObject: _of_object("delete"),
    c.EndConnection: lambda command, _queue_of: ("end connection", str(command.connection)),
    c.ClearRetained: lambda command, _queue_of: ("clear topic", command.topic_string),
    c.DeleteConsumer: lambda command, _queue_of: (
        "delete consumer", f"{command.queue}/{command.consumer}"
    ),
    msmq.MsmqCreate: lambda command, _queue_of: ("create MSMQ queue", command.path),
    msmq.MsmqAlter: _of_queue("alter", "MSMQ queue"),
    msmq.MsmqDelete: _of_queue("delete", "MSMQ queue"),
    msmq.MsmqPurge: lambda command, queue_of: ("purge MSMQ queue", queue_of(command.handle)),
    broker.BrokerCreate: _of_catalog("create"),
    broker.BrokerAlter: _of_catalog("alter"),
    broker.BrokerDrop: _of_catalog("drop"),
}  # fmt: skip
DETAILS = ("attributes", "replace", "purge")


class AuditTrail:
    """Notes administrative commands until they are answered."""

    def __init__(self) -> None:
        self._asked: dict[tuple[int, int], dict[str, Any]] = {}

    def asked(
        self, inquiries: Inquiries, connection: int, request: int, command: Any, party: Party | None
    ) -> None:
        """Note a command, if it is administrative. inquiries: know what handles are open."""
        describe = AUDITED.get(type(command))
        if describe is None:
            return
        what, name = describe(command, partial(inquiries.queue_of, connection))
        details = {one: value for one in DETAILS if (value := getattr(command, one, None))}
        self._asked[connection, request] = {
            "command": what, "object": name, **by(connection, party), **details
        }  # fmt: skip

    def answered(self, replies: list[Reply]) -> None:
        """Write what came of the administrative commands among these."""
        if not self._asked:
            return
        for reply in replies:
            noted = self._asked.pop((reply.connection, reply.request), None)
            if noted is not None:
                log.info("administrative command", **noted, **_outcome(reply.result))

    def gone(self, connection: int) -> None:
        """A connection has ended: what of its commands was not answered may have been done."""
        for key in [one for one in self._asked if one[0] == connection]:
            log.info("administrative command", **self._asked.pop(key), outcome="unknown")


def by(connection: int, party: Party | None) -> dict[str, Any]:
    """Say who it was."""
    who = party or Party()
    return {
        "user": who.user, "application": who.application, "address": who.address,
        "connection": connection,
    }  # fmt: skip


def level_of(party: Party) -> int:
    """Return the level at which a connection is logged: two lines a command hide all others."""
    return logging.DEBUG if party.application.startswith(OF_COMMANDS) else logging.INFO


def _outcome(result: Result) -> dict[str, str]:
    if not isinstance(result, Refused):
        return {"outcome": "done"}
    known = result.reason in set(Reason)
    reason = Reason(result.reason).name if known else str(result.reason)
    return {"outcome": "refused", "reason": reason}
