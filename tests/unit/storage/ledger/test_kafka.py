"""What the owner's writer makes of delivery reports, with a producer that plays them as told."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError, KafkaException

from adapter.storage.ledger import kafka, kafka_ready
from adapter.storage.ledger.envelope import ENTRY, OWNER_CHANGED, encode
from adapter.storage.ledger.kafka_ready import OwnerProducer
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.port import (
    Deposed,
    LedgerClosed,
    LedgerFull,
    LedgerUnavailable,
    RefusedByKafka,
)

OWNER, RIVAL = b"o" * 16, b"r" * 16
WAIT_S = 10.0
SETTINGS = LedgerSettings(bootstrap_servers="nowhere:1", topic="the ledger")


class Report:
    """A delivery report as librdkafka hands it out."""

    def __init__(self, value: bytes, offset: int | None) -> None:
        self._value = value
        self._offset = offset

    def value(self) -> bytes:
        return self._value

    def offset(self) -> int | None:
        return self._offset


class ScriptedProducer:
    """Keeps what is produced; reports what play() says, in the thread that polls."""

    def __init__(self, _settings: dict[str, Any]) -> None:
        self.values: list[bytes] = []
        self.refuse: Exception | None = None
        self.fatal: BaseException | None = None
        """What the next poll raises."""
        self.purges: list[bool] = []
        self._in_poll = False
        self._callback: Callable[[KafkaError | None, Report], None] | None = None
        self._played = threading.Condition()
        self._batches: list[list[tuple[KafkaError | None, Report]]] = []

    def __len__(self) -> int:
        return len(self.values)

    def list_topics(self, topic: str, timeout_s: float) -> None:
        assert topic == "the ledger"

    def produce(self, topic: str, value: bytes, *, partition: int, on_delivery: Any) -> None:
        assert (topic, partition) == ("the ledger", 0)
        if self.refuse is not None:
            raise self.refuse
        self.values.append(value)
        self._callback = on_delivery

    def play(self, *reports: tuple[int, int | KafkaError | None]) -> None:
        """Report appends in one poll: (n, offset) or (n, error)."""
        batch: list[tuple[KafkaError | None, Report]] = []
        for n, outcome in reports:
            error = outcome if isinstance(outcome, KafkaError) else None
            offset = outcome if isinstance(outcome, int) else None
            batch.append((error, Report(self.values[n - 1], offset)))
        with self._played:
            self._batches.append(batch)
            self._played.notify()

    def poll(self, timeout_s: float) -> int:
        with self._played:
            self._played.wait_for(lambda: self._batches or self.fatal, timeout_s)
            if self.fatal is not None and timeout_s:
                raise self.fatal
            batch = self._batches.pop(0) if self._batches else []
        assert self._callback is not None or not batch
        self._in_poll = True
        for error, report in batch:
            if self._callback is not None:
                self._callback(error, report)
        self._in_poll = False
        return len(batch)

    def purge(self, *, blocking: bool) -> None:
        assert not blocking, "a callback must not wait"
        self.purges.append(self._in_poll)


class Announcing(ScriptedProducer):
    """Reports the first record as it is told to, at once; and the writer on it."""

    answers = True
    outcome: int | KafkaError | None = None
    asks_needed = 0
    writer: kafka.LedgerWriter

    def list_topics(self, topic: str, timeout_s: float) -> None:
        """Get a producer id, and report, when it has been asked for the topic often enough."""
        super().list_topics(topic, timeout_s)
        self.asks_needed -= 1
        if self.asks_needed == 0 and self.values:
            self.play((1, self.outcome))
        elif self.values:
            raise KafkaException(TIMED_OUT)

    def produce(self, topic: str, value: bytes, *, partition: int, on_delivery: Any) -> None:
        super().produce(topic, value, partition=partition, on_delivery=on_delivery)
        if self.answers:
            self.play((1, self.outcome))


class Stage:
    """A writer whose term began at offset 10, and what it said."""

    def __init__(self, made: list[ScriptedProducer]) -> None:
        self.writer = kafka.LedgerWriter(SETTINGS, OWNER, OwnerProducer(SETTINGS))
        self.producer = made[0]
        self.said: list[int | str] = []
        self._changed = threading.Condition()
        self.writer.start(10, self._say, self._say)

    def _say(self, what: int | str) -> None:
        with self._changed:
            self.said.append(what)
            self._changed.notify_all()

    def wait(self, count: int) -> list[int | str]:
        """Wait until it has said so many things."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.said) >= count, WAIT_S), self.said
        return self.said

    def append(self, count: int) -> None:
        for _ in range(count):
            self.writer.append(b"x")

    def ended(self) -> list[int | str]:
        """End, and everything it has said."""
        thread = self.writer._poller
        assert thread is not None
        self.writer.stop()
        assert not thread.is_alive()
        return self.said


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    made: list[ScriptedProducer] = []

    def make(settings: dict[str, Any]) -> ScriptedProducer:
        made.append(ScriptedProducer(settings))
        return made[-1]

    monkeypatch.setattr(kafka_ready, "Producer", make)
    stage = Stage(made)
    yield stage
    stage.writer.stop()


