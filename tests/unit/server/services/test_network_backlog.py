"""A queue manager that was down reads what was sent meanwhile, whatever its clock says, and however
reads, sweeps and losses of the topic fall between the records of a unit.
"""

import itertools
import random
import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

import adapter
from adapter.core.contract.message import Delivered
from adapter.runtime.network import memory, receiver
from adapter.runtime.network.memory import MemoryFollower, MemoryNetwork
from adapter.runtime.network.port import ReceivedRecord, SentRecord, TopicLost
from adapter.storage.format import chunks, descriptor, names, transfer
from adapter.testing import TestQueueManager
from tests.support.examples import examples
from tests.support.sending import define_transmission_queue, send

WITHIN_S = 20.0
TOPIC = names.inbound_topic("QMB", "QMA")
AWAY_S = 600.0
Two = tuple[TestQueueManager, TestQueueManager]


@pytest.fixture
def two() -> Iterator[Two]:
    with adapter.testing.network("QMA", "QMB") as (a, b):
        define_transmission_queue(a, "QMB")
        with b.connect() as there:
            there.define_queue("ORDERS", msg_delivery_sequence="FIFO", max_depth=100_000)
        yield a, b


def network_of(manager: TestQueueManager) -> MemoryNetwork:
    link = manager._network
    assert link is not None
    assert isinstance(link.transport, MemoryNetwork)
    return link.transport


class DisturbedFollower(MemoryFollower):
    """The right to read the topic is withdrawn now and then, for a moment."""

    chance = random.Random(0)
    denials = 0

    def read(self, timeout_s: float) -> list[ReceivedRecord | TopicLost]:
        found = super().read(timeout_s)
        kind = type(self)
        if any(one.topic == TOPIC for one in found) and self.chance.random() < 0.2:
            kind.denials += 1
            self.leave(TOPIC)
            return [*found, TopicLost(TOPIC, "Kafka denies Read", is_there=True)]
        return found


@pytest.mark.parametrize("seed", range(examples(5)))
def test_a_backlog_arrives_whole_and_in_order_whatever_the_clocks_say(
    two: Two, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Ten minutes pass between any two reads, and a sweep comes. No clock but the receiver's own
    can be meant: a record that was read has no time.
    """
    a, b = two
    chance = random.Random(seed)
    monkeypatch.setattr(receiver, "SWEEP_S", -1.0)
    passed = itertools.count(0.0, AWAY_S)
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + next(passed))
    monkeypatch.setattr(receiver, "time", clock)
    monkeypatch.setattr(memory, "READ_RECORDS", chance.randint(1, 7))
    monkeypatch.setattr(receiver, "HELD_BYTES", chance.choice([2_000, 8 * 1024 * 1024]))
    monkeypatch.setattr(DisturbedFollower, "chance", chance)
    monkeypatch.setattr(memory, "MemoryFollower", DisturbedFollower)
    expected: list[bytes] = []
    with a.connect() as here:
        send(here, "QMB", "ORDERS", [b"first"])
        with b.connect() as there:
            assert there.get("ORDERS", timeout=WITHIN_S) is not None
        b.stop()
        for _ in range(chance.randint(3, 10)):
            unit = [b"%d" % (len(expected) + at) for at in range(chance.randint(1, 20))]
            send(here, "QMB", "ORDERS", unit)
            expected += unit
        with network_of(a).changed:
            records = network_of(a).topics[TOPIC].records
            assert network_of(a).changed.wait_for(lambda: len(records) >= len(expected), WITHIN_S)
        b.start()
    with b.connect() as there:
        for body in expected:
            found = there.get("ORDERS", timeout=WITHIN_S)
            assert (found and found.body) == body
        assert there.get("ORDERS") is None


def test_what_a_later_release_has_sent_waits_until_this_one_is_upgraded(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, and nothing of its unit is lost, or overtaken by what comes behind it."""
    a, b = two
    usual = transfer.encode
    later = [True]

    def encode(sent: Delivered, header: transfer.Transfer) -> list[tuple[chunks.Headers, bytes]]:
        records = usual(sent, header)
        if later and sent.message.body == b"2":
            ((headers, value),) = records
            found = dict(headers)
            found[descriptor.HEADER] = bytes((31,)) + found[descriptor.HEADER][1:]
            return [(list(found.items()), value)]
        return records

    monkeypatch.setattr(transfer, "encode", encode)
    with a.connect() as here, b.connect() as there:
        send(here, "QMB", "ORDERS", [b"0"])
        send(here, "QMB", "ORDERS", [b"1", b"2", b"3"])
        send(here, "QMB", "ORDERS", [b"4"])
        found = there.get("ORDERS", timeout=WITHIN_S)
        assert found is not None
        assert found.body == b"0"
        deadline_s = time.monotonic() + WITHIN_S
        while not (waits := b.statistics()["network"]["receiver"]["later"]):
            assert time.monotonic() < deadline_s
            time.sleep(0.01)
        assert "a later release wrote it" in waits[TOPIC]
        assert there.get("ORDERS") is None
    b.stop()
    for record in network_of(a).topics[TOPIC].records:  # the release that is started knows it
        headers = dict(record.headers or {})
        headers[descriptor.HEADER] = (
            bytes((descriptor.VERSION,)) + (headers[descriptor.HEADER] or b"")[1:]
        )
        record.headers = headers
    b.start()
    with b.connect() as there:
        for body in (b"1", b"2", b"3", b"4"):
            found = there.get("ORDERS", timeout=WITHIN_S)
            assert found is not None
            assert found.body == body
        assert there.get("ORDERS") is None
        assert b.statistics()["network"]["receiver"]["later"] == {}


@pytest.mark.parametrize("header", ["delay_ms", "deliver_at_ms"])
def test_a_record_of_a_kafka_client_is_delivered_when_it_says(two: Two, header: str) -> None:
    _, b = two
    until = 500 if header == "delay_ms" else time.time_ns() // 1_000_000 + 500
    later = SentRecord(b"later", [("mq.queue", b"ORDERS"), (f"mq.{header}", b"%d" % until)])
    now = SentRecord(b"now", [("mq.queue", b"ORDERS")])
    network_of(b).writer().append(names.inbound_topic("QMB", ""), [later, now])
    with b.connect() as there:
        found = [there.get("ORDERS", timeout=WITHIN_S) for _ in range(2)]
    assert [one.body for one in found if one] == [b"now", b"later"]
