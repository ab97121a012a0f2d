"""Which readers there are: one for each feed that is read, in its version of now."""

from collections.abc import Sequence

from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.feeds import FeedStart
from adapter.runtime.feeds.port import FeedReading, SizedBatch
from adapter.runtime.feeds.readers import FeedReaders
from tests.support.backlog import until
from tests.support.feed_topics import DisturbedFeeds


def reading(feed: str, version: int = 1) -> FeedReading:
    attributes = FeedAttributes(topic="orders", queue="Q")
    return FeedReading(feed, version, attributes, "EARLIEST", "", {})


def test_a_feed_that_is_another_one_gets_another_reader() -> None:
    feeds, broke = DisturbedFeeds(), list[str]()
    feeds.topics.create("orders")
    feeds.append("orders", b"a")
    found: list[FeedStart | SizedBatch] = []

    def deliver(some: Sequence[FeedStart | SizedBatch]) -> None:
        found.extend(some)

    def versions() -> list[int]:
        return [one.batch.version for one in found if isinstance(one, SizedBatch)]

    readers = FeedReaders("QM1", feeds, broke.append)
    first = reading("F")
    readers.read({"F": first, "G": reading("G")}, deliver)
    until(lambda: len(versions()) == 2)
    readers.read({"F": first}, deliver)
    assert readers.figures("G", {}) is None
    readers.read({"F": reading("F", 2)}, deliver)
    until(lambda: 2 in versions())
    assert versions().count(1) == 2, "the one that is the same is read on"
    before = readers.figures("F", {})
    readers.note_taken("F", 1, 0, 100)
    readers.note_taken("G", 1, 0, 100)
    assert readers.figures("F", {}) == before, "it is of another version, or of no feed"
    readers.note_taken("F", 2, 0, 100)
    assert readers.figures("F", {}) != before
    readers.show({"F": {0: 1}, "G": {0: 1}})
    readers.stop()()
    assert readers.figures("F", {}) is None
    assert all(one.closed for one in feeds.consumers)
    assert not broke
