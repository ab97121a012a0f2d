"""Publishing: a put to a topic becomes puts of copies to the queues of its subscriptions.

They are put in the same unit, or together as one; so nothing is new behind this. A queue that
cannot take its copy has it put on the dead-letter queue; else the publication fails for all if it
is persistent and the subscription durable (PMSGDLV(ALLDUR)), and for that subscription alone if not
(NPMSGDLV(ALLAVAIL)). The publisher may ask for reports of such exceptions, and may say DISCARD in
place of the dead-letter queue. This module does not know how subscriptions come to be.
"""

from __future__ import annotations

from collections import Counter

import msgspec
from msgspec import Struct

from adapter.core.attributes.objects import AliasAttributes
from adapter.core.contract.commands import (
    AS_QUEUE_SAYS,
    CONTEXT_OPTIONS,
    DEFERRED,
    RETAIN,
    WARN_NO_SUBSCRIBERS,
    Put,
    Request,
)
from adapter.core.contract.details import NONE_ASKED
from adapter.core.contract.message import MessageData, weight
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import EventRaised, Record
from adapter.core.contract.results import PutDone
from adapter.core.model.destination import TopicDestination
from adapter.core.model.handles import TopicHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import DISCARD, EXCEPTION
from adapter.core.model.routes import Made
from adapter.core.model.topics import SubscriptionState
from adapter.core.mq_layouts.reason_codes import code_of
from adapter.core.rules.messages import context, deferred, put, report
from adapter.core.rules.messages.admit import hold, put_records
from adapter.core.rules.messages.unit import Puts, unit_with_room
from adapter.core.rules.network import remote, undelivered
from adapter.core.rules.primitives import staging
from adapter.core.rules.primitives.decision import (
    Decision,
    connection_of,
    outcome_of,
    own_unit,
    session_of,
)
from adapter.core.rules.pubsub import retained, topics

OPTIONS = RETAIN | WARN_NO_SUBSCRIBERS
LEVEL_MAX = 9
RETAINED_LEVEL = 1
"""The level at which what is retained is published again: nobody intercepts it then."""


class Copies(Struct):
    """What publications become. matched: how many subscriptions they were for. planned: how many of
    them by queue. lost: how many no queue could take. events: what is to be told of full queues.
    reports: of exceptions; they are put behind the copies. made: transmission queues made for them.
    """

    puts: Puts = []
    reports: Puts = []
    matched: int = 0
    planned: Counter[str] = msgspec.field(default_factory=Counter)
    lost: int = 0
    events: list[Record] = []
    made: Made = {}


def decide_put(qm: QueueManager, request: Request, command: Put) -> Decision:
    """MQPUT, by a handle of a queue or of a topic."""
    if command.options & DEFERRED:
        return deferred.decide_put(qm, request, command, decide_put)
    handle = connection_of(qm, request).handles.get(command.handle)
    if not isinstance(handle, TopicHandle):
        return put.decide_put(qm, request, command)
    return _decide_publish(qm, request, command, handle)


def _decide_publish(
    qm: QueueManager, request: Request, command: Put, handle: TopicHandle
) -> Decision:
    """MQPUT by a handle of a topic: the ids of the publications are the answer."""
    if command.options & RETAIN:
        retained.queue_in_memory(qm)  # before anything is filled in: it may have to be waited for
    topic = handle.topic
    destination, warning = _check(qm, request, command, handle)
    copies = Copies()
    records: list[Record] = []
    for message in command.messages:
        put.resolve(qm, destination, message, request.now_ms)
        for subscription in _receivers(qm, topic, message, command.level):
            deliver(qm, copies, subscription, topic, message, request.now_ms)
    if command.options & RETAIN:
        last = command.messages[-1]
        records = _retain(qm, copies, topic, last, in_unit=bool(command.unit))
    ids = [message.message_id for message in command.messages]
    details = command.messages[-1].details
    result = PutDone(ids, request.now_ms)
    if details is not None:
        result.put_date_time = details.put_date_time
    puts = _put_in_unit if command.unit else _put_alone
    puts_recorded = puts(qm, request, command, copies)
    records = remote.definitions(copies.made) + copies.events + records + puts_recorded
    if command.options & WARN_NO_SUBSCRIBERS and not copies.matched:
        warning = Reason.NO_SUBSCRIBERS
    matched, made = copies.matched, copies.made
    return Decision(records, result, qm.entry_n, warning=warning, subscriptions=matched, made=made)


def _receivers(
    qm: QueueManager, topic: str, message: MessageData, level: int
) -> list[SubscriptionState]:
    """Return the subscriptions that get a publication: those of the highest level it reaches."""
    matching = qm.topics.matcher.matching(topic)
    found = [
        one
        for one in matching
        if not one.on_request and one.level <= level and one.selects(message)
    ]
    highest = max((one.level for one in found), default=0)
    return [one for one in found if one.level == highest]


