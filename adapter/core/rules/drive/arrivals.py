"""Arrivals: messages of other queue managers are put here, each exactly once.

What came before is dropped, by its place on the transmission queue it came from. The rest of a unit
is put together, in one step with the note that it came and from where its topic is to be read
next. A unit that has overtaken the one before it is left out, as its source sends both again. Only
if a unit causes so many copies or acknowledgments that a step cannot have them all, it is put in
several, each a unit: the rest is new when the same unit is given again, at once. A message that its
queue does not take goes to the dead-letter queue; where neither takes it, nothing is put and noted,
an event says so, and the same unit is given again later. This module does not know how a message
travels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import Struct, structs

from adapter.core.contract import records as r
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Lowest, Origin
from adapter.core.contract.broker import SYSTEM_TYPES
from adapter.core.contract.commands import AskLowest, Request
from adapter.core.contract.message import MessageData
from adapter.core.contract.ranges import Ranges
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import LowestPlaces
from adapter.core.contract.weights import weight
from adapter.core.model.arrivals import LaneArrivals
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import CONFIRM_ON_ARRIVAL, ReportDue, data_length
from adapter.core.rules.broker import delivery as broker_delivery
from adapter.core.rules.broker.delivery import ConversationPlan
from adapter.core.rules.messages import arrival as arrival_of_mq
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.receiving import ReceiverAuthority, receiver_of
from adapter.core.rules.messages.unit import Puts
from adapter.core.rules.msmq import delivery as msmq_delivery
from adapter.core.rules.msmq.checks import is_valid
from adapter.core.rules.primitives import parking
from adapter.core.rules.primitives.decision import Decision, connection_of
from adapter.core.rules.primitives.matching import is_over
from adapter.core.rules.primitives.step_room import StepRoom
from adapter.core.rules.pubsub import publish

BLOCKED = "arrival_blocked"
LEFT_OUT = "arrival_left_out"
"""Its sender has not committed the unit, and sends it again: else messages would be missing."""
SPANS_PER_RECORD = 20_000
"""So that a record stays far below what a topic takes."""
POSITIONS_PER_RECORD = 1_000
OF_SYSTEM = (*SYSTEM_TYPES, broker_delivery.END_ACKNOWLEDGED)
"""Messages by which conversations end: they have nothing of an application, and go to one that is
there; to refuse them would be answered by another one.
"""


MORE_OF_A_UNIT = 8
"""A step has an eighth more bytes than the longest unit, and twice as many messages: a unit is not
cut for reports without data and the headers of dead letters."""


class Arriving(Struct):
    """A unit of another queue manager that is being put.

    delivered: messages of MQ that their queues took; reports about them come when all were put.
    receiver: by whose authorities they are put. is_of_kafka: a client of Kafka wrote it, and no
    transmission queue had it.
    """

    plan: Plan
    conversations: ConversationPlan
    source: str
    is_of_kafka: bool
    receiver: ReceiverAuthority | None
    delivered: list[MessageData] = []


def _of_conversation(arriving: Arriving, arrival: Arrival) -> str:
    message, header = arrival.message, arrival.message.broker
    receiver = arriving.receiver
    if (
        header is None
        or receiver is None
        or header.message_type in OF_SYSTEM
        or receiver.may_send(header.service, message.user)
    ):
        broker_delivery.deliver(arriving.conversations, message)
    else:
        broker_delivery.refuse(arriving.conversations, header)
    return ""


def _of_msmq(arriving: Arriving, arrival: Arrival) -> str:
    message = arrival.message
    if msmq_delivery.waits_for_room(arriving.plan, message):
        return message.transmission.queue if message.transmission is not None else ""
    msmq_delivery.arrive(arriving.plan, message, arriving.receiver)
    return ""


def _of_mq(arriving: Arriving, arrival: Arrival) -> str:
    return arrival_of_mq.arrive(
        *(arriving.plan, arrival, arriving.source, arriving.is_of_kafka),
        *(arriving.delivered, arriving.receiver, publish.plan_by_alias),
    )


ARRIVALS: dict[str, Callable[[Arriving, Arrival], str]] = {
    "conversation": _of_conversation,
    "msmq": _of_msmq,
    "mq": _of_mq,
}
"""By kind of message: plans its put; returns the name of the queue that has no room, else ""."""


def decide(qm: QueueManager, unit: ArrivedUnit, now_ms: int) -> list[r.Record]:
    """Put what of a unit is new, as much as a step may, and note that it came; or say that there is
    no room for it.
    """
    events: list[r.Record] = []
    if unit.behind is not None and not qm.arrivals.has(unit.origin, *unit.behind):
        told = {"from": unit.source, "behind": "/".join(map(str, unit.behind))}
        events.append(r.EventRaised(LEFT_OUT, unit.topic, now_ms, told))
        unit = structs.replace(unit, messages=[], lowest=[])
    plan = Plan(qm, now_ms)
    receiver = receiver_of(qm, unit.source)
    is_of_kafka = not unit.origin.queue
    arriving = Arriving(plan, ConversationPlan(plan), unit.source, is_of_kafka, receiver)
    new = _new(qm, unit)
    count, blocked = _plan_puts(arriving, new)
    blocked = blocked or _first_parked(qm, plan.puts + plan.reports)
    qm.arrivals.unfinished.discard(unit.topic)
    if blocked:
        was_blocked = unit.topic in qm.arrivals.blocked
        qm.arrivals.blocked[unit.topic] = blocked
        if was_blocked:
            qm.step.denied.clear()
            return []  # the event is raised once, and so is what was denied
        return [r.EventRaised(BLOCKED, blocked, now_ms, {"topic": unit.topic, "from": unit.source})]
    qm.arrivals.blocked.pop(unit.topic, None)
    _report(qm, plan, arriving.delivered)
    arriving.conversations.set_endpoints()
    arrived, ident = _arrived(unit), unit.unit
    if count < len(new):
        qm.arrivals.unfinished.add(unit.topic)
        arrived, ident = _arrived(_part(qm, unit, new[:count])), b""
    records = plan.record(ident, "commit")
    return [*records, *arriving.conversations.removals(), *events, arrived]


def _plan_puts(arriving: Arriving, new: list[Arrival]) -> tuple[int, str]:
    """Plan the puts of the first of these messages, as many as one step takes; returns how many,
    and the queue that has no room for the next one, or "".

    There is room for the unit as it came. What is put beside it takes from the rest.
    """
    plan, qm = arriving.plan, arriving.plan.qm
    size = sum(weight(arrival.message) for arrival in new)
    more = qm.limits.unit_bytes // MORE_OF_A_UNIT
    most = max(qm.limits.unit_messages, len(new))  # the sender may be allowed more
    room = StepRoom(2 * most - len(new), qm.limits.unit_bytes + more - size)
    for at, arrival in enumerate(new):
        plan.report_room = max(0, room.bytes - more)
        mark, delivered, denied = plan.mark(), len(arriving.delivered), len(qm.step.denied)
        kind = _kind_of(arrival)
        blocked = ARRIVALS[kind](arriving, arrival)
        if blocked:
            return at, blocked
        puts = plan.since(mark)
        if len(puts) <= 1 or kind == "conversation":
            continue  # it is put, or its dead letter; answers of conversations are short
        size = sum(weight(message) for _, message in puts) - weight(arrival.message)
        fits = room.has(size, len(puts) - 1)
        if at and not fits:
            plan.undo(mark)
            del arriving.delivered[delivered:], qm.step.denied[denied:]
            return at, ""
        if not fits:
            return 1, ""
        room.take(size, len(puts) - 1)
    return len(new), ""


def _part(qm: QueueManager, unit: ArrivedUnit, put: list[Arrival]) -> ArrivedUnit:
    """Return what of a unit has come with these messages: its topic is read from where it was."""
    offset = qm.arrivals.position(unit.topic, unit.topic_id)
    return structs.replace(unit, offset=offset, messages=put, lowest=[])


def _report(qm: QueueManager, plan: Plan, delivered: list[MessageData]) -> None:
    """Report arrivals together with the puts; by themselves, behind them, if they would be more
    than a unit has: a unit that has arrived cannot be refused.
    """
    size = sum(data_length(message, CONFIRM_ON_ARRIVAL) for message in delivered)
    if size:
        size += sum(len(message.body) for _, message in plan.puts + plan.reports)
    for message in delivered:
        if size <= qm.limits.unit_bytes:
            plan.report(message, CONFIRM_ON_ARRIVAL)
        elif message.report & CONFIRM_ON_ARRIVAL:
            qm.step.reports_due.append(ReportDue(message, CONFIRM_ON_ARRIVAL, plan.now_ms))


def _kind_of(arrival: Arrival) -> str:
    """Say how a message arrives: what is not valid otherwise, as one of MQ."""
    message = arrival.message
    if arrival.code:
        return "mq"
    if broker_delivery.is_valid(message):
        return "conversation"
    if message.msmq is not None and is_valid(message):
        return "msmq"
    return "mq"


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


def _arrived(unit: ArrivedUnit) -> r.UnitArrived:
    return r.UnitArrived(
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


def apply_unit_arrived(qm: QueueManager, record: r.UnitArrived) -> None:
    """Note what came, and from where its topic is read next."""
    arrivals = qm.arrivals
    origin = Origin(record.queue_manager, record.queue, record.incarnation)
    places = record.arrived
    for at in range(0, len(places), 3):
        arrivals.lane(origin, places[at]).add(places[at + 1], places[at + 2])
    lowest = record.lowest
    arrivals.forget_below(origin, [Lowest(*lowest[at : at + 3]) for at in range(0, len(lowest), 3)])
    arrivals.move(record.topic, record.topic_id, record.offset)


def describe(qm: QueueManager) -> Iterator[r.Record]:
    """Describe for a snapshot what has arrived."""
    for origin, lanes in qm.arrivals.origins.items():
        known = [part for n, lane in lanes.items() for part in (n, lane.below_seq, lane.below_n)]
        yield r.ArrivalsRestored(
            origin.queue_manager, origin.queue, origin.incarnation, known, [], []
        )
        for n, lane in lanes.items():
            yield from _spans(origin, n, lane)
    noted = [
        r.PositionNoted(topic, one.topic_id, one.offset)
        for topic, one in qm.arrivals.positions.items()
    ]
    for at in range(0, len(noted), POSITIONS_PER_RECORD):
        yield r.PositionsRestored(noted[at : at + POSITIONS_PER_RECORD])


def _spans(origin: Origin, number: int, lane: LaneArrivals) -> Iterator[r.ArrivalsRestored]:
    """Describe what came of a lane beside what all came."""
    seqs, others = lane.seqs.spans(), lane.others.spans()
    for at in range(0, max(len(seqs), len(others)), SPANS_PER_RECORD):
        end = at + SPANS_PER_RECORD
        yield r.ArrivalsRestored(
            origin.queue_manager,
            origin.queue,
            origin.incarnation,
            [],
            [part for span in seqs[at:end] for part in (number, *span)],
            [part for span in others[at:end] for part in (number, *span)],
        )


def apply_arrivals_restored(qm: QueueManager, record: r.ArrivalsRestored) -> None:
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


def apply_positions_restored(qm: QueueManager, record: r.PositionsRestored) -> None:
    """Note from where topics are read next."""
    for one in record.positions:
        qm.arrivals.move(one.topic, one.topic_id, one.offset)
