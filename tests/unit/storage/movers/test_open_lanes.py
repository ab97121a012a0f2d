"""How transactions that Kafka left open are ended, and where the ledger goes on in a lane."""

from collections.abc import Sequence
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException

from adapter.core.contract import records as r
from adapter.core.contract.message import NO_ID, MessageData
from adapter.storage.format import descriptor
from adapter.storage.format.copied import Copy
from adapter.storage.format.movable import Movable
from adapter.storage.format.progress import Parked
from adapter.storage.ledger.port import Entry, LedgerReader
from adapter.storage.movers import open_lanes, parking
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.open_lanes import Ending, Endings, LaneEnds, OpenLane, endings
from adapter.storage.movers.parking import CatchUp, first_seqs
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.topics.specs import TopicSettings

COMMIT, ABORT = Ending.COMMIT, Ending.ABORT
UNIT = bytes(24)
MESSAGE = MessageData(
    body=b"", message_id=NO_ID, correlation_id=NO_ID, group_id=NO_ID, persistence=1, put_time_ms=1
)


@pytest.mark.parametrize(
    ("seqs", "first", "turn", "wanted"),
    [
        ([7, 8], 7, 1, (ABORT, ABORT)),
        ([7, 8], 3, None, (ABORT, ABORT)),
        ([], None, 0, (ABORT, ABORT)),
        ([7, 8], 9, 1, (COMMIT, COMMIT)),
        ([7, 8], None, 0, (COMMIT, COMMIT)),
        ([7, 8], 8, 0, (COMMIT, None)),
        ([7, 8], 8, 1, (None, COMMIT)),
        ([7, 8], 8, None, (COMMIT, COMMIT)),
    ],
)
def test_what_counts_is_committed(
    seqs: list[int], first: int | None, turn: int | None, wanted: Endings
) -> None:
    assert endings(seqs, first, turn) == wanted


class Entries:
    """A ledger whose entries are lists of records, read one by one."""

    def __init__(self, *entries: list[list[Movable]]) -> None:
        self._entries = entries
        self._next = 0

    def read(self, _timeout_s: float) -> list[Entry]:
        self._next += 1
        return [Entry(self._next - 1, b"o" * 16, self._next, 0, b"%d" % (self._next - 1))]

    def offset_and_end(self) -> tuple[int, int]:
        return self._next, len(self._entries)

    def contents(self, payload: bytes) -> list[list[Movable]]:
        return self._entries[int(payload)]

    def find(self, *lanes: int, skip: int = 0, end: int | None = None) -> dict[int, int]:
        reader = cast("LedgerReader", self)
        share = CatchUp("mq.QM1.q.A", Parked(offset=5), reader)
        upto = len(self._entries) if end is None else end
        return first_seqs(share, reader, self.contents, lanes, upto, skip)


def put(seq: int, lane: int = 0, queue: str = "A") -> Copy:
    described = descriptor.encode(r.Placed(queue, lane, seq, 0, 0, 0, 1, MESSAGE), UNIT, 1)
    return Copy(queue, lane, 7, described, b"")


def test_the_first_seq_of_each_lane_is_found() -> None:
    ledger = Entries([[put(1, queue="B")], [put(4), put(9, 3)]], [[put(5)], [put(2, 1)]])
    assert ledger.find(0, 1, 2) == {0: 4, 1: 2}
    assert ledger.find(0, 1) == {}, "the ledger was read to its end"


def test_records_that_are_copied_already_do_not_count() -> None:
    ledger = Entries([[put(4)], [put(5)]], [[put(6, 1)]])
    assert ledger.find(0, 1, skip=1) == {0: 5, 1: 6}


def test_what_follows_a_deletion_goes_to_another_topic() -> None:
    ledger = Entries([[r.QueueDeleted("A")]], [[r.QueueDefined("A", 1, {})], [put(1)]])
    assert ledger.find(0) == {}


