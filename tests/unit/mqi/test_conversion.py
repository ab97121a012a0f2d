"""Text in another character set, and what is not converted."""

import codecs
from typing import Any

import pytest

from adapter.core.model.message import Message
from adapter.mqi import constants as mq
from adapter.mqi.conversion import CODECS, converted


@pytest.mark.parametrize("ccsid", CODECS)
def test_every_set_has_a_codec(ccsid: int) -> None:
    codecs.lookup(CODECS[ccsid])
    body = "MQ 12".encode(CODECS[ccsid])
    md: dict[str, Any] = {"CodedCharSetId": ccsid}
    assert converted(md, Message(body, format="MQSTR", ccsid=ccsid), 1208) == (b"MQ 12", 0)
    assert md["CodedCharSetId"] == 1208


@pytest.mark.parametrize(
    ("message", "asked", "reason"),
    [
        (Message(b"x", format="MINE", ccsid=819), 1208, mq.MQRC_FORMAT_ERROR),
        (Message(b"x", format="MQSTR", ccsid=7), 1208, mq.MQRC_SOURCE_CCSID_ERROR),
        (Message(b"x", format="MQSTR", ccsid=819), 7, mq.MQRC_TARGET_CCSID_ERROR),
        (Message("€".encode(), format="MQSTR", ccsid=1208), 819, mq.MQRC_NOT_CONVERTED),
        (Message(b"\xff", format="MQSTR", ccsid=1208), 819, mq.MQRC_NOT_CONVERTED),
    ],
)
def test_what_cannot_be_converted_stays(message: Message, asked: int, reason: int) -> None:
    md = {"CodedCharSetId": message.ccsid}
    assert converted(md, message, asked) == (message.body, reason)
    assert md["CodedCharSetId"] == message.ccsid


def test_nothing_is_to_be_done() -> None:
    message = Message(b"\xff", format="MINE", ccsid=1208)
    assert converted({}, message, 0) == (b"\xff", 0)
    assert converted({}, message, 1208) == (b"\xff", 0)
