"""Recovery at each step of a new link, while the other end lives and does not answer that step.

It says that it lives more often than a client looks up, so that each wait of the client returns.
"""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.handshake import LOOK_UP_S
from adapter.connection.wire.heartbeats import SERVER_HEARTBEAT
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback

Connect = Callable[..., adapter.Connection]

SPEAK_S = LOOK_UP_S / 10
STEPS = {"greeting": None, "resume": c.SessionResume, "reopen": c.Open}
"""What is not answered; None: the hello."""


@pytest.fixture
def speaking(server: Loopback) -> Iterator[None]:
    """The server says to each client, all the time, that it lives."""
    ended = threading.Event()

    def say() -> None:
        for client in list(server.clients.values()):
            if client.is_welcomed:  # before, the first frame would be no welcome
                client.send(SERVER_HEARTBEAT)

    def speak() -> None:
        while not ended.wait(SPEAK_S):
            server.call(say)

    thread = threading.Thread(target=speak)
    thread.start()
    yield
    ended.set()
    thread.join()


def get_over_a_lost_link(
    server: Loopback, qm: adapter.Connection, step: str
) -> tuple[threading.Thread, list[BaseException]]:
    """Have a thread get, on a queue that stays open, over a link that is lost for good."""
    qm.put("Q", b"x")
    qm.queue("Q").get()
    queue = qm.queue("Q", open_for="input")
    queue.depth()
    caught: list[BaseException] = []
    waits = threading.Event()

    def get() -> None:
        try:
            queue.get(timeout=None)
        except e.Error as error:
            caught.append(error)

    def note(_number: int, command: object) -> None:
        if isinstance(command, c.Get):
            waits.set()

    server.before = note
    thread = threading.Thread(target=get)
    thread.start()
    assert waits.wait(5)
    held = STEPS[step]
    if held is None:
        server.welcomes = False
    else:
        server.holds = (held,)
    server.cut_all()
    return thread, caught


@pytest.mark.usefixtures("speaking")
@pytest.mark.parametrize("step", STEPS)
def test_a_step_without_an_answer_ends_with_the_time_to_reconnect(
    server: Loopback, connect: Connect, step: str
) -> None:
    qm = connect(reconnect_timeout_s=0.8)
    qm.define_queue("Q")
    began_s = time.monotonic()
    thread, caught = get_over_a_lost_link(server, qm, step)
    thread.join(10)
    assert not thread.is_alive()
    assert isinstance(caught[0], e.ConnectionBroken | e.InDoubt)
    assert time.monotonic() - began_s < 5
    server.release()
    server.welcomes = True


@pytest.mark.usefixtures("speaking")
@pytest.mark.parametrize("step", STEPS)
def test_close_ends_each_step(server: Loopback, connect: Connect, step: str) -> None:
    qm = connect(reconnect_timeout_s=30)
    qm.define_queue("Q")
    thread, caught = get_over_a_lost_link(server, qm, step)
    wait_for_step(server, step)
    began_s = time.monotonic()
    qm.close()
    thread.join(10)
    assert not thread.is_alive()
    assert isinstance(caught[0], e.ConnectionClosed | e.InDoubt)
    assert time.monotonic() - began_s < 2
    server.release()
    server.welcomes = True


def wait_for_step(server: Loopback, step: str) -> None:
    """Wait until the new link waits for the answer of a step."""
    until_s = time.monotonic() + 5
    while time.monotonic() < until_s:
        if STEPS[step] is None and server.clients:
            return
        if server.held:
            return
        time.sleep(0.01)
    raise AssertionError(step)
