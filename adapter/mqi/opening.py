"""MQOPEN and MQCLOSE: which object a name is, and what it is opened for."""

from __future__ import annotations

from typing import Any

from adapter import mq_constants as mq
from adapter.connection.channel import verbs
from adapter.connection.channel.requests import Handle, Pending, open_request
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Objects, Opened
from adapter.core.mq_layouts.blank_padded import pad, unpadded
from adapter.errors import Error
from adapter.mqi import context, pointers, structs
from adapter.mqi import options as permitted
from adapter.mqi.reasons import REASON_CODES, MqiFailure
from adapter.mqi.session import TOPIC, MqiSession, Object

MODES = {
    mq.MQOO_INPUT_AS_Q_DEF: c.INPUT,
    mq.MQOO_INPUT_SHARED: c.INPUT | c.SHARED,
    mq.MQOO_INPUT_EXCLUSIVE: c.EXCLUSIVE,
    mq.MQOO_BROWSE: c.BROWSE,
    mq.MQOO_OUTPUT: c.OUTPUT,
    mq.MQOO_INQUIRE: c.INQUIRE,
    mq.MQOO_SET: c.SET,
}
ACCESS = sum(MODES)
READING = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE | mq.MQOO_BROWSE
"""Not for queues of other queue managers."""
WITH_CO_OP = MODES | {mq.MQOO_CO_OP: c.CO_OP}
ONLY_INQUIRED = {
    mq.MQOT_Q_MGR: "queue_manager",
    mq.MQOT_PROCESS: "process",
    mq.MQOT_NAMELIST: "namelist",
}
"""Objects of these types can be opened for MQOO_INQUIRE, and nothing else."""


def open_object(
    session: MqiSession, od: bytes, options: int, *, may_make: bool = True
) -> tuple[int, bytes]:
    """MQOPEN: return the object handle, and the MQOD with the names that were found.

    may_make: a model queue makes a dynamic queue; else it is refused.
    """
    fields = structs.MQOD.confirm(structs.MQOD.read(od))
    permitted.OPEN.check(options)
    if not options & ACCESS:
        raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
    if fields["RecsPresent"]:
        raise MqiFailure(mq.MQRC_RECS_PRESENT_ERROR)
    kind = fields["ObjectType"]
    if kind != mq.MQOT_Q:
        session.check_here(unpadded(fields["ObjectQMgrName"]))
    if kind == mq.MQOT_Q:
        opened = _queue(session, fields, options, 0 if may_make else c.EXISTING)
    elif kind in ONLY_INQUIRED:
        opened = _open_to_inquire(session, fields, options, ONLY_INQUIRED[kind])
    elif kind == mq.MQOT_TOPIC:
        opened = _topic(session, fields, options)
    else:
        raise MqiFailure(mq.MQRC_OBJECT_TYPE_ERROR)
    return opened.number, structs.MQOD.write(fields)


def _queue(session: MqiSession, fields: dict[str, Any], options: int, beside: int) -> Object:
    """Open a queue. beside: modes that the options do not say."""
    name = unpadded(fields["ObjectName"])
    modes = sum(mode for option, mode in WITH_CO_OP.items() if options & option)
    handle = session.channel.new_handle(name, modes | context.modes_of(options) | beside)
    handle.selection = pointers.charv(fields, "SelectionString", mq.MQRC_SELECTION_STRING_ERROR)
    handle.queue_manager = unpadded(fields["ObjectQMgrName"])
    handle.alternate_user = alternate_user(fields, options, mq.MQOO_ALTERNATE_USER_AUTHORITY)
    request = open_request(handle)
    if isinstance(request.command, c.Open):
        # A blank name is not valid for a model; in a command an empty one would say nothing.
        request.command.dynamic_name = unpadded(fields["DynamicQName"]) or " "
    try:
        found = _opened(session, request, handle)
    except MqiFailure as failure:
        if failure.reason == mq.MQRC_UNKNOWN_REMOTE_Q_MGR and options & READING:
            raise MqiFailure(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE) from failure
        raise
    if found.is_made:
        name = found.queue
        fields["ObjectName"] = pad(name, 48)
        fields["ObjectQMgrName"] = pad(session.channel.queue_manager, 48)
        handle.queue = name  # by which it is opened again after a lost connection
    tell_destination(fields, is_topic=found.is_topic, is_remote=bool(found.queue_manager))
    if found.is_topic:  # the name is an alias of it
        _tell_topic(session, fields, found.queue)
        return session.add(TOPIC, name, options, handle, found.queue)
    other = found.queue_manager
    fields["ResolvedQName"] = pad(found.queue, 48)
    fields["ResolvedQMgrName"] = pad(other or session.channel.queue_manager, 48)
    fields["ResolvedType"] = mq.MQOT_Q
    opened = session.add("queue", name, options, handle, found.queue, other)
    opened.is_transmission = found.is_transmission
    opened.property_control = found.property_control
    return opened


