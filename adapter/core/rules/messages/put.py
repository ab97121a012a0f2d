"""Put: admission of messages, into a unit or as a unit of its own. It does not know the ledger."""

from __future__ import annotations

from collections.abc import Mapping

from adapter.core.attributes.objects import RemoteAttributes
from adapter.core.contract.commands import CONTEXT_OPTIONS, OUTPUT, Put, Request
from adapter.core.contract.details import IN_GROUP, OFFSET_MAX, SEGMENT
from adapter.core.contract.message import (
    EXPIRY_UNLIMITED,
    ID_LENGTH,
    NO_ID,
    PRIORITY_MAX,
    PROPERTY_TYPES,
    MessageData,
    weight,
)
from adapter.core.contract.parties import ORIGIN_LENGTH_MAX
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import EventRaised, Record
from adapter.core.contract.results import Refused, put_done
from adapter.core.model import segments
from adapter.core.model.destination import Destination, PutDefaults
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import CONFIRM_ON_ARRIVAL, REQUEST
from adapter.core.mq_layouts import transmission_header
from adapter.core.rules.messages import context, report
from adapter.core.rules.messages.admit import hold, put_records, take_segments
from adapter.core.rules.messages.unit import Puts, unit_with_room
from adapter.core.rules.network import remote
from adapter.core.rules.primitives import details, groups, parking, staging
from adapter.core.rules.primitives.decision import (
    Decision,
    handle_of,
    outcome_of,
    own_unit,
    session_of,
)

PRIORITY_ASKED_MAX = 2**31 - 1
"""What is higher than any is put at the highest there is, with a warning."""
EXPIRY_MAX_MS = 100 * 999_999_999  # MQMD.Expiry: nine digits of tenths of a second
MESSAGE_TYPES = (1, 2, 4, 8)  # MQMT_REQUEST, _REPLY, _REPORT, _DATAGRAM
MESSAGE_TYPE_APPLICATION = range(65_536, 1_000_000_000)  # MQMT_APPL_FIRST to _LAST
GROUP_SEQ_MAX = 999_999_999
PROPERTIES_MAX = 256
MESSAGES_PER_PUT_MAX = 10_000
FORMAT_LENGTH = 8
TEXT_LENGTHS = (
    ("format", FORMAT_LENGTH),
    ("reply_to", 48),
    ("reply_to_queue_manager", 48),
    ("user", ORIGIN_LENGTH_MAX),
    ("application", ORIGIN_LENGTH_MAX),
)
NUMBERS = ("report", "feedback", "encoding", "ccsid")
NATIVE, UTF_8 = 546, 1208  # what a message says of its numbers and texts, if nothing is said


def decide_put(qm: QueueManager, request: Request, command: Put) -> Decision:
    """MQPUT. The ids of the messages are the answer; durable if outside a unit."""
    handle = handle_of(qm, request, command.handle, OUTPUT, Reason.NOT_OPEN_FOR_OUTPUT)
    queue = handle.queue
    if not 1 <= len(command.messages) <= MESSAGES_PER_PUT_MAX:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "a put has 1 to 10,000 messages")
    if queue.attributes.inhibit_put or (handle.alias and handle.alias.inhibit_put):
        raise Refusal(Reason.PUT_INHIBITED, queue.name)
    if handle.route is not None and handle.route.is_inhibited:
        raise Refusal(Reason.PUT_INHIBITED, handle.route.transmission.queue)
    context.settle(qm, request, command, handle)
    warning, is_cut = _check_each(qm, request, command, handle)
    in_order = command.options & ~CONTEXT_OPTIONS or handle.put_group is not None
    if in_order:
        warning = groups.number(qm, command, handle) or warning
    if qm.parked or qm.uncopied.is_full:
        parking.check_put(qm, queue, command.messages)
    if queue.taken_room + len(command.messages) > queue.attributes.max_depth:
        return _full(qm, queue, request)
    if is_cut:
        decision = _put_cut(qm, request, command, queue)
    elif command.unit:
        decision = _put_in_unit(qm, request, command, queue)
    else:
        decision = _put_alone(qm, request, command, queue)
    if isinstance(decision.result, Refused):
        return decision
    if warning:
        decision.warning = warning
    last = _last(queue, command.messages[-1], is_cut)
    if in_order or last.group_id != NO_ID:
        groups.move_handle(qm, request, handle, "put_group", last, command.unit)
    return decision


