"""What a service takes: messages by a contract of it, of the types of that, and valid ones.

It is asked where a message is delivered: it was sent by what counted then, maybe elsewhere. This
module does not know what becomes of one that is not taken.
"""

from __future__ import annotations

from adapter.core.attributes import broker as kinds
from adapter.core.contract.broker import SYSTEM_TYPES
from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.model.manager import QueueManager
from adapter.core.rules.broker import catalog

NO_CONTRACT = -8408
NOT_SENDABLE = -8431
NOT_VALID = -9615
NO_SERVICE = -8490
"""It does not exist, and there is no room to wait for it; or no room for a conversation with it."""

Problem = tuple[int, str]
"""An error code of the system, and its text; 0: no problem."""


def why_not(qm: QueueManager, header: BrokerHeader, body: bytes, begins: int) -> Problem:
    """Say why a message must not be delivered to a service here. begins: how many endpoints are
    new in the step with that which it begins; 0: there is an endpoint for it.
    """
    if header.message_type in SYSTEM_TYPES:
        return 0, ""
    by = header.contract
    if begins:
        accepted = kinds.names(catalog.service(qm, header.service).contracts)
        if catalog.lookup(qm, kinds.CONTRACT, by) is None or by not in accepted:
            text = f"Target service '{header.service}' does not support contract '{by}'."
            return NO_CONTRACT, text
        if not catalog.has_room(qm, begins):
            return NO_SERVICE, f"Service '{header.service}' has no room for more conversations."
    return why_not_sent(qm, header, body)


def why_not_sent(qm: QueueManager, header: BrokerHeader, body: bytes) -> Problem:
    """Say why a message must not be delivered to any service: it is not what its contract and its
    type say.
    """
    found = catalog.lookup(qm, kinds.CONTRACT, header.contract)
    wanted = catalog.lookup(qm, kinds.MESSAGE_TYPE, header.message_type)
    sendable = isinstance(found, kinds.ContractAttributes) and catalog.is_sendable(
        found, header.message_type, from_initiator=header.from_initiator
    )
    if not isinstance(wanted, kinds.MessageTypeAttributes) or not sendable:
        text = f"The message type '{header.message_type}' is not part of the service contract."
        return NOT_SENDABLE, text
    problem = qm.xml.why_invalid(wanted.validation, wanted.schema, body)
    if not problem:
        return 0, ""
    text = (
        f"A message of type '{header.message_type}' failed XML validation on the target service. "
        f"{problem}"
    )
    return NOT_VALID, text[:3_000]
