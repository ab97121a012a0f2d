"""The fields of MQMD by MQ's names, as selection strings ask for them.

BackoutCount is not among them: it changes while a message is on its queue. Times and lengths are in
MQ's units: Expiry in tenths of a second, PutDate and PutTime as text. This module only reads.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from adapter.core.contract.details import APPL_TYPE_DEFAULT, Details
from adapter.core.contract.message import MessageData
from adapter.core.mq_layouts.blank_padded import unpadded
from adapter.core.mq_layouts.dead_letter import stamps
from adapter.core.mq_layouts.whole_numbers import UNLIMITED, expiry_of

CCSID_UTF_8 = 1208
"""Of the queue manager."""
QUEUE_MANAGERS = (0, -2)  # MQCCSI_Q_MGR; and MQCCSI_INHERIT, which in an MQMD means the same
_NONE = Details(appl_type=APPL_TYPE_DEFAULT)
Field = Callable[[MessageData], Any]


def _detail(name: str) -> Field:
    return lambda message: getattr(message.details or _NONE, name)


def ccsid_of(said: int) -> int:
    """Return the character set that MQMD.CodedCharSetId of a put means."""
    return CCSID_UTF_8 if said in QUEUE_MANAGERS else said


def given_date_time(put_date: bytes, put_time: bytes) -> str:
    """Return the two fields as Details keeps them: 16 characters, never empty."""
    return f"{unpadded(put_date):8}{unpadded(put_time):8}"


def put_date_time(details: Details | None, put_time_ms: int) -> tuple[str, str]:
    """Return PutDate (YYYYMMDD) and PutTime (HHMMSSTH, UTC) of a message: as a program set them,
    with whatever characters it gave, or when the message was put.
    """
    given = details.put_date_time if details is not None else ""
    return (given[:8], given[8:]) if given else stamps(put_time_ms)


def _put_date_time(part: int) -> Field:
    return lambda message: put_date_time(message.details, message.put_time_ms)[part]


FIELDS: dict[str, Field] = {
    "Report": attrgetter("report"),
    "MsgType": attrgetter("message_type"),
    "Expiry": lambda message: expiry_of(max(message.expiry_ms, UNLIMITED)),
    "Feedback": attrgetter("feedback"),
    "Encoding": attrgetter("encoding"),
    "CodedCharSetId": attrgetter("ccsid"),
    "Format": attrgetter("format"),
    "Priority": attrgetter("priority"),
    "Persistence": attrgetter("persistence"),
    "MsgId": attrgetter("message_id"),
    "CorrelId": attrgetter("correlation_id"),
    "ReplyToQ": attrgetter("reply_to"),
    "ReplyToQMgr": attrgetter("reply_to_queue_manager"),
    "UserIdentifier": attrgetter("user"),
    "AccountingToken": _detail("accounting_token"),
    "ApplIdentityData": _detail("identity_data"),
    "PutApplType": _detail("appl_type"),
    "PutApplName": attrgetter("application"),
    "PutDate": _put_date_time(0),
    "PutTime": _put_date_time(1),
    "ApplOriginData": _detail("origin_data"),
    "GroupId": attrgetter("group_id"),
    "MsgSeqNumber": attrgetter("group_seq"),
    "Offset": attrgetter("offset"),
    "MsgFlags": _detail("flags"),
    "OriginalLength": _detail("original_length"),
}
