"""MQGET: destructive gets and browses, and what a program's buffer has room for.

A message that is longer than the buffer stays on the queue, unless the program accepts a truncated
one. This module knows no callback.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from adapter import mq_constants as mq
from adapter.connection.channel.requests import FROM_START, Handle, Pending
from adapter.connection.channel.unit import Unit
from adapter.connection.channel.verbs import get_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered, MessageData, Property
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages
from adapter.core.mq_layouts.blank_padded import pad
from adapter.core.mq_layouts.md_extension import flags_of
from adapter.mqi import md_extension, structs, transmission
from adapter.mqi import options as permitted
from adapter.mqi.conversion import convert_within, whole_characters
from adapter.mqi.descriptor import place_of, tell_got, token_of, wanted_ids
from adapter.mqi.message_handles import MessageHandle, MessageHandles
from adapter.mqi.reasons import REASON_CODES, MqiFailure
from adapter.mqi.rfh2 import (
    Rfh2Header,
    are_compatible,
    has_damaged_properties,
    header_of,
    properties_of,
    with_properties,
    without_properties,
)
from adapter.mqi.session import MqiSession, Object

INPUT = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE
REFINEMENTS = {
    mq.MQGMO_LOGICAL_ORDER: c.LOGICAL_ORDER,
    mq.MQGMO_ALL_MSGS_AVAILABLE: c.ALL_MESSAGES,
    mq.MQGMO_ALL_SEGMENTS_AVAILABLE: c.ALL_SEGMENTS,
    mq.MQGMO_COMPLETE_MSG: c.COMPLETE,
    mq.MQGMO_LOCK: c.LOCK,
}
MATCHING_PARTS = mq.MQMO_MATCH_GROUP_ID | mq.MQMO_MATCH_MSG_SEQ_NUMBER | mq.MQMO_MATCH_OFFSET
OF_VERSION_2 = (
    mq.MQGMO_LOGICAL_ORDER
    | mq.MQGMO_COMPLETE_MSG
    | mq.MQGMO_ALL_MSGS_AVAILABLE
    | mq.MQGMO_ALL_SEGMENTS_AVAILABLE
)
"""Options of groups and segments, of which an MQGMO tells nothing before version 2."""
UNDER_CURSOR = mq.MQGMO_MSG_UNDER_CURSOR | mq.MQGMO_BROWSE_MSG_UNDER_CURSOR
IN_UNIT = mq.MQGMO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT
MARKS = {
    mq.MQGMO_MARK_BROWSE_HANDLE: c.MARK_HANDLE,
    mq.MQGMO_MARK_BROWSE_CO_OP: c.MARK_CO_OP,
    mq.MQGMO_UNMARKED_BROWSE_MSG: c.UNMARKED,
}
UNMARKING = {
    mq.MQGMO_UNMARK_BROWSE_HANDLE: c.UNMARK_HANDLE,
    mq.MQGMO_UNMARK_BROWSE_CO_OP: c.UNMARK_CO_OP,
}
NO_CURSOR = c.UNLOCK | c.UNMARK_HANDLE | c.UNMARK_CO_OP
"""Browses that do not move the cursor: they are not repeated."""
LOOKED_FOR = (
    c.ALL_MESSAGES | c.ALL_SEGMENTS | c.COMPLETE | c.MATCH_GROUP_SEQ | c.MATCH_OFFSET | c.UNMARKED
)
"""What a look asks for as the get does: the rest changes something, or belongs to a unit."""
UNLOCKING = mq.MQGMO_UNLOCK | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_FAIL_IF_QUIESCING
FORMS_OF_PROPERTIES = (
    mq.MQGMO_PROPERTIES_IN_HANDLE
    | mq.MQGMO_NO_PROPERTIES
    | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
    | mq.MQGMO_PROPERTIES_COMPATIBILITY
)
"""How properties come, if a get says so."""
WITHOUT_HANDLE = FORMS_OF_PROPERTIES & ~mq.MQGMO_PROPERTIES_IN_HANDLE
"""A message handle that a get names is ignored."""
HARMLESS = (Reason.MESSAGE_TRUNCATED,)
"""Warnings of core that the length of the buffer tells already."""


class Got(Struct):
    """What MQGET gives: as much of the body as there is room for, its whole length, the codes."""

    body: bytes
    md: dict[str, Any]
    gmo: dict[str, Any]
    length: int
    code: int = mq.MQCC_OK
    reason: int = mq.MQRC_NONE

    def pack(self) -> tuple[bytes, bytes, bytes, int, int, int]:
        """Return it as a program gets it."""
        md, gmo = structs.MQMD.write(self.md), structs.MQGMO.write(self.gmo)
        return self.body, md, gmo, self.length, self.code, self.reason


def get(
    session: MqiSession, handles: MessageHandles, number: int, md: bytes, gmo: bytes, room: int
) -> Got:
    """MQGET. room: bytes of the program's buffer. Raises MqiFailure."""
    fields, options = structs.MQMD.read(md), structs.MQGMO.read(gmo)
    if room < 0:
        raise MqiFailure(mq.MQRC_BUFFER_LENGTH_ERROR)
    return get_unpacked(session, handles, session.object(number), fields, options, room)


