"""Publishing: a put to a topic becomes puts of copies to the queues of its subscriptions.

They are put in the same unit, or together as one; so nothing is new behind this. A queue that
cannot take its copy has it put on the dead-letter queue; else the publication fails for all if it
is persistent and the subscription durable (PMSGDLV(ALLDUR)), and for that subscription alone if not
(NPMSGDLV(ALLAVAIL)). The publisher may ask for reports of such exceptions, and may say DISCARD in
place of the dead-letter queue. This module does not know how subscriptions come to be.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from adapter.core.contract.commands import (
    AS_QUEUE_SAYS,
    CONTEXT_OPTIONS,
    KEEP_END,
    RETAIN,
    WARN_NO_SUBSCRIBERS,
    Put,
    Request,
)
from adapter.core.contract.details import NONE_ASKED
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import Record
from adapter.core.contract.results import PutDone, put_context
from adapter.core.contract.weights import weight
from adapter.core.model.destination import TopicDestination
from adapter.core.model.handles import TopicHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.routes import Target
from adapter.core.model.topics import THE_QUEUE_MANAGER, SubscriptionState
from adapter.core.mq_layouts.reason_codes import code_of
from adapter.core.rules.messages import context, put, putters
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.unit import Puts, unit_with_room
from adapter.core.rules.network import put_rights, routes, topic_attributes
from adapter.core.rules.primitives import staging
from adapter.core.rules.primitives.decision import (
    Decision,
    connection_of,
    outcome_of,
    own_unit,
    session_of,
)
from adapter.core.rules.pubsub import retained

OPTIONS = RETAIN | WARN_NO_SUBSCRIBERS
LEVEL_MAX = 9
RETAINED_LEVEL = 1
"""The level at which what is retained is published again: no subscription intercepts it then."""
SAID_OF_ALIASES = {
    Reason.UNKNOWN_ALIAS_BASE: Reason.QUEUE_NOT_FOUND,
    Reason.ALIAS_BASE_TYPE_ERROR: Reason.OBJECT_TYPE_ERROR,
}
"""What is said of an alias that is a subscription's destination; opens and reports say more."""


def decide_publish(qm: QueueManager, request: Request, command: Put) -> Decision:
    """MQPUT by a handle of a topic: the ids of the publications are the answer."""
    handle = connection_of(qm, request).handles[command.handle]
    assert isinstance(handle, TopicHandle), "as the table of puts says"
    if command.options & RETAIN:
        retained.queue_in_memory(qm)  # before anything is filled in: it may have to be waited for
    topic = handle.topic
    for message in command.messages if command.options & KEEP_END else ():
        put.keep_end(message, request.now_ms)
    destination, warning = _check(qm, request, command, handle)
    plan, matched = Plan(qm, request.now_ms), 0
    matching = qm.topics.matcher.matching(topic)
    for message in command.messages:
        put.resolve(qm, destination, message, request.now_ms)
        for subscription in _receivers(qm, matching, message, command.level):
            matched += 1
            _deliver(plan, subscription, topic, message)
    if command.options & RETAIN:
        _retain(plan, topic, command.messages[-1], in_unit=bool(command.unit))
    ids = [message.message_id for message in command.messages]
    details = command.messages[-1].details
    result = PutDone(ids, request.now_ms, context=put_context(command.messages[-1]))
    if details is not None:
        result.put_date_time = details.put_date_time
    end = _put_in_unit if command.unit else _put_alone
    records = end(plan, request, command)
    if command.options & WARN_NO_SUBSCRIBERS and not matched:
        warning = Reason.NO_SUBSCRIBERS
    return Decision(records, result, qm.entry_n, warning=warning, subscriptions=matched)


def plan_publication(plan: Plan, topic: str, message: MessageData) -> None:
    """Plan the puts of the copies of a publication that no program puts.

    Raises Refusal if it cannot be published now; some of its copies may have been planned then.
    """
    message = retained.without_own_words(message)
    matching = plan.qm.topics.matcher.matching(topic)
    for subscription in _receivers(plan.qm, matching, message, LEVEL_MAX):
        _deliver(plan, subscription, topic, message)


