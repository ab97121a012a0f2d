"""What is held against a topic that is there, and how topics are created."""

from concurrent.futures import Future
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from confluent_kafka import KafkaError, KafkaException
from msgspec import structs

from adapter.storage.topics import admin
from adapter.storage.topics.admin import TopicAdmin, TopicError, remedies, setting_problems
from adapter.storage.topics.specs import (
    TopicSettings,
    TopicSpec,
    directory_spec,
    events_spec,
    ledger_spec,
    progress_spec,
    queue_spec,
)

SETTINGS = TopicSettings.for_brokers(3)


def problems(spec: TopicSpec, **changed: str) -> list[str]:
    wanted = {
        **spec.settings,
        "min.insync.replicas": "2",
        "unclean.leader.election.enable": "false",
    }
    have = {**wanted, **{name.replace("_", "."): value for name, value in changed.items()}}
    return setting_problems(spec, wanted, have)


def test_a_topic_as_it_must_be_has_no_problems() -> None:
    assert problems(ledger_spec("l")) == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("retention_ms", "604800000"),
        ("retention_bytes", "1000"),
        ("cleanup_policy", "compact"),
        ("message_timestamp_type", "CreateTime"),
        ("unclean_leader_election_enable", "true"),
        ("min_insync_replicas", "1"),
        ("max_message_bytes", "1048588"),
        ("max_message_bytes", ""),
    ],
)
def test_what_could_lose_entries_is_held_against_a_ledger(setting: str, value: str) -> None:
    name = setting.replace("_", ".")
    (problem,) = problems(ledger_spec("l"), **{setting: value})
    assert problem.startswith(f"l has {name}={value} and needs ")


@pytest.mark.parametrize(
    ("setting", "value"), [("min_insync_replicas", "3"), ("max_message_bytes", "99999999")]
)
def test_more_than_needed_is_no_problem(setting: str, value: str) -> None:
    assert problems(ledger_spec("l"), **{setting: value}) == []


def test_operators_choose_how_long_events_are_kept() -> None:
    spec = events_spec("e", SETTINGS)
    assert problems(spec, retention_ms="1000", retention_bytes="5") == []
    assert problems(queue_spec("q", 10), retention_ms="1000") != []


def test_finding_users_7_the_remedy_is_one_that_works() -> None:
    partitions = "q has 11 partitions and needs 10"
    assert "delete the topic (kafka-topics --delete)" in remedies([partitions])
    assert "kafka-configs" not in remedies([partitions])
    assert remedies(["q has retention.ms=5 and needs -1"]) == "Change the settings (kafka-configs)"
    both = remedies([partitions, "q has retention.ms=5 and needs -1"])
    assert both.startswith("Kafka cannot take partitions away")
    assert both.endswith(", and change the settings (kafka-configs)")
    assert "kafka-reassign-partitions" in remedies(["q has replication 1 and needs 3"])


@pytest.mark.parametrize("has", range(1, 14))
def test_the_remedy_for_partitions_deletes_nothing_that_can_be_kept(has: int) -> None:
    """Missing ones are added; only those that are too many cannot be taken away."""
    said = remedies([f"q has {has} partitions and needs 10"])
    assert ("kafka-topics --alter --partitions 10" in said) == (has < 10)
    assert ("kafka-topics --delete" in said) == (has > 10)


def test_what_to_do_instead_is_of_the_topics_that_are_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admin, "admin_client", lambda *_: None)
    topics = TopicAdmin("k:9092", SETTINGS)
    wrong = "mq.QM1.q.A has retention.ms=5 and needs -1"
    monkeypatch.setattr(topics, "_problems", lambda *_: [wrong])
    with pytest.raises(TopicError) as caught:
        topics.check([ledger_spec("mq.QM1.ledger"), queue_spec("mq.QM1.q.A", 10)])
    assert str(caught.value).endswith(
        "Change the settings (kafka-configs), or delete the queue and define it again, which has "
        "another topic then"
    )


@pytest.mark.parametrize("have", ["compact,delete", "delete,compact", "delete, compact"])
def test_a_setting_that_is_a_list_has_no_order(have: str) -> None:
    assert problems(progress_spec("p", 2), cleanup_policy=have) == []
    assert problems(progress_spec("p", 2), cleanup_policy="delete") != []
    assert problems(queue_spec("q", 10), cleanup_policy=have) != []


