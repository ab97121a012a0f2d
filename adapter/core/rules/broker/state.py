"""Conversations as records: of a snapshot, and applied. It does not know what a verb means."""

from __future__ import annotations

from collections.abc import Iterator

from adapter.core.contract import records as r
from adapter.core.model.broker_queue import HELD, PREFIX, RETAINED, BrokerQueue, place_of
from adapter.core.model.conversations import Endpoint, seq_of
from adapter.core.model.manager import QueueManager
from adapter.core.rules.broker.catalog import that_queue
from adapter.core.rules.broker.wakes import wake_endpoint

ROWS_PER_RECORD = 20_000
"""So that a record stays far below what a topic takes."""


def describe(qm: QueueManager) -> Iterator[r.Record]:
    """Describe the endpoints with what they have on queues, and who receives.

    States of endpoints are never changed, only replaced: they are yielded as they are.
    """
    for endpoint in qm.conversations.endpoints.values():
        yield endpoint.state
        queue = that_queue(qm, endpoint.state.queue)
        others = endpoint.retained or endpoint.waiting
        if endpoint.rows or others or endpoint.state.handle in queue.locked_rows:
            yield from _rows(qm, queue, endpoint)
    for one in qm.queues.values():
        if isinstance(one, BrokerQueue):
            for unit in sorted(one.receiving):
                yield r.ReceiveNoted(one.name, unit, has_ended=False)


def _rows(qm: QueueManager, queue: BrokerQueue, endpoint: Endpoint) -> Iterator[r.Record]:
    kept = qm.queues.get(queue.name + RETAINED)
    rows = sorted(
        {row for row in endpoint.rows if is_on(queue, seq_of(row))}
        | queue.locked_rows.get(endpoint.state.handle, set())
    )
    retained = [
        seq for seq in endpoint.retained if isinstance(kept, BrokerQueue) and is_on(kept, seq)
    ]
    waiting = qm.queues.get(PREFIX + HELD + endpoint.state.far_service)
    retained += [
        -seq - 1
        for seq in endpoint.waiting
        if isinstance(waiting, BrokerQueue) and is_on(waiting, seq)
    ]
    for at in range(0, max(len(rows), len(retained)), ROWS_PER_RECORD):
        end = at + ROWS_PER_RECORD
        yield r.RowsRestored(endpoint.state.handle, rows[at:end], retained[at:end])


def is_on(queue: BrokerQueue, seq: int) -> bool:
    """Whether a message is on a queue, locked or not."""
    return place_of(seq) in queue.stored or queue.is_there(seq)


def apply_conversation_set(qm: QueueManager, record: r.ConversationSet) -> None:
    """Make an endpoint, or let it be as the record says. One that its side has ended is found by no
    receive, and belongs to no group.
    """
    queue = that_queue(qm, record.queue)
    endpoint = qm.conversations.endpoints.get(record.handle)
    state = qm.conversations.share_names(record)
    if endpoint is None:
        endpoint = Endpoint(state, queue.groups.need(record.group))
        qm.conversations.add(endpoint)
        queue.groups.add(endpoint)
    elif endpoint.state.queue != record.queue:  # two units began one handle, which is refused now
        that_queue(qm, endpoint.state.queue).groups.remove(endpoint)
        qm.conversations.change(endpoint, state)
        queue.groups.add(endpoint)
    else:
        moves = endpoint.state.group != record.group and endpoint.group.ident != record.group
        qm.conversations.change(endpoint, state)
        if moves:  # else a unit may have moved it, which has not ended
            queue.groups.move(endpoint, record.group)
    wake_endpoint(qm, queue, endpoint)
    if state.is_ended:
        queue.groups.remove(endpoint)
    for time_ms in (state.lifetime_ms, state.timer_ms):
        if time_ms:
            qm.due.conversations.push((time_ms, record.handle), lambda one: _is_ahead(qm, *one))


def _is_ahead(qm: QueueManager, time_ms: int, handle: bytes) -> bool:
    """Whether a timer or the lifetime of a conversation is over at a time."""
    endpoint = qm.conversations.endpoints.get(handle)
    state = endpoint.state if endpoint is not None else None
    return state is not None and time_ms in (state.lifetime_ms, state.timer_ms)


def apply_conversation_gone(qm: QueueManager, record: r.ConversationGone) -> None:
    """Forget an endpoint."""
    endpoint = qm.conversations.endpoints[record.handle]
    queue = that_queue(qm, endpoint.state.queue)
    wake_endpoint(qm, queue, endpoint)
    queue.groups.remove(endpoint)
    qm.conversations.remove(endpoint)


def apply_conversation_rows(qm: QueueManager, record: r.RowsRestored) -> None:
    """Know which messages an endpoint has."""
    endpoint = qm.conversations.endpoints[record.handle]
    groups = that_queue(qm, endpoint.state.queue).groups
    for row in record.rows:
        groups.add_row(endpoint, row)
    endpoint.retained += [seq for seq in record.retained if seq >= 0]
    endpoint.waiting += [-seq - 1 for seq in record.retained if seq < 0]


def apply_receive_noted(qm: QueueManager, record: r.ReceiveNoted) -> None:
    """Know which units have received from a queue."""
    queue = that_queue(qm, record.queue)
    if record.has_ended:
        queue.receiving.discard(record.unit)
    else:
        queue.receiving.add(record.unit)
