"""What a server answers to clients that are broken, hostile, or of another kind altogether.

Each time: a clear sentence for the sender, another client that goes on working, and memory that
stays within bounds. One server process on a real Kafka takes all of it.
"""

from __future__ import annotations

import contextlib
import random
import socket
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import msgspec
import pytest

from adapter.connection.wire import frames
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from tests.support.bystander import Bystander
from tests.support.raw_client import GOODBYE, HELLO, REPLIES, REQUESTS, RawClient, Refusal, framed
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

MEGABYTE = 1024 * 1024
GROWTH_BYTES_MAX = 150 * MEGABYTE
"""For one connection: a frame of 16 MiB, a few copies of it, and what it is decoded to."""
IN_OUT = c.INPUT | c.OUTPUT | c.BROWSE
QUEUE = "Q"


@pytest.fixture(scope="module")
def server(
    kafka: AnyKafka, run_numbers: Iterator[int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("server")
    name = f"BAD{next(run_numbers)}"
    with ServerProcess(name, kafka.bootstrap_servers, folder) as process:
        process.start()
        with Bystander(process.address, QUEUE):
            pass  # defines the queue, and has everything loaded that a server needs
        yield process
        assert "Traceback" not in process.said()


@pytest.fixture
def undisturbed(server: ServerProcess) -> Iterator[None]:
    """Around each test: another client works, memory is bounded, nothing is left open."""
    server.forget_peak()
    before = server.rss_bytes()
    with Bystander(server.address, "BYSTANDER"):
        yield
    grown = server.peak_rss_bytes() - before
    assert grown < GROWTH_BYTES_MAX, f"memory grew by {grown / MEGABYTE:.0f} MiB"


pytestmark = pytest.mark.usefixtures("undisturbed")


@pytest.fixture
def client(server: ServerProcess) -> Iterator[RawClient]:
    """A client that has said hello."""
    with RawClient(server.address) as client:
        client.hello()
        yield client


@pytest.fixture(scope="module")
def sessions() -> Iterator[bytes]:
    """Session ids that nobody has used."""
    chance = random.Random(4)
    return (chance.randbytes(16) for _ in count())


def nested(depth: int) -> bytes:
    """Arrays within arrays."""
    return b"\x91" * depth + b"\x90"


# -- bytes that are no frames

MOST = f"{frames.HELLO_BYTES_MAX} is the most"
"""Of a client that has not said who it is."""


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ((frames.HELLO_BYTES_MAX + 1).to_bytes(4, "big"), MOST),
        ((frames.FRAME_BYTES_MAX + 1).to_bytes(4, "big"), MOST),
        ((2**32 - 1).to_bytes(4, "big"), MOST),
        ((105 * MEGABYTE).to_bytes(4, "big") + bytes(17 * MEGABYTE), MOST),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "is this a client of this protocol?"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(509), "client of this protocol?"),
        (framed(b""), "malformed"),
        (framed(b"\xc1"), "malformed"),
        (framed(b"\x93\x01"), "malformed"),
        (framed(nested(20_000)), "malformed"),
        (framed(b"\x93\x03\x91\x93\x01\x00" + nested(5_000) + b"\x90"), "malformed"),
        (framed(msgspec.msgpack.encode({"hello": 1})), "malformed"),
        (framed(msgspec.msgpack.encode(7)), "malformed"),
        (framed(msgspec.msgpack.encode([])), "malformed"),
        (framed(msgspec.msgpack.encode([99, 1])), "malformed"),
        (framed(msgspec.msgpack.encode([HELLO, "one"])), "malformed"),
        (framed(msgspec.msgpack.encode([HELLO, 1, 2])), "malformed"),
        (framed(msgspec.msgpack.encode([REPLIES, []])), "malformed"),
        (framed(msgspec.msgpack.encode([GOODBYE, [2, 1]])), "malformed"),
        (framed(b"\xdd\xff\xff\xff\xff"), "malformed"),
        (framed(b"\xc6\xff\xff\xff\xff"), "malformed"),
    ],
)
def test_bytes_that_are_no_frame(server: ServerProcess, data: bytes, words: str) -> None:
    with RawClient(server.address) as client:
        client.send(data)
        refused = client.goodbye()
    assert refused.reason is Reason.MALFORMED_REQUEST
    assert words in refused.detail


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (framed(b"\xc1"), "malformed"),
        (framed(nested(200_000)), "malformed"),
        ((frames.FRAME_BYTES_MAX + 1).to_bytes(4, "big"), f"{frames.FRAME_BYTES_MAX} is the most"),
    ],
)
def test_bytes_that_are_no_frame_after_a_welcome(
    client: RawClient, data: bytes, words: str
) -> None:
    client.send(data)
    refused = client.goodbye()
    assert refused.reason is Reason.MALFORMED_REQUEST
    assert words in refused.detail


