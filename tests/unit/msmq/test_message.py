"""Message: properties, their checks, and what becomes of them in core's message."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.connection.channel.requests import ENCODING_ERRORS
from adapter.connection.wire.codec import decode_command, raw
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.msmq import MsmqSend
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
from adapter.msmq.filters import PROPERTIES
from adapter.msmq.message import incoming
from adapter.msmq.property_names import settable
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
    found = incoming(delivered(), XmlMessageFormatter())
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
    found = incoming(sent, XmlMessageFormatter())
    assert found.body is None
    assert found.body_bytes == b""


def test_a_filter_leaves_properties_out() -> None:
    wanted = MessageReadPropertyFilter(body=False)
    found = incoming(delivered(), XmlMessageFormatter(), wanted.unread())
    assert found.label == "label"
    for name in ("body", "body_bytes", "body_type"):
        with pytest.raises(InvalidOperationError, match="property body was not read"):
            getattr(found, name)
    with pytest.raises(InvalidOperationError):
        found.to_data()
    found.body = "new"
    assert found.to_data().body.endswith(b"<string>new</string>")


def test_a_received_message_is_sent_on_as_it_is() -> None:
    found = incoming(delivered(), XmlMessageFormatter())
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


QUEUES = ("administration_queue", "response_queue", "dead_letter_queue")


@pytest.mark.parametrize("name", QUEUES)
def test_queues_of_this_machine_are_sent_with_a_dot(name: str) -> None:
    message = Message("x", None, **{name: r"localhost\private$\q"})
    assert getattr(message.to_data().msmq, name) == r".\private$\q"
    assert getattr(message, name) == r"localhost\private$\q"


def test_one_queue_is_one() -> None:
    several = r".\private$\a,.\private$\b"
    assert Message(response_queue=several).response_queue == several
    for name in ("administration_queue", "dead_letter_queue"):
        with pytest.raises(ValueError, match="one queue"):
            Message("x", None, **{name: several})


@pytest.mark.parametrize("name", QUEUES)
def test_what_is_sent_on_names_queues_of_its_first_sender(name: str) -> None:
    for sent in (r".\private$\q", r"DIRECT=OS:.\private$\q", r"localhost\private$\q", " "):
        found = received()
        vars(found)[name] = sent  # as another client may have written it
        vars(found)["source_computer"] = "AWAY"
        expected = sent.replace(".", "AWAY").replace("localhost", "AWAY")
        assert getattr(found.copy(), name) == expected
        for message in (found, found.copy(), received_without(found, "label")):
            assert getattr(message.to_data().msmq, name) == expected
        assert getattr(found, name) == sent
        found.label = "other"
        if sent.strip():
            setattr(found, name, sent)
            assert getattr(found.to_data().msmq, name).startswith(("DIRECT=OS:.", "."))


def received_without(message: Message, name: str) -> Message:
    """Return a message as it would be received if a filter left one property out."""
    found = received(unread=frozenset({name}))
    vars(found).update({one: vars(message)[one] for one in (*QUEUES, "source_computer")})
    return found


def received(body: tuple[bytes, int] = (b"", 0), unread: frozenset[str] = frozenset()) -> Message:
    """Return a message as it is received, with this body and type."""
    one = delivered()
    one.message.body = body[0]
    assert one.message.msmq is not None
    one.message.msmq.body_type = body[1]
    return incoming(one, XmlMessageFormatter((Line,)), unread)


@pytest.mark.parametrize("name", sorted(set(PROPERTIES) - {"body"}))
def test_a_message_is_sent_on_without_what_a_filter_leaves_out(name: str) -> None:
    found = received(XmlMessageFormatter().write("text"), frozenset({name}))
    data = found.to_data()
    assert data.body == b'<?xml version="1.0"?>\n<string>text</string>'
    assert data.msmq is not None
    assert data.msmq.label == ("" if name == "label" else "label")
    assert data.priority == (3 if name == "priority" else 2)
    assert found.copy().to_data().priority == data.priority
    found.sent_as(b"")
    assert found.id == ""


def test_what_is_set_is_read() -> None:
    found = received(unread=frozenset(PROPERTIES))
    found.label = "other"
    assert found.label == "other"
    with pytest.raises(InvalidOperationError, match="property priority was not read"):
        found.priority  # noqa: B018 -- reading it is what is refused


class Line(msgspec.Struct):
    number: int
    parts: list[str]


def append(value: list[Any]) -> None:
    value.append(value[0])


def replace_first(value: list[Any]) -> None:
    value[0] = True


def change_within(value: Line) -> None:
    value.parts[0] = "other"


@pytest.mark.parametrize(
    ("value", "change"),
    [(["one"], append), ([1, 2], replace_first), (Line(1, ["a"]), change_within)],
)
def test_what_the_body_shows_is_sent(value: Any, change: Callable[[Any], None]) -> None:
    formatter = XmlMessageFormatter((Line,))
    sent = formatter.write(value)
    net = sent[0].replace(b" />", b"/>") + b"\n", sent[1]  # as another writer has it
    found = received(net)
    assert found.to_data().body == net[0]
    assert found.body == value
    assert found.to_data().body == net[0]
    change(found.body)
    if value == [1, 2]:
        found.body[1] = False
    for message in (found, found.copy()):
        assert formatter.read(message.to_data().body, 0) == found.body != value


def test_a_body_of_a_formatter_that_only_reads_is_sent_on() -> None:
    class Reading:
        def write(self, value: Any) -> tuple[bytes, int]:
            raise KeyError

        def read(self, body: bytes, _: int) -> list[str]:
            return body.decode().split()

    found = received((b"a b", 8))
    found.formatter = Reading()
    assert found.body == ["a", "b"]
    assert found.to_data().body == b"a b"
    found.body.append("c")
    with pytest.raises(KeyError):
        found.to_data()


values = st.one_of(
    st.none(), st.text(), st.integers(), st.binary(), st.floats(), st.booleans(),
    st.binary().map(bytearray), st.lists(st.integers()), st.builds(object),
)  # fmt: skip


@given(written=st.one_of(values, st.tuples(values), st.tuples(values, values)))
def test_what_a_formatter_of_a_program_returns_can_be_sent_or_is_refused(written: Any) -> None:
    class Own:
        def write(self, _: Any) -> Any:
            return written

        def read(self, body: bytes, _: int) -> bytes:
            return body

    try:
        data = Message(5, formatter=Own()).to_data()
    except InvalidOperationError:
        return
    command = MsmqSend(1, data)
    assert decode_command(raw(command)) == command


class Text(str):
    """A text of a type of a program's own."""

    __slots__ = ()


