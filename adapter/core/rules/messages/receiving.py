"""Receivers: for whom messages from other queue managers, and from Kafka, are put.

As on IBM MQ a receiver channel says it. MCAUSER is the user by whose authorities its messages are
put; with PUTAUT(CTX) it is the user in the context of each message, for whom MCAUSER stands in. A
receiver without MCAUSER is a part of the queue manager, and may do everything. The context of what
arrives is kept, which is a right of its own (setall).

A receiver is of the queue manager that its QMNAME names; those that no channel names have the one
of all others, and clients of Kafka, whose word their user is, have another. This module does not
know what becomes of a message that is refused.
"""

from __future__ import annotations

from typing import Final

from adapter.core.attributes.objects import AUTO_RECEIVER, KAFKA_RECEIVER, ChannelAttributes
from adapter.core.contract import authorities as a
from adapter.core.contract.channel_rules import ChannelRule
from adapter.core.contract.parties import Principal, Proof
from adapter.core.model.channel_rules import Caller
from adapter.core.model.manager import QueueManager
from adapter.core.model.references import RECEIVER
from adapter.core.rules.network import put_rights, routes
from adapter.core.rules.primitives.access import Asker

COMMAND: Final = "Receive"
"""What the log calls it."""


class ReceiverAuthority:
    """By whose authorities the messages of one source are put."""

    __slots__ = ("_by_context", "_may_none", "_own", "_qm")

    def __init__(
        self, qm: QueueManager, user: str, by_context: bool, may_none: bool = False
    ) -> None:
        """user: "": the queue manager itself. may_none: nothing may be put."""
        self._qm = qm
        own = Principal(user, Proof.CONTEXT if user else Proof.OWN)
        self._own = Asker(qm, 0, own, COMMAND)
        self._by_context = by_context
        self._may_none = may_none

    def may_put(self, name: str, queue_manager: str, user: str) -> bool:
        """Whether a message may be put where a name leads. user: in its context.

        What is missing is noted for the log.
        """
        checked = routes.checked_name(self._qm, name, queue_manager)
        return self._may_set_context(a.QUEUE, checked) and not put_rights.lacks(
            self._qm, self._putter(user), name, queue_manager
        )

    def may_send(self, service: str, user: str) -> bool:
        """The same of a message of Service Broker."""
        putter = self._putter(user)
        return self._may_set_context(a.SERVICE, service) and not putter.lacks(
            a.SERVICE, service, a.PUT
        )

    def _may_set_context(self, object_type: str, name: str) -> bool:
        """Whether what is put to an object may keep its context, if anything may be put at all."""
        own = self._own
        if self._may_none:
            own.refusal(object_type, name, a.PUT)
            return False
        on_manager = a.SET_ALL | a.ALTERNATE_USER if self._by_context else a.SET_ALL
        on_object = a.SET_ALL & a.APPLICABLE[object_type]
        return not (
            own.lacks(a.QUEUE_MANAGER, self._qm.name, on_manager)
            or own.lacks(object_type, name, on_object)
        )

    def _putter(self, user: str) -> Asker:
        """Return by whose authorities a message is put. user: in its context."""
        return self._own.instead(user) if self._by_context else self._own

    def putter(self, user: str) -> str | None:
        """Return whose authorities count for what a message causes; None: the queue manager's own.

        user: in its context.
        """
        own = self._own.principal
        if self._by_context:
            return user
        return None if own.is_privileged else own.user


def receiver_of(qm: QueueManager, source: str) -> ReceiverAuthority | None:
    """Return the receiver of a source; None if it may do everything. source: a queue manager; "":
    clients of Kafka.
    """
    named = qm.references.first((RECEIVER, source)) if source else KAFKA_RECEIVER
    name = named or AUTO_RECEIVER
    channel = qm.objects.get(("channel", name))
    if not isinstance(channel, ChannelAttributes):
        channel = ChannelAttributes()
    rule = _rule_of(qm, name, source)
    user = rule.mca_user if rule is not None and rule.source == "MAP" else channel.mca_user
    by_context = channel.put_authority == "CTX"
    if rule is not None and rule.source == "NOACCESS" and not rule.warn:
        return ReceiverAuthority(qm, user, by_context, may_none=True)
    is_bound = qm.authorities.are_checked and (by_context or bool(user))
    return ReceiverAuthority(qm, user, by_context) if is_bound else None


def _rule_of(qm: QueueManager, channel: str, source: str) -> ChannelRule | None:
    """Return the channel authentication record for what comes from a queue manager."""
    if qm.attributes.channel_rules != "ENABLED" or not source:
        return None
    return qm.channel_rules.mapping(Caller(channel, queue_manager=source))