def test_random_bytes(server: ServerProcess) -> None:
    """Each connection is refused, or waits for the rest of what looks like a frame."""
    chance = random.Random(1)
    for _ in range(200):
        with RawClient(server.address) as client:
            if chance.random() < 0.5:
                client.hello()
            data = chance.randbytes(chance.randrange(1, 2000))
            client.send(framed(data) if chance.random() < 0.5 else data)
            client.sock.shutdown(socket.SHUT_WR)
            with contextlib.suppress(EOFError, ConnectionResetError):
                assert client.goodbye().reason is Reason.MALFORMED_REQUEST


@pytest.mark.parametrize("sent", [0, 1, 3, 4, 5, 1000])
def test_a_frame_that_breaks_off(server: ServerProcess, sent: int) -> None:
    whole = framed(msgspec.msgpack.encode([HELLO, 1, "x" * 2000]))
    with RawClient(server.address) as client:
        client.send(whole[:sent])
        client.sock.shutdown(socket.SHUT_WR)
        client.await_end()
    with RawClient(server.address) as client:
        client.send(whole[:sent])
        client.break_off()


# -- hello


def test_another_version_of_the_protocol(server: ServerProcess) -> None:
    for version in (0, frames.PROTOCOL_VERSION + 1, 2**63, -1):
        with RawClient(server.address) as client:
            client.say_hello(version=version)
            refused = client.goodbye()
        assert refused.reason is Reason.PROTOCOL_VERSION_ERROR
        assert f"the client speaks version {version}" in refused.detail
        assert "install a newer release of the" in refused.detail


def test_another_queue_manager(server: ServerProcess) -> None:
    with RawClient(server.address) as client:
        client.say_hello(queue_manager="OTHER")
        refused = client.goodbye()
    assert refused == Refusal(
        Reason.QUEUE_MANAGER_NAME_ERROR, "OTHER", f"this is {server.queue_manager}"
    )


def test_requests_before_hello_and_hello_twice(server: ServerProcess, client: RawClient) -> None:
    with RawClient(server.address) as other:
        other.request([16, "*"])
        assert "not expected on a connection that is new" in other.goodbye().detail
    client.say_hello()
    assert "not expected on a connection that is open" in client.goodbye().detail


# -- requests of the wrong shape


def test_more_operations_than_a_frame_may_have(client: RawClient) -> None:
    status = c.AskStatus(QUEUE)
    client.send_frame([REQUESTS, [[n, 0, status] for n in range(frames.OPERATIONS_MAX + 1)], []])
    refused = client.goodbye()
    assert refused.reason is Reason.MALFORMED_REQUEST
    assert "length <= 10000" in refused.detail


def test_as_many_operations_as_a_frame_may_have(client: RawClient) -> None:
    client.request(*[c.AskStatus(QUEUE)] * frames.OPERATIONS_MAX)
    answered = 0
    while answered < frames.OPERATIONS_MAX:
        answered += len(client.receive()[1])


BAD_COMMANDS: list[Any] = [
    [0, 1],
    [999, 1],
    "open",
    7,
    None,
    {},
    [],
    ["3", 1, QUEUE, 1],
    [3],
    [3, "1", QUEUE, 1],
    [3, 1, b"\xff", 1],
    [3, 1.5, QUEUE, 1],
    [5, 1, [["body as text"]]],
    [5, 1, [[b"", b"", b"", b"", "1"]]],
    [5, 1, {}],
    [6, 1, "unit"],
    [6, 1, b"", 0, 1, b"", b"", b"", 1],
    [6, 1, b"", 0, 1, b"", b"", b"", False, [1, 2]],
    [2, bytes(16), ["1"], 1],
    [11, "NEW", [1]],
    [11, "NEW", {1: 2}],
    [8, 5],
    msgspec.Raw(nested(100)),
    [11, "NEW", {"max_depth": msgspec.Raw(nested(400))}],
    [5, 1, [[b"", *[b""] * 3, 1, False, 1, 1, -1, "", 8, 0, 0, 0, 0, *[""] * 4,
             {"p": msgspec.Raw(nested(400))}]]],
]  # fmt: skip


