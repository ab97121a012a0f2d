"""Long frames and commands decode to little more than they weigh."""

import tracemalloc
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import msgspec
import pytest
from msgspec import Raw

from adapter.client.put_many import in_units
from adapter.connection.wire import codec, decode_limits, frames
from adapter.connection.wire.session import ServerSession
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.bounds import ATTRIBUTES_MAX, ELEMENTS_MAX, MESSAGES_MAX
from adapter.core.contract.details import Details
from adapter.core.contract.message import PROPERTIES_READ_MAX, MessageData
from adapter.core.contract.traits import TRAITS, Content
from tests.support.examples import few

LONG = "x" * decode_limits.TRUSTED_BYTES


def put(*properties: dict[str, Any]) -> Raw:
    """A long put."""
    messages = [MessageData(body=b"b", application=LONG, properties=each) for each in properties]
    return Raw(msgspec.msgpack.encode(c.Put(1, messages, b"unit")))


def test_properties_that_are_fine() -> None:
    values = {"a": None, "b": True, "c": -1, "d": 2**63, "e": 1.5, "f": "text", "g": b"bytes"}
    decoded = codec.decode_command(put({}, values, values))
    assert isinstance(decoded, c.Put)
    assert decoded.messages[1].properties == values


@pytest.mark.parametrize("value", [[], {}, [1] * 20, {str(n): 1 for n in range(20)}])
@pytest.mark.parametrize("application", ["a", LONG])
def test_properties_that_hold_more(value: Any, application: str) -> None:
    messages = [
        MessageData(application=LONG, properties={"a": 1}),
        MessageData(application=application, properties={"a": 1, "b": value}),
    ]
    with pytest.raises(frames.ProtocolError, match="a property is text"):
        codec.decode_command(codec.raw(c.Put(1, messages)))


def test_too_many_properties() -> None:
    with pytest.raises(frames.ProtocolError, match="at most 1000 properties"):
        codec.decode_command(put({str(number): 1 for number in range(PROPERTIES_READ_MAX + 1)}))


@pytest.mark.parametrize("encoded", [b"\x90", b"\xa1a", b"\x01", b"\xdf\xff\xff\xff\xff"])
def test_properties_that_are_no_map(encoded: bytes) -> None:
    whole = bytes(put({"a": 1}))
    before, behind = whole.split(b"\x81\xa1a\x01")
    with pytest.raises(frames.ProtocolError, match="malformed"):
        codec.decode_command(Raw(before + encoded + behind))


@pytest.mark.parametrize("data", [b"\x91", b"\xc1", b"\x92\x05\xa1", b"\x92\xa1"])
def test_what_is_no_command(data: bytes) -> None:
    with pytest.raises(frames.ProtocolError, match="malformed"):
        codec.decode_command(Raw(data * (decode_limits.TRUSTED_BYTES + 1)))
    with pytest.raises(frames.ProtocolError, match="malformed"):
        codec.decode_client_frame(data * (decode_limits.TRUSTED_BYTES + 1))


def test_a_tag_written_at_length_is_the_same_tag() -> None:
    command = bytes(put({"a": []}))
    assert command[1] == 5
    longer = Raw(command[:1] + b"\xcd\x00\x05" + command[2:])
    with pytest.raises(frames.ProtocolError, match="a property"):
        codec.decode_command(longer)


PROPERTIES: dict[str, Any] = {f"name{number}": "value" for number in range(20)}
UNITS: dict[str, list[MessageData]] = {
    "small": [MessageData(body=b"body")] * 10_000,
    "plain": [MessageData(body=b"b" * 100, application="python program.py", user="me")] * 10_000,
    "ids": [MessageData(b"b", b"i" * 24, b"i" * 24, b"i" * 24, application="program")] * 10_000,
    "properties": [MessageData(body=b"b", properties=PROPERTIES)] * 10_000,
    "tiny": [MessageData(properties={chr(48 + n): True for n in range(70)})] * 10_000,
    "details": [MessageData(body=b"b", details=Details(identity_data="identity"))] * 10_000,
    "bodies": [MessageData(body=b"b" * 1_000_000)] * 30,
    "long": [MessageData(body=b"b" * 100_000_000, properties={"a": b"b" * 100_000})],
    "text": [MessageData(properties={"text": "b" * 50_000_000, "letters": "\u4e2d" * 3_000_000})],
    "beyond": [MessageData(properties={"text": "\U0001f600" * 500_000})],
}