class GetPlan(Struct):
    """A get that has been checked as far as the program's side can: nothing is asked for yet.

    match: what is matched (MQMO_*). form: the options, with how properties come if none said so.
    taker: the message handle that properties go to. command: what the queue manager is asked.
    """

    opened: Object
    handle: Handle
    md: dict[str, Any]
    gmo: dict[str, Any]
    room: int
    match: int
    form: int
    taker: MessageHandle | None
    command: c.Get | c.Browse

    @property
    def asked(self) -> int:
        """The options of the get, as its program gave them."""
        options: int = self.gmo["Options"]
        return options


def get_unpacked(
    session: MqiSession,
    handles: MessageHandles,
    opened: Object,
    md: dict[str, Any],
    gmo: dict[str, Any],
    room: int,
) -> Got:
    """MQGET with its structures taken apart."""
    return perform(session, plan_get(session, handles, opened, md, gmo, room))


def plan_get(
    session: MqiSession,
    handles: MessageHandles,
    opened: Object,
    md: dict[str, Any],
    gmo: dict[str, Any],
    room: int,
) -> GetPlan:
    """Check a get, all but what only the queue manager knows. Raises MqiFailure.

    A get that fails removes no message. So all that can be refused is refused here, before the
    queue manager is asked: behind the answer there is nothing left but to tell it.
    """
    match = _check_options(md, gmo)
    asked = gmo["Options"]
    handle = _handle_for(opened, asked)
    if asked & mq.MQGMO_UNLOCK:
        command: c.Get | c.Browse = _unlocking(handle, asked)
    elif asked & sum(UNMARKING):
        command = _unmarking(handle, gmo)
    elif asked & permitted.BROWSING:
        command = _browsing(opened, handle, md, gmo, match, room)
    else:
        command = _getting(opened, md, gmo, match, room)
        if command.options & c.LOGICAL_ORDER:
            command.options |= session.continuing(opened.in_get_group)
    form = _form_of_properties(gmo, opened)
    taker = _taker_of(session, handles, gmo, form)
    return GetPlan(opened, handle, md, gmo, room, match, form, taker, command)


def _handle_for(opened: Object, asked: int) -> Handle:
    """Return the handle of a queue that is open for a get. MqiFailure(2036, 2037) if it is not."""
    if asked & (permitted.BROWSING | mq.MQGMO_UNLOCK | sum(UNMARKING)):
        needed, refused = mq.MQOO_BROWSE, mq.MQRC_NOT_OPEN_FOR_BROWSE
    else:
        needed, refused = INPUT, mq.MQRC_NOT_OPEN_FOR_INPUT
    if not opened.options & needed or opened.handle is None:
        raise MqiFailure(refused)
    return opened.handle


