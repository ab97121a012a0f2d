"""TCP links: how a place that cannot be reached is reported. For the rest: tests/contract."""

import socket
import time
from pathlib import Path

import pytest

from adapter.connection.channel.addresses import Address
from adapter.connection.channel.link.port import HostNotReached
from adapter.connection.channel.link.tcp import TcpDialer


def test_a_port_without_a_listener_is_reported_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = Address(*listening.getsockname())
    began = time.monotonic()
    with pytest.raises(HostNotReached, match=str(address)):
        TcpDialer(address).dial(5.0)
    assert time.monotonic() - began < 4


def test_a_path_without_a_listener_is_reported(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / ("long" * 30)):
        with pytest.raises(HostNotReached, match=f"unix:{path}: "):
            TcpDialer(Address("", 0, str(path))).dial(5.0)


def test_a_host_that_does_not_exist_is_reported() -> None:
    with pytest.raises(HostNotReached, match="no_such_host"):
        TcpDialer(Address("no_such_host.invalid", 1)).dial(5.0)