@pytest.mark.parametrize("name", UNITS)
def test_what_programs_put_is_decoded_as_it_is(name: str) -> None:
    for unit in in_units(UNITS[name], 10_000):
        command = c.Put(7, unit, b"unit", c.DEFERRED, 3)
        assert codec.decode_command(codec.raw(command)) == command


def test_a_message_of_msmq_is_decoded_as_it_is() -> None:
    for message in UNITS["long"] + UNITS["text"]:
        command = m.MsmqSend(7, message, b"unit", single=True)
        assert codec.decode_command(codec.raw(command)) == command


def test_a_long_body_of_service_broker_is_decoded_as_it_is() -> None:
    command = b.BrokerSend(b"unit", [b"h"], "type", b"b" * 2 * decode_limits.PLAIN_BYTES_MAX)
    assert codec.decode_command(codec.raw(command)) == command


ALL_COMMANDS = get_args(c.Command | frames.ServerCommand)


def unbounded(kind: Any, where: str) -> Iterator[str]:
    """Find what a command's type leaves open: lists and maps without a bound, and open types."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        for name, hint in get_type_hints(kind, include_extras=True).items():
            yield from unbounded(hint, f"{where}.{name}")
        return
    bounded = False
    if get_origin(kind) is Annotated:
        kind, *metas = get_args(kind)
        bounded = any(isinstance(one, msgspec.Meta) and one.max_length for one in metas)
    if kind is Any or kind is object:
        yield where
    is_fixed = get_origin(kind) is tuple and ... not in get_args(kind)
    if get_origin(kind) in (list, dict, set, tuple) and not (bounded or is_fixed):
        yield where
    for part in get_args(kind):
        yield from unbounded(part, f"{where}[]")


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_finding_reliability_small_frames_every_command_is_bounded(command: Any) -> None:
    """What a type leaves open is known to the table of traits: nothing else is looked at."""
    content = TRAITS[command].content if command in TRAITS else Content.NONE
    holes = list(unbounded(command, command.__name__))
    if content in (Content.MESSAGES, Content.MESSAGE):
        each = "[]" if content is Content.MESSAGES else ""
        assert holes == [f"{command.__name__}.{content.value}{each}.properties[][]"]
    else:
        assert holes == []


@pytest.mark.parametrize("command", TRAITS)
def test_what_is_looked_at_is_a_field_of_the_command(command: Any) -> None:
    content = TRAITS[command].content
    assert content is Content.NONE or content.value in command.__struct_fields__


BOMB: list[Any] = [[]] * 3_000_000


def peak(what: Callable[[], object]) -> int:
    """Say how many bytes something took at its worst."""
    tracemalloc.start()
    try:
        what()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "command",
    [
        m.MsmqSend(1, MessageData(properties={"a": BOMB})),
        m.MsmqCreate("q", {str(number): 1 for number in range(600_000)}),
        m.MsmqAlter("q", {"a": BOMB}),
        b.BrokerCreate("QUEUE", "q", {"a": BOMB}),
        b.BrokerAlter("QUEUE", "q", {"a": BOMB}),
        b.BrokerSend(b"u", [b""] * 3_000_000),
        c.Put(1, [MessageData(properties={"a": BOMB})]),
    ],
)
def test_finding_reliability_small_frames_decode_to_no_more_than_they_weigh(command: Any) -> None:
    encoded = Raw(msgspec.msgpack.encode(command))

    def decode() -> None:
        with pytest.raises(frames.ProtocolError):
            codec.decode_command(encoded)

    assert peak(decode) <= 3 * len(encoded)


def texts(length: int) -> Iterator[str]:
    """Texts of about so many bytes, those that take the most memory while they are decoded."""
    for begin in ("", "\xe9", "\u4e2d", "\U0001f600"):
        yield begin + "a" * length
        yield "a" * length + begin
    yield "\xe9\u4e2d\U0001f600" + "a" * length
    yield "\u4e2d" * (length // 3) + "\U0001f600"


MESSAGE_FIELDS = msgspec.structs.fields(MessageData)


def fill(kind: Any) -> Any:
    """Return the shortest value of a type that takes more than its bytes: no shared object."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return [fill(hint) for hint in get_type_hints(kind).values()]
    simple: dict[Any, Any] = {int: 300, bool: True, str: "ab", bytes: b"ab", float: 1.5}
    if kind in simple:
        return simple[kind]
    if get_origin(kind) is dict:
        return {"ab": 300}
    if get_origin(kind) is list:
        return [fill(get_args(kind)[0])]
    if get_origin(kind) is tuple:
        return [fill(part) for part in get_args(kind)]
    return fill(get_args(kind)[0])  # of a union


