"""The pytest plugin of mqk: queue managers in memory, connections and a Kafka, as fixtures.

pytest loads it wherever mqk is installed, so it imports nothing but pytest: what a fixture needs is
imported when a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from adapter import Connection, aio
    from adapter.localkafka import LocalKafka
    from adapter.testing import TestQueueManager

MARK = "mqk_queue_manager"


class Connect(Protocol):
    """The type of the fixture mqk_aio_connection."""

    def __call__(self, **options: Any) -> AbstractAsyncContextManager[aio.Connection]:
        """Connect; the options are those of adapter.aio.connect()."""


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark of the queue manager's settings."""
    arguments = f"{MARK}(name, **settings): the arguments of adapter.testing.queue_manager()"
    config.addinivalue_line("markers", f"{arguments} for the fixture mqk_queue_manager")


@pytest.fixture
def mqk_queue_manager(request: pytest.FixtureRequest) -> Iterator[TestQueueManager]:
    """A queue manager in memory, QM1, for one test: an adapter.testing.TestQueueManager.

    @pytest.mark.mqk_queue_manager("SHOP", clock="manual") chooses its name and settings.
    """
    from adapter import testing  # noqa: PLC0415 -- it is loaded when a test asks for it

    mark = request.node.get_closest_marker(MARK)
    names, settings = ((), {}) if mark is None else (mark.args, mark.kwargs)
    with testing.queue_manager(*names, **settings) as manager:
        yield manager


@pytest.fixture
def mqk_connection(mqk_queue_manager: TestQueueManager) -> Iterator[Connection]:
    """A connection to mqk_queue_manager: an adapter.Connection."""
    with mqk_queue_manager.connect() as connection:
        yield connection


@pytest.fixture
def mqk_aio_connection(mqk_queue_manager: TestQueueManager) -> Connect:
    """Connects tasks to mqk_queue_manager: `async with mqk_aio_connection() as qm:`.

    So it serves the event loop of the test, whatever runs that.
    """

    @asynccontextmanager
    async def connect(**options: Any) -> AsyncIterator[aio.Connection]:
        async with await mqk_queue_manager.connect_aio(**options) as connection:
            yield connection

    return connect


@pytest.fixture(scope="session")
def mqk_kafka() -> Iterator[LocalKafka]:
    """A Kafka of one broker on this machine, for the whole session: a LocalKafka.

    It starts when the first test asks for it, and needs Java, and Maven once.
    """
    from adapter.localkafka import LocalKafka  # noqa: PLC0415 -- see above

    with LocalKafka() as kafka:
        yield kafka
