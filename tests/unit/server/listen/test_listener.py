"""The front of a queue manager: where it listens, whom it lets in, and who is not heard again."""

import asyncio
import resource
import time
from collections.abc import Callable, Iterator
from unittest.mock import Mock

import pytest

import adapter
from adapter import testing
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.runtime.owner import lifecycle
from adapter.runtime.owner.clock import SystemClock
from adapter.runtime.owner.lifecycle import OwnerState
from adapter.server.access.admission import Admission
from adapter.server.access.audit import AuditTrail
from adapter.server.doors.gate import ClientGate
from adapter.server.doors.mqk.handler import MqkHandler
from adapter.server.listen import held_clients, listener
from adapter.server.listen.bounds import BOUNDS, ConnectionBounds
from adapter.server.listen.clients import ServerControl
from adapter.server.listen.connections import ClientConnections
from adapter.server.listen.listener import Listener, NotLoopbackError, check_loopback, files_max
from adapter.server.standby.standbys import Standbys
from tests.support.raw_client import RawClient


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "localhost", "::1"])
def test_loopback_is_fine(host: str) -> None:
    check_loopback(host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1"])
def test_another_address_is_refused(host: str) -> None:
    with pytest.raises(NotLoopbackError, match=r"other machines: .* remote_clients"):
        check_loopback(host)


@pytest.mark.parametrize("host", ["", "no host"])
def test_no_address_at_all(host: str) -> None:
    with pytest.raises(NotLoopbackError, match="is not an address of this machine"):
        check_loopback(host)


def test_the_limit_of_open_files_is_raised_as_far_as_may_be() -> None:
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, most))
    try:
        raised = files_max()
        assert raised == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        wanted = BOUNDS.connections + listener.FILES_RESERVED
        assert raised == (wanted if most == resource.RLIM_INFINITY else min(wanted, most))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, most))


@pytest.fixture
def manager() -> Iterator[testing.TestQueueManager]:
    """A queue manager that ends slow clients soon."""
    bounds = ConnectionBounds(look_s=0.05, hello_s=0.3, frame_s=0.3, unread_s=0.3)
    with testing.queue_manager(bounds=bounds) as manager:
        yield manager


def test_one_that_never_says_hello_is_told_to_go(manager: testing.TestQueueManager) -> None:
    with RawClient(manager.address) as client:
        assert "no hello came" in client.goodbye().detail


def test_one_that_stops_in_the_middle_of_a_frame(manager: testing.TestQueueManager) -> None:
    with RawClient(manager.address) as client:
        client.hello()
        client.send(b"\0\0\1\0 half")
        assert "a frame was begun and not finished" in client.goodbye().detail


def test_one_that_reads_nothing_is_cut_off(
    manager: testing.TestQueueManager, capsys: pytest.CaptureFixture[str]
) -> None:
    """And its unit with it: what it got is there for others."""
    session = b"s" * 16
    unit = session + (1).to_bytes(8, "big")
    with manager.connect() as qm:
        qm.define_queue("Q")
        queue = qm.queue("Q")
        for _ in range(4):
            queue.put(bytes(2_000_000))
        with RawClient(manager.address, receive_bytes=4096) as client:
            client.hello()
            client.open_session(session)
            client.ask(c.Open(1, "Q", c.INPUT | c.BROWSE), c.Begin(unit))
            client.request(c.Get(1, unit), *[c.Browse(1, True, 10)] * 100)
            message = queue.get(timeout=10.0, message_id=wait_for_backout(queue))
            assert message is not None
            assert message.backout_count == 1
            assert manager.statistics()["connections"] == 1
            client.await_end()


def wait_for_backout(queue: adapter.Queue) -> bytes:
    """Browse until a message was backed out; its id."""
    deadline_s = time.monotonic() + 20.0
    while time.monotonic() < deadline_s:
        for message in queue.browse():
            if message.backout_count:
                return message.message_id
    raise AssertionError("it was not cut off")


def test_one_that_works_slowly_is_let_be(manager: testing.TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.define_queue("Q")
        assert qm.queue("Q").get(timeout=1.0) is None
        qm.queue("Q").put("x")


def test_everybody_is_told_when_it_is_full() -> None:
    two = ConnectionBounds(connections=2)
    with (
        testing.queue_manager(bounds=two) as manager,
        manager.connect(),
        manager.connect() as second,
    ):
        with RawClient(manager.address) as third:
            refused = third.goodbye()
            assert refused.reason is Reason.LIMIT_REACHED
            assert refused.detail == "2 clients are connected"
        second.close()
        with manager.connect():
            pass


@pytest.mark.parametrize("state", [OwnerState.TAKING_OVER, OwnerState.DOUBTFUL])
def test_whoever_comes_too_early_hears_why(
    state: OwnerState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_clients, "HOLD_S", 0.05)

    async def listen(connect: Callable[[str], object]) -> object:
        why = lifecycle.why_not(state)
        audit = AuditTrail()
        clients = ClientConnections("QM1", audit, lambda: why)
        control, standbys = Mock(ServerControl), Mock(Standbys)
        handler = MqkHandler(
            clients, ClientGate(clients, Admission(), audit, SystemClock(), control), standbys
        )
        front = Listener(clients, handler.accept, pytest.fail)
        host, port = await front.listen("127.0.0.1", 0)
        try:
            return await asyncio.get_running_loop().run_in_executor(None, connect, f"{host}:{port}")
        finally:
            front.abandon()

    def connect(address: str) -> object:
        with RawClient(address) as client:
            client.say_hello()
            return client.goodbye()

    refused = asyncio.run(listen(connect))
    assert f"{lifecycle.WHY_NOT[state]}; try again" in str(refused)