def _taker_of(
    session: MqiSession, handles: MessageHandles, gmo: dict[str, Any], form: int
) -> MessageHandle | None:
    """Return the message handle that properties go to. MqiFailure(2460) if it is invalid.

    It is kept from here on: another thread may delete it while the get waits.
    """
    if form & WITHOUT_HANDLE:
        return None
    if not _has_handle(gmo):
        if form & mq.MQGMO_PROPERTIES_IN_HANDLE:
            raise MqiFailure(mq.MQRC_HMSG_ERROR)
        return None
    return handles.get(gmo["MsgHandle"], session.number)


def perform(session: MqiSession, plan: GetPlan) -> Got:
    """Ask the queue manager for what is planned. Raises MqiFailure, of its reasons alone."""
    md, gmo = plan.md, plan.gmo
    found = _find(session, plan)
    if plan.command.options & c.UNLOCK:
        return Got(b"", md, gmo, 0)
    if not found.messages:
        under = plan.asked & UNDER_CURSOR
        raise MqiFailure(mq.MQRC_NO_MSG_UNDER_CURSOR if under else mq.MQRC_NO_MSG_AVAILABLE)
    representation = md["Encoding"], md["CodedCharSetId"]
    delivered = _seen(session, found.messages[0], plan)
    # Its end is by the queue manager's clock, which earlier releases do not tell.
    tell_got(md, delivered, found.now_ms or int(time.time() * 1000))
    _tell(gmo, plan.opened, delivered)
    is_left = found.warning == Reason.MESSAGE_TRUNCATED
    body, warning = _body(plan, delivered.message, None if is_left else representation)
    return _cut(plan, delivered.message, body, warning, found.warning)


def _find(session: MqiSession, plan: GetPlan) -> Messages:
    """Ask for what is planned; again if what is too long for the queue manager has room here.

    It compares all of a body, and knows neither which properties go elsewhere nor what is put in
    front of it. Asked again, it may find another message, which is given whole then.
    """
    command = plan.command
    until_s = time.monotonic() + max(command.wait_ms, 0) / 1000
    while True:
        if isinstance(command, c.Get):
            found = _take(session, plan, command)
        else:
            found = _browse(session, plan, command)
        if found.warning != Reason.MESSAGE_TRUNCATED:
            return found
        own = found.messages[0].message
        message = _seen(session, found.messages[0], plan).message
        if _own_length(plan, message) > plan.room:
            return found
        command = msgspec.structs.replace(command, length_max=max(len(own.body), len(message.body)))
        if command.wait_ms > 0:
            command.wait_ms = max(round((until_s - time.monotonic()) * 1000), 0)


def _own_length(plan: GetPlan, message: MessageData) -> int:
    """Return how long a message is for its program, before conversion and without the properties
    that a get puts in front of it.
    """
    behind = _own_body(plan, dict(plan.md), message, header_of(message))
    return len(behind) + md_extension.length_before(plan.md, message)


def _own_body(
    plan: GetPlan, md: dict[str, Any], message: MessageData, header: Rfh2Header | None
) -> bytes:
    """Return a body without the properties that go elsewhere; say in the MQMD what it is then."""
    is_without = bool(plan.form & mq.MQGMO_NO_PROPERTIES)
    goes = is_without or (plan.taker is not None and properties_of(header))
    if header is None or not goes:
        return message.body
    return without_properties(md, header, all_folders=is_without)


def _form_of_properties(gmo: dict[str, Any], opened: Object) -> int:
    """Return the options of a get, with what PROPCTL says where none says how properties come."""
    asked: int = gmo["Options"]
    if asked & FORMS_OF_PROPERTIES:
        return asked
    control = opened.property_control
    if control == "FORCE" or (control == "ALL" and not _has_handle(gmo)):
        return asked | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
    if control == "NONE" and not _has_handle(gmo):
        return asked | mq.MQGMO_NO_PROPERTIES
    return asked


