"""When a commit counts as definite, and what an error means; with producers that do as told."""

from collections.abc import Callable
from typing import Any, cast

import pytest
from confluent_kafka import KafkaError, KafkaException, Message

from adapter.storage.movers import transactions
from adapter.storage.movers.errors import Doubtful, Fenced
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.movers.socket_timeout import (
    DEFINITE_PART,
    SOCKET_TIMEOUT_MAX_MS,
    SOCKET_TIMEOUT_MS,
)
from adapter.storage.movers.transactions import (
    FLUSHES,
    FORGET_S,
    LONG_FLUSHES,
    AlternatingProducers,
    of_mover,
)
from adapter.storage.topics.specs import TopicSettings

SETTINGS = MoverSettings(
    queue_manager="QM1",
    source=KafkaCluster("nowhere:9"),
    destination=KafkaCluster("nowhere:9"),
    topics=TopicSettings.for_brokers(1),
)
DOUBTFUL_AFTER_S = SOCKET_TIMEOUT_MS / 1000 * DEFINITE_PART
LINE = ("%s [%s] %s", "FAIL", "rdkafka#producer-1", "[thrd:1]: Disconnected")
FAILED_LINE = ("%s [%s] %s", "TXNERR", "rdkafka#producer-1", "Failed to add results [0]")
FATAL_LINE = ("%s [%s] %s", "TXNERR", "rdkafka#producer-1", "Fatal transaction error (_FENCED)")


def nothing() -> None:
    """What happens at a step unless the test says otherwise."""


class FakeRecord:
    """What a delivery report is about."""

    def topic(self) -> str:
        return "A"

    def partition(self) -> int:
        return 3


class FakeProducer:
    """Notes its calls; what happens at a step is set by the test."""

    def __init__(self, calls: list[str], settings: dict[str, Any]) -> None:
        self.watch = settings["logger"]
        self.on: dict[str, Callable[[], object]] = {}
        self.left = 0
        self.socket_timeout_ms = settings["socket.timeout.ms"]
        self._calls = calls
        self._id = settings["transactional.id"]

    def list_topics(self, _topic: str, _timeout_s: float) -> None:
        """Connects."""

    def init_transactions(self, _timeout_s: float) -> None:
        self._step("init")

    def begin_transaction(self) -> None:
        self._step("begin")

    def flush(self, _timeout_s: float) -> int:
        self._step("flush")
        return self.left

    def commit_transaction(self, _timeout_s: float) -> None:
        self._step("commit")

    def abort_transaction(self, _timeout_s: float) -> None:
        self._step("abort")

    def poll(self, _timeout_s: float) -> int:
        self.on.get("poll", nothing)()
        return 0

    def _step(self, name: str) -> None:
        self._calls.append(f"{name} {self._id}")
        self.on.get(name, nothing)()


class Clock:
    """Stands for time.monotonic."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def pass_s(self, seconds: float) -> None:
        self.now_s += seconds


class Bench:
    """Turns on fake producers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        self.made: list[FakeProducer] = []
        self.clock = Clock()
        monkeypatch.setattr(transactions, "Producer", self._make)
        monkeypatch.setattr(transactions, "time", self.clock)
        self.turns = AlternatingProducers(of_mover(SETTINGS, "stream"))
        self.turns.renew()
        self.calls.clear()

    def _make(self, settings: dict[str, Any]) -> FakeProducer:
        self.made.append(FakeProducer(self.calls, settings))
        return self.made[-1]

    def transact(self) -> None:
        self.turns.begin()
        self.turns.commit()


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(monkeypatch)


def raises(error: object) -> Callable[[], object]:
    def step() -> None:
        raise error  # type: ignore[misc]

    return step


def test_ids_are_initialised_in_order_and_the_first_turn_is_on_the_first(bench: Bench) -> None:
    """Movers that start at once rely on this: see the module's text."""
    bench.transact()
    bench.turns.renew()
    bench.transact()
    bench.transact()
    bench.transact()
    first, second = "mq.QM1.stream.0", "mq.QM1.stream.1"
    steps = ("begin", "flush", "commit")
    assert bench.calls == [
        *(f"{step} {first}" for step in steps),
        f"init {first}",
        f"init {second}",
        *(f"{step} {first}" for step in steps),
        *(f"{step} {second}" for step in steps),
        *(f"{step} {first}" for step in steps),
    ]


