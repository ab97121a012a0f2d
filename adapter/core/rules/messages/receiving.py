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
from adapter.core.contract.transmission import Transmission
from adapter.core.model.channel_rules import Caller
from adapter.core.model.manager import QueueManager
from adapter.core.model.references import RECEIVER
from adapter.core.rules.network import routes
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

    def may_put(self, object_type: str, name: str, user: str) -> bool:
        """Whether a message may be put to an object. user: in its context.

        What is missing is noted for the log.
        """
        own = self._own
        if self._may_none:
            own.refusal(object_type, name, a.PUT)
            return False
        on_manager = a.SET_ALL | a.ALTERNATE_USER if self._by_context else a.SET_ALL
        on_object = a.SET_ALL & a.APPLICABLE[object_type]
        return not any(
            asker.lacks(of, called, bits)
            for asker, of, called, bits in (
                (own, a.QUEUE_MANAGER, self._qm.name, on_manager),
                (own, object_type, name, on_object),
                (self.asker(user), object_type, name, a.PUT),
            )
        )

    def asker(self, user: str) -> Asker:
        """Return who is asked for the right to put or publish. user: in the message's context."""
        return self._own.instead(user) if self._by_context else self._own

    def may_put_to(self, to: Transmission, user: str) -> bool:
        """Whether a message of MQ may be put where it is to go."""
        name = routes.checked_name(self._qm, to.queue, to.queue_manager)
        return self.may_put(a.QUEUE, name, user)

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