@pytest.fixture
def announcing(monkeypatch: pytest.MonkeyPatch) -> Iterator[Announcing]:
    producer = Announcing({})
    monkeypatch.setattr(kafka_ready, "Producer", lambda _settings: producer)
    hasty = msgspec.structs.replace(SETTINGS, take_over_timeout_s=0.2)
    producer.writer = kafka.LedgerWriter(hasty, OWNER, OwnerProducer(hasty))
    yield producer
    producer.writer.stop()


@pytest.fixture
def gap(monkeypatch: pytest.MonkeyPatch) -> list[list[bytes | None] | Exception]:
    """What reading a gap gives, one gap after the other."""
    given: list[list[bytes | None] | Exception] = []

    def read_values(_settings: LedgerSettings, _offsets: range) -> list[bytes | None]:
        found = given.pop(0)
        if isinstance(found, Exception):
            raise found
        return found

    monkeypatch.setattr(kafka, "read_values", read_values)
    return given


TIMED_OUT = KafkaError(KafkaError._MSG_TIMED_OUT)


@pytest.mark.parametrize(
    ("outcome", "why", "retriable"),
    [
        (TIMED_OUT, "_MSG_TIMED_OUT", True),
        (None, "without its offset", True),
        (KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), "denies Write on topic", True),
        (KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED), "denies Write on topic", True),
        (KafkaError(KafkaError.INVALID_RECORD), "until what Kafka names", False),
    ],
)
def test_a_take_over_that_is_not_confirmed(
    announcing: Announcing, outcome: KafkaError | None, why: str, retriable: bool
) -> None:
    announcing.outcome = outcome
    with pytest.raises(LedgerUnavailable, match=f"announcing the new owner.*{why}") as caught:
        announcing.writer.change_owner(b"a change")
    assert caught.value.retriable is retriable


def test_a_take_over_that_is_never_answered(announcing: Announcing) -> None:
    announcing.answers = False
    with pytest.raises(LedgerUnavailable, match=r"no answer within 0\.2 s.*try again"):
        announcing.writer.change_owner(b"a change")


def test_a_take_over_that_is_confirmed(announcing: Announcing) -> None:
    announcing.outcome = 42
    assert announcing.writer.change_owner(b"a change") == 42


def test_a_take_over_asks_for_its_topic_until_it_is_confirmed(announcing: Announcing) -> None:
    """librdkafka may ask for a producer id too early, and then not again for 500 ms."""
    announcing.answers = False
    announcing.outcome = 42
    announcing.asks_needed = 3  # the first is before the record; the second one fails
    assert announcing.writer.change_owner(b"a change") == 42


def test_one_call_for_all_reports_of_a_poll(stage: Stage) -> None:
    stage.append(7)
    stage.producer.play((1, 11), (2, 12), (3, 13))
    assert stage.wait(1) == [3]
    stage.producer.play((4, 14))
    stage.producer.play((5, 15), (6, 16))
    assert stage.wait(3) == [3, 4, 6]
    assert stage.ended() == [3, 4, 6]


@pytest.mark.parametrize("outcome", [TIMED_OUT, None, -1001], ids=["failed", "none", "invalid"])
def test_a_failed_or_offset_less_report_ends_the_term(
    stage: Stage, outcome: int | KafkaError | None
) -> None:
    stage.append(5)
    stage.producer.play((1, 11), (2, 12), (3, outcome), (4, 14), (5, 15))
    durable, doubt = stage.wait(2)
    assert durable == 2
    assert "entry n 3 is doubtful" in str(doubt)
    assert stage.producer.purges == [True], "purged once, inside the callback"
    with pytest.raises(LedgerClosed):
        stage.append(1)
    assert len(stage.ended()) == 2


def test_what_comes_after_a_doubt_is_not_even_looked_at(stage: Stage) -> None:
    stage.append(3)
    stage.producer.play((1, TIMED_OUT))
    stage.wait(1)
    stage.producer.play((2, 11), (3, 12))
    assert len(stage.ended()) == 1


def test_a_hole_in_n_ends_the_term(stage: Stage, gap: list[list[bytes | None] | Exception]) -> None:
    stage.append(3)
    gap.append([encode(ENTRY, OWNER, 3, b"x")])
    stage.producer.play((1, 11), (3, 12))
    durable, doubt = stage.wait(2)
    assert durable == 1
    assert "n 3 was reported at offset 12" in str(doubt)