def test_finding_reliability_section_4_a_wrong_password_is_called_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Refused(AbstractContextManager[Any]):
        def __init__(self, settings: dict[str, Any], **_: object) -> None:
            self._tell = settings["error_cb"]

        def __exit__(self, *_problem: object) -> None:
            pass

        def list_topics(self, timeout: float) -> None:
            raise KafkaException(KafkaError(KafkaError._TRANSPORT))

        def poll(self, _timeout: float) -> None:
            self._tell(KafkaError(KafkaError._AUTHENTICATION, "SASL authentication error"))
            self._tell(KafkaError(KafkaError._ALL_BROKERS_DOWN))

    monkeypatch.setattr(admin, "AdminClient", Refused)
    with pytest.raises(TopicError, match="refuses this client: SASL authentication error"):
        admin.settings_for("k:9092")


def test_an_offset_that_is_no_offset_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As librdkafka gives it, without an error, when a connection is lost."""

    class Unanswered:
        def list_offsets(self, asked: dict[Any, Any], **_: object) -> dict[Any, Future[Any]]:
            answer: Future[Any] = Future()
            answer.set_result(SimpleNamespace(offset=-1001))
            return dict.fromkeys(asked, answer)

    monkeypatch.setattr(admin, "admin_client", lambda *_: Unanswered())
    with pytest.raises(TopicError, match=r"the bounds of t: no answer") as caught:
        TopicAdmin("k:9092", SETTINGS).bounds("t")
    assert caught.value.retriable


class LaggingBrokers:
    """One knows what another process has created; some answers are of one that does not yet."""

    def __init__(self, lags: int) -> None:
        self.lags = lags
        self._is_new = True
        self._settings = {
            "min.insync.replicas": "1",
            "unclean.leader.election.enable": "false",
            **directory_spec("d").settings,
        }

    def create_topics(self, new: list[Any], **_: object) -> dict[str, Future[Any]]:
        return {one.topic: answered(KafkaError.TOPIC_ALREADY_EXISTS) for one in new}

    def list_topics(self, name: str, _timeout: float) -> SimpleNamespace:
        there = {0: SimpleNamespace(leader=1, replicas=[1])}
        is_known, self._is_new = self._is_new or not self._is_lagging(), False
        found = SimpleNamespace(partitions=there if is_known else {})
        return SimpleNamespace(topics={name: found})

    def describe_configs(self, asked: list[Any], **_: object) -> dict[Any, Future[Any]]:
        if self._is_lagging():
            return {one: answered(KafkaError.UNKNOWN_TOPIC_OR_PART) for one in asked}
        entries = {name: SimpleNamespace(name=name, value=v) for name, v in self._settings.items()}
        return {one: answered(entries) for one in asked}

    def _is_lagging(self) -> bool:
        self.lags -= 1
        return self.lags >= 0


def answered(with_: object) -> Future[Any]:
    answer: Future[Any] = Future()
    if isinstance(with_, int):
        answer.set_exception(KafkaException(KafkaError(with_)))
    else:
        answer.set_result(with_)
    return answer


@pytest.mark.parametrize("lags", [1, 2, 3])
def test_a_topic_that_another_process_creates_now_is_checked_when_it_is_known(
    monkeypatch: pytest.MonkeyPatch, lags: int
) -> None:
    brokers = LaggingBrokers(lags)
    monkeypatch.setattr(admin, "admin_client", lambda *_: brokers)
    monkeypatch.setattr(admin, "POLL_S", 0.001)
    made = TopicAdmin("k:9092", TopicSettings(replication=1, min_insync_replicas=1))
    assert made.ensure([directory_spec("d")]) == []
    assert brokers.lags < 0


def test_a_topic_that_no_broker_ever_knows_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admin, "admin_client", lambda *_: LaggingBrokers(10**6))
    monkeypatch.setattr(admin, "POLL_S", 0.001)
    settings = TopicSettings(replication=1, min_insync_replicas=1, timeout_s=0.05)
    with pytest.raises(TopicError, match="asking for the settings of d"):
        TopicAdmin("k:9092", settings).ensure([directory_spec("d")])


FENCED = "Unable to replicate the partition 1 time(s): All brokers are currently fenced, or ..."


class Starting:
    """A Kafka whose controller hears of a broker after so many requests."""

    def __init__(self, requests: int) -> None:
        self.left = requests
        self.asked: list[list[str]] = []

    def create_topics(self, new: list[Any], **_: object) -> dict[str, Future[None]]:
        self.asked.append([one.topic for one in new])
        self.left -= 1
        futures: dict[str, Future[None]] = {one.topic: Future() for one in new}
        for name, future in futures.items():
            if name == "there":
                code, said = KafkaError.TOPIC_ALREADY_EXISTS, "Topic 'there' already exists."
            elif self.left >= 0:
                code, said = KafkaError.INVALID_REPLICATION_FACTOR, FENCED
            else:
                future.set_result(None)
                continue
            future.set_exception(KafkaException(KafkaError(code, said)))
        return futures


def test_topics_are_created_as_soon_as_a_broker_has_been_heard_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kafka = Starting(2)
    monkeypatch.setattr(admin, "admin_client", lambda *_: kafka)
    topics = TopicAdmin("k:9092", SETTINGS)
    assert topics._create([ledger_spec("new"), ledger_spec("there")]) == ["new"]
    assert kafka.asked == [["new", "there"], ["new"], ["new"]]


class Forbidding:
    """A Kafka with the topic "there", where nobody may create topics any more."""

    def create_topics(self, new: list[Any], **_: object) -> dict[str, Future[None]]:
        futures: dict[str, Future[None]] = {one.topic: Future() for one in new}
        for future in futures.values():
            denied = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED, "denied")
            future.set_exception(KafkaException(denied))
        return futures

    def list_topics(self, name: str, _timeout_s: float) -> SimpleNamespace:
        partitions = {0: None} if name == "there" else {}
        return SimpleNamespace(topics={name: SimpleNamespace(partitions=partitions)})


def test_who_may_not_create_topics_goes_on_with_those_that_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Many take the right away after the set-up."""
    monkeypatch.setattr(admin, "admin_client", lambda *_: Forbidding())
    topics = TopicAdmin("k:9092", SETTINGS)
    assert topics._create([ledger_spec("there")]) == []
    with pytest.raises(TopicError, match="Kafka denies Create on topic new"):
        topics._create([ledger_spec("there"), ledger_spec("new")])


