"""Subscriptions: made by programs (MQSUB) and administrators, resumed, altered, closed, deleted.

A durable one is an object like others, and lives on without its program; any other is soft, and
gone with its handle. This module does not know what a publication becomes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from adapter.core.attributes.objects import (
    KINDS,
    SUBSCRIPTION,
    USER_DATA_LENGTH_MAX,
    SubscriptionAttributes,
)
from adapter.core.contract import commands as c
from adapter.core.contract.commands import DefineObject, DeleteObject
from adapter.core.contract.message import ID_LENGTH, NO_ID
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import ObjectAltered, ObjectDefined, ObjectDeleted, Record
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Subscribed
from adapter.core.model.connection import ConnectionState
from adapter.core.model.handles import QueueHandle, SubscriptionHandle
from adapter.core.model.made_queues import MadeQueues
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.topics import THE_QUEUE_MANAGER, SubscriptionState
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.network import opening, resolve, routes, topic_attributes, topic_strings
from adapter.core.rules.primitives import matching, naming
from adapter.core.rules.primitives.decision import Decision, connection_of, done
from adapter.core.rules.pubsub import managed, publish, retained

WAYS = c.CREATE | c.RESUME | c.ALTER
OPTIONS = WAYS | c.DURABLE | c.MANAGED | c.ON_REQUEST | c.NEW_ONLY | c.SET_CORRELATION
PRIORITIES = (c.AS_PUBLISHED, c.AS_QUEUE_SAYS, *range(10))
QUEUE_MODES = c.INPUT | c.BROWSE | c.INQUIRE
NAME_LENGTH_MAX = 10_240  # MQ_SUB_NAME_LENGTH
A_SUBSCRIPTION = "a subscription"
TOPIC_FIELDS = frozenset(("topic_string", "topic_object"))


def decide_subscribe(qm: QueueManager, request: c.Request, command: c.Subscribe) -> Decision:
    """MQSUB: the subscription there is of this name, or a new one, as the options say."""
    connection = connection_of(qm, request)
    numbers = [command.handle, *([command.queue_handle] if command.queue_handle else [])]
    opening.check_numbers(qm, connection, command.name, *numbers)
    _check(command)
    known = qm.topics.named.get(command.name) if command.name else None
    if known is None and not command.options & c.CREATE:
        raise Refusal(Reason.SUBSCRIPTION_NOT_FOUND, command.name)
    if known is None:
        return _create(qm, request, connection, command)
    if not command.options & (c.RESUME | c.ALTER):
        raise Refusal(Reason.SUBSCRIPTION_EXISTS, command.name)
    return _resume(qm, request, connection, command, known)


def _check(command: c.Subscribe) -> None:
    """Refuse options and fields that no subscription can have."""
    options, name = command.options, command.name
    if options & ~OPTIONS or not options & WAYS:
        raise Refusal(Reason.OPTIONS_ERROR, name, f"options {options}")
    if options & c.MANAGED and command.destination:
        raise Refusal(Reason.OPTIONS_ERROR, name, "a managed subscription has a queue of its own")
    if options & c.DURABLE or not options & c.CREATE:
        check_name(name)
    if len(command.user_data) > USER_DATA_LENGTH_MAX:
        text = f"user_data has more than {USER_DATA_LENGTH_MAX} characters"
        raise Refusal(Reason.OPTIONS_ERROR, name, text)
    check_level(name, command.level, on_request=bool(options & c.ON_REQUEST))
    check_priority(name, command.priority)
    if len(command.correlation_id) not in (0, ID_LENGTH):
        raise Refusal(Reason.IDENTIFIER_ERROR, name, "correlation_id is not 24 bytes")


def check_level(name: str, level: int, *, on_request: bool) -> None:
    """Refuse what is not a level, and to intercept publications that are only given on request."""
    if not 0 <= level <= publish.LEVEL_MAX:
        raise Refusal(Reason.OPTIONS_ERROR, name, f"level {level} is not 0 to {publish.LEVEL_MAX}")
    if level > publish.RETAINED_LEVEL and on_request:
        text = "what intercepts publications does not get them on request"
        raise Refusal(Reason.OPTIONS_ERROR, name, text)


def check_priority(name: str, priority: int) -> None:
    """Refuse what copies cannot have as their priority."""
    if priority not in PRIORITIES:
        raise Refusal(Reason.PRIORITY_ERROR, name, f"{priority} is not 0 to 9, -1 or -3")


def check_name(name: str) -> None:
    """Refuse an invalid name (MQRC_SUB_NAME_ERROR): an empty or long one, or one with zeros."""
    if not name or len(name) > NAME_LENGTH_MAX or "\0" in name:
        text = f"a name has 1 to {NAME_LENGTH_MAX} characters, and no zeros"
        raise Refusal(Reason.SUBSCRIPTION_NAME_ERROR, name, text)


def _create(
    qm: QueueManager, request: c.Request, connection: ConnectionState, command: c.Subscribe
) -> Decision:
    """Make a subscription; what is retained for it goes to its queue at once."""
    options = command.options
    is_durable = bool(options & c.DURABLE)
    topic = topic_strings.full_string(qm, command.topic_object, command.topic_string)
    _check_allowed(qm, topic, command.name, is_durable=is_durable)
    fits = matching.parse_selection(command.name, command.selection) if command.selection else None
    ident = qm.numbers.new_message_id()
    made = SubscriptionState(
        ident=ident,
        name=command.name,
        topic=topic,
        destination=command.destination,
        is_managed=bool(options & c.MANAGED),
        is_durable=is_durable,
        correlation_id=_correlation_id(command, ident),
        user_data=command.user_data,
        on_request=bool(options & c.ON_REQUEST),
        level=command.level,
        selection=command.selection,
        fits=fits,
        priority=command.priority,
        owner=_owner(qm, request, command.alternate_user),
    )
    gives = not options & (c.ON_REQUEST | c.NEW_ONLY)
    if gives:
        retained.queue_in_memory(qm)  # before anything is done: it may have to be waited for
    found = _queue_for(qm, made)
    queue, records = found.queue, list(found.records)
    plan, lost = Plan(qm, request.now_ms), 0
    if gives:
        new = queue if made.is_managed else None
        plan, lost = publish.retained_copies(qm, made, request.now_ms, new)
    _open(qm, connection, command, made, queue, request.now_ms)
    if is_durable:
        attributes = _attributes_of(made, command.topic_object)
        records.append(ObjectDefined(SUBSCRIPTION, made.name, attributes))
    else:
        qm.topics.add(made)
    records += plan.record(verb="commit")
    result = _answer(made, queue, len(plan.puts))
    result.warning = Reason.RETAINED_NOT_DELIVERED if lost else 0
    subscribed = {made.name: made} if is_durable else {}
    return Decision(records, result, qm.entry_n, made=found.made, subscribed=subscribed)


def _owner(qm: QueueManager, request: c.Request, alternate_user: str = "") -> str:
    """Return whose a new subscription is; that is known where authorities are checked."""
    if not qm.authorities.are_checked:
        return ""
    principal = connection_of(qm, request).party.principal
    if alternate_user or not principal.is_privileged:
        user = alternate_user or principal.user
        return "" if user == THE_QUEUE_MANAGER else user
    return THE_QUEUE_MANAGER


def _correlation_id(command: c.Subscribe, ident: bytes) -> bytes:
    """Return the correlation id of the copies; empty: each publication's own."""
    if not command.options & c.SET_CORRELATION:
        return ident
    return b"" if command.correlation_id == NO_ID else command.correlation_id


