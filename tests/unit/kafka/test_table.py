"""What a table says of keys that are there, and of those that are not; without a Kafka."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from adapter.kafka import table
from adapter.kafka.table import Table
from adapter.storage.format.feeds import TopicRecord

Take = Callable[[list[TopicRecord]], None]


class Follower:
    """Stands for a TableFollower that has read the topic."""

    def __init__(self, *given: Any) -> None:
        take: Take = given[-1]
        values = {b"chairs": b'{"count": 3}', b"tables": b'{"stock": 7}'}
        take([TopicRecord(0, n, key, values[key], [], 1) for n, key in enumerate(values)])

    def ends(self, until_s: float) -> dict[int, int]:
        return {}

    def reach(self, ends: dict[int, int], until_s: float) -> None:
        """All is read."""

    def check(self) -> None:
        """It goes on."""

    def close(self, why: str) -> None:
        """Nothing is open."""

    @property
    def is_ended(self) -> bool:
        """Whether it reads no further."""
        return True


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Table]:
    monkeypatch.setattr(table, "TableFollower", Follower)
    with Table(
        "stock",
        bootstrap_servers="k:9092",
        value_deserializer=lambda data: json.loads(data)["stock"],
    ) as made:
        yield made


def test_a_key_that_is_not_there(stock: Table) -> None:
    assert stock.get("beds") is None
    assert stock.get("beds", 0) == 0
    assert "beds" not in stock
    with pytest.raises(KeyError, match="beds"):
        stock["beds"]


def test_an_error_of_a_deserializer_is_no_missing_key(stock: Table) -> None:
    assert (stock.get("tables"), stock["tables"]) == (7, 7)
    assert "chairs" in stock
    with pytest.raises(KeyError, match="stock"):
        stock.get("chairs", "none of it")