@pytest.mark.parametrize("command", BAD_COMMANDS, ids=range(len(BAD_COMMANDS)))
def test_a_bad_operation_answers_for_itself(client: RawClient, command: Any) -> None:
    """Its neighbours in the same frame are executed, and the connection goes on."""
    before = client.request(c.AskStatus(QUEUE), command, c.AskStatus(QUEUE)) - 2
    answers = dict(answers_to(client, before, 3))
    assert answers[before][0] == answers[before + 2][0] == 7
    assert answers[before + 1][0] == 2
    assert answers[before + 1][1] in (Reason.MALFORMED_REQUEST, Reason.OUT_OF_ORDER)
    assert client.ask(c.AskStatus(QUEUE))[0] == 7


def answers_to(client: RawClient, first: int, number: int) -> Iterator[tuple[int, Any]]:
    """The answers to so many requests, in the order in which they came."""
    wanted = set(range(first, first + number))
    while wanted:
        for request, result in client.receive()[1]:
            wanted.discard(request)
            yield request, result


def test_an_operation_of_the_wrong_shape_ends_the_connection(client: RawClient) -> None:
    """Without a request number there is nobody to answer to."""
    client.send_frame([REQUESTS, [["one", 0, [16, "*"]]], []])
    assert client.goodbye().reason is Reason.MALFORMED_REQUEST


# -- requests that are well formed, and wrong


def test_handles(client: RawClient, sessions: Iterator[bytes]) -> None:
    client.open_session(next(sessions))
    client.ask(c.Open(1, QUEUE, c.BROWSE))
    for command, reason in (
        (c.Open(1, QUEUE, c.OUTPUT), Reason.HANDLE_IN_USE),
        (c.Open(0, QUEUE, c.OUTPUT), Reason.HANDLE_IN_USE),
        (c.Open(-1, QUEUE, c.OUTPUT), Reason.HANDLE_IN_USE),
        (c.Open(2**63, QUEUE, c.OUTPUT), Reason.HANDLE_IN_USE),
        (c.Open(2, QUEUE, 0), Reason.OPTIONS_ERROR),
        (c.Open(2, QUEUE, 64), Reason.OPTIONS_ERROR),
        (c.Open(2, QUEUE, -1), Reason.OPTIONS_ERROR),
        (c.Open(2, "NO.SUCH.QUEUE", c.OUTPUT), Reason.QUEUE_NOT_FOUND),
        (c.Close(2), Reason.HANDLE_NOT_OPEN),
        (c.Browse(2), Reason.HANDLE_NOT_OPEN),
        (c.Browse(1, limit=0), Reason.OPTIONS_ERROR),
        (c.Browse(1, message_id=b"short"), Reason.IDENTIFIER_ERROR),
    ):
        assert client.refused(command).reason is reason, command
    assert client.refused(put(b"x", handle=1), number=1).reason is Reason.NOT_OPEN_FOR_OUTPUT
    assert client.refused(c.Get(1), number=2).reason is Reason.NOT_OPEN_FOR_INPUT


def put(*bodies: bytes, handle: int = 1, unit: bytes = b"") -> list[Any]:
    """Make a put."""
    return [5, handle, [[body] for body in bodies], unit]


def test_handles_without_end(client: RawClient) -> None:
    answer = Refusal(Reason.LIMIT_REACHED, QUEUE, "a connection has at most 256 handles")
    for handle in range(1, 257):
        client.ask(c.Open(handle, QUEUE, c.OUTPUT))
    assert client.refused(c.Open(257, QUEUE, c.OUTPUT)) == answer


