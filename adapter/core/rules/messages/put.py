"""Put: admission of messages, into a unit or as a unit of its own. It does not know the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import structs

from adapter.core.attributes.objects import RemoteAttributes
from adapter.core.contract import message_fields as at
from adapter.core.contract.commands import (
    DEFERRED,
    KEEP_END,
    OUTPUT,
    Put,
    Request,
)
from adapter.core.contract.details import (
    APPL_TYPE_DEFAULT,
    IN_GROUP,
    OFFSET_MAX,
    SEGMENT,
    Details,
)
from adapter.core.contract.message import (
    EXPIRY_UNLIMITED,
    ID_LENGTH,
    NO_ID,
    PRIORITY_MAX,
    PROPERTIES_MAX,
    PROPERTY_TYPES,
    MessageData,
)
from adapter.core.contract.parties import ORIGIN_LENGTH_MAX
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import EventRaised
from adapter.core.contract.results import Refused, put_done
from adapter.core.contract.weights import weight
from adapter.core.model import segments
from adapter.core.model.destination import Destination, PutDefaults
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import CONFIRM_ON_ARRIVAL, REQUEST, data_length
from adapter.core.mq_layouts import transmission_header
from adapter.core.rules.messages import context, deferred, report
from adapter.core.rules.messages.alike import Alike
from adapter.core.rules.messages.deferred import PutRule
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.messages.unit import unit_with_room
from adapter.core.rules.network import routes
from adapter.core.rules.primitives import details, groups, parking, staging
from adapter.core.rules.primitives.decision import (
    NOT_OPEN_FOR_OUTPUT,
    Decision,
    connection_of,
    handle_of,
    outcome_of,
    own_unit,
    session_of,
)

_as_tuple: Final = structs.astuple  # not looked up each time

PRIORITY_ASKED_MAX: Final = 2**31 - 1
"""What is higher than any is put at the highest there is, with a warning."""
EXPIRY_MAX_MS: Final = 100 * 999_999_999  # MQMD.Expiry: nine digits of tenths of a second
MESSAGE_TYPES: Final = (1, 2, 4, 8)  # MQMT_REQUEST, _REPLY, _REPORT, _DATAGRAM
MESSAGE_TYPE_APPLICATION: Final = range(65_536, 1_000_000_000)  # MQMT_APPL_FIRST to _LAST
GROUP_SEQ_MAX: Final = 999_999_999
MESSAGES_PER_PUT_MAX: Final = 10_000
FORMAT_LENGTH: Final = 8
TEXT_LENGTHS: Final = (
    ("format", FORMAT_LENGTH),
    ("reply_to", 48),
    ("reply_to_queue_manager", 48),
    ("user", ORIGIN_LENGTH_MAX),
    ("application", ORIGIN_LENGTH_MAX),
)
NUMBERS: Final = ("report", "feedback", "encoding", "ccsid")
USUAL_NUMBERS: Final = (0, 0, 546, 1208)  # what a message says of these, if nothing is said


def decide(
    by_handle: Mapping[type, PutRule], qm: QueueManager, request: Request, command: Put
) -> Decision:
    """MQPUT, by the kind of its handle; one that is deferred as a part of its unit."""
    handle = connection_of(qm, request).handles.get(command.handle)
    is_deferred = command.options & DEFERRED
    if type(handle) is QueueHandle and not is_deferred:  # nearly always
        return decide_put(qm, request, command)
    rule = by_handle.get(type(handle), decide_put)
    if is_deferred:
        return deferred.decide_put(qm, request, command, rule)
    return rule(qm, request, command)


def decide_put(qm: QueueManager, request: Request, command: Put) -> Decision:
    """MQPUT to a queue. The ids of the messages are the answer; durable if outside a unit."""
    handle = handle_of(qm, request, command.handle, OUTPUT, NOT_OPEN_FOR_OUTPUT)
    queue, messages = handle.queue, command.messages
    attributes = queue.attributes
    if not 1 <= len(messages) <= MESSAGES_PER_PUT_MAX:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "a put has 1 to 10,000 messages")
    if attributes.inhibit_put or (handle.alias and handle.alias.inhibit_put):
        raise Refusal(Reason.PUT_INHIBITED, queue.name)
    if handle.route is not None and handle.route.is_inhibited:
        raise Refusal(Reason.PUT_INHIBITED, handle.route.transmission.queue)
    context.settle(qm, request, command, handle)
    warning, is_cut = _check_each(qm, request, command, handle)
    in_order = command.options & ~groups.OF_EACH or handle.put_group is not None
    if in_order:
        warning = groups.number(qm, command, handle) or warning
    if qm.parked or qm.uncopied.is_full:
        parking.check_put(qm, queue, messages)
    if queue.taken_room + len(messages) > attributes.max_depth:
        return _full(qm, queue, request)
    decision = _put(qm, request, command, queue, is_cut=is_cut)
    if type(decision.result) is Refused:
        return decision
    if warning:
        decision.warning = warning
    last = messages[-1]
    if is_cut:  # a message that was cut has a group id, and is in a group only if its segments are
        last = segments.split(last, attributes.max_message_length)[-1]
    if in_order or last.group_id != NO_ID:
        groups.move_handle(qm, request, handle, "put_group", last, command.unit)
    return decision


def _check_each(
    qm: QueueManager, request: Request, command: Put, handle: QueueHandle
) -> tuple[int, bool]:
    """Refuse what cannot be put, and fill in what is left to the queue.

    Returns the reason of a warning, or 0, and whether any message is to be cut.
    """
    warning, is_cut, queue, alike = 0, False, handle.queue, None
    defaults: PutDefaults = handle.alias or queue.attributes
    if handle.route is not None:
        defaults = handle.alias or handle.route.definition or queue.attributes
    elif len(command.messages) > 1:
        alike = Alike(queue.attributes.max_message_length)
    for number, message in enumerate(command.messages):
        said = _as_tuple(message)
        if command.options & KEEP_END:
            keep_end(message, request.now_ms)
            said = _as_tuple(message)
        if alike is not None and alike.settles(message, said):
            continue
        is_plain = handle.route is None and message.transmission is None
        if not is_plain:
            _address(handle, message)
        elif message.format == transmission_header.FORMAT:
            is_plain = False
            message = command.messages[number] = _addressed_by_header(queue, message)
        if not is_plain:
            said = _as_tuple(message)
        is_cut = _check(queue, message, said) or is_cut
        if said[at.DELAY_MS] or said[at.DELIVER_AT_MS]:
            staging.check(qm, queue.name, message, request.now_ms)
        warning = default(queue, message, defaults) or warning
        cap_expiry(message, defaults, request.now_ms)
        if alike is not None and is_plain:
            alike.note(message)
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
        routes.check_destination(inner.transmission)
        lives_ms = [ms for ms in (inner.expiry_ms, message.expiry_ms) if ms != EXPIRY_UNLIMITED]
        inner.expiry_ms = min(lives_ms, default=EXPIRY_UNLIMITED)
        check(queue, inner)
    except (ValueError, Refusal):
        return message
    inner.properties = message.properties
    inner.delay_ms, inner.deliver_at_ms = message.delay_ms, message.deliver_at_ms
    return inner


def default(destination: Destination, message: MessageData, defaults: PutDefaults) -> int:
    """Fill in the priority and persistence that are left to the name under which it was opened.

    Returns the reason of a warning, or 0.
    """
    warning = 0
    priority: int = message.priority
    if priority < 0:
        message.priority = defaults.def_priority
    elif priority > PRIORITY_MAX:
        message.details = message.details or Details(appl_type=APPL_TYPE_DEFAULT)
        message.details.priority_asked = priority
        message.priority = PRIORITY_MAX
        warning = Reason.PRIORITY_TOO_HIGH
    if message.persistence < 0:
        message.persistence = 0 if destination.is_temporary else int(defaults.def_persistence)
    return warning


def keep_end(message: MessageData, now_ms: int) -> None:
    """Have a message expire when the put says, at once if that is over, and never if that is later
    than any message may expire.
    """
    if message.expires_at_ms:
        left_ms = max(message.expires_at_ms - now_ms, 1)
        message.expiry_ms = left_ms if left_ms <= EXPIRY_MAX_MS else EXPIRY_UNLIMITED


def cap_expiry(message: MessageData, limits: PutDefaults, now_ms: int) -> None:
    """Shorten the expiry of a message to what a name on its way allows (CAPEXPRY)."""
    if limits.expiry_cap > 0:
        cap_ms = _cap_ms(message, limits, now_ms)
        if not 0 < message.expiry_ms <= cap_ms:
            message.expiry_ms = cap_ms


def cap_life(message: MessageData, limits: PutDefaults, now_ms: int) -> None:
    """Do so for a message that was put before, elsewhere or as a publication: from now on."""
    if limits.expiry_cap > 0:
        cap_expiry(message, limits, now_ms)
        end_ms = now_ms + _cap_ms(message, limits, now_ms)
        if not 0 < message.expires_at_ms <= end_ms:
            message.expires_at_ms = end_ms


def _cap_ms(message: MessageData, limits: PutDefaults, now_ms: int) -> int:
    """Return the longest expiry from now on. A delayed message may wait that long once it is due:
    else one with a longer delay would never be delivered."""
    cap_ms: int = limits.expiry_cap * 100
    delay_ms = message.delay_ms or max(message.deliver_at_ms - now_ms, 0)
    return min(cap_ms + delay_ms, EXPIRY_MAX_MS)


def check(queue: Destination, message: MessageData) -> bool:
    """Refuse a message that no queue, or not this queue, takes; whether it is to be cut for it."""
    return _check(queue, message, _as_tuple(message))


def _check(queue: Destination, message: MessageData, said: tuple[Any, ...]) -> bool:
    """said: all fields of the message; one call, where each attribute costs a look-up.

    What is wrong with the message whatever the queue comes before what this queue does not take: a
    message that arrived and that its queue does not take is put elsewhere.
    """
    priority: int = said[at.PRIORITY]
    if not -1 <= priority <= PRIORITY_ASKED_MAX:
        raise Refusal(Reason.PRIORITY_ERROR, queue.name, f"{priority} is not 0 to 9")
    persistence: int = said[at.PERSISTENCE]
    if not -1 <= persistence <= 1:
        raise Refusal(Reason.PERSISTENCE_ERROR, queue.name, f"{persistence}")
    expiry_ms: int = said[at.EXPIRY_MS]
    if expiry_ms != -1 and not 0 < expiry_ms <= EXPIRY_MAX_MS:
        raise Refusal(Reason.EXPIRY_ERROR, queue.name, f"{expiry_ms} ms")
    if said[at.MESSAGE_ID] or said[at.CORRELATION_ID] or said[at.GROUP_ID]:
        for name in ("message_id", "correlation_id", "group_id"):
            if len(getattr(message, name)) not in (0, ID_LENGTH):
                raise Refusal(Reason.IDENTIFIER_ERROR, queue.name, f"{name} is not 24 bytes")
    group_seq: int = said[at.GROUP_SEQ]
    if not 1 <= group_seq <= GROUP_SEQ_MAX:
        raise Refusal(Reason.GROUP_NUMBER_ERROR, queue.name, f"group_seq {group_seq}")
    _check_rest(queue, message, said)
    if persistence == 1 and queue.is_temporary:
        text = "a temporary dynamic queue takes none that are persistent"
        raise Refusal(Reason.PERSISTENT_NOT_ALLOWED, queue.name, text)
    is_cut: bool = len(said[at.BODY]) > queue.attributes.max_message_length
    if is_cut:
        _check_cut(queue, message)
    return is_cut


def _check_cut(queue: Destination, message: MessageData) -> None:
    limit = queue.attributes.max_message_length
    if not limit or not segments.may_be_split(message):
        text = f"{len(message.body)} bytes, max_message_length is {limit}"
        raise Refusal(Reason.MESSAGE_TOO_LONG, queue.name, text)
    assert message.details is not None, "its flags allow it"
    if message.details.offset + len(message.body) > OFFSET_MAX:
        raise Refusal(Reason.OFFSET_ERROR, queue.name, f"offset {message.details.offset}")


def _check_rest(queue: Destination, message: MessageData, said: tuple[Any, ...]) -> None:
    """said: all fields of the message."""
    kind: int = said[at.MESSAGE_TYPE]
    if kind not in MESSAGE_TYPES and kind not in MESSAGE_TYPE_APPLICATION:
        raise Refusal(Reason.MESSAGE_TYPE_ERROR, queue.name, f"message_type {kind}")
    # Most messages have a user and an application, and no other text.
    is_long = max(len(said[at.USER]), len(said[at.APPLICATION])) > ORIGIN_LENGTH_MAX
    if is_long or said[at.FORMAT] or said[at.REPLY_TO] or said[at.REPLY_TO_QUEUE_MANAGER]:
        for name, length in TEXT_LENGTHS:
            if len(getattr(message, name)) > length:
                text = f"{name} has more than {length} characters"
                raise Refusal(Reason.OPTIONS_ERROR, queue.name, text)
    if said[at.REPORT : at.CCSID + 1] != USUAL_NUMBERS:
        _check_numbers(queue, message)
    if said[at.REPORT] or kind == REQUEST:
        report.check(queue, message)
    if said[at.PROPERTIES]:
        _check_properties(queue, said[at.PROPERTIES])
    if said[at.DETAILS] is not None:
        details.check(queue, message, said[at.DETAILS])


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
        if not _is_text(name) or (type(value) is str and not _is_text(value)):
            raise Refusal(Reason.PROPERTY_ERROR, queue.name, f"{name!a} is not text that UTF-8 has")


def _is_text(text: str) -> bool:
    """Whether a text has no half of a pair of surrogates, which no entry can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def resolve(qm: QueueManager, queue: Destination, message: MessageData, now_ms: int) -> None:
    """Fill in what the put left to the queue and the queue manager."""
    if message.details is not None:
        groups.settle(message, message.details)
        if message.details.flags & (IN_GROUP | SEGMENT) and not message.group_id:
            message.group_id = qm.numbers.new_message_id()
    said = _as_tuple(message)  # one call, where each attribute costs a look-up
    if not said[at.MESSAGE_ID]:
        message.message_id = qm.numbers.new_message_id()
    if not said[at.CORRELATION_ID]:
        message.correlation_id = NO_ID
    if not said[at.GROUP_ID]:
        message.group_id = NO_ID
    if not said[at.PROPERTIES]:
        message.properties = None
    if said[at.REPLY_TO] and not said[at.REPLY_TO_QUEUE_MANAGER]:
        # As a local definition of a remote queue says, or to this queue manager.
        definition = qm.objects.get(("remote", message.reply_to))
        message.reply_to_queue_manager = qm.name
        if isinstance(definition, RemoteAttributes) and definition.remote_queue_manager:
            message.reply_to = definition.remote_name or message.reply_to
            message.reply_to_queue_manager = definition.remote_queue_manager
    message.put_time_ms = now_ms
    cap_expiry(message, queue.attributes, now_ms)
    expiry_ms = message.expiry_ms
    message.expires_at_ms = now_ms + expiry_ms if expiry_ms > 0 else 0
    if said[at.DELAY_MS] or said[at.DELIVER_AT_MS] or said[at.DESTINATION]:
        staging.resolve(queue, message, now_ms)


