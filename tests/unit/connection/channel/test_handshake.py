"""Connecting: which address is taken, and what is said when none will do."""

from collections.abc import Callable

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.handshake import back_off_s
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


@pytest.mark.parametrize("version", [0, 4, 99])
def test_a_welcome_in_another_version_is_refused(
    server: Loopback, connect: Connect, version: int
) -> None:
    server.version = version
    with pytest.raises(
        e.WrongVersion, match=f"it speaks version {version}, this client versions 1 to 3"
    ):
        connect()


def test_after_the_first_welcome_only_that_queue_manager_will_do(
    server: Loopback, connect: Connect
) -> None:
    qm = connect(reconnect_timeout_s=2.0)
    qm.define_queue("Q")
    server.crash()
    server.qm.name = "QM2"
    server.start()
    with pytest.raises(e.ConnectionBroken, match="QM1 is not at this address"):
        qm.queues()


@pytest.mark.parametrize(
    ("attempts", "longest_s"),
    [(1, 0.02), (2, 0.04), (3, 0.08), (4, 0.16), (5, 0.32), (6, 0.64), (7, 1), (8, 1), (9_999, 1)],
)
def test_clients_of_a_queue_manager_that_comes_back_do_not_all_come_at_once(
    attempts: int, longest_s: float
) -> None:
    """Each waits longer each time, up to a second, and up to half of that less, by chance."""
    drawn_s = [back_off_s(attempts) for _ in range(300)]
    assert longest_s / 2 <= min(drawn_s) < longest_s * 0.6
    assert longest_s * 0.9 < max(drawn_s) <= longest_s
    assert len(set(drawn_s)) > 250


def test_the_first_attempt_is_made_at_once() -> None:
    assert back_off_s(0) == 0
