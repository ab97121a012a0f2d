"""MQGET: destructive gets and browses, and what a program's buffer has room for.

A message that is longer than the buffer stays on the queue, unless the program accepts a truncated
one. This module knows no callback.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.channel.requests import FROM_START, Pending
from adapter.channel.unit import Unit
from adapter.channel.verbs import get_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered, MessageData, Property
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages
from adapter.core.mq_layouts.blank_padded import pad
from adapter.core.mq_layouts.md_extension import flags_of
from adapter.mqi import md_extension, structs, transmission
from adapter.mqi import options as permitted
from adapter.mqi.conversion import convert
from adapter.mqi.descriptor import place_of, tell_got, token_of, wanted_ids
from adapter.mqi.message_handles import MessageHandles
from adapter.mqi.reasons import REASON_CODES, MqiFailure
from adapter.mqi.rfh2 import has_more, properties_of, with_properties, without_properties
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
UNLOCKING = mq.MQGMO_UNLOCK | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_FAIL_IF_QUIESCING
FORMS_OF_PROPERTIES = (
    mq.MQGMO_PROPERTIES_IN_HANDLE
    | mq.MQGMO_NO_PROPERTIES
    | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
    | mq.MQGMO_PROPERTIES_COMPATIBILITY
)
"""How properties come, if a get says so."""
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


def get_unpacked(
    session: MqiSession,
    handles: MessageHandles,
    opened: Object,
    md: dict[str, Any],
    gmo: dict[str, Any],
    room: int,
) -> Got:
    """MQGET with its structures taken apart."""
    asked, match = _check_options(md, gmo)
    representation = md["Encoding"], md["CodedCharSetId"]
    if asked & mq.MQGMO_UNLOCK:
        return _unlock(session, opened, md, gmo)
    if asked & sum(UNMARKING):
        found = _unmark(session, opened, gmo, match)
    elif asked & permitted.BROWSING:
        found = _browse(session, opened, md, gmo, match, room)
    else:
        found = _take(session, opened, md, gmo, match, room)
    if not found.messages:
        under = asked & UNDER_CURSOR
        raise MqiFailure(mq.MQRC_NO_MSG_UNDER_CURSOR if under else mq.MQRC_NO_MSG_AVAILABLE)
    form = _form_of_properties(gmo, opened)
    delivered = _seen(session, found.messages[0], gmo, form)
    tell_got(md, delivered, int(time.time() * 1000))
    _tell(gmo, opened, delivered)
    body, warning = _body(handles, md, gmo, delivered, representation, form)
    got = _cut(md, gmo, body, warning, found.warning, room)
    if got.reason == mq.MQRC_TRUNCATED_MSG_FAILED:
        # The queue manager compares the length with all of the body: a program that got a shorter
        # one, because properties go elsewhere, would ask again with a buffer that is too short.
        got.length = max(got.length, len(delivered.message.body))
    return got


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


def _seen(session: MqiSession, delivered: Delivered, gmo: dict[str, Any], asked: int) -> Delivered:
    """Return what was got as MQ has it: from a transmission queue, behind a header."""
    message = delivered.message
    if message.transmission is None:
        return delivered
    in_header: dict[str, Property] = {}
    if not _is_for_handle(gmo, asked):
        others = _others(message, properties_of(message))
        in_header = others if _wants_header(others, asked) else in_header
    return transmission.seen(session.channel.queue_manager, delivered, in_header)


def _check_options(md: dict[str, Any], gmo: dict[str, Any]) -> tuple[int, int]:
    """Return the options of a get and what it matches, as far as its version has any."""
    structs.MQMD.confirm(md)
    asked: int = structs.MQGMO.confirm(gmo)["Options"]
    permitted.GET.check(asked)
    match = mq.MQMO_MATCH_MSG_ID | mq.MQMO_MATCH_CORREL_ID
    if gmo["Version"] > mq.MQGMO_VERSION_1:
        match = gmo["MatchOptions"]
        permitted.MATCH.check(match)
    _check_versions(md, gmo, match)
    if asked & permitted.MARKING and not asked & permitted.BROWSING:
        raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
    if asked & mq.MQGMO_WAIT and gmo["WaitInterval"] < mq.MQWI_UNLIMITED:
        raise MqiFailure(mq.MQRC_WAIT_INTERVAL_ERROR)
    return asked, match


def _check_versions(md: dict[str, Any], gmo: dict[str, Any], match: int) -> None:
    """MqiFailure if what is asked for needs fields that these versions do not have."""
    asked = gmo["Options"]
    if asked & OF_VERSION_2 and gmo["Version"] < mq.MQGMO_VERSION_2:
        raise MqiFailure(mq.MQRC_WRONG_GMO_VERSION)
    matches = match & MATCHING_PARTS and not asked & UNDER_CURSOR
    if (asked & mq.MQGMO_LOGICAL_ORDER or matches) and md["Version"] < mq.MQMD_VERSION_2:
        raise MqiFailure(mq.MQRC_WRONG_MD_VERSION)


def _wait_ms(gmo: dict[str, Any]) -> int:
    wait_ms: int = gmo["WaitInterval"]
    return wait_ms if gmo["Options"] & mq.MQGMO_WAIT else 0


def _take(
    session: MqiSession,
    opened: Object,
    md: dict[str, Any],
    gmo: dict[str, Any],
    match: int,
    room: int,
) -> Messages:
    if not opened.options & INPUT or opened.handle is None:
        raise MqiFailure(mq.MQRC_NOT_OPEN_FOR_INPUT)
    asked = gmo["Options"]
    command = c.Get(0, b"", _wait_ms(gmo), 1, *_ids(opened, md, match))
    if asked & mq.MQGMO_MSG_UNDER_CURSOR:
        command = c.Get(0, options=c.UNDER_CURSOR)
    else:
        _refine(command, md, asked, match)
        if match & mq.MQMO_MATCH_MSG_TOKEN:
            command.place = place_of(gmo["MsgToken"])
    if not asked & mq.MQGMO_ACCEPT_TRUNCATED_MSG:
        command.options |= c.BOUNDED
        command.length_max = room
    if asked & mq.MQGMO_SYNCPOINT_IF_PERSISTENT:
        command.options |= c.IF_PERSISTENT
    command.options |= until_the_end(asked)
    until_s = time.monotonic() + max(command.wait_ms, 0) / 1000

    def take(unit: Unit | None) -> Messages:
        if command.wait_ms > 0:
            command.wait_ms = max(round((until_s - time.monotonic()) * 1000), 0)
        return ask(session, opened, command, unit)

    return session.within(bool(asked & IN_UNIT), take)


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


def _browse(
    session: MqiSession,
    opened: Object,
    md: dict[str, Any],
    gmo: dict[str, Any],
    match: int,
    room: int,
) -> Messages:
    handle = opened.handle
    if not opened.options & mq.MQOO_BROWSE or handle is None:
        raise MqiFailure(mq.MQRC_NOT_OPEN_FOR_BROWSE)
    command = _browsing(opened, handle.number, md, gmo, match, room)
    until_s = time.monotonic() + max(command.wait_ms, 0) / 1000
    while True:
        found = session.ask_held(Pending(command, FROM_START, handle=handle), Messages)
        if found is not None and (
            not found.messages
            or found.warning == Reason.MESSAGE_TRUNCATED
            or _is_new(opened, gmo["Options"], found.messages[0])
        ):
            return found
        # The connection was lost meanwhile, and the cursor with it.
        if command.wait_ms > 0:
            command.wait_ms = max(int((until_s - time.monotonic()) * 1000), 0)


def _browsing(
    opened: Object, number: int, md: dict[str, Any], gmo: dict[str, Any], match: int, room: int
) -> c.Browse:
    asked = gmo["Options"]
    if match & mq.MQMO_MATCH_MSG_TOKEN:
        raise MqiFailure(mq.MQRC_FUNCTION_NOT_SUPPORTED)
    command = c.Browse(number, bool(asked & mq.MQGMO_BROWSE_FIRST), 1)
    command.message_id, command.correlation_id, command.group_id = _ids(opened, md, match)
    if asked & mq.MQGMO_BROWSE_MSG_UNDER_CURSOR:
        command = c.Browse(number, options=c.UNDER_CURSOR)
        command.options |= c.LOCK if asked & mq.MQGMO_LOCK else 0
    else:
        _refine(command, md, asked, match)
        command.wait_ms = _wait_ms(gmo)
    command.options |= sum(ours for option, ours in MARKS.items() if asked & option)
    if not asked & mq.MQGMO_ACCEPT_TRUNCATED_MSG:
        command.options |= c.BOUNDED
        command.length_max = room
    command.options |= until_the_end(asked)
    return command


def _unmark(session: MqiSession, opened: Object, gmo: dict[str, Any], match: int) -> Messages:
    """MQGMO_UNMARK_BROWSE_HANDLE, _CO_OP: by message token; the message is shown."""
    ours = UNMARKING.get(gmo["Options"] & ~mq.MQGMO_FAIL_IF_QUIESCING)
    if ours is None or not match & mq.MQMO_MATCH_MSG_TOKEN:
        raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
    if opened.handle is None or not opened.options & mq.MQOO_BROWSE:
        raise MqiFailure(mq.MQRC_NOT_OPEN_FOR_BROWSE)
    command = c.Browse(opened.handle.number, options=ours, place=place_of(gmo["MsgToken"]))
    request = Pending(command, FROM_START, handle=opened.handle)
    return session.ask_held(request, Messages) or Messages([])


def _unlock(session: MqiSession, opened: Object, md: dict[str, Any], gmo: dict[str, Any]) -> Got:
    """MQGMO_UNLOCK: nothing is returned."""
    if opened.handle is None or not opened.options & mq.MQOO_BROWSE:
        raise MqiFailure(mq.MQRC_NOT_OPEN_FOR_BROWSE)
    if gmo["Options"] & ~UNLOCKING:
        raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
    command = c.Browse(opened.handle.number, options=c.UNLOCK)
    session.ask_held(Pending(command, FROM_START, handle=opened.handle), Messages)
    return Got(b"", md, gmo, 0)


def _is_new(opened: Object, asked: int, delivered: Delivered) -> bool:
    """Whether a browsed message is behind the one before it; note it as the last one."""
    place = (-delivered.lane, delivered.seq, delivered.n)
    if asked & mq.MQGMO_BROWSE_NEXT and opened.cursor is not None and place <= opened.cursor:
        return False
    opened.cursor = place
    return True


def _cut(
    md: dict[str, Any], gmo: dict[str, Any], body: bytes, warning: int, told: int, room: int
) -> Got:
    """Give as much of a body as there is room for. told: the warning of the queue manager.

    A message that has been taken because its body has room is given whole, even if its properties
    or another character set have made it longer: it could not be got again.
    """
    length = len(body)
    if told and told not in HARMLESS:
        warning = warning or REASON_CODES[Reason(told)]
    if told == Reason.MESSAGE_TRUNCATED:
        warning, body = mq.MQRC_TRUNCATED_MSG_FAILED, body[:room]
    elif length > room and gmo["Options"] & mq.MQGMO_ACCEPT_TRUNCATED_MSG:
        warning, body = mq.MQRC_TRUNCATED_MSG_ACCEPTED, body[:room]
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
        gmo["ReturnedLength"] = len(delivered.message.body)


def _body(
    handles: MessageHandles,
    md: dict[str, Any],
    gmo: dict[str, Any],
    delivered: Delivered,
    representation: tuple[int, int],
    asked: int,
) -> tuple[bytes, int]:
    """Return the body as the program wants it, and 0 or a warning.

    representation: the encoding and the character set that a get with MQGMO_CONVERT asks for.
    asked: its options, which say how properties come.
    """
    message = delivered.message
    body, warning = message.body, 0
    if asked & mq.MQGMO_PROPERTIES_IN_HANDLE and not _has_handle(gmo):
        raise MqiFailure(mq.MQRC_HMSG_ERROR)
    own = properties_of(message)
    others = _others(message, own)
    in_handle = _is_for_handle(gmo, asked)
    if in_handle:
        handles.get(gmo["MsgHandle"]).take(message.properties)
    if asked & mq.MQGMO_NO_PROPERTIES or (own and in_handle):
        all_folders = bool(asked & mq.MQGMO_NO_PROPERTIES)
        body = without_properties(md, message, all_folders=all_folders)
    if asked & mq.MQGMO_CONVERT:
        body, warning = convert(md, body, *representation)
    if not in_handle and others and _wants_header(others, asked):
        body = with_properties(md, others, body)
    return md_extension.put_on(md, message, body), warning


def _others(message: MessageData, own: Mapping[str, Property]) -> dict[str, Property]:
    """Return the properties of a message that no header in its body says."""
    return {name: one for name, one in (message.properties or {}).items() if name not in own}


def _has_handle(gmo: dict[str, Any]) -> bool:
    return bool(gmo["Version"] >= mq.MQGMO_VERSION_4 and gmo["MsgHandle"] > 0)


def _is_for_handle(gmo: dict[str, Any], asked: int) -> bool:
    """Whether properties go to a message handle."""
    return _has_handle(gmo) and not asked & mq.MQGMO_PROPERTIES_FORCE_MQRFH2


def _wants_header(properties: Mapping[str, Property], asked: int) -> bool:
    """Whether properties go in front of a body."""
    if asked & mq.MQGMO_NO_PROPERTIES:
        return False
    return bool(asked & mq.MQGMO_PROPERTIES_FORCE_MQRFH2) or has_more(properties)
