"""The end of a unit that has worked with conversations; and what else is delivered by itself.

With the commit, endpoints change, messages are delivered and those of ended conversations removed,
all in one step. This module does not know what a verb has noted in the unit, nor what is counted
when one is rolled back.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adapter.core.contract import records as r
from adapter.core.contract.broker import DIALOG_TIMER
from adapter.core.contract.stored import Stored
from adapter.core.model.broker_queue import HELD, RETAINED, BrokerQueue, place_of
from adapter.core.model.broker_unit import BrokerWork
from adapter.core.model.conversations import OPEN, Endpoint, seq_of
from adapter.core.model.manager import QueueManager
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules.broker import catalog
from adapter.core.rules.broker.delivery import (
    LIFETIME_OVER,
    ConversationPlan,
    deliver,
    put_error,
    send,
)
from adapter.core.rules.broker.headers import message_to
from adapter.core.rules.broker.poison import end_committed
from adapter.core.rules.messages.plan import Plan

DUE_PER_TICK: Final = 500


def on_commit(
    qm: QueueManager, work: BrokerWork, unit: UnitOfWork, now_ms: int
) -> tuple[list[r.Record], Callable[[], list[r.Record]]]:
    """Have what a unit did to conversations take effect with what it put and got.

    Returns what is recorded before the unit, and what ends the unit's work and returns what is
    recorded after it.
    """
    d = ConversationPlan(Plan(qm, now_ms))
    for handle, change in work.changes.items():
        endpoint = qm.conversations.endpoints.get(handle)
        before = change.begun or (endpoint.state if endpoint is not None else None)
        if before is not None:  # else it has ceased to be since the unit ended it with cleanup
            d.set(change.applied_to(before))
    for message in work.sends:
        send(d, message)
    discarded = _end(d, work)
    gets = {(queue.name, stored.place) for queue, stored in unit.gets}
    discarded = [one for one in discarded if (one.queue, (-one.lane, one.seq, one.n)) not in gets]
    _drop_puts_of_ended(d, work, unit)
    d.set_endpoints()

    def end() -> list[r.Record]:
        received = {name for name, _ in gets}
        return d.removals(discarded) + end_committed(qm, work, unit.ident, received, now_ms)

    return d.plan.hold(unit, is_event=False), end


def _end(d: ConversationPlan, work: BrokerWork) -> list[r.Taken]:
    """Remove the messages of the endpoints that a unit has ended, and endpoints that are over."""
    gone: list[r.Taken] = []
    for handle, change in work.changes.items():
        state = d.gone.get(handle) or d.states.get(handle)
        if state is None or not change.is_ended:
            continue
        gone += rows_of(d.qm, state)
        tells_nobody = state.sent == 0 and state.is_initiator
        if handle not in d.gone and (change.is_cleaned or state.far != OPEN or tells_nobody):
            d.remove(state)
    return gone


def rows_of(qm: QueueManager, state: r.ConversationSet) -> list[r.Taken]:
    """Name the messages of an endpoint, on its queue and on that of what is retained."""
    endpoint = qm.conversations.endpoints.get(state.handle)
    if endpoint is None:
        return []
    queue = catalog.that_queue(qm, state.queue)
    rows = {seq_of(row) for row in endpoint.rows}
    found = [
        r.Taken(queue.name, 0, seq, 0, state.priority - 1) for seq in rows if queue.is_there(seq)
    ]
    retained = qm.queues.get(state.queue + RETAINED)
    if isinstance(retained, BrokerQueue):
        found += [
            r.Taken(retained.name, 0, seq, 0, _priority(retained, seq, state))
            for seq in endpoint.retained
            if retained.is_there(seq)
        ]
    return found


def _priority(queue: BrokerQueue, seq: int, state: r.ConversationSet) -> int:
    stored: Stored | None = queue.stored.get(place_of(seq))
    return stored.priority if stored is not None else state.priority - 1


def _drop_puts_of_ended(d: ConversationPlan, work: BrokerWork, unit: UnitOfWork) -> None:
    """Keep nothing for an endpoint that ends in the same step, retained copies neither, and nothing
    that waits for the far service of one that is gone.
    """
    ended = {handle for handle, change in work.changes.items() if change.is_ended}
    if ended:
        d.plan.puts = [
            (queue, message)
            for queue, message in d.plan.puts
            if message.broker is None
            or message.broker.handle not in (d.gone if HELD in queue.name else ended)
        ]
        unit.drop_puts(
            lambda queue, message: (
                isinstance(queue, BrokerQueue)
                and message.broker is not None
                and message.broker.handle in ended
            )
        )


def pass_time(qm: QueueManager, now_ms: int) -> list[r.Record] | None:
    """Put what the next timer or lifetime that is over puts; None if there is no other.

    One at a time: what it changes of the far side must be applied before the next one is looked at.
    """
    handle = next((entry[1] for entry in qm.due.conversations.due(now_ms)), None)
    if handle is None:
        return None
    endpoint = qm.conversations.endpoints.get(handle)
    return _due(qm, endpoint, now_ms) if endpoint is not None else []


def _due(qm: QueueManager, endpoint: Endpoint, now_ms: int) -> list[r.Record]:
    """Put what an endpoint's lifetime and timer put, if they are over."""
    d = ConversationPlan(Plan(qm, now_ms))
    state = d.side(endpoint.state.conversation, endpoint.state.is_initiator)
    assert state is not None, "the endpoint is known"
    lives_on = not 0 < state.lifetime_ms <= now_ms
    rings = 0 < state.timer_ms <= now_ms
    if lives_on and not rings:
        return []
    if not lives_on:
        state.lifetime_ms = 0
        if state.is_ended:
            d.remove(state)
            rings = False
        elif state.far == OPEN:
            put_error(d, state, LIFETIME_OVER, "The dialog has exceeded the specified LIFETIME.")
            rings = False
    if rings:
        state.timer_ms = 0
        deliver(d, message_to(state, DIALOG_TIMER, b"", "E"))
    return d.record()