def _check_allowed(qm: QueueManager, topic: str, name: str, *, is_durable: bool) -> None:
    """Refuse what the topic does not allow, or what there is no room for."""
    effective = topic_attributes.effective(qm, topic)
    if effective.subscribe != "ENABLED":
        raise Refusal(Reason.SUBSCRIBE_INHIBITED, topic)
    if is_durable and effective.durable != "YES":
        raise Refusal(Reason.DURABILITY_NOT_ALLOWED, topic)
    if is_durable:
        naming.check_object_room(qm, name)


def _queue_for(qm: QueueManager, made: SubscriptionState) -> resolve.Found:
    """Return the queue of a new subscription, made for it or found."""
    if made.is_managed:
        found = managed.make(qm, made.is_durable)
        made.destination = found.queue.name
        return found
    return resolve.Found(_found(qm, made.destination, made.destination_queue_manager).queue)


def _found(qm: QueueManager, destination: str, queue_manager: str) -> resolve.Found:
    """Find the queue of a subscription; a missing transmission queue is made."""
    new = MadeQueues()
    found = routes.find(qm, destination, queue_manager, new)
    queue = found.destination
    if not isinstance(queue, LocalQueue):
        is_of_alias = found.reason in publish.SAID_OF_ALIASES
        reason = found.reason if not is_of_alias else None
        raise Refusal(reason or Reason.QUEUE_NOT_FOUND, destination)
    return resolve.Found(queue, records=new.records, made=new.queues)


