"""MQSUB and MQSUBRQ, and MQCLOSE of what they opened: subscriptions and where they send to.

A subscription is two handles: its own, and that of the queue publications are got from. That is one
the program has opened, or one that is opened by MQSUB itself, then called managed. This module does
not know which publications a subscription gets.
"""

from __future__ import annotations

from typing import Any

import msgspec

from adapter import mq_constants as mq
from adapter.connection.channel.requests import AGAIN, FORGOTTEN, Handle, Pending, open_request
from adapter.core.attributes.objects import SUBSCRIPTION
from adapter.core.contract import commands as c
from adapter.core.contract.message import NO_ID
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Subscribed
from adapter.core.mq_layouts.blank_padded import pad, unpadded
from adapter.mqi import opening, pointers, structs
from adapter.mqi import options as permitted
from adapter.mqi.getting import INPUT
from adapter.mqi.reasons import REASON_CODES, MqiFailure
from adapter.mqi.session import MqiSession, Object

OPTIONS = {
    mq.MQSO_CREATE: c.CREATE,
    mq.MQSO_RESUME: c.RESUME,
    mq.MQSO_ALTER: c.ALTER,
    mq.MQSO_DURABLE: c.DURABLE,
    mq.MQSO_MANAGED: c.MANAGED,
    mq.MQSO_PUBLICATIONS_ON_REQUEST: c.ON_REQUEST,
    mq.MQSO_NEW_PUBLICATIONS_ONLY: c.NEW_ONLY,
    mq.MQSO_SET_CORREL_ID: c.SET_CORRELATION,
}
WAYS = mq.MQSO_CREATE | mq.MQSO_RESUME | mq.MQSO_ALTER
"""Of these there is at least one."""
TOLD = mq.MQSO_DURABLE | mq.MQSO_MANAGED | mq.MQSO_PUBLICATIONS_ON_REQUEST
"""What MQSD.Options says afterwards as the subscription is, whatever was asked for."""
MANAGED_QUEUE = mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_BROWSE | mq.MQOO_INQUIRE
DELETIONS = mq.MQCO_DELETE | mq.MQCO_DELETE_PURGE
LEVELS = range(10)
LEVEL_USUAL = 1
"""The initial value. pymqi has 0: its programs would get nothing beside others, and do not mean it.
"""


def subscribe(session: MqiSession, sd: bytes, hobj: int) -> tuple[bytes, int, int, int, int]:
    """MQSUB. Returns MQSD as it is afterwards, hobj, hsub and the codes. Raises MqiFailure."""
    fields = structs.MQSD.confirm(structs.MQSD.read(sd))
    asked: int = fields["Options"]
    permitted.SUBSCRIBE.check(asked)
    if not asked & WAYS:
        raise MqiFailure(mq.MQRC_OPTIONS_ERROR)
    resumes_alone = asked & WAYS == mq.MQSO_RESUME and hobj == mq.MQHO_NONE
    is_managed = bool(asked & mq.MQSO_MANAGED)
    queue = None if is_managed or resumes_alone else _provided_queue(session, hobj)
    mine = session.channel.new_handle("", 0)
    wanted = _command_of(fields, mine.number, queue)
    other = None if queue is not None else session.channel.new_handle("", c.INPUT)
    told = _ask(session, wanted, mine, other)
    subscription = session.add(SUBSCRIPTION, told.name, asked, mine)
    if queue is None:
        queue = session.add("queue", told.queue, MANAGED_QUEUE, other, told.queue)
        queue.managed_by = mine
        if not (is_managed or told.options & c.MANAGED):  # its queue has to come from the program
            close(session, queue.number, mq.MQCO_NONE)
            close(session, subscription.number, mq.MQCO_NONE)
            raise MqiFailure(mq.MQRC_HOBJ_ERROR)
    elif told.queue != queue.resolved:
        close(session, subscription.number, mq.MQCO_NONE)
        raise MqiFailure(mq.MQRC_HOBJ_ERROR)
    _tell(fields, told)
    code, reason = mq.MQCC_OK, mq.MQRC_NONE
    if told.warning:
        code, reason = mq.MQCC_WARNING, REASON_CODES[Reason(told.warning)]
    return structs.MQSD.write(fields), queue.number, subscription.number, code, reason


def _ask(
    session: MqiSession, wanted: c.Subscribe, mine: Handle, other: Handle | None
) -> Subscribed:
    """Open the handle of a subscription, and with it that of its queue, if there is to be one."""
    handles = [mine]
    if other is not None:
        wanted.queue_handle, other.opened_with = other.number, mine
        handles.append(other)
    mine.opening = wanted
    request = open_request(mine)
    opening.ask_to_open(session, request, *handles)
    told = session.channel.result(request, Subscribed)
    mine.opening = _again(wanted, told)
    return told


def _provided_queue(session: MqiSession, hobj: int) -> Object:
    """Return the queue that a program provides for publications. MqiFailure(2019) if invalid."""
    queue = session.object(hobj)
    if queue.managed_by is not None or not queue.options & (INPUT | mq.MQOO_BROWSE):
        raise MqiFailure(mq.MQRC_HOBJ_ERROR)
    return queue