def _check_each(
    qm: QueueManager, request: Request, command: Put, handle: QueueHandle
) -> tuple[int, bool]:
    """Refuse what cannot be put, and fill in what is left to the queue.

    Returns the reason of a warning, or 0, and whether any message is to be cut.
    """
    warning, is_cut, queue = 0, False, handle.queue
    defaults: PutDefaults = handle.alias or queue.attributes
    if handle.route is not None:
        defaults = handle.alias or handle.route.definition or queue.attributes
    for at, message in enumerate(command.messages):
        if handle.route is not None or message.transmission is not None:
            _address(handle, message)
        elif message.format == transmission_header.FORMAT:
            message = command.messages[at] = _addressed_by_header(queue, message)
        is_cut = check(queue, message) or is_cut
        if message.delay_ms or message.deliver_at_ms:
            staging.check(qm, queue.name, message, request.now_ms)
        warning = default(queue, message, defaults) or warning
        cap_expiry(message, defaults)
    return warning, is_cut


def _address(handle: QueueHandle, message: MessageData) -> None:
    """Say where a message goes: as its queue says, or as a program does on a transmission queue."""
    if handle.route is not None:
        message.transmission = handle.route.transmission
    elif not handle.queue.is_transmission:
        message.transmission = None


def _addressed_by_header(queue: LocalQueue, message: MessageData) -> MessageData:
    """Return the message of the header that a program put on a transmission queue itself.

    What has no valid header, or describes no valid message, is put as it is: as on MQ, it becomes a
    dead letter when it is to be sent. The life that either descriptor gives a message ends it.
    """
    if not queue.is_transmission:
        return message
    try:
        inner = transmission_header.message_behind(message.body)
        remote.check_destination(inner.transmission)
        lives_ms = [ms for ms in (inner.expiry_ms, message.expiry_ms) if ms != EXPIRY_UNLIMITED]
        inner.expiry_ms = min(lives_ms, default=EXPIRY_UNLIMITED)
        check(queue, inner)
    except (ValueError, Refusal):
        return message
    inner.properties = message.properties
    inner.delay_ms, inner.deliver_at_ms = message.delay_ms, message.deliver_at_ms
    return inner


def _last(queue: LocalQueue, message: MessageData, is_cut: bool) -> MessageData:
    """Return what a handle has come to by a message: the last segment, if it was cut.

    A message that was cut has a group id, and is in a group only if its segments are.
    """
    return segments.split(message, queue.attributes.max_message_length)[-1] if is_cut else message


def default(destination: Destination, message: MessageData, defaults: PutDefaults) -> int:
    """Fill in the priority and persistence that are left to the name under which it was opened.

    Returns the reason of a warning, or 0.
    """
    warning = 0
    if message.priority < 0:
        message.priority = defaults.def_priority
    elif message.priority > PRIORITY_MAX:
        details.lower_priority(message)
        warning = Reason.PRIORITY_TOO_HIGH
    if message.persistence < 0:
        message.persistence = 0 if destination.is_temporary else int(defaults.def_persistence)
    return warning


def cap_expiry(message: MessageData, limits: PutDefaults) -> None:
    """Shorten the expiry of a message to what a name on its way allows (CAPEXPRY)."""
    most_ms = limits.expiry_cap * 100
    if most_ms > 0 and not 0 < message.expiry_ms <= most_ms:
        message.expiry_ms = most_ms


def cap_life(message: MessageData, limits: PutDefaults, now_ms: int) -> None:
    """Do so for a message that was put before, elsewhere or as a publication: from now on."""
    cap_expiry(message, limits)
    end_ms = now_ms + limits.expiry_cap * 100
    if limits.expiry_cap > 0 and not 0 < message.expires_at_ms <= end_ms:
        message.expires_at_ms = end_ms