def _open(
    qm: QueueManager,
    connection: ConnectionState,
    command: c.Subscribe,
    subscription: SubscriptionState,
    queue: LocalQueue,
    now_ms: int,
) -> None:
    """Open the handle of a subscription, and the one of its queue if that is asked for."""
    if command.queue_handle:
        manager = subscription.destination_queue_manager
        found = routes.find(qm, subscription.destination, manager, MadeQueues())
        if found.transmission is not None:
            text = "its queue is of another queue manager: nothing can be got by it"
            raise Refusal(Reason.OPTION_NOT_VALID_FOR_TYPE, subscription.destination, text)
        handle = QueueHandle(command.queue_handle, queue, QUEUE_MODES)
        opening.open_queue(qm, connection, handle, now_ms)
    subscription.connection = connection.number
    connection.handles[command.handle] = SubscriptionHandle(command.handle, subscription)


def _attributes_of(made: SubscriptionState, topic_object: str) -> dict[str, Any]:
    attributes = SubscriptionAttributes(
        topic_string=made.topic,
        topic_object=topic_object,
        destination_class="MANAGED" if made.is_managed else "PROVIDED",
        destination=made.destination,
        correlation_id=made.correlation_id.hex(),
        user_data=made.user_data,
        on_request=made.on_request,
        sub_level=made.level,
        selector=made.selection,
        pub_priority=made.priority,
        ident=made.ident.hex(),
        owner=made.owner,
    )
    return msgspec.structs.asdict(attributes)


def _answer(subscription: SubscriptionState, queue: LocalQueue, count: int) -> Subscribed:
    options = c.DURABLE if subscription.is_durable else 0
    options |= c.MANAGED if subscription.is_managed else 0
    options |= c.ON_REQUEST if subscription.on_request else 0
    return Subscribed(
        subscription.name,
        subscription.topic,
        queue.name,
        options,
        subscription.ident,
        subscription.correlation_id,
        subscription.user_data,
        count,
        level=subscription.level,
        selection=subscription.selection,
        priority=subscription.priority,
    )


def _resume(
    qm: QueueManager,
    request: c.Request,
    connection: ConnectionState,
    command: c.Subscribe,
    known: SubscriptionState,
) -> Decision:
    """Go on with a subscription; with ALTER, as it is to be from now on. Its topic stays."""
    if known.connection:
        raise Refusal(Reason.SUBSCRIPTION_IN_USE, known.name, "a program has it open")
    if command.topic_string or command.topic_object:
        topic = topic_strings.full_string(qm, command.topic_object, command.topic_string)
        if topic != known.topic:
            raise Refusal(Reason.TOPIC_NOT_ALTERABLE, known.name, f"its topic is {known.topic!a}")
    altered = _alteration(command, known) if command.options & c.ALTER else {}
    manager = altered.get("destination_queue_manager", known.destination_queue_manager)
    queue = _found(qm, altered.get("destination", known.destination), manager).queue
    _open(qm, connection, command, known, queue, request.now_ms)
    told = _answer(known, queue, 0)
    told.user_data = altered.get("user_data", told.user_data)
    told.priority = altered.get("pub_priority", told.priority)
    told.correlation_id = bytes.fromhex(altered.get("correlation_id", told.correlation_id.hex()))
    records: list[Record] = [ObjectAltered(SUBSCRIPTION, known.name, altered)] if altered else []
    return Decision(records, told, qm.entry_n)


