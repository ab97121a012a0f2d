"""Message context: who put a message, as the queue manager says, or as a program may say instead.

Identity is the user, the accounting token and the identity data; origin is the application, its
data, and the date and time of the put. A program says them itself (SET), or passes on those of a
message it got (PASS).
"""

from __future__ import annotations

from typing import Any

from adapter import mq_constants as mq
from adapter.core.contract.details import Details
from adapter.core.contract.message import MessageData
from adapter.core.mq_layouts.blank_padded import unpadded
from adapter.core.mq_layouts.mqmd import given_date_time, put_date_time
from adapter.mqi.reasons import MqiFailure
from adapter.mqi.session import MqiSession, Object

SETS = {
    mq.MQPMO_SET_IDENTITY_CONTEXT: (
        mq.MQOO_SET_IDENTITY_CONTEXT | mq.MQOO_SET_ALL_CONTEXT,
        mq.MQRC_NOT_OPEN_FOR_SET_IDENT,
    ),
    mq.MQPMO_SET_ALL_CONTEXT: (mq.MQOO_SET_ALL_CONTEXT, mq.MQRC_NOT_OPEN_FOR_SET_ALL),
    mq.MQPMO_PASS_IDENTITY_CONTEXT: (
        mq.MQOO_PASS_IDENTITY_CONTEXT
        | mq.MQOO_PASS_ALL_CONTEXT
        | mq.MQOO_SET_IDENTITY_CONTEXT
        | mq.MQOO_SET_ALL_CONTEXT,
        mq.MQRC_NOT_OPEN_FOR_PASS_IDENT,
    ),
    mq.MQPMO_PASS_ALL_CONTEXT: (
        mq.MQOO_PASS_ALL_CONTEXT | mq.MQOO_SET_ALL_CONTEXT,
        mq.MQRC_NOT_OPEN_FOR_PASS_ALL,
    ),
}
"""Put option -> the open options of which it needs one, and the reason code without."""
SET_IDENTITY = mq.MQPMO_SET_IDENTITY_CONTEXT | mq.MQPMO_SET_ALL_CONTEXT
PASS = mq.MQPMO_PASS_IDENTITY_CONTEXT | mq.MQPMO_PASS_ALL_CONTEXT


def give(
    session: MqiSession,
    message: MessageData,
    md: dict[str, Any],
    pmo: dict[str, Any],
    opened: Object | None,
) -> None:
    """Give a message its context. opened: None for MQPUT1, which may do anything."""
    asked = pmo["Options"]
    if asked & mq.MQPMO_NO_CONTEXT:
        return
    message.user, message.application = session.user, session.application
    if not asked & (SET_IDENTITY | PASS):
        return
    _check(asked, opened)
    details = message.details = message.details or Details(appl_type=mq.MQAT_DEFAULT)
    if asked & SET_IDENTITY:
        _set(message, details, md, everything=bool(asked & mq.MQPMO_SET_ALL_CONTEXT))
    else:
        source = _saved(session, pmo["Context"])
        _pass(message, details, source, everything=bool(asked & mq.MQPMO_PASS_ALL_CONTEXT))


def _check(asked: int, opened: Object | None) -> None:
    for option, (needed, refused) in SETS.items():
        if asked & option and opened is not None and not opened.options & needed:
            raise MqiFailure(refused)


def _set(message: MessageData, details: Details, md: dict[str, Any], everything: bool) -> None:
    message.user = unpadded(md["UserIdentifier"])
    details.accounting_token = md["AccountingToken"]
    details.identity_data = unpadded(md["ApplIdentityData"])
    if everything:
        details.appl_type = md["PutApplType"]
        message.application = unpadded(md["PutApplName"])
        details.origin_data = unpadded(md["ApplOriginData"])
        details.put_date_time = given_date_time(md["PutDate"], md["PutTime"])


def _saved(session: MqiSession, number: int) -> MessageData:
    """Return the message that was got last through a handle that saves contexts."""
    opened = session.objects.get(number)
    if opened is None or not opened.options & mq.MQOO_SAVE_ALL_CONTEXT:
        raise MqiFailure(mq.MQRC_CONTEXT_HANDLE_ERROR)
    if opened.saved is None:
        raise MqiFailure(mq.MQRC_CONTEXT_NOT_AVAILABLE)
    return opened.saved


def _pass(message: MessageData, details: Details, source: MessageData, everything: bool) -> None:
    known = source.details or Details(appl_type=mq.MQAT_DEFAULT)
    message.user = source.user
    details.accounting_token = known.accounting_token
    details.identity_data = known.identity_data
    if everything:
        details.appl_type, details.origin_data = known.appl_type, known.origin_data
        message.application = source.application
        details.put_date_time = "".join(put_date_time(source.details, source.put_time_ms))
