"""Get: what becomes of the messages that a get finds, and what happens when it finds none yet.

A get outside a unit is a unit of its own. Which messages are found:
core.rules.primitives.selection. Gets that wait are served in the order of their arrival. This
module does not know how a wait ends.
"""

from __future__ import annotations

from adapter.core.contract.commands import (
    BOUNDED,
    BROWSE,
    COMPLETE,
    IF_PERSISTENT,
    INPUT,
    LOGICAL_ORDER,
    SAVE_CONTEXT,
    UNDER_CURSOR,
    Get,
    Request,
)
from adapter.core.contract.message import Delivered
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import Record
from adapter.core.contract.results import Messages
from adapter.core.contract.stored import Stored, delivered
from adapter.core.model import segments
from adapter.core.model.context import context_of
from adapter.core.model.handles import QueueHandle
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.report import CONFIRM_ON_DELIVERY, data_length
from adapter.core.model.unit import UnitOfWork
from adapter.core.mq_layouts import transmission_header
from adapter.core.rules.messages import pages
from adapter.core.rules.messages.plan import Plan, plan_of_delivery
from adapter.core.rules.messages.unit import (
    commit_records,
    delivery_records,
    expiry_records,
    unit_with_room,
)
from adapter.core.rules.primitives import cursor, groups, matching, selection, waiting
from adapter.core.rules.primitives.decision import (
    NOT_OPEN_FOR_INPUT,
    Decision,
    handle_of,
    outcome_of,
    own_unit,
    refused,
    session_of,
)


def decide_get(qm: QueueManager, request: Request, command: Get) -> Decision:
    """MQGET. The messages are the answer, [] if none fits and the get does not wait."""
    handle = handle_of(qm, request, command.handle, INPUT, NOT_OPEN_FOR_INPUT)
    unit = _check(qm, request, command, handle)
    records: list[Record] = []
    given = give(qm, request, command, handle, unit, records)
    if given is not None:
        return given
    if command.wait_ms == 0:
        return Decision(records, Messages([]), qm.entry_n)
    waiting.begin(qm, request, command, handle)
    return Decision(records)


def _check(
    qm: QueueManager, request: Request, command: Get, handle: QueueHandle
) -> UnitOfWork | None:
    """Refuse what a get may not ask for; returns its unit."""
    queue = handle.queue
    check_allowed(handle)
    matching.check(command, queue, matching.GET_OPTIONS)
    named = command.unit
    unit = unit_with_room(qm, request, named, 1, 0) if named else None
    if unit is None and command.limit != 1:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, "outside a unit a get takes one message")
    if command.options:
        _check_options(command, handle)
    return unit


def check_allowed(handle: QueueHandle) -> None:
    """Refuse to get from, or browse, what is inhibited (MQRC_GET_INHIBITED)."""
    if handle.queue.attributes.inhibit_get or (handle.alias and handle.alias.inhibit_get):
        raise Refusal(Reason.GET_INHIBITED, handle.queue.name)


def _check_options(command: Get, handle: QueueHandle) -> None:
    if command.options & LOGICAL_ORDER:
        groups.check_get(command, handle)
    if command.options & IF_PERSISTENT and not command.unit:
        text = "the option to get persistent messages in a unit needs a unit"
        raise Refusal(Reason.OPTIONS_ERROR, handle.queue.name, text)
    if command.options & UNDER_CURSOR and not handle.modes & BROWSE:
        raise Refusal(Reason.NOT_OPEN_FOR_BROWSE, handle.queue.name)


def give(
    qm: QueueManager,
    request: Request,
    command: Get,
    handle: QueueHandle,
    unit: UnitOfWork | None,
    records: list[Record],
) -> Decision | None:
    """Give a get what there is now, or None: select, settle the options, take.

    records: takes what has expired on the way.
    """
    found = _select(qm, request, command, handle, unit, records)
    if not found:
        return None
    options, named = command.options, command.unit  # each costs a look-up
    if unit is not None and unit.weight and _have_long_reports(qm, unit, found):
        text = f"{qm.limits.unit_bytes} bytes at most, with the reports on delivery"
        refusal = Refusal(Reason.UNIT_TOO_LARGE, handle.queue.name, text)
        return Decision(records, refused(refusal), qm.entry_n)
    if options & COMPLETE and (too_large := _why_too_large(qm, unit, found)):
        refusal = Refusal(Reason.UNIT_TOO_LARGE, handle.queue.name, too_large)
        return Decision(records, refused(refusal), qm.entry_n)  # nothing is taken
    if options and (
        mismatch := groups.why_no_match(handle.queue, command, handle.get_group, found)
    ):
        return Decision(records, refused(mismatch), qm.entry_n)
    shown = show(options, found) if named or options else []
    if options:
        if options & BOUNDED and shown_length(shown[0]) > command.length_max:
            return Decision(records, Messages(shown, Reason.MESSAGE_TRUNCATED), qm.entry_n)
        if found[0] is handle.locked:
            cursor.release(qm, handle)
        if options & IF_PERSISTENT and not any(one.message.persistence for one in found):
            unit = None
    last = shown[0].message if options & COMPLETE else found[-1].message
    held = named if unit is not None else b""
    warning = groups.follow(qm, request, command, handle, held, last)
    pages.look_ahead(qm, handle.queue, -found[-1].place[0])
    given = [last] if options else [one.message for one in found]
    reports = plan_of_delivery(qm, given, request.now_ms)
    if unit is None:
        taken, after = _take_alone(qm, request, handle.queue, found, reports), qm.entry_n
    else:
        taken, after = _take_in_unit(qm, handle.queue, unit, found, reports)
    if handle.modes & SAVE_CONTEXT:
        handle.saved = context_of(last, qm.name)
    # A get in a unit that takes a non-persistent message outside of it is answered at once: no
    # record carries its outcome.
    answer = Messages(shown) if named else None
    return Decision(records + taken, answer, after, warning=warning)


