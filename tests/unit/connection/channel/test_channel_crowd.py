"""A crowd on one connection while the queue manager crashes and connections break: all once."""

import logging
import random
import threading
import time
from collections.abc import Callable

import pytest

import adapter
from tests.support.loopback import Loopback
from tests.support.scripted import Command

THREADS = 8
MESSAGES = 60
CRASHES = 6
CRASH_EVERY = 150  # commands
JOIN_S = 60.0


class Mishap(Exception):  # noqa: N818 -- it is thrown to be outlived
    """What a worker throws now and then."""


def copy(
    qm: adapter.Connection, seed: int, over: threading.Event, failures: list[BaseException]
) -> None:
    """Move messages from IN to OUT in units, with a mishap now and then."""
    chance = random.Random(seed)
    try:
        while not over.is_set():
            for unit in qm.queue("IN").units(size=5, timeout=0.1):
                with unit:
                    for message in unit.messages:
                        qm.put("OUT", message)
                    if chance.random() < 0.1:
                        raise Mishap
    except BaseException as error:  # noqa: BLE001 -- the test looks at it
        failures.append(error)


def put(qm: adapter.Connection, number: int, failures: list[BaseException]) -> None:
    """Put messages one by one, each durable by itself."""
    try:
        for turn in range(MESSAGES):
            qm.put("IN", b"%d %d" % (number, turn))
    except BaseException as error:  # noqa: BLE001 -- the test looks at it
        failures.append(error)


class Disturbance:
    """Now and then breaks the connection a command came on: at once, or behind some more bytes.

    Every so many commands it asks for a crash, which another thread sees to.
    """

    def __init__(self, server: Loopback, seed: int) -> None:
        self.crashes = threading.Semaphore(0)
        self._server = server
        self._chance = random.Random(seed)
        self._commands = 0
        server.before = self

    def __call__(self, number: int, _command: Command) -> None:
        self._commands += 1
        if self._commands % CRASH_EVERY == 0 and self._commands < CRASH_EVERY * CRASHES:
            self.crashes.release()
        client = self._server.clients.get(number)
        if client is not None and self._chance.random() < 1 / 40:
            where = self._chance.choice(["received", "sent"])
            setattr(client.budget, where, self._chance.randrange(400))


def crash(server: Loopback, disturbance: Disturbance, over: threading.Event) -> None:
    """Crash and start as often as asked, until it is over."""
    while not over.is_set():
        if disturbance.crashes.acquire(timeout=0.1):
            server.crash()
            server.start()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_everything_arrives_once(
    server: Loopback,
    connect: Callable[..., adapter.Connection],
    caplog: pytest.LogCaptureFixture,
    seed: int,
) -> None:
    caplog.set_level(logging.ERROR, "adapter.client")
    putting, copying = connect(), connect()
    putting.define_queue("IN")
    putting.define_queue("OUT")
    failures: list[BaseException] = []
    over = threading.Event()
    putters = [threading.Thread(target=put, args=(putting, n, failures)) for n in range(THREADS)]
    others = [
        threading.Thread(target=copy, args=(copying, seed * 100 + n, over, failures))
        for n in range(4)
    ] + [threading.Thread(target=crash, args=(server, Disturbance(server, seed), over))]
    for thread in [*putters, *others]:
        thread.start()
    until_s = time.monotonic() + JOIN_S
    while not failures and len(server.bodies("OUT")) < THREADS * MESSAGES:
        assert time.monotonic() < until_s
        over.wait(0.02)
    over.set()
    for thread in [*putters, *others]:
        thread.join(JOIN_S)
        assert not thread.is_alive()
    assert failures == []
    assert server.bodies("IN") == []
    out = server.bodies("OUT")
    assert sorted(out) == sorted(b"%d %d" % (n, t) for n in range(THREADS) for t in range(MESSAGES))
    assert putting.statistics()["connections_lost"] > 3
    for qm in (putting, copying):
        qm.queues("IN")  # its answer comes after those that nobody waits for
        figures = qm.statistics()
        assert (figures["unanswered"], figures["units"]) == (0, 0)
