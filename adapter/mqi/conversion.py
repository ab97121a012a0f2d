"""MQGMO_CONVERT: text in another character set.

Only bodies of format MQSTR are converted; what other formats hold is not known here, and MQ itself
leaves them to exits. The table has what Python's codecs and MQ's numbers have in common.
"""

from __future__ import annotations

from typing import Any

from adapter.core.model.message import Message
from adapter.mqi import constants as mq

CCSID_UTF_8 = 1208
CODECS = {
    37: "cp037",
    273: "cp273",
    437: "cp437",
    500: "cp500",
    819: "latin-1",
    850: "cp850",
    852: "cp852",
    858: "cp858",
    367: "ascii",
    912: "iso8859-2",
    923: "iso8859-15",
    932: "cp932",
    943: "cp932",
    949: "cp949",
    950: "cp950",
    970: "euc-kr",
    1140: "cp1140",
    1200: "utf-16-le",
    1208: "utf-8",
    1250: "cp1250",
    1251: "cp1251",
    1252: "cp1252",
    1381: "gbk",
    1386: "gbk",
    5488: "gb18030",
    33722: "euc-jp",
}
TEXT = "MQSTR"


def converted(md: dict[str, Any], message: Message, asked_ccsid: int) -> tuple[bytes, int]:
    """Return a body in the character set that a get asked for, and 0 or a warning.

    md: as it is after the get; it is told what the body is in. On a warning nothing is converted.
    """
    wanted = asked_ccsid or CCSID_UTF_8
    if wanted == message.ccsid:
        return message.body, 0
    if message.format != TEXT:
        return message.body, mq.MQRC_FORMAT_ERROR
    source, target = CODECS.get(message.ccsid), CODECS.get(wanted)
    if source is None:
        return message.body, mq.MQRC_SOURCE_CCSID_ERROR
    if target is None:
        return message.body, mq.MQRC_TARGET_CCSID_ERROR
    try:
        body = message.body.decode(source).encode(target)
    except UnicodeError:
        return message.body, mq.MQRC_NOT_CONVERTED
    md["CodedCharSetId"] = wanted
    return body, 0
