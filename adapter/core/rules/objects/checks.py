"""Which authority a command needs, on which object: asked for before the command is decided.

The trait of a command says it where a field names the object; the others have a rule here. What a
handle allows is asked for when it is opened, on the name that is opened and not on what that leads
to: so an alias may be granted without its queue; who may lead it there is asked when that is said,
see pointers. Verbs by a handle ask for nothing more.

Who creates an object has every authority on it by a record of its own; so does who makes a dynamic
queue, whose model had to be granted. This module does not know how records are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from adapter.core.attributes.objects import SUBSCRIPTION
from adapter.core.contract import authorities as a
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract import results
from adapter.core.contract.parties import Proof
from adapter.core.contract.records import AuthoritySet
from adapter.core.contract.rights import Need, NeededRight
from adapter.core.contract.traits import trait_of
from adapter.core.model.authorities import is_generic
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.topics import SubscriptionState
from adapter.core.rules.network import exports, put_rights, topic_rights, topic_strings
from adapter.core.rules.objects import checks_of_faces as faces
from adapter.core.rules.objects import pointers, subscription_rights
from adapter.core.rules.primitives import naming
from adapter.core.rules.primitives.access import Asker
from adapter.core.rules.primitives.decision import Decision, connection_of

Rule = Callable[[QueueManager, Asker, Any], None]

MODES: Final = (
    (c.INPUT | c.EXCLUSIVE, a.GET),
    (c.OUTPUT, a.PUT),
    (c.BROWSE, a.BROWSE),
    (c.INQUIRE, a.INQUIRE),
    (c.SET, a.SET),
    (c.SAVE_CONTEXT, a.GET),
)
"""What each option of an open needs; those of contexts: see bits_of_modes."""
WILDCARDS: Final = frozenset("*?[")
ALL_NAMES: Final = "*"


def check(qm: QueueManager, request: c.Request) -> None:
    """Refuse a command that its principal has no authority for (MQRC_NOT_AUTHORIZED).

    Of a command whose trait says that it asks for a right. A part of the queue manager that opens
    something by the authorities of a user has these alone; an operator may do everything.
    """
    asker = asker_of(qm, request)
    is_own = asker.principal.proof is Proof.OWN
    is_for_user = is_own and bool(getattr(request.command, "alternate_user", ""))
    if is_for_user or not asker.principal.is_privileged:
        check_command(qm, asker, request.command)


def check_command(qm: QueueManager, asker: Asker, command: Any) -> None:
    """Refuse a command that who asks has no authority for."""
    right = trait_of(command).right
    rule = RULES.get(type(command))
    if rule is not None:
        rule(qm, asker, command)
    if right.need is Need.OBJECT:
        name = getattr(command, right.of) if right.of else qm.name
        asker.require(right.object_type, name, right.bits)
    elif right.need is Need.CREATION:
        _create(qm, asker, right.object_type, getattr(command, right.of), command.replace)


def asker_of(qm: QueueManager, request: c.Request) -> Asker:
    """Return who gives a command."""
    principal = connection_of(qm, request).party.principal
    return Asker(qm, request.connection, principal, type(request.command).__name__)


def finish(qm: QueueManager, request: c.Request, decision: Decision) -> None:
    """Leave out of an answer what its principal may not see, and grant it what it has created."""
    right = trait_of(request.command).right
    asker = asker_of(qm, request)
    if asker.principal.is_privileged:
        return
    if right.need is Need.EACH:
        _show(qm, asker, right, request.command, decision)
    elif isinstance(decision.result, results.Descriptions) and _is_of_transmission(request.command):
        faces.leave_out_bodies(qm, asker, decision.result)
    elif decision.records:
        _grant(qm, asker, request.command, decision)


def _is_of_transmission(command: Any) -> bool:
    return isinstance(command, b.BrokerInquire) and command.kind == b.TRANSMISSION


def note_opening(qm: QueueManager, request: c.Request) -> None:
    """Keep by what a handle was opened, to ask again for its authorities (REFRESH SECURITY)."""
    connection, number = connection_of(qm, request), getattr(request.command, "handle", 0)
    if number in connection.handles:
        connection.openings[number] = request.command


def lacks(qm: QueueManager, connection: int, command: str, bits: int) -> a.Denial | None:
    """Say which authorities on the queue manager itself the principal of a connection lacks."""
    principal = qm.connections[connection].party.principal
    missing = Asker(qm, connection, principal, command).missing(a.QUEUE_MANAGER, qm.name, bits)
    if not missing:
        return None
    return a.Denial(connection, principal.user, command, a.QUEUE_MANAGER, qm.name, missing)


def may_change(qm: QueueManager, connection: int, queue: str) -> bool:
    """Say whether the principal of a connection has the authority to change a queue."""
    principal = qm.connections[connection].party.principal
    return not Asker(qm, connection, principal, "").missing(a.QUEUE, queue, a.CHANGE)


def bits_of_modes(modes: int) -> int:
    """Return what the options of an open need together."""
    bits = 0
    for mode, bit in MODES:
        if modes & mode:
            bits |= bit
    if modes & c.PASS_CONTEXT:
        bits |= a.PASS_ALL if modes & c.PASS_ORIGIN else a.PASS_IDENTITY
    if modes & c.SET_CONTEXT:
        bits |= a.SET_ALL if modes & c.SET_ORIGIN else a.SET_IDENTITY
    return bits


# Objects.


def _create(qm: QueueManager, asker: Asker, object_type: str, name: str, replace: bool) -> None:
    """To create an object; to replace one that exists is to change it."""
    there = naming.kind_of(qm, name) if object_type == a.QUEUE else (object_type, name)
    exists = there is not None and (object_type == a.QUEUE or there in qm.objects)
    asker.require(object_type, name, a.CHANGE if exists and replace else a.CREATE)


def type_of(kind: str) -> str:
    """Return the type of objects of a kind; of one that does not exist its own word."""
    return a.TYPE_OF_KIND.get(kind, kind)


def _define(qm: QueueManager, asker: Asker, command: c.DefineObject) -> None:
    if command.kind == SUBSCRIPTION:
        subscription_rights.define(qm, asker, command)
        return
    _create(qm, asker, type_of(command.kind), command.name, command.replace)
    pointers.check(qm, asker, command.kind, command.name, command.attributes)


def _change(qm: QueueManager, asker: Asker, command: c.AlterObject) -> None:
    if command.kind == SUBSCRIPTION:
        subscription_rights.alter(qm, asker, command)
    else:
        asker.require(type_of(command.kind), command.name, a.CHANGE)
        pointers.check(qm, asker, command.kind, command.name, command.attributes)


def _delete(qm: QueueManager, asker: Asker, command: c.DeleteObject) -> None:
    if command.kind == SUBSCRIPTION:
        subscription_rights.delete(qm, asker, command)
    else:
        asker.require(type_of(command.kind), command.name, a.DELETE)


def _with_pointers(qm: QueueManager, asker: Asker, command: c.DefineQueue | c.AlterQueue) -> None:
    """What a queue leads to; the right on itself is in the trait."""
    pointers.check(qm, asker, "queue", command.name, command.attributes)


def _status(qm: QueueManager, asker: Asker, command: c.AskStatus) -> None:
    """To reset figures is to change what all others see."""
    if command.reset:
        for queue in naming.fitting_queues(qm, command.pattern, command.system):
            asker.require(a.QUEUE, queue.name, a.CHANGE)


# Queues.


def _open(qm: QueueManager, asker: Asker, command: c.Open) -> None:
    asker = _acting(qm, asker, command.alternate_user)
    bits, name = bits_of_modes(command.modes), command.queue
    contexts = bits & (a.SET_IDENTITY | a.SET_ALL)
    if command.kafka_topic:
        name = exports.name_of(command.kafka_topic)
        if name not in qm.exports:
            asker.require("export", name, a.CREATE)
        asker.require(a.QUEUE, name, bits)
    else:
        put_rights.require(qm, asker, name, command.queue_manager, bits)
    if contexts:
        asker.require(a.QUEUE_MANAGER, qm.name, contexts)


def _close(qm: QueueManager, asker: Asker, command: c.Close) -> None:
    """To delete a dynamic queue at its close; who made it may."""
    handle = qm.connections[asker.connection].handles.get(command.handle)
    if command.delete and isinstance(handle, QueueHandle) and not handle.queue.is_deleted:
        asker.require(a.QUEUE, handle.queue.name, a.DELETE)


def _acting(qm: QueueManager, asker: Asker, alternate_user: str) -> Asker:
    """Return by whose authorities something is opened (MQOO_ALTERNATE_USER_AUTHORITY)."""
    if not alternate_user:
        return asker
    asker.require(a.QUEUE_MANAGER, qm.name, a.ALTERNATE_USER)
    return asker.instead(alternate_user)


# Topics.


def _open_topic(qm: QueueManager, asker: Asker, command: c.OpenTopic) -> None:
    asker = _acting(qm, asker, command.alternate_user)
    topic = topic_strings.full_string(qm, command.topic_object, command.topic_string)
    topic_rights.require(qm, asker, topic, a.PUBLISH | bits_of_modes(command.modes))


def _subscribe(qm: QueueManager, asker: Asker, command: c.Subscribe) -> None:
    subscription_rights.subscribe(qm, _acting(qm, asker, command.alternate_user), command)


def check_subscribed(
    qm: QueueManager, asker: Asker, command: c.Subscribe, known: SubscriptionState
) -> None:
    """Refuse who may no longer have the subscription open that a command has opened."""
    asker = _acting(qm, asker, command.alternate_user)
    subscription_rights.check_opened(qm, asker, command, known)


def _clear_topic(qm: QueueManager, asker: Asker, command: c.ClearRetained) -> None:
    topic_rights.require(qm, asker, command.topic_string, a.CLEAR)


# Answers, and what is created.


def _show(
    qm: QueueManager, asker: Asker, right: NeededRight, command: Any, decision: Decision
) -> None:
    """Keep what the principal may see; refuse what it named alone, whether or not it is there."""
    result: Any = decision.result
    field, key = SHOWN.get(type(result), ("", None))
    if key is None:
        return
    every = getattr(result, field)
    kept = [one for one in every if _may_see(qm, asker, one, key(one), right.bits)]
    name = getattr(command, right.of) if right.of else ""
    if not kept and name and not WILDCARDS & set(name):
        of = key(every[0]) if every else (right.object_type or type_of(command.kind), name)
        # Only a subscription that exists has a topic, by which it is seen.
        is_subscription = getattr(command, "kind", "") == SUBSCRIPTION
        if bool(every) if is_subscription else not asker.may_any(*of, right.bits):
            raise asker.refusal(*of, right.bits)
    setattr(result, field, kept)
    # Of a narrower pattern it is not said: one could spell the names of what is not shown.
    if isinstance(result, results.Descriptions | results.Objects) and name == ALL_NAMES:
        result.hides = len(kept) < len(every)


def _may_see(qm: QueueManager, asker: Asker, one: Any, of: tuple[str, str], bits: int) -> bool:
    if getattr(one, "kind", "") == SUBSCRIPTION:
        bits |= a.SUBSCRIBE | a.RESUME
        return topic_rights.missing_of(qm, asker, one.attributes["topic_string"], bits) != bits
    return asker.may_any(*of, bits)


def _of_object(one: results.ObjectDescription) -> tuple[str, str]:
    return type_of(one.kind), one.name


SHOWN: Final[dict[type, tuple[str, Callable[[Any], tuple[str, str]]]]] = {
    results.Descriptions: ("queues", lambda one: (a.QUEUE, one.name)),
    results.Statuses: ("queues", lambda one: (a.QUEUE, one.name)),
    results.Objects: ("objects", _of_object),
    results.Consumers: ("consumers", lambda one: (a.QUEUE, one.queue)),
    results.Exported: ("exports", lambda one: (a.QUEUE, one.queue)),
}
"""By answer: the field with what is shown, and which object each is of."""


def _grant(qm: QueueManager, asker: Asker, command: Any, decision: Decision) -> None:
    """Let who has created an object do everything with it."""
    created = CREATED.get(type(command))
    found = created(qm, command, decision.result) if created is not None else None
    user = asker.principal.user
    if found is None or not user or is_generic(found[1]):
        return  # a record of a name with wildcards would be one of other objects too
    object_type, name = found
    is_temporary = isinstance(command, c.Subscribe)  # whatever is retained and put there
    logged = not is_temporary and all(record.logged for record in decision.records)
    bits = a.APPLICABLE[object_type]
    granted = [AuthoritySet(name, object_type, user, False, bits, logged=logged)]
    if isinstance(command, m.MsmqCreate):  # as MSMQ says it of new queues
        granted.append(AuthoritySet(name, object_type, a.EVERYONE, True, faces.OF_EVERYONE))
    decision.records += granted


def _dynamic_queue(_: QueueManager, command: c.Open, result: Any) -> tuple[str, str] | None:
    is_made = isinstance(result, results.Opened) and result.is_made
    return (a.QUEUE, result.queue) if is_made else None


def _managed_queue(qm: QueueManager, command: c.Subscribe, result: Any) -> tuple[str, str] | None:
    """The queue of a subscription that is not durable: more of its owner's may lead there."""
    if not isinstance(result, results.Subscribed) or not command.options & c.MANAGED:
        return None
    is_temporary = not result.options & c.DURABLE and result.queue not in qm.queues
    return (a.QUEUE, result.queue) if is_temporary else None


def _new_object(_: QueueManager, command: c.DefineObject, _result: Any) -> tuple[str, str] | None:
    if command.kind == SUBSCRIPTION:
        return None
    return type_of(command.kind), command.name


CREATED: Final[dict[type, faces.Created]] = {
    c.Open: _dynamic_queue,
    c.Subscribe: _managed_queue,
    c.DefineQueue: lambda _, command, _result: (a.QUEUE, command.name),
    c.DefineObject: _new_object,
    **faces.CREATED,
}
"""What a command creates that its principal may do everything with."""


RULES: Final[dict[type, Rule]] = {
    c.Open: _open,
    c.Close: _close,
    c.AskStatus: _status,
    c.DefineQueue: _with_pointers,
    c.AlterQueue: _with_pointers,
    c.DefineObject: _define,
    c.AlterObject: _change,
    c.DeleteObject: _delete,
    c.OpenTopic: _open_topic,
    c.Subscribe: _subscribe,
    c.CloseSubscription: subscription_rights.close,
    c.ClearRetained: _clear_topic,
    **faces.RULES,
}
"""Of commands whose trait does not say it all."""
