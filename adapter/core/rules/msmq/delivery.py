"""Delivery of messages of MSMQ: which queue accepts one, and what becomes of one that none accepts.

A message that a queue does not accept, or that leaves it without having been received, is reported
to its administration queue, if it asks for that, and becomes a dead letter: a transactional one
always, to the queue that it names for that or to the transactional dead-letter queue of the
computer that sent it; another one if it says so, to the dead-letter queue of the computer that gave
up. Both are put with what caused them, in the same unit. An acknowledgment that cannot be delivered
is discarded. What a message names reaches its queue by the authorities of who sent it: see
core.rules.messages.putters. This module does not know who sends, receives or removes messages.
"""

from __future__ import annotations

from msgspec import structs

from adapter.core.attributes.msmq import COMPUTER_QUOTA_UNLIMITED_KB, QUOTA_UNLIMITED_KB
from adapter.core.contract.format_names import (
    COMPUTER_JOURNAL,
    DEAD_LETTERS,
    TRANSACTIONAL_DEAD_LETTERS,
    FormatName,
    is_computer,
    parse,
)
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.msmq_header import (
    ACKNOWLEDGE_ARRIVAL,
    ACKNOWLEDGE_NOT_ARRIVED,
    ACKNOWLEDGE_NOT_RECEIVED,
    ACKNOWLEDGE_RECEIVE,
    DEAD_LETTER,
    JOURNAL,
    MsmqHeader,
)
from adapter.core.contract.reasons import Refusal
from adapter.core.contract.records import Record
from adapter.core.contract.stored import Stored
from adapter.core.contract.transmission import Transmission
from adapter.core.contract.weights import size_of
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.messages import putters
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.putters import Reach
from adapter.core.rules.messages.receiving import ReceiverAuthority
from adapter.core.rules.msmq import computers, queues
from adapter.core.rules.msmq.computers import depends_on

# MQMSG_CLASS_*: of acknowledgments, and of dead letters.
REACHED_QUEUE = 0x0002
RECEIVED = 0x4000
BAD_DESTINATION = 0x8000
REACH_QUEUE_TIMEOUT = 0x8002
QUOTA_EXCEEDED = 0x8003
ACCESS_DENIED = 0x8004
NOT_TRANSACTIONAL_QUEUE = 0x8009
NOT_TRANSACTIONAL_MESSAGE = 0x800A
QUEUE_DELETED = 0xC000
QUEUE_PURGED = 0xC001
RECEIVE_TIMEOUT = 0xC002
RECEIVE_REJECTED = 0xC004
READ = 0x4000
"""The bit of classes that are about receiving; the others are about arrival."""
NEGATIVE = 0x8000
LABEL = "Label"
"""The property that has the label of a message that was put to a queue of MQ."""
REMOVED_ON_PURPOSE = (QUEUE_DELETED, QUEUE_PURGED)
"""Such messages become dead letters only if they say so."""


def put(plan: Plan, queue: LocalQueue, message: MessageData, *, acknowledges: bool = False) -> None:
    """Plan a put: it counts for the quota of the queue, which it shares with its subqueues."""
    plan.put(queue, message, is_report=acknowledges)
    base = queue.name.partition(";")[0]
    plan.size[base] = plan.size.get(base, 0) + size_of(message)


def find(plan: Plan, key: str) -> LocalQueue | None:
    """Return the queue of a key, if there is one and it is not being deleted."""
    if key in plan.deleted:
        return None
    queue = queues.find(plan.qm, key)
    if queue is not None and queues.is_leaving(plan.qm, queue):
        return None
    return plan.new_queues.queues.get(key) or queue


def header_of(message: MessageData) -> MsmqHeader:
    """Return what MSMQ says of a message."""
    return message.msmq or MsmqHeader()


def is_settled(message: MessageData) -> bool:
    """Whether a message has had its outcome, on whatever queue it is: a dead letter is neither
    received nor given up a second time. Negative acknowledgments count too: they ask for nothing.
    """
    return bool(header_of(message).message_class & NEGATIVE)