def test_units_of_others(
    server: ServerProcess, client: RawClient, sessions: Iterator[bytes]
) -> None:
    mine, theirs = next(sessions), next(sessions)
    assert client.refused(c.Begin(unit(mine, 1))).reason is Reason.OUT_OF_ORDER
    client.open_session(mine)
    with RawClient(server.address) as other:
        other.hello()
        other.open_session(theirs)
        other.ask(c.Begin(unit(theirs, 1)), c.Open(1, QUEUE, IN_OUT))
        client.ask(c.Open(1, QUEUE, IN_OUT))
        for command, reason in (
            (c.Begin(unit(theirs, 1)), Reason.IDENTIFIER_ERROR),
            (c.Begin(unit(theirs, 2)), Reason.IDENTIFIER_ERROR),
            (c.Begin(mine), Reason.IDENTIFIER_ERROR),
            (c.Begin(b""), Reason.IDENTIFIER_ERROR),
            (c.Begin(unit(mine, 2**63)), Reason.IDENTIFIER_ERROR),
            (put(b"x", unit=unit(theirs, 1)), Reason.BACKED_OUT),
            (c.Get(1, unit(theirs, 1)), Reason.BACKED_OUT),
        ):
            assert client.refused(command).reason is reason, command
        assert client.refused(c.Commit(unit(theirs, 1)), number=1).reason is Reason.BACKED_OUT
        assert client.refused(c.Backout(unit(theirs, 1)), number=2).reason is Reason.BACKED_OUT
        client.ask(c.Begin(unit(mine, 1)))
        assert client.refused(c.Begin(unit(mine, 1))).reason is Reason.IDENTIFIER_ERROR
        client.ask(c.Commit(unit(mine, 1)), number=3)
        assert client.refused(c.Begin(unit(mine, 1))).reason is Reason.IDENTIFIER_ERROR
        assert other.ask(c.Commit(unit(theirs, 1)), number=1)[0] == 1


def unit(session: bytes, number: int) -> bytes:
    """Make a unit id."""
    return session + number.to_bytes(8, "big")


def test_numbers_out_of_order(client: RawClient, sessions: Iterator[bytes]) -> None:
    alter = c.AlterQueue(QUEUE, {})
    assert client.refused(alter, number=1).reason is Reason.OUT_OF_ORDER
    client.open_session(next(sessions))
    for number in (0, 2, -1, 2**63, 2**64 - 1):
        assert client.refused(alter, number=number).reason is Reason.OUT_OF_ORDER
    assert client.ask(alter, number=1)[0] == 1
    assert client.ask(c.PurgeQueue("NO.SUCH.QUEUE"), number=1)[0] == 1, "it has an answer already"
    assert client.refused(c.AskStatus("*"), number=2).reason is Reason.OUT_OF_ORDER
    assert client.ask(alter, number=2)[0] == 1


def test_a_session_that_another_connection_takes_over(
    server: ServerProcess, client: RawClient, sessions: Iterator[bytes]
) -> None:
    ident = next(sessions)
    client.open_session(ident)
    client.ask(c.Open(1, QUEUE, IN_OUT), c.Begin(unit(ident, 1)), put(b"x", unit=unit(ident, 1)))
    with RawClient(server.address) as other:
        other.hello()
        assert other.ask(c.SessionResume(ident, [], 0))[0] == 8
        refused = client.goodbye()
        assert refused.reason is Reason.OUT_OF_ORDER
        assert "another connection has taken this session over" in refused.detail
        assert other.refused(c.Commit(unit(ident, 1)), number=1).reason is Reason.BACKED_OUT
        assert other.ask(c.AskOutcome(unit(ident, 1))) == [5, "backed out"]


def test_sessions_that_are_none(client: RawClient, sessions: Iterator[bytes]) -> None:
    unknown = client.refused(c.SessionResume(next(sessions), [], 0))
    assert unknown.reason is Reason.OUTCOME_UNKNOWN
    assert client.refused(c.SessionOpen(b"short")).reason is Reason.IDENTIFIER_ERROR
    client.open_session(next(sessions))
    for numbers, issued in (([0], 1), ([2], 1), ([-1], 1), ([1], 2**64 - 1), ([], -1)):
        resume = c.SessionResume(client.session, numbers, issued)
        assert client.refused(resume).reason is Reason.OUT_OF_ORDER
    assert client.refused(c.SessionOpen(next(sessions))).reason is Reason.OUT_OF_ORDER


