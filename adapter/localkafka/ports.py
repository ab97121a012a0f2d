"""Loopback ports for brokers and proxies."""

import os
import random
import socket
from collections import deque

from adapter.localkafka.errors import LocalKafkaError

HOST = "127.0.0.1"
# Below the ports that systems hand to outgoing connections (32768 on Linux, 49152 elsewhere): a
# client that tries a stopped broker's port over and over would sooner or later meet itself there,
# or hold the port when the broker comes back.
RANDOM_PORTS = range(15000, 32000)
ATTEMPTS_MAX = 200
CLAIMS_MAX = 128  # files that stay open for them: the oldest ports were bound long ago
_claims: deque[int] = deque()


def is_free(port: int) -> bool:
    """Whether a server could listen on a loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def free_port() -> int:
    """Return a random free loopback port that no other call returned, in this process or another.

    A server listens on it only later, and lets go of it while it restarts; another one that
    chooses within that time could choose the same port otherwise.
    """
    for _ in range(ATTEMPTS_MAX):
        port = random.choice(RANDOM_PORTS)
        if is_free(port) and _claim(port):
            return port
    raise LocalKafkaError(
        f"no free loopback port found between {RANDOM_PORTS[0]} and {RANDOM_PORTS[-1]} in "
        f"{ATTEMPTS_MAX} attempts: end some of the servers that listen there"
    )


def free_ports(count: int) -> list[int]:
    """Return different random free loopback ports."""
    return [free_port() for _ in range(count)]


def _claim(port: int) -> bool:
    """Keep others from choosing a port; False if another one did.

    Its UDP port is bound: no server here uses it, no other program can bind it, and the system
    lets go of it when the process ends, however it ends.
    """
    claim = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        claim.bind((HOST, port))
    except OSError:
        claim.close()
        return False
    if len(_claims) >= CLAIMS_MAX:
        os.close(_claims.popleft())
    _claims.append(claim.detach())
    return True


def require_free(port: int, purpose: str) -> None:
    """Refuse a port that is taken, before a broker stumbles over it."""
    if not is_free(port):
        raise LocalKafkaError(
            f"port {port} on {HOST}, wanted for {purpose}, is taken: stop the program that listens "
            "there, or choose another port"
        )