def test_what_partitions_know_of_a_producer_is_its_own_and_ends_with_it(bench: Bench) -> None:
    """See CopyBatch: a partition that was made again, or has forgotten it, knows it no more."""
    bench.turns.known.add(("A", 0))
    bench.transact()
    assert bench.turns.known == set()
    bench.transact()
    assert bench.turns.known == {("A", 0)}
    bench.clock.pass_s(FORGET_S + 1)
    bench.transact()
    bench.transact()
    assert bench.turns.known == set()
    bench.turns.known.add(("A", 0))
    bench.turns.renew()
    assert bench.turns.known == set()


def test_a_slow_commit_is_doubtful(bench: Bench) -> None:
    bench.made[0].on["flush"] = lambda: bench.clock.pass_s(10)  # how long writing takes is no sign
    bench.made[0].on["commit"] = lambda: bench.clock.pass_s(DOUBTFUL_AFTER_S * 0.99)
    bench.transact()
    bench.made[1].on["commit"] = lambda: bench.clock.pass_s(DOUBTFUL_AFTER_S * 1.01)
    with pytest.raises(Doubtful, match=r"a commit took 1\.818 s: slow") as doubt:
        bench.transact()
    assert doubt.value.late


def commit_that_takes(bench: Bench, seconds: float) -> None:
    for producer in bench.made:
        producer.on["commit"] = lambda: bench.clock.pass_s(seconds)


def test_producers_wait_longer_where_every_commit_is_slow(bench: Bench) -> None:
    """As long as that takes, and up to a limit; a quick commit ends it."""
    assert [one.socket_timeout_ms for one in bench.made] == [SOCKET_TIMEOUT_MS] * 2
    for timeout_ms in (2 * SOCKET_TIMEOUT_MS, 4 * SOCKET_TIMEOUT_MS, SOCKET_TIMEOUT_MAX_MS):
        commit_that_takes(bench, 10)
        with pytest.raises(Doubtful):
            bench.transact()
        bench.turns.renew()
        assert [one.socket_timeout_ms for one in bench.made[-2:]] == [timeout_ms] * 2
    commit_that_takes(bench, 7)
    for _ in range(3):
        bench.transact()
    bench.turns.renew()
    assert bench.made[-1].socket_timeout_ms == SOCKET_TIMEOUT_MAX_MS
    bench.transact()
    bench.turns.renew()
    assert bench.made[-1].socket_timeout_ms == SOCKET_TIMEOUT_MS


@pytest.mark.parametrize("step", ["flush", "commit"])
def test_any_word_of_librdkafka_within_a_transaction_is_a_doubt(bench: Bench, step: str) -> None:
    """Lines are heard when the client is polled, also after the commit."""
    producer = bench.made[0]

    def trouble() -> None:
        producer.on["poll"] = lambda: producer.watch.log(30, *LINE)

    producer.on[step] = trouble
    with pytest.raises(Doubtful, match="Disconnected") as doubt:
        bench.transact()
    assert doubt.value.late


def test_an_error_of_the_client_within_a_transaction_is_a_doubt(bench: Bench) -> None:
    producer = bench.made[0]
    error = KafkaError(KafkaError._ALL_BROKERS_DOWN)
    producer.on["commit"] = lambda: producer.watch.error(error)
    with pytest.raises(Doubtful, match="_ALL_BROKERS_DOWN"):
        bench.transact()


def test_what_was_said_before_a_transaction_is_none(bench: Bench) -> None:
    """An idle connection may be closed by the broker: nothing was in flight."""
    producer = bench.made[0]

    def late_line() -> None:
        producer.on.clear()
        producer.watch.log(30, *LINE)

    producer.on["poll"] = late_line
    bench.transact()


def test_records_that_are_not_written_in_time_are_not_committed(bench: Bench) -> None:
    bench.made[0].left = 7
    with pytest.raises(Doubtful, match="7 records were not written in 20 s"):
        bench.transact()
    assert not any("commit" in call for call in bench.calls)


def test_what_waits_behind_a_record_that_was_refused_is_not_waited_for(bench: Bench) -> None:
    producer = bench.made[0]
    producer.left = 7
    refused, record = KafkaError(KafkaError.MSG_SIZE_TOO_LARGE), cast("Message", FakeRecord())
    producer.on["flush"] = lambda: bench.turns.report(refused, record)
    with pytest.raises(Doubtful, match=r"writing failed: A\[3\].*MSG_SIZE_TOO_LARGE") as doubt:
        bench.transact()
    assert not doubt.value.late
    assert bench.calls.count("flush mq.QM1.stream.0") == 1


