"""Connecting: which address is taken, and what is said when none will do."""

from collections.abc import Callable

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.loopback import Loopback

Connect = Callable[..., adapter.Connection]


def test_several_addresses_are_tried_and_the_living_one_is_kept(server: Loopback) -> None:
    with adapter.connect(f"127.0.0.1:1,{server.address}") as qm:
        qm.define_queue("Q")
        server.cut_all()
        assert qm.queues()


def test_connecting_says_what_is_wrong(server: Loopback, connect: Connect) -> None:
    with pytest.raises(e.WrongQueueManager, match="QM2"):
        connect(queue_manager="QM2")
    assert connect(queue_manager="QM1").name == "QM1"
    server.refuses = Refused(Reason.QUEUE_MANAGER_STOPPING)
    with pytest.raises(e.QueueManagerStopping):
        connect()
    server.refuses = Refused(Reason.PROTOCOL_VERSION_ERROR, "", "version 2")
    with pytest.raises(e.WrongVersion, match="version 2"):
        connect()
    server.refuses = None
    server.welcomes = False
    with pytest.raises(e.QueueManagerNotAvailable, match="does not answer"):
        connect(connect_timeout_s=0.2)
    server.crash()
    with pytest.raises(e.QueueManagerNotAvailable, match="is it running"):
        connect()
    server.start()


@pytest.mark.parametrize("version", [0, 3, 99])
def test_a_welcome_in_another_version_is_refused(
    server: Loopback, connect: Connect, version: int
) -> None:
    server.version = version
    with pytest.raises(
        e.WrongVersion, match=f"it speaks version {version}, this client versions 1 to 2"
    ):
        connect()


def test_after_the_first_welcome_only_that_queue_manager_will_do(
    server: Loopback, connect: Connect
) -> None:
    qm = connect(reconnect_timeout_s=0.2)
    qm.define_queue("Q")
    server.crash()
    server.qm.name = "QM2"
    server.start()
    with pytest.raises(e.ConnectionBroken, match="QM1 is not at this address"):
        qm.queues()
