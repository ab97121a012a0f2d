"""Connecting as a program on a computer: which names of computers are none."""

import pytest

from adapter import msmq
from tests.support.msmq_site import MsmqSite


@pytest.mark.parametrize("computer", [".", "localhost", "127.0.0.1", "[::1]"])
def test_what_means_here_is_no_name_of_a_computer(at: MsmqSite, computer: str) -> None:
    queue = at.create("orders")
    with at.manager.connect_msmq(computer) as host:
        assert host.computer == ""
        host.open(r".\private$\orders", access=msmq.QueueAccessMode.SEND).send("x")
    assert queue.count() == 1
