"""A topic that was made just now: not every broker knows it, or its partitions, at once."""

import threading
import time
from collections.abc import Iterator, Mapping

import pytest

from adapter.errors import TableError
from adapter.kafka import topic_consumer
from adapter.kafka.topic_consumer import TableFollower
from adapter.runtime.feeds.port import FeedError, FeedTopic, MissingTopicError, UnreadableTopicError

WAIT_S = 30.0


class Brokers:
    """Stands for a TableConsumer. problems: what is answered to the next questions."""

    def __init__(self, *problems: Exception) -> None:
        self.problems = list(problems)
        self.answers_after_s = 0.0
        """How long the next question takes."""
        self.unreadable = ""
        self._closed = threading.Event()

    def answer_by(self, until_s: float) -> None:
        """Answers come at once."""

    def describe(self) -> FeedTopic:
        self._answer()
        return FeedTopic("id", (0, 1))

    def all_ends(self, partitions: tuple[int, ...]) -> dict[int, int]:
        self._answer()
        return dict.fromkeys(partitions, 7)

    def assign(self, offsets: Mapping[int, int]) -> None:
        """Nothing is read."""

    def read(self, timeout_s: float) -> list[object]:
        self._closed.wait(timeout_s)
        if self.unreadable:
            raise FeedError(self.unreadable)
        return []

    def close(self) -> None:
        self._closed.set()

    def _answer(self) -> None:
        after_s, self.answers_after_s = self.answers_after_s, 0.0
        self._closed.wait(after_s)
        if self.problems:
            raise self.problems.pop(0)


@pytest.fixture
def brokers() -> Brokers:
    return Brokers()


@pytest.fixture
def follower(brokers: Brokers, monkeypatch: pytest.MonkeyPatch) -> Iterator[TableFollower]:
    monkeypatch.setattr(topic_consumer, "TableConsumer", lambda *_: brokers)
    monkeypatch.setattr(topic_consumer, "MISSING_AGAIN_S", 0.001)
    made = TableFollower("t", "k:9092", {}, lambda _: None)
    yield made
    made.close("the test is over")


def test_a_topic_that_a_broker_does_not_know_yet_is_asked_for_again(
    follower: TableFollower, brokers: Brokers
) -> None:
    brokers.problems = [MissingTopicError("topic t does not exist") for _ in range(4)]
    assert follower.ends(time.monotonic() + WAIT_S) == {0: 7, 1: 7}


def test_a_broker_that_answered_late_that_it_does_not_know_it_is_asked_again(
    follower: TableFollower, brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_consumer, "MISSING_S", 0.2)
    brokers.answers_after_s = 0.3
    brokers.problems = [MissingTopicError("topic t does not exist")]
    assert follower.ends(time.monotonic() + WAIT_S) == {0: 7, 1: 7}


def test_one_that_no_broker_knows_is_an_error(
    follower: TableFollower, brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topic_consumer, "MISSING_S", 0.01)
    brokers.problems = [MissingTopicError("topic t does not exist") for _ in range(10**4)]
    with pytest.raises(TableError, match="topic t does not exist"):
        follower.ends(time.monotonic() + WAIT_S)


def test_a_record_that_cannot_be_fetched_ends_it(follower: TableFollower, brokers: Brokers) -> None:
    brokers.unreadable = "what partition 1 has at offset 5 cannot be fetched"
    with pytest.raises(TableError, match="partition 1 has at offset 5 cannot be fetched"):
        follower.reach({0: 7}, time.monotonic() + WAIT_S)


def test_one_that_may_not_be_read_is_an_error_at_once(
    follower: TableFollower, brokers: Brokers
) -> None:
    brokers.problems = [UnreadableTopicError("this program may not read topic t")]
    with pytest.raises(TableError, match="may not read"):
        follower.ends(time.monotonic() + WAIT_S)
    assert brokers.problems == []
