"""Arrivals: messages of other queue managers are put here, each exactly once.

What came before is dropped, by its place on the transmission queue it came from. The rest of a unit
is put together, in one step with the note that it came and from where its topic is to be read
next. A message that its queue does not take goes to the dead-letter queue; where neither takes it,
nothing is put and noted, an event says so, and the same unit is given again later. This module does
not know how a message travels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import msgspec
from msgspec import Struct

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
from adapter.core.model.report import CONFIRM_ON_ARRIVAL, DISCARD, EXCEPTION
from adapter.core.model.routes import Made
from adapter.core.mq_layouts.reason_codes import code_of
from adapter.core.rules.broker import delivery as broker_delivery
from adapter.core.rules.broker.delivery import BrokerDelivery
from adapter.core.rules.messages import put, report
from adapter.core.rules.messages.admit import put_records
from adapter.core.rules.messages.unit import Puts
from adapter.core.rules.msmq.checks import is_valid
from adapter.core.rules.msmq.delivery import MsmqDelivery, arrive, waits_for_room
from adapter.core.rules.network import remote, undelivered
from adapter.core.rules.primitives import parking
from adapter.core.rules.primitives.decision import Decision, connection_of
from adapter.core.rules.primitives.matching import is_over

BLOCKED = "arrival_blocked"
INVALID = 2110
"""MQRC_FORMAT_ERROR: what came is no message."""
SPANS_PER_RECORD = 20_000
"""So that a record stays far below what a topic takes."""
POSITIONS_PER_RECORD = 1_000


class Delivery(Struct):
    """Where the messages of a unit go. source: the queue manager that sent it. puts: to their
    queues, or for dead letters. delivered: those that reached their queues. reports: of exceptions.
    planned: how many puts there are by queue. made: transmission queues that are made for them.
    events: what is raised.
    """

    source: str = ""
    puts: Puts = []
    delivered: list[MessageData] = []
    reports: Puts = []
    planned: Counter[str] = msgspec.field(default_factory=Counter)
    made: Made = {}
    events: list[Record] = []

    def add(self, queue: LocalQueue, message: MessageData) -> None:
        """Add a put."""
        self.puts.append((queue, message))
        self.planned[queue.name] += 1


def decide(qm: QueueManager, unit: ArrivedUnit, now_ms: int) -> list[Record]:
    """Put what of a unit is new, and note that it came; or say that there is no room for it."""
    delivery = Delivery(unit.source)
    of_msmq = MsmqDelivery(qm, now_ms)
    of_broker = BrokerDelivery(qm, now_ms)
    for arrival in _new(qm, unit):
        if not arrival.code and broker_delivery.is_valid(arrival.message):
            broker_delivery.deliver(of_broker, arrival.message)
            continue
        if arrival.message.msmq is not None and not arrival.code and is_valid(arrival.message):
            if waits_for_room(of_msmq, arrival.message):
                return _report_blocked(qm, unit, _name_of(arrival), now_ms)
            arrive(of_msmq, arrival.message)
            continue
        blocked = _deliver(qm, delivery, arrival, now_ms)
        if blocked:
            return _report_blocked(qm, unit, blocked, now_ms)
    blocked = _first_parked(qm, of_msmq.puts + of_broker.puts)
    if blocked:
        return _report_blocked(qm, unit, blocked, now_ms)
    qm.arrivals.blocked.pop(unit.topic, None)
    qm.step.made |= of_msmq.new.made | delivery.made | of_broker.all_made()
    records = of_msmq.new.records + remote.definitions(delivery.made) + delivery.events
    records += of_broker.records_before()
    puts = delivery.puts + of_msmq.puts + of_broker.puts + delivery.reports
    if puts:
        sent = report.due(qm, delivery.delivered, CONFIRM_ON_ARRIVAL, now_ms, None)
        ident = unit.unit or qm.numbers.new_message_id()
        records += sent.records + put_records(qm, ident, puts + sent.puts, now_ms, verb="commit")
    return [*records, *of_broker.records_after(), _arrived(unit)]


def _name_of(arrival: Arrival) -> str:
    to = arrival.message.transmission
    return to.queue if to is not None else ""


def _first_parked(qm: QueueManager, puts: Puts) -> str:
    """Return the first queue of these puts that is parked and takes no more; "" if all take them.

    MSMQ has no reason for a dead letter that says so: the messages wait, as the put of a program
    here would be refused.
    """
    for queue, message in puts if qm.parked or qm.uncopied.is_full else ():
        try:
            parking.check_put(qm, queue, [message])
        except Refusal:
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


def _deliver(qm: QueueManager, delivery: Delivery, arrival: Arrival, now_ms: int) -> str:
    """Add the put of a message; returns the name of its queue if nothing can take it."""
    message = msgspec.structs.replace(arrival.message, transmission=None)
    to = arrival.message.transmission or Transmission("")
    target = undelivered.find(qm, to.queue, to.queue_manager, delivery.made)
    if _returns(target, to, delivery.source):
        target = undelivered.Target(reason=Reason.UNKNOWN_REMOTE_QUEUE_MANAGER)
    queue = target.queue
    code = arrival.code or _complete(qm, queue, message, now_ms)
    if code:
        message = _as_bytes(qm, message.body, now_ms)
        return _dead_letter(qm, delivery, message, to, code, now_ms)
    reason = target.reason
    if queue is not None:
        message.transmission = target.transmission
        planned = delivery.planned[queue.name]
        reason = undelivered.why_undeliverable(qm, queue, message, planned)
        if reason is None:
            delivery.add(queue, message)
            delivery.delivered.append(message)
            return ""
        message.transmission = None
    reason = reason or undelivered.why_unresolved(qm, to.queue)
    if message.report & EXCEPTION:
        _report(qm, delivery, message, reason, now_ms)
    if message.report & DISCARD:
        return ""
    return _dead_letter(qm, delivery, message, to, code_of(reason), now_ms)


def _returns(target: undelivered.Target, to: Transmission, source: str) -> bool:
    """Whether a message would go back to where it came from, unchanged: and so for ever."""
    queue = target.queue
    return queue is not None and queue.name == source != "" and target.transmission == to


def _report(
    qm: QueueManager, delivery: Delivery, message: MessageData, reason: Reason, now_ms: int
) -> None:
    """Report to the program that put a message that it could not be delivered."""
    found = report.exception_report(qm, message, reason, now_ms, delivery.planned, delivery.made)
    if isinstance(found, EventRaised):
        delivery.events.append(found)
        return
    delivery.reports.append(found)
    delivery.planned[found[0].name] += 1


def _dead_letter(
    qm: QueueManager,
    delivery: Delivery,
    message: MessageData,
    to: Transmission,
    code: int,
    now_ms: int,
) -> str:
    """Add the put of a dead letter; returns the name of the queue if nothing can take it."""
    put = undelivered.for_dead_letter_queue(
        qm, message, to.queue, code, now_ms, to.queue_manager, delivery.planned
    )
    if put is not None:
        delivery.add(*put)
        return ""
    return to.queue or qm.attributes.dead_letter_queue or "SYSTEM"


def _complete(qm: QueueManager, queue: LocalQueue | None, message: MessageData, now_ms: int) -> int:
    """Fill in what a message that arrived leaves open; returns why it is invalid, or 0."""
    message.destination, message.delay_ms = "", 0
    checked = queue or undelivered.dead_letter_queue(qm)
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
