"""What the tests of the movers share: a queue manager's topics, and movers in this process."""

from collections.abc import Callable, Iterator

import pytest

from adapter.storage.movers.thread import MoverThread
from tests.support.mover_place import MoverPlace
from tests.support.shared_kafka import AnyKafka


@pytest.fixture
def place(kafka: AnyKafka, unique_name: Callable[..., str]) -> Iterator[MoverPlace]:
    """A queue manager's topics, under a name of its own."""
    one = MoverPlace(kafka.bootstrap_servers, unique_name())
    yield one
    one.close()


@pytest.fixture
def movers(place: MoverPlace) -> Iterator[MoverThread]:
    """Both movers in threads of this process; not started."""
    one = MoverThread(place.settings)
    yield one
    one.stop()
