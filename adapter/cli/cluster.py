"""What `mqk doctor` finds out about a Kafka: is it there, and can its settings lose messages.

It only asks; nothing is created or changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its __all__
    AdminClient,
    ConfigResource,
    ResourceType,
)
from msgspec import Struct

from adapter.localkafka.settings import FAILOVER
from adapter.storage.format import names
from adapter.storage.ledger.failures import describe, error_of
from adapter.storage.ledger.kafka_settings import LOG, LastRefusal

COMPLETE = (".ledger", ".snapshots", ".events")
"""Ends of the names of topics that are never compacted; queues' topics have more to their names."""
ASK_TIMEOUT_S = 15.0
ONE_BROKER = "single broker, no redundancy: use three in production"
TOPICS_MAX = 500
"""Topics whose settings are asked for at once."""


class NotReachedError(Exception):
    """Kafka did not answer; the text says which and why."""


class ExaminedTopic(Struct):
    """A topic of mqk's. replicas: of the partition that has the fewest."""

    name: str
    replicas: int
    settings: dict[str, str]


class Cluster(Struct):
    """What was found. settings: of one broker; they are meant to be the same on all. None without
    the right to read them.
    """

    brokers: int
    settings: dict[str, str] | None
    topics: list[ExaminedTopic]


def topics(servers: str, client: Mapping[str, Any], beginning: str = "") -> list[str]:
    """List the topics whose names begin like this; NotReachedError if Kafka does not answer."""
    with _asking(servers, client) as admin:
        found = admin.list_topics(timeout=ASK_TIMEOUT_S).topics
    return [name for name in sorted(found) if name.startswith(beginning)]


def examine(servers: str, client: Mapping[str, Any]) -> Cluster:
    """Ask a Kafka; NotReachedError if it does not answer."""
    with _asking(servers, client) as admin:
        found = admin.list_topics(timeout=ASK_TIMEOUT_S)
        ours = [name for name in sorted(found.topics) if name.startswith(f"{names.PREFIX}.")]
        broker = ConfigResource(ResourceType.BROKER, str(min(found.brokers)))
        settings = _of_broker(admin, broker)
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in ours[:TOPICS_MAX]]
        of_topics = _describe(admin, resources) if resources else {}
    examined = [
        ExaminedTopic(name, _replicas(found.topics[name].partitions.values()), of_topics[name])
        for name in of_topics
    ]
    return Cluster(len(found.brokers), settings, examined)


@contextmanager
def _asking(servers: str, client: Mapping[str, Any]) -> Iterator[AdminClient]:
    """Have a client for questions; NotReachedError in place of what Kafka raises."""
    refusal = LastRefusal()
    try:
        settings: dict[str, Any] = {**client, "bootstrap.servers": servers, "error_cb": refusal}
        with AdminClient(settings, logger=LOG) as admin:
            try:
                yield admin
            except KafkaException:
                admin.poll(0)
                raise
    except KafkaException as problem:
        reason = refusal.text or describe(error_of(problem))
        raise NotReachedError(f"Kafka at {servers} did not answer: {reason}") from problem


def _describe(admin: AdminClient, resources: list[Any]) -> dict[str, dict[str, str]]:
    asked = admin.describe_configs(resources, request_timeout=ASK_TIMEOUT_S)
    return {
        resource.name: {e.name: str(e.value) for e in future.result(ASK_TIMEOUT_S).values()}
        for resource, future in asked.items()
    }


def _of_broker(admin: AdminClient, broker: Any) -> dict[str, str] | None:
    """Read a broker's settings; None if that is not allowed, which the documented rights do not."""
    try:
        return _describe(admin, [broker])[broker.name]
    except KafkaException as problem:
        if error_of(problem).code() != KafkaError.CLUSTER_AUTHORIZATION_FAILED:
            raise
        return None


def _replicas(partitions: Iterable[Any]) -> int:
    return min((len(partition.replicas) for partition in partitions), default=0)


def dangers(cluster: Cluster) -> list[str]:
    """Say which settings can lose messages that were acknowledged; pure."""
    found = [ONE_BROKER] if cluster.brokers == 1 else []
    if cluster.settings is not None:
        found += _broker_dangers(cluster.settings, cluster.brokers)
    for topic in cluster.topics:
        found += _topic_dangers(topic, cluster.brokers)
    return found


def stall(cluster: Cluster) -> str:
    """Say which settings make commits wait too long when a broker fails; "" if none do; pure."""
    found = cluster.settings
    if found is None or cluster.brokers == 1:
        return ""
    slow = [key for key, value in FAILOVER.items() if _number(found, key) > int(value)]
    if not slow:
        return ""
    session_s, lag_s = (
        _number(found, key) / 1000
        for key in ("broker.session.timeout.ms", "replica.lag.time.max.ms")
    )
    have = ", ".join(f"{key}={found[key]}" for key in slow)
    wanted = ", ".join(f"{key}={FAILOVER[key]}" for key in slow)
    return (
        f"when a broker dies, commits wait for about {session_s:g} s, and for up to {lag_s:g} s if "
        f"one runs and does not follow ({have}): in the file of every broker and controller set "
        f"{wanted}, and restart them one after the other"
    )


def _broker_dangers(settings: Mapping[str, str], brokers: int) -> list[str]:
    found = []
    if _number(settings, "default.replication.factor") < min(brokers, 2):
        found.append(
            "default.replication.factor=1: topics created without a number have one replica"
        )
    if settings.get("unclean.leader.election.enable") == "true":
        found.append(
            "unclean.leader.election.enable=true on the brokers: a replica that lags may become "
            "the leader, and the records it lacks are lost; set it to false"
        )
    return found


def _topic_dangers(topic: ExaminedTopic, brokers: int) -> list[str]:
    found = []
    in_sync = _number(topic.settings, "min.insync.replicas")
    if brokers > 1 and topic.replicas < 2:
        found.append(f"{topic.name} has one replica on {brokers} brokers; reassign it to three")
    elif brokers > 1 and in_sync < 2:
        found.append(
            f"{topic.name} has min.insync.replicas=1: one replica acknowledges; set it to 2"
        )
    if topic.settings.get("unclean.leader.election.enable") == "true":
        found.append(f"{topic.name} has unclean.leader.election.enable=true; set it to false")
    if topic.name.endswith(COMPLETE) and "compact" in topic.settings.get("cleanup.policy", ""):
        found.append(
            f"{topic.name} has cleanup.policy={topic.settings['cleanup.policy']}: Kafka removes "
            "records from between the others; set it to delete"
        )
    if "delete" in topic.settings.get("cleanup.policy", "") and not topic.name.endswith(".events"):
        kept = {key: topic.settings.get(key, "-1") for key in ("retention.ms", "retention.bytes")}
        found += [
            f"{topic.name} has {key}={value}: messages are deleted by age or size; set it to -1"
            for key, value in kept.items()
            if value != "-1"
        ]
    return found


def _number(settings: Mapping[str, str], key: str) -> int:
    value = settings.get(key, "")
    return int(value) if value.isdecimal() else 1