def tell_destination(fields: dict[str, Any], *, is_topic: bool, is_remote: bool) -> None:
    """Write into an MQOD or an MQPMO how many queues were reached: one, here or elsewhere."""
    fields["KnownDestCount"] = int(not is_topic and not is_remote)
    fields["UnknownDestCount"] = int(not is_topic and is_remote)
    fields["InvalidDestCount"] = 0


def alternate_user(fields: dict[str, Any], options: int, option: int) -> str:
    """Return the user that an MQOD or MQSD names, if options say that it counts."""
    return unpadded(fields["AlternateUserId"]) if options & option else ""


def topic_handle(session: MqiSession, fields: dict[str, Any], modes: int, user: str) -> Handle:
    """Draw a handle for the topic that an MQOD says, by an object, a string or both.

    modes: which context puts may write. user: by whose authorities, if not by the session's.
    """
    name, text = unpadded(fields["ObjectName"]), ""
    if fields["Version"] >= mq.MQOD_VERSION_4:
        text = pointers.charv(fields, "ObjectString")
        if fields["SelectionStringLength"]:
            raise MqiFailure(mq.MQRC_SELECTION_STRING_ERROR)
    handle = session.channel.new_handle(text, c.OUTPUT)
    handle.opening = c.OpenTopic(handle.number, text, name, modes, user)
    return handle


def _topic(session: MqiSession, fields: dict[str, Any], options: int) -> Object:
    """Open a topic: nothing can be done by it but publish."""
    if options & ACCESS & ~mq.MQOO_OUTPUT:
        raise MqiFailure(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    user = alternate_user(fields, options, mq.MQOO_ALTERNATE_USER_AUTHORITY)
    handle = topic_handle(session, fields, context.modes_of(options), user)
    topic = _opened(session, open_request(handle), handle).queue
    _tell_topic(session, fields, topic)
    return session.add(TOPIC, unpadded(fields["ObjectName"]), options, handle, topic)


def _tell_topic(session: MqiSession, fields: dict[str, Any], topic: str) -> None:
    """Write into an MQOD which topic it led to."""
    if fields["Version"] >= mq.MQOD_VERSION_4:
        pointers.fill(fields, "ResObjectString", topic)
        fields["ResolvedType"] = mq.MQOT_TOPIC
    fields["ResolvedQName"] = pad("", 48)
    fields["ResolvedQMgrName"] = pad(session.channel.queue_manager, 48)


def _opened(session: MqiSession, request: Pending, handle: Handle) -> Opened:
    """Open a queue or a topic; return the local queue, or the topic string, that it is."""
    ask_to_open(session, request, handle)
    if isinstance(request.answer, Opened):
        return request.answer
    return Opened(handle.queue)


def ask_to_open(session: MqiSession, request: Pending, *handles: Handle) -> None:
    """Ask for what opens handles, and keep them if it is granted. Raises MqiFailure."""
    try:
        verbs.ask_to_open(session.channel, request, *handles)
    except Error as error:
        if error.refused is Reason.LIMIT_REACHED:
            raise MqiFailure(mq.MQRC_HANDLE_NOT_AVAILABLE) from error
        raise session.failure(error) from error


def _open_to_inquire(
    session: MqiSession, fields: dict[str, Any], options: int, kind: str
) -> Object:
    if options & ACCESS & ~mq.MQOO_INQUIRE:
        raise MqiFailure(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    if kind == "queue_manager":
        return session.add(kind, session.channel.queue_manager, options)
    name = unpadded(fields["ObjectName"])
    request = Pending(c.InquireObjects(kind, name, True))
    found = session.ask([request], request, Objects).objects
    if not any(one.name == name for one in found):
        raise MqiFailure(mq.MQRC_UNKNOWN_OBJECT_NAME)
    return session.add(kind, name, options)


def close_object(session: MqiSession, number: int, options: int) -> int:
    """MQCLOSE of what MQOPEN opened, or of a managed queue; a dynamic queue may go with it.

    Returns the reason code of a warning, or 0.
    """
    warning = 0
    opened = session.object(number)
    delete = options & (mq.MQCO_DELETE | mq.MQCO_DELETE_PURGE)
    if options & (mq.MQCO_KEEP_SUB | mq.MQCO_REMOVE_SUB):
        raise MqiFailure(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    if delete and (opened.kind != "queue" or opened.managed_by is not None):
        raise MqiFailure(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    if opened.handle is not None:
        request = verbs.close_request(opened.handle)
        if isinstance(request.command, c.Close):
            request.command.delete = delete
        session.settle()
        try:
            warning = _close(session, opened.handle, request)
        except MqiFailure as failure:
            if delete and failure.reason == mq.MQRC_OPTIONS_ERROR:  # it is no dynamic queue
                raise MqiFailure(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE) from failure
            raise
    del session.objects[number]
    return REASON_CODES[Reason(warning)] if warning else 0


def _close(session: MqiSession, handle: Handle, request: Pending) -> int:
    """Close a handle; return the warning of the queue manager, or 0."""
    session.channel.drop_handle(handle)
    if not session.channel.is_connected:
        return 0  # the connection is lost, and the handle with it
    try:
        done = session.ask_held(request, Done)
        return done.warning if done is not None else 0
    except MqiFailure:
        session.channel.keep_handle(handle)
        raise