def _alteration(command: c.Subscribe, known: SubscriptionState) -> dict[str, Any]:
    """Say which attributes MQSO_ALTER gives, and to what; refuse what stays as it was made."""
    if bool(command.options & c.DURABLE) != known.is_durable:
        text = "it is durable" if known.is_durable else "it is not durable"
        raise Refusal(Reason.DURABILITY_NOT_ALTERABLE, known.name, text)
    if bool(command.options & c.MANAGED) != known.is_managed:
        text = "its queue is managed" if known.is_managed else "its queue was provided"
        raise Refusal(Reason.DESTINATION_CLASS_NOT_ALTERABLE, known.name, text)
    if command.level != known.level:
        raise Refusal(Reason.LEVEL_NOT_ALTERABLE, known.name, f"its level is {known.level}")
    if command.selection not in ("", known.selection):
        raise Refusal(Reason.SELECTOR_NOT_ALTERABLE, known.name, f"it is {known.selection!a}")
    altered: dict[str, Any] = {}
    if command.user_data != known.user_data:
        altered["user_data"] = command.user_data
    if command.priority != known.priority:
        altered["pub_priority"] = command.priority
    if command.options & c.SET_CORRELATION:
        altered["correlation_id"] = _correlation_id(command, b"").hex()
    if command.destination:
        altered |= {"destination": command.destination, "destination_queue_manager": ""}
    return altered


def of_handle(qm: QueueManager, request: c.Request, number: int) -> SubscriptionState:
    """Return the subscription that is open under a handle."""
    handle = connection_of(qm, request).handles.get(number)
    if not isinstance(handle, SubscriptionHandle):
        raise Refusal(Reason.HANDLE_NOT_OPEN, detail=f"handle {number} is not of a subscription")
    return handle.subscription


def removal(
    qm: QueueManager, subscription: SubscriptionState, replies: list[Reply]
) -> list[Record]:
    """Say that a durable subscription goes, with its queue if that is managed."""
    records: list[Record] = [ObjectDeleted(SUBSCRIPTION, subscription.name)]
    queue = managed.queue_of(qm, subscription)
    return records if queue is None else [*records, *managed.removal(qm, queue, replies)]


def decide_subscription_request(
    qm: QueueManager, request: c.Request, command: c.SubscriptionRequest
) -> Decision:
    """MQSUBRQ: what is retained for its topics is put to its queue; how many is the answer."""
    subscription = of_handle(qm, request, command.handle)
    plan, lost = publish.retained_copies(qm, subscription, request.now_ms)
    if not plan.puts:
        reason = Reason.RETAINED_NOT_DELIVERED if lost else Reason.NO_RETAINED_MESSAGE
        raise Refusal(reason, subscription.topic)
    return done(qm, request, plan.record(verb="commit"), len(plan.puts))