def why_not_accepted(plan: Plan, name: FormatName, message: MessageData) -> int:
    """Return the class of the acknowledgment that says why a queue here does not accept a message;
    0: it does.
    """
    queue = find(plan, name.queue)
    if not isinstance(queue, MsmqQueue) or not queue.is_sent_to:
        return BAD_DESTINATION
    transactional = header_of(message).transactional
    if transactional != queue.attributes.transactional:
        return NOT_TRANSACTIONAL_QUEUE if transactional else NOT_TRANSACTIONAL_MESSAGE
    quota_kb = plan.qm.attributes.msmq_quota_kb
    if size_of(message) > quota_kb * 1024 or not has_room(plan, queue, message):
        return QUOTA_EXCEEDED
    return 0


def has_room(plan: Plan, queue: MsmqQueue, message: MessageData) -> bool:
    """Whether the quota of a queue, which it shares with its subqueues, allows one message more."""
    quota = queue.attributes.quota_kb
    if quota == QUOTA_UNLIMITED_KB:
        return True
    held = plan.qm.msmq_totals.held_by(queue.base)
    return held + plan.size.get(queue.base, 0) + size_of(message) <= quota * 1024


def computer_has_room(plan: Plan, message: MessageData, copies: int = 1) -> bool:
    """Whether the quota of the computer allows so many copies of a message more. Dead letters and
    copies in the computer's journal do not count.
    """
    quota = plan.qm.attributes.msmq_quota_kb
    if quota == COMPUTER_QUOTA_UNLIMITED_KB:
        return True
    held = plan.qm.msmq_totals.computer.bytes
    return held + sum(plan.size.values()) + copies * size_of(message) <= quota * 1024


def with_subqueues(qm: QueueManager, queue: MsmqQueue) -> list[MsmqQueue]:
    """Return a queue and its subqueues."""
    prefix = queue.name + ";"
    found = [one for name, one in qm.queues.items() if name.startswith(prefix)]
    return [queue, *(one for one in found if isinstance(one, MsmqQueue) and one.is_subqueue)]


def deliver(plan: Plan, name: FormatName, message: MessageData) -> None:
    """Put a message to a queue here, or say what becomes of it otherwise."""
    of_mq = queues.of_mq(plan.qm, name)
    if of_mq is None:
        refused = why_not_accepted(plan, name, message)
    else:
        refused = _why_not_to_mq(plan, of_mq, message)
    if refused:
        fail(plan, message, refused)
        return
    if 0 < message.expires_at_ms <= plan.now_ms:
        fail(plan, message, RECEIVE_TIMEOUT)
        return
    if of_mq is not None:
        plan.put(of_mq, _as_of_mq(of_mq, message))
    else:
        queue = plan.qm.queues[name.queue]
        assert isinstance(queue, MsmqQueue), "it accepts the message"
        put(plan, queue, message)
    acknowledge(plan, message, REACHED_QUEUE)


def _why_not_to_mq(plan: Plan, queue: LocalQueue, message: MessageData) -> int:
    """Return the class of the acknowledgment that says why a queue of MQ does not accept a message;
    0: it does.
    """
    if plan.why_not(queue, message) is None:
        return 0
    takes_none = queue.attributes.inhibit_put or queue.is_temporary
    return BAD_DESTINATION if takes_none else QUOTA_EXCEEDED


def _as_of_mq(queue: LocalQueue, message: MessageData) -> MessageData:
    """Return a message of MSMQ as one of MQ: its label is a property."""
    header = header_of(message)
    return structs.replace(
        message,
        msmq=None,
        reply_to_queue_manager="",
        priority=queue.attributes.def_priority if header.transactional else message.priority,
        properties={LABEL: header.label} if header.label else None,
    )


def fail(plan: Plan, message: MessageData, why: int, leaving: LocalQueue | None = None) -> None:
    """Say what becomes of a message that is not accepted, or leaves its queue unreceived."""
    acknowledge(plan, message, why)
    header = header_of(message)
    asks = bool(header.journal & DEAD_LETTER)
    if asks or (header.transactional and why not in REMOVED_ON_PURPOSE):
        bury(plan, message, why, leaving)


