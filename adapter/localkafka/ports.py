"""Loopback ports for brokers and proxies."""

import random
import socket

from adapter.localkafka.errors import LocalKafkaError

HOST = "127.0.0.1"
# Below the ports that systems hand to outgoing connections (32768 on Linux, 49152 elsewhere): a
# client that tries a stopped broker's port over and over would sooner or later meet itself there,
# or hold the port when the broker comes back.
RANDOM_PORTS = range(15000, 32000)
ATTEMPTS_MAX = 200


def is_free(port: int) -> bool:
    """Whether a server could listen on a loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port(*, taken: frozenset[int] = frozenset()) -> int:
    """Return a random free loopback port that is not among those given."""
    for _ in range(ATTEMPTS_MAX):
        port = random.choice(RANDOM_PORTS)
        if port not in taken and is_free(port):
            return port
    raise LocalKafkaError(
        f"no free loopback port found between {RANDOM_PORTS.start} and {RANDOM_PORTS.stop} in "
        f"{ATTEMPTS_MAX} attempts: end some of the servers that listen there"
    )


def free_ports(count: int) -> list[int]:
    """Return different random free loopback ports."""
    ports: list[int] = []
    for _ in range(count):
        ports.append(free_port(taken=frozenset(ports)))
    return ports


def require_free(port: int, purpose: str) -> None:
    """Refuse a port that is taken, before a broker stumbles over it."""
    if not is_free(port):
        raise LocalKafkaError(
            f"port {port} on {HOST}, wanted for {purpose}, is taken: stop the program that listens "
            "there, or choose another port"
        )
