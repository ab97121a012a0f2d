"""Message: properties, their checks, and what becomes of them in core's message."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.msmq import (
    AcknowledgeTypes,
    Acknowledgment,
    BinaryMessageFormatter,
    BytesFormatter,
    InvalidOperationError,
    Message,
    MessagePriority,
    MessageReadPropertyFilter,
    XmlMessageFormatter,
)
from adapter.msmq.message import incoming
from adapter.msmq.variants import VT_BYTES

GUID = "00112233-4455-6677-8899-aabbccddeeff"


def test_defaults_are_those_of_msmq() -> None:
    data = Message("x").to_data()
    assert data.msmq == MsmqHeader(reach_ms=4 * 86_400_000)
    assert (data.priority, data.expiry_ms) == (3, -1)
    assert data.body == b'<?xml version="1.0"?>\n<string>x</string>'


def test_what_a_program_sets_is_sent() -> None:
    message = Message(
        b"raw",
        label="é",
        priority=7,
        correlation_id=f"{GUID}\\258",
        response_queue=r".\private$\back",
        acknowledge_type=AcknowledgeTypes.FULL_RECEIVE,
        use_dead_letter_queue=True,
        use_journal_queue=True,
        time_to_be_received=1.5,
        time_to_reach_queue=None,
        app_specific=2**32 - 1,
    )
    data = message.to_data()
    header = data.msmq
    assert header is not None
    assert data.body == b"raw"
    assert header.body_type == VT_BYTES
    assert data.correlation_id == bytes.fromhex(GUID.replace("-", "")) + (258).to_bytes(8, "big")
    assert (data.priority, data.expiry_ms, header.reach_ms) == (7, 1500, -1)
    assert (header.journal, header.acknowledge) == (3, 14)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("label", "x" * 250, ValueError),
        ("label", 1, TypeError),
        ("priority", 8, ValueError),
        ("priority", -1, ValueError),
        ("recoverable", 1, TypeError),
        ("correlation_id", "abc", ValueError),
        ("time_to_be_received", -1, ValueError),
        ("time_to_be_received", "1", TypeError),
        ("time_to_be_received", float("nan"), ValueError),
        ("app_specific", 2**32, ValueError),
        ("acknowledge_type", 3, TypeError),
        ("id", "x", ValueError),
        ("colour", "red", ValueError),
    ],
)
def test_wrong_values_are_refused(name: str, value: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind):
        Message("x", None, **{name: value})


def test_what_the_queue_manager_gives_cannot_be_set() -> None:
    with pytest.raises(AttributeError, match="queue manager"):
        Message().lookup_id = 1


def delivered(**fields: object) -> Delivered:
    header = MsmqHeader(
        label="label", body_type=VT_BYTES, transactional=True, sent_ms=1000, message_class=0xC001
    )
    data = MessageData(b"body", bytes(16) + b"\0\0\0\0\0\0\0\1", priority=2, put_time_ms=2000)
    data.msmq = header
    return Delivered(data, 2, 9, 0, 1, bytes(range(24)), 5, 9, 0, 2)


def test_what_is_received() -> None:
    found = incoming(delivered(), XmlMessageFormatter(), MessageReadPropertyFilter())
    assert (found.body, found.label, found.priority) == (b"body", "label", MessagePriority.LOW)
    assert found.id == "00000000-0000-0000-0000-000000000000\\1"
    assert found.lookup_id == (5 << 56) + 9
    assert found.abort_count == 1
    assert found.transaction_id.startswith("00010203-0405")
    assert (found.is_first_in_transaction, found.is_last_in_transaction) == (True, False)
    assert found.sent_time == datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)
    assert found.arrived_time == datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
    assert found.acknowledgment is Acknowledgment.QUEUE_PURGED


def test_a_body_of_none_is_received_as_none() -> None:
    sent = delivered()
    sent.message = Message(None).to_data()
    found = incoming(sent, XmlMessageFormatter(), MessageReadPropertyFilter())
    assert found.body is None
    assert found.body_bytes == b""


def test_a_filter_leaves_properties_out() -> None:
    wanted = MessageReadPropertyFilter(body=False)
    found = incoming(delivered(), XmlMessageFormatter(), wanted)
    assert found.label == "label"
    for name in ("body", "body_bytes", "body_type"):
        with pytest.raises(InvalidOperationError, match="property body was not read"):
            getattr(found, name)
    with pytest.raises(InvalidOperationError):
        found.to_data()
    found.body = "new"
    assert found.to_data().body.endswith(b"<string>new</string>")


def test_a_received_message_is_sent_on_as_it_is() -> None:
    found = incoming(delivered(), XmlMessageFormatter(), MessageReadPropertyFilter())
    for message in (found, found.copy()):
        data = message.to_data(BinaryMessageFormatter())
        assert (data.body, data.priority, data.message_id) == (b"body", 2, b"")
        assert data.msmq is not None
        assert data.msmq.label == "label"
    assert found.copy().time_to_be_received is None


def test_the_formatter_of_the_message_comes_first() -> None:
    assert Message(b"x", formatter=BytesFormatter()).to_data(XmlMessageFormatter()).body == b"x"
    data = Message(5, formatter=BinaryMessageFormatter()).to_data(XmlMessageFormatter())
    assert data.msmq is not None
    assert data.msmq.body_type == 768


def test_an_empty_message() -> None:
    message = Message()
    assert (message.body, message.body_bytes, message.body_type) == (None, b"", 0)
    assert message.time_to_reach_queue == timedelta(days=4)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Label", "did you mean label?"),
        ("lable", "did you mean label?"),
        ("TimeToBeReceived", "did you mean time_to_be_received?"),
        ("use_encryption", "neither signed nor encrypted"),
        ("attach_sender_id", "neither signed nor encrypted"),
        ("UseTracing", "no report queues"),
        ("BodyStream", "body_bytes"),
        ("xyzzy", "check its name"),
    ],
)
def test_finding_msmq_d4_a_message_has_no_other_properties(name: str, hint: str) -> None:
    message = Message()
    with pytest.raises(AttributeError) as wrong:
        setattr(message, name, True)
    assert f"a message has no property {name!r} that can be set: " in str(wrong.value)
    assert hint in str(wrong.value)
    with pytest.raises(ValueError, match=name):
        Message(None, None, **{name: True})


class Order(Message):
    """A message with a property of a program's own."""

    number = 0


def test_finding_msmq_d4_a_class_of_the_program_may_have_more() -> None:
    order = Order("x")
    order.number = 5
    assert order.number == 5
    with pytest.raises(AttributeError, match="is given by the queue manager"):
        order.id = "x"