def messages(length: int) -> Iterator[Any]:
    """Lists of messages, of about so many bytes."""
    full = fill(MessageData)
    at = {field.name: number for number, field in enumerate(MESSAGE_FIELDS)}
    headers: list[Any] = [[] if name in ("details", "msmq", "broker") else None for name in at]
    small = [full[n] if name == "properties" else headers[n] for name, n in at.items()]
    for name in ("body", "message_id", "correlation_id", "group_id"):
        small[at[name]] = b""
    for n, field in enumerate(MESSAGE_FIELDS):
        if isinstance(field.default, (int, str)):
            small[n] = field.default
    many = {f"{number:x}": "ab" for number in range(PROPERTIES_READ_MAX)}

    def with_properties(value: Any) -> list[Any]:
        return [*small[: at["properties"]], value]

    for each in ([], full, small, with_properties(many), with_properties({"ab": "ab"})):
        yield [each] * min(MESSAGES_MAX, 1 + length // len(msgspec.msgpack.encode(each)))
        yield [[b"b" * length, *each[1:]]]
    for each in ([], {}, {None: None}, [1]):
        bomb = [each] * (length // len(msgspec.msgpack.encode(each)))
        yield [with_properties({"a": bomb})]
        yield [bomb]
        yield [[bomb]]
    yield [[]] * MESSAGES_MAX + [with_properties({"a": [{None: None}] * (length // 3)})]
    yield [[]] * length
    for text in texts(length):
        yield [with_properties({"a": text})]
        yield [with_properties({text: 1})]
        yield [[*small[: at["application"]], text]]
        yield [[text]]
    yield [with_properties({"a": b"b" * length})]
    some = length // 16
    few = next(texts(some))
    yield [with_properties({f"{number}\U0001f600": few for number in range(16)})]


def values(kind: Any, length: int) -> Iterator[Any]:
    """Values of a field, of about so many bytes or as many as its bounds allow."""
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if kind is str:
        yield from texts(length)
    elif kind is bytes or bytes in get_args(kind):
        yield b"b" * length
    elif kind is MessageData:
        for some in messages(length):
            yield some[0]
    elif get_origin(kind) is list and get_args(kind)[0] is MessageData:
        yield from messages(length)
    elif get_origin(kind) is list:
        for count in (min(ELEMENTS_MAX, length // 3), length):
            yield [fill(kind)[0]] * count
    elif get_origin(kind) is dict:
        for count in (ATTRIBUTES_MAX, length // 8):
            yield {f"{number:x}": "ab" for number in range(count)}
        yield from ({"a": text} for text in texts(length))
        yield from ({text: 1} for text in texts(length))
        yield {"a": [[]] * length}


def worst(command: Any, length: int) -> Iterator[list[Any]]:
    """Commands of a type in which one field is as long as that, and the others take the most."""
    kinds = list(get_type_hints(command, include_extras=True).values())
    plain = [command.__struct_config__.tag, *map(fill, kinds)]
    yield plain
    for number, kind in enumerate(kinds, 1):
        if kind in kinds[: number - 1]:
            continue  # a field before has the same bounds
        for value in values(kind, length):
            yield [*plain[:number], value, *plain[number + 1 :]]
    yield [*plain, [[]] * length]


LENGTHS = (
    decode_limits.TRUSTED_BYTES - 1_000,
    decode_limits.TRUSTED_BYTES * 2,
    decode_limits.PLAIN_BYTES_MAX - 1_000,
)


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_finding_reliability_small_frames_the_worst_of_each_command(command: Any) -> None:
    over = []
    for length in LENGTHS[:2] if command in (c.Put, m.MsmqSend) else few(LENGTHS, 2):
        for worst_command in worst(command, length):
            encoded = Raw(msgspec.msgpack.encode(worst_command))
            bytes_ = peak(lambda encoded=encoded: is_decoded(encoded))  # type: ignore[misc]
            if bytes_ > 3 * len(encoded) + decode_limits.ROOM_BYTES:
                over.append((str(worst_command)[:60], len(encoded), bytes_))
    assert not over


def is_decoded(command: Raw) -> bool:
    try:
        codec.decode_command(command)
    except frames.ProtocolError:
        return False
    return True


LONGEST = frames.FRAME_BYTES_MAX - 100


def longest() -> Iterator[list[Any]]:
    """Commands that need the longest frame there is."""
    tags = {one: one.__struct_config__.tag for one in ALL_COMMANDS}
    yield [tags[c.Put], 1, [[b"", *[b""] * 17, "\U0001f600" + "a" * LONGEST]]]
    yield [tags[c.Put], 1, [[b"b" * (LONGEST // MESSAGES_MAX - 6)]] * MESSAGES_MAX]
    yield [tags[m.MsmqSend], 1, [b"b" * LONGEST]]
    yield [tags[b.BrokerSend], b"u", [b"h"], "\U0001f600", b"b" * LONGEST]
    yield [tags[b.BrokerSend], b"u", [b"h"], "\U0001f600" + "a" * LONGEST]
    yield [tags[c.DefineQueue], "\U0001f600" + "a" * LONGEST]


def test_finding_reliability_small_frames_the_longest() -> None:
    for command in longest():
        encoded = Raw(msgspec.msgpack.encode(command))
        assert len(encoded) <= frames.FRAME_BYTES_MAX
        bytes_ = peak(lambda encoded=encoded: is_decoded(encoded))  # type: ignore[misc]
        assert bytes_ <= 3 * len(encoded) + decode_limits.ROOM_BYTES


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_finding_reliability_small_frames_a_frame_of_many(command: Any) -> None:
    """Commands of a frame are decoded one by one: none of them is kept when its turn is over."""
    [short] = [one for one, _ in zip(worst(command, 1_000), range(1), strict=False)]
    operation = [1, 0, short]
    frame: list[Any] = [frames.Requests.__struct_config__.tag, [operation] * frames.OPERATIONS_MAX]
    frame.append([300] * frames.SEEN_MAX)
    data = msgspec.msgpack.encode(frame)
    data = len(data).to_bytes(4, "big") + data
    session = ServerSession("QM1")
    session.receive(codec.encode(frames.Hello(version=frames.PROTOCOL_VERSION)))

    def receive() -> None:
        received = session.receive(data)
        assert len(received.operations) == frames.OPERATIONS_MAX
        for incoming in received.operations:
            incoming.command  # noqa: B018 -- it is decoded by that

    assert peak(receive) <= 3 * len(data) + decode_limits.ROOM_BYTES


def test_finding_reliability_small_frames_of_who_is_not_yet_known() -> None:
    for text in texts(10_000_000):
        hello = msgspec.msgpack.encode([frames.Hello.__struct_config__.tag, 2, text])
        bytes_ = peak(lambda hello=hello: refused_as_no_requests(hello))  # type: ignore[misc]
        assert bytes_ < 100_000


def refused_as_no_requests(frame: bytes) -> None:
    with pytest.raises(frames.ProtocolError, match="has no requests"):
        codec.decode_client_frame(frame)
