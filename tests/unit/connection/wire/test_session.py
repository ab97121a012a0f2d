"""The server's end of a connection: which frame is legal when, and what one bad frame costs."""

import contextlib

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from adapter.connection.wire import codec, frames
from adapter.connection.wire.session import ProtocolState, Received, ServerSession
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.examples import examples

HELLO = codec.encode(frames.Hello(version=frames.PROTOCOL_VERSION))
INQUIRE = frames.Operation(1, 0, codec.raw(c.Inquire("*")))
REQUESTS = codec.encode(frames.Requests([INQUIRE], [5]))


def opened() -> ServerSession:
    session = ServerSession("QM1")
    session.receive(HELLO)
    assert session.state is ProtocolState.OPEN
    return session


def reason(received: Received) -> Reason | None:
    return None if received.goodbye is None else Reason(received.goodbye.reason)


def is_nothing(received: Received) -> bool:
    return not (received.hello or received.operations or received.seen or received.goodbye)


def test_hello_then_requests_also_in_one_piece() -> None:
    session = ServerSession("QM1")
    received = session.receive(HELLO + REQUESTS + REQUESTS)
    assert received.hello is not None
    assert [each.command for each in received.operations] == [c.Inquire("*")] * 2
    assert received.seen == [5, 5]
    assert received.goodbye is None


@pytest.mark.parametrize("name", ["", "QM1"])
def test_the_queue_manager_may_be_named(name: str) -> None:
    session = ServerSession("QM1")
    received = session.receive(codec.encode(frames.Hello(version=1, queue_manager=name)))
    assert received.goodbye is None


def test_another_queue_manager_was_meant() -> None:
    session = ServerSession("QM1")
    received = session.receive(codec.encode(frames.Hello(version=1, queue_manager="QM2")))
    assert received.goodbye == Refused(Reason.QUEUE_MANAGER_NAME_ERROR, "QM2", "this is QM1")
    assert session.state is ProtocolState.CLOSED
    assert received.hello is None


@pytest.mark.parametrize("version", [0, 4, 99])
def test_another_version_of_the_protocol(version: int) -> None:
    session = ServerSession("QM1")
    received = session.receive(codec.encode(frames.Hello(version=version)) + REQUESTS)
    assert reason(received) is Reason.PROTOCOL_VERSION_ERROR
    assert received.goodbye is not None
    older = "queue manager" if version else "client"
    assert received.goodbye.detail == (
        f"the client speaks version {version}, this queue manager versions 1 to 3: "
        f"install a newer release of the {older}"
    )
    assert received.operations == []


@pytest.mark.parametrize(
    ("newest", "oldest", "spoken"),
    [(1, 0, 1), (1, 1, 1), (2, 1, 2), (3, 1, 3), (4, 1, 3), (5, 4, 0), (5, 0, 0)],
)
def test_the_newest_version_of_both_is_spoken(newest: int, oldest: int, spoken: int) -> None:
    hello = frames.Hello(version=newest, oldest=oldest)
    assert frames.common_version(hello) == spoken
    received = ServerSession("QM1").receive(codec.encode(hello))
    assert (received.goodbye is None) == bool(spoken)
    if oldest > 2:
        assert received.goodbye is not None
        assert f"the client speaks versions {oldest} to {newest}" in received.goodbye.detail


def test_a_hello_of_a_later_release_may_say_more() -> None:
    """Fields that are not known here are at its end, and are passed over."""
    said = [1, 7, "QM1", "app", "ann", 1, "password", "CHANNEL", "token", 1000]
    said += ["more", {"and": "more"}]
    payload = msgspec.msgpack.encode(said)
    received = ServerSession("QM1").receive(len(payload).to_bytes(4, "big") + payload)
    assert received.hello is not None
    assert (received.hello.user, received.goodbye) == ("ann", None)


def test_requests_before_hello() -> None:
    session = ServerSession("QM1")
    received = session.receive(REQUESTS)
    assert reason(received) is Reason.MALFORMED_REQUEST
    assert received.operations == []


