"""Reports: which messages may ask for them, and whose unit they belong to.

Confirmation of arrival is in the putter's unit, confirmation of delivery in the getter's, a report
of an expiry in none. A report that its queue does not take goes to the dead-letter queue; without
one, or if its program said DISCARD, it is lost, and an event says so. What a put or get does
succeeds, whatever becomes of the report. Reports of exceptions are for what the queue manager took
and then could not deliver: copies of publications; a put that fails has its answer. Where a report
goes: core.rules.messages.plan. This module does not know what one looks like.
"""

from __future__ import annotations

from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import MessagesDiscarded, Record
from adapter.core.contract.stored import Stored
from adapter.core.contract.weights import weight
from adapter.core.model.destination import Destination
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import ASKS, EXPIRATION, REQUEST, MsmqExpiry, ReportDue
from adapter.core.rules.messages.plan import Plan


def check(queue: Destination, message: MessageData) -> None:
    """Refuse to ask for an answer that has nowhere to go (MQRC_MISSING_REPLY_TO_Q)."""
    if not message.reply_to and (message.report & ASKS or message.message_type == REQUEST):
        raise Refusal(Reason.MISSING_REPLY_TO, queue.name)


def note_expired(qm: QueueManager, record: MessagesDiscarded) -> None:
    """Note the reports that messages in memory ask for, which are about to be discarded."""
    for taken in record.places if record.cause == "expired" else ():
        stored = qm.queues[taken.queue].stored.get((-taken.lane, taken.seq, taken.n))
        if stored is not None:
            note_stored_expiry(qm, qm.queues[taken.queue], stored)


def note_stored_expiry(qm: QueueManager, queue: LocalQueue, stored: Stored) -> None:
    """Note what the expiry of a message causes that is on its queue."""
    if stored.message.msmq is not None:
        qm.step.reports_due.append(MsmqExpiry(queue, stored))
    note_expiry(qm, stored.message)


def expiry_weight(stored: Stored) -> int:
    """Bound the bytes of what the expiry of a message puts: its report, a dead letter of MSMQ."""
    message = stored.message
    asks = message.msmq is not None or message.report & EXPIRATION
    return weight(message) if asks else 0


def note_expiry(qm: QueueManager, message: MessageData) -> None:
    """Note the report that an expired message asks for, if it does."""
    if message.report & EXPIRATION:
        qm.step.reports_due.append(ReportDue(message))


def decide(qm: QueueManager, work: ReportDue) -> list[Record]:
    """Report an expiry, or the arrival of a message that was delayed, in no unit."""
    plan = Plan(qm, work.time_ms or work.message.expires_at_ms)
    plan.report(work.message, work.kind)
    return plan.record()
