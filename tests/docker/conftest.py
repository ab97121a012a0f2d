"""Images that docker/build has made (MQK_TAG names them), in containers of Testcontainers."""

import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

import adapter
from adapter.localkafka.container import KafkaContainer

TAG = os.environ.get("MQK_TAG", "latest")
HEALTHY_TIMEOUT_S = 60.0
POLL_S = 0.1


@pytest.fixture(scope="session")
def network() -> Iterator[Network]:
    with Network() as one:
        yield one


@pytest.fixture(scope="session")
def broker(network: Network) -> Iterator[KafkaContainer]:
    """One Kafka for all; the other containers call it kafka."""
    container = KafkaContainer(f"mqk-kafka:{TAG}", network=network, network_aliases=["kafka"])
    with container as running:
        yield running


def on_loopback(container: DockerContainer, *ports: int) -> None:
    """Publish ports on the loopback address only."""
    published: dict[str, Any] = container.ports
    published |= {f"{port}/tcp": ("127.0.0.1", None) for port in ports}


def health(container: DockerContainer) -> str:
    """What Docker says: starting, healthy, unhealthy; or exited and the like."""
    container.reload()
    state: dict[str, Any] = container.get_wrapped_container().attrs["State"]
    return str(state["Health"]["Status"]) if container.status == "running" else container.status


def await_health(container: DockerContainer, wanted: str) -> None:
    """Wait until the image's own check says so."""
    await_that(lambda: health(container) == wanted, lambda: said(container))


def await_that(
    true: Callable[[], bool], words: Callable[[], str], timeout_s: float = HEALTHY_TIMEOUT_S
) -> None:
    """Wait for something, within a bound."""
    deadline_s = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline_s, words()
        time.sleep(POLL_S)


def said(container: DockerContainer) -> str:
    """What the container's process has printed."""
    return b"".join(container.get_logs()).decode()


def published_on(container: DockerContainer) -> set[str]:
    """The addresses of this machine on which its ports are published."""
    container.reload()
    ports: dict[str, Any] = container.get_wrapped_container().attrs["NetworkSettings"]["Ports"]
    return {one["HostIp"] for bindings in ports.values() for one in bindings or ()}


def body(qm: adapter.Connection, queue: str) -> bytes | None:
    """Get the next message; its body, or None if none comes."""
    message = qm.get(queue, timeout=10)
    return None if message is None else message.body
