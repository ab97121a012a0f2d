"""What a front asks of the state of a queue manager before it passes a request on.

It only reads. This module must not know connections, nor what the answers are used for.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import fields

from adapter.core import dispatch
from adapter.core.attributes.objects import (
    KINDS,
    QUEUE_MANAGER,
    AliasAttributes,
    AuthInfoAttributes,
)
from adapter.core.contract.authorities import Denial, words_of
from adapter.core.contract.channel_rules import SetChannelRule
from adapter.core.contract.reasons import Refusal
from adapter.core.contract.visitors import VisitorDecision, VisitorRequest
from adapter.core.model.broker_queue import key_of
from adapter.core.model.channel_security import why_not_by
from adapter.core.model.manager import QueueManager

TIMES = frozenset({"created_ms", "altered_ms"})
"""Attributes that change with every command."""


class Inquiries:
    """Questions about one queue manager; while none is served, each has a plain answer."""

    def __init__(self, qm: QueueManager | None) -> None:
        self._qm = qm

    @property
    def password_check(self) -> str:
        """CHCKCLNT of the object that CONNAUTH names; "" if it names none."""
        qm = self._qm
        found = None if qm is None else qm.objects.get(("authinfo", qm.attributes.connection_auth))
        return found.check_client if isinstance(found, AuthInfoAttributes) else ""

    def why_not_by(
        self, channel: str, *, is_encrypted: bool, subject: tuple[tuple[str, str], ...]
    ) -> str:
        """Say why a client may not connect by a channel; "" if it may. subject: the parts of the
        name in its certificate, each by its short word.
        """
        if self._qm is None:
            return ""
        return why_not_by(self._qm, channel, is_encrypted=is_encrypted, subject=subject)

    def alias_target(self, name: str) -> str:
        """The queue that an alias of this name leads to; "" if it is not an alias."""
        alias = None if self._qm is None else self._qm.objects.get(("alias", name))
        return alias.target if isinstance(alias, AliasAttributes) else ""

    def lacks(self, connection: int, command: str, bits: int) -> Denial | None:
        """Which of these authorities on the queue manager itself a connection does not have."""
        qm = self._qm
        if qm is None or connection not in qm.connections:
            return None
        return dispatch.lacks(qm, connection, command, bits)

    def judge(self, asked: VisitorRequest) -> VisitorDecision | None:
        """Whether who has no connection may do something; None without a queue manager."""
        return None if self._qm is None else dispatch.judge(self._qm, asked)

    def may_change(self, connection: int, queue: str) -> bool:
        """Whether the principal of a connection administers a queue."""
        qm = self._qm
        return (
            qm is not None
            and connection in qm.connections
            and (dispatch.may_change(qm, connection, queue))
        )

    def attributes_of(self, kind: str, name: str) -> dict[str, Any] | None:
        """The attributes of an object that are not as they are by default; None: it is not there.

        kind: of core.attributes.objects.KINDS; any other one is of queues.
        """
        qm = self._qm
        if qm is None:
            return None
        if kind == QUEUE_MANAGER:
            found: Struct | None = qm.attributes
        elif kind in KINDS and kind != "queue":
            found = qm.objects.get((kind, name))
        else:
            queue = qm.queues.get(name) or qm.queues.get(key_of(name))
            found = queue.attributes if queue is not None else None
        if found is None:
            return None
        return fields_of(found, TIMES)

    def authorities_of(
        self, object_type: str, profile: str, users: list[str], groups: list[str]
    ) -> dict[str, str] | None:
        """What users and groups have by a profile, in words; None without a queue manager."""
        if self._qm is None:
            return None
        of = [(one, False) for one in users] + [(one, True) for one in groups]
        held = self._qm.authorities.get
        return {
            _entity(entity, is_group): _words(bits)
            for entity, is_group in of
            if (bits := held(profile, object_type, entity, is_group)) is not None
        }

    def permissions_of(self, command: Any) -> dict[str, str] | None:
        """What users and groups have by the records that a command may change, in words."""
        if self._qm is None:
            return None
        try:
            found = dispatch.permissions_of(self._qm, command)
        except Refusal:
            return None  # of a name that no object can have
        return {_entity(one.entity, one.is_group): _words(one.bits) for one in found}

    def channel_rules_of(self, command: SetChannelRule) -> dict[str, Any] | None:
        """The channel authentication records that a command may change, by what they are of."""
        if self._qm is None:
            return None
        found = dispatch.channel_rules_of(self._qm, command)
        return {" ".join(filter(None, one.key)): fields_of(one) for one in found}

    def queue_of(self, connection: int, handle: int) -> str:
        """The name of the queue that a connection has open under a handle; "" if it has none."""
        known = None if self._qm is None else self._qm.connections.get(connection)
        found = known.handles.get(handle) if known is not None else None
        return found.name if found is not None else ""


def fields_of(found: Struct, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the fields that are not as they are by default."""
    rows = (
        (one.name, getattr(found, one.name), one.default)
        for one in fields(found)
        if one.name not in without
    )
    return {name: value for name, value, default in rows if value not in (default, [])}


def _entity(name: str, is_group: bool) -> str:
    return f"{'group' if is_group else 'user'} {name}"


def _words(bits: int) -> str:
    return " ".join(words_of(bits)) or "none"
