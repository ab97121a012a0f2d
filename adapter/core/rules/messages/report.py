"""Reports: where they go, and whose unit they belong to.

Confirmation of arrival is in the putter's unit, confirmation of delivery in the getter's, a report
of an expiry in none. A report that its queue does not take goes to the dead-letter queue; without
one, or if its program said DISCARD, it is lost, and an event says so. What a put or get does
succeeds, whatever becomes of the report. Reports of exceptions are for what the queue manager took
and then could not deliver: copies of publications; a put that fails has its answer. This module
does not know what a report looks like.
"""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from adapter.core.contract.message import MessageData, Stored, weight
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import EventRaised, MessagesDiscarded, Record
from adapter.core.model.destination import Destination
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import (
    ASKS,
    CONFIRM_ON_ARRIVAL,
    DISCARD,
    EXCEPTION,
    EXPIRATION,
    REQUEST,
    MsmqExpiry,
    ReportDue,
)
from adapter.core.model.report import make as made_report
from adapter.core.model.routes import Made
from adapter.core.model.unit import UnitOfWork
from adapter.core.mq_layouts.reason_codes import code_of
from adapter.core.rules.messages.admit import hold, put_records
from adapter.core.rules.network import remote, undelivered

LOST = "report_lost"


class Sent(Struct):
    """What becomes of reports: puts to be made with what caused them, and what is to be said.

    made: transmission queues that are made for them.
    """

    puts: list[tuple[LocalQueue, MessageData]] = []
    records: list[Record] = []
    made: Made = {}


def check(queue: Destination, message: MessageData) -> None:
    """Refuse to ask for an answer that has nowhere to go (MQRC_MISSING_REPLY_TO_Q)."""
    if not message.reply_to and (message.report & ASKS or message.message_type == REQUEST):
        raise Refusal(Reason.MISSING_REPLY_TO, queue.name)


def due(
    qm: QueueManager, messages: list[MessageData], kind: int, now_ms: int, unit: UnitOfWork | None
) -> Sent:
    """Make the reports that messages ask for: held by a unit, or to be put with what caused them.

    A unit may hold one for each of its puts and gets beyond the messages that it may have. What is
    on its way arrives, and is delivered, elsewhere; if it expires first, that is reported here.
    """
    sent = Sent()
    for message in messages:
        arrives_later = message.destination and kind == CONFIRM_ON_ARRIVAL
        is_on_its_way = message.transmission is not None and kind != EXPIRATION
        if message.report & kind and not arrives_later and not is_on_its_way:
            _send(qm, message, kind, now_ms, sent)
    if sent.made:
        sent.records += remote.definitions(sent.made)
        qm.step.made.update(sent.made)
    if unit is not None:
        hold(qm, unit, sent.puts, [weight(report) for _, report in sent.puts], now_ms)
        sent.puts = []
    return sent


def note_expired(qm: QueueManager, record: MessagesDiscarded) -> None:
    """Note the reports that messages in memory ask for, which are about to be discarded."""
    for taken in record.places if record.cause == "expired" else ():
        stored = qm.queues[taken.queue].stored.get((-taken.lane, taken.seq, taken.n))
        if stored is not None:
            note_stored_expiry(qm, stored)


def note_stored_expiry(qm: QueueManager, stored: Stored) -> None:
    """Note what the expiry of a message causes that is on its queue."""
    if stored.message.msmq is not None:
        qm.step.reports_due.append(MsmqExpiry(stored))
    note_expiry(qm, stored.message)


def note_expiry(qm: QueueManager, message: MessageData) -> None:
    """Note the report that an expired message asks for, if it does."""
    if message.report & EXPIRATION:
        qm.step.reports_due.append(ReportDue(message))


def decide(qm: QueueManager, work: ReportDue) -> list[Record]:
    """Report an expiry, or the arrival of a message that was delayed, in no unit."""
    message = work.message
    time_ms = work.time_ms or message.expires_at_ms
    sent = due(qm, [message], work.kind, time_ms, None)
    if not sent.puts:
        return sent.records
    return sent.records + put_records(qm, qm.numbers.new_message_id(), sent.puts, time_ms)


def exception_report(
    qm: QueueManager,
    message: MessageData,
    reason: Reason,
    now_ms: int,
    planned: Counter[str],
    made: Made,
) -> tuple[LocalQueue, MessageData] | EventRaised:
    """Report that a message could not be delivered, for whoever puts it with its dead letter.

    Returns where the report goes, or that it is lost. planned: by queue, see
    undelivered.why_undeliverable. made: see remote.route.
    """
    report = made_report(
        qm.name, message, EXCEPTION, qm.numbers.new_message_id(), now_ms, code_of(reason)
    )
    return _route(qm, message, report, now_ms, planned, made)


def _send(qm: QueueManager, message: MessageData, kind: int, now_ms: int, sent: Sent) -> None:
    report = made_report(qm.name, message, kind, qm.numbers.new_message_id(), now_ms)
    found = _route(qm, message, report, now_ms, Counter(), sent.made)
    if isinstance(found, EventRaised):
        sent.records.append(found)
        return
    queue, report = found
    sent.puts.append((queue, report))


def _route(
    qm: QueueManager,
    message: MessageData,
    report: MessageData,
    now_ms: int,
    planned: Counter[str],
    made: Made,
) -> tuple[LocalQueue, MessageData] | EventRaised:
    """Find the queue that takes a report, to reply to or for dead letters; or say it is lost."""
    to, manager = message.reply_to, message.reply_to_queue_manager
    found = undelivered.find(qm, to, manager, made)
    queue, reason = found.queue, found.reason
    if queue is None:
        reason = reason or undelivered.why_unresolved(qm, to)
    else:
        report.transmission = found.transmission
        reason = undelivered.why_undeliverable(qm, queue, report, planned[queue.name])
        if reason is None:
            return queue, report
        report.transmission = None
    code = code_of(reason)
    if not message.report & DISCARD:
        put = undelivered.for_dead_letter_queue(qm, report, to, code, now_ms, manager, planned)
        if put is not None:
            return put
    return EventRaised(LOST, to, now_ms, {"reply_to": to, "reason": str(code)})
