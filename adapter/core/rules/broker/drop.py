"""DROP SERVICE: its endpoints and their messages are gone, and the far sides get an Error.

This module does not know what becomes of other objects that are dropped.
"""

from __future__ import annotations

from msgspec import structs

from adapter.core.attributes.broker import SERVICE
from adapter.core.contract.broker import ERROR, EXPORT_ADDRESS, BrokerDrop
from adapter.core.contract.broker_header import of_no_direction
from adapter.core.contract.commands import Request
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ConversationSet, Record
from adapter.core.contract.unit_records import Taken
from adapter.core.model.conversations import OPEN, Endpoint
from adapter.core.model.manager import QueueManager
from adapter.core.rules.broker import catalog
from adapter.core.rules.broker.commit import rows_of
from adapter.core.rules.broker.delivery import ConversationPlan, deliver, put_leaving, send
from adapter.core.rules.broker.headers import message_of
from adapter.core.rules.broker.texts import error_body
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.network import routes
from adapter.core.rules.primitives.decision import Decision

SERVICE_DROPPED = -8470
CONVERSATIONS_PER_DROP = 10_000
"""So that one step stays short, and its entry is not much larger than that of the largest unit."""


def decide(qm: QueueManager, request: Request, command: BrokerDrop) -> Decision:
    """DROP ...; a service is dropped with its conversations."""
    dropped = catalog.decide_drop(qm, request, command)
    if command.kind == SERVICE and qm.conversations.of_service[command.name]:
        dropped.records = [*_end_all(qm, command.name, request.now_ms), *dropped.records]
    return dropped


def _end_all(qm: QueueManager, service: str, now_ms: int) -> list[Record]:
    count = qm.conversations.of_service[service]
    if count > CONVERSATIONS_PER_DROP:
        text = f"it has {count} conversations, of {CONVERSATIONS_PER_DROP}: end some of them first"
        raise Refusal(Reason.OBJECT_IN_USE, service, text)
    found = [one for one in qm.conversations.endpoints.values() if one.state.service == service]
    if any(endpoint.group.locked_by for endpoint in found):
        text = "a transaction uses conversations of it: commit or roll back that first"
        raise Refusal(Reason.OBJECT_IN_USE, service, text)
    d = ConversationPlan(Plan(qm, now_ms))
    rows: list[Taken] = []
    for endpoint in found:
        rows += rows_of(qm, endpoint.state)
        state = d.side(endpoint.state.conversation, endpoint.state.is_initiator)
        if state is not None:
            if _has_far_side(d, endpoint, service):
                body = error_body(SERVICE_DROPPED, "The remote service has been dropped.")
                _send_last(d, state, message_of(state, ERROR, body, "X"))
            d.remove(state)
    return d.record(removed=rows)


def _has_far_side(d: ConversationPlan, endpoint: Endpoint, service: str) -> bool:
    """Whether there is another side, which goes on: it knows of the conversation, has not ended it,
    and belongs to another service.
    """
    state = endpoint.state
    if state.is_ended or state.far != OPEN:
        return False
    if state.is_initiator and d.waiting_of(state) == state.sent:
        return False
    return bool(state.far_queue_manager) or state.far_service != service


def _send_last(d: ConversationPlan, state: ConversationSet, message: MessageData) -> None:
    """Send the last message of an endpoint here that ceases to be, with those of its messages that
    wait: it does not wait behind these. What cannot leave now is not sent.
    """
    far = state.far_queue_manager
    if not d.waits(state):
        send(d, message)
    elif not far:
        header = message.broker
        assert header is not None, "it was made with one"
        number = of_no_direction(header.sequence)
        deliver(d, structs.replace(message, broker=structs.replace(header, sequence=number)))
    elif not far.startswith(EXPORT_ADDRESS):
        queue = routes.queue_to_known(d.qm, far, d.plan.new_queues)
        if queue is not None:
            put_leaving(d, queue, message, far)
