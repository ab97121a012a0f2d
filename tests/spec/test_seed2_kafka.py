"""Seed 2, ordering in a transactional queue, as any Kafka client sees it on the queue's topic.

The same requirements as in test_seed2.py, on a real Kafka.
"""

from collections.abc import Callable

from adapter.testing import TestQueueManager
from tests.support.units import drain, interleave, put_in_unit


def sent_to_kafka(manager: TestQueueManager) -> list[bytes]:
    """Send units with replies lost and two crashes in between; what was sent, in order."""
    sent = []
    with manager.connect() as qm:
        qm.define_queue("Q")
        for number in range(30):
            lost = manager if number % 3 == 0 else None
            put_in_unit(qm, [f"{number}a", f"{number}b"], lost)
            sent += [f"{number}a".encode(), f"{number}b".encode()]
            if number in (9, 19):
                manager.crash()
                manager.start()
    return sent


ReadTopic = Callable[[str, int], list[tuple[bytes, dict[str, object]]]]


def test_s2_01_s2_02_s2_03_hold_on_the_queue_topic(
    on_kafka: TestQueueManager, read_topic: ReadTopic
) -> None:
    """S2.1, S2.2, S2.3 as any Kafka client sees them, on the queue's topic: once, in order, whole,
    under lost replies and restarts."""
    sent = sent_to_kafka(on_kafka)
    copies = read_topic(on_kafka.name, len(sent))
    assert [body for body, _ in copies] == sent
    assert [descriptor["unit_index"] for _, descriptor in copies] == [0, 1] * 30
    assert [descriptor["seq"] for _, descriptor in copies] == list(range(1, 61))
    with on_kafka.connect() as qm:
        assert [message.body for message in drain(qm)] == sent


def test_s2_13_s2_15_hold_on_the_queue_topic(
    on_kafka: TestQueueManager, read_topic: ReadTopic
) -> None:
    """S2.13, S2.15 as any Kafka client sees them: lanes interleave units, and each copy says which
    part of its unit it is."""
    with on_kafka.connect() as qm:
        qm.define_queue("Q")
        interleave(qm)
    copies = read_topic(on_kafka.name, 4)
    parts = sorted((str(d["unit"]), str(d["unit_index"]), body) for body, d in copies)
    assert [body for _, _, body in parts] == [b"A1", b"A2", b"B1", b"B2"]
    assert all(descriptor["unit_size"] == 2 for _, descriptor in copies)
