"""MQMD and a message: what a program says of a message, and what it is told.

This module knows no verb, and not where a message lies.
"""

from __future__ import annotations

from typing import Any

from adapter import mq_constants as mq
from adapter.core.contract.details import LENGTH_UNDEFINED, NONE_ASKED, TOKEN_LENGTH, Details
from adapter.core.contract.message import NO_ID, Delivered, MessageData
from adapter.core.contract.results import PutContext, PutDone, put_context
from adapter.core.mq_layouts.blank_padded import pad, unpadded
from adapter.core.mq_layouts.md_extension import IN_PARTS, fields_of
from adapter.core.mq_layouts.mqmd import ccsid_of, put_date_time
from adapter.core.mq_layouts.whole_numbers import TENTH_MS, expiry_of, in_32_bits
from adapter.mqi import structs
from adapter.mqi.reasons import MqiFailure

FEEDBACK = range(1_000_000_000)  # to MQFB_APPL_LAST
"""What MQMD.Feedback may say, whatever the type of the message."""


def message_of(md: dict[str, Any], body: bytes) -> MessageData:
    """Make the message that a put's MQMD describes, but for its context. Raises MqiFailure."""
    structs.MQMD.confirm(md)
    if md["Feedback"] not in FEEDBACK:
        raise MqiFailure(mq.MQRC_FEEDBACK_ERROR)
    message = MessageData(
        body,
        message_id=_identifier(md["MsgId"]),
        correlation_id=_identifier(md["CorrelId"]),
        priority=md["Priority"],
        persistence=_persistence(md["Persistence"]),
        expiry_ms=_expiry_ms(md["Expiry"]),
        format=unpadded(md["Format"]),
        message_type=md["MsgType"],
        report=md["Report"],
        feedback=md["Feedback"],
        encoding=md["Encoding"],
        ccsid=ccsid_of(md["CodedCharSetId"]),
        reply_to=unpadded(md["ReplyToQ"]),
        reply_to_queue_manager=unpadded(md["ReplyToQMgr"]),
    )
    if md["Version"] >= mq.MQMD_VERSION_2 and (md["MsgFlags"] or md["OriginalLength"] >= 0):
        _group(md, message)
    return message


def _group(md: dict[str, Any], message: MessageData) -> None:
    """Say what group and segment a message is."""
    flags = md["MsgFlags"]
    if md["OriginalLength"] < LENGTH_UNDEFINED:
        raise MqiFailure(mq.MQRC_ORIGINAL_LENGTH_ERROR)
    message.details = Details(flags=flags, original_length=md["OriginalLength"])
    if flags & IN_PARTS:
        message.group_id = _identifier(md["GroupId"])
        message.group_seq = md["MsgSeqNumber"]
        message.last_in_group = bool(flags & mq.MQMF_LAST_MSG_IN_GROUP)
    if flags & (mq.MQMF_SEGMENT | mq.MQMF_LAST_SEGMENT):
        message.details.offset = md["Offset"]


def _identifier(field: bytes) -> bytes:
    return b"" if field == NO_ID else field


def _persistence(number: int) -> int:
    if number == mq.MQPER_PERSISTENCE_AS_Q_DEF:
        return -1
    if number not in (0, 1):
        raise MqiFailure(mq.MQRC_PERSISTENCE_ERROR)
    return number


def _expiry_ms(tenths: int) -> int:
    if tenths == mq.MQEI_UNLIMITED:
        return -1
    if tenths <= 0:
        raise MqiFailure(mq.MQRC_EXPIRY_ERROR)
    return tenths * TENTH_MS


