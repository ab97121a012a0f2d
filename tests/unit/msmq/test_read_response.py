"""What the read-response server takes for a request; what it does with one is in tests/spec."""

from collections.abc import Iterator

import pytest

from adapter.msmq import Message, MessageQueueTransaction
from adapter.msmq.read_response import ReadResponseServer
from tests.support.msmq_site import MsmqSite, msmq_site, path, send_together

QUEUES = ("input", "requests", "one", "other")


@pytest.fixture
def at() -> Iterator[MsmqSite]:
    """A server's computer with an input queue and a read-request queue, and queues of receivers."""
    with msmq_site() as site:
        for name in QUEUES:
            site.create(name, transactional=True)
        yield site


def test_a_dead_letter_is_no_request(at: MsmqSite) -> None:
    """It may name any response queue, and is rejected, even on the read-request queue."""
    send_together(at.home, at.open_home("input"), "1")
    with MessageQueueTransaction(at.home) as transaction:
        letter = Message("x", response_queue=path("one"), dead_letter_queue=path("requests"))
        letter.use_dead_letter_queue = True
        letter.time_to_be_received = 0
        at.home.open(path("other")).send(letter, transaction=transaction)
    assert at.open_home("requests").count() == 1
    server = ReadResponseServer(at.home, path("input"), path("requests"))
    assert not server.run_once(0)
    assert server.statistics() == {"requests_served": 0, "requests_rejected": 1}
    depths = {name: at.open_home(name).count() for name in QUEUES}
    assert depths == {"input": 1, "requests": 0, "one": 0, "other": 0}
