"""Movers on a real Kafka: what is in the ledger is on the topics, once, whatever happens."""

from collections.abc import Callable, Iterator

import pytest

from adapter.core import records as r
from adapter.format import events, names
from adapter.localkafka import LocalKafka
from adapter.movers.thread import MoverThread
from tests.support.mover_place import LANES, PUT_TIME_MS, WAIT_S, MoverPlace


@pytest.fixture
def place(kafka: LocalKafka, unique_name: Callable[..., str]) -> Iterator[MoverPlace]:
    one = MoverPlace(kafka.bootstrap_servers, unique_name())
    yield one
    one.close()


@pytest.fixture
def movers(place: MoverPlace) -> Iterator[MoverThread]:
    """Both movers in threads of this process; not started."""
    one = MoverThread(place.settings)
    yield one
    one.stop()


def copy_all(place: MoverPlace, movers: MoverThread) -> None:
    """Start the movers, let them copy the whole ledger, and stop them."""
    movers.start()
    assert movers.caught_up(place.flush(), WAIT_S), movers.ended()
    movers.stop()
    assert movers.ended() is None


def test_a_copy_is_what_was_put(place: MoverPlace, movers: MoverThread) -> None:
    place.define("Q/1")
    unit = place.unit(["Q/1"], lanes=[0, 9])
    place.append(unit)
    copy_all(place, movers)
    copies = place.copies("Q/1")
    assert [len(copies[lane]) for lane in range(LANES)] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    for put in unit.puts:
        (copied,) = copies[put.lane]
        assert copied.message == put.message
        assert copied.timestamp == put.message.put_time_ms
        position = copied.position
        assert (position.seq, position.unit, position.unit_size) == (0, unit.unit, 2)
        assert (position.unit_index, position.queue_unit_index) == (put.index, put.queue_index)


def test_every_unit_once_in_order(place: MoverPlace, movers: MoverThread) -> None:
    place.define("A", "B")
    for number in range(300):
        place.append(*(place.unit([("A", "B")[number % 2], "A"]) for _ in range(3)))
    copy_all(place, movers)
    place.check("A", "B")
    assert movers.statistics()["stream"]["lag_records"] == 0
    assert movers.statistics()["stream"]["copied"] == 300 * 3 * 20


def test_events_are_copied_in_order(place: MoverPlace, movers: MoverThread) -> None:
    raised = [
        r.EventRaised("queue_full", f"Q{n}", PUT_TIME_MS + n, {"n": str(n)}) for n in range(9)
    ]
    place.define("Q")
    for event in raised:
        place.append(event, place.unit(["Q"]))
    copy_all(place, movers)
    topic = names.events_topic(place.settings.queue_manager)
    records = place.read(topic)
    manager = place.settings.queue_manager
    assert [events.decode(one.value() or b"") for one in records] == [(manager, e) for e in raised]
    place.check("Q")


def test_a_queue_defined_again_has_a_topic_of_its_own(place: MoverPlace) -> None:
    """Also when the movers start after the record that said so."""
    for step in range(3):
        place.define("Q", incarnation=step)
        copy_all(place, MoverThread(place.settings))
        place.append(place.unit(["Q"]))
        copy_all(place, MoverThread(place.settings))
        place.append(place.unit(["Q"]), r.QueueDeleted("Q"))
        copy_all(place, MoverThread(place.settings))
    for step in range(3):
        for lane, copied in place.copies("Q", step).items():
            assert [one.body for one in copied] == place.written["Q", lane][2 * step : 2 * step + 2]
    assert place.progress()[-1].incarnations == {}


def test_movers_go_on_from_where_they_were(place: MoverPlace) -> None:
    place.define("Q")
    for _ in range(5):
        place.append(*(place.unit(["Q"]) for _ in range(20)))
        place.take_over()  # leaves records in the ledger that are no entries
        copy_all(place, MoverThread(place.settings))
    place.check("Q")
    assert [one.copied for one in place.progress()][-1] == 5 * 20 * LANES
