"""Two queue managers that send to each other, in memory and on a Kafka."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import adapter
from adapter.testing import TestQueueManager
from tests.support.sending import define_transmission_queue, send
from tests.support.server_process import ServerProcess
from tests.support.shared_kafka import AnyKafka

WITHIN_S = 30.0
Two = tuple[TestQueueManager, TestQueueManager]


@pytest.fixture(params=["memory", "kafka"])
def two(request: pytest.FixtureRequest, unique_name: Callable[..., str]) -> Iterator[Two]:
    """Two queue managers, of which the first has a transmission queue to the second."""
    servers = None
    if request.param == "kafka":
        servers = request.getfixturevalue("kafka").bootstrap_servers
    names = unique_name("QMA"), unique_name("QMB")
    with adapter.testing.network(*names, bootstrap_servers=servers) as (a, b):
        define_transmission_queue(a, b.name)
        yield a, b


def bodies(qm: adapter.Connection, queue: str, count: int) -> list[bytes]:
    """Get so many messages; each must come in time."""
    found: list[bytes] = []
    for _ in range(count):
        message = qm.get(queue, timeout=WITHIN_S)
        assert message is not None, found
        found.append(message.body)
    return found


def test_what_is_put_here_is_got_there(two: Two) -> None:
    a, b = two
    with a.connect() as here, b.connect() as there:
        there.define_queue("ORDERS")
        send(here, b.name, "ORDERS", [b"one", b"two"])
        assert bodies(there, "ORDERS", 2) == [b"one", b"two"]
        assert there.get("ORDERS") is None


def test_units_stay_whole_and_in_order(two: Two) -> None:
    a, b = two
    with a.connect() as here, b.connect() as there:
        there.define_queue("ORDERS", msg_delivery_sequence="FIFO")
        for unit in range(5):
            send(here, b.name, "ORDERS", [b"%d %d" % (unit, n) for n in range(700)])
        found = []
        for _ in range(3500):
            message = there.get("ORDERS", timeout=WITHIN_S)
            assert message is not None
            found.append(message)
        assert [one.body for one in found] == [
            b"%d %d" % (unit, n) for unit in range(5) for n in range(700)
        ]
        assert [one.unit_index for one in found] == [*range(700)] * 5
        assert len({one.unit_id for one in found}) == 5


def test_a_restart_of_either_loses_and_doubles_nothing(two: Two) -> None:
    a, b = two
    with b.connect() as there:
        there.define_queue("ORDERS", msg_delivery_sequence="FIFO")
    with a.connect() as here, b.connect() as there:
        for n in range(20):
            send(here, b.name, "ORDERS", [b"%d" % n])
            if n % 6 == 2:
                a.crash()
                a.start()
            if n % 6 == 5:
                b.crash()
                b.start()
        assert bodies(there, "ORDERS", 20) == [b"%d" % n for n in range(20)]
        assert there.get("ORDERS") is None


def test_a_destination_may_be_away_for_a_while(two: Two) -> None:
    a, b = two
    with b.connect() as there:
        there.define_queue("ORDERS", msg_delivery_sequence="FIFO")
    b.stop()
    with a.connect() as here:
        send(here, b.name, "ORDERS", [b"%d" % n for n in range(10)])
    b.start()
    with b.connect() as there:
        assert bodies(there, "ORDERS", 10) == [b"%d" % n for n in range(10)]


def test_large_bodies_arrive(two: Two) -> None:
    a, b = two
    large = [bytes([n]) * (9 * 1024 * 1024) for n in range(2)]
    a.mqsc(f"ALTER QLOCAL({b.name}) MAXMSGL(20000000)")
    with a.connect() as here, b.connect() as there:
        there.define_queue("LARGE", max_message_length=20_000_000)
        for body in large:
            send(here, b.name, "LARGE", [body, b"small"])
        assert bodies(there, "LARGE", 4) == [large[0], b"small", large[1], b"small"]


def test_requests_and_replies_travel(two: Two) -> None:
    a, b = two
    a.mqsc(f"DEFINE QREMOTE(SERVER) RNAME(REQUESTS) RQMNAME({b.name})")
    with a.connect() as here, b.connect() as there:
        here.define_queue("REPLIES")
        there.define_queue("REQUESTS")
        asked = here.put("SERVER", "how many?", reply_to="REPLIES", message_type=1)
        request = there.get("REQUESTS", timeout=WITHIN_S)
        assert request is not None
        there.reply(request, "one dozen")
        reply = here.get("REPLIES", timeout=WITHIN_S, correlation_id=asked.message_id)
        assert reply is not None
        assert reply.text == "one dozen"
        there.put("REPLIES", "unasked", queue_manager=a.name)
        assert bodies(here, "REPLIES", 1) == [b"unasked"]


def test_a_remote_queue_needs_no_transmission_queue(two: Two) -> None:
    a, b = two
    b.mqsc("DEFINE QLOCAL(ORDERS)")
    a.mqsc(f"DELETE QLOCAL({b.name})\nDEFINE QREMOTE(THERE) RNAME(ORDERS) RQMNAME({b.name})")
    with a.connect() as here, b.connect() as there:
        with here.unit():
            here.put("THERE", b"one", persistent=True, priority=7, correlation_id="c")
            here.put("THERE", b"two", persistent=True)
        got = there.get("ORDERS", timeout=WITHIN_S)
        assert got is not None
        assert (got.body, got.priority, got.correlation_id[:1]) == (b"one", 7, b"c")
        assert bodies(there, "ORDERS", 1) == [b"two"]


def test_a_queue_manager_that_has_started_knows_the_others(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    """What is sent at once to one that it has never sent to is taken."""

    def started(name: str) -> ServerProcess:
        made = ServerProcess(unique_name(name), kafka.bootstrap_servers, tmp_path, network=True)
        ends.enter_context(made)
        made.start()
        return made

    with ExitStack() as ends:
        b = started("QMB")
        with adapter.connect(b.address) as there:
            there.define_queue("ORDERS", msg_delivery_sequence="FIFO")
            for number in range(3):
                with adapter.connect(started("QMA").address) as here:
                    here.put("ORDERS", b"%d" % number, queue_manager=b.queue_manager)
                assert bodies(there, "ORDERS", 1) == [b"%d" % number]
