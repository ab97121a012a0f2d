"""The worker, on a queue manager in memory: done, or backed out and set aside at the threshold."""

import logging
import threading
from collections.abc import Iterator

import pytest

import adapter
import adapter.testing
from mqk_demo import producer, queues, worker
from mqk_demo.flights import flight_of, result_of
from tests.unit.mqk_demo.flight_lines import table

LINES = table(120)
DEPARTED = [line for line in LINES if flight_of(line).departed]
GROUNDED = [line for line in LINES if not flight_of(line).departed]


@pytest.fixture
def qm(caplog: pytest.LogCaptureFixture) -> Iterator[adapter.Connection]:
    caplog.set_level(logging.ERROR, "adapter.client")
    with adapter.testing.queue_manager("DEMO") as manager, manager.connect() as connection:
        for name in (queues.DONE, queues.BACKOUT):
            connection.define_queue(name)
        connection.define_queue(
            queues.IN, backout_threshold=3, backout_requeue_queue=queues.BACKOUT
        )
        yield connection


def bodies(qm: adapter.Connection, queue: str) -> list[str]:
    return [message.body.decode() for message in qm.queue(queue).browse()]


def work_until_empty(qm: adapter.Connection) -> worker.WorkerTally:
    """Work, and close the queue from another thread when nothing is left."""
    source, results = qm.queue(queues.IN), qm.queue(queues.DONE)
    stop = threading.Event()
    closer = threading.Thread(target=worker.close_when_told, args=(stop, source))
    closer.start()
    watcher = threading.Thread(target=await_empty, args=(qm, stop))
    watcher.start()
    tally = worker.work(source, results)
    watcher.join()
    closer.join()
    return tally


def await_empty(qm: adapter.Connection, stop: threading.Event) -> None:
    for _ in range(2000):
        status = qm.queue(queues.IN).status()
        if not status.current_depth and not status.uncommitted:
            break
        stop.wait(0.01)
    stop.set()


def test_every_flight_is_done_or_set_aside(qm: adapter.Connection) -> None:
    producer.produce(qm.queue(queues.IN), LINES)
    tally = work_until_empty(qm)
    assert sorted(bodies(qm, queues.DONE)) == sorted(map(result_of, DEPARTED))
    assert sorted(bodies(qm, queues.BACKOUT)) == sorted(GROUNDED)
    assert bodies(qm, queues.IN) == []
    assert tally.done == len(DEPARTED)
    assert tally.lost == 0
    # The unit that held several fails once; then each flight that cannot be processed twice more.
    assert tally.failed >= 2 * len(GROUNDED) + 1


def test_a_result_is_as_urgent_as_its_flight(qm: adapter.Connection) -> None:
    producer.produce(qm.queue(queues.IN), LINES)
    work_until_empty(qm)
    for result in qm.queue(queues.DONE).browse():
        flight = flight_of(result.body.decode().rpartition(",")[0])
        assert result.priority == flight.priority
        assert result.correlation_id == flight.correlation_id
        assert result.persistent


def test_the_producer_puts_every_line_in_order(qm: adapter.Connection) -> None:
    tally = producer.produce(qm.queue(queues.IN), LINES)
    assert tally.put == len(LINES)
    expected = sorted(LINES, key=lambda line: -flight_of(line).priority)
    found = list(qm.queue(queues.IN).browse())
    assert [message.body.decode() for message in found] == expected
    assert {message.unit_size for message in found} == {100, 20}
    assert [m.correlation_id for m in found] == [flight_of(x).correlation_id for x in expected]
