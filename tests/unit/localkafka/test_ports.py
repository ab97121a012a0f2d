"""Loopback ports: free ones are free, taken ones are told."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from adapter.localkafka import LocalKafkaError, ports
from adapter.localkafka.ports import (
    HOST,
    RANDOM_PORTS,
    free_port,
    free_ports,
    is_free,
    require_free,
)

FILES = Path("/proc/self/fd")


def test_a_free_port_can_be_bound_and_is_then_taken() -> None:
    port = free_port()
    with socket.create_server((HOST, port)):
        assert not is_free(port)
    assert is_free(port)


def test_free_ports_differ_and_lie_below_outgoing_ones() -> None:
    chosen = free_ports(20)
    assert len(set(chosen)) == 20
    assert all(port in RANDOM_PORTS for port in chosen)
    assert RANDOM_PORTS.stop <= 32768


def test_a_taken_port_is_refused_with_its_number_and_purpose() -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(LocalKafkaError, match=f"port {port} .* broker 2, is taken"):
            require_free(port, "broker 2")
    require_free(port, "broker 2")


def test_a_port_is_chosen_once_by_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 40 ports, another process and this one choose 20 each."""
    some = free_ports(40)
    for claim in ports._claims:
        os.close(claim)
    ports._claims.clear()
    monkeypatch.setattr(ports, "RANDOM_PORTS", some)
    monkeypatch.setattr(ports, "ATTEMPTS_MAX", 10_000)
    program = (
        "import json; from adapter.localkafka import ports\n"
        f"ports.RANDOM_PORTS, ports.ATTEMPTS_MAX = {some}, 10_000\n"
        "print(json.dumps(ports.free_ports(20)), flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdin
        assert other.stdout
        theirs = json.loads(other.stdout.readline())
        assert sorted(theirs + free_ports(20)) == sorted(some)
        with pytest.raises(LocalKafkaError, match="no free loopback port"):
            free_port()
        other.stdin.write(b"\n")
    assert free_port() in theirs


def test_claims_hold_a_bounded_number_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "CLAIMS_MAX", len(ports._claims) + 2)
    before = len(list(FILES.iterdir()))
    free_ports(10)
    assert len(list(FILES.iterdir())) == before + 2


def test_when_no_port_is_left_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "RANDOM_PORTS", range(15000, 15001))
    with pytest.raises(LocalKafkaError, match="no free loopback port found between 15000 and 1"):
        free_ports(2)