def test_a_kafka_that_hears_of_no_broker_is_worth_another_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(admin, "admin_client", lambda *_: Starting(1_000_000))
    topics = TopicAdmin("k:9092", msgspec.structs.replace(SETTINGS, timeout_s=0.1))
    with pytest.raises(TopicError, match=r"fenced.*check that the brokers run") as caught:
        topics._create([ledger_spec("new")])
    assert caught.value.retriable


def test_a_client_asks_again_who_the_controller_is_and_makes_no_topic_by_that(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its requests wait for the controller; by itself it would ask once, and in five minutes."""
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(admin, "AdminClient", lambda settings, **_: made.append(settings))
    admin.admin_client("k:9092", {})
    assert made[0]["topic.metadata.refresh.interval.ms"] <= SETTINGS.timeout_s * 1000 / 10
    assert made[0]["allow.auto.create.topics"] is False


@pytest.mark.parametrize("has_topics", [True, False])
def test_a_kafka_without_a_broker_is_not_called_one_that_does_not_answer(
    monkeypatch: pytest.MonkeyPatch, has_topics: bool
) -> None:
    """Of no brokers a topic would be asked for with no copies."""

    class Begins(AbstractContextManager[Any]):
        def __init__(self) -> None:
            self.brokers = [{}, {}, {1: "k:9092"}]

        def __exit__(self, *_problem: object) -> None:
            pass

        def list_topics(self, timeout: float) -> SimpleNamespace:
            brokers = self.brokers[0] if timeout < 1 else self.brokers.pop(0)
            if brokers or has_topics:
                return SimpleNamespace(brokers=brokers, cluster_id="its-id")
            raise KafkaException(KafkaError(KafkaError._PARTIAL))  # as librdkafka then says

    monkeypatch.setattr(admin, "admin_client", lambda *_: Begins())
    expected = structs.replace(TopicSettings.for_brokers(1), cluster_id="its-id")
    assert admin.settings_for("k:9092") == expected, "it is asked again"
    with pytest.raises(TopicError, match="k:9092 says that no broker runs: wait") as caught:
        admin.settings_for("k:9092", timeout_s=0.1)
    assert caught.value.retriable