class Whole(int):
    """A number of a type of a program's own."""


class Octets(bytes):
    """Bytes of a type of a program's own."""


properties = st.dictionaries(
    st.sampled_from(settable(Message)),
    st.one_of(
        values,
        st.timedeltas(),
        st.text("\ud800\0\\.,a").map(Text),
        st.integers(-1, 2**33).map(Whole),
        st.binary().map(Octets),
        st.sampled_from(AcknowledgeTypes),
        st.sampled_from([rf"{GUID}\1", Text(rf"{GUID}\{2**64 - 1}"), r".\private$\q"]),
    ),
)


@given(properties=properties, transaction=st.sampled_from([b"", bytes(24)]))
def test_whatever_a_program_sets_can_be_sent_or_is_refused(
    properties: dict[str, Any], transaction: bytes
) -> None:
    """The queue manager ends the connection at a command that it cannot read."""
    message = Message("x")
    for name, value in properties.items():
        with suppress(ValueError, TypeError):
            setattr(message, name, value)
    try:
        command = MsmqSend(1, message.to_data(), transaction)
    except (InvalidOperationError, ValueError, TypeError, AttributeError):
        return  # before anything is sent
    try:
        body = raw(command)
    except ENCODING_ERRORS:
        return
    assert decode_command(body) == command
