"""Addresses of queue managers, as users write them."""

import pytest

from adapter.connection.channel.addresses import Address, parse_addresses
from adapter.errors import Error, InvalidType, InvalidValue


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("localhost", [Address("localhost", 1414)]),
        ("localhost:1415", [Address("localhost", 1415)]),
        ("HOST.EXAMPLE(1416)", [Address("HOST.EXAMPLE", 1416)]),
        ("[::1]:1417", [Address("::1", 1417)]),
        ("[::1]", [Address("::1", 1414)]),
        ("::1", [Address("::1", 1414)]),
        ("unix:/run/mqk/QM1.sock", [Address("", 0, "/run/mqk/QM1.sock")]),
        ("unix:/a b:1 , c:1", [Address("", 0, "/a b:1"), Address("c", 1)]),
        ("a:1, b(2) ,c", [Address("a", 1), Address("b", 2), Address("c", 1414)]),
    ],
)
def test_addresses(text: str, addresses: list[Address]) -> None:
    assert parse_addresses(text) == addresses


@pytest.mark.parametrize(
    "text", ["", ":1414", "host:", "host:port", "host:0", "host:65536", "a,,b", "a b", "a:1:2x",
             "host(14", "host()", "[::1", "unix:", "unix:QM1.sock", "host:" + "9" * 5000]
)  # fmt: skip
def test_what_is_no_address_is_named(text: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        parse_addresses(text)
    assert isinstance(caught.value, Error)
    assert repr(text) in caught.value.text


def test_an_address_of_another_type_is_refused() -> None:
    with pytest.raises(InvalidType):
        parse_addresses(1414)  # type: ignore[arg-type]


def test_addresses_print_as_they_are_written() -> None:
    assert str(Address("::1", 1414)) == "[::1]:1414"
    assert str(Address("", 0, "/run/QM1")) == "unix:/run/QM1"
    assert str(Address("localhost", 1414)) == "localhost:1414"
