"""The fields of MQMD by MQ's names, as selection strings ask for them.

BackoutCount is not among them: it changes while a message is on its queue. Times and lengths are in
MQ's units: Expiry in tenths of a second, PutDate and PutTime as text. This module only reads.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from adapter.core.contract.details import Details
from adapter.core.contract.message import MessageData
from adapter.core.mq_layouts.dead_letter import stamps

_NONE = Details()
Field = Callable[[MessageData], Any]


def _detail(name: str) -> Field:
    return lambda message: getattr(message.details or _NONE, name)


def _expiry(message: MessageData) -> int:
    return -1 if message.expiry_ms < 0 else -(-message.expiry_ms // 100)


FIELDS: dict[str, Field] = {
    "Report": attrgetter("report"),
    "MsgType": attrgetter("message_type"),
    "Expiry": _expiry,
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
    "PutDate": lambda message: stamps(message.put_time_ms)[0],
    "PutTime": lambda message: stamps(message.put_time_ms)[1],
    "ApplOriginData": _detail("origin_data"),
    "GroupId": attrgetter("group_id"),
    "MsgSeqNumber": attrgetter("group_seq"),
    "Offset": attrgetter("offset"),
    "MsgFlags": _detail("flags"),
    "OriginalLength": _detail("original_length"),
}