def _command_of(fields: dict[str, Any], number: int, queue: Object | None) -> c.Subscribe:
    """Make the command of an MQSD; of one that only resumes nothing is looked at but the name."""
    asked = fields["Options"]
    wanted = c.Subscribe(
        number,
        name=pointers.charv(fields, "SubName", mq.MQRC_SUB_NAME_ERROR),
        options=sum(ours for option, ours in OPTIONS.items() if asked & option),
        alternate_user=opening.alternate_user(fields, asked, mq.MQSO_ALTERNATE_USER_AUTHORITY),
    )
    if not asked & (mq.MQSO_CREATE | mq.MQSO_ALTER):
        return wanted
    _check(fields)
    wanted.topic_object = unpadded(fields["ObjectName"])
    wanted.topic_string = pointers.charv(fields, "ObjectString")
    wanted.user_data = pointers.charv(fields, "SubUserData", mq.MQRC_SUB_USER_DATA_ERROR)
    wanted.destination = queue.name if queue is not None else ""
    wanted.level = max(fields["SubLevel"], LEVEL_USUAL)
    wanted.priority = fields["PubPriority"]
    refused = mq.MQRC_SELECTION_STRING_ERROR
    wanted.selection = pointers.charv(fields, "SelectionString", refused)
    if asked & mq.MQSO_SET_CORREL_ID:
        wanted.correlation_id = fields["SubCorrelId"]
    return wanted


def _check(fields: dict[str, Any]) -> None:
    """MqiFailure if an MQSD says what is no value, or what is not to be had."""
    if fields["SubExpiry"] != mq.MQEI_UNLIMITED:
        wrong = fields["SubExpiry"] <= 0
        raise MqiFailure(mq.MQRC_EXPIRY_ERROR if wrong else mq.MQRC_FUNCTION_NOT_SUPPORTED)
    if fields["SubLevel"] not in LEVELS:
        raise MqiFailure(mq.MQRC_SD_ERROR)


def _again(wanted: c.Subscribe, told: Subscribed) -> c.Subscribe:
    """Say how the handles are opened again when the connection was lost: as what they are now."""
    options = c.RESUME | c.DURABLE
    if not told.options & c.DURABLE:
        options = wanted.options & ~(c.RESUME | c.ALTER) | c.CREATE | c.SET_CORRELATION
        if wanted.destination:
            options |= c.NEW_ONLY  # what is retained lies on the program's queue already
    return msgspec.structs.replace(
        wanted, options=options, correlation_id=told.correlation_id or NO_ID, level=told.level
    )


def _tell(fields: dict[str, Any], told: Subscribed) -> None:
    """Write into the MQSD of MQSUB what the subscription is."""
    asked = fields["Options"]
    known = sum(option for option, ours in OPTIONS.items() if option & TOLD and told.options & ours)
    fields["Options"] = asked & ~TOLD | known
    fields["SubCorrelId"] = told.correlation_id or NO_ID
    pointers.fill(fields, "ResObjectString", told.topic)
    if asked & mq.MQSO_RESUME:
        fields["SubLevel"], fields["PubPriority"] = told.level, told.priority
        pointers.fill(fields, "SelectionString", told.selection)
        pointers.fill(fields, "SubUserData", told.user_data)
        if not asked & mq.MQSO_CREATE:
            fields["ObjectName"] = pad("", 48)
            pointers.fill(fields, "ObjectString", told.topic)


def request_publications(session: MqiSession, hsub: int, action: int, sro: bytes) -> bytes:
    """MQSUBRQ. Returns MQSRO as it is afterwards. Raises MqiFailure."""
    fields = structs.MQSRO.confirm(structs.MQSRO.read(sro))
    permitted.REQUEST.check(fields["Options"])
    if action != mq.MQSR_ACTION_PUBLICATION:
        raise MqiFailure(mq.MQRC_ACTION_ERROR)
    _, handle = session.subscription(hsub)
    request = Pending(c.SubscriptionRequest(handle.number), handle=handle)
    fields["NumPubs"] = session.ask([request], request, Done).count
    return structs.MQSRO.write(fields)


def close(session: MqiSession, number: int, options: int) -> int:
    """MQCLOSE of an object or a subscription; MQCO_REMOVE_SUB removes that. Raises MqiFailure.

    Returns the reason code of a warning, or 0.
    """
    permitted.CLOSE.check(options)
    opened = session.objects.get(number)
    if opened is None or opened.kind != SUBSCRIPTION:
        return opening.close_object(session, number, options)
    _, handle = session.subscription(number)
    assert isinstance(handle.opening, c.Subscribe)
    is_durable = bool(handle.opening.options & c.DURABLE)
    if options & DELETIONS or (options & mq.MQCO_KEEP_SUB and not is_durable):
        raise MqiFailure(mq.MQRC_OPTION_NOT_VALID_FOR_TYPE)
    remove = bool(options & mq.MQCO_REMOVE_SUB) and is_durable
    session.settle()
    _close(session, handle, remove)
    del session.objects[number]
    if is_durable and not remove:
        _let_go(session, handle)
    return 0


def _let_go(session: MqiSession, mine: Handle) -> None:
    """Have the queue of a subscription that is closed opened by itself from now on."""
    for opened in session.objects.values():
        handle = opened.handle
        if handle is not None and handle.opened_with is mine:
            handle.queue, handle.opened_with = mine.leads_to, None


def _close(session: MqiSession, handle: Handle, remove: bool) -> None:
    """Close a subscription's handle. What is to be removed is, after a lost connection too."""
    session.channel.drop_handle(handle)
    if not remove and not session.channel.is_connected:
        return  # the connection is lost, and the handle with it
    command = c.CloseSubscription(handle.number, remove)
    request = Pending(command, AGAIN if remove else FORGOTTEN, handle=handle)
    try:
        session.ask_held(request, Done)
    except MqiFailure as failure:
        if request.resent and failure.reason == mq.MQRC_NO_SUBSCRIPTION:
            return  # it was removed, and the answer lost
        session.channel.keep_handle(handle)
        raise