def test_hello_twice() -> None:
    session = opened()
    assert reason(session.receive(HELLO)) is Reason.MALFORMED_REQUEST
    assert session.state is ProtocolState.CLOSED


def test_a_closed_connection_takes_nothing() -> None:
    session = opened()
    session.close()
    assert is_nothing(session.receive(REQUESTS))


def test_one_bad_operation_answers_for_itself() -> None:
    bad = frames.Operation(2, 0, Raw(b"\x92\x05\xa1x"))
    unknown = frames.Operation(3, 0, Raw(b"\x91\xcd\x27\x0f"))
    frame = codec.encode(frames.Requests([INQUIRE, bad, unknown, INQUIRE]))
    received = opened().receive(frame)
    kinds = [type(each.command) for each in received.operations]
    assert kinds == [c.Inquire, Refused, Refused, c.Inquire]
    refused = [each.command for each in received.operations if isinstance(each.command, Refused)]
    assert {each.reason for each in refused} == {Reason.MALFORMED_REQUEST}
    assert received.goodbye is None


def test_too_many_operations_in_a_frame() -> None:
    frame = codec.encode(frames.Requests([INQUIRE] * (frames.OPERATIONS_MAX + 1)))
    received = opened().receive(frame)
    assert reason(received) is Reason.MALFORMED_REQUEST
    assert received.operations == []
    most = codec.encode(frames.Requests([INQUIRE] * frames.OPERATIONS_MAX))
    assert len(opened().receive(most).operations) == frames.OPERATIONS_MAX


def test_what_came_whole_before_a_bad_frame_counts() -> None:
    session = opened()
    received = session.receive(REQUESTS + codec.encode(frames.Hello(version=1)) + REQUESTS)
    assert len(received.operations) == 1
    assert reason(received) is Reason.MALFORMED_REQUEST


def test_a_hello_is_short_and_a_longer_one_is_refused_by_its_first_bytes() -> None:
    session = ServerSession("QM1")
    longest = frames.Hello(
        version=1, token="t" * frames.TOKEN_LENGTH_MAX, user="u" * 256, password="p" * 256
    )
    assert len(codec.encode(longest)) <= frames.HELLO_BYTES_MAX
    received = session.receive((frames.HELLO_BYTES_MAX + 1).to_bytes(4, "big"))
    assert reason(received) is Reason.MALFORMED_REQUEST
    assert session.unfinished_bytes == 0
    assert reason(opened().receive((frames.HELLO_BYTES_MAX + 1).to_bytes(4, "big"))) is None


def test_what_came_whole_before_an_oversized_frame_counts() -> None:
    """Whether it came in one piece or in two must not matter."""
    received = opened().receive(REQUESTS + b"\xff\xff\xff\xff")
    assert len(received.operations) == 1
    assert reason(received) is Reason.MALFORMED_REQUEST


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01"])
def test_other_protocols_are_told(data: bytes) -> None:
    received = ServerSession("QM1").receive(data)
    assert reason(received) is Reason.MALFORMED_REQUEST
    assert received.goodbye is not None


@settings(max_examples=examples(150))
@given(st.lists(st.binary(max_size=60), max_size=6), st.booleans())
def test_any_bytes_are_answered_with_a_goodbye_or_taken(chunks: list[bytes], hello: bool) -> None:
    session = ServerSession("QM1")
    if hello:
        session.receive(HELLO)
    closed = False
    for chunk in chunks:
        received = session.receive(chunk)
        assert not closed or is_nothing(received)
        closed = closed or received.goodbye is not None
        assert (session.state is ProtocolState.CLOSED) == closed
        with contextlib.suppress(frames.ProtocolError):
            codec.encode(frames.Goodbye(received.goodbye or Refused(1)))


def test_a_hello_is_shown_without_its_password() -> None:
    hello = frames.Hello(version=2, user="ann", application="shop", password="PLANTED")
    assert repr(hello) == "Hello(version=2, application='shop', user='ann')"
    assert "PLANTED" not in f"{hello} {[hello]}"
