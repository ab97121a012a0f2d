"""What a message becomes as a record: every edge of keys, values, headers and times; and progress.

What a feed has read an export writes again as it was.
"""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.attributes.export import ExportAttributes
from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.message import MessageData, Property
from adapter.storage.format import exports
from adapter.storage.format.exports import (
    ExportedRecord,
    ExportProgress,
    NotARecordError,
    decode,
    encode,
    number_of,
    origin_of,
    record_of,
)
from adapter.storage.format.feeds import RESERVED, TopicRecord, message_of
from adapter.storage.format.record_headers import Headers
from adapter.storage.format.schemas import UnreadableError
from tests.support.examples import examples

PUT_MS = 1_700_000_000_000
LARGE = bytes(range(256)) * 4096  # 1 MiB


def record(
    properties: dict[str, Property] | None = None,
    /,
    body: bytes = b"body",
    put_time_ms: int = PUT_MS,
    fields: dict[str, Any] | None = None,
    **attributes: Any,
) -> ExportedRecord:
    message = MessageData(body=body, properties=properties, put_time_ms=put_time_ms, **fields or {})
    return record_of(message, ExportAttributes(queue="Q", topic="T", **attributes))


def headers(properties: dict[str, Property], **attributes: Any) -> Headers:
    return record(properties, **attributes).headers


def refusal(properties: dict[str, Property]) -> str:
    with pytest.raises(NotARecordError) as caught:
        record(properties)
    return str(caught.value)


def test_a_message_without_properties() -> None:
    assert record() == ExportedRecord(b"body", None, [], PUT_MS, -1)
    assert record({}) == record()


@pytest.mark.parametrize("body", [b"", b"\0", b"\xff\xfe", pytest.param(LARGE, id="1 MiB")])
def test_the_body_is_the_value_untouched(body: bytes) -> None:
    assert record(body=body).value is body


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(True, None), (False, b"body"), (None, b"body"), (1, b"body"), ("true", b"body")],
)
def test_a_tombstone_is_asked_for_by_true_alone(value: Property, wanted: bytes | None) -> None:
    assert record({"KafkaTombstone": value}).value == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, None),
        ("", b""),
        (b"", b""),
        ("k", b"k"),
        ("ключ 🔑", "ключ 🔑".encode()),
        (b"\xff\0", b"\xff\0"),
        (17, b"17"),
        (-1, b"-1"),
        (True, b"true"),
        (False, b"false"),
        (1.5, b"1.5"),
        pytest.param(LARGE, LARGE, id="1 MiB"),
    ],
    ids=repr,
)
def test_a_key_of_the_property(value: Property, wanted: bytes | None) -> None:
    assert record({"KafkaKey": value}).key == wanted
    assert record({"KafkaKey": value}, key="NONE").key is None


@pytest.mark.parametrize(
    ("source", "field"),
    [("CORRELID", "correlation_id"), ("GROUPID", "group_id"), ("MSGID", "message_id")],
)
@pytest.mark.parametrize(
    ("ident", "wanted"),
    [
        (b"", None),
        (bytes(24), None),
        (b"k".ljust(24, b"\0"), b"k"),
        (b"\0k".ljust(24, b"\0"), b"\0k"),
        (b"x" * 24, b"x" * 24),
    ],
)
def test_a_key_of_an_id(source: str, field: str, ident: bytes, wanted: bytes | None) -> None:
    found = record({"KafkaKey": "not this"}, fields={field: ident}, key=source)
    assert found.key == wanted


@pytest.mark.parametrize("value", [0, 5, 2**31 - 1])
def test_a_partition(value: int) -> None:
    assert record({"KafkaToPartition": value}).partition == value


@pytest.mark.parametrize("value", [1, PUT_MS, 2**63 - 1])
def test_a_time(value: int) -> None:
    assert record({"KafkaToTimestamp": value}).time_ms == value


