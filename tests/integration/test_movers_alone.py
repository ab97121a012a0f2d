"""One mover that ends does not end the others: on a real Kafka, which has fenced that one."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
from confluent_kafka import Producer

from adapter import testing
from adapter.core.contract import records as r
from adapter.errors import QueueFull
from adapter.storage.format import events, names
from adapter.storage.movers.process import MoverProcess
from adapter.storage.movers.thread import MoverThread
from tests.support.backlog import until
from tests.support.mover_place import PUT_TIME_MS, WAIT_S, MoverPlace
from tests.support.shared_kafka import AnyKafka


def fence(servers: str, queue_manager: str, mover: str) -> None:
    """Take a mover's transactional ids, as another mover of this name would."""
    beginning = names.progress_topic(queue_manager).removesuffix(".progress")
    for number in range(2):
        rival = Producer(
            {"bootstrap.servers": servers, "transactional.id": f"{beginning}.{mover}.{number}"}
        )
        rival.init_transactions(WAIT_S)


def has_copied(movers: MoverThread | MoverProcess, end: int) -> bool:
    """Whether the stream mover has copied the ledger up to an offset."""
    return movers.statistics()["stream"]["position"] >= end


def event(number: int) -> r.EventRaised:
    return r.EventRaised("queue_full", f"Q{number}", PUT_TIME_MS + number, {"n": str(number)})


@pytest.fixture(params=[MoverThread, MoverProcess])
def any_movers(
    request: pytest.FixtureRequest, place: MoverPlace
) -> Iterator[MoverThread | MoverProcess]:
    """Movers in threads of this process, and in a process of their own."""
    movers = request.param(place.settings)
    yield movers
    movers.stop()


def test_the_event_mover_fails_and_the_stream_mover_goes_on(
    place: MoverPlace, any_movers: MoverThread | MoverProcess
) -> None:
    movers, settings = any_movers, place.settings
    place.define("Q")
    place.append(event(0), place.unit(["Q"]))
    movers.start()
    assert movers.caught_up(place.flush(), WAIT_S), movers.failure()
    fence(place.servers, settings.queue_manager, "events")
    place.append(event(1), place.unit(["Q"]))
    last = place.flush()
    until(lambda: movers.failure() is not None)
    assert list(movers.failures) == ["events"]
    assert "the events mover of" in movers.failures["events"]
    assert "was fenced" in movers.failures["events"]
    assert movers.statistics()["events"]["position"] < last
    assert movers.statistics()["events"]["holding"] == 1
    for number in range(2, 5):
        place.append(event(number), place.unit(["Q"]))
        end = place.flush()
        until(partial(has_copied, movers, end))
    place.check("Q")
    assert movers.statistics()["stream"]["holding"] == 0
    assert list(movers.failures) == ["events"], "it is not started again by itself"
    movers.restart()
    assert movers.caught_up(place.flush(), WAIT_S), movers.failure()
    assert (movers.failure(), movers.failures) == (None, {})
    topic = names.events_topic(settings.queue_manager)
    place.await_settled(topic, 1)
    copies = [events.decode(one.value() or b"")[1] for one in place.read(topic)]
    assert copies == [event(number) for number in range(5)]
    place.check("Q")


def test_a_queue_manager_starts_the_one_again(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    """Its events come, each once, and messages are copied meanwhile."""
    name = unique_name()
    running = testing.queue_manager(name, bootstrap_servers=kafka.bootstrap_servers)
    with running as manager, manager.connect() as qm:
        qm.define_queue("Q", max_depth=1)
        qm.put("Q", "first")
        until(lambda: manager.statistics()["movers"]["events"]["position"] > 0)
        before = manager.statistics()["movers"]["stream"]
        fence(kafka.bootstrap_servers, name, "events")
        with pytest.raises(QueueFull):
            qm.put("Q", "too much")
        until(lambda: manager.statistics()["mover_restarts"] > 0)
        stream = manager.statistics()["movers"]["stream"]
        assert stream["transactions"] >= before["transactions"], "it was not disturbed"
        assert stream["terms"] == 1 + stream["failures"]
        until(lambda: manager.statistics()["movers"]["events"].get("lag_records") == 0)
        until(lambda: not manager.statistics()["movers_hold"])