def _check_delay(
    qm: QueueManager, topic: str, message: MessageData, options: int, now_ms: int
) -> None:
    staging.check(qm, topic, message, now_ms)
    if options & RETAIN:
        raise Refusal(Reason.OPTIONS_ERROR, topic, "what is retained is not delayed")


def _check(
    qm: QueueManager, request: Request, command: Put, handle: TopicHandle
) -> tuple[TopicDestination, int]:
    """Refuse what cannot be published, and fill in what is left to the topic.

    Returns the topic as a destination, and the reason of a warning, or 0.
    """
    topic = handle.topic
    count = len(command.messages)
    if not 1 <= count <= (put.MESSAGES_PER_PUT_MAX if command.unit else 1):
        raise Refusal(Reason.OPTIONS_ERROR, topic, "outside a unit a put has one message")
    if command.options & ~(OPTIONS | CONTEXT_OPTIONS):
        raise Refusal(Reason.OPTIONS_ERROR, topic, f"options {command.options}")
    if not 0 <= command.level <= LEVEL_MAX:
        text = f"level {command.level} is not 0 to {LEVEL_MAX}"
        raise Refusal(Reason.OPTIONS_ERROR, topic, text)
    context.settle(qm, request, command, handle)
    effective = topics.effective(qm, topic)
    if effective.publish != "ENABLED" or (handle.alias and handle.alias.inhibit_put):
        raise Refusal(Reason.PUT_INHIBITED, topic)
    destination = topics.destination(topic, effective)
    defaults = handle.alias or destination.attributes
    warning = 0
    for message in command.messages:
        if message.delay_ms or message.deliver_at_ms:
            _check_delay(qm, topic, message, command.options, request.now_ms)
        if put.check(destination, message):
            raise Refusal(Reason.MESSAGE_TOO_LONG, topic, f"{len(message.body)} bytes")
        warning = put.default(destination, message, defaults) or warning
    return destination, warning


def deliver(
    qm: QueueManager,
    copies: Copies,
    subscription: SubscriptionState,
    topic: str,
    message: MessageData,
    now_ms: int,
) -> None:
    """Add a subscription's copy of a publication, or refuse the publication."""
    copies.matched += 1
    manager = subscription.destination_queue_manager
    target = undelivered.find(qm, subscription.destination, manager, copies.made)
    queue = target.queue
    copy = _copy(qm, subscription, topic, message, queue)
    reason = _why_undeliverable(qm, copies, queue, copy)
    if queue is None:
        reason = target.reason or undelivered.why_no_destination(qm, subscription.destination)
    elif not reason:
        copy.transmission = target.transmission
        put.cap_life(copy, queue.attributes, now_ms)
        _add(copies, queue, copy)
        return
    if queue is not None and reason is Reason.QUEUE_FULL and not queue.is_known_full:
        details = {"max_depth": str(queue.attributes.max_depth)}
        copies.events.append(EventRaised("queue_full", queue.name, now_ms, details))
    if copy.report & EXCEPTION:
        _report(qm, copies, copy, reason, now_ms)
    dead = undelivered.dead_letter_queue(qm)
    code = code_of(reason)
    to = subscription.destination
    dead_letter = undelivered.as_dead_letter(qm, copy, to, code, now_ms, manager)
    dead_letter.destination = ""  # a dead letter waits for nothing
    if copy.report & DISCARD:
        copies.lost += 1
    elif dead is not None and not _why_undeliverable(qm, copies, dead, dead_letter):
        _add(copies, dead, dead_letter)
    elif message.persistence and subscription.is_durable:
        text = f"subscription {subscription.name!a}: queue {to}, MQRC {code}"
        raise Refusal(Reason.PUBLICATION_FAILED, topic, text)
    else:
        copies.lost += 1


def _copy(
    qm: QueueManager,
    subscription: SubscriptionState,
    topic: str,
    message: MessageData,
    queue: LocalQueue | None,
) -> MessageData:
    """Make a subscription's copy. A temporary queue takes none that are persistent."""
    properties = {**(message.properties or {}), retained.TOPIC_PROPERTY: topic}
    if subscription.user_data:
        properties["MQSubUserData"] = subscription.user_data
    details = message.details
    if details is not None:
        details = msgspec.structs.replace(details)
    priority = _priority(qm, subscription, queue)
    if priority is None:
        priority = message.priority
    elif details is not None:
        details.priority_asked = NONE_ASKED
    return msgspec.structs.replace(
        message,
        priority=priority,
        properties=properties,
        correlation_id=subscription.correlation_id or message.correlation_id,
        persistence=0 if queue is not None and queue.is_temporary else message.persistence,
        details=details,
    )