def bury(plan: Plan, message: MessageData, why: int, leaving: LocalQueue | None = None) -> None:
    """Put a message to a dead-letter queue; of another computer, if that one sent it.

    leaving: the queue that it is removed from, to which it does not come back.
    """
    header = header_of(message)
    dead = structs.replace(
        message,
        expires_at_ms=0,  # it does not expire; expiry_ms says how its program sent it
        put_time_ms=plan.now_ms,
        transmission=None,
        msmq=structs.replace(header, message_class=why, receive_by_ms=0),
    )
    if not header.transactional:
        kept = None
        if message.transmission is not None:  # the sender's side gave up
            ours = is_ours(plan.qm, message)
            kept = queues.kept_for(plan, DEAD_LETTERS, header.source, is_ours=ours)
        put(plan, kept or queues.ensure_system_queue(plan, DEAD_LETTERS), dead)
    elif not header.source or computers.is_own(plan.qm, header.source):
        put(plan, _own_dead_letters(plan, message, leaving), dead)
    else:
        _return_dead_letter(plan, message, dead, leaving)


def acting_for(message: MessageData) -> str:
    """Return the computer whose queue manager acts for the one that sent a message of MSMQ: its
    dead letters return there; empty: to the sender. So it says the queue manager that sends, if the
    sender depends on that; messages of MSMQ have no other use for the field.
    """
    named = message.reply_to_queue_manager
    return named if is_computer(named) else ""


def is_ours(qm: QueueManager, message: MessageData) -> bool:
    """Whether the computer that sent a message depended on this queue manager then."""
    named = acting_for(message)
    return bool(named) and computers.is_own(qm, named)


def _return_dead_letter(
    plan: Plan, message: MessageData, dead: MessageData, leaving: LocalQueue | None = None
) -> None:
    """Put the dead letter of a message that another computer sent to the queue where its programs
    read it: here, if it depends on this queue manager; elsewhere by way of its outgoing queue.
    """
    qm, source, ours = plan.qm, header_of(message).source, is_ours(plan.qm, message)
    kept = queues.kept_for(plan, TRANSACTIONAL_DEAD_LETTERS, source, is_ours=ours)
    if kept is not None:
        put(plan, _named_for_dead_letters(plan, message, leaving) or kept, dead)
        return
    is_known = computers.known(qm, source) is not None
    to = FormatName(
        source if is_known or ours else acting_for(message) or source, TRANSACTIONAL_DEAD_LETTERS
    )
    # A computer that depended on this one when it sent, by its program's word, has a queue manager
    # now: it is led there only by the authorities that its program would need for such a send.
    may = not ours or _reach(qm, message, to, "DeadLetter") is Reach.WHOLE
    if not may or not transmit(plan, to, dead):
        put(plan, queues.ensure_system_queue(plan, TRANSACTIONAL_DEAD_LETTERS), dead)


def _own_dead_letters(
    plan: Plan, message: MessageData, leaving: LocalQueue | None = None
) -> MsmqQueue:
    """Return the dead-letter queue of a message that was sent here."""
    named = _named_for_dead_letters(plan, message, leaving)
    return named or queues.ensure_system_queue(plan, TRANSACTIONAL_DEAD_LETTERS)


def _named_for_dead_letters(
    plan: Plan, message: MessageData, leaving: LocalQueue | None
) -> MsmqQueue | None:
    """Return the dead-letter queue that a message names, if that is a transactional one here, and
    not the one that it is leaving.
    """
    header = header_of(message)
    if not header.dead_letter_queue or not header.journal & DEAD_LETTER:
        return None
    try:
        name = parse(header.dead_letter_queue, header.source)
    except Refusal:
        return None
    queue = find(plan, name.queue)
    if not isinstance(queue, MsmqQueue) or not computers.is_here(plan.qm, name):
        return None
    if queue is leaving or not queue.attributes.transactional or not queue.is_sent_to:
        return None
    is_whole = _reach(plan.qm, message, name, "DeadLetter") is Reach.WHOLE
    return queue if is_whole else None


def _reach(qm: QueueManager, message: MessageData, name: FormatName, what: str) -> Reach:
    """Say how much of what a message causes reaches a queue that it names: by the authorities of
    who sent it.
    """
    return putters.reach(qm, message, queues.checked_name(qm, name), what=what)


