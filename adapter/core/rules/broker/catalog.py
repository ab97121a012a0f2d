"""The catalog of Service Broker: creating, altering and dropping its objects, and looking them up.

Names are compared by their characters, but those of queues without regard to case. This module does
not know what becomes of a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

from msgspec import Struct, structs

from adapter.core.attributes import broker as kinds
from adapter.core.attributes.queue import MESSAGE_LENGTH_MAX
from adapter.core.contract import authorities as a
from adapter.core.contract import broker as b
from adapter.core.contract import records as r
from adapter.core.contract.broker_header import RETAINED_SENT
from adapter.core.contract.commands import Request
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.topic_names import TOPIC_NAME_MAX, topic_length
from adapter.core.contract.weights import weight
from adapter.core.model.broker_events import ActivationCheck, HeldRelease
from adapter.core.model.broker_queue import HELD, PREFIX, RETAINED, BrokerQueue, key_of
from adapter.core.model.made_queues import check_queue_room
from adapter.core.model.manager import QueueManager
from adapter.core.model.references import NOTIFIED
from adapter.core.model.unit import UnitOfWork
from adapter.core.rules.broker.wakes import wake_receives, wake_users
from adapter.core.rules.primitives import naming
from adapter.core.rules.primitives.decision import Decision, done

VALIDATIONS = {"NONE": "N", "EMPTY": "E", "WELL_FORMED_XML": "X", "VALID_XML": "X"}
ADDRESS = (
    "the address of a route is the name of a queue manager, or that of an export behind "
    f"{b.EXPORT_ADDRESS}; a name has 1 to 48 characters of A-Z a-z 0-9 . _ / %"
)
CONVERSATIONS_MAX = 1_000_000
"""Endpoints of a queue manager: a conversation of two services here has two. Those of notifications
are counted, and always made."""
ACTIVATION = {"activation_procedure", "activation_status", "max_queue_readers"}

SYSTEM: dict[tuple[str, str], Struct] = {
    (kinds.MESSAGE_TYPE, b.DEFAULT): kinds.MessageTypeAttributes(),
    (kinds.MESSAGE_TYPE, b.EVENT_NOTIFICATION): kinds.MessageTypeAttributes(
        validation="WELL_FORMED_XML"
    ),
    (kinds.CONTRACT, b.DEFAULT): kinds.ContractAttributes(by_any=b.DEFAULT),
    (kinds.CONTRACT, b.NOTIFICATION_CONTRACT): kinds.ContractAttributes(
        by_initiator=b.EVENT_NOTIFICATION
    ),
}
"""What every queue manager has; not in its ledger."""


def lookup(qm: QueueManager, kind: str, name: str) -> Struct | None:
    """Return an object that is no queue, if there is one."""
    return qm.objects.get((kinds.PREFIX + kind, name)) or SYSTEM.get((kind, name))


def check_there(qm: QueueManager, kind: str, name: str) -> None:
    """Refuse an object that is no queue, and does not exist."""
    check_name(kind, name)
    _require(qm, kind, name)


def _require(qm: QueueManager, kind: str, name: str) -> Any:
    found = lookup(qm, kind, name)
    if found is None:
        raise Refusal(Reason.OBJECT_NOT_FOUND, name, f"{_a(kind)} of this name does not exist")
    return found


def _a(kind: str) -> str:
    word = kind.replace("_", " ")
    return f"an {word}" if word[0] in "aeiou" else f"a {word}"


def service(qm: QueueManager, name: str) -> kinds.ServiceAttributes:
    """Return a service of this queue manager, or refuse."""
    found: kinds.ServiceAttributes = _require(qm, kinds.SERVICE, name)
    return found


def contract(qm: QueueManager, name: str) -> kinds.ContractAttributes:
    """Return a contract, or refuse."""
    found: kinds.ContractAttributes = _require(qm, kinds.CONTRACT, name)
    return found


def check_type(qm: QueueManager, name: str) -> str:
    """Return the letter of how a message type is validated, or refuse."""
    if name in b.SYSTEM_TYPES:
        return "N"
    found: kinds.MessageTypeAttributes = _require(qm, kinds.MESSAGE_TYPE, name)
    return VALIDATIONS[found.validation]


def is_sendable(
    found: kinds.ContractAttributes, message_type: str, *, from_initiator: bool
) -> bool:
    """Whether a side sends messages of a type by a contract."""
    own = found.by_initiator if from_initiator else found.by_target
    return message_type in kinds.names(own) or message_type in kinds.names(found.by_any)


def check_sendable(qm: QueueManager, name: str, message_type: str, *, from_initiator: bool) -> None:
    """Refuse a message type that a side does not send by a contract."""
    found = contract(qm, name)
    if not is_sendable(found, message_type, from_initiator=from_initiator):
        side = "initiator" if from_initiator else "target"
        text = f"contract {name} does not have messages of this type"
        if is_sendable(found, message_type, from_initiator=not from_initiator):
            text = f"by contract {name} the {side} does not send messages of this type"
        raise Refusal(Reason.MESSAGE_TYPE_ERROR, message_type, text)


def check_length(body: bytes) -> None:
    """Refuse a body that is too long for a message."""
    if len(body) > MESSAGE_LENGTH_MAX:
        text = f"the body has {len(body)} bytes, of {MESSAGE_LENGTH_MAX}"
        raise Refusal(Reason.MESSAGE_TOO_LONG, detail=text)


def has_room(qm: QueueManager, more: int) -> bool:
    """Whether there may be so many more endpoints, beside those that units have begun."""
    known = qm.conversations
    return len(known.endpoints) + len(known.handles_begun) + more <= CONVERSATIONS_MAX


def check_room(qm: QueueManager) -> None:
    """Refuse one more conversation if there is no room for it."""
    if not has_room(qm, 1):
        text = f"{CONVERSATIONS_MAX} conversations at most: end those that are over"
        raise Refusal(Reason.LIMIT_REACHED, detail=text)


def queue_named(qm: QueueManager, name: str) -> BrokerQueue:
    """Return a queue by the name that programs say, or refuse."""
    queue = qm.queues.get(key_of(name))
    if not isinstance(queue, BrokerQueue) or queue.is_part:
        raise Refusal(Reason.QUEUE_NOT_FOUND, name)
    return queue


def that_queue(qm: QueueManager, key: str) -> BrokerQueue:
    """Return the queue of an endpoint: it exists as long as the endpoint does."""
    queue = qm.queues[key]
    assert isinstance(queue, BrokerQueue), "an endpoint is on a queue of Service Broker"
    return queue


def check_on(queue: BrokerQueue) -> None:
    """Refuse a queue that is OFF."""
    if not queue.attributes.status:
        raise Refusal(Reason.QUEUE_DISABLED, queue.attributes.display_name, "its status is OFF")


def retained_of(qm: QueueManager, queue: BrokerQueue) -> BrokerQueue:
    """Return the queue of what a queue retains."""
    return that_queue(qm, queue.name + RETAINED)


def held_of(queue: BrokerQueue) -> int:
    """Say how many messages a unit has of one that it receives from a queue, or sends for an
    endpoint of it: with retention its copy, too.
    """
    return 2 if queue.attributes.retention else 1


def retain_sent(
    qm: QueueManager,
    queue: BrokerQueue,
    unit: UnitOfWork,
    message: MessageData,
    state: r.ConversationSet,
) -> None:
    """Keep a copy of what is sent, until the conversation ends."""
    assert message.broker is not None, "it was made with one"
    header = structs.replace(message.broker, status=RETAINED_SENT, handle=state.handle)
    copy = structs.replace(message, broker=header)
    unit.hold_put(retained_of(qm, queue), copy, weight(copy))


def address_for(qm: QueueManager, sender: r.ConversationSet, *, is_first: bool) -> str:
    """Say where a message of an initiator that waits goes: where its dialog does; is_first: nothing
    of that has left, so that it goes where its service is now.
    """
    return address_of(qm, sender.far_service) if is_first else sender.far_queue_manager


def address_of(qm: QueueManager, name: str) -> str:
    """Say at which queue manager, or at which export, a service is; empty: at this queue manager.

    A route for the service counts before one for any service, and of several the first by name.
    Without a route, it is here.
    """
    address = _address(qm, name)
    if address is None:
        address = "" if lookup(qm, kinds.SERVICE, name) is not None else _address(qm, "")
    return "" if address is None or address == qm.name else address


def _address(qm: QueueManager, service: str) -> str | None:
    """Return where a route leads; None if there is no route."""
    name = qm.references.first((kinds.ROUTE, service))
    if name is None:
        return None
    route: kinds.RouteAttributes = _require(qm, kinds.ROUTE, name)
    return route.address


def priority(qm: QueueManager, by: str, local: str, remote: str) -> int:
    """Return the priority of a conversation: of what fits best, contract before local service
    before remote service.
    """
    for parties in product((by, ""), (local, ""), (remote, "")):
        name = qm.references.first((kinds.PRIORITY, *parties))
        if name is not None:
            found: kinds.PriorityAttributes = _require(qm, kinds.PRIORITY, name)
            return found.level
    return kinds.PRIORITY_DEFAULT


def namesakes(qm: QueueManager, kind: str, name: str) -> list[str]:
    """Return the kinds of which there are other objects of the name of one that is no queue.

    They are all of one type for authorities: who has rights by the name has them on each.
    """
    others = [one for one in kinds.TABLES if one not in (kinds.QUEUE, kind)]
    return [one for one in others if (kinds.PREFIX + one, name) in qm.objects]


def record_deletion(qm: QueueManager, kind: str, name: str) -> list[r.Record]:
    """Return what records that an object, which is no queue, is deleted, by whatever command."""
    return [r.ObjectDeleted(kinds.PREFIX + kind, name), *_rights_that_stay(qm, kind, name)]


def _rights_that_stay(qm: QueueManager, kind: str, name: str) -> list[r.Record]:
    """Return the authority records of the name of an object that is dropped, which goes with those
    of its name: others of this name have them too. To send is a right on a service alone; who has
    every right keeps every one.
    """
    if not namesakes(qm, kind, name):
        return []
    records: list[r.Record] = []
    for entity in qm.authorities.entities_named(a.SERVICE, name):
        before = qm.authorities.get(name, a.SERVICE, *entity) or 0
        is_all = before == a.APPLICABLE[a.SERVICE]
        bits = before & ~a.PUT if kind == kinds.SERVICE and not is_all else before
        if bits or not before:
            records.append(r.AuthoritySet(name, a.SERVICE, *entity, bits))
    return records


def decide_create(qm: QueueManager, request: Request, command: b.BrokerCreate) -> Decision:
    """CREATE QUEUE, SERVICE, CONTRACT, MESSAGE TYPE, ROUTE, BROKER PRIORITY, EVENT NOTIFICATION."""
    kind, name = command.kind, command.name
    check_name(kind, name)
    if kind == kinds.QUEUE:
        return done(qm, request, _new_queue(qm, request, command))
    if lookup(qm, kind, name) is not None:
        raise Refusal(Reason.OBJECT_EXISTS, name, f"{_a(kind)} of this name exists")
    naming.check_object_room(qm, name)
    attributes = command.attributes
    _check_attributes(qm, kind, name, attributes, {})
    dates = {"created_ms": request.now_ms, "altered_ms": request.now_ms}
    if kind == kinds.SERVICE:
        check_service_name(name)
    record = r.ObjectDefined(kinds.PREFIX + kind, name, attributes | dates)
    _note_changed(qm, kind, name, request, attributes)
    return done(qm, request, [record])


def _note_changed(
    qm: QueueManager, kind: str, name: str, request: Request, *attributes: dict[str, Any]
) -> None:
    """Note what may be delivered, activated, or forgotten, when an object has these attributes, or
    had.
    """
    if kind == kinds.SERVICE:
        note_release_of_service(qm, name, request.now_ms)
    for one in attributes:
        if kind == kinds.ROUTE:
            note_release_of_service(qm, one.get("service", ""), request.now_ms)
        elif kind == kinds.NOTIFICATION:
            key = key_of(one["object"]) if one.get("object") else ""
            qm.step.broker_due.append(ActivationCheck(key, request.now_ms, is_altered=True))


def check_name(kind: str, name: str) -> None:
    """Refuse a name that no object of a kind has."""
    if kind not in kinds.TABLES:
        raise Refusal(Reason.OBJECT_TYPE_ERROR, name, f"{kind!r} is a kind that does not exist")
    bad = any(c < " " or c == "\x7f" for c in name) or (
        kind == kinds.QUEUE and set(name) & set(";\\")
    )
    if not 0 < len(name) <= kinds.NAME_LENGTH_MAX or bad:
        text = (
            f"a name has 1 to {kinds.NAME_LENGTH_MAX} characters, none of them a control character"
        )
        raise Refusal(Reason.NAME_ERROR, name, text)
    if name in b.SYSTEM_TYPES and kind == kinds.MESSAGE_TYPE:
        raise Refusal(Reason.OBJECT_EXISTS, name, "a message type of this name exists")


def check_service_name(name: str) -> None:
    """Refuse the name of a service for which messages cannot wait."""
    _check_topic(name, PREFIX + HELD + name)


def _check_topic(name: str, queue: str) -> None:
    """Refuse a name of which a queue is called that no topic can be named after."""
    over = topic_length(queue) - TOPIC_NAME_MAX
    if over > 0:
        text = (
            f"its topic's name would have {over} characters too many: letters, digits and . count "
            "one, / _ - and % two, and of other characters each byte four"
        )
        raise Refusal(Reason.NAME_ERROR, name, text)


def _new_queue(qm: QueueManager, request: Request, command: b.BrokerCreate) -> list[r.Record]:
    name = command.name
    key = key_of(name)
    _check_topic(name, key + RETAINED)
    if key in qm.queues:
        raise Refusal(Reason.OBJECT_EXISTS, name, "a queue of this name exists")
    check_queue_room(qm, name, 2)
    naming.check_attributes(kinds.TABLES[kinds.QUEUE], "a queue", name, command.attributes)
    attributes = command.attributes | {
        "kind": kinds.KIND,
        "display_name": name.removeprefix("dbo."),
        "created_ms": request.now_ms,
        "altered_ms": request.now_ms,
    }
    records: list[r.Record] = [r.QueueDefined(key, naming.incarnation_of(qm, key), attributes)]
    if command.attributes.get("retention"):
        records.append(part(qm, key, RETAINED, name))
    return records


def notifications(qm: QueueManager, event: str, key: str) -> Iterator[kinds.NotificationAttributes]:
    """Iterate over the notifications of an event of a queue. One of QUEUE_ACTIVATION is not about
    the queue that it is put to, which each of its own messages would activate again.
    """
    for about in (key, ""):
        for one in qm.references.find((kinds.NOTIFICATION, event, about)).values():
            assert isinstance(one, kinds.NotificationAttributes), "the key is theirs"
            if event != b.QUEUE_ACTIVATION or key_of(one.queue) != key:
                yield one


def note_release_of_queue(qm: QueueManager, queue: BrokerQueue, now_ms: int) -> None:
    """Note that messages may be delivered now that a queue holds, or that wait for its services."""
    _note_releases(qm, [queue.name + HELD], now_ms)
    for service_here in sorted(qm.references.find((kinds.QUEUE, queue.name))):
        note_release_of_service(qm, service_here, now_ms)


def note_release_of_service(qm: QueueManager, name: str, now_ms: int) -> None:
    """Note that messages may be delivered now that wait for a service; name: empty: for any."""
    keys = [PREFIX + HELD + name]
    if not name:
        keys = [key for key in qm.queues if key.startswith(PREFIX + HELD)]
    _note_releases(qm, keys, now_ms)


def _note_releases(qm: QueueManager, keys: list[str], now_ms: int) -> None:
    for key in keys:
        qm.step.broker_due.append(HeldRelease(key, now_ms))


def part(qm: QueueManager, key: str, which: str, name: str) -> r.QueueDefined:
    """Define a queue that belongs to another one."""
    whole = key + which
    attributes = {"kind": kinds.KIND, "display_name": name}
    return r.QueueDefined(whole, naming.incarnation_of(qm, whole), attributes)


def _check_attributes(
    qm: QueueManager, kind: str, name: str, given: dict[str, Any], before: dict[str, Any]
) -> None:
    naming.check_attributes(kinds.TABLES[kind], _a(kind), name, given)
    attributes = before | given
    if kind == kinds.MESSAGE_TYPE:
        _check_message_type(qm, name, attributes)
    elif kind == kinds.CONTRACT:
        _check_contract(qm, name, attributes)
    elif kind == kinds.SERVICE:
        queue_named(qm, attributes.get("queue", ""))
        accepted = kinds.names(attributes.get("contracts", ""))
        for one in accepted:
            contract(qm, one)
        if len(set(accepted)) < len(accepted) and "contracts" in given:
            raise Refusal(Reason.ATTRIBUTE_ERROR, name, "a contract is in a service once")
    elif kind == kinds.NOTIFICATION:
        queue_named(qm, attributes.get("queue", ""))
        if given.get("object"):
            queue_named(qm, given["object"])
        if attributes.get("event") not in b.EVENTS:
            text = f"an event is one of {', '.join(b.EVENTS)}"
            raise Refusal(Reason.ATTRIBUTE_ERROR, name, text)
    elif kind == kinds.ROUTE:
        _check_named(kinds.SERVICE, given.get("service", ""))
        if attributes.get("address"):
            naming.check_name(attributes["address"].removeprefix(b.EXPORT_ADDRESS), ADDRESS)
    elif kind == kinds.PRIORITY:
        _check_named(kinds.CONTRACT, given.get("contract", ""))
        _check_named(kinds.SERVICE, given.get("local_service", ""))
        _check_named(kinds.SERVICE, given.get("remote_service", ""))
        _check_priority(qm, name, attributes)


def _check_named(kind: str, name: str) -> None:
    """Refuse to name an object that can never be; empty: any."""
    if name:
        check_name(kind, name)


def _check_priority(qm: QueueManager, name: str, attributes: dict[str, Any]) -> None:
    parties = (attributes.get(one, "") for one in ("contract", "local_service", "remote_service"))
    others = qm.references.find((kinds.PRIORITY, *parties)).keys() - {name}
    if others:
        text = f"broker priority {min(others)} is for the same contract and services"
        raise Refusal(Reason.OBJECT_EXISTS, name, text)


def _check_message_type(qm: QueueManager, name: str, attributes: dict[str, Any]) -> None:
    validation, schema = attributes.get("validation", "NONE"), attributes.get("schema", "")
    if validation not in VALIDATIONS:
        text = f"validation is one of {', '.join(VALIDATIONS)}, not {validation!r}"
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, text)
    if (validation == "VALID_XML") != bool(schema):
        text = "VALID_XML needs an XML schema, and no other validation has one"
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, text)
    problem = qm.xml.why_no_schema(schema) if schema else ""
    if problem:
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, problem)


def _check_contract(qm: QueueManager, name: str, attributes: dict[str, Any]) -> None:
    listed = {
        by: kinds.names(attributes.get(by, "")) for by in ("by_initiator", "by_target", "by_any")
    }
    every = [one for found in listed.values() for one in found]
    for one in every:
        check_type(qm, one)
    if len(set(every)) < len(every):
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, "a message type is in a contract once")
    if not listed["by_initiator"] and not listed["by_any"]:
        text = "by a contract the initiator, or both sides, send at least one message type"
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, text)


def decide_alter(qm: QueueManager, request: Request, command: b.BrokerAlter) -> Decision:
    """ALTER QUEUE, SERVICE, MESSAGE TYPE, ROUTE, BROKER PRIORITY."""
    kind, name = command.kind, command.name
    check_name(kind, name)
    dates = {"altered_ms": request.now_ms}
    if kind == kinds.QUEUE:
        return _alter_queue(qm, request, command, dates)
    if kind == kinds.CONTRACT or (kind, name) in SYSTEM:
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, f"{_a(kind)} of this name is not altered")
    before = structs.asdict(_require(qm, kind, name))
    _check_attributes(qm, kind, name, command.attributes, before)
    wake_users(qm, kind, name)
    record = r.ObjectAltered(kinds.PREFIX + kind, name, command.attributes | dates)
    _note_changed(qm, kind, name, request, before, before | command.attributes)
    return done(qm, request, [record])


def _alter_queue(
    qm: QueueManager, request: Request, command: b.BrokerAlter, dates: dict[str, Any]
) -> Decision:
    """Alter a queue. That it is turned on resets its count; that it is turned off ends waits."""
    queue = queue_named(qm, command.name)
    given = command.attributes
    naming.check_attributes(kinds.TABLES[kinds.QUEUE], "a queue", command.name, given)
    reset: dict[str, Any] = {"rollback_count": 0} if given.get("status") else {}
    records: list[r.Record] = []
    if given.get("retention") and queue.name + RETAINED not in qm.queues:
        check_queue_room(qm, command.name)
        records.append(part(qm, queue.name, RETAINED, queue.attributes.display_name))
    records.append(r.QueueAltered(queue.name, given | reset | dates))
    if given.get("status"):
        note_release_of_queue(qm, queue, request.now_ms)
    if "status" in given or given.keys() & ACTIVATION:
        qm.step.broker_due.append(ActivationCheck(queue.name, request.now_ms, is_altered=True))
    decision = done(qm, request, records)
    if given.get("status") is False:
        wake_receives(qm, queue)
    return decision


def decide_drop(qm: QueueManager, request: Request, command: b.BrokerDrop) -> Decision:
    """DROP ...: not while another object needs it, or a conversation uses it. What a dropped
    service causes, see broker_drop.
    """
    kind, name = command.kind, command.name
    check_name(kind, name)
    if kind == kinds.QUEUE:
        return done(qm, request, _drop_queue(qm, name))
    if (kind, name) in SYSTEM:
        raise Refusal(Reason.OBJECT_IN_USE, name, "it belongs to the queue manager")
    found = _require(qm, kind, name)
    user = _user_of(qm, kind, name)
    if user:
        raise Refusal(Reason.OBJECT_IN_USE, name, user)
    _note_changed(qm, kind, name, request, structs.asdict(found))
    wake_users(qm, kind, name)
    return done(qm, request, record_deletion(qm, kind, name))


def _drop_queue(qm: QueueManager, name: str) -> list[r.Record]:
    queue = queue_named(qm, name)
    user = qm.references.first((kinds.QUEUE, queue.name))
    if user is not None:
        raise Refusal(Reason.OBJECT_IN_USE, name, f"service {user} uses it: drop that first")
    if qm.conversations.of_queue[queue.name] or any(one.locked_by for one in queue.groups):
        text = (
            "conversations are on it: end them first; those that its side has ended (DO) go when "
            "the other side knows it, or with cleanup"
        )
        raise Refusal(Reason.OBJECT_IN_USE, name, text)
    keys = [queue.name, queue.name + HELD, queue.name + RETAINED]
    held = qm.queues.get(queue.name + HELD)
    if held is not None and held.available_count:
        text = "messages wait until it is turned on: do that first, and they wait for their service"
        raise Refusal(Reason.OBJECT_IN_USE, name, text)
    about = [one for event in b.EVENTS for one in _about(qm, event, queue.name)]
    others = qm.references.find((NOTIFIED, queue.name)).keys() - set(about)
    if others:
        text = f"event notification {min(others)} puts events on it: drop that first"
        raise Refusal(Reason.OBJECT_IN_USE, name, text)
    qm.wake(queue)
    records = [record for one in about for record in record_deletion(qm, kinds.NOTIFICATION, one)]
    return [*records, *(r.QueueDeleted(key) for key in keys if key in qm.queues)]


def _about(qm: QueueManager, event: str, key: str) -> list[str]:
    """Name the notifications of an event of one queue, which are gone with the queue."""
    return sorted(qm.references.find((kinds.NOTIFICATION, event, key)))


def _user_of(qm: QueueManager, kind: str, name: str) -> str:
    """Say what needs an object; empty: nothing does."""
    user = (
        qm.references.first((kind, name)) if kind in (kinds.MESSAGE_TYPE, kinds.CONTRACT) else None
    )
    if user is not None:
        if kind == kinds.MESSAGE_TYPE:
            return f"contract {user} has this message type: drop that first"
        return f"service {user} has this contract: drop that first"
    if kind == kinds.CONTRACT and qm.conversations.of_contract[name]:
        return "conversations by it have not ended: end them first"
    if qm.conversations.begun[kind, name]:
        return "a transaction has begun a conversation with it: commit or roll back that first"
    return ""
