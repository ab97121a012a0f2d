"""From the name that a program opens to a local queue: alias, model, or a transmission queue.

A model makes a dynamic queue. A temporary one is soft: it holds no persistent messages, never
touches the ledger, and goes when the handle that made it is closed. This module does not know how
handles are counted.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from adapter.core.attributes.objects import AliasAttributes
from adapter.core.attributes.queue import ModelAttributes, QueueAttributes
from adapter.core.attributes.table import NAME_LENGTH_MAX, without_dates
from adapter.core.contract.commands import BROWSE, CONTEXT_MODES, INQUIRE, OUTPUT, Open
from adapter.core.contract.object_names import NAME
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import QueueDefined, Record
from adapter.core.model.made_queues import MadeQueues, check_queue_room
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.routes import NoRoute, RemoteRoute
from adapter.core.rules.network import exports, routes
from adapter.core.rules.primitives import naming
from adapter.core.rules.primitives.decision import check_of_mq

DYNAMIC_NAME: Final = "MQK.*"
"""For a program that gives no name (MQOD.DynamicQName)."""


class Found(Struct):
    """What a name leads to. records: what is to be applied for it. is_made: it is a new queue, for
    this handle alone. made: new queues by their names, see Decision. route: of another queue
    manager, whose transmission queue is queue.
    """

    queue: LocalQueue
    alias: AliasAttributes | None = None
    records: list[Record] = []
    is_made: bool = False
    made: dict[str, LocalQueue] = {}
    route: RemoteRoute | None = None


def find(qm: QueueManager, command: Open) -> Found:
    """Find the local queue that an open means, or refuse."""
    name = command.queue
    if command.kafka_topic:
        return _export(qm, command)
    queue = qm.queues.get(name) if command.queue_manager in ("", qm.name) else None
    if queue is None:
        made = MadeQueues()
        route = routes.route(qm, name, command.queue_manager, made)
        if route is not None:
            return _remote(command, route, made)
        queue = qm.queues.get(name)
    if queue is not None:
        if command.modes & ~(BROWSE | INQUIRE | CONTEXT_MODES):
            check_of_mq(queue)
        return Found(queue)
    kind = naming.kind_of(qm, name)
    if kind is None:
        raise Refusal(Reason.QUEUE_NOT_FOUND, name)
    attributes = qm.objects[kind, name]
    if isinstance(attributes, AliasAttributes):
        return _behind(qm, command, attributes)
    assert isinstance(attributes, ModelAttributes), kind
    if command.existing:
        text = "it is a model queue: open it, then put"
        raise Refusal(Reason.OPTION_NOT_VALID_FOR_TYPE, name, text)
    return make(qm, attributes, command.dynamic_name or DYNAMIC_NAME)


def _export(qm: QueueManager, command: Open) -> Found:
    """Open the queue whose messages are written to a topic: for output, by a topic's name alone."""
    topic = command.kafka_topic
    if command.queue or command.queue_manager or command.dynamic_name:
        raise Refusal(Reason.OPTIONS_ERROR, topic, "it is a topic of Kafka: name no queue with it")
    if command.modes & ~(OUTPUT | INQUIRE | CONTEXT_MODES):
        text = "it is a topic of Kafka: open it for output"
        raise Refusal(Reason.OPTION_NOT_VALID_FOR_TYPE, topic, text)
    made = MadeQueues()
    queue = exports.find_or_make(qm, topic, made)
    return Found(queue, records=made.records, made=made.queues)


def _remote(
    command: Open,
    route: RemoteRoute | NoRoute,
    made: MadeQueues,
    alias: AliasAttributes | None = None,
) -> Found:
    """Open a queue of another queue manager: for output, or inquiries about its definition."""
    if isinstance(route, NoRoute):
        raise route.refusal()
    allowed = OUTPUT if route.definition is None else OUTPUT | INQUIRE
    if command.modes & ~(allowed | CONTEXT_MODES):
        to = route.transmission
        text = f"it is queue {to.queue} of queue manager {to.queue_manager}: open it for output"
        raise Refusal(Reason.OPTION_NOT_VALID_FOR_TYPE, command.queue, text)
    return Found(route.queue, alias, made.records, made=made.queues, route=route)


def _behind(qm: QueueManager, command: Open, alias: AliasAttributes) -> Found:
    """Return the queue behind an alias (MQRC_UNKNOWN_ALIAS_BASE_Q, _ALIAS_BASE_Q_TYPE_ERROR)."""
    name = command.queue
    queue = naming.mq_queue(qm, alias.target)
    if queue is not None:
        return Found(queue, alias)
    made = MadeQueues()
    route = routes.route(qm, alias.target, "", made)
    if route is not None:
        return _remote(command, route, made, alias)
    kind = naming.kind_of(qm, alias.target)
    if kind is None:
        raise Refusal(
            Reason.UNKNOWN_ALIAS_BASE, name, f"its target queue {alias.target!r} does not exist"
        )
    text = f"{alias.target!r} is of kind {kind}, and not a local queue"
    raise Refusal(Reason.ALIAS_BASE_TYPE_ERROR, name, text)


def make(qm: QueueManager, model: ModelAttributes, wanted: str) -> Found:
    """Make a dynamic queue of a model."""
    name, is_generated = _name(qm, wanted)
    check_queue_room(qm, name)
    attributes = without_dates(model)
    given = {name: value for name, value in attributes.items() if value != DEFAULTS.get(name)}
    is_temporary = model.definition_type == "TEMPDYN"
    incarnation = naming.incarnation_of(qm, name, is_generated=is_generated)
    if is_temporary:
        qm.numbers.temporaries += 1
        incarnation = qm.numbers.temporaries
    queue = LocalQueue(name, incarnation, QueueAttributes(**attributes))
    record = QueueDefined(name, incarnation, given, logged=not is_temporary)
    return Found(queue, None, [record], is_made=True, made={name: queue})


DEFAULTS: Final = without_dates(QueueAttributes())


def _name(qm: QueueManager, wanted: str) -> tuple[str, bool]:
    """Make the name of a dynamic queue: what stands before a last * is kept (MQOD.DynamicQName).

    And say whether it was generated.
    """
    prefix, star, rest = wanted.partition("*")
    name = wanted
    if star:
        digits = qm.numbers.new_name_digits()
        name = prefix[: NAME_LENGTH_MAX - len(digits)] + digits
    if rest or not NAME.fullmatch(name) or len(name) > NAME_LENGTH_MAX:
        text = "a name, or the beginning of one and a *"
        raise Refusal(Reason.DYNAMIC_NAME_ERROR, wanted, text)
    if naming.kind_of(qm, name) is not None:
        raise Refusal(Reason.OBJECT_EXISTS, name)
    kept = naming.why_kept(qm, name)
    if kept:
        raise Refusal(Reason.DYNAMIC_NAME_ERROR, name, kept)
    return name, bool(star)
