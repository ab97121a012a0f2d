"""What every transport between queue managers does: one suite for memory and Kafka."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from adapter.runtime.network.port import (
    NetworkError,
    ReceivedRecord,
    SentRecord,
    TopicFollower,
    TopicLost,
    TopicMissing,
    Transport,
)

WITHIN_S = 20.0


def read_until(
    follower: TopicFollower, enough: Callable[[list[ReceivedRecord | TopicLost]], bool]
) -> list[ReceivedRecord | TopicLost]:
    """Read until what has come is enough."""
    found: list[ReceivedRecord | TopicLost] = []
    deadline_s = time.monotonic() + WITHIN_S
    while not enough(found):
        assert time.monotonic() < deadline_s, found
        found += follower.read(0.1)
    return found


def records(follower: TopicFollower, count: int) -> list[ReceivedRecord]:
    """Read so many records."""
    found = read_until(follower, lambda some: len(some) >= count)
    return [one for one in found if isinstance(one, ReceivedRecord)]


class TransportContract:
    """Subclasses have the fixtures transport, topic and delete."""

    @pytest.fixture
    def follower(self, transport: Transport) -> Iterator[TopicFollower]:
        one = transport.follower()
        yield one
        one.close()

    @staticmethod
    def send(transport: Transport, topic: str, *values: bytes) -> None:
        writer = transport.writer()
        writer.append(topic, [SentRecord(value, [("h", value[:9])]) for value in values])
        writer.close()

    def test_a_topic_keeps_its_identity(self, transport: Transport, topic: str) -> None:
        assert transport.identities([topic]) == {}
        identity = transport.open(topic)
        assert transport.open(topic) == identity
        assert transport.identities([topic, topic + ".other"]) == {topic: identity}

    def test_records_come_in_order_with_their_headers(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        transport.open(topic)
        follower.follow(topic, follower.bounds(topic)[0])
        values = [b"%d" % number for number in range(1_000)]
        self.send(transport, topic, *values[:400])
        self.send(transport, topic, *values[400:])
        found = records(follower, len(values))
        assert [one.value for one in found] == values
        assert [(one.headers or {})["h"] for one in found] == values
        assert [one.offset for one in found] == sorted({one.offset for one in found})
        assert {one.topic for one in found} == {topic}
        assert follower.has_read_all(topic)

    def test_all_is_read_that_the_topic_has_by_now(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        """Also what is behind the last read, and on its way."""
        transport.open(topic)
        follower.follow(topic, follower.bounds(topic)[0])
        assert follower.has_read_all(topic)
        self.send(transport, topic, b"1")
        assert not follower.has_read_all(topic)
        records(follower, 1)
        assert follower.has_read_all(topic)
        self.send(transport, topic, b"2")
        assert not follower.has_read_all(topic)

    def test_records_have_keys_and_may_be_without_value(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        transport.open_directory(topic)
        follower.follow(topic, 0)
        writer = transport.writer()
        writer.append(topic, [SentRecord(b"one", key=b"k"), SentRecord(None, key=b"k")])
        writer.close()
        assert [(one.key, one.value) for one in records(follower, 2)] == [
            (b"k", b"one"),
            (b"k", None),
        ]

    def test_reading_goes_on_from_any_offset(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        transport.open(topic)
        self.send(transport, topic, b"a", b"b", b"c")
        follower.follow(topic, 0)
        found = records(follower, 3)
        follower.follow(topic, found[1].offset)
        assert [one.value for one in records(follower, 2)] == [b"b", b"c"]

    def test_a_paused_topic_waits_and_others_go_on(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        other = topic + ".other"
        for name in (topic, other):
            transport.open(name)
            follower.follow(name, 0)
        follower.pause(topic)
        self.send(transport, topic, b"waits")
        self.send(transport, other, b"goes on")
        assert [one.value for one in records(follower, 1)] == [b"goes on"]
        follower.resume(topic)
        assert [one.value for one in records(follower, 1)] == [b"waits"]

    def test_a_topic_that_is_left_is_read_no_more(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        other = topic + ".other"
        for name in (topic, other):
            transport.open(name)
            follower.follow(name, 0)
        follower.leave(topic)
        self.send(transport, topic, b"left")
        self.send(transport, other, b"other")
        assert [one.value for one in records(follower, 1)] == [b"other"]

    def test_what_is_trimmed_is_gone(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        transport.open(topic)
        self.send(transport, topic, b"a", b"b", b"c")
        transport.trim({topic: 2, topic + ".gone": 5})
        assert follower.bounds(topic) == transport.bounds(topic) == (2, 3)
        with pytest.raises(NetworkError):
            transport.bounds(topic + ".gone")
        follower.follow(topic, 2)
        assert [one.value for one in records(follower, 1)] == [b"c"]

    def test_what_lies_before_the_first_record_is_lost(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        transport.open(topic)
        self.send(transport, topic, b"a", b"b", b"c")
        transport.trim({topic: 2})
        follower.follow(topic, 0)
        (lost,) = read_until(follower, bool)
        assert isinstance(lost, TopicLost)
        assert lost.topic == topic

    def test_a_topic_that_was_deleted_is_made_again_as_another_one(
        self,
        transport: Transport,
        topic: str,
        follower: TopicFollower,
        delete: Callable[[str], None],
    ) -> None:
        identity = transport.open(topic)
        self.send(transport, topic, b"a")
        follower.follow(topic, 0)
        records(follower, 1)
        delete(topic)
        assert transport.identities([topic]) == {}
        follower.leave(topic)
        assert transport.open(topic) != identity
        follower.follow(topic, 0)
        self.send(transport, topic, b"again")
        assert [one.value for one in records(follower, 1)] == [b"again"]

    def test_a_topic_that_is_not_there_is_missing(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        with pytest.raises(TopicMissing):
            self.send(transport, topic, b"a")
        with pytest.raises(TopicMissing):
            follower.bounds(topic)

    def test_large_records_pass(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        transport.open(topic)
        body = bytes(4 * 1024 * 1024)
        self.send(transport, topic, body, body, body)
        follower.follow(topic, 0)
        assert [len(one.value or b"") for one in records(follower, 3)] == [len(body)] * 3

    def test_a_reader_that_waits_is_woken(
        self, transport: Transport, topic: str, follower: TopicFollower
    ) -> None:
        transport.open(topic)
        follower.follow(topic, 0)
        later = threading.Timer(0.1, self.send, (transport, topic, b"a"))
        later.start()
        assert [one.value for one in records(follower, 1)] == [b"a"]
        later.join()