def _select(
    qm: QueueManager,
    request: Request,
    command: Get,
    handle: QueueHandle,
    unit: UnitOfWork | None,
    records: list[Record],
) -> list[Stored]:
    """Choose what to give; records: takes the messages met whose time is over."""
    queue, options, now_ms = handle.queue, command.options, request.now_ms
    limit: int = command.limit
    if unit is not None:
        limit = min(limit, _room(unit, command.alone, qm.limits.unit_messages))
    if not limit:
        return []
    expired: list[Stored] = []
    if options & UNDER_CURSOR:
        found = cursor.under(handle, now_ms, whole=bool(options & COMPLETE))
    elif command.place is None:
        beside = unit is not None and bool(unit.gets)
        found = selection.first_to_get(handle, command, limit, now_ms, expired, beside=beside)
    else:
        found = matching.available_at(queue, command, command.place, now_ms, expired)
    if expired:
        records += expiry_records(queue, expired)
    if found and options & COMPLETE and not options & UNDER_CURSOR:
        found = groups.parts(queue, found[0])
    return found


def _have_long_reports(qm: QueueManager, unit: UnitOfWork, found: list[Stored]) -> bool:
    """Whether the reports on delivery of messages have no room in a unit that puts already."""
    size = 0
    for stored in found:
        size += data_length(stored.message, CONFIRM_ON_DELIVERY)
    return size > 0 and unit.weight + size > qm.limits.unit_bytes


def _why_too_large(qm: QueueManager, unit: UnitOfWork | None, found: list[Stored]) -> str:
    """Say why a message cannot be got whole; "" if it can. Its segments are got as one unit."""
    most = qm.limits.unit_messages
    if len(found) > most - (len(unit) if unit else 0):
        return (
            f"the message has {len(found)} segments, and a unit {most} messages at most: get its "
            "segments one by one"
        )
    return why_too_long(qm, found)


def why_too_long(qm: QueueManager, found: list[Stored]) -> str:
    """Say why the segments of a message cannot be shown as one; "" if they can: in one answer."""
    size, most = sum(stored.length for stored in found), qm.limits.unit_bytes
    if size <= most:
        return ""
    return f"the message has {size} bytes, and {most} are the most: ask for its segments one by one"


def _take_in_unit(
    qm: QueueManager,
    queue: LocalQueue,
    unit: UnitOfWork,
    found: list[Stored],
    reports: Plan | None,
) -> tuple[list[Record], int]:
    """Lock messages until their unit ends; they are counted as delivered.

    Returns the entry too that must be durable before the messages are shown.
    """
    unit.lock(queue, found)
    records = delivery_records(unit, queue, found)
    if reports is not None:
        records += reports.hold(unit)
    return records, qm.entry_n if records else max(stored.entry_n for stored in found)


def _take_alone(
    qm: QueueManager,
    request: Request,
    queue: LocalQueue,
    found: list[Stored],
    reports: Plan | None,
) -> list[Record]:
    """Take messages for good: this get is a unit of its own."""
    ident = qm.numbers.new_message_id()  # of no command that is asked for again
    if request.number:
        ident = own_unit(request, session_of(qm, request).ident)
    pairs, outcome = [(queue, stored) for stored in found], outcome_of(qm, request)
    if reports is not None:
        return reports.record(ident, "get", outcome, pairs)
    return commit_records(ident, [], pairs, "get", outcome)


def show(options: int, found: list[Stored]) -> list[Delivered]:
    """Show what was found: the segments of a message that was asked for whole as that message."""
    if found and options & COMPLETE:
        return [segments.join(found)]
    return [delivered(stored) for stored in found]


def shown_length(message: Delivered) -> int:
    """Return how long a message is for programs of MQ: with its transmission-queue header."""
    return len(message.message.body) + transmission_header.length_before(message.message)


def _room(unit: UnitOfWork, alone: bool, messages_max: int) -> int:
    """Say how many more messages a unit may be given; none beside one that came back before."""
    if alone and unit.holds_returned:
        return 0
    return max(0, messages_max - len(unit))