@pytest.mark.parametrize("name", ["KafkaToPartition", "KafkaToTimestamp"])
@pytest.mark.parametrize("value", [-1, -(2**63), 2**63, 2**80, True, "1", b"1", 1.0, ""], ids=repr)
def test_numbers_that_no_record_has(name: str, value: Property) -> None:
    assert refusal({name: value}).startswith(f"property {name} is {value!r}, and not a whole")


def test_a_partition_has_31_bits() -> None:
    assert "2147483648" in refusal({"KafkaToPartition": 2**31})


@pytest.mark.parametrize("name", ["KafkaToPartition", "KafkaToTimestamp"])
def test_null_says_nothing(name: str) -> None:
    assert record({name: None}) == record()


@pytest.mark.parametrize(("put_ms", "wanted"), [(0, 1), (-5, 1), (1, 1), (PUT_MS, PUT_MS)])
def test_the_time_of_the_put_is_that_of_the_record(put_ms: int, wanted: int) -> None:
    assert record(put_time_ms=put_ms).time_ms == wanted


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (None, None),
        ("", b""),
        (b"", b""),
        ("värde", "värde".encode()),
        (b"\xff", b"\xff"),
        (0, b"0"),
        (-(2**63), b"-9223372036854775808"),
        (2**63 - 1, b"9223372036854775807"),
        (True, b"true"),
        (False, b"false"),
        (0.1, b"0.1"),
        (float("inf"), b"inf"),
    ],
    ids=repr,
)
def test_values_of_headers(value: Property, wanted: bytes | None) -> None:
    assert headers({"name": value}) == [("name", wanted)]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ("ALL", ["a", "trace-id", "trace-span", "ü"]),
        ("NONE", []),
        ("a", ["a"]),
        ("A", []),
        ("a, ü", ["a", "ü"]),
        ("trace-*", ["trace-id", "trace-span"]),
        ("*", ["a", "trace-id", "trace-span", "ü"]),
        ("missing", []),
    ],
)
def test_which_properties_become_headers(wanted: str, names: list[str]) -> None:
    properties: dict[str, Property] = {"a": 1, "trace-id": 2, "trace-span": 3, "ü": 4}
    assert [name for name, _ in headers(properties, headers=wanted)] == names


def test_properties_with_a_meaning_are_no_headers() -> None:
    properties: dict[str, Property] = dict.fromkeys(sorted(RESERVED))
    assert headers(properties | {"x": 1}) == [("x", b"1")]
    assert sorted(exports.NOT_HEADERS) == sorted(RESERVED | {"mqk-export", "mqk-hops"})


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (["x", "x.2", "x.3"], ["x", "x", "x"]),
        (["x", "x.3"], ["x", "x.3"]),
        (["x.2", "x.3"], ["x.2", "x.3"]),
        (["x.2"], ["x.2"]),
        (["x.2", "x"], ["x.2", "x"]),
        (["x", "x.1", "x.0", "x.02"], ["x", "x.1", "x.0", "x.02"]),
        (["x", "x.2", "x.2.2"], ["x", "x", "x.2.2"]),
        (["KafkaKey.2", "KafkaKey.3"], ["KafkaKey", "KafkaKey"]),
        (["KafkaHeader", "KafkaHeader.2"], ["", ""]),
        (["x", *(f"x.{n}" for n in range(2, 12))], ["x"] * 11),
        (["x\n", "x\n.2"], ["x\n", "x\n"]),
        ([f"x.{10**4299}0"], [f"x.{10**4299}0"]),
        ([".2"], [".2"]),
    ],
)
def test_repeated_headers(names: list[str], wanted: list[str]) -> None:
    assert headers({name: n for n, name in enumerate(names)}) == [
        (name, b"%d" % n) for n, name in enumerate(wanted)
    ]


@pytest.mark.parametrize(
    ("read", "written"),
    [
        (["name", "name.2"], ["name", "name"]),
        (["KafkaKey.2"], ["KafkaKey"]),
        (["KafkaHeader"], [""]),
    ],
)
def test_headers_that_are_not_told_apart_are_those_that_the_page_names(
    read: list[str], written: list[str]
) -> None:
    feed = FeedAttributes(topic="other", queue="Q")
    fed = message_of(TopicRecord(0, 1, None, b"x", [(name, b"1") for name in read], 5), feed)
    assert fed is not None
    found = record_of(fed.message, ExportAttributes(queue="Q", topic="T"))
    assert [name for name, _ in found.headers] == written


