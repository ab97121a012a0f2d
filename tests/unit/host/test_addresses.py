"""What is of this machine alone."""

import socket

import pytest

from adapter.host import addresses


@pytest.mark.parametrize("host", ["192.0.2.1", "::", "", "no host", "::ffff:127.0.0.1x"])
def test_what_is_not_surely_loopback_is_another_machine(host: str) -> None:
    assert addresses.is_loopback("127.0.0.1")
    assert addresses.is_loopback("127.9.9.9")
    assert addresses.is_loopback("::1")
    assert not addresses.is_loopback(host)


def test_listening_on_a_name_reaches_what_it_stands_for() -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        assert addresses.reaches_only_this_machine(host)
    for host in ("0.0.0.0", "::", "192.0.2.1"):
        assert not addresses.reaches_only_this_machine(host)
    with pytest.raises(OSError, match=r".+"):
        addresses.reaches_only_this_machine("no host")


def test_numbers_are_told_from_names() -> None:
    assert all(map(addresses.is_literal, ("10.0.0.1", "::1", "[::1]")))
    assert not any(map(addresses.is_literal, ("localhost", "", "1.example.com", "10.0.0.1.")))


def test_ipv6_has_brackets() -> None:
    assert addresses.written("127.0.0.1", 1) == "127.0.0.1:1"
    assert addresses.written("::1", 1) == "[::1]:1"


def test_a_listener_on_all_addresses_is_reached_by_its_machine() -> None:
    assert addresses.reached_at("127.0.0.1", 1414) == "127.0.0.1:1414"
    assert addresses.reached_at("::1", 1414) == "[::1]:1414"
    for everywhere in (addresses.EVERYWHERE, "::"):
        assert addresses.reached_at(everywhere, 1414) == f"{socket.gethostname()}:1414"
    assert addresses.reached_at("", 0) == ""