def check(queue: Destination, message: MessageData) -> bool:
    """Refuse a message that no queue, or not this queue, takes; whether it is to be cut for it."""
    is_cut = len(message.body) > queue.attributes.max_message_length
    if is_cut:
        _check_cut(queue, message)
    if not -1 <= message.priority <= PRIORITY_ASKED_MAX:
        raise Refusal(Reason.PRIORITY_ERROR, queue.name, f"{message.priority} is not 0 to 9")
    if not -1 <= message.persistence <= 1:
        raise Refusal(Reason.PERSISTENCE_ERROR, queue.name, f"{message.persistence}")
    if message.persistence == 1 and queue.is_temporary:
        text = "a temporary dynamic queue takes none that are persistent"
        raise Refusal(Reason.PERSISTENT_NOT_ALLOWED, queue.name, text)
    if message.expiry_ms != -1 and not 0 < message.expiry_ms <= EXPIRY_MAX_MS:
        raise Refusal(Reason.EXPIRY_ERROR, queue.name, f"{message.expiry_ms} ms")
    if message.message_id or message.correlation_id or message.group_id:
        _check_ids(queue, message)
    if not 1 <= message.group_seq <= GROUP_SEQ_MAX:
        raise Refusal(Reason.IDENTIFIER_ERROR, queue.name, f"group_seq {message.group_seq}")
    _check_rest(queue, message)
    return is_cut


def _check_ids(queue: Destination, message: MessageData) -> None:
    for name in ("message_id", "correlation_id", "group_id"):
        if len(getattr(message, name)) not in (0, ID_LENGTH):
            raise Refusal(Reason.IDENTIFIER_ERROR, queue.name, f"{name} is not 24 bytes")


def _check_cut(queue: Destination, message: MessageData) -> None:
    limit = queue.attributes.max_message_length
    if not limit or not segments.may_be_split(message):
        text = f"{len(message.body)} bytes, max_message_length is {limit}"
        raise Refusal(Reason.MESSAGE_TOO_LONG, queue.name, text)
    assert message.details is not None, "its flags allow it"
    if message.details.offset + len(message.body) > OFFSET_MAX:
        raise Refusal(Reason.OFFSET_ERROR, queue.name, f"offset {message.details.offset}")


def _check_rest(queue: Destination, message: MessageData) -> None:
    kind = message.message_type
    if kind not in MESSAGE_TYPES and kind not in MESSAGE_TYPE_APPLICATION:
        raise Refusal(Reason.MESSAGE_TYPE_ERROR, queue.name, f"message_type {kind}")
    m = message
    if m.format or m.reply_to or m.reply_to_queue_manager or m.user or m.application:
        _check_texts(queue, message)
    if m.report or m.feedback or m.encoding != NATIVE or m.ccsid != UTF_8:
        _check_numbers(queue, message)
    if message.report or kind == REQUEST:
        report.check(queue, message)
    if message.properties:
        _check_properties(queue, message.properties)
    if message.details is not None:
        details.check(queue, message, message.details)


def _check_texts(queue: Destination, message: MessageData) -> None:
    for name, length in TEXT_LENGTHS:
        if len(getattr(message, name)) > length:
            text = f"{name} has more than {length} characters"
            raise Refusal(Reason.OPTIONS_ERROR, queue.name, text)


def _check_numbers(queue: Destination, message: MessageData) -> None:
    for name in NUMBERS:
        if not -(2**31) <= getattr(message, name) < 2**31:
            raise Refusal(Reason.OPTIONS_ERROR, queue.name, f"{name} is not a 32-bit number")


def _check_properties(queue: Destination, properties: Mapping[str, object]) -> None:
    if len(properties) > PROPERTIES_MAX:
        raise Refusal(Reason.PROPERTY_ERROR, queue.name, f"more than {PROPERTIES_MAX}")
    for name, value in properties.items():
        if not name or type(value) not in PROPERTY_TYPES:
            raise Refusal(Reason.PROPERTY_ERROR, queue.name, f"{name!r}: {type(value).__name__}")
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise Refusal(Reason.PROPERTY_ERROR, queue.name, f"{name} is not a 64-bit number")


def resolve(qm: QueueManager, queue: Destination, message: MessageData, now_ms: int) -> None:
    """Fill in what the put left to the queue and the queue manager."""
    if message.details is not None:
        details.settle(message, message.details)
        if message.details.flags & (IN_GROUP | SEGMENT) and not message.group_id:
            message.group_id = qm.numbers.new_message_id()
    message.message_id = message.message_id or qm.numbers.new_message_id()
    message.correlation_id = message.correlation_id or NO_ID
    message.group_id = message.group_id or NO_ID
    message.properties = message.properties or None
    if message.reply_to and not message.reply_to_queue_manager:
        _resolve_reply_to(qm, message)
    message.put_time_ms = now_ms
    cap_expiry(message, queue.attributes)
    message.expires_at_ms = now_ms + message.expiry_ms if message.expiry_ms > 0 else 0
    if message.delay_ms or message.deliver_at_ms or message.destination:
        staging.resolve(queue, message, now_ms)


