"""Looking at Service Broker: its catalog, endpoints, groups, queues and what is in transmission.

It changes nothing, and waits for no lock. This module does not know what a verb means.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

from msgspec import structs

from adapter.core.attributes import broker as kinds
from adapter.core.attributes.table import without_dates
from adapter.core.contract import broker as b
from adapter.core.contract.commands import Request
from adapter.core.contract.message import Delivered, Place
from adapter.core.contract.pages import PageNeeded
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ConversationSet
from adapter.core.contract.results import Descriptions, Messages, QueueDescription
from adapter.core.contract.stored import Stored, delivered
from adapter.core.contract.weights import weight
from adapter.core.model.broker_queue import (
    HELD,
    LANE,
    PREFIX,
    RETAINED,
    BrokerQueue,
    key_of,
    place_of,
)
from adapter.core.model.conversations import BROKEN, ENDED, seq_of
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.broker import catalog, to_exports
from adapter.core.rules.broker.activation import is_needed
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.primitives import matching
from adapter.core.rules.primitives.decision import Decision

COUNT_MAX = 10_000


def decide_inquire(qm: QueueManager, request: Request, command: b.BrokerInquire) -> Decision:
    """Show objects of the catalog, endpoints, groups, or what is in transmission, in order."""
    del request
    if not 0 < command.count <= COUNT_MAX:
        raise Refusal(
            Reason.OPTIONS_ERROR, command.kind, f"count {command.count}: 1 to {COUNT_MAX}"
        )
    found: Iterator[QueueDescription]
    if command.kind == b.ENDPOINTS:
        found = _endpoints(qm, command)
    elif command.kind == b.SIDES:
        found = _sides(qm, command)
    elif command.kind == b.GROUPS:
        found = _groups(qm, command)
    elif command.kind == b.TRANSMISSION:
        found = _transmission(qm, command)
    elif command.kind == kinds.QUEUE:
        found = _queues(qm, command)
    elif command.kind in kinds.TYPES:
        found = _objects(qm, command)
    else:
        raise Refusal(Reason.OBJECT_TYPE_ERROR, command.kind, "there is no such kind of object")
    most = b.ROWS_BYTES_MAX if command.kind == b.TRANSMISSION else b.CATALOG_BYTES_MAX
    shown = _limit(islice(found, command.count), _weigh, most)
    return Decision([], Descriptions(shown), qm.entry_n)


def _weigh(row: QueueDescription) -> int:
    """Bound from above the bytes of the texts of a row, which may be schemas or long lists."""
    texts = [row.name, *(row.attributes or {}).values()]
    return sum(len(one) * (1 if one.isascii() else 4) for one in texts if isinstance(one, str))


def _keys_for(
    qm: QueueManager, command: b.BrokerInquire, after: Any, every: Callable[[], Iterable[Any]]
) -> Iterator[Any]:
    """Iterate over the keys of a list behind one; some may be of what is gone by now.

    They are collected and sorted for the first answer of a list, and the others go on in that.
    """
    listings = qm.conversations.listings
    if not command.after or command.kind not in listings:
        listings[command.kind] = sorted(every())
    listing = listings[command.kind]
    yield from islice(listing, bisect_right(listing, after), None)
    listings.pop(command.kind, None)


def _objects(qm: QueueManager, command: b.BrokerInquire) -> Iterator[QueueDescription]:
    def every() -> set[str]:
        names = {name for kind, name in qm.objects if kind == kinds.PREFIX + command.kind}
        return names | {name for kind, name in catalog.SYSTEM if kind == command.kind}

    for name in [command.name] if command.name else _keys_for(qm, command, command.after, every):
        found: Any = catalog.lookup(qm, command.kind, name)
        if found is not None:
            shown = without_dates(found)
            yield QueueDescription(name, 0, shown, found.created_ms, found.altered_ms)


def _queues(qm: QueueManager, command: b.BrokerInquire) -> Iterator[QueueDescription]:
    def every() -> Iterator[str]:
        for queue in qm.queues.values():
            if isinstance(queue, BrokerQueue) and not queue.is_part:
                yield queue.attributes.display_name

    if command.name:
        yield _describe_queue(qm, catalog.queue_named(qm, command.name))
        return
    for name in _keys_for(qm, command, command.after, every):
        found = qm.queues.get(key_of(name))
        if isinstance(found, BrokerQueue):
            yield _describe_queue(qm, found)


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


def _endpoints(qm: QueueManager, command: b.BrokerInquire) -> Iterator[QueueDescription]:
    endpoints = qm.conversations.endpoints
    after = _bytes(command.after)
    one = [_bytes(command.name)] if command.name else None
    for handle in one or _keys_for(qm, command, after, lambda: endpoints):
        found = endpoints.get(handle)
        if found is not None:
            yield _endpoint(qm, found.state)


def _sides(qm: QueueManager, command: b.BrokerInquire) -> Iterator[QueueDescription]:
    for is_initiator in (True, False):
        found = qm.conversations.at(_bytes(command.name), is_initiator)
        if found is not None:
            yield _endpoint(qm, found.state)


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


def _groups(qm: QueueManager, command: b.BrokerInquire) -> Iterator[QueueDescription]:
    def every() -> Iterator[str]:
        for queue in qm.queues.values():
            if isinstance(queue, BrokerQueue):
                for group in queue.groups:
                    yield f"{group.ident.hex()} {queue.name}"

    after = command.after
    if after and " " not in after:  # of a client of an earlier release: behind all of the group
        after += "~"
    for key in _keys_for(qm, command, after, every):
        ident, _, name = key.partition(" ")
        queue = qm.queues.get(name)
        group = queue.groups.get(_bytes(ident)) if isinstance(queue, BrokerQueue) else None
        if group is not None and isinstance(queue, BrokerQueue):
            shown = {
                "key": key,
                "queue": queue.attributes.display_name,
                "conversations": len(group.endpoints),
                "locked": bool(group.locked_by),
            }
            yield QueueDescription(ident, 0, shown)


def _transmission(qm: QueueManager, command: b.BrokerInquire) -> Iterator[QueueDescription]:
    """Show what waits for a queue or a service, and what leaves for other queue managers.

    May raise PageNeeded.
    """

    def every() -> Iterator[str]:
        yield from qm.transmission_queues
        for queue in qm.queues.values():
            if isinstance(queue, BrokerQueue) and HELD in queue.name:
                yield queue.name

    name, place = _place_behind(command.after)
    others = _keys_for(qm, command, name, every)
    for key in chain([name] if name else [], others):
        queue = qm.queues.get(key)
        if queue is None or not (queue.is_transmission or HELD in queue.name):
            continue
        for stored in _in_order(queue, place if key == name else None):
            if stored.message.broker is not None:
                lane, seq, n = stored.place
                shown = _waiting(stored, _why_waiting(qm, queue, stored))
                yield QueueDescription(f"{key} {lane} {seq} {n}", 0, shown)


def queue_of_row(qm: QueueManager, row: QueueDescription) -> str:
    """Return the queue of which a row in transmission is: that to which its message goes; of one
    for a service whose queue is not known here, that of its sender.

    Empty: neither is known here.
    """
    name, _ = _place_behind(row.name)
    if not name.startswith(PREFIX + HELD):
        return name.removesuffix(HELD)
    service = name.removeprefix(PREFIX + HELD)
    found: Any = catalog.lookup(qm, kinds.SERVICE, service)
    if found is not None and not catalog.address_of(qm, service):
        return key_of(found.queue)
    shown: Any = row.attributes
    sender = qm.conversations.at(bytes.fromhex(shown["conversation"]), shown["is_initiator"])
    return sender.state.queue if sender is not None else ""


def _place_behind(after: str) -> tuple[str, Place | None]:
    """Read the name of a row in transmission: its queue, and its place there."""
    if not after:
        return "", None
    name, *numbers = after.rsplit(" ", 3)
    try:
        lane, seq, n = map(int, numbers)
    except ValueError as error:
        raise Refusal(Reason.IDENTIFIER_ERROR, after, "it names no row") from error
    return name, (lane, seq, n)


def _in_order(queue: LocalQueue, place: Place | None) -> Iterator[Stored]:
    """Iterate over the messages of a queue behind a place, those that units hold among them."""
    available = queue.in_order() if place is None else queue.in_order_after(place)
    if not queue.locked_count:
        return available
    held = [one for one in queue.stored.values() if one.locked]
    behind = sorted((one for one in held if place is None or one.place > place), key=_place)
    return heapq.merge(available, behind, key=_place)


def _place(stored: Stored) -> Place:
    return stored.place


def _why_waiting(qm: QueueManager, queue: LocalQueue, stored: Stored) -> str:
    """Say why a message is in transmission, for people."""
    if not isinstance(queue, BrokerQueue):
        return f"The messages wait for queue manager {queue.name}."
    if queue.name.startswith(PREFIX + HELD):
        service = queue.name.removeprefix(PREFIX + HELD)
        far, leads = _way_to(qm, queue, service, stored)
        export = to_exports.export_of(far)
        if export:
            return to_exports.status(Plan(qm, stored.message.put_time_ms), export, stored.message)
        if far:
            return f"{leads} queue manager {far}, which is not known."
        if catalog.lookup(qm, kinds.SERVICE, service) is None:
            return f"The target service '{service}' does not exist."
    return "The messages wait until the queue of the target service is turned on."


def _way_to(qm: QueueManager, queue: BrokerQueue, service: str, stored: Stored) -> tuple[str, str]:
    """Say where a message goes that waits for a service, and what leads it there. Of one that was
    sent elsewhere the route to its service counts: it waits for a service here.
    """
    header = stored.message.broker
    assert header is not None, "every message of the queue has one"
    sender = qm.conversations.endpoints.get(header.handle)
    route = f"The route of service '{service}' leads to"
    if sender is None:
        far = catalog.address_of(qm, service)
        return ("" if to_exports.export_of(far) else far), route
    is_first = sender.is_unbegun(stored.place[1], header.sequence, queue.is_there)
    far = catalog.address_for(qm, sender.state, is_first=is_first)
    return far, route if is_first else f"The dialog with service '{service}' goes to"


def _waiting(stored: Stored, why: str) -> dict[str, Any]:
    header = stored.message.broker
    assert header is not None, "it was looked at"
    return {
        "conversation": header.conversation.hex(),
        "to_service": header.service,
        "from_service": header.from_service,
        "contract": header.contract,
        "message_type": header.message_type,
        "sequence": header.shown_sequence,
        "is_initiator": header.from_initiator,
        "enqueue_ms": stored.message.put_time_ms,
        "body": stored.message.body.hex() if stored.length <= b.SHOWN_BODY_MAX else "",
        "length": stored.length,
        "status": why,
    }


def decide_browse(qm: QueueManager, request: Request, command: b.BrokerBrowse) -> Decision:
    """SELECT: the rows of a queue in queuing order, those that units have received among them;
    then what it retains.
    """
    del request
    queue = catalog.queue_named(qm, command.queue)
    if not 0 < command.count <= COUNT_MAX:
        raise Refusal(
            Reason.OPTIONS_ERROR, command.queue, f"count {command.count}: 1 to {COUNT_MAX}"
        )
    rows = islice(_rows(qm, queue, command), command.count)
    found = _limit(rows, lambda one: weight(one.message), b.ROWS_BYTES_MAX)
    shown = [_shown(qm, stored) for stored in found]
    return Decision([], Messages(shown), qm.entry_n)


RowT = TypeVar("RowT")


def _limit(rows: Iterator[RowT], weigh: Callable[[RowT], int], most: int) -> list[RowT]:
    """Return the first of some rows: at least one, if there is one; no more than an answer takes
    (most: bytes), and than is in memory.
    """
    found: list[RowT] = []
    size = 0
    try:
        for row in rows:
            size += weigh(row)
            if found and size > most:
                break
            found.append(row)
    except PageNeeded:
        if not found:
            raise
    return found


def _rows(qm: QueueManager, queue: BrokerQueue, command: b.BrokerBrowse) -> Iterator[Stored]:
    """Iterate over the messages of a queue behind a row; may raise PageNeeded."""
    kept = qm.queues.get(queue.name + RETAINED)
    if command.after >= 0:
        yield from _rows_of(qm, queue, command, command.after)
    if isinstance(kept, BrokerQueue):
        yield from _rows_of(qm, kept, command, max(-command.after, 0))


def _rows_of(
    qm: QueueManager, queue: BrokerQueue, command: b.BrokerBrowse, after: int
) -> Iterator[Stored]:
    if not command.conversation:
        yield from _in_order(queue, (-LANE, after, 0))
        return
    endpoint = qm.conversations.endpoints.get(command.conversation)
    if endpoint is None:
        return
    held = queue.locked_rows.get(command.conversation, set())
    rows = {seq_of(row) for row in chain(endpoint.rows, held)}
    for seq in sorted(endpoint.retained if queue.is_part else rows):
        stored = matching.at_place(queue, place_of(seq)) if seq > after else None
        if stored is not None:
            yield stored


def _shown(qm: QueueManager, stored: Stored) -> Delivered:
    header = stored.message.broker
    assert header is not None, "it was looked at"
    endpoint = qm.conversations.endpoints.get(header.handle)
    group = endpoint.group.ident if endpoint is not None else b""
    shown = delivered(stored)
    with_group = structs.replace(header, group=group)
    shown.message = structs.replace(stored.message, broker=with_group)
    return shown