def decide_define(qm: QueueManager, request: c.Request, command: DefineObject) -> Decision:
    """DEFINE SUB: a durable subscription that a program may resume; with replace, ALTER SUB."""
    name, given = command.name, command.attributes
    check_name(name)
    naming.check_attributes(KINDS[SUBSCRIPTION], A_SUBSCRIPTION, name, given)
    if name in qm.topics.named and not command.replace:
        raise Refusal(Reason.SUBSCRIPTION_EXISTS, name)
    if name in qm.topics.named:
        if not qm.topics.named[name].is_durable:
            raise Refusal(Reason.SUBSCRIPTION_IN_USE, name, "it is not durable, and of a program")
        check_alteration(qm, name, given)
        return done(qm, request, [ObjectAltered(SUBSCRIPTION, name, without_topic(given))])
    wanted = SubscriptionAttributes(**given)
    wanted.topic_string = topic_strings.full_string(qm, wanted.topic_object, wanted.topic_string)
    _check_allowed(qm, wanted.topic_string, name, is_durable=True)
    _check_values(name, given)
    check_level(name, wanted.sub_level, on_request=wanted.on_request)
    if wanted.selector:
        matching.parse_selection(name, wanted.selector)
    is_elsewhere = wanted.destination_queue_manager not in ("", qm.name)
    if wanted.destination_class == "MANAGED" and (wanted.destination or is_elsewhere):
        raise Refusal(Reason.OPTIONS_ERROR, name, "a managed subscription has a queue of its own")
    wanted.owner = _owner(qm, request)
    wanted.ident = qm.numbers.new_message_id().hex()
    if wanted.destination_class == "MANAGED":
        found = managed.make(qm, is_durable=True)
        wanted.destination = found.queue.name
    else:
        found = _found(qm, wanted.destination, wanted.destination_queue_manager)
    defined = ObjectDefined(SUBSCRIPTION, name, msgspec.structs.asdict(wanted))
    return done(qm, request, [*found.records, defined])


def _check_values(name: str, attributes: dict[str, Any]) -> None:
    text = attributes.get("correlation_id", "")
    if text:
        try:
            fine = len(bytes.fromhex(text)) == ID_LENGTH
        except ValueError:
            fine = False
        if not fine:
            raise Refusal(Reason.ATTRIBUTE_ERROR, name, "correlation_id is 48 hex digits, or none")
    check_priority(name, attributes.get("pub_priority", c.AS_PUBLISHED))


def without_topic(attributes: dict[str, Any]) -> dict[str, Any]:
    """Return what an alteration alters: never the topic, which may be given in parts again."""
    return {key: one for key, one in attributes.items() if key not in TOPIC_FIELDS}


def check_alteration(qm: QueueManager, name: str, attributes: dict[str, Any]) -> None:
    """Refuse ALTER SUB of what cannot be altered: the topic, the selection, whose queue it is."""
    known = qm.objects[SUBSCRIPTION, name]
    assert isinstance(known, SubscriptionAttributes)
    topic_object = attributes.get("topic_object", known.topic_object)
    topic_string = attributes.get("topic_string", known.topic_string)
    is_same = topic_object == known.topic_object and (
        topic_string == known.topic_string  # or it is given as it was when it was defined
        or topic_strings.full_string(qm, topic_object, topic_string) == known.topic_string
    )
    if not is_same:
        raise Refusal(Reason.TOPIC_NOT_ALTERABLE, name, f"its topic is {known.topic_string!a}")
    _check_values(name, attributes)
    if attributes.get("sub_level", known.sub_level) != known.sub_level:
        raise Refusal(Reason.LEVEL_NOT_ALTERABLE, name, f"its level is {known.sub_level}")
    if attributes.get("selector", known.selector) != known.selector:
        raise Refusal(Reason.SELECTOR_NOT_ALTERABLE, name, f"it is {known.selector!a}")
    on_request = attributes.get("on_request", known.on_request)
    check_level(name, known.sub_level, on_request=on_request)
    is_other = attributes.get("destination_class", known.destination_class)
    if is_other != known.destination_class:
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, "destination_class cannot be altered")
    destination = attributes.get("destination", known.destination)
    manager = attributes.get("destination_queue_manager", known.destination_queue_manager)
    if destination != known.destination or manager != known.destination_queue_manager:
        is_here = destination == known.destination and manager in ("", qm.name)
        if known.destination_class == "MANAGED" and not is_here:
            raise Refusal(Reason.ATTRIBUTE_ERROR, name, "its queue is managed")
        _found(qm, destination, manager)


def decide_delete(qm: QueueManager, request: c.Request, command: DeleteObject) -> Decision:
    """DELETE SUB: not while a program has it open."""
    subscription = qm.topics.named[command.name]
    if subscription.connection:
        raise Refusal(Reason.SUBSCRIPTION_IN_USE, command.name, "a program has it open")
    replies: list[Reply] = []
    return done(qm, request, removal(qm, subscription, replies), 0, replies)