def test_records_of_a_transaction_that_can_only_be_aborted_are_not_waited_for(
    bench: Bench,
) -> None:
    producer = bench.made[0]
    producer.left = 1
    producer.on["flush"] = lambda: producer.watch.log(30, *FAILED_LINE)
    with pytest.raises(Doubtful, match=r"writing failed: TXNERR .* Failed to add results \[0\]"):
        bench.transact()
    producer.on.clear()
    producer.left = 0
    bench.turns.renew()
    bench.transact()


def test_a_fenced_mover_whose_records_wait_stops(bench: Bench) -> None:
    producer = bench.made[0]
    producer.left = 1
    producer.on["flush"] = lambda: producer.watch.log(30, *FATAL_LINE)
    with pytest.raises(Fenced):
        bench.transact()


def test_a_long_wait_for_records_is_reported(bench: Bench) -> None:
    """An export looks whether its topic is still there."""
    looks: list[int] = []
    bench.made[0].left = 1
    bench.turns.begin()
    with pytest.raises(Doubtful, match="1 records were not written in 20 s"):
        bench.turns.write(lambda: looks.append(1))
    assert len(looks) == FLUSHES // LONG_FLUSHES


@pytest.mark.parametrize(
    "code", [KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH]
)
@pytest.mark.parametrize("step", ["init", "begin", "flush", "commit"])
def test_a_fenced_mover_stops(bench: Bench, step: str, code: int) -> None:
    failing = raises(KafkaException(KafkaError(code, "no")))
    if step == "init":
        with pytest.raises(Fenced):
            raise bench.turns.meaning(KafkaException(KafkaError(code)), "initialising")
        return
    bench.made[0].on[step] = failing
    with pytest.raises(Fenced, match="the stream mover of QM1 was fenced while"):
        bench.transact()


@pytest.mark.parametrize(
    "error", [SystemError("returned NULL"), KafkaException(KafkaError(KafkaError._FATAL))]
)
def test_a_fence_is_known_by_the_log_when_the_error_hides_it(
    bench: Bench, error: Exception
) -> None:
    producer = bench.made[0]
    producer.on["flush"] = raises(error)
    producer.on["poll"] = lambda: producer.watch.log(50, *FATAL_LINE)
    with pytest.raises(Fenced):
        bench.transact()


def test_other_errors_are_doubts(bench: Bench) -> None:
    for error in (
        KafkaException(KafkaError(KafkaError._TIMED_OUT)),
        KafkaException(KafkaError(KafkaError._STATE)),
        SystemError("returned NULL"),
    ):
        bench.made[-2].on["commit"] = raises(error)
        with pytest.raises(Doubtful):
            bench.transact()
        bench.turns.renew()


def test_a_failed_delivery_names_its_topic(bench: Bench) -> None:
    class Report:
        def topic(self) -> str:
            return "mq.QM1.q.A"

        def partition(self) -> int:
            return 3

    failed: Any = Report()
    turns = bench.turns
    turns.begin()
    turns.report(KafkaError(KafkaError._PURGE_QUEUE), failed)
    turns.report(KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), failed)
    bench.made[0].on["commit"] = raises(KafkaException(KafkaError(KafkaError._INCONSISTENT)))
    with pytest.raises(Doubtful, match=r"q.A\[3\]: Kafka denies Write on topic") as doubt:
        turns.commit()
    assert not doubt.value.late


def test_an_abort_is_a_turn_too(bench: Bench) -> None:
    bench.turns.begin()
    bench.turns.abort()
    bench.turns.begin()
    bench.made[1].left = 3
    with pytest.raises(Doubtful, match="3 records were not written"):
        bench.turns.abort()
    first, second = "mq.QM1.stream.0", "mq.QM1.stream.1"
    assert bench.calls[:5] == [
        *(f"{step} {first}" for step in ("begin", "flush", "abort")),
        *(f"{step} {second}" for step in ("begin", "flush")),
    ]


def test_closing_aborts_what_is_open(bench: Bench) -> None:
    bench.turns.close()
    assert bench.calls == []
    bench.turns.renew()
    bench.turns.begin()
    bench.made[-2].on["abort"] = raises(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
    bench.turns.close()
    bench.turns.close()
    assert bench.calls[-1] == "abort mq.QM1.stream.0"


def test_an_interrupt_goes_through(bench: Bench) -> None:
    bench.made[0].on["commit"] = raises(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        bench.transact()
