"""Arrivals: messages of other queue managers are put here, each exactly once.

What came before is dropped, by its place on the transmission queue it came from. The rest of a unit
is put together, in one step with the note that it came and from where its topic is to be read
next. A message that its queue does not take goes to the dead-letter queue; where neither takes it,
nothing is put and noted, an event says so, and the same unit is given again later. This module does
not know how a message travels.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Lowest, Origin
from adapter.core.contract.commands import AskLowest, Request
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.ranges import Ranges
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import (
    ArrivalsRestored,
    EventRaised,
    PositionNoted,
    PositionsRestored,
    Record,
    UnitArrived,
)
from adapter.core.contract.results import LowestPlaces
from adapter.core.contract.transmission import Transmission
from adapter.core.model.arrivals import LaneArrivals
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import CONFIRM_ON_ARRIVAL
from adapter.core.model.routes import Target
from adapter.core.rules.broker import delivery as broker_delivery
from adapter.core.rules.broker.delivery import ConversationPlan
from adapter.core.rules.messages import put
from adapter.core.rules.messages.plan import Plan, dead_letter_queue
from adapter.core.rules.messages.unit import Puts
from adapter.core.rules.msmq.checks import is_valid
from adapter.core.rules.msmq.delivery import arrive, waits_for_room
from adapter.core.rules.network import routes
from adapter.core.rules.primitives import parking
from adapter.core.rules.primitives.decision import Decision, connection_of
from adapter.core.rules.primitives.matching import is_over

BLOCKED = "arrival_blocked"
INVALID = 2110
"""MQRC_FORMAT_ERROR: what came is no message."""
SPANS_PER_RECORD = 20_000
"""So that a record stays far below what a topic takes."""
POSITIONS_PER_RECORD = 1_000


def decide(qm: QueueManager, unit: ArrivedUnit, now_ms: int) -> list[Record]:
    """Put what of a unit is new, and note that it came; or say that there is no room for it."""
    plan = Plan(qm, now_ms)
    conversations = ConversationPlan(plan)
    delivered: list[MessageData] = []
    blocked = ""
    for arrival in _new(qm, unit):
        message = arrival.message
        if not arrival.code and broker_delivery.is_valid(message):
            broker_delivery.deliver(conversations, message)
        elif not arrival.code and message.msmq is not None and is_valid(message):
            if waits_for_room(plan, message):
                return _report_blocked(qm, unit, _name_of(arrival), now_ms)
            arrive(plan, message)
        else:
            blocked = _deliver(plan, arrival, unit.source, delivered)
            if blocked:
                return _report_blocked(qm, unit, blocked, now_ms)
    blocked = _first_parked(qm, plan.puts + plan.reports)
    if blocked:
        return _report_blocked(qm, unit, blocked, now_ms)
    qm.arrivals.blocked.pop(unit.topic, None)
    for message in delivered:
        plan.report(message, CONFIRM_ON_ARRIVAL)
    conversations.set_endpoints()
    records = plan.record(unit.unit, "commit")
    return [*records, *conversations.removals(), _arrived(unit)]


def _name_of(arrival: Arrival) -> str:
    to = arrival.message.transmission
    return to.queue if to is not None else ""


def _first_parked(qm: QueueManager, puts: Puts) -> str:
    """Return the first queue of these puts that is parked and takes no more; "" if all take them.

    MSMQ has no reason for a dead letter that says so: the messages wait, as the put of a program
    here would be refused.
    """
    for queue, message in puts if qm.parked or qm.uncopied.is_full else ():
        if parking.why_not(qm, queue, message):
            return queue.name
    return ""


def _new(qm: QueueManager, unit: ArrivedUnit) -> list[Arrival]:
    """Return the messages of a unit that did not come before."""
    met: dict[tuple[int, int, int], Arrival] = {}
    for arrival in unit.messages:
        if not qm.arrivals.has(unit.origin, arrival.lane, arrival.seq, arrival.n):
            seq = 0 if arrival.n else arrival.seq
            met.setdefault((arrival.lane, seq, arrival.n), arrival)
    return list(met.values())


def _deliver(plan: Plan, arrival: Arrival, source: str, delivered: list[MessageData]) -> str:
    """Plan the put of a message; returns the name of its queue if nothing can take it.

    source: the queue manager that sent it. delivered: takes a message that its queue takes.
    """
    message = msgspec.structs.replace(arrival.message, transmission=None)
    to = arrival.message.transmission or Transmission("")
    target = routes.find(plan.qm, to.queue, to.queue_manager, plan.new_queues)
    if target.queue is not None and target.queue.name == source and target.transmission == to:
        # It would go back to where it came from, unchanged: and so for ever.
        target = Target(reason=Reason.UNKNOWN_REMOTE_QUEUE_MANAGER)
    code = arrival.code or _complete(plan.qm, target.queue, message, plan.now_ms)
    if code:
        invalid = [_as_bytes(plan.qm, message.body, plan.now_ms)]
        reason = plan.bury(invalid, to.queue, code, to.queue_manager)
    else:
        reason = plan.send(target, message)
        if reason is None:
            delivered.append(message)
        else:
            reason = plan.give_up(message, to.queue, to.queue_manager, reason)
    if reason is None:
        return ""
    return to.queue or plan.qm.attributes.dead_letter_queue or "SYSTEM"


def _complete(qm: QueueManager, queue: LocalQueue | None, message: MessageData, now_ms: int) -> int:
    """Fill in what a message that arrived leaves open; returns why it is invalid, or 0."""
    message.destination, message.delay_ms = "", 0
    checked = queue or dead_letter_queue(qm)
    if checked is None:
        return 0
    try:
        put.check(checked, message)
    except Refusal as refusal:
        return 0 if refusal.reason in LATER else INVALID
    put.default(checked, message, checked.attributes)
    if not message.put_time_ms:
        put.resolve(qm, checked, message, now_ms)
    put.cap_life(message, checked.attributes, now_ms)
    return 0


LATER = (Reason.MESSAGE_TOO_LONG, Reason.PERSISTENT_NOT_ALLOWED)
"""Said of a queue, and not of the message."""


def _as_bytes(qm: QueueManager, body: bytes, now_ms: int) -> MessageData:
    """Make a message of the body of what is not a message."""
    return MessageData(
        body=body,
        message_id=qm.numbers.new_message_id(),
        correlation_id=NO_ID,
        group_id=NO_ID,
        priority=0,
        persistence=1,
        put_time_ms=now_ms,
    )


def _report_blocked(qm: QueueManager, unit: ArrivedUnit, name: str, now_ms: int) -> list[Record]:
    """Note that there is no room for a unit; the event is raised once."""
    was_blocked = unit.topic in qm.arrivals.blocked
    qm.arrivals.blocked[unit.topic] = name
    if was_blocked:
        return []
    return [EventRaised(BLOCKED, name, now_ms, {"topic": unit.topic, "from": unit.source})]


def _arrived(unit: ArrivedUnit) -> UnitArrived:
    return UnitArrived(
        unit.topic,
        unit.topic_id,
        unit.offset,
        unit.source,
        unit.origin.queue_manager,
        unit.origin.queue,
        unit.origin.incarnation,
        [part for one in unit.messages for part in (one.lane, one.seq, one.n)],
        [part for one in unit.lowest for part in (one.lane, one.seq, one.n)],
    )


def decide_lowest(qm: QueueManager, request: Request, command: AskLowest) -> Decision:
    """Say what the lanes of an open queue still have; once all that happened before is durable."""
    handle = connection_of(qm, request).handles.get(command.handle)
    if not isinstance(handle, QueueHandle):
        raise Refusal(Reason.HANDLE_NOT_OPEN, detail=f"handle {command.handle} is not open")
    queue = handle.queue
    following = _following(qm, queue, request.now_ms)
    return Decision([], LowestPlaces(queue.lowest(), following), qm.entry_n)


def _following(qm: QueueManager, queue: LocalQueue, now_ms: int) -> bytes:
    """Return the unit of the next available message; may raise PageNeeded.

    A message that proved to be lost has no unit: what was got before can be sent.
    """
    if qm.step.missing is not None:
        return b""
    return next((one.unit for one in queue.in_order() if not is_over(one, now_ms)), b"")


def apply_unit_arrived(qm: QueueManager, record: UnitArrived) -> None:
    """Note what came, and from where its topic is read next."""
    arrivals = qm.arrivals
    origin = Origin(record.queue_manager, record.queue, record.incarnation)
    places = record.arrived
    for at in range(0, len(places), 3):
        arrivals.lane(origin, places[at]).add(places[at + 1], places[at + 2])
    lowest = record.lowest
    arrivals.forget_below(origin, [Lowest(*lowest[at : at + 3]) for at in range(0, len(lowest), 3)])
    arrivals.move(record.topic, record.topic_id, record.offset)


def describe(qm: QueueManager) -> Iterator[Record]:
    """Describe for a snapshot what has arrived."""
    for origin, lanes in qm.arrivals.origins.items():
        known = [part for n, lane in lanes.items() for part in (n, lane.below_seq, lane.below_n)]
        yield ArrivalsRestored(
            origin.queue_manager, origin.queue, origin.incarnation, known, [], []
        )
        for n, lane in lanes.items():
            yield from _spans(origin, n, lane)
    noted = [
        PositionNoted(topic, one.topic_id, one.offset)
        for topic, one in qm.arrivals.positions.items()
    ]
    for at in range(0, len(noted), POSITIONS_PER_RECORD):
        yield PositionsRestored(noted[at : at + POSITIONS_PER_RECORD])


def _spans(origin: Origin, number: int, lane: LaneArrivals) -> Iterator[ArrivalsRestored]:
    """Describe what came of a lane beside what all came."""
    seqs, others = lane.seqs.spans(), lane.others.spans()
    for at in range(0, max(len(seqs), len(others)), SPANS_PER_RECORD):
        end = at + SPANS_PER_RECORD
        yield ArrivalsRestored(
            origin.queue_manager,
            origin.queue,
            origin.incarnation,
            [],
            [part for span in seqs[at:end] for part in (number, *span)],
            [part for span in others[at:end] for part in (number, *span)],
        )


def apply_arrivals_restored(qm: QueueManager, record: ArrivalsRestored) -> None:
    """Note what had arrived of an origin."""
    origin = Origin(record.queue_manager, record.queue, record.incarnation)
    for at in range(0, len(record.lanes), 3):
        number, seq, n = record.lanes[at : at + 3]
        qm.arrivals.lane(origin, number).forget_below(seq, n)
    _add_spans(qm, origin, record.seqs, "seqs")
    _add_spans(qm, origin, record.others, "others")


def _add_spans(qm: QueueManager, origin: Origin, flat: list[int], name: str) -> None:
    for at in range(0, len(flat), 3):
        number, first, last = flat[at : at + 3]
        ranges: Ranges = getattr(qm.arrivals.lane(origin, number), name)
        ranges.add_span(first, last)


def apply_positions_restored(qm: QueueManager, record: PositionsRestored) -> None:
    """Note from where topics are read next."""
    for one in record.positions:
        qm.arrivals.move(one.topic, one.topic_id, one.offset)