def test_a_gap_is_read_and_what_waited_behind_it_goes_on(
    stage: Stage, gap: list[list[bytes | None] | Exception]
) -> None:
    stage.append(4)
    gap.append([encode(ENTRY, RIVAL, 9, b""), encode(ENTRY, OWNER, 2, b"x")])
    stage.producer.play((1, 11), (2, 13), (3, 14), (4, 15))
    assert stage.wait(1) == [4]


def test_a_rival_in_the_gap_ends_the_term(
    stage: Stage, gap: list[list[bytes | None] | Exception]
) -> None:
    stage.append(3)
    gap.append([encode(OWNER_CHANGED, RIVAL, 0, b"rival"), encode(ENTRY, OWNER, 2, b"x")])
    stage.producer.play((1, 11), (2, 13), (3, 14))
    durable, doubt = stage.wait(2)
    assert durable == 1
    assert isinstance(doubt, Deposed)
    assert len(stage.producer.purges) == 1


def test_a_gap_that_cannot_be_read_is_a_doubt(
    stage: Stage, gap: list[list[bytes | None] | Exception]
) -> None:
    stage.append(2)
    gap.append(LedgerUnavailable("the broker is gone"))
    stage.producer.play((1, 11), (2, 13))
    durable, doubt = stage.wait(2)
    assert durable == 1
    assert "unread: the broker is gone" in str(doubt)
    assert not isinstance(doubt, Deposed)


def test_a_failure_behind_a_gap_leaves_the_gap_unread(
    stage: Stage, gap: list[list[bytes | None] | Exception]
) -> None:
    stage.append(3)
    stage.producer.play((1, 11), (2, 13), (3, TIMED_OUT))
    assert stage.wait(2)[0] == 1
    assert "n 3 is doubtful" in str(stage.said[1])


def test_a_producer_that_is_full_refuses_and_nothing_is_lost(stage: Stage) -> None:
    stage.append(1)
    stage.producer.refuse = BufferError("full")
    with pytest.raises(LedgerFull, match="1 records wait"):
        stage.append(1)
    stage.producer.refuse = None
    assert stage.writer.append(b"x") == 2
    stage.producer.play((1, 11), (2, 12))
    assert stage.wait(1) == [2]


def test_a_producer_that_is_of_no_more_use_ends_the_term(stage: Stage) -> None:
    stage.append(1)
    stage.producer.refuse = KafkaException(KafkaError(KafkaError._FATAL, "out of order"))
    with pytest.raises(LedgerClosed, match="n 2 was refused: out of order"):
        stage.append(1)
    assert "n 2 was refused" in str(stage.wait(1)[0])


FATAL = KafkaException(KafkaError(KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER, "out of order"))


def test_finding_reliability_d10_a_fatal_error_of_the_producer_is_a_sentence(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    """It is told like every other loss, and not as a fault of mqk with a traceback."""
    stage.append(1)
    stage.producer.fatal = FATAL
    doubt = str(stage.wait(1)[0])
    assert doubt.startswith("the ledger: the producer of the ledger failed for good: out of order")
    assert "check the topic and the brokers" in doubt
    assert len(stage.ended()) == 1
    assert not caplog.records


@pytest.mark.parametrize("problem", [SystemError("a callback"), SystemExit(1)])
def test_whatever_ends_the_thread_that_hears_reports_is_a_doubt(
    stage: Stage, problem: BaseException
) -> None:
    """Nobody else would hear of it."""
    stage.append(1)
    stage.producer.play((1, 11))
    assert stage.wait(1) == [1]
    stage.producer.fatal = problem
    stage.append(1)
    assert "the thread ledger ended unexpectedly" in str(stage.wait(2)[1])
    with pytest.raises(LedgerClosed):
        stage.append(1)
    assert len(stage.ended()) == 2


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (KafkaError.MSG_SIZE_TOO_LARGE, "set max.message.bytes of the ledger to 8388608"),
        (KafkaError.INVALID_RECORD, "change what Kafka names"),
    ],
)
def test_what_kafka_refuses_by_itself_is_not_cured_by_a_take_over(
    stage: Stage, code: int, remedy: str
) -> None:
    stage.append(2)
    stage.producer.play((1, 11), (2, KafkaError(code)))
    doubt = stage.wait(2)[1]
    assert isinstance(doubt, RefusedByKafka)
    assert remedy in doubt


def test_a_write_that_is_denied_is_in_doubt_until_the_right_is_granted(stage: Stage) -> None:
    stage.append(2)
    stage.producer.play((1, 11), (2, KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)))
    doubt = stage.wait(2)[1]
    assert not isinstance(doubt, RefusedByKafka)
    assert "Kafka denies Write on topic the ledger" in str(doubt)


def test_a_stop_is_silent(stage: Stage) -> None:
    stage.append(2)
    stage.writer._stopped = True
    stage.producer.play((1, KafkaError(KafkaError._PURGE_INFLIGHT)), (2, TIMED_OUT))
    assert stage.ended() == []
