"""MQMDE: what version 2 of MQMD has more, in front of a body, for programs with a version-1 MQMD.

A put takes it off, a get puts it on. This module knows no verb, and not what groups and segments
are.
"""

from __future__ import annotations

from typing import Any

from adapter import mq_constants as mq
from adapter.core.contract.message import MessageData
from adapter.core.mq_layouts.blank_padded import pad, unpadded
from adapter.core.mq_layouts.md_extension import DEFAULTS, FORMAT, fields_of
from adapter.core.mq_layouts.mqmd import CCSID_UTF_8, QUEUE_MANAGERS
from adapter.mqi.reasons import MqiFailure
from adapter.mqi.structs import MQMDE

STRUC_ID = b"MDE "
VERSION_2 = 2
_FORMAT = pad(FORMAT, 8)
NATIVE_CCSIDS = (*QUEUE_MANAGERS, 819, CCSID_UTF_8)
"""The sets in which the letters of the header are those of ours."""
INHERIT = -2  # MQCCSI_INHERIT: of the part before
DESCRIBING = ("Format", "Encoding", "CodedCharSetId")


def taken_off(md: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Return the MQMD of a put as version 2 has it, and the body behind an MQMDE.

    One of another version or encoding, or beside an MQMD that says these things itself, is part of
    the body. MqiFailure(2248) if it cannot be read.
    """
    if unpadded(md["Format"]) != FORMAT or md["Encoding"] != mq.MQENC_NATIVE:
        return md, body
    said = md["Version"] >= VERSION_2 and any(md[name] != DEFAULTS[name] for name in DEFAULTS)
    if said or md["CodedCharSetId"] not in NATIVE_CCSIDS:
        return md, body
    if len(body) < MQMDE.size:
        raise MqiFailure(mq.MQRC_MDE_ERROR)
    extension = MQMDE.read(body[: MQMDE.size])
    if extension["StrucId"] != STRUC_ID or extension["StrucLength"] != MQMDE.size:
        raise MqiFailure(mq.MQRC_MDE_ERROR)
    if extension["Version"] != VERSION_2:
        return md, body
    if extension["Flags"]:
        raise MqiFailure(mq.MQRC_MDE_ERROR)
    if extension["CodedCharSetId"] == INHERIT:
        extension["CodedCharSetId"] = md["CodedCharSetId"]
    named = (*DEFAULTS, *DESCRIBING)
    whole = md | {name: extension[name] for name in named} | {"Version": VERSION_2}
    return whole, body[MQMDE.size :]


def length_at_most(md: dict[str, Any]) -> int:
    """Return how many bytes may go in front of the body that a get returns, by its MQMD."""
    return MQMDE.size if md["Version"] < VERSION_2 else 0


def length_before(md: dict[str, Any], message: MessageData) -> int:
    """Return how many bytes go in front of the body of a message; 0 if it has no MQMDE."""
    at_most = length_at_most(md)
    return at_most if at_most and fields_of(message) != DEFAULTS else 0


def put_on(md: dict[str, Any], message: MessageData, body: bytes) -> bytes:
    """Return the body of a get behind an MQMDE, and say so in the MQMD, if that cannot say it."""
    if not length_before(md, message):
        return body
    said = fields_of(message)
    extension = {"StrucId": STRUC_ID, "Version": VERSION_2, "StrucLength": MQMDE.size}
    extension |= {name: md[name] for name in ("Encoding", "CodedCharSetId", "Format")}
    md["Format"], md["Encoding"], md["CodedCharSetId"] = _FORMAT, mq.MQENC_NATIVE, CCSID_UTF_8
    return MQMDE.write(extension | {"Flags": 0} | said) + body
