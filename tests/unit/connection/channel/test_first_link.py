"""The first link of a connection is tried for as long as the program says."""

import threading
import time
from collections.abc import Callable

import pytest

import adapter
from adapter.errors import QueueManagerNotAvailable, WrongQueueManager
from tests.support.loopback import Loopback

WAIT_S = 20.0
Connect = Callable[..., adapter.Connection]


def test_a_queue_manager_that_comes_in_time_is_waited_for(
    server: Loopback, connect: Connect
) -> None:
    server.crash()
    with pytest.raises(QueueManagerNotAvailable):
        connect()
    starts = threading.Timer(0.3, server.start)
    starts.start()
    qm = connect(wait_s=WAIT_S)
    starts.join(WAIT_S)
    assert qm.name == "QM1"


def test_one_that_does_not_come_is_waited_for_no_longer(server: Loopback, connect: Connect) -> None:
    server.crash()
    began_s = time.monotonic()
    with pytest.raises(QueueManagerNotAvailable):
        connect(wait_s=0.3)
    assert 0.3 <= time.monotonic() - began_s < WAIT_S


def test_what_does_not_pass_is_told_at_once(server: Loopback, connect: Connect) -> None:
    assert server.address
    began_s = time.monotonic()
    with pytest.raises(WrongQueueManager):
        connect(queue_manager="QM2", wait_s=3 * WAIT_S)
    assert time.monotonic() - began_s < WAIT_S
