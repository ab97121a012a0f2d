"""What is logged of a lost connection: once per loss, and once when it is back."""

import os
import threading
from collections.abc import Callable

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.loopback import Loopback, OnCommand, loopback

Connect = Callable[..., adapter.Connection]
CLOSED = "the queue manager closed the connection"


@pytest.fixture(autouse=True)
def info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "adapter.client")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [f"{one.levelname} {one.getMessage()}" for one in caplog.records]


def test_finding_users_5_a_lost_connection_is_logged_and_that_it_is_back(
    server: Loopback, qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    where = f"QM1 ({server.address})"
    server.cut_all()
    qm.put("Q", b"again")
    lost, back = lines(caplog)
    assert lost == (
        f"WARNING connection to {where} lost ({CLOSED}): reconnecting for up to 60 s; "
        "open units are backed out"
    )
    assert back.startswith(f"INFO reconnected to {where} after 0.")
    assert back.endswith(" s")


def test_it_is_logged_once_however_many_threads_wait(
    server: Loopback, qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    queue = qm.queue("Q")
    threads = [threading.Thread(target=queue.get, kwargs={"timeout": None}) for _ in range(5)]
    waiting = threading.Event()
    gets: list[object] = []

    def before(_number: int, command: object) -> None:
        gets.append(command)
        if sum(isinstance(one, c.Get) for one in gets) == len(threads):
            waiting.set()

    server.before = before
    for thread in threads:
        thread.start()
    assert waiting.wait(10)
    server.cut_all()
    for _ in threads:
        queue.put(b"x")
    for thread in threads:
        thread.join(10)
    assert [line.split()[0] for line in lines(caplog)] == ["WARNING", "INFO"]


def test_several_attempts_are_one_loss(
    server: Loopback, qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    """A queue manager that is being stopped welcomes, and refuses what was asked."""
    refusals = iter([Refused(Reason.QUEUE_MANAGER_NOT_AVAILABLE)] * 3)
    server.before = lambda _n, command: next(refusals, None) if isinstance(command, c.Put) else None
    qm.put("Q", b"x")
    assert [line.split()[0] for line in lines(caplog)] == ["WARNING", *["INFO"] * 5]
    assert [" lost again (" in line for line in lines(caplog)] == [
        False,
        False,
        True,
        False,
        True,
        False,
    ]
    caplog.clear()
    server.cut_all()
    qm.queues()
    assert lines(caplog)[0].startswith("WARNING connection to QM1 ")


def test_it_says_once_that_no_connection_was_made(
    server: Loopback, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    qm = connect(reconnect_timeout_s=0.1)
    for _ in range(2):
        server.crash()
        for _ in range(2):
            with pytest.raises(e.ConnectionBroken):
                qm.queues()
        failed = [line for line in lines(caplog) if " not reconnected to " in line]
        assert [line.split()[0] for line in failed] == ["WARNING", "INFO"]
        assert failed[0].startswith(f"WARNING not reconnected to QM1 ({server.address}) within")
        assert "Connection refused" in failed[0]
        server.start()
        qm.queues()
        assert lines(caplog)[-1].startswith("INFO reconnected to QM1 ")
        caplog.clear()


def test_the_address_is_where_it_is_now(server: Loopback, caplog: pytest.LogCaptureFixture) -> None:
    with loopback() as second:
        with adapter.connect(f"{server.address},{second.address}") as qm:
            server.crash()
            qm.queues()
        lost, back = lines(caplog)
        assert server.address in lost
        assert second.address in back
    server.start()


def test_a_queue_manager_that_says_goodbye_is_quoted(
    server: Loopback, qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    goodbye = Refused(Reason.QUEUE_MANAGER_STOPPING, "QM1", "the queue manager is stopping")

    def stop() -> None:
        for client in list(server.clients.values()):
            client.say_goodbye(goodbye)

    server.call(stop)
    qm.queues()
    assert " lost (the queue manager is stopping): reconnecting " in lines(caplog)[0]


def test_closing_is_no_loss(
    server: Loopback, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    qm = connect()
    qm.define_queue("Q")
    waiting = OnCommand(server, c.Get)
    getting = threading.Thread(target=get_until_closed, args=(qm,))
    getting.start()
    assert waiting.arrived.wait(10)
    qm.close()
    getting.join(10)
    assert lines(caplog) == []


def get_until_closed(qm: adapter.Connection) -> None:
    with pytest.raises(e.ConnectionClosed):
        qm.get("Q", timeout=None)


def test_a_forked_child_loses_nothing(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    child = os.fork()
    if not child:
        status = 1
        try:
            with pytest.raises(e.ConnectionClosed):
                qm.queues()
            qm.close()
            status = len(lines(caplog))
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    qm.queues()
    assert lines(caplog) == []
