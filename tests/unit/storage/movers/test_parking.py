"""When parked topics are tried again, and what of the ledger is theirs."""

from typing import Any, cast

from adapter.core.contract import records as r
from adapter.storage.format.copied import Copy
from adapter.storage.format.movable import Movable
from adapter.storage.format.progress import Parked
from adapter.storage.ledger.port import Entry, LedgerReader
from adapter.storage.movers.parking import RETRY_S, RETRY_S_MAX, CatchUp, RetrySchedule, position_of

TOPIC = "mq.QM1.q.A-1"


class Entries:
    """Stands for a reader of the ledger."""

    def __init__(self, *batches: list[Entry]) -> None:
        self.batches = list(batches)
        self.closed = False

    def read(self, _timeout_s: float) -> list[Entry]:
        return self.batches.pop(0) if self.batches else []

    def close(self) -> None:
        self.closed = True


def catch_up(parked: Parked, *batches: list[Entry]) -> CatchUp:
    return CatchUp(TOPIC, parked, cast("LedgerReader", Entries(*batches)))


def copies(*queues: str) -> list[Movable]:
    return [Copy(queue, 0, 7, b"d", b"body") for queue in queues]


def defined(incarnation: int, name: str = "A") -> list[Movable]:
    return [r.QueueDefined(name, incarnation, {})]


def deleted(name: str = "A") -> list[Movable]:
    return [r.QueueDeleted(name)]


def test_a_topic_is_tried_after_longer_and_longer_pauses() -> None:
    schedule = RetrySchedule()
    assert schedule.due([TOPIC], 100.0) == TOPIC, "it was parked before this mover started"
    pauses = []
    for _ in range(9):
        schedule.failed(TOPIC, 100.0)
        assert schedule.due([TOPIC], 100.0) is None
        pauses.append(next(s for s in range(999) if schedule.due([TOPIC], 100.0 + s)))
    assert pauses[:3] == [RETRY_S, 2 * RETRY_S, 4 * RETRY_S]
    assert pauses[-1] == RETRY_S_MAX
    schedule.forget(TOPIC)
    schedule.failed(TOPIC, 100.0)
    assert schedule.due([TOPIC], 100.0 + RETRY_S) == TOPIC


def test_one_topic_does_not_wait_for_another() -> None:
    schedule = RetrySchedule()
    schedule.failed("first", 0.0)
    assert schedule.due(["first", "second"], 0.5) == "second"


def test_from_the_middle_its_queue_is_defined() -> None:
    one = catch_up(Parked(offset=5))
    assert one.share(copies("A", "B", "A")) == copies("A", "A")
    assert one.share(deleted("B")) == []
    assert [(one.share(record), one.is_deleted) for record in (copies("B"), deleted())] == [
        ([], False),
        ([], True),
    ]
    assert one.share(defined(2)) == []
    assert one.share(copies("A")) == [], "of the next incarnation"


def test_from_the_start_only_its_incarnation_counts() -> None:
    one = catch_up(Parked())
    for record in (defined(0), copies("A"), deleted()):
        assert one.share(record) == []
    assert not one.is_deleted
    one.share(defined(1))
    assert one.share(copies("A")) == copies("A")


def test_from_before_its_definition_what_was_of_its_name_before_is_not_its_own() -> None:
    """A mover that goes back behind the definition parks its topic there."""
    parked = Parked(offset=5, defined=False)
    one = catch_up(parked)
    assert one.share(copies("A")) == []
    one.share(deleted())
    assert not one.is_deleted
    one.share(defined(1))
    assert (one.share(copies("A")), parked.defined) == (copies("A"), True)


def test_how_far_it_is_outlives_its_reader() -> None:
    parked = Parked()
    one = catch_up(parked)
    one.share(defined(0))
    parked.offset = 3
    again = catch_up(parked)
    assert again.share(copies("A")) == []
    again.share(deleted())
    assert not again.is_deleted


def test_an_entry_stays_until_it_is_taken() -> None:
    entry: Any = Entry(7, b"o" * 16, 1, 0, b"")
    one = catch_up(Parked(), [entry])
    assert one.next_entry(0.0) is one.next_entry(0.0) is entry
    one.pending.popleft()
    assert one.next_entry(0.0) is None


def test_where_reading_goes_on() -> None:
    assert position_of(Parked(records=3)) is None
    position = position_of(Parked(5, b"o" * 16, 4))
    assert position is not None
    assert (position.offset, position.owner, position.n) == (5, b"o" * 16, 4)