def _resolve_reply_to(qm: QueueManager, message: MessageData) -> None:
    """Say where replies go: as a local definition of a remote queue says, or to this one."""
    definition = qm.objects.get(("remote", message.reply_to))
    message.reply_to_queue_manager = qm.name
    if isinstance(definition, RemoteAttributes) and definition.remote_queue_manager:
        message.reply_to = definition.remote_name or message.reply_to
        message.reply_to_queue_manager = definition.remote_queue_manager


def _put_cut(qm: QueueManager, request: Request, command: Put, queue: LocalQueue) -> Decision:
    """Put messages of which some are cut into segments: all at once, and for triggers one event."""
    longest, messages = queue.attributes.max_message_length, command.messages
    count = sum(len(segments.starts(message, longest)) for message in messages)
    if queue.taken_room + count > queue.attributes.max_depth:
        return _full(qm, queue, request)
    size = sum(map(weight, messages)) + count * max(map(_head_weight, messages))
    unit = None
    if command.unit:
        unit = unit_with_room(qm, request, command.unit, count, size)
    else:
        _check_alone(qm, queue, messages, size)
    ident = own_unit(request, session_of(qm, request).ident) if unit is None else b""
    puts: Puts = []
    for message in messages:
        resolve(qm, queue, message, request.now_ms)
        if not any(message.group_id):
            message.group_id = qm.numbers.new_message_id()
        pieces = segments.split(message, longest)
        puts += take_segments(qm, queue, message, pieces, request.now_ms, unit)
    sent = report.due(qm, messages, CONFIRM_ON_ARRIVAL, request.now_ms, unit)
    if unit is None:
        outcome, now_ms = outcome_of(qm, request), request.now_ms
        records = put_records(qm, ident, sent.puts, now_ms, outcome=outcome, segments=puts)
        return Decision(sent.records + records)
    ids = [message.message_id for message in messages]
    return Decision(sent.records, put_done(ids, messages[-1]))


def _head_weight(message: MessageData) -> int:
    return weight(message) - len(message.body)


def _check_alone(
    qm: QueueManager, queue: LocalQueue, messages: list[MessageData], size: int
) -> None:
    if len(messages) != 1:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "outside a unit a put has one message")
    if size > qm.limits.unit_bytes:
        text = f"{len(messages[0].body)} bytes, {qm.limits.unit_bytes} is the most"
        raise Refusal(Reason.MESSAGE_TOO_LONG, queue.name, text)


def _put_in_unit(qm: QueueManager, request: Request, command: Put, queue: LocalQueue) -> Decision:
    weights = [weight(message) for message in command.messages]
    unit = unit_with_room(qm, request, command.unit, len(weights), sum(weights))
    asks = 0
    for message in command.messages:
        resolve(qm, queue, message, request.now_ms)
        asks |= message.report
    hold(qm, unit, [(queue, message) for message in command.messages], weights, request.now_ms)
    ids = [message.message_id for message in command.messages]
    records: list[Record] = []
    if asks:
        sent = report.due(qm, command.messages, CONFIRM_ON_ARRIVAL, request.now_ms, unit)
        records = sent.records
    return Decision(records, put_done(ids, command.messages[-1]))


def _put_alone(qm: QueueManager, request: Request, command: Put, queue: LocalQueue) -> Decision:
    message = command.messages[0]
    _check_alone(qm, queue, command.messages, weight(message))
    ident = own_unit(request, session_of(qm, request).ident)
    resolve(qm, queue, message, request.now_ms)
    outcome = outcome_of(qm, request)
    puts: Puts = [(queue, message)]
    records: list[Record] = []
    if message.report & CONFIRM_ON_ARRIVAL:
        sent = report.due(qm, [message], CONFIRM_ON_ARRIVAL, request.now_ms, None)
        puts, records = puts + sent.puts, sent.records
    return Decision(records + put_records(qm, ident, puts, request.now_ms, outcome=outcome))


def _full(qm: QueueManager, queue: LocalQueue, request: Request) -> Decision:
    limit = queue.attributes.max_depth
    refused = Refused(Reason.QUEUE_FULL, queue.name, f"max_depth is {limit}")
    if queue.is_known_full:
        return Decision([], refused, qm.entry_n)
    event = EventRaised("queue_full", queue.name, request.now_ms, {"max_depth": str(limit)})
    return Decision([event], refused, qm.entry_n)
