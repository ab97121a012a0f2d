"""What IBM's Kafka Connect source connector says of a message in headers, as a descriptor has it.

With mq.jms.properties.copy.to.kafka.headers the connector writes the JMS properties of a message as
headers, and with mq.message.mqmd.read the fields of its descriptor besides: numbers as text, ids as
"ID:" and hexadecimal digits, byte strings in base64; Connect's JSON converter puts text in quotes.
What a program without rights to context may say in a put is taken over. A value that is not valid
is passed over, so that it never keeps a record from being put. This module does not know what else
a record becomes.
"""

from __future__ import annotations

import binascii
import re

from adapter.core.contract.message import ID_LENGTH, NO_ID, PRIORITY_MAX, MessageData
from adapter.core.contract.object_names import NAME
from adapter.storage.format.record_headers import NamedHeaders, ident_of, text_of

MQMD = "JMS_IBM_MQMD_"
SEQ_MAX = EXPIRY_MAX = 999_999_999
EXPIRY_TENTH_MS = 100
NAME_LENGTH_MAX = 48
FORMAT_LENGTH_MAX = 8
RESERVED, STRING = "MQ", "MQSTR"
"""Formats that begin so are MQ's; all but text describe a header, which the value does not have."""
REQUEST, MESSAGE_TYPES = 1, frozenset({1, 2, 4, 8})
APPLICATION_TYPES = range(65_536, 1_000_000_000)
LAST_IN_GROUP = 16  # MQMF_LAST_MSG_IN_GROUP

_NUMBER = re.compile(r"-?[0-9]{1,10}")
_HEX_ID = re.compile(r"(?:ID:)?([0-9a-fA-F]{48})")


def describe(message: MessageData, headers: NamedHeaders) -> None:
    """Set the fields of a message that headers of the connector say."""
    priority = _number(headers, f"{MQMD}Priority")
    if priority is not None and 0 <= priority <= PRIORITY_MAX:
        message.priority = priority
    expiry = _number(headers, f"{MQMD}Expiry")
    if expiry == -1:
        message.expiry_ms = -1
    elif expiry is not None and 0 < expiry <= EXPIRY_MAX:
        message.expiry_ms = EXPIRY_TENTH_MS * expiry
    message.message_id = _ident(headers, f"{MQMD}MsgId")
    message.correlation_id = _ident(headers, f"{MQMD}CorrelId")
    _set_group(message, headers)
    _set_format(message, headers)
    _set_reply(message, headers)


def ident_of_key(key: bytes) -> bytes:
    """Return the id of a record's key, which the connector may have made of an id."""
    match = _HEX_ID.fullmatch(key.decode("ascii", errors="replace"))
    return bytes.fromhex(match[1]) if match is not None else ident_of(key)


def _set_group(message: MessageData, headers: NamedHeaders) -> None:
    text = _text(headers, "JMSXGroupID")
    group = _ident(headers, f"{MQMD}GroupId") or (ident_of_key(text.encode()) if text else b"")
    if group in (b"", NO_ID):
        return
    message.group_id = group
    number = _first_number(headers, f"{MQMD}MsgSeqNumber", "JMSXGroupSeq")
    if number is not None and 1 <= number <= SEQ_MAX:
        message.group_seq = number
    flags = _number(headers, f"{MQMD}MsgFlags") or 0
    says_last = _text(headers, "JMS_IBM_Last_Msg_In_Group").lower() == "true"
    message.last_in_group = says_last or bool(flags & LAST_IN_GROUP)


def _set_format(message: MessageData, headers: NamedHeaders) -> None:
    text = _text(headers, f"{MQMD}Format") or _text(headers, "JMS_IBM_Format")
    if len(text) <= FORMAT_LENGTH_MAX and (text == STRING or not text.startswith(RESERVED)):
        message.format = text


def _set_reply(message: MessageData, headers: NamedHeaders) -> None:
    """Set whom an answer is for, and the type of the message: a request has a reply-to queue."""
    queue, manager = (_text(headers, f"{MQMD}{name}") for name in ("ReplyToQ", "ReplyToQMgr"))
    if _is_name(queue):
        message.reply_to = queue
        if _is_name(manager):
            message.reply_to_queue_manager = manager
    kind = _first_number(headers, f"{MQMD}MsgType", "JMS_IBM_MsgType")
    if kind is not None and _is_type(kind) and (kind != REQUEST or message.reply_to):
        message.message_type = kind
    feedback = _first_number(headers, f"{MQMD}Feedback", "JMS_IBM_Feedback")
    if feedback is not None and -(2**31) <= feedback < 2**31:
        message.feedback = feedback


def _is_type(kind: int) -> bool:
    return kind in MESSAGE_TYPES or kind in APPLICATION_TYPES


def _is_name(text: str) -> bool:
    return len(text) <= NAME_LENGTH_MAX and NAME.fullmatch(text) is not None


def _text(headers: NamedHeaders, name: str) -> str:
    """Return a header's text, without blanks, or the quotes of JSON, around it."""
    text = text_of(headers, name)
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1].strip()
    return text


def _number(headers: NamedHeaders, name: str) -> int | None:
    text = _text(headers, name)
    return int(text) if _NUMBER.fullmatch(text) else None


def _first_number(headers: NamedHeaders, *names: str) -> int | None:
    """Return the number of the first of these headers that has one."""
    found = (_number(headers, name) for name in names)
    return next((one for one in found if one is not None), None)


def _ident(headers: NamedHeaders, name: str) -> bytes:
    """Return an id: of 24 bytes, of their hexadecimal digits, or of their base64; b"" if there is
    no such header, or if it has another value or zeros only.
    """
    value = headers.get(name) or b""
    text = _text(headers, name)
    match = _HEX_ID.fullmatch(text)
    found = b""
    if len(value) == ID_LENGTH:
        found = value
    elif match is not None:
        found = bytes.fromhex(match[1])
    else:
        try:
            found = binascii.a2b_base64(text.encode(), strict_mode=True)
        except ValueError:
            return b""
    return found if len(found) == ID_LENGTH and found != NO_ID else b""