def _seen(session: MqiSession, delivered: Delivered, plan: GetPlan) -> Delivered:
    """Return what was got as MQ has it: from a transmission queue, behind a header."""
    message = delivered.message
    if message.transmission is None:
        return delivered
    in_header: dict[str, Property] = {}
    if plan.taker is None:
        others = _others(message, properties_of(header_of(message)))
        in_header = others if _wants_header(others, plan.form) else in_header
    return transmission.seen(session.channel.queue_manager, delivered, in_header)


def _check_options(md: dict[str, Any], gmo: dict[str, Any]) -> int:
    """Check the options of a get; return what it matches, as far as its version has any."""
    structs.MQMD.confirm(md)
    asked: int = structs.MQGMO.confirm(gmo)["Options"]
    permitted.GET.check(asked)
    match = mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID
    if gmo["Version"] > mq.MQGMO_VERSION_1:
        match = gmo["MatchOptions"]
        permitted.MATCH.check(match)
    _check_versions(md, gmo, match)
    if match & mq.MQMO_MATCH_MSG_TOKEN and asked & mq.MQGMO_WAIT:
        raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
    if asked & permitted.MARKING and not asked & permitted.BROWSING:
        raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
    alone = asked & ~mq.MQGMO_FAIL_IF_QUIESCING in UNMARKING
    if asked & sum(UNMARKING) and not (alone and match & mq.MQMO_MATCH_MSG_TOKEN):
        raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
    if asked & mq.MQGMO_WAIT and gmo["WaitInterval"] < mq.MQWI_UNLIMITED:
        raise MqiFailure(mq.MQRC_WAIT_INTERVAL_ERROR)
    return match


def _check_versions(md: dict[str, Any], gmo: dict[str, Any], match: int) -> None:
    """MqiFailure if what is asked for needs fields that these versions do not have."""
    asked = gmo["Options"]
    if asked & OF_VERSION_2 and gmo["Version"] < mq.MQGMO_VERSION_2:
        raise MqiFailure(mq.MQRC_WRONG_GMO_VERSION)
    if match & mq.MQMO_MATCH_MSG_TOKEN and gmo["Version"] < mq.MQGMO_VERSION_3:
        raise MqiFailure(mq.MQRC_WRONG_GMO_VERSION)
    matches = match & MATCHING_PARTS and not asked & UNDER_CURSOR
    if (asked & mq.MQGMO_LOGICAL_ORDER or matches) and md["Version"] < mq.MQMD_VERSION_2:
        raise MqiFailure(mq.MQRC_WRONG_MD_VERSION)


def _wait_ms(gmo: dict[str, Any]) -> int:
    wait_ms: int = gmo["WaitInterval"]
    return wait_ms if gmo["Options"] & mq.MQGMO_WAIT else 0


def _getting(
    opened: Object, md: dict[str, Any], gmo: dict[str, Any], match: int, room: int
) -> c.Get:
    asked = gmo["Options"]
    command = c.Get(0, b"", _wait_ms(gmo), 1, *_ids(opened, md, match))
    if asked & mq.MQGMO_MSG_UNDER_CURSOR:
        command = c.Get(0, options=_under_cursor(asked))
    else:
        _refine(command, md, asked, match)
        if match & mq.MQMO_MATCH_MSG_TOKEN:
            command.place = place_of(gmo["MsgToken"])
    if not asked & mq.MQGMO_ACCEPT_TRUNCATED_MSG:
        command.options |= c.BOUNDED
        command.length_max = room - md_extension.length_at_most(md)
    if asked & mq.MQGMO_SYNCPOINT_IF_PERSISTENT:
        command.options |= c.IF_PERSISTENT
    command.options |= until_the_end(asked)
    return command


