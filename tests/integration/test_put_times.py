"""Put times of a wrong clock: every copy is written with them, and no queue is parked."""

import time
from collections.abc import Callable

from adapter import testing
from adapter.core.contract import records as r
from adapter.storage.format import names
from adapter.storage.movers.thread import MoverThread
from tests.support.mover_place import LANES, WAIT_S, MoverPlace
from tests.support.queue_topic import read_until
from tests.support.shared_kafka import AnyKafka

MARKER = b"the end"
DAY_S = 86_400
YEAR_9000_S = 221_845_392_000


def test_a_clock_years_behind_a_day_ahead_and_far_in_the_future(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    name = unique_name()
    wanted = []
    servers = kafka.bootstrap_servers
    with (
        testing.queue_manager(name, bootstrap_servers=servers, clock="manual") as manager,
        manager.connect() as qm,
    ):
        qm.define_queue("Q")
        for at_s in (0, time.time() + DAY_S, YEAR_9000_S):
            manager.clock.advance(max(0, at_s - manager.clock.now_ms() / 1000))
            qm.put("Q", str(at_s), priority=3)
            wanted.append(manager.clock.now_ms())
        for priority in range(LANES):
            qm.put("Q", MARKER, priority=priority)
        copies = read_until(servers, names.queue_topic(name, "Q", 0), MARKER)
        assert manager.statistics()["movers"]["stream"]["parked"] == 0
    assert [copy.time_ms for copy in copies] == wanted
    assert [copy.descriptor["put_time_ms"] for copy in copies] == wanted


def test_times_that_kafka_does_not_know(place: MoverPlace, movers: MoverThread) -> None:
    """Of a clock before 1970: they become the first one that there is."""
    place.define("A")
    times = (-1, 0, -(2**40), 2**62)
    for put_time_ms in times:
        unit = place.unit(["A"], [0])
        assert isinstance(unit, r.UnitCommitted)
        unit.puts[0].message.put_time_ms = put_time_ms
        place.append(unit)
    movers.start()
    assert movers.caught_up(place.flush(), WAIT_S), movers.failure()
    assert not movers.parked
    place.check("A")
    copies = place.copies("A")[0]
    assert [copy.timestamp for copy in copies] == [1, 1, 1, 2**62]
