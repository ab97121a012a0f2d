"""Headers of Kafka Connect: what a source connector writes is taken over, and nothing else is."""

import base64
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from adapter.core.contract.message import MessageData
from adapter.core.rules.messages import put
from adapter.storage.format.connect_headers import describe, ident_of_key
from tests.support.core import client_on

M = "JMS_IBM_MQMD_"
IDENT = bytes(range(1, 25))
HEX = IDENT.hex()
BASE64 = base64.b64encode(IDENT)
WRITTEN = {
    f"{M}Priority": b"7",
    f"{M}Expiry": b"250",
    f"{M}MsgId": f"ID:{HEX}".encode(),
    f"{M}CorrelId": f"ID:{HEX.upper()}".encode(),
    f"{M}GroupId": BASE64,
    f"{M}MsgSeqNumber": b"3",
    f"{M}MsgFlags": b"24",
    f"{M}Format": b"MQSTR   ",
    f"{M}ReplyToQ": b"REPLIES".ljust(48),
    f"{M}ReplyToQMgr": b"QM7".ljust(48),
    f"{M}MsgType": b"1",
    f"{M}Feedback": b"0",
    f"{M}Persistence": b"0",
    f"{M}Report": b"16777216",
    f"{M}Encoding": b"273",
    f"{M}CodedCharSetId": b"437",
    f"{M}UserIdentifier": b"root",
    f"{M}ApplIdentityData": b"payroll",
    f"{M}PutApplName": b"billing",
    f"{M}PutDate": b"20260521",
    f"{M}PutTime": b"10214957",
    f"{M}BackoutCount": b"4",
    f"{M}Offset": b"9",
    "JMSXUserID": b"root",
    "JMSXDeliveryCount": b"2",
}
TAKEN = {
    "priority": 7,
    "expiry_ms": 25_000,
    "message_id": IDENT,
    "correlation_id": IDENT,
    "group_id": IDENT,
    "group_seq": 3,
    "last_in_group": True,
    "format": "MQSTR",
    "reply_to": "REPLIES",
    "reply_to_queue_manager": "QM7",
    "message_type": 1,
}


def said(headers: Mapping[str, bytes | None]) -> dict[str, Any]:
    """Return the fields that headers set, those that have changed."""
    message, usual = MessageData(priority=4, expiry_ms=9), MessageData(priority=4, expiry_ms=9)
    describe(message, headers)
    found, before = structs.asdict(message), structs.asdict(usual)
    return {name: value for name, value in found.items() if value != before[name]}


def test_what_the_connector_writes_is_taken_over() -> None:
    assert said(WRITTEN) == TAKEN


def test_what_json_puts_in_quotes_is_taken_over() -> None:
    texts = (f"{M}MsgId", f"{M}CorrelId", f"{M}GroupId", f"{M}Format", f"{M}ReplyToQ")
    quoted = {name: b'"' + WRITTEN[name] + b'"' for name in texts}
    assert said(WRITTEN | quoted) == TAKEN


def test_what_jms_says_without_the_descriptor_is_taken_over() -> None:
    headers: dict[str, bytes | None] = {
        "JMSXGroupID": f"ID:{HEX}".encode(),
        "JMSXGroupSeq": b"2",
        "JMS_IBM_Last_Msg_In_Group": b"true",
        "JMS_IBM_Format": b"MYFORMAT",
        "JMS_IBM_MsgType": b"4",
        "JMS_IBM_Feedback": b"-5",
    }
    assert said(headers) == {
        "group_id": IDENT,
        "group_seq": 2,
        "last_in_group": True,
        "format": "MYFORMAT",
        "message_type": 4,
        "feedback": -5,
    }
    headers |= {f"{M}GroupId": base64.b64encode(bytes(24)), "JMSXGroupID": b"orders"}
    assert said(headers)["group_id"] == b"orders" + bytes(18)


@pytest.mark.parametrize("value", [IDENT, HEX.encode(), f"ID:{HEX}".encode(), BASE64])
def test_forms_of_an_id(value: bytes) -> None:
    assert said({f"{M}CorrelId": value}) == {"correlation_id": IDENT}


@pytest.mark.parametrize(
    "value",
    [
        None,
        b"",
        b"[B@5cde362e",
        b"ID:",
        b"ID:" + b"0" * 47,
        b"ID:" + b"g" * 48,
        b"0" * 48,
        bytes(24),
        base64.b64encode(bytes(24)),
        base64.b64encode(bytes(range(23))),
        b"\xff" * 25,
        b"A" * 1_000_000,
    ],
)
def test_what_is_no_id_says_nothing(value: bytes | None) -> None:
    assert said({f"{M}{name}": value for name in ("MsgId", "CorrelId", "GroupId")}) == {}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Priority", (b"-1", b"10", b"7.0", b"high", b"", b"\x07", None, b"9" * 5_000)),
        ("Expiry", (b"0", b"-2", b"1000000000", b"soon", None)),
        ("Format", (b"MQDEAD", b"MQXMIT", b"MQHRF2  ", b"MQADMIN", b"NINECHARS", b"\xff")),
        ("ReplyToQ", (b"a queue", b"x" * 49, "é".encode(), b"")),
        ("MsgType", (b"0", b"3", b"65535", b"1000000000", b"1")),
        ("Feedback", (b"2147483648", b"-2147483649", b"x")),
        ("MsgSeqNumber", (b"2",)),
        ("MsgFlags", (b"16",)),
    ],
)
def test_a_value_that_is_not_valid_says_nothing(name: str, values: tuple[bytes | None]) -> None:
    for value in values:
        assert said({f"{M}{name}": value}) == {}, value


def test_a_place_in_a_group_is_valid() -> None:
    for value in (b"0", b"1000000000", b"-1", b"x"):
        found = said({f"{M}GroupId": BASE64, f"{M}MsgSeqNumber": value, f"{M}MsgFlags": b"x"})
        assert found == {"group_id": IDENT}


def test_a_message_of_the_connector_lives_for_ever() -> None:
    assert said({f"{M}Expiry": b"-1"}) == {"expiry_ms": -1}


@given(
    st.dictionaries(
        st.sampled_from(sorted(WRITTEN)),
        st.none()
        | st.binary(max_size=60)
        | st.integers(-(2**33), 2**33).map(lambda n: b"%d" % n)
        | st.sampled_from(sorted(WRITTEN.values())),
    )
)
def test_whatever_headers_say_a_queue_takes_the_message(headers: dict[str, bytes | None]) -> None:
    message = MessageData(persistence=1)
    describe(message, headers)
    queue = client_on("Q").core.queue()
    put.check(queue, message)
    assert (message.report, message.user, message.application) == (0, "", "")
    assert (message.details, message.persistence, message.ccsid) == (None, 1, 1208)


def test_a_key_that_was_an_id_is_that_id() -> None:
    assert ident_of_key(HEX.encode()) == ident_of_key(f"ID:{HEX}".encode()) == IDENT
    assert ident_of_key(IDENT) == IDENT
    assert ident_of_key(b"customer-17") == b"customer-17" + bytes(13)
    assert ident_of_key(b"\xff") == b"\xff" + bytes(23)