_ASKS = {
    REACHED_QUEUE: ACKNOWLEDGE_ARRIVAL,
    RECEIVED: ACKNOWLEDGE_RECEIVE,
}


def acknowledge(plan: Plan, message: MessageData, kind: int) -> None:
    """Send an acknowledgment of a class, if the message asks for it."""
    header = header_of(message)
    asked = _ASKS.get(kind) or (
        ACKNOWLEDGE_NOT_RECEIVED if kind & READ else ACKNOWLEDGE_NOT_ARRIVED
    )
    if not header.acknowledge & asked or not header.administration_queue:
        return
    here = computers.computer_of(plan.qm)
    try:
        target = parse(header.administration_queue, header.source or here)
    except Refusal:
        return
    reached = _reach(plan.qm, message, target, "Acknowledgment")
    if reached is Reach.NOTHING:
        return
    has_body = bool(kind & NEGATIVE) and reached is Reach.WHOLE
    report = MessageData(
        body=message.body if has_body else b"",
        message_id=plan.qm.numbers.new_message_id(),
        correlation_id=message.message_id,
        group_id=NO_ID,
        priority=message.priority,
        persistence=1,
        put_time_ms=plan.now_ms,
        msmq=MsmqHeader(
            label=header.label,
            app_specific=header.app_specific,
            body_type=header.body_type if has_body else 0,
            message_class=kind,
            destination=target.text,
            response_queue=header.destination,
            source=here,
            sent_ms=plan.now_ms,
        ),
    )
    if not computers.is_here(plan.qm, target):
        transmit(plan, target, report, acknowledges=True)
    elif not why_not_accepted(plan, target, report):
        queue = plan.qm.queues[target.queue]
        assert isinstance(queue, MsmqQueue), "it accepts the message"
        put(plan, queue, report, acknowledges=True)


def transmit(
    plan: Plan,
    target: FormatName,
    message: MessageData,
    *,
    acknowledges: bool = False,
) -> bool:
    """Put a message to the outgoing queue of another computer, where it waits for its time to
    reach the queue at most. Returns whether there is an outgoing queue, or can be one more.
    """
    outgoing = queues.ensure_outgoing(plan, target.computer)
    if outgoing is None:
        return False
    header = header_of(message)
    ends = [header.receive_by_ms] if header.receive_by_ms else []
    if header.reach_ms >= 0:
        ends.append(plan.now_ms + header.reach_ms)
    is_dead = bool(header.message_class & NEGATIVE) and header.transactional
    leaving = structs.replace(
        message,
        transmission=Transmission(target.queue, computer=target.computer),
        expires_at_ms=0 if is_dead or not ends else min(ends),
    )
    put(plan, outgoing, leaving, acknowledges=acknowledges)
    return True


def arrive(plan: Plan, message: MessageData, receiver: ReceiverAuthority | None = None) -> None:
    """Deliver a message that another computer sent to a queue here.

    receiver: by whose authorities; None: it needs none.
    """
    header = header_of(message)
    target = message.transmission or Transmission("")
    arrived = structs.replace(
        message,
        transmission=None,
        destination="",
        delay_ms=0,
        deliver_at_ms=0,
        group_id=NO_ID,
        report=0,
        properties=None,
        details=None,
        persistence=1,
        put_time_ms=plan.now_ms,
        expires_at_ms=header.receive_by_ms,
        priority=0 if header.transactional else message.priority,
    )
    user = None if receiver is None else receiver.putter(message.user)
    putters.note_arrived(plan.qm, arrived, user)
    if is_dead_letter(message):
        arrived.expires_at_ms = 0
        if is_ours(plan.qm, arrived) and not computers.is_own(plan.qm, header.source):
            _return_dead_letter(plan, arrived, arrived)
        else:
            put(plan, _own_dead_letters(plan, arrived), arrived)
        return
    name = FormatName(computers.computer_of(plan.qm), target.queue)
    checked = queues.checked_name(plan.qm, name)
    if receiver is not None and not receiver.may_put(checked, "", message.user):
        fail(plan, arrived, ACCESS_DENIED)
    else:
        deliver(plan, name, arrived)


