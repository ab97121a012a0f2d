"""Messages of Service Broker with their headers: what an endpoint sends next.

This module does not know when a message is sent, nor where to.
"""

from __future__ import annotations

from msgspec import structs

from adapter.core.contract.broker_header import BrokerHeader, of_no_direction
from adapter.core.contract.message import GUID_LENGTH, ID_LENGTH, NO_ID, MessageData
from adapter.core.contract.records import ConversationSet


def message_of(
    state: ConversationSet, message_type: str, body: bytes, validation: str
) -> MessageData:
    """Make the next message of an endpoint; counts it."""
    header = BrokerHeader(
        conversation=state.conversation,
        sequence=state.sent,
        message_type=message_type,
        validation=validation,
        service=state.far_service,
        contract=state.contract,
        from_service=state.service,
        from_initiator=state.is_initiator,
        lifetime_ms=state.lifetime_ms,
    )
    state.sent += 1
    message = message_with(header, body)
    message.group_seq = header.sequence + 1
    message.priority = state.priority - 1
    return message


def message_to(
    state: ConversationSet, message_type: str, body: bytes, validation: str
) -> MessageData:
    """Make a message that the queue manager itself puts to an endpoint's own queue: as if the far
    side had sent it, but of no direction. Counts nothing.
    """
    message = message_of(structs.replace(state), message_type, body, validation)
    header = message.broker
    assert header is not None, "it was made with one"
    message.broker = structs.replace(
        header,
        sequence=of_no_direction(header.sequence),
        service=header.from_service,
        from_service=header.service,
        from_initiator=not header.from_initiator,
    )
    return message


def message_with(header: BrokerHeader, body: bytes = b"") -> MessageData:
    """Make the message of a header. Its conversation is its group, for readers of the topic."""
    return MessageData(
        body=body,
        message_id=NO_ID,
        correlation_id=NO_ID,
        group_id=header.conversation + bytes(ID_LENGTH - GUID_LENGTH),
        priority=0,
        persistence=1,
        broker=header,
    )


def is_of_far_side(header: BrokerHeader, state: ConversationSet, queue_manager: str) -> bool:
    """Whether the far side of an endpoint of the same conversation has sent a message, or the queue
    manager itself has put it. queue_manager: the name of this one.

    The id of a conversation proves nothing, as programs choose it: rights were asked of the
    services. The initiator of a conversation sends by a route, which may say another name of the
    queue manager that answers; its target answers the one that has sent the first message.
    """
    if not header.has_direction:
        return True
    far = "" if header.from_queue_manager == queue_manager else header.from_queue_manager
    is_between = (header.from_service, header.service) == (state.far_service, state.service)
    return is_between and (state.is_initiator or far == state.far_queue_manager)
