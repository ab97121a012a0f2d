"""The transmission-queue header: where a message goes, and its descriptor as its program put it.

MQXQH, the 428 bytes before the body of a message on a transmission queue, as programs of MQ see it.
What its version-1 MQMD has no room for is in an MQMDE behind it. This module does not know which
queues are transmission queues.
"""

from __future__ import annotations

import struct
from typing import Any

from adapter.core.contract.details import Details
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.transmission import Transmission
from adapter.core.mq_layouts import md_extension
from adapter.core.mq_layouts.blank_padded import pad, unpadded
from adapter.core.mq_layouts.mqmd import FIELDS, ccsid_of, given_date_time
from adapter.core.mq_layouts.whole_numbers import TENTH_MS, UNLIMITED, in_32_bits

FORMAT = "MQXMIT"
"""MQFMT_XMIT_Q_HEADER: the format of a message whose body begins with this header."""
LENGTH = 428
ENCODING, CCSID = 546, 1208
"""Of the header, and so of a message that begins with one: little-endian numbers, UTF-8."""
_ID, _VERSION = b"XQH ", 1
_MD_ID, _MD_VERSION = b"MD  ", 1
_HEAD = "4si48s48s"
_MD = "4siiiiiii8sii24s24si48s48s12s32s32si28s8s8s4s"
_NAMES = [
    "Report",
    "MsgType",
    "Expiry",
    "Feedback",
    "Encoding",
    "CodedCharSetId",
    "Format",
    "Priority",
    "Persistence",
    "MsgId",
    "CorrelId",
    "BackoutCount",
    "ReplyToQ",
    "ReplyToQMgr",
    "UserIdentifier",
    "AccountingToken",
    "ApplIdentityData",
    "PutApplType",
    "PutApplName",
    "PutDate",
    "PutTime",
    "ApplOriginData",
]
_TEXT_LENGTHS = {
    "Format": 8,
    "ReplyToQ": 48,
    "ReplyToQMgr": 48,
    "UserIdentifier": 12,
    "ApplIdentityData": 32,
    "PutApplName": 28,
    "PutDate": 8,
    "PutTime": 8,
    "ApplOriginData": 4,
}
NO_TOKEN = bytes(32)
AS_QUEUE = 2  # MQPER_PERSISTENCE_AS_Q_DEF
_OTHER = int.from_bytes(b"transmit")


def length_before(message: MessageData) -> int:
    """Say how many bytes programs of MQ see before the body of a message, because it waits here."""
    if message.transmission is None:
        return 0
    is_extended = md_extension.fields_of(message) != md_extension.DEFAULTS
    return LENGTH + (md_extension.LENGTH if is_extended else 0)


def other_id(message_id: bytes) -> bytes:
    """Return the id that a message has on its transmission queue; and of that the message's own.

    MQ gives a message there a second id. It is made of the first one, so that a get by it needs no
    index of its own.
    """
    head, tail = message_id[:-8], int.from_bytes(message_id[-8:])
    return head + (tail ^ _OTHER).to_bytes(8)


def to_xqh(message: MessageData, encoding: int, ccsid: int, format_: str) -> bytes:
    """Lay out the header of a message on a transmission queue, 428 bytes, numbers little-endian.

    encoding, ccsid and format_: of what follows it.
    """
    to = message.transmission or Transmission("")
    values: dict[str, Any] = {
        name: FIELDS[name](message) if name in FIELDS else 0 for name in _NAMES
    }
    values |= {"Encoding": encoding, "CodedCharSetId": ccsid, "Format": format_}
    values |= {name: pad(values[name], length) for name, length in _TEXT_LENGTHS.items()}
    names = pad(to.queue, 48), pad(to.queue_manager, 48)
    values = {
        name: in_32_bits(value) if isinstance(value, int) else value
        for name, value in values.items()
    }
    start = _ID, _VERSION, *names, _MD_ID, _MD_VERSION
    return struct.pack("<" + _HEAD + _MD, *start, *values.values())


def message_behind(body: bytes) -> MessageData:
    """Return the message that a body with a header is, with where it goes, in either byte order.

    ValueError says why there is no valid header.
    """
    if len(body) < LENGTH or body[:4] != _ID:
        raise ValueError(f"an MQXQH is {LENGTH} bytes that begin with {_ID!r}, not {body[:4]!r}")
    order = "<" if body[4:8] == struct.pack("<i", _VERSION) else ">"
    _, version, queue, manager, md_id, md_version, *values = struct.unpack_from(
        order + _HEAD + _MD, body
    )
    if (version, md_id, md_version) != (_VERSION, _MD_ID, _MD_VERSION):
        raise ValueError("an MQXQH and an MQMD of version 1 are known")
    message = _message(dict(zip(_NAMES, values, strict=True)), body[LENGTH:])
    message.transmission = Transmission(unpadded(queue), unpadded(manager))
    if message.format == md_extension.FORMAT:
        md_extension.take_off(message)
    return message


def _message(md: dict[str, Any], body: bytes) -> MessageData:
    tenths, persistence = md["Expiry"], md["Persistence"]
    return MessageData(
        body,
        message_id=b"" if md["MsgId"] == NO_ID else md["MsgId"],
        correlation_id=b"" if md["CorrelId"] == NO_ID else md["CorrelId"],
        priority=md["Priority"],
        persistence=-1 if persistence == AS_QUEUE else persistence,
        expiry_ms=UNLIMITED if tenths == UNLIMITED else tenths * TENTH_MS,
        format=unpadded(md["Format"]),
        message_type=md["MsgType"],
        report=md["Report"],
        feedback=md["Feedback"],
        encoding=md["Encoding"],
        ccsid=ccsid_of(md["CodedCharSetId"]),
        reply_to=unpadded(md["ReplyToQ"]),
        reply_to_queue_manager=unpadded(md["ReplyToQMgr"]),
        user=unpadded(md["UserIdentifier"]),
        application=unpadded(md["PutApplName"]),
        details=Details(
            accounting_token=b"" if md["AccountingToken"] == NO_TOKEN else md["AccountingToken"],
            identity_data=unpadded(md["ApplIdentityData"]),
            appl_type=md["PutApplType"],
            origin_data=unpadded(md["ApplOriginData"]),
            put_date_time=given_date_time(md["PutDate"], md["PutTime"]),
        ),
    )
