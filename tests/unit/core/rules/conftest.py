"""What the tests of publishing and subscribing share: a core with topics, and a client of it."""

import pytest

from tests.support.core import Client, Core
from tests.support.topics import core_with_topics


@pytest.fixture
def core() -> Core:
    return core_with_topics()


@pytest.fixture
def client(core: Core) -> Client:
    return core.connect()
