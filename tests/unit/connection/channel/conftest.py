"""A scripted queue manager, and connections to it by each driver, for tests of the client."""

from collections.abc import Callable, Iterator

import pytest

import adapter
from tests.drivers import Driver, driver, pytest_generate_tests, pytest_pyfunc_call
from tests.support.loopback import Loopback, loopback

__all__ = ["connect", "driver", "pytest_generate_tests", "pytest_pyfunc_call", "qm", "server"]


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


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
