"""Opening queues and aliases: who may have which handle. Closing: core.rules.objects.closing."""

from __future__ import annotations

from adapter.core.attributes.objects import AliasAttributes
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Done, Opened, Result
from adapter.core.model.connection import ConnectionState
from adapter.core.model.handles import QueueHandle, TopicHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.rules.network import resolve, topic_strings
from adapter.core.rules.primitives import matching, staging, trigger_events
from adapter.core.rules.primitives.decision import Decision, connection_of

ACCESS = c.INPUT | c.EXCLUSIVE | c.OUTPUT | c.BROWSE | c.INQUIRE | c.SET | c.CO_OP
MODES = ACCESS | c.CONTEXT_MODES
HANDLE_MAX = 2**31 - 1


def decide_open(qm: QueueManager, request: c.Request, command: c.Open) -> Decision:
    """MQOPEN: existence, sharing and the number of handles are checked here, once."""
    alias = qm.objects.get(("alias", command.queue))
    if isinstance(alias, AliasAttributes) and alias.target_type == "TOPIC":
        return _open_topic(qm, request, command, alias)
    connection = connection_of(qm, request)
    if not command.modes & ACCESS or command.modes & ~MODES:
        raise Refusal(Reason.OPTIONS_ERROR, command.queue, f"modes {command.modes}")
    if command.modes & c.CO_OP and not command.modes & c.BROWSE:
        raise Refusal(Reason.OPTIONS_ERROR, command.queue, "CO_OP goes with BROWSE")
    check_numbers(qm, connection, command.queue, command.handle)
    found = resolve.find(qm, command)
    queue = found.queue
    route = found.route
    handle = QueueHandle(command.handle, queue, command.modes, found.alias, found.is_made, route)
    fits = matching.selection_for(queue, command.selection) if command.selection else None
    open_queue(qm, connection, handle, request.now_ms, shared=command.shared)
    if fits is not None:
        matching.select_by(handle, command.selection, fits)
    result: Result = Done()
    if route is not None:
        result = Opened(route.transmission.queue, queue_manager=route.transmission.queue_manager)
    else:
        control = (found.alias or queue.attributes).property_control
        opened = Opened(queue.name, found.is_made, False, "", queue.is_transmission, control)
        opened.incarnation = queue.incarnation
        result = Done() if opened == Opened(command.queue) else opened
    return Decision(found.records, result, qm.entry_n, made=found.made)


def _open_topic(
    qm: QueueManager, request: c.Request, command: c.Open, alias: AliasAttributes
) -> Decision:
    """Open a topic by an alias of it: puts are publications."""
    name, connection = command.queue, connection_of(qm, request)
    check_numbers(qm, connection, name, command.handle)
    if ("topic", alias.target) not in qm.objects:
        text = f"its target topic {alias.target!r} does not exist"
        raise Refusal(Reason.UNKNOWN_ALIAS_BASE, name, text)
    if not command.modes & c.OUTPUT or command.modes & ~(c.OUTPUT | c.INQUIRE | c.CONTEXT_MODES):
        text = f"it stands for topic {alias.target}, which is opened for output"
        raise Refusal(Reason.ALIAS_BASE_TYPE_ERROR, name, text)
    topic = topic_strings.full_string(qm, alias.target, "")
    connection.handles[command.handle] = TopicHandle(command.handle, topic, command.modes, alias)
    return Decision([], Opened(topic, is_topic=True), qm.entry_n)


def check_numbers(qm: QueueManager, connection: ConnectionState, name: str, *numbers: int) -> None:
    """Refuse handle numbers that are in use, or more handles than a connection may have."""
    for number in numbers:
        if number in connection.handles or not 0 < number <= HANDLE_MAX:
            raise Refusal(Reason.HANDLE_IN_USE, name, f"handle {number}")
    most = qm.limits.handles_per_connection
    if len(connection.handles) + len(numbers) > most:
        raise Refusal(Reason.LIMIT_REACHED, name, f"a connection has at most {most} handles")


def open_queue(
    qm: QueueManager,
    connection: ConnectionState,
    handle: QueueHandle,
    now_ms: int,
    *,
    shared: bool = False,
) -> None:
    """Open a queue by a handle, or refuse for the sake of others who have it open.

    shared: see commands.Open.
    """
    queue = handle.queue
    if handle.modes & ~(c.BROWSE | c.INQUIRE | c.CO_OP | c.CONTEXT_MODES):
        staging.check_own(queue.name)
    handle.modes = _input_modes(queue, handle.modes, shared=shared)
    count(queue, handle.modes, 1)
    if handle.modes & c.INPUT:
        trigger_events.note_open(qm, queue, now_ms)
    connection.handles[handle.number] = handle


def _input_modes(queue: LocalQueue, modes: int, *, shared: bool) -> int:
    """Settle shared or exclusive input, or refuse (MQRC_OBJECT_IN_USE)."""
    if modes & c.EXCLUSIVE:
        modes |= c.INPUT
    if not modes & c.INPUT:
        return modes
    attributes = queue.attributes
    is_by_default = attributes.def_input_open_option == "EXCLUSIVE" and not shared
    if not attributes.share or is_by_default:
        modes |= c.EXCLUSIVE  # as the queue says (MQOO_INPUT_AS_Q_DEF)
    if queue.opens.exclusive or (modes & c.EXCLUSIVE and queue.opens.input):
        raise Refusal(
            Reason.QUEUE_IN_USE,
            queue.name,
            "it is open for exclusive input, or is "
            "open for input and exclusive input was asked for",
        )
    return modes


def count(queue: LocalQueue, modes: int, step: int) -> None:
    """Count a handle of a queue by what it is open for. step: 1, or -1 when it is closed."""
    opens = queue.opens
    if modes & c.INPUT:
        opens.input += step
        opens.exclusive = bool(modes & c.EXCLUSIVE) and step > 0
    if modes & c.OUTPUT:
        opens.output += step
    if modes & c.CO_OP:
        opens.cooperating += step
    opens.handles += step
