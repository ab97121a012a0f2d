"""A queue manager in memory, with queues of MSMQ."""

from collections.abc import Iterator

import pytest

from tests.support.msmq_site import MsmqSite, msmq_site


@pytest.fixture
def at() -> Iterator[MsmqSite]:
    with msmq_site() as site:
        yield site
