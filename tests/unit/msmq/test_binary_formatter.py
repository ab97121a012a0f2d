"""BinaryMessageFormatter: basic values as BinaryFormatter writes them, and never an object."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.msmq import BinaryMessageFormatter, InvalidOperationError
from adapter.msmq.variants import BINARY

HEAD = bytes.fromhex("0001000000ffffffff0100000000000000")


INT32 = "0401000000" + "0c" + b"System.Int32".hex() + "01000000" + "07" + b"m_value".hex() + "0008"


@pytest.mark.parametrize(
    ("value", "body"),
    [
        ("hi", "06010000000268690b"),
        (5, f"{INT32}050000000b"),
        (b"\0x", "0f01000000020000000200780b"),
        (None, "0a0b"),
    ],
)
def test_values_as_net_writes_them(value: object, body: str) -> None:
    formatter = BinaryMessageFormatter()
    assert formatter.write(value) == (HEAD + bytes.fromhex(body), BINARY)
    assert formatter.read(HEAD + bytes.fromhex(body), BINARY) == value


@given(
    value=st.one_of(
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(allow_nan=False),
        st.text(st.characters(codec="utf-8"), max_size=300),
        st.binary(max_size=300),
        st.lists(st.one_of(st.none(), st.text(st.characters(codec="utf-8"))), max_size=5),
    )
)
def test_values_come_back(value: object) -> None:
    formatter = BinaryMessageFormatter()
    found = formatter.read(*formatter.write(value))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [object(), {}, [1], [None, 1], 2**63, "\ud800", ["\ud800"]])
def test_what_cannot_be_written_is_named(value: object) -> None:
    with pytest.raises(InvalidOperationError, match="cannot write"):
        BinaryMessageFormatter().write(value)


def test_an_object_of_a_class_is_refused() -> None:
    library = bytes.fromhex("0c02000000") + b"\x04Evil"
    for record in (library, bytes.fromhex("0501000000") + b"\x04Evil", b"\x04\x01\0\0\0\x04Evil"):
        with pytest.raises(InvalidOperationError, match="cannot read"):
            BinaryMessageFormatter().read(HEAD + record + bytes(60), BINARY)


@given(body=st.binary(max_size=100), is_headed=st.booleans())
def test_any_body_is_read_or_refused(body: bytes, is_headed: bool) -> None:
    try:
        BinaryMessageFormatter().read(HEAD + body if is_headed else body, BINARY)
    except InvalidOperationError:
        return


def written_by_net(texts: list[str | None]) -> bytes:
    """Write an array as .NET does: a text that comes again by its number, nulls together."""
    records, numbers = b"", dict[str, int]()
    for at, text in enumerate(texts):
        if text is None:
            if at and texts[at - 1] is None:
                continue
            count = next((n for n, one in enumerate(texts[at:]) if one is not None), None)
            count = len(texts) - at if count is None else count
            many = b"\x0e" + struct.pack("<i", count)
            records += b"\x0a" if count == 1 else bytes((13, count)) if count < 256 else many
        elif text in numbers:
            records += b"\x09" + struct.pack("<i", numbers[text])
        else:
            numbers[text] = len(numbers) + 2
            body = text.encode()
            records += b"\x06" + struct.pack("<i", numbers[text]) + bytes((len(body),)) + body
    return HEAD + b"\x11" + struct.pack("<ii", 1, len(texts)) + records + b"\x0b"


runs = st.tuples(st.sampled_from([None, "", "a", "b"]), st.sampled_from([1, 2, 255, 256, 300]))


@given(texts=st.lists(runs, max_size=4).map(lambda many: [t for t, n in many for _ in range(n)]))
def test_arrays_of_texts_are_read_as_net_writes_them(texts: list[str | None]) -> None:
    formatter = BinaryMessageFormatter()
    assert formatter.read(written_by_net(texts), BINARY) == texts
    assert formatter.read(*formatter.write(texts)) == texts


@pytest.mark.parametrize(
    "records",
    [
        b"\x09\x07\0\0\0",
        b"\x0d\x03",
        b"\x0d\0",
        b"\x0e\xff\xff\xff\xff",
        b"\x0e\x03\0\0\0",
        b"\x0f",
    ],
)
def test_items_that_are_none_are_refused(records: bytes) -> None:
    body = HEAD + b"\x11" + struct.pack("<ii", 1, 2) + records * 2 + b"\x0b"
    with pytest.raises(InvalidOperationError, match="cannot read"):
        BinaryMessageFormatter().read(body, BINARY)


def test_few_bytes_stand_for_no_more_nulls_than_there_may_be() -> None:
    for count, is_read in ((65_536, True), (65_537, False), (2**31 - 1, False)):
        body = HEAD + b"\x11" + struct.pack("<iiBi", 1, count, 14, count) + b"\x0b"
        if is_read:
            assert BinaryMessageFormatter().read(body, BINARY) == [None] * count
        else:
            with pytest.raises(InvalidOperationError, match="an array of"):
                BinaryMessageFormatter().read(body, BINARY)