def _take(session: MqiSession, plan: GetPlan, command: c.Get) -> Messages:
    until_s = time.monotonic() + max(command.wait_ms, 0) / 1000

    def take(unit: Unit | None) -> Messages:
        if command.wait_ms > 0:
            command.wait_ms = max(round((until_s - time.monotonic()) * 1000), 0)
        return ask(session, plan.opened, command, unit)

    found = session.within(bool(plan.asked & IN_UNIT), take)
    if found.messages and found.warning != Reason.MESSAGE_TRUNCATED:
        message = found.messages[0].message
        is_kept = plan.asked & mq.MQGMO_SYNCPOINT or message.persistence
        in_unit = bool(plan.asked & IN_UNIT and is_kept)
        session.groups.note(plan.opened, "in_get_group", flags_of(message), in_unit=in_unit)
    return found


def _ids(opened: Object, md: dict[str, Any], match: int) -> tuple[bytes, bytes, bytes]:
    """Return the ids that a get is to match, as the messages of the queue have them."""
    ids = wanted_ids(md, match)
    return transmission.own_ids(ids) if opened.is_transmission else ids


def until_the_end(asked: int) -> int:
    """Say whether a get with these options of MQGMO waits on while the queue manager quiesces."""
    lasts = asked & mq.MQGMO_WAIT and not asked & mq.MQGMO_FAIL_IF_QUIESCING
    return c.THROUGH_QUIESCE if lasts else 0


def _refine(command: c.Get | c.Browse, md: dict[str, Any], asked: int, match: int) -> None:
    """Say which place in its group, and which groups, a get or a browse asks for."""
    for option, ours in REFINEMENTS.items():
        if asked & option:
            command.options |= ours
    if match & mq.MQMO_MATCH_MSG_SEQ_NUMBER:
        command.options |= c.MATCH_GROUP_SEQ
        command.group_seq = md["MsgSeqNumber"]
    if match & mq.MQMO_MATCH_OFFSET:
        command.options |= c.MATCH_OFFSET
        command.offset = md["Offset"]


def ask(session: MqiSession, opened: Object, command: c.Get, unit: Unit | None) -> Messages:
    """Ask for a message."""
    assert opened.handle is not None
    request = get_request(opened.handle, command, unit)
    return session.ask([request], request, Messages, unit=unit)


def look(session: MqiSession, plan: GetPlan, wait_ms: int) -> bool:
    """Wait until there is a message that a get would get; it stays. Raises MqiFailure.

    Whether there is. What is longer than nothing at all is shown and stays, and the cursor too. Of
    groups in logical order any message is looked for.
    """
    command = msgspec.structs.replace(plan.command, wait_ms=wait_ms, length_max=-1)
    command.options = command.options & LOOKED_FOR | c.BOUNDED
    command.options |= until_the_end(plan.asked | mq.MQGMO_WAIT)
    if isinstance(command, c.Get):
        return bool(ask(session, plan.opened, command, None).messages)
    found = session.ask_held(Pending(command, FROM_START, handle=plan.handle), Messages)
    return found is not None and bool(found.messages)


def _browse(session: MqiSession, plan: GetPlan, command: c.Browse) -> Messages:
    """Show the next message, after a lost connection too: that behind the last one.

    The cursor went with the connection, and the new one is at the beginning. In the order of the
    queue what lies up to the last message is passed over. In logical order, and where messages are
    put together, places say nothing: the last message is looked for, and if it is gone all are
    shown again, so that none is left out.
    """
    until_s, waits = time.monotonic() + max(command.wait_ms, 0) / 1000, command.wait_ms
    last = _last_browsed(session, plan)
    while True:
        searches = last is not None and bool(plan.asked & OF_VERSION_2)
        if waits > 0:
            waits = max(int((until_s - time.monotonic()) * 1000), 0)
        command.wait_ms = 0 if searches else waits
        found = session.ask_held(Pending(command, FROM_START, handle=plan.handle), Messages)
        command.restart = bool(plan.asked & mq.MQGMO_BROWSE_FIRST)
        if command.options & NO_CURSOR:
            return found or Messages([])
        _note_order(plan, command, found)
        if found is None:  # the connection was lost meanwhile
            last = _last_browsed(session, plan)
        elif not found.messages and searches:
            command.restart, last = True, None
        elif not found.messages or found.warning == Reason.MESSAGE_TRUNCATED:
            return found
        else:
            place = _place(found.messages[0])
            if last is None or (not searches and place > last):
                plan.opened.cursor, plan.opened.cursor_since = place, session.times_lost
                return found
            last = None if searches and place == last else last


