"""mqk msmq read-response: it serves requests until a signal comes."""

import os
import signal
import threading

import adapter.testing
from adapter.msmq import Message, MessageQueueTransactionType
from tests.unit.cli.conftest import Mqk

WAIT_S = 20.0
SINGLE = MessageQueueTransactionType.SINGLE


def test_it_serves_requests_until_sigterm(
    at: Mqk, manager: adapter.testing.TestQueueManager
) -> None:
    with manager.connect_msmq() as host:
        orders, requests, own = (
            host.create(rf".\private$\{name}", transactional=True)
            for name in ("orders", "requests", "own")
        )
        orders.send("x", label="1", transaction=SINGLE)
        requests.send(Message("please", response_queue=own), transaction=SINGLE)
        found: list[str] = []

        def end() -> None:
            found.append(own.receive(WAIT_S).label)
            os.kill(os.getpid(), signal.SIGTERM)

        thread = threading.Thread(target=end)
        thread.start()
        said = at("msmq", "read-response", orders.path, requests.path)
        thread.join(WAIT_S)
    assert (said.status, found) == (0, ["1"])
    assert said.err.splitlines()[-1] == "mqk: the read-response server has ended"


def test_a_queue_that_is_not_transactional(
    at: Mqk, manager: adapter.testing.TestQueueManager
) -> None:
    with manager.connect_msmq() as host:
        host.create(r".\private$\plain")
    said = at("msmq", "read-response", r".\private$\plain", r".\private$\plain")
    assert said.status == 1
    assert "is not transactional" in said.err
    assert "Traceback" not in said.err
