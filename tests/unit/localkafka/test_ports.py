"""Loopback ports: free ones are free, taken ones are told."""

import socket

import pytest

from adapter.localkafka import LocalKafkaError
from adapter.localkafka.ports import (
    HOST,
    RANDOM_PORTS,
    free_port,
    free_ports,
    is_free,
    require_free,
)


def test_a_free_port_can_be_bound_and_is_then_taken() -> None:
    port = free_port()
    with socket.create_server((HOST, port)):
        assert not is_free(port)
    assert is_free(port)


def test_free_ports_differ_and_lie_below_outgoing_ones() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert all(port in RANDOM_PORTS for port in ports)
    assert RANDOM_PORTS.stop <= 32768


def test_a_taken_port_is_refused_with_its_number_and_purpose() -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(LocalKafkaError, match=f"port {port} .* broker 2, is taken"):
            require_free(port, "broker 2")
    require_free(port, "broker 2")


def test_when_no_port_is_left_it_says_so() -> None:
    with pytest.raises(LocalKafkaError, match="no free loopback port"):
        free_port(taken=frozenset(RANDOM_PORTS))