@pytest.mark.parametrize("name", ["mqk-export", "mqk-hops"])
@pytest.mark.parametrize("given", ["ALL", "mqk-*", "mqk-export,mqk-hops"])
def test_no_program_marks_a_record_as_an_export_does(name: str, given: str) -> None:
    forged = origin_of("QM1", "E", 999)
    assert headers({name: forged}, headers=given) == []
    exact = msgspec.msgpack.encode([(name, forged), ("x", b"1")])
    assert headers({"KafkaHeaders": exact}) == [("x", b"1")]


EXACT: list[Headers] = [
    [],
    [("", b"")],
    [("x", None), ("x", b""), ("x", b"1")],
    [("ü", b"\xff"), ("KafkaKey", b"k"), ("x.2", b"2"), ("x", b"1")],
]


@pytest.mark.parametrize("wanted", EXACT)
def test_exact_headers(wanted: Headers) -> None:
    value = msgspec.msgpack.encode(wanted)
    assert headers({"x": 1, "KafkaHeaders": value}) == wanted
    assert headers({"x": 1, "KafkaHeaders": value}, headers="NONE") == wanted


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"\xc1",
        b"\x91",
        msgspec.msgpack.encode({}),
        msgspec.msgpack.encode(None),
        msgspec.msgpack.encode([1]),
        msgspec.msgpack.encode([["x"]]),
        msgspec.msgpack.encode([["x", "text"]]),
        msgspec.msgpack.encode([["x", b"1", b"2"]]),
        msgspec.msgpack.encode([[None, b"1"]]),
        msgspec.msgpack.encode([[b"x", b"1"]]),
        msgspec.msgpack.encode([["x", b"1"]]) + b"\0",
        b"\x91\x92\xa1\xff\xc4\x00",  # a name that is no UTF-8
        b"\xdd\xff\xff\xff\xff",  # an array of 2**32 - 1 pairs, and none there
        pytest.param(b"\x91" * 100_000, id="deep"),
        "text",
        1,
        True,
    ],
    ids=repr,
)
def test_headers_that_are_none(value: Property) -> None:
    assert refusal({"KafkaHeaders": value}).startswith("property KafkaHeaders is ")


@settings(max_examples=examples(300))
@given(st.binary(max_size=64))
def test_hostile_bytes_are_headers_or_refused(value: bytes) -> None:
    try:
        found = headers({"KafkaHeaders": value})
    except NotARecordError:
        return
    assert all(isinstance(name, str) for name, _ in found)
    assert all(one is None or isinstance(one, bytes) for _, one in found)


NAME = st.one_of(
    st.sampled_from(["x", "x.2", "x.3", "", "ü", "KafkaHeader", "a.10", *sorted(RESERVED)]),
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=4),
)
MARKED = {"mqk-export", "mqk-hops"}
VALUE = st.none() | st.binary(max_size=4) | st.sampled_from([b"true", b"1", b"\xff", b""])


def is_told_apart(given_headers: Headers) -> bool:
    """Whether no header has the name that another one gets as a property: `x.2` beside `x`, or what
    headers without a name are called.
    """
    names = {name for name, _ in given_headers}
    taken = names | RESERVED | {"KafkaHeader"}
    parts = [name.rpartition(".") for name in names]
    return "KafkaHeader" not in names and not any(
        first in taken and number.isdigit() for first, _, number in parts
    )


