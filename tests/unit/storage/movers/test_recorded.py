"""Whether a ledger is gone is told by what only its queue manager writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from adapter.storage.format import names
from adapter.storage.ledger.port import LedgerMismatch
from adapter.storage.movers import recorded
from adapter.storage.movers.recorded import check_ledger_is_there
from tests.unit.storage.movers.test_stream import SETTINGS

OWN = [
    names.events_topic("QM1"),
    names.progress_topic("QM1"),
    names.snapshots_topic("QM1"),
    names.export_topic("QM1", "E"),
    names.queue_topic("QM1", "A"),
    names.queue_topic("QM1", "in.A"),
]
OF_OTHERS = [
    names.inbound_topic("QM1"),
    names.inbound_topic("QM1", "QM2"),
    names.inbound_topic("QM2", "QM1"),
    names.events_topic("QM2"),
    names.DIRECTORY_TOPIC,
    "orders",
]


class FewTopics:
    """Stands for a Kafka with some topics, which hold records or do not."""

    def __init__(self, full: list[str], empty: list[str]) -> None:
        self._full, self._empty = full, empty

    def topics(self) -> list[str]:
        return self._full + self._empty

    def is_new(self, topic: str, _least: int) -> bool:
        return topic not in self._full


def check(monkeypatch: pytest.MonkeyPatch, full: list[str], empty: list[str]) -> None:
    @contextmanager
    def reading(_settings: object) -> Iterator[FewTopics]:
        yield FewTopics(full, empty)

    monkeypatch.setattr(recorded, "_reading", reading)
    check_ledger_is_there(SETTINGS)


@pytest.mark.parametrize("ledger", [[], [names.ledger_topic("QM1")]], ids=["absent", "empty"])
@pytest.mark.parametrize("topic", OWN)
def test_what_the_queue_manager_has_written_needs_its_ledger(
    topic: str, ledger: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LedgerMismatch, match="it was deleted"):
        check(monkeypatch, [topic, *OF_OTHERS], ledger)
    check(monkeypatch, OF_OTHERS, [topic, *ledger])
    check(monkeypatch, [topic, names.ledger_topic("QM1")], [])


@pytest.mark.parametrize("topic", OF_OTHERS)
def test_what_others_have_sent_needs_none(topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A queue manager that never ran starts, and receives it."""
    check(monkeypatch, [topic], [])
    check(monkeypatch, [topic], [*OWN, names.ledger_topic("QM1")])
