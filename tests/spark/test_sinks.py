"""What needs no Spark of the sinks: rows as they give them, on a queue manager in memory."""

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Self

import pytest
from pyspark.sql import Row

import adapter
from adapter.testing import TestQueueManager
from spark_jobs import sinks
from spark_jobs.errors import SparkJobError

QUERY = "query 1"


class Frame:
    """Rows of a batch, as far as a sink asks for them."""

    columns = ("body",)

    def __init__(self, *bodies: str, query: str = QUERY) -> None:
        self._bodies: Sequence[str] = bodies
        context = SimpleNamespace(getLocalProperty=lambda _name: query)
        self.sparkSession = SimpleNamespace(sparkContext=context)

    def select(self, *_names: str) -> Self:
        return self

    def limit(self, count: int) -> Self:
        self._bodies = self._bodies[:count]
        return self

    def collect(self) -> list[Row]:
        return [Row(body=one.encode()) for one in self._bodies]


@pytest.fixture
def manager() -> Iterator[TestQueueManager]:
    with adapter.testing.queue_manager() as manager:
        manager.mqsc("DEFINE QLOCAL(GOOD) MSGDLVSQ(FIFO)\nDEFINE QLOCAL(BAD) MSGDLVSQ(FIFO)")
        yield manager


def bodies(manager: TestQueueManager, queue: str) -> list[str]:
    with manager.connect() as qm:
        return [one.body.decode() for one in qm.queue(queue).browse()]


def to(manager: TestQueueManager, queue: str, application_id: str = "job") -> Any:
    return sinks.to_queue(queue, address=manager.address, application_id=application_id)


@pytest.mark.parametrize("first", ["GOOD", "BAD"])
def test_two_sinks_of_a_query_may_have_one_application_id(
    manager: TestQueueManager, first: str
) -> None:
    """The rows of both arrive, each once, also when batches are done again, and one has no rows."""
    order = [first, "BAD" if first == "GOOD" else "GOOD"]
    for batch in (0, 1, 1, 2, 3, 3):
        rows = {"GOOD": [f"good {batch}"], "BAD": [f"bad {batch}"] if batch % 2 else []}
        for queue in order:
            to(manager, queue)(Frame(*rows[queue]), batch)
    assert bodies(manager, "GOOD") == ["good 0", "good 1", "good 2", "good 3"]
    assert bodies(manager, "BAD") == ["bad 1", "bad 3"]


def test_a_sink_that_had_not_come_is_done_again_alone(manager: TestQueueManager) -> None:
    """The driver was killed between the two."""
    to(manager, "BAD")(Frame("bad 0"), 0)
    for queue, row in (("BAD", "bad 0"), ("GOOD", "good 0")):
        to(manager, queue)(Frame(row), 0)
    assert (bodies(manager, "GOOD"), bodies(manager, "BAD")) == (["good 0"], ["bad 0"])


def test_a_part_of_a_batch_is_noted_for_its_queue(manager: TestQueueManager) -> None:
    """A unit takes some of the rows of one sink; the other one's note says nothing of them."""
    with adapter.testing.queue_manager("QM2", max_uncommitted_messages=4) as small:
        small.mqsc("DEFINE QLOCAL(GOOD) MSGDLVSQ(FIFO)\nDEFINE QLOCAL(BAD) MSGDLVSQ(FIFO)")
        for _ in range(2):
            to(small, "GOOD")(Frame(*"abcdefg"), 0)
            to(small, "BAD")(Frame(*"xyzuvw"), 0)
        assert bodies(small, "GOOD") == [*"abcdefg"]
        assert bodies(small, "BAD") == [*"xyzuvw"]


def test_another_query_is_refused(manager: TestQueueManager) -> None:
    to(manager, "GOOD")(Frame("a"), 0)
    with pytest.raises(SparkJobError, match="with another checkpoint"):
        to(manager, "BAD")(Frame("b", query="query 2"), 0)


def test_the_note_of_an_earlier_release_counts_for_each_queue(manager: TestQueueManager) -> None:
    """It did not say which queue it was of."""
    with manager.connect() as qm:
        qm.define_queue("SYSTEM.SPARK.job", max_depth=1)
        qm.put("SYSTEM.SPARK.job", '{"query": "query 1", "batch": 1}')
    for batch in (1, 2, 2):
        to(manager, "GOOD")(Frame(f"good {batch}"), batch)
    assert bodies(manager, "GOOD") == ["good 2"]
