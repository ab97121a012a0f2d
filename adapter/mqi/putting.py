"""MQPUT and MQPUT1: a message on its way out. This module knows no other verb."""

from __future__ import annotations

import os
from typing import Any

from adapter import mq_constants as mq
from adapter.connection.channel.requests import Pending, open_request
from adapter.connection.channel.unit import Unit
from adapter.connection.channel.verbs import close_request, put_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import ID_LENGTH, PROPERTIES_MAX, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Opened, PutDone
from adapter.core.mq_layouts.blank_padded import pad, unpadded
from adapter.mqi import context, md_extension, report_options, structs
from adapter.mqi import options as permitted
from adapter.mqi.descriptor import message_of, tell_put
from adapter.mqi.message_handles import MessageHandles
from adapter.mqi.opening import (
    alternate_user,
    close_object,
    open_object,
    tell_destination,
    topic_handle,
)
from adapter.mqi.reasons import REASON_CODES, MqiFailure
from adapter.mqi.rfh2 import header_of, properties_of
from adapter.mqi.session import TOPIC, MqiSession, Object

Put = tuple[bytes, bytes, int, int]
"""MQMD and MQPMO as they are afterwards, completion code and reason code."""
REFINEMENTS = {
    mq.MQPMO_LOGICAL_ORDER: c.LOGICAL_ORDER,
    mq.MQPMO_RETAIN: c.RETAIN,
    mq.MQPMO_WARN_IF_NO_SUBS_MATCHED: c.WARN_NO_SUBSCRIBERS,
}
PUBLISHING = (
    mq.MQPMO_RETAIN
    | mq.MQPMO_WARN_IF_NO_SUBS_MATCHED
    | mq.MQPMO_SCOPE_QMGR
    | mq.MQPMO_SUPPRESS_REPLYTO
)
"""Put options that mean something for topics only."""


ACTIONS = (mq.MQACTP_NEW, mq.MQACTP_FORWARD, mq.MQACTP_REPLY, mq.MQACTP_REPORT)
"""What a message may be to the one of OriginalMsgHandle."""


def put(
    session: MqiSession, handles: MessageHandles, number: int, md: bytes, pmo: bytes, body: bytes
) -> Put:
    """MQPUT: put a message to an open queue. Raises MqiFailure."""
    fields, options = structs.MQMD.read(md), structs.MQPMO.read(pmo)
    opened = session.object(number)
    is_topic = opened.kind == TOPIC
    _check(options, is_topic, permitted.PUT)
    return _put(session, handles, opened, fields, options, body)


def _put(
    session: MqiSession,
    handles: MessageHandles,
    opened: Object,
    fields: dict[str, Any],
    options: dict[str, Any],
    body: bytes,
) -> Put:
    """Put a message by options that have been checked."""
    is_topic = opened.kind == TOPIC
    if not opened.options & mq.MQOO_OUTPUT or opened.handle is None:
        raise MqiFailure(mq.MQRC_NOT_OPEN_FOR_OUTPUT)
    warning = report_options.check(fields["Report"], is_remote=bool(opened.resolved_queue_manager))
    message = _message(session, handles, fields, options, body)
    queue = "" if is_topic else opened.resolved
    _tell_where(session, options, queue, opened.resolved_queue_manager)
    is_waited_for = not options["Options"] & mq.MQPMO_ASYNC_RESPONSE
    if not is_waited_for:
        message.message_id = message.message_id or new_id(session)

    def put_in(unit: Unit | None) -> PutDone:
        assert opened.handle is not None
        request = put_request(opened.handle, [message], unit)
        _refine(session, request, options)
        if request.command.options & c.LOGICAL_ORDER:
            request.command.options |= session.continuing(opened.in_put_group)
        if is_waited_for:
            return session.ask([request], request, PutDone, unit=unit)
        session.submit(request, unit, opened)
        return PutDone([message.message_id], 0)

    in_unit = _is_in_unit(options)
    done = session.within(in_unit, put_in)
    if not is_topic:
        flags = 0 if message.details is None else message.details.flags
        session.groups.note(opened, "in_put_group", flags, in_unit=in_unit)
    return _receipt(fields, options, message, done, is_topic, warning)


def put1(
    session: MqiSession, handles: MessageHandles, od: bytes, md: bytes, pmo: bytes, body: bytes
) -> Put:
    """MQPUT1: open a queue or a topic, put one message, close it. Raises MqiFailure."""
    where = structs.MQOD.confirm(structs.MQOD.read(od))
    fields, options = structs.MQMD.read(md), structs.MQPMO.read(pmo)
    is_topic = where["ObjectType"] == mq.MQOT_TOPIC
    may_depend = options["Options"] & PUBLISHING or report_options.depends(fields["Report"])
    if where["ObjectType"] == mq.MQOT_Q and may_depend:
        return _put_opened(session, handles, od, fields, options, body)
    _check(options, is_topic, permitted.PUT1)
    if where["ObjectType"] != mq.MQOT_Q and not is_topic:
        raise MqiFailure(mq.MQRC_OBJECT_TYPE_ERROR)
    other = unpadded(where["ObjectQMgrName"])
    if is_topic:
        session.check_here(other)
    name = unpadded(where["ObjectName"])
    warning = report_options.check(fields["Report"], is_remote=False)
    message = _message(session, handles, fields, options, body)
    modes = context.options_of(options["Options"]) & c.CONTEXT_MODES
    user = alternate_user(where, options["Options"], mq.MQPMO_ALTERNATE_USER_AUTHORITY)
    if is_topic:
        handle = topic_handle(session, where, modes, user)
    else:
        handle = session.channel.new_handle(name, c.OUTPUT | c.EXISTING | modes)
    handle.queue_manager, handle.alternate_user = other, user

    def put_in(unit: Unit | None) -> tuple[PutDone, Pending]:
        request = put_request(handle, [message], unit)
        _refine(session, request, options)
        opening = open_request(handle, request.when_lost)
        requests = [opening, request, close_request(handle)]
        return session.ask(requests, request, PutDone, unit=unit, after=opening), opening

    done, opening = session.within(_is_in_unit(options), put_in)
    found = opening.answer if isinstance(opening.answer, Opened) else Opened(name)
    is_topic = is_topic or found.is_topic
    _tell_where(session, options, "" if is_topic else found.queue, found.queue_manager)
    return _receipt(fields, options, message, done, is_topic, warning)