def _priority(
    qm: QueueManager, subscription: SubscriptionState, queue: LocalQueue | None
) -> int | None:
    """Return the priority of a subscription's copies; None: each publication's own."""
    if subscription.priority == AS_QUEUE_SAYS and queue is not None:
        alias = qm.objects.get(("alias", subscription.destination))
        opened = alias if isinstance(alias, AliasAttributes) else queue.attributes
        return opened.def_priority
    return subscription.priority if subscription.priority >= 0 else None


def _report(
    qm: QueueManager, copies: Copies, copy: MessageData, reason: Reason, now_ms: int
) -> None:
    """Report to the publisher that a copy could not be delivered, together with the others."""
    found = report.exception_report(qm, copy, reason, now_ms, copies.planned, copies.made)
    if isinstance(found, EventRaised):
        copies.events.append(found)
    else:
        copies.reports.append(found)
        copies.planned[found[0].name] += 1


def _why_undeliverable(
    qm: QueueManager, copies: Copies, queue: LocalQueue | None, copy: MessageData
) -> Reason | None:
    planned = 0 if queue is None else copies.planned[queue.name]
    return undelivered.why_undeliverable(qm, queue, copy, planned)


def _add(copies: Copies, queue: LocalQueue, copy: MessageData) -> None:
    copy.destination = queue.name if copy.destination else ""
    copies.puts.append((queue, copy))
    copies.planned[queue.name] += 1


def _retain(
    qm: QueueManager, copies: Copies, topic: str, message: MessageData, *, in_unit: bool
) -> list[Record]:
    """Keep a publication for its topic in place of those before; says that those go.

    In a unit the last one before stays until there is another: the unit may be backed out.
    """
    size = len(message.body)
    queue = retained.queue_for(qm, size)
    before = retained.messages_of(queue, topic)
    gone = before[:-1] if in_unit else before
    retained.check_room(qm, queue, copies.planned[queue.name] + 1, size, gone)
    _add(copies, queue, retained.copy_to_keep(message, topic))
    return retained.replacing(gone, queue)


def _put_in_unit(qm: QueueManager, request: Request, command: Put, copies: Copies) -> list[Record]:
    puts = copies.puts + copies.reports
    sizes = [weight(message) for _, message in puts]
    unit = unit_with_room(qm, request, command.unit, len(puts), sum(sizes))
    hold(qm, unit, puts, sizes, request.now_ms)
    return []


def _put_alone(qm: QueueManager, request: Request, command: Put, copies: Copies) -> list[Record]:
    """Put all copies together. Without copies nothing is recorded: a second try is harmless."""
    puts = copies.puts + copies.reports
    check_size(qm, puts)
    ident = own_unit(request, session_of(qm, request).ident)
    # The first put says what the answer is: where that is a report, it is not the answer.
    outcome = outcome_of(qm, request) if copies.puts else None
    return put_records(qm, ident, puts, request.now_ms, outcome=outcome) if puts else []


def check_size(qm: QueueManager, puts: Puts) -> None:
    """Refuse more copies than a unit may have: they are put as one."""
    if len(puts) > qm.limits.unit_messages:
        text = f"{len(puts)} copies, {qm.limits.unit_messages} at most"
        raise Refusal(Reason.UNIT_TOO_LARGE, detail=text)
    size = sum(weight(message) for _, message in puts)
    if size > qm.limits.unit_bytes:
        text = f"{size} bytes of copies, {qm.limits.unit_bytes} at most"
        raise Refusal(Reason.UNIT_TOO_LARGE, detail=text)


def retained_copies(
    qm: QueueManager, subscription: SubscriptionState, now_ms: int, queue: LocalQueue | None = None
) -> Copies:
    """Say what a subscription gets of what is retained. queue: one that is only being made.

    Raises PageNeeded until all of it is in memory.
    """
    copies = Copies()
    if subscription.level > RETAINED_LEVEL:
        return copies
    manager = subscription.destination_queue_manager
    found = undelivered.find(qm, subscription.destination, manager, copies.made)
    target = queue or found.queue
    for topic, message in retained.last_of_each(qm, subscription.topic):
        again = retained.as_published(message, now_ms)
        if not subscription.selects(again):
            continue
        copy = _copy(qm, subscription, topic, again, target)
        if target is None or _why_undeliverable(qm, copies, target, copy):
            copies.lost += 1
        else:
            copy.transmission = None if queue is not None else found.transmission
            _add(copies, target, copy)
    check_size(qm, copies.puts)
    return copies


def put_retained(qm: QueueManager, copies: Copies, now_ms: int) -> list[Record]:
    """Say that these copies are put."""
    if not copies.puts:
        return []
    qm.step.made.update(copies.made)
    ident = qm.numbers.new_message_id()
    committed = put_records(qm, ident, copies.puts, now_ms, verb="commit")
    return remote.definitions(copies.made) + committed
