"""BinaryMessageFormatter: basic values as BinaryFormatter writes them, and never an object."""

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
        st.lists(st.text(st.characters(codec="utf-8")), max_size=5),
    )
)
def test_values_come_back(value: object) -> None:
    formatter = BinaryMessageFormatter()
    found = formatter.read(*formatter.write(value))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("value", [object(), {}, [1], 2**63, "\ud800", ["\ud800"]])
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
