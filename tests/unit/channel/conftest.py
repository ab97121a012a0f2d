"""A scripted queue manager, and connections to it, for each test of the client."""

from collections.abc import Callable, Iterator

import pytest

import adapter
from tests.support.loopback import Loopback, loopback


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


@pytest.fixture
def connect(server: Loopback) -> Iterator[Callable[..., adapter.Connection]]:
    """connect(**options): a connection that is closed behind the test."""
    made = []

    def make(**options: float) -> adapter.Connection:
        made.append(adapter.connect(server.address, **options))  # type: ignore[arg-type]
        return made[-1]

    yield make
    for connection in made:
        connection.close()


@pytest.fixture
def qm(connect: Callable[..., adapter.Connection]) -> adapter.Connection:
    connection = connect()
    connection.define_queue("Q")
    return connection
