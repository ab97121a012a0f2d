"""Topics are created as they must be, once, and refused when they are not."""

import gc
import weakref
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AdminClient,
    NewTopic,
)
from msgspec import structs

from adapter.localkafka import free_port
from adapter.storage.topics.admin import TopicAdmin, TopicError, settings_for
from adapter.storage.topics.specs import (
    TopicSettings,
    TopicSpec,
    events_spec,
    ledger_spec,
    progress_spec,
    queue_spec,
    schemas_spec,
)
from tests.support.backlog import until
from tests.support.shared_kafka import AnyKafka
from tests.support.topic_settings import configure, topic_settings

WAIT_S = 20.0
SETTINGS = TopicSettings.for_brokers(1)


@pytest.fixture
def admin(kafka: AnyKafka) -> AdminClient:
    return AdminClient({"bootstrap.servers": kafka.bootstrap_servers})


@pytest.fixture
def topics(kafka: AnyKafka) -> TopicAdmin:
    return TopicAdmin(kafka.bootstrap_servers, SETTINGS)


def specs_of(stem: str) -> list[TopicSpec]:
    return [
        ledger_spec(f"{stem}.ledger"),
        queue_spec(f"{stem}.q.A", 10),
        events_spec(f"{stem}.events", SETTINGS),
        progress_spec(f"{stem}.progress", 2),
    ]


def test_topics_are_created_once_with_explicit_settings(
    topics: TopicAdmin, admin: AdminClient, unique_name: Callable[..., str]
) -> None:
    specs = specs_of(unique_name())
    assert topics.ensure(specs) == [spec.name for spec in specs]
    for spec in specs:
        have = topic_settings(admin, spec.name)
        assert {name: have[name] for name in spec.settings} == dict(spec.settings)
        assert have["min.insync.replicas"] == "1"
        assert have["unclean.leader.election.enable"] == "false"
        found = admin.list_topics(spec.name, WAIT_S).topics[spec.name]
        assert len(found.partitions) == spec.partitions
    assert topics.ensure(specs) == []


@pytest.mark.parametrize(
    ("setting", "value"),
    [("retention.ms", "1000"), ("unclean.leader.election.enable", "true")],
)
def test_an_existing_topic_that_could_lose_is_refused(
    topics: TopicAdmin,
    kafka: AnyKafka,
    unique_name: Callable[..., str],
    setting: str,
    value: str,
) -> None:
    ledger = ledger_spec(unique_name())
    topics.ensure([ledger])
    configure(kafka.bootstrap_servers, ledger.name, {setting: value})
    with pytest.raises(TopicError, match=f"{ledger.name} has {setting}={value} and needs") as one:
        topics.ensure([ledger])
    assert not one.value.retriable


def test_a_topic_of_another_schema_registry_is_refused_in_words_of_registries(
    topics: TopicAdmin, admin: AdminClient, unique_name: Callable[..., str]
) -> None:
    """As other registries make it: compacted, stamped by their producers."""
    name = unique_name("_schemas.")
    new = NewTopic(name, 1, 1, config={"cleanup.policy": "compact"})
    admin.create_topics([new])[name].result(WAIT_S)
    with pytest.raises(TopicError, match="or use that registry by its URL") as refused:
        topics.ensure([schemas_spec(name)])
    assert "queue manager" not in str(refused.value)


def test_a_topic_with_other_partitions_is_refused(
    topics: TopicAdmin, unique_name: Callable[..., str]
) -> None:
    name = unique_name()
    topics.ensure([queue_spec(name, 3)])
    with pytest.raises(TopicError, match=f"{name} has 3 partitions and needs 10"):
        topics.ensure([queue_spec(name, 10)])


def test_a_topic_with_too_few_copies_is_refused(
    kafka: AnyKafka, admin: AdminClient, unique_name: Callable[..., str]
) -> None:
    name = unique_name()
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(WAIT_S)
    until(lambda: name in admin.list_topics(timeout=WAIT_S).topics)
    with pytest.raises(TopicError, match=f"{name} has replication 1 and needs 3"):
        TopicAdmin(kafka.bootstrap_servers, TopicSettings.for_brokers(3)).check([ledger_spec(name)])


def test_more_copies_than_brokers_cannot_be_had(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    topics = TopicAdmin(kafka.bootstrap_servers, TopicSettings.for_brokers(3))
    with pytest.raises(TopicError, match=r"creating .*INVALID_REPLICATION_FACTOR") as caught:
        topics.ensure([ledger_spec(unique_name())])
    assert not caught.value.retriable


def test_deleting_twice_is_no_error(
    topics: TopicAdmin, admin: AdminClient, unique_name: Callable[..., str]
) -> None:
    ledger = ledger_spec(unique_name())
    topics.ensure([ledger])
    topics.delete([ledger.name])
    topics.delete([ledger.name])
    assert ledger.name not in admin.list_topics(timeout=WAIT_S).topics


def test_an_unreachable_kafka_is_worth_another_try() -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = TopicSettings(replication=1, min_insync_replicas=1, timeout_s=0.5)
    with pytest.raises(TopicError, match=f"on {address} failed.*try again") as caught:
        TopicAdmin(address, settings).ensure([ledger_spec("mq.NOBODY.ledger")])
    assert caught.value.retriable


def test_copies_are_chosen_by_the_cluster(kafka: AnyKafka) -> None:
    found = settings_for(kafka.bootstrap_servers)
    assert found.cluster_id
    assert structs.replace(found, cluster_id="") == SETTINGS


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
def test_the_client_is_gone_at_once_after_refused_requests(
    kafka: AnyKafka, unique_name: Callable[..., str]
) -> None:
    """A client that lives on goes on trying to reach brokers that may be gone."""
    topics = TopicAdmin(kafka.bootstrap_servers, SETTINGS)
    spec = ledger_spec(f"{unique_name()}.ledger")
    assert topics.ensure([spec]) == [spec.name]
    assert topics.ensure([spec]) == [], "Kafka refused to create it again"
    topics.delete(["mq.NOT-THERE.ledger"])
    with pytest.raises(TopicError, match="asking for the settings of"):
        topics._describe(["mq.NOT-THERE.ledger"], 0.0)
    known = weakref.ref(topics)
    del topics
    assert known() is None


def test_the_progress_gets_a_partition_for_a_mover_that_is_new(
    topics: TopicAdmin, admin: AdminClient, unique_name: Callable[..., str]
) -> None:
    """And an older release, which has fewer movers, goes on with more partitions than it needs."""
    name = unique_name()
    assert topics.ensure([progress_spec(name, 2)]) == [name]
    assert topics.problems([progress_spec(name, 3)]) == [f"{name} has 2 partitions and needs 3"]
    assert topics.ensure([progress_spec(name, 3)]) == []
    assert len(admin.list_topics(name, WAIT_S).topics[name].partitions) == 3
    assert topics.ensure([progress_spec(name, 2)]) == []
    assert topics.problems([progress_spec(name, 2)]) == []
    assert len(admin.list_topics(name, WAIT_S).topics[name].partitions) == 3
    with pytest.raises(TopicError, match="has 3 partitions and needs 2"):
        topics.check([queue_spec(name, 2)])
