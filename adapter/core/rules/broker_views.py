"""Looking at Service Broker: its catalog, endpoints, groups, queues and what is in transmission.

It changes nothing, and waits for no lock. This module does not know what a verb means.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec import structs

from adapter.core.attributes import broker as kinds
from adapter.core.attributes.table import without_dates
from adapter.core.contract.broker import (
    ENDPOINTS,
    GROUPS,
    ROWS_BYTES_MAX,
    TRANSMISSION,
    BrokerBrowse,
    BrokerInquire,
)
from adapter.core.contract.commands import Request
from adapter.core.contract.message import Delivered, Stored, delivered, weight
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ConversationSet
from adapter.core.contract.results import Descriptions, Messages, QueueDescription
from adapter.core.model.broker_queue import HELD, RETAINED, BrokerQueue
from adapter.core.model.conversations import BROKEN, ENDED
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.rules import broker_catalog as catalog
from adapter.core.rules.broker_activation import is_needed
from adapter.core.rules.decision import Decision

COUNT_MAX = 10_000


def decide_inquire(qm: QueueManager, request: Request, command: BrokerInquire) -> Decision:
    """Show objects of the catalog, endpoints, groups, or what is in transmission, in order."""
    del request
    if not 0 < command.count <= COUNT_MAX:
        raise Refusal(
            Reason.OPTIONS_ERROR, command.kind, f"count {command.count}: 1 to {COUNT_MAX}"
        )
    found: Iterable[QueueDescription]
    if command.kind == ENDPOINTS:
        found = _endpoints(qm, command)
    elif command.kind == GROUPS:
        found = _groups(qm, command)
    elif command.kind == TRANSMISSION:
        found = _transmission(qm, command)
    elif command.kind == kinds.QUEUE:
        found = _queues(qm, command)
    elif command.kind in kinds.TYPES:
        found = _objects(qm, command)
    else:
        raise Refusal(Reason.OBJECT_TYPE_ERROR, command.kind, "there is no such kind of object")
    return Decision([], Descriptions(list(islice(found, command.count))), qm.entry_n)


def _names_for(names: Iterable[str], command: BrokerInquire) -> list[str]:
    """Return the names that are asked for, in order."""
    if command.name:
        return [name for name in names if name == command.name]
    return heapq.nsmallest(command.count, (name for name in names if name > command.after))


def _objects(qm: QueueManager, command: BrokerInquire) -> Iterator[QueueDescription]:
    key = kinds.PREFIX + command.kind
    names = {name for kind, name in qm.objects if kind == key}
    names |= {name for kind, name in catalog.SYSTEM if kind == command.kind}
    for name in _names_for(names, command):
        found: Any = catalog.lookup(qm, command.kind, name)
        shown = without_dates(found)
        yield QueueDescription(name, 0, shown, found.created_ms, found.altered_ms)


def _queues(qm: QueueManager, command: BrokerInquire) -> Iterator[QueueDescription]:
    if command.name:
        yield _describe_queue(qm, catalog.queue_named(qm, command.name))
        return
    mine = {
        queue.attributes.display_name: queue
        for queue in qm.queues.values()
        if isinstance(queue, BrokerQueue) and not queue.is_part
    }
    for name in _names_for(mine, command):
        yield _describe_queue(qm, mine[name])


def _describe_queue(qm: QueueManager, queue: BrokerQueue) -> QueueDescription:
    attributes = queue.attributes
    shown = {name: getattr(attributes, name) for name in kinds.TABLES[kinds.QUEUE]}
    shown |= {
        "rollback_count": attributes.rollback_count,
        "message_count": queue.available_count + queue.locked_count,
        "receiving": len(queue.receiving),
        "receives": queue.activity.receives,
        "activation_needed": is_needed(qm, queue),
    }
    dates = attributes.created_ms, attributes.altered_ms
    return QueueDescription(attributes.display_name, queue.incarnation, shown, *dates)


def state_word(state: ConversationSet) -> str:
    """Say the state of an endpoint in the letters of sys.conversation_endpoints."""
    if state.is_ended:
        return "DO"
    if state.far == BROKEN:
        return "ER"
    if state.far == ENDED:
        return "DI"
    return "SO" if state.is_initiator and not state.sent else "CO"


def _endpoints(qm: QueueManager, command: BrokerInquire) -> Iterator[QueueDescription]:
    endpoints = qm.conversations.endpoints
    if command.name:
        wanted = [_bytes(command.name)]
    else:
        after = _bytes(command.after)
        behind = (handle for handle in endpoints if handle > after)
        wanted = heapq.nsmallest(command.count, behind)
    for handle in wanted:
        if handle in endpoints:
            yield _endpoint(qm, endpoints[handle].state)


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError as error:
        raise Refusal(Reason.IDENTIFIER_ERROR, text, "it is not hexadecimal") from error


def _endpoint(qm: QueueManager, state: ConversationSet) -> QueueDescription:
    shown = structs.asdict(state) | {
        "state": state_word(state),
        "queue": catalog.that_queue(qm, state.queue).attributes.display_name,
    }
    for name in ("handle", "conversation", "group"):
        shown[name] = shown[name].hex()
    del shown["logged"]
    return QueueDescription(state.handle.hex(), 0, shown)


def _groups(qm: QueueManager, command: BrokerInquire) -> Iterator[QueueDescription]:
    found = {
        group.ident.hex(): (queue, group)
        for queue in qm.queues.values()
        if isinstance(queue, BrokerQueue)
        for group in queue.groups
    }
    for name in _names_for(found, command):
        queue, group = found[name]
        shown = {
            "queue": queue.attributes.display_name,
            "conversations": len(group.endpoints),
            "locked": bool(group.locked_by),
        }
        yield QueueDescription(name, 0, shown)


def _transmission(qm: QueueManager, command: BrokerInquire) -> Iterator[QueueDescription]:
    """Show what waits for a queue or a service, and what leaves for other queue managers.

    What is not in memory is not shown.
    """
    shown = {}
    for queue in qm.queues.values():
        why = _why_waiting(queue)
        for stored in queue.stored.values() if why else ():
            if stored.message.broker is not None:
                name = f"{queue.name} {stored.place[1]:020d}"
                shown[name] = QueueDescription(name, 0, _waiting(stored, why))
    for name in _names_for(shown, command):
        yield shown[name]


def _why_waiting(queue: LocalQueue) -> str:
    if isinstance(queue, BrokerQueue):
        owner, _, service = queue.name.rpartition(HELD)
        if not owner:
            return ""
        return (
            f"The target service '{service}' does not exist."
            if service
            else ("The messages wait until the queue of the target service is turned on.")
        )
    if queue.attributes.usage == "XMITQ":
        return f"The messages wait for queue manager {queue.name}."
    return ""


def _waiting(stored: Stored, why: str) -> dict[str, Any]:
    header = stored.message.broker
    assert header is not None, "it was looked at"
    return {
        "conversation": header.conversation.hex(),
        "to_service": header.service,
        "from_service": header.from_service,
        "contract": header.contract,
        "message_type": header.message_type,
        "sequence": header.sequence,
        "is_initiator": header.from_initiator,
        "enqueue_ms": stored.message.put_time_ms,
        "body": stored.message.body.hex() if len(stored.message.body) <= 8_000 else "",
        "status": why,
    }


def decide_browse(qm: QueueManager, request: Request, command: BrokerBrowse) -> Decision:
    """SELECT: the rows of a queue in queuing order, those that units have received among them."""
    del request
    queue = catalog.queue_named(qm, command.queue)
    if not 0 < command.count <= COUNT_MAX:
        raise Refusal(
            Reason.OPTIONS_ERROR, command.queue, f"count {command.count}: 1 to {COUNT_MAX}"
        )
    found = list(islice(_rows(queue, command), command.count))
    kept = qm.queues.get(queue.name + RETAINED)
    if len(found) < command.count and isinstance(kept, BrokerQueue):
        found += islice(_rows(kept, command, all_rows=True), command.count - len(found))
    shown: list[Delivered] = []
    size = 0
    for stored in found:
        size += weight(stored.message)
        if shown and size > ROWS_BYTES_MAX:
            break
        shown.append(_shown(qm, stored))
    return Decision([], Messages(shown), qm.entry_n)


def _rows(queue: BrokerQueue, command: BrokerBrowse, *, all_rows: bool = False) -> Iterator[Stored]:
    """Iterate over the messages of a queue behind a row; may raise PageNeeded."""
    lane = queue.lanes[0]
    seq = 0 if all_rows else command.after
    locked = sorted(
        one.place[1] for one in queue.stored.values() if one.locked and one.place[1] > seq
    )
    available = lane.in_order(queue.name, (0, seq, 0))
    for stored in _merge(queue, available, locked):
        header = stored.message.broker
        if header is not None and command.conversation in (b"", header.handle):
            yield stored


def _merge(queue: BrokerQueue, available: Iterator[Stored], locked: list[int]) -> Iterator[Stored]:
    for stored in available:
        while locked and locked[0] < stored.place[1]:
            yield queue.stored[0, locked.pop(0), 0]
        yield stored
    for seq in locked:
        yield queue.stored[0, seq, 0]


def _shown(qm: QueueManager, stored: Stored) -> Delivered:
    header = stored.message.broker
    assert header is not None, "it was looked at"
    endpoint = qm.conversations.endpoints.get(header.handle)
    group = endpoint.group.ident if endpoint is not None else b""
    shown = delivered(stored)
    with_group = structs.replace(header, group=group)
    shown.message = structs.replace(stored.message, broker=with_group)
    return shown