def _note_order(plan: GetPlan, command: c.Browse, found: Messages | None) -> None:
    """Note in which order the cursor has come where it is: a browse of the next goes on in it."""
    if command.options & c.UNDER_CURSOR or found is None:
        return
    if found.messages and found.warning != Reason.MESSAGE_TRUNCATED:
        plan.opened.browses_in_order = bool(plan.asked & mq.MQGMO_LOGICAL_ORDER)
    elif plan.asked & mq.MQGMO_BROWSE_FIRST:
        plan.opened.browses_in_order = None


def _last_browsed(session: MqiSession, plan: GetPlan) -> tuple[int, int, int] | None:
    """Return which message a browse is behind, if its cursor is not; it was lost."""
    opened = plan.opened
    is_next = plan.asked & mq.MQGMO_BROWSE_NEXT and opened.cursor is not None
    is_next = is_next and plan.command.place is None
    return opened.cursor if is_next and opened.cursor_since != session.times_lost else None


def _place(delivered: Delivered) -> tuple[int, int, int]:
    """Return a place on a queue that compares as messages lie there."""
    return -delivered.lane, delivered.seq, delivered.n


def _browsing(
    opened: Object, handle: Handle, md: dict[str, Any], gmo: dict[str, Any], match: int, room: int
) -> c.Browse:
    asked, number = gmo["Options"], handle.number
    command = c.Browse(number, bool(asked & mq.MQGMO_BROWSE_FIRST), 1)
    command.message_id, command.correlation_id, command.group_id = _ids(opened, md, match)
    if asked & mq.MQGMO_BROWSE_MSG_UNDER_CURSOR:
        command = c.Browse(number, options=_under_cursor(asked))
    else:
        in_order = bool(asked & mq.MQGMO_LOGICAL_ORDER)
        if asked & mq.MQGMO_BROWSE_NEXT and opened.browses_in_order not in (None, in_order):
            raise MqiFailure(mq.MQRC_INCONSISTENT_BROWSE)
        if match & mq.MQMO_MATCH_MSG_TOKEN:
            command.place = place_of(gmo["MsgToken"])
        _refine(command, md, asked, match)
        command.wait_ms = _wait_ms(gmo)
    command.options |= sum(ours for option, ours in MARKS.items() if asked & option)
    if not asked & mq.MQGMO_ACCEPT_TRUNCATED_MSG:
        command.options |= c.BOUNDED
        command.length_max = room - md_extension.length_at_most(md)
    command.options |= until_the_end(asked)
    return command


def _under_cursor(asked: int) -> int:
    """The cursor alone says which message: options of groups, which choose one, mean nothing."""
    whole = c.COMPLETE if asked & mq.MQGMO_COMPLETE_MSG else 0
    return c.UNDER_CURSOR | whole | (c.LOCK if asked & mq.MQGMO_LOCK else 0)


def _unmarking(handle: Handle, gmo: dict[str, Any]) -> c.Browse:
    """MQGMO_UNMARK_BROWSE_HANDLE, _CO_OP: by message token; the message is shown."""
    ours = UNMARKING[gmo["Options"] & ~mq.MQGMO_FAIL_IF_QUIESCING]
    return c.Browse(handle.number, options=ours, place=place_of(gmo["MsgToken"]))


def _unlocking(handle: Handle, asked: int) -> c.Browse:
    """MQGMO_UNLOCK: nothing is returned."""
    if asked & ~UNLOCKING:
        raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
    return c.Browse(handle.number, options=c.UNLOCK)