@settings(max_examples=examples(500))
@given(
    st.lists(st.tuples(NAME, VALUE), max_size=6).filter(is_told_apart),
    st.none() | st.binary(max_size=30),
    st.binary(max_size=30),
    st.booleans(),
)
def test_what_a_feed_has_read_is_written_as_it_was(
    given_headers: Headers, key: bytes | None, value: bytes, origin: bool
) -> None:
    feed = FeedAttributes(topic="other", queue="Q", origin=origin)
    fed = message_of(TopicRecord(3, 17, key, value, given_headers, 5), feed)
    assert fed is not None
    found = record_of(fed.message, ExportAttributes(queue="Q", topic="T"))
    own = [one for one in given_headers if one[0] not in MARKED]
    assert (found.key, found.value, found.headers) == (key, value, own)
    assert found.partition == -1


def test_a_property_of_each_kind_of_unicode_is_a_header() -> None:
    assert headers({"\1": "\0", "\U0010ffff": "\U0010ffff"}) == [
        ("\1", b"\0"),
        ("\U0010ffff", "\U0010ffff".encode()),
    ]


@settings(max_examples=examples(300))
@given(st.dictionaries(st.text("x\0.2", max_size=5).filter(bool), st.just("1"), max_size=5))
def test_no_header_has_a_name_that_ends_early(properties: dict[str, Property]) -> None:
    """The client of Kafka ends it at NUL: it would be another header."""
    wanted = {name for name in properties if "\0" in name}
    exact = msgspec.msgpack.encode([(name, b"1") for name in properties])
    both: list[dict[str, Property]] = [properties, {"KafkaHeaders": exact}]
    for given_properties in both:
        if wanted:
            assert refusal(given_properties).startswith("no header can have the name")
        else:
            assert len(headers(given_properties)) == len(properties)


@pytest.mark.parametrize("name", ["mqk-export\0", "mqk-hops\0x", "KafkaKey\0"])
def test_no_program_evades_the_names_that_are_reserved(name: str) -> None:
    assert refusal({name: b"QM1 E 999"}).startswith("no header can have the name")
    exact = msgspec.msgpack.encode([(name, b"QM1 E 999")])
    assert refusal({"KafkaHeaders": exact}).startswith("no header can have the name")


def test_a_property_that_is_no_header_may_have_any_name() -> None:
    assert headers({"a\0b": "1", "x": "2"}, headers="x") == [("x", b"2")]
    assert headers({"a\0b": "1"}, headers="NONE") == []


@pytest.mark.parametrize(
    ("origin", "wanted"),
    [
        (b"QM1 E 7", 7),
        (b"QM1 E 0", 0),
        (b"QM1 E 9223372036854775807", 2**63 - 1),
        (b"QM1 F 7", None),
        (b"QM2 E 7", None),
        (b"QM1 E", None),
        (b"QM1 E 7 8", None),
        (b"QM1 E -7", None),
        (b"QM1 E x", None),
        (b"QM1 E ", None),
        ("QM1 E \u0667".encode(), None),
        (b"\xff\xff", None),
        (b"", None),
        (None, None),
    ],
)
def test_the_number_of_a_transaction(origin: bytes | None, wanted: int | None) -> None:
    assert number_of(origin, "QM1", "E") == wanted


def test_an_origin_is_read_again() -> None:
    origin = origin_of("QM.1", "SYSTEM.EXPORT.a%2Db", 12)
    assert number_of(origin, "QM.1", "SYSTEM.EXPORT.a%2Db") == 12


PLACE = st.tuples(st.integers(0, 9), st.integers(0, 2**40), st.integers(0, 2**62))


@settings(max_examples=examples(100))
@given(
    st.integers(0, 2**62),
    st.sampled_from(["", "Q", "SYSTEM.EXPORT.t"]),
    st.integers(0, 2**31 - 1),
    st.frozensets(PLACE, max_size=5),
)
def test_progress_is_read_again(
    number: int, queue: str, incarnation: int, places: frozenset[tuple[int, int, int]]
) -> None:
    progress = ExportProgress(number, queue, incarnation, places)
    assert decode(encode(progress)) == progress


@pytest.mark.parametrize("data", [b"", b"\xff", b"\x01", encode(ExportProgress())[:-1]])
def test_progress_that_is_none(data: bytes) -> None:
    with pytest.raises(UnreadableError):
        decode(data)