def plan_by_alias(plan: Plan, target: Target, message: MessageData) -> Reason | None:
    """Plan the copies of a message that arrived for an alias of a topic; returns why it cannot be
    published.
    """
    topic, alias = target.destination, target.defaults
    assert topic is not None, "its name led there"
    assert alias is not None, "it is the name"
    if alias.inhibit_put or topic.attributes.inhibit_put:
        return Reason.PUT_INHIBITED
    mark = plan.mark()
    try:
        plan_publication(plan, topic.name, message)
        check_size(plan.qm, plan.since(mark))
    except Refusal:
        plan.undo(mark)
        return Reason.PUBLICATION_FAILED
    return None


def _receivers(
    qm: QueueManager, matching: Sequence[SubscriptionState], message: MessageData, level: int
) -> list[SubscriptionState]:
    """Return the subscriptions that get a publication: those of the highest level it reaches.

    matching: those whose topic strings mean its topic.
    """
    found = [
        one
        for one in matching
        if not one.on_request and one.level <= level and one.selects(message)
    ]
    highest = max((one.level for one in found), default=0)
    return _one_of_each_group(qm, [one for one in found if one.level == highest])


def _one_of_each_group(qm: QueueManager, found: list[SubscriptionState]) -> list[SubscriptionState]:
    """Return the first subscription of each group whose copy may reach the queue, or the first.

    A queue with several bindings gets a message once, however many of them match.
    """
    groups: dict[tuple[str | bool, ...], SubscriptionState] = {}
    for one in found:
        known = groups.setdefault(one.group, one)
        if known is not one and not _may_reach(qm, known):
            groups[one.group] = one
    return list(groups.values())


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
    if command.options & ~(OPTIONS | CONTEXT_OPTIONS | KEEP_END):
        raise Refusal(Reason.OPTIONS_ERROR, topic, f"options {command.options}")
    if not 0 <= command.level <= LEVEL_MAX:
        text = f"level {command.level} is not 0 to {LEVEL_MAX}"
        raise Refusal(Reason.OPTIONS_ERROR, topic, text)
    context.settle(qm, request, command, handle)
    destination = topic_attributes.destination(qm, topic)
    defaults = handle.alias or destination.attributes
    if destination.attributes.inhibit_put or defaults.inhibit_put:
        raise Refusal(Reason.PUT_INHIBITED, topic)
    warning = 0
    for message in command.messages:
        if message.delay_ms or message.deliver_at_ms:
            staging.check(qm, topic, message, request.now_ms)
            if command.options & RETAIN:
                raise Refusal(Reason.OPTIONS_ERROR, topic, "what is retained is not delayed")
        message.properties = retained.without_own_words(message).properties
        if put.check(destination, message):
            raise Refusal(Reason.MESSAGE_TOO_LONG, topic, f"{len(message.body)} bytes")
        warning = put.default(destination, message, defaults) or warning
        put.cap_expiry(message, defaults, request.now_ms)
    return destination, warning


def _deliver(plan: Plan, subscription: SubscriptionState, topic: str, message: MessageData) -> None:
    """Plan the put of a subscription's copy of a publication, or refuse the publication."""
    to, manager = subscription.destination, subscription.destination_queue_manager
    target = _target(plan, subscription)
    queue = target.queue
    copy = _copy(subscription, topic, message, target)
    reason = _put_copy(plan, target, copy)
    if reason is None:
        return
    if queue is not None and reason is Reason.QUEUE_FULL:
        plan.report_full(queue)
    is_lost = plan.give_up(copy, to, manager, reason) is not None
    if is_lost and message.persistence and subscription.is_durable:
        text = f"subscription {subscription.name!a}: queue {to}, MQRC {code_of(reason)}"
        raise Refusal(Reason.PUBLICATION_FAILED, topic, text)


def _target(plan: Plan, subscription: SubscriptionState, queue: LocalQueue | None = None) -> Target:
    """Find where copies go. Who may not put them there has no transmission queue made either.

    queue: the subscription's, if that is at hand.
    """
    if not _may_reach(plan.qm, subscription):
        return Target(reason=Reason.AUTHORITY_MISSING)
    if queue is not None:
        return Target(queue, destination=queue)
    to, manager = subscription.destination, subscription.destination_queue_manager
    return routes.find(plan.qm, to, manager, plan.new_queues)