def waits_for_room(plan: Plan, message: MessageData) -> bool:
    """Whether a message that arrives is taken only when this computer has received others. What
    never has room is not waited for, and neither is a dead letter.
    """
    if is_dead_letter(message):
        return False
    fits = size_of(message) <= plan.qm.attributes.msmq_quota_kb * 1024
    return fits and not computer_has_room(plan, message)


def is_dead_letter(message: MessageData) -> bool:
    """Whether a message that arrives is one that this computer has sent, or one that depends on it,
    and comes back.
    """
    target = message.transmission or Transmission("")
    is_negative = bool(header_of(message).message_class & NEGATIVE)
    return target.queue == TRANSACTIONAL_DEAD_LETTERS and is_negative


def expire(qm: QueueManager, queue: LocalQueue, stored: Stored) -> list[Record]:
    """Say what becomes of a message that has expired, which is gone from its queue by now."""
    message = stored.message
    plan = Plan(qm, max(message.expires_at_ms, message.put_time_ms))
    travels = message.transmission is not None
    leave_unreceived(plan, queue, stored, REACH_QUEUE_TIMEOUT if travels else RECEIVE_TIMEOUT)
    return plan.record()


def copy_to_computer_journal(plan: Plan, message: MessageData) -> None:
    """Put a copy of a message to the journal of the computer that sent it, if the message says
    so; or of this one, if that has a queue manager of its own. Where there can be no more journals,
    there is no copy.
    """
    header = header_of(message)
    if header.journal & JOURNAL:
        if depends_on(plan.qm, header.source):
            journal = queues.ensure_for_dependent(plan, COMPUTER_JOURNAL, header.source)
            if journal is None:
                return
        else:
            journal = queues.ensure_system_queue(plan, COMPUTER_JOURNAL)
        if _has_bytes_left(journal, plan.qm.attributes.msmq_journal_quota_kb, message):
            put(plan, journal, _copy(message, header, plan.now_ms))


def prepare_dead_letters(plan: Plan, message: MessageData) -> None:
    """Have the dead-letter queues of a computer that depends on this queue manager, for a message
    that one of its programs sends here.
    """
    header = header_of(message)
    if not depends_on(plan.qm, header.source):
        return
    if header.transactional:
        queues.ensure_for_dependent(plan, TRANSACTIONAL_DEAD_LETTERS, header.source)
    elif header.journal & DEAD_LETTER:
        queues.ensure_for_dependent(plan, DEAD_LETTERS, header.source)


def copy_to_journal(plan: Plan, queue: MsmqQueue, stored: Stored) -> None:
    """Put a copy of a message that is received to the journal of its queue, if that is wanted and
    the journal has room.
    """
    base = queues.find(plan.qm, queue.base)
    if base is None or not base.attributes.journaling:
        return
    journal = queues.ensure_journal(plan, base.name, base.attributes, is_owed=True)
    quota = base.attributes.journal_quota_kb
    if _has_bytes_left(journal, quota, stored.message):
        put(plan, journal, _copy(stored.message, sent_in(stored), plan.now_ms))


def _has_bytes_left(journal: MsmqQueue, quota_kb: int, message: MessageData) -> bool:
    """Whether a journal has room for a copy of a message."""
    held = journal.held_bytes + size_of(message)
    return quota_kb >= COMPUTER_QUOTA_UNLIMITED_KB or held <= quota_kb * 1024


def _copy(message: MessageData, header: MsmqHeader, now_ms: int) -> MessageData:
    return structs.replace(
        message,
        expires_at_ms=0,
        put_time_ms=now_ms,
        msmq=header,
    )


def sent_in(stored: Stored) -> MsmqHeader:
    """Return the header of a stored message, with the transaction that sent it."""
    header = header_of(stored.message)
    if header.unit or not header.transactional:
        return header
    return structs.replace(
        header,
        unit=stored.unit,
        unit_index=stored.queue_unit_index,
        unit_size=stored.queue_unit_size,
    )


def leave_unreceived(plan: Plan, queue: LocalQueue, stored: Stored, why: int) -> None:
    """Say what becomes of a stored message that leaves its queue without having been received."""
    if not is_settled(stored.message):
        fail(plan, structs.replace(stored.message, msmq=sent_in(stored)), why, queue)