def _cut(plan: GetPlan, message: MessageData, body: bytes, warning: int, told: int) -> Got:
    """Give as much of a body as there is room for. told: the warning of the queue manager.

    A message that has been taken because its body has room is given whole, even if its properties
    have made it longer: it could not be got again.
    """
    md, gmo, room = plan.md, plan.gmo, plan.room
    length = len(body)
    if told and told not in HARMLESS:
        warning = warning or REASON_CODES[Reason(told)]
    if told == Reason.MESSAGE_TRUNCATED:
        warning, body = mq.MQRC_TRUNCATED_MSG_FAILED, body[:room]
    elif length > room and plan.asked & mq.MQGMO_ACCEPT_TRUNCATED_MSG:
        is_converted = (md["Encoding"], md["CodedCharSetId"]) != (message.encoding, message.ccsid)
        body = whole_characters(md, body, room) if is_converted else body[:room]
        warning = mq.MQRC_TRUNCATED_MSG_ACCEPTED
    if gmo["Version"] > mq.MQGMO_VERSION_1:
        gmo["ReturnedLength"] = len(body)
    code = mq.MQCC_WARNING if warning else mq.MQCC_OK
    return Got(body, md, gmo, length, code, warning)


def _tell(gmo: dict[str, Any], opened: Object, delivered: Delivered) -> None:
    gmo["ResolvedQName"] = pad(opened.resolved, 48)
    if gmo["Version"] > mq.MQGMO_VERSION_1:
        flags = flags_of(delivered.message)
        gmo["GroupStatus"] = mq.MQGS_NOT_IN_GROUP
        if flags & (mq.MQMF_MSG_IN_GROUP | mq.MQMF_LAST_MSG_IN_GROUP):
            last = flags & mq.MQMF_LAST_MSG_IN_GROUP
            gmo["GroupStatus"] = mq.MQGS_LAST_MSG_IN_GROUP if last else mq.MQGS_MSG_IN_GROUP
        gmo["SegmentStatus"] = mq.MQSS_NOT_A_SEGMENT
        if flags & (mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT):
            last = flags & mq.MQMF_LAST_SEGMENT
            gmo["SegmentStatus"] = mq.MQSS_LAST_SEGMENT if last else mq.MQSS_SEGMENT
        allowed = flags & mq.MQMF_SEGMENTATION_ALLOWED
        gmo["Segmentation"] = mq.MQSEG_ALLOWED if allowed else mq.MQSEG_INHIBITED
        gmo["MsgToken"] = token_of(delivered)


def _body(
    plan: GetPlan, message: MessageData, representation: tuple[int, int] | None
) -> tuple[bytes, int]:
    """Return the body as the program wants it, and 0 or a warning.

    representation: the encoding and the character set that a get with MQGMO_CONVERT asks for; None:
    of a message that stays on its queue nothing is converted.
    """
    md, form = plan.md, plan.form
    header, warning = header_of(message), 0
    others = _others(message, properties_of(header))
    if plan.taker is not None:
        plan.taker.take(message.properties)
        warning = mq.MQRC_RFH_FORMAT_ERROR if has_damaged_properties(header) else 0
    body = _own_body(plan, md, message, header)
    if form & mq.MQGMO_CONVERT and representation is not None:
        room = plan.room - md_extension.length_before(md, message)
        body, unconverted = convert_within(md, body, representation, room)
        warning = unconverted or warning
    if plan.taker is None and others and _wants_header(others, form):
        body = with_properties(md, others, body)
    return md_extension.put_on(md, message, body), warning


def _others(message: MessageData, own: Mapping[str, Property]) -> dict[str, Property]:
    """Return the properties of a message that no header in its body says."""
    return {name: one for name, one in (message.properties or {}).items() if name not in own}


def _has_handle(gmo: dict[str, Any]) -> bool:
    return bool(gmo["Version"] >= mq.MQGMO_VERSION_4 and gmo["MsgHandle"] != mq.MQHM_NONE)


def _wants_header(properties: Mapping[str, Property], asked: int) -> bool:
    """Whether properties go in front of a body."""
    if asked & mq.MQGMO_NO_PROPERTIES:
        return False
    return bool(asked & mq.MQGMO_PROPERTIES_FORCE_MQRFH2) or are_compatible(properties)
