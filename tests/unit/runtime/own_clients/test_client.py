"""A client in a thread: connected and stopped at any moment, tried again after pauses."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

import adapter
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.unit import AnyUnit
from adapter.connection.channel.verbs import open_handle
from adapter.core.contract import commands as c
from adapter.errors import ConnectionClosed
from adapter.runtime.own_clients import client as own_client
from adapter.runtime.own_clients.client import OwnClient, Pauses, get_messages, incarnation_of
from adapter.testing import TestQueueManager
from tests.support.own_client import APPLICATION, connected, dial

WITHIN_S = 20.0


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with adapter.testing.queue_manager() as running:
        running.mqsc("DEFINE QLOCAL(Q)")
        yield running


class Work:
    """What the thread of a client does: it reports, and waits in a get."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.ended = threading.Event()
        self.errors: list[BaseException] = []
        self.failures: list[str] = []

    def run(self, client: OwnClient) -> None:
        try:
            client.connected(self.wait_for_a_message)
        except adapter.Error as error:
            self.errors.append(error)
        self.ended.set()

    def wait_for_a_message(self, channel: Channel) -> None:
        handle = open_handle(channel, "Q", c.INPUT | c.EXCLUSIVE)
        unit = AnyUnit(channel, ahead=True)
        unit.begin()
        self.began.set()
        get_messages(handle, unit, -1)


def start(
    manager: TestQueueManager, run: Callable[[OwnClient], None], failures: list[str]
) -> OwnClient:
    return OwnClient("client of a test", lambda: dial(manager), run, failures.append)


def test_a_client_that_waits_is_stopped(manager: TestQueueManager) -> None:
    work = Work()
    client = start(manager, work.run, work.failures)
    assert work.began.wait(WITHIN_S)
    before = client.is_alive, client.is_stopping()
    client.stop()
    client.join()
    assert [before, (client.is_alive, client.is_stopping())] == [(True, False), (False, True)]
    assert work.ended.is_set()
    assert [type(one) for one in work.errors] == [ConnectionClosed]
    assert not work.failures
    client.stop()  # as often as one likes
    assert "No command failed" in manager.mqsc("DELETE QLOCAL(Q)")  # nothing has it open


def test_what_was_got_and_not_committed_is_backed_out(manager: TestQueueManager) -> None:
    with manager.connect() as qm:
        qm.put("Q", b"1")
    units: list[AnyUnit] = []
    got: list[int] = []

    def work(channel: Channel) -> None:
        unit = AnyUnit(channel, ahead=True)
        units.append(unit)  # it is open when the connection is closed
        unit.begin()
        got.append(len(get_messages(open_handle(channel, "Q", c.INPUT), unit, 0)))

    client = start(manager, lambda one: one.connected(work), [])
    client.join()
    with manager.connect() as qm:
        message = qm.get("Q")
    assert got == [1]
    assert message is not None
    assert message.backout_count == 0  # the program has seen nothing of it


def test_a_client_that_is_stopped_before_it_has_connected_does_nothing(
    manager: TestQueueManager,
) -> None:
    go_on, dialled = threading.Event(), threading.Event()
    worked: list[object] = []

    def dial_late() -> Channel:
        dialled.set()
        assert go_on.wait(WITHIN_S)
        return dial(manager)

    client = OwnClient("late", dial_late, lambda one: one.connected(worked.append), worked.append)
    assert dialled.wait(WITHIN_S)
    client.stop()
    go_on.set()
    client.join()
    assert not client.is_alive
    assert worked == []


def test_the_connection_is_closed_also_behind_an_error(manager: TestQueueManager) -> None:
    channels: list[Channel] = []
    failures: list[str] = []

    def work(channel: Channel) -> None:
        channels.append(channel)
        raise RuntimeError("unexpected")

    client = start(manager, lambda one: one.connected(work), failures)
    client.join()
    assert [one.is_closed for one in channels] == [True]
    assert failures == [
        "the thread client of a test ended unexpectedly: RuntimeError('unexpected')"
    ]


@pytest.mark.parametrize("end", [OwnClient.stop, OwnClient.retry])
def test_a_pause_ends_when_something_has_changed(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch, end: Callable[[OwnClient], None]
) -> None:
    monkeypatch.setattr(own_client, "PAUSE_S", WITHIN_S)
    began, ended = threading.Event(), threading.Event()

    def run(client: OwnClient) -> None:
        began.set()
        client.pause(WITHIN_S)
        ended.set()

    began_s = time.monotonic()
    client = start(manager, run, [])
    assert began.wait(WITHIN_S)
    end(client)
    assert ended.wait(WITHIN_S)
    assert time.monotonic() - began_s < WITHIN_S / 2
    client.join()


def test_pauses_get_longer_up_to_the_longest() -> None:
    pauses = Pauses()
    assert [pauses.next_s(1.0) for _ in range(7)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert pauses.next_s(10.0) == 2.0
    pauses.begin_again()
    assert pauses.next_s(10.0) == own_client.PAUSE_S


def test_incarnations_and_names(manager: TestQueueManager) -> None:
    with connected(manager) as channel:
        first = incarnation_of(channel, "Q")
        assert incarnation_of(channel, "NONE") == 0
        assert incarnation_of(channel, "SYSTEM.DELAYED.QUEUE") == 0
    assert "No command failed" in manager.mqsc("DELETE QLOCAL(Q)\nDEFINE QLOCAL(Q)")
    with connected(manager) as channel:
        assert incarnation_of(channel, "Q") == first + 1
        open_handle(channel, "Q", c.INPUT)
        with manager.connect() as qm:
            assert APPLICATION in {one.application for one in qm.connections()}


def test_a_queue_manager_that_is_gone_is_an_error(manager: TestQueueManager) -> None:
    manager.stop()
    with pytest.raises(adapter.ConnectionBroken):
        dial(manager)
