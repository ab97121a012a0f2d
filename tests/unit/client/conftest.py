"""A scripted queue manager, and connections to it by each driver, for the tests of the SDK."""

from collections.abc import Callable, Iterator

import pytest

import adapter
from tests.drivers import Driver, driver, pytest_pyfunc_call
from tests.support.loopback import Loopback
from tests.unit.channel.conftest import server

__all__ = ["connect", "driver", "pytest_pyfunc_call", "qm", "server"]


@pytest.fixture
def connect(server: Loopback, driver: Driver) -> Iterator[Callable[..., adapter.Connection]]:
    """connect(**options): a connection that is closed behind the test."""
    made = []

    def make(**options: float) -> adapter.Connection:
        made.append(driver.connect(server.address, **options))
        return made[-1]

    yield make
    for connection in made:
        connection.close()


@pytest.fixture
def qm(connect: Callable[..., adapter.Connection]) -> adapter.Connection:
    connection = connect()
    connection.define_queue("Q")
    return connection