def _may_reach(qm: QueueManager, subscription: SubscriptionState) -> bool:
    """Whether copies reach their queue by the authorities of whose the subscription is."""
    owner = subscription.owner
    is_free = subscription.is_managed or owner in ("", THE_QUEUE_MANAGER)
    if is_free or not qm.authorities.are_checked:
        return True
    to, manager = subscription.destination, subscription.destination_queue_manager
    asker = putters.asker_of_user(qm, owner, "Publish")
    return not put_rights.lacks(qm, asker, to, manager)


def _put_copy(plan: Plan, target: Target, copy: MessageData) -> Reason | None:
    """Plan the put of a copy, or return the reason for which its queue does not take it."""
    reason, queue = plan.send(target, copy), target.queue
    if reason is None and queue is not None:
        put.cap_life(copy, queue.attributes, plan.now_ms)
        if target.defaults is not None:
            put.cap_life(copy, target.defaults, plan.now_ms)
        copy.destination = queue.name if copy.destination else ""
    return SAID_OF_ALIASES.get(reason, reason) if reason is not None else None


def _copy(
    subscription: SubscriptionState, topic: str, message: MessageData, target: Target
) -> MessageData:
    """Make a subscription's copy. A temporary queue takes none that are persistent."""
    properties = {**(message.properties or {}), retained.TOPIC_PROPERTY: topic}
    if subscription.user_data:
        properties[retained.USER_DATA_PROPERTY] = subscription.user_data
    details = message.details
    if details is not None:
        details = msgspec.structs.replace(details)
    priority, queue = _priority(subscription, target), target.destination
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


def _priority(subscription: SubscriptionState, target: Target) -> int | None:
    """Return the priority of a subscription's copies; None: each publication's own."""
    if subscription.priority == AS_QUEUE_SAYS and target.destination is not None:
        return (target.defaults or target.destination.attributes).def_priority
    return subscription.priority if subscription.priority >= 0 else None


def _retain(plan: Plan, topic: str, message: MessageData, *, in_unit: bool) -> None:
    """Keep a publication for its topic in place of those before; says that those go.

    In a unit the last one before stays until the commit: the unit may be backed out.
    """
    size = len(message.body)
    queue = retained.queue_for(plan.qm, size)
    before = retained.messages_of(queue, topic)
    gone = before[:-1] if in_unit else before
    retained.check_room(plan.qm, queue, plan.count.get(queue.name, 0) + 1, size, gone)
    plan.put(queue, retained.copy_to_keep(message, topic))
    plan.records += retained.replacing(gone, queue)


def _put_in_unit(plan: Plan, request: Request, command: Put) -> list[Record]:
    weights = [weight(message) for _, message in plan.puts + plan.reports]
    unit = unit_with_room(plan.qm, request, command.unit, len(weights), sum(weights))
    unit.retains = unit.retains or bool(command.options & RETAIN)
    return plan.hold(unit, weights)


def _put_alone(plan: Plan, request: Request, command: Put) -> list[Record]:
    """Put all copies together. Without copies nothing is recorded: a second try is harmless."""
    qm = plan.qm
    check_size(qm, plan.puts + plan.reports)
    ident = own_unit(request, session_of(qm, request).ident)
    # The first put says what the answer is: where that is a report, it is not the answer.
    return plan.record(ident, outcome=outcome_of(qm, request) if plan.puts else None)


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
) -> tuple[Plan, int]:
    """Plan what a subscription gets of what is retained. queue: one that is only being made.

    Returns also how many copies its queue cannot take. Raises PageNeeded until all of it is in
    memory.
    """
    plan, lost = Plan(qm, now_ms), 0
    if subscription.level > RETAINED_LEVEL:
        return plan, lost
    target = _target(plan, subscription, queue)
    for topic, message in retained.last_of_each(qm, subscription.topic, now_ms):
        again = retained.as_published(message, now_ms)
        if subscription.selects(again):
            copy = _copy(subscription, topic, again, target)
            lost += _put_copy(plan, target, copy) is not None
    check_size(qm, plan.puts)
    return plan, lost