def _put(
    qm: QueueManager, request: Request, command: Put, queue: LocalQueue, *, is_cut: bool
) -> Decision:
    """Put messages together, in a unit or as one; is_cut: some of them as segments."""
    messages, named, now_ms = command.messages, command.unit, request.now_ms
    weights, size = [], 0
    for message in messages:
        weights.append(weight(message))
        size += weights[-1]
        if message.report & CONFIRM_ON_ARRIVAL:  # the report is put in the same unit
            size += data_length(message, CONFIRM_ON_ARRIVAL)
    count = len(messages)
    if is_cut:
        longest = queue.attributes.max_message_length
        count = sum(len(segments.starts(message, longest)) for message in messages)
        size += count * max(weight(message) - len(message.body) for message in messages)
        if queue.taken_room + count > queue.attributes.max_depth:
            return _full(qm, queue, request)
        if count > qm.limits.unit_messages:
            text = f"{count} segments, {qm.limits.unit_messages} messages at most"
            raise Refusal(Reason.UNIT_TOO_LARGE, queue.name, text)
    unit = unit_with_room(qm, request, named, count, size) if named else None
    ident = b"" if unit is not None else _own_unit(qm, request, queue, messages, size)
    plan = Plan(qm, now_ms)
    for message in messages:
        resolve(qm, queue, message, now_ms)
        if is_cut:
            if not any(message.group_id):
                message.group_id = qm.numbers.new_message_id()
            longest = queue.attributes.max_message_length
            plan.put_segments(queue, message, segments.split(message, longest))
        else:
            plan.put(queue, message)
    for message in messages:
        if message.report & CONFIRM_ON_ARRIVAL:
            plan.report(message, CONFIRM_ON_ARRIVAL)
    if unit is None:
        return Decision(plan.record(ident, outcome=outcome_of(qm, request)))
    ids = [message.message_id for message in messages]
    return Decision(plan.hold(unit, weights), put_done(ids, messages[-1]))


def _own_unit(
    qm: QueueManager, request: Request, queue: LocalQueue, messages: list[MessageData], size: int
) -> bytes:
    """Return the unit that a put outside a unit is, or refuse to put more than fits in one."""
    if len(messages) != 1:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "outside a unit a put has one message")
    if size > qm.limits.unit_bytes:
        reported = data_length(messages[0], CONFIRM_ON_ARRIVAL)
        more = f" and {reported} of its report on arrival" if reported else ""
        text = f"{len(messages[0].body)} bytes{more}, {qm.limits.unit_bytes} is the most"
        raise Refusal(Reason.MESSAGE_TOO_LONG, queue.name, text)
    return own_unit(request, session_of(qm, request).ident)


def _full(qm: QueueManager, queue: LocalQueue, request: Request) -> Decision:
    limit = queue.attributes.max_depth
    refused = Refused(Reason.QUEUE_FULL, queue.name, f"max_depth is {limit}")
    if queue.is_known_full:
        return Decision([], refused, qm.entry_n)
    event = EventRaised("queue_full", queue.name, request.now_ms, {"max_depth": str(limit)})
    return Decision([event], refused, qm.entry_n)