def tell_put(md: dict[str, Any], message: MessageData, done: PutDone) -> None:
    """Write into a put's MQMD what the queue manager gave the message."""
    md["MsgId"] = done.message_ids[0]
    md["CorrelId"] = message.correlation_id or NO_ID
    if unpadded(md["Format"]) == message.format:  # else it describes an MQMDE in front of it
        md["CodedCharSetId"] = message.ccsid
    if done.priority >= 0:
        md["Priority"] = max(message.priority, done.priority)  # what was asked for beyond the most
        md["Persistence"] = done.persistence
    if md["Version"] >= mq.MQMD_VERSION_2 and (done.group_id or done.priority >= 0):
        md["GroupId"], md["MsgSeqNumber"] = done.group_id or NO_ID, done.group_seq
        md["Offset"] = done.offset
    if done.context is not None:
        _tell_context(md, done.context)
    if done.put_time_ms:
        known = message.details
        if done.put_date_time:  # set by the program, or passed
            known = Details(put_date_time=done.put_date_time)
        _tell_time(md, known, done.put_time_ms)


def _tell_context(md: dict[str, Any], context: PutContext) -> None:
    md["UserIdentifier"] = pad(context.user, 12)
    md["AccountingToken"] = context.accounting_token or bytes(TOKEN_LENGTH)
    md["ApplIdentityData"] = pad(context.identity_data, 32)
    md["PutApplType"] = in_32_bits(context.appl_type)
    md["PutApplName"] = pad(context.application, 28)
    md["ApplOriginData"] = pad(context.origin_data, 4)


def _tell_time(md: dict[str, Any], details: Details | None, put_time_ms: int) -> None:
    put_date, put_time = put_date_time(details, put_time_ms)
    md["PutDate"], md["PutTime"] = pad(put_date, 8), pad(put_time, 8)


def tell_got(md: dict[str, Any], delivered: Delivered, now_ms: int) -> None:
    """Write a message that was got or browsed into the MQMD of the get.

    It has been taken from its queue: so whatever its numbers are, they fit their fields.
    """
    m = delivered.message
    md["Report"], md["MsgType"], md["Feedback"] = m.report, m.message_type, m.feedback
    md["Expiry"] = _rest_of_life(m, now_ms)
    md["Encoding"], md["CodedCharSetId"] = m.encoding, m.ccsid
    md["Format"] = pad(m.format, 8)
    asked = NONE_ASKED if m.details is None else m.details.priority_asked
    md["Priority"] = max(m.priority, asked)
    md["Persistence"] = m.persistence
    md["MsgId"] = m.message_id or NO_ID
    md["CorrelId"] = m.correlation_id or NO_ID
    md["BackoutCount"] = delivered.backout_count
    md["ReplyToQ"] = pad(m.reply_to, 48)
    md["ReplyToQMgr"] = pad(m.reply_to_queue_manager, 48)
    _tell_context(md, put_context(m))
    _tell_time(md, m.details, m.put_time_ms)
    if md["Version"] >= mq.MQMD_VERSION_2:
        md |= fields_of(m)
    for name, value in md.items():
        if isinstance(value, int):
            md[name] = in_32_bits(value)


def _rest_of_life(m: MessageData, now_ms: int) -> int:
    """Say in tenths of a second how long it still has: at least one, for it was there."""
    if not m.expires_at_ms:
        return mq.MQEI_UNLIMITED
    return expiry_of(max(0, m.expires_at_ms - now_ms) // TENTH_MS * TENTH_MS)


def wanted_ids(md: dict[str, Any], match: int) -> tuple[bytes, bytes, bytes]:
    """Return the message, correlation and group id that a get is to match; b"" is any."""
    return (
        _identifier(md["MsgId"]) if match & mq.MQMO_MATCH_MSG_ID else b"",
        _identifier(md["CorrelId"]) if match & mq.MQMO_MATCH_CORREL_ID else b"",
        _identifier(md["GroupId"]) if match & mq.MQMO_MATCH_GROUP_ID else b"",
    )


def token_of(delivered: Delivered) -> bytes:
    """Return the message token: the message's place on its queue."""
    return (
        (delivered.lane % 2**8).to_bytes(1)
        + (delivered.seq % 2**56).to_bytes(7)
        + (delivered.n % 2**64).to_bytes(8)
    )


def place_of(token: bytes) -> tuple[int, int, int]:
    """Return the place that a message token stands for."""
    seq = int.from_bytes(token[1:8], "big", signed=True)
    return token[0], seq, int.from_bytes(token[8:], "big") & (2**63 - 1)