def _put_opened(
    session: MqiSession,
    handles: MessageHandles,
    od: bytes,
    fields: dict[str, Any],
    options: dict[str, Any],
    body: bytes,
) -> Put:
    """MQPUT1 with what only topics take, or only queues elsewhere: the opening says what it is."""
    asked = permitted.PUT1.check(structs.MQPMO.confirm(options)["Options"])
    modes = mq.MQOO_OUTPUT | context.opening_for(asked)
    if asked & mq.MQPMO_ALTERNATE_USER_AUTHORITY:
        modes |= mq.MQOO_ALTERNATE_USER_AUTHORITY
    number, _ = open_object(session, od, modes, may_make=False)
    try:
        opened = session.object(number)
        _check(options, opened.kind == TOPIC, permitted.PUT1)
        return _put(session, handles, opened, fields, options, body)
    finally:
        close_object(session, number, mq.MQCO_NONE)


def _tell_where(
    session: MqiSession, options: dict[str, Any], queue: str, queue_manager: str
) -> None:
    """Write into the MQPMO which queue a put leads to. queue: "" for a topic."""
    options["ResolvedQName"] = pad(queue, 48)
    options["ResolvedQMgrName"] = pad(queue_manager or session.channel.queue_manager, 48)
    tell_destination(options, is_topic=not queue, is_remote=bool(queue_manager))


def _check(options: dict[str, Any], is_topic: bool, allowed: permitted.OptionTable) -> None:
    allowed.check(structs.MQPMO.confirm(options)["Options"])
    if options["Options"] & PUBLISHING and not is_topic:
        raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
    if options["RecsPresent"]:
        raise MqiFailure(mq.MQRC_RECS_PRESENT_ERROR)
    if options["Version"] >= 3 and options["Action"] not in ACTIONS:
        raise MqiFailure(mq.MQRC_ACTION_ERROR)


def _refine(session: MqiSession, request: Pending, options: dict[str, Any]) -> None:
    """Say what a put asks for beyond the usual."""
    assert isinstance(request.command, c.Put)
    asked = options["Options"]
    if options["Version"] >= 3:
        request.command.level = options["PubLevel"]
    ours = sum(ours for option, ours in REFINEMENTS.items() if asked & option)
    request.command.options = ours | context.options_of(asked)
    if request.command.options & c.PASS_CONTEXT:
        request.command.context = context.source(session, options["Context"])


def _message(
    session: MqiSession,
    handles: MessageHandles,
    fields: dict[str, Any],
    options: dict[str, Any],
    body: bytes,
) -> MessageData:
    asked = options["Options"]
    if asked & mq.MQPMO_LOGICAL_ORDER and fields["Version"] < mq.MQMD_VERSION_2:
        raise MqiFailure(mq.MQRC_WRONG_MD_VERSION)
    message = message_of(*md_extension.taken_off(fields, body))
    context.say(message, fields, context.options_of(asked))
    if asked & mq.MQPMO_SUPPRESS_REPLYTO:
        message.reply_to = message.reply_to_queue_manager = ""
    if asked & mq.MQPMO_NEW_MSG_ID:
        message.message_id = b""
    if asked & mq.MQPMO_NEW_CORREL_ID:
        message.correlation_id = new_id(session)
    original, new = options["OriginalMsgHandle"], options["NewMsgHandle"]
    if options["Version"] >= 3 and (original or new):
        if options["Action"] == mq.MQACTP_REPLY:
            handles.get(original or new, session.number)
            original = 0  # a reply has no property of its request, as MQCOPY_DEFAULT says
        message.properties = handles.properties_to_put(session.number, original, new)
    in_header = properties_of(header_of(message))
    if in_header:
        message.properties = in_header | (message.properties or {})
    if message.properties and len(message.properties) > PROPERTIES_MAX:
        raise MqiFailure(mq.MQRC_PROPERTIES_TOO_BIG)
    return message


def new_id(session: MqiSession) -> bytes:
    """Make a unique identifier, in the manner of MQ: part of it can be read."""
    head = b"AMQ " + pad(session.channel.queue_manager, 8)
    return head + os.urandom(ID_LENGTH - len(head))


def _is_in_unit(options: dict[str, Any]) -> bool:
    """Whether a put belongs to the unit of work; without a word it does not."""
    return bool(options["Options"] & mq.MQPMO_SYNCPOINT)


def _receipt(
    fields: dict[str, Any],
    options: dict[str, Any],
    message: MessageData,
    done: PutDone,
    is_topic: bool,
    warning: int,
) -> Put:
    """Return what a put returns. warning: the reason code of one that only this side knows, or 0;
    that of the queue manager goes before it.
    """
    if is_topic:
        done.priority = -1  # what is known is how one of the copies was put: that may differ
    tell_put(fields, message, done)
    reason = REASON_CODES[Reason(done.warning)] if done.warning else warning
    code = mq.MQCC_WARNING if reason else mq.MQCC_OK
    return structs.MQMD.write(fields), structs.MQPMO.write(options), code, reason
