"""Feeds of a queue manager in memory: what is read is put, whatever becomes of owner and feed."""

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

import adapter
from adapter.host import logs
from adapter.runtime.feeds import reader
from adapter.runtime.owner import feeds, waiting_inputs
from adapter.runtime.owner.clock import SystemClock
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.movers import NoMovers
from adapter.server.services.topics import TopicLinks
from adapter.server.settings import ServerSettings
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.testing import TestQueueManager
from tests.support.backlog import until
from tests.support.feed_topics import DisturbedFeeds

WITHIN_S = 10.0
SEEDS = 4
STEPS = 40


class Site:
    """A queue manager in memory, the topic `orders`, and a connection."""

    def __init__(self) -> None:
        logs.quieten()
        self.feeds = DisturbedFeeds()
        self.feeds.topics.create("orders")
        log = MemoryLog("QM1 in memory")
        settings = ServerSettings(queue_manager="QM1", kafka=KafkaSettings(bootstrap_servers=""))
        links = TopicLinks(feeds=self.feeds)
        self.manager = TestQueueManager(
            settings, SystemClock(), lambda: MemoryLedger(log), NoMovers(), topics=links
        )
        self.manager.start()
        with self.connect() as qm:
            qm.define_queue("Q", msg_delivery_sequence="FIFO")

    def connect(self) -> adapter.Connection:
        return self.manager.connect()

    def define(self, **attributes: Any) -> None:
        with self.connect() as qm:
            qm.define_object("feed", "F", **({"topic": "orders", "queue": "Q"} | attributes))

    def figures(self, feed: str = "F") -> dict[str, Any]:
        found: dict[str, Any] = self.manager.statistics()["feeds"].get(feed, {})
        return found


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setattr(waiting_inputs, "RETRY_S", 0.05)
    monkeypatch.setattr(feeds, "LOOK_S", 0.02)
    monkeypatch.setattr(reader, "SWEEP_S", 0.05)
    one = Site()
    yield one
    one.manager.close()


def got(qm: adapter.Connection, count: int) -> list[bytes]:
    found = [qm.get("Q", timeout=WITHIN_S) for _ in range(count)]
    return [one.body for one in found if one is not None]


def test_what_is_read_is_put(site: Site) -> None:
    site.feeds.append("orders", b"a", b"b")
    site.define()
    with site.connect() as qm:
        assert got(qm, 2) == [b"a", b"b"]
        site.feeds.append("orders", b"c")
        assert got(qm, 1) == [b"c"]
    until(lambda: site.figures()["positions"] == {0: 3})
    assert site.figures()["state"] == "running"
    assert site.figures()["held_bytes"] == 0


def test_a_feed_that_is_paused_is_not_read(site: Site) -> None:
    site.feeds.append("orders", b"a")
    site.define(state="PAUSED")
    assert site.figures()["state"] == "paused"
    with site.connect() as qm:
        assert qm.get("Q", timeout=0.2) is None
        qm.alter_object("feed", "F", state="RUNNING")
        assert got(qm, 1) == [b"a"]
        qm.alter_object("feed", "F", state="PAUSED")
        until(lambda: site.figures()["state"] == "paused")
        assert site.figures()["positions"] == {0: 1}


def test_a_blocked_partition_is_tried_again(site: Site) -> None:
    with site.connect() as qm:
        qm.alter_queue("Q", max_depth=2)
        site.feeds.append("orders", *(b"%d" % n for n in range(7)))
        site.define()
        until(lambda: site.figures().get("state") == "waiting")
        assert site.figures()["why"] == "queue Q is full"
        assert got(qm, 7) == [b"%d" % n for n in range(7)]
        until(lambda: site.figures()["state"] == "running")


def test_a_feed_that_is_deleted_is_not_read(site: Site) -> None:
    site.feeds.append("orders", b"a")
    site.define()
    with site.connect() as qm:
        assert got(qm, 1) == [b"a"]
        qm.delete_object("feed", "F")
        until(lambda: all(one.closed for one in site.feeds.consumers))
        site.feeds.append("orders", b"b")
        assert site.figures() == {}
        site.define()
        assert got(qm, 2) == [b"a", b"b"], "the position went with it"


def test_an_altered_feed_reads_on_as_it_is_now(site: Site) -> None:
    site.feeds.append("orders", b"a")
    site.define(origin=False)
    with site.connect() as qm:
        first = qm.get("Q", timeout=WITHIN_S)
        qm.alter_object("feed", "F", priority=7, origin=True)
        site.feeds.append("orders", b"b")
        second = qm.get("Q", timeout=WITHIN_S)
    assert first is not None
    assert second is not None
    assert (first.priority, first.properties) == (0, {})
    assert second.priority == 7
    assert second.properties["KafkaOffset"] == 1


def test_what_does_not_follow_is_read_again(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.define()
    with site.connect() as qm:
        until(lambda: site.figures().get("positions") == {0: 0})
        lost: list[object] = []
        take = feeds.Feeding._take

        def lose_first(self: feeds.Feeding, term: Any, found: Any) -> None:
            if not lost:
                lost.extend(found)
            else:
                take(self, term, found)

        monkeypatch.setattr(feeds.Feeding, "_take", lose_first)
        site.feeds.append("orders", b"a")
        until(lambda: bool(lost))
        site.feeds.append("orders", b"b")
        assert got(qm, 2) == [b"a", b"b"]


def test_positions_are_shown_once_they_are_durable(site: Site) -> None:
    site.feeds.append("orders", b"a", b"b")
    site.define()
    with site.connect() as qm:
        assert got(qm, 2) == [b"a", b"b"]
    until(lambda: site.feeds.shown.get("F") == {0: 2})


@pytest.mark.parametrize("seed", range(SEEDS))
def test_each_record_is_put_once_whatever_crashes(site: Site, seed: int) -> None:
    """Crashes, stops, alterations and full queues at random; the list of records is the judge."""
    random = Random(seed)
    site.feeds.topics.add_partitions("orders", 2)
    count, found = 0, list[tuple[int, int]]()
    site.define()

    def get(qm: adapter.Connection, most: int, timeout: float = 0.0) -> bool:
        for _ in range(most):
            one = qm.get("Q", timeout=timeout)
            if one is None:
                return False
            partition = one.properties["KafkaPartition"]
            assert isinstance(partition, int)
            found.append((partition, int(one.body)))
        return True

    for _ in range(STEPS):
        step = random.randrange(8)
        if step < 4:
            for _ in range(random.randint(1, 30)):
                site.feeds.append("orders", b"%d" % count, partition=count % 2)
                count += 1
        elif step == 4:
            site.manager.crash()
            site.manager.start()
        elif step == 5:
            with site.connect() as qm:
                qm.alter_object("feed", "F", headers=random.choice(("ALL", "NONE")))
        elif step == 6:
            with site.connect() as qm:
                qm.alter_queue("Q", max_depth=random.choice((5, 1_000)))
        else:
            with site.connect() as qm:
                get(qm, 10)
    with site.connect() as qm:
        qm.alter_queue("Q", max_depth=1_000)
        assert get(qm, count - len(found), WITHIN_S), site.figures()
        assert qm.get("Q") is None
    for n in range(2):
        assert [number for of, number in found if of == n] == list(range(n, count, 2))
