"""A crowd on one connection while the queue manager crashes and cuts: everything once, in order."""

import logging
import random
import threading
from collections.abc import Callable

import pytest

import adapter
from tests.support.loopback import Loopback

THREADS = 8
MESSAGES = 60
FAULTS = 25
JOIN_S = 60.0


class Mishap(Exception):  # noqa: N818 -- it is thrown to be outlived
    """What a worker throws now and then."""


def copy(qm: adapter.Connection, seed: int, failures: list[BaseException]) -> None:
    """Move messages from IN to OUT in units, with a mishap now and then."""
    chance = random.Random(seed)
    try:
        for unit in qm.queue("IN").units(size=5, timeout=1.5):
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


def disturb(server: Loopback, chance: random.Random, quiet: threading.Event) -> None:
    """Crash, and cut at a random byte, until it is enough."""
    for fault in range(FAULTS):
        if quiet.wait(chance.uniform(0.005, 0.05)):
            return
        if fault % 4 == 0:
            server.crash()
            server.start()
        elif fault % 4 == 1:
            server.cut_all()
        else:
            server.cut_after(**{chance.choice(["received", "sent"]): chance.randrange(1, 400)})


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
    threads = [
        threading.Thread(target=put, args=(putting, n, failures)) for n in range(THREADS)
    ] + [threading.Thread(target=copy, args=(copying, seed * 100 + n, failures)) for n in range(4)]
    quiet = threading.Event()
    disturbing = threading.Thread(target=disturb, args=(server, random.Random(seed), quiet))
    for thread in [*threads, disturbing]:
        thread.start()
    for thread in threads:
        thread.join(JOIN_S)
        assert not thread.is_alive()
    quiet.set()
    disturbing.join(JOIN_S)
    assert failures == []
    assert server.bodies("IN") == []
    out = server.bodies("OUT")
    assert sorted(out) == sorted(b"%d %d" % (n, t) for n in range(THREADS) for t in range(MESSAGES))
    assert putting.statistics()["connections_lost"] > 3
    for qm in (putting, copying):
        figures = qm.statistics()
        assert (figures["unanswered"], figures["units"]) == (0, 0)
