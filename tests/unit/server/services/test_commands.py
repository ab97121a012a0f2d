"""The command server of the process: started when it is needed, ended with it."""

import threading
import time
from collections.abc import Callable

import pytest

import adapter.testing
from adapter.administration.pcf.command_server import CommandServer
from adapter.administration.status import COMMAND_SERVER
from adapter.server.services import commands
from adapter.server.services.commands import COMMAND_QUEUE
from adapter.testing import TestQueueManager


def await_served(manager: TestQueueManager) -> None:
    """It is started in a thread, which the open of its queue does not wait for."""
    deadline_s = time.monotonic() + 20
    while not served(manager):
        assert time.monotonic() < deadline_s
        threading.Event().wait(0.005)


def served(manager: TestQueueManager) -> bool:
    return "commands_answered" in manager.statistics()


def test_it_is_not_started_for_those_who_do_not_ask() -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.define_queue("Q")
        qm.put("Q", "x")
        with qm.queue(COMMAND_QUEUE, open_for="browse") as queue:
            assert not list(queue.browse())
        assert not served(manager)
        assert not [one for one in qm.connections() if one.application == COMMAND_SERVER]


def test_it_is_started_once_when_the_command_queue_is_opened_for_puts() -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.define_queue("REPLIES")
        for _ in range(2):
            with qm.queue(COMMAND_QUEUE, open_for="output") as queue:
                queue.put("x", reply_to="REPLIES", message_type=1)
                assert qm.get("REPLIES", timeout=20)
        assert served(manager)
        assert len([one for one in qm.connections() if one.proof == "own"]) == 1


def test_it_is_started_for_requests_that_waited() -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.define_queue("REPLIES")
        qm.alter_queue(COMMAND_QUEUE, inhibit_get=True)
        qm.put(COMMAND_QUEUE, "x", reply_to="REPLIES", persistent=True, message_type=1)
        manager.restart()
        qm.alter_queue(COMMAND_QUEUE, inhibit_get=False)
        assert qm.get("REPLIES", timeout=20)


def test_a_start_that_fails_is_tried_again_and_the_stop_comes_to_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole, fails = CommandServer.start, [True]

    def start(server: CommandServer) -> None:
        if fails.pop() if fails else False:
            raise RuntimeError("can't start new thread")
        whole(server)

    monkeypatch.setattr(CommandServer, "start", start)
    monkeypatch.setattr(commands, "AGAIN_S", 0.01)
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.queue(COMMAND_QUEUE, open_for="output")
        await_served(manager)
    fails += [True] * 1_000
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.queue(COMMAND_QUEUE, open_for="output")
        manager.stop()
        assert len(fails) < 1_000


def test_it_ends_with_the_queue_manager() -> None:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as qm:
        qm.queue(COMMAND_QUEUE, open_for="output")
        for end in (manager.stop, manager.crash):
            end()
            manager.start()
            qm.put(COMMAND_QUEUE, "x")
        await_served(manager)


def send_from_elsewhere(sender: adapter.Connection, receiver: adapter.Connection) -> None:
    sender.put(COMMAND_QUEUE, "x", queue_manager=receiver.name)


def publish(_sender: adapter.Connection, receiver: adapter.Connection) -> None:
    receiver.define_object("topic", "T", topic_string="t")
    receiver.define_object("subscription", "S", topic_string="t", destination=COMMAND_QUEUE)
    receiver.publish("t", "x")


def put_by_alias_of_topic(sender: adapter.Connection, receiver: adapter.Connection) -> None:
    receiver.define_object("topic", "T", topic_string="t")
    receiver.define_object("subscription", "S", topic_string="t", destination=COMMAND_QUEUE)
    receiver.define_object("alias", "A", target="T", target_type="TOPIC")
    receiver.put("A", "x")


def move_back(_sender: adapter.Connection, receiver: adapter.Connection) -> None:
    receiver.define_queue("Q", backout_threshold=1, backout_requeue_queue=COMMAND_QUEUE)
    receiver.alter_queue("Q", backout_action="MOVE")
    receiver.put("Q", "x")
    unit = receiver.unit()
    unit.begin()
    assert receiver.get("Q", unit=unit)
    unit.backout()


def report(_sender: adapter.Connection, receiver: adapter.Connection) -> None:
    receiver.define_queue("Q")
    receiver.put("Q", "x", report=0x100, reply_to=COMMAND_QUEUE)


@pytest.mark.parametrize(
    "put", [send_from_elsewhere, publish, put_by_alias_of_topic, move_back, report]
)
def test_it_is_started_by_whatever_way_a_message_comes(
    put: Callable[[adapter.Connection, adapter.Connection], None],
) -> None:
    with (
        adapter.testing.network("QM1", "QM2") as (first, second),
        first.connect() as sender,
        second.connect() as receiver,
    ):
        put(sender, receiver)
        await_served(second)