def far_too_long() -> Iterator[Any]:
    """Commands with a name, a value or an id of 15 MiB."""
    text = "x" * (15 * MEGABYTE)
    yield c.Open(1, text, 1)
    yield c.DefineQueue(text)
    yield c.DeleteQueue(text)
    yield c.Inquire(text)
    yield c.AskStatus(text)
    yield c.DefineQueue("NEW", {text: 1})
    yield c.AlterQueue(QUEUE, {"description": text})
    yield c.AlterQueue(QUEUE, {"max_depth": text})
    yield c.AlterQueue(QUEUE, {"backout_requeue_queue": text})
    yield c.AskOutcome(text.encode())
    yield c.Begin(text.encode())
    yield c.SessionOpen(text.encode())
    fields = [b"", *[b""] * 3, 1, False, 1, 1, -1]
    yield [5, 1, [[*fields, text]]]
    yield [5, 1, [[*fields, "", 8, 0, 0, 0, 0, *[""] * 4, {text: 1}]]]


def test_names_and_values_that_are_far_too_long(
    server: ServerProcess, client: RawClient, sessions: Iterator[bytes]
) -> None:
    """The answer does not carry them back."""
    for command in far_too_long():
        with RawClient(server.address) as client:
            client.hello()
            client.open_session(next(sessions))
            numbered = isinstance(command, (c.DefineQueue, c.AlterQueue, c.DeleteQueue))
            client.request(command, number=int(numbered))
            (answered,) = client.receive()[1]
            length = len(msgspec.msgpack.encode(answered))
            assert length < 2000, f"{type(command)} is answered with {length} bytes"
            assert answered[1][0] in (2, 6, 7)


# -- too much


def many(count: int, header: int, element: bytes) -> bytes:
    """Make an array or a map of as many elements, all the same."""
    return header.to_bytes(1, "big") + count.to_bytes(4, "big") + element * count


ARRAY, MAP = 0xDD, 0xDF
SMALLEST_MESSAGE = b"\x91\xc4\x00"


def test_small_things_in_great_number_in_a_frame(server: ServerProcess) -> None:
    """A frame that holds millions of the smallest things there are is not taken apart."""
    for parts in (
        many(4_000_000, ARRAY, b"\x93\x00\x00\x90") + b"\x90",
        b"\x90" + many(16_000_000, ARRAY, b"\x01"),
    ):
        with RawClient(server.address) as client:
            client.hello()
            client.send(framed(b"\x93\x03" + parts))
            refused = client.goodbye()
            assert refused.reason is Reason.MALFORMED_REQUEST
            assert "length <= 10000" in refused.detail


@pytest.mark.parametrize(
    "command",
    [
        lambda: b"\x93\x05\x01" + many(5_000_000, ARRAY, SMALLEST_MESSAGE),
        lambda: b"\x93\x0c\xa1Q" + many(5_000_000, MAP, b"\xa1x\x01"),
        lambda: b"\x93\x0c\xa1Q\x81\xa1x" + many(16_000_000, ARRAY, b"\x90"),
        lambda: b"\x94\x02\xc4\x00" + many(16_000_000, ARRAY, b"\x01") + b"\x00",
        lambda: put_with_properties(many(5_000_000, MAP, b"\xa1x\x01")),
        lambda: put_with_properties(b"\x81\xa1x" + many(16_000_000, ARRAY, b"\x90")),
    ],
    ids=["messages", "attributes", "an attribute", "numbers", "properties", "a property"],
)
def test_small_things_in_great_number_in_an_operation(
    client: RawClient, command: Callable[[], bytes]
) -> None:
    refused = client.refused(msgspec.Raw(command()))
    assert refused.reason is Reason.MALFORMED_REQUEST
    assert client.ask(c.AskStatus(QUEUE))[0] == 7


def put_with_properties(properties: bytes) -> bytes:
    """Make a put of one message."""
    fields = [b"", b"", b"", b"", 1, False, 1, 1, -1, "", 8, 0, 0, 0, 0, "", "", "", ""]
    encoded = [msgspec.Raw(msgspec.msgpack.encode(field)) for field in fields]
    return msgspec.msgpack.encode([5, 1, [[*encoded, msgspec.Raw(properties)]]])


def test_many_puts_of_many_messages_in_one_frame(client: RawClient) -> None:
    """What one operation is decoded to is gone before the next one is looked at."""
    messages = many(9_000, ARRAY, SMALLEST_MESSAGE)
    command = msgspec.Raw(b"\x94\x05\x01" + messages + b"\xc4\x01u")
    operations = 16 * MEGABYTE // (len(bytes(command)) + 20)
    first = client.request(*[command] * operations) - operations + 1
    for _, answer in answers_to(client, first, operations):
        assert answer[1] == Reason.HANDLE_NOT_OPEN