def test_a_ledger_that_gives_nothing_is_a_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parking, "READ_TIMEOUT_S", -1)
    ledger = Entries([[]], [[]])
    with pytest.raises(Doubtful, match="was not read up to offset 2"):
        ledger.find(0)


class LosesConnections:
    """A client of Kafka that answers with the next offsets, first for committed records, and with
    no error where a connection is lost, as librdkafka."""

    def __init__(self, offsets: Sequence[int]) -> None:
        self._offsets = iter(offsets)

    def list_topics(self, **_: object) -> SimpleNamespace:
        partitions = {0: SimpleNamespace(leader=1)}
        return SimpleNamespace(topics={"T": SimpleNamespace(partitions=partitions)})

    def list_offsets(self, asked: dict[Any, Any], **_: object) -> dict[Any, Future[Any]]:
        answer: Future[Any] = Future()
        answer.set_result(SimpleNamespace(offset=next(self._offsets)))
        return dict.fromkeys(asked, answer)


@pytest.mark.parametrize("offsets", [(-1001, 2, 7), (2, -1001, 2, 7), (-1001, -1001, 2, 7)])
def test_an_end_that_is_no_offset_is_asked_for_again(
    monkeypatch: pytest.MonkeyPatch, offsets: Sequence[int]
) -> None:
    """A lane of which nothing is known is not closed: what is written behind it may never show."""
    client = LosesConnections(offsets)
    monkeypatch.setattr(open_lanes, "admin_client", lambda *_: client)
    monkeypatch.setattr(open_lanes, "LOOK_S", 0.0)
    kafka = KafkaCluster("k:9092")
    settings = MoverSettings(
        queue_manager="QM1", source=kafka, destination=kafka, topics=TopicSettings.for_brokers(1)
    )
    found, unknown = LaneEnds(settings).open_lanes(["T"])
    assert (found, unknown) == ([OpenLane("T", 0, 2, 7)], set())


class AnswersNothing(LosesConnections):
    """A client of Kafka of which one question fails, or is answered too late."""

    def __init__(self, question: str) -> None:
        super().__init__([2] * 100)
        self._question = question

    def list_topics(self, *_: object, **__: object) -> SimpleNamespace:
        if self._question == "list_topics":
            raise KafkaException(KafkaError(KafkaError._TRANSPORT, "Failed to get metadata"))
        return super().list_topics()

    def list_offsets(self, asked: dict[Any, Any], **_: object) -> dict[Any, Future[Any]]:
        found = super().list_offsets(asked)
        if self._question == "list_offsets":
            return dict.fromkeys(asked, Future())
        if self._question == "refused":
            refused: Future[Any] = Future()
            error = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
            refused.set_exception(KafkaException(error))
            return dict.fromkeys(asked, refused)
        return found


@pytest.mark.parametrize("question", ["list_topics", "list_offsets", "refused"])
@pytest.mark.parametrize("asks", ["all", "one"])
def test_whatever_is_not_answered_is_a_doubt_in_words(
    monkeypatch: pytest.MonkeyPatch, question: str, asks: str
) -> None:
    """Else the mover would end, or say what a client's object looks like."""
    monkeypatch.setattr(open_lanes, "admin_client", lambda *_: AnswersNothing(question))
    monkeypatch.setattr(open_lanes, "LOOK_S", 0.0)
    monkeypatch.setattr(open_lanes, "ANSWER_S", 0.02)
    kafka = KafkaCluster("k:9092")
    settings = MoverSettings(
        queue_manager="QM1", source=kafka, destination=kafka, topics=TopicSettings.for_brokers(1)
    )
    ends = LaneEnds(settings)
    with pytest.raises(Doubtful, match="asking where lanes end failed: ") as caught:
        _ = ends.open_lanes(["T"]) if asks == "all" else ends.open_lane("T", 0)
    assert "KafkaError{" not in str(caught.value)
