"""Topics in memory: partitions, offsets, bounds, and waiting for records."""

import threading

import pytest

from adapter.storage.topics.memory import (
    MemoryTopics,
    TopicAbsentError,
    UnfitRecordError,
    UnwrittenRecord,
    murmur2,
)


@pytest.fixture
def topics() -> MemoryTopics:
    made = MemoryTopics()
    made.create("T", 3)
    return made


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_are_hashed_as_by_clients_of_kafka(key: bytes, hashed: int) -> None:
    assert murmur2(key) == hashed % 2**32


def test_records_of_a_key_are_in_one_partition(topics: MemoryTopics) -> None:
    for key in (b"a", b"", b"foobar"):
        topics.append("T", *(UnwrittenRecord(b"%d" % n, key) for n in range(3)))
        found = [one for one in topics.records("T") if one.key == key]
        partition = (murmur2(key) & 0x7FFFFFFF) % 3
        assert {one.partition for one in found} == {partition}
        assert [one.value for one in found] == [b"0", b"1", b"2"]
    assert sum(topics.ends("T").values()) == 9


def test_records_without_a_key_go_round(topics: MemoryTopics) -> None:
    topics.append("T", *(UnwrittenRecord(b"") for _ in range(6)))
    found = [(one.partition, one.offset) for one in topics.records("T")]
    assert found == [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1)]


def test_what_is_said_is_kept(topics: MemoryTopics) -> None:
    topics.append("T", UnwrittenRecord(None, b"k", [("x", None), ("x", b"")], 2, 0))
    topics.append("T", UnwrittenRecord(b""))
    first, second = topics.records("T")
    assert (first.partition, first.value, first.headers, first.time_ms) == (
        *(2, None, [("x", None), ("x", b"")], 0),
    )
    assert second.time_ms > 1_700_000_000_000


def test_all_records_are_written_or_none(topics: MemoryTopics) -> None:
    with pytest.raises(UnfitRecordError, match="topic T has no partition 3") as caught:
        topics.append("T", UnwrittenRecord(b"1"), UnwrittenRecord(b"2", partition=3))
    assert (caught.value.at, caught.value.is_too_long) == (1, False)
    assert topics.records("T") == []
    assert topics.ends("T") == {0: 0, 1: 0, 2: 0}


def test_a_record_is_bounded_with_its_key_and_headers(topics: MemoryTopics) -> None:
    topics.create("SMALL", record_bytes=4)
    fits = UnwrittenRecord(b"1", b"2", [("x", b"3")])
    topics.append("SMALL", fits)
    for record in (
        UnwrittenRecord(b"11", b"2", [("x", b"3")]),
        UnwrittenRecord(b"1", b"22", [("x", b"3")]),
        UnwrittenRecord(b"1", b"2", [("xx", b"3")]),
        UnwrittenRecord(None, None, [("12345", None)]),
    ):
        with pytest.raises(UnfitRecordError, match="4 bytes at most, and not 5") as caught:
            topics.append("SMALL", record)
        assert caught.value.is_too_long


def test_a_topic_that_does_not_exist(topics: MemoryTopics) -> None:
    with pytest.raises(TopicAbsentError, match="topic NONE does not exist"):
        topics.append("NONE", UnwrittenRecord(b""))
    with pytest.raises(TopicAbsentError, match="topic NONE does not exist"):
        topics.ends("NONE")
    for ask in (topics.records, topics.delete):
        with pytest.raises(KeyError, match="topic NONE does not exist"):
            ask("NONE")
    with pytest.raises(KeyError, match=r"create\(\) it"):
        topics.await_records("NONE", 1)


def test_a_topic_is_made_again_empty(topics: MemoryTopics) -> None:
    topics.append("T", UnwrittenRecord(b""))
    topics.create("T", 1)
    assert topics.records("T") == []
    assert topics.ends("T") == {0: 0}
    topics.delete("T")
    with pytest.raises(TopicAbsentError):
        topics.check("T")


def test_records_are_waited_for(topics: MemoryTopics) -> None:
    assert topics.await_records("T", 0) == []
    thread = threading.Thread(target=topics.append, args=("T", UnwrittenRecord(b"1")))
    thread.start()
    assert [one.value for one in topics.await_records("T", 1)] == [b"1"]
    thread.join()
    with pytest.raises(TimeoutError, match=r"topic T has 1 records after 0.01 s, and not 2"):
        topics.await_records("T", 2, 0.01)
