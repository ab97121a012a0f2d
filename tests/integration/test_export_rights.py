"""An export on a Kafka that allows little: to write its topic is enough, beside what every queue
manager needs; and without that it says so.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from adapter.exports.kafka import KafkaExportTopics
from adapter.exports.port import ExportError, ExportWriter, TopicRefusedError
from adapter.format.exports import ExportedRecord, ExportProgress
from adapter.localkafka import LocalKafka
from adapter.movers.settings import KafkaCluster
from adapter.topics.admin import TopicSettings
from tests.support.exported import values
from tests.support.feed_site import OthersTopic
from tests.support.locked_kafka import certificate, locked_kafka, options

TOPIC = "results"
OWN = "mq.QM1."
OF_EVERY_QUEUE_MANAGER = [
    *(
        (ResourceType.TOPIC, OWN, operation)
        for operation in ("CREATE", "DESCRIBE", "DESCRIBE_CONFIGS", "WRITE", "READ")
    ),
    *((ResourceType.TRANSACTIONAL_ID, OWN, operation) for operation in ("WRITE", "DESCRIBE")),
    (ResourceType.GROUP, "mqk-", "DESCRIBE"),
]
INCLUDED = [
    (ResourceType.TOPIC, OWN, "DESCRIBE"),
    (ResourceType.TRANSACTIONAL_ID, OWN, "DESCRIBE"),
]
"""In the right to write."""
Right = tuple[ResourceType, str, str]


class Site:
    """A locked Kafka with a topic, and what the user qm1 may do."""

    def __init__(self, kafka: LocalKafka, trusted: Path) -> None:
        self.kafka = kafka
        self.topic = OthersTopic(kafka.bootstrap_servers, TOPIC)
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        cluster = KafkaCluster(kafka.proxied_bootstrap_servers, options("qm1", trusted))
        self._topics = KafkaExportTopics(
            cluster, TopicSettings(replication=1, min_insync_replicas=1)
        )
        self._written = ExportProgress()

    def allow(self, *rights: Right) -> None:
        """Let qm1 do this."""
        for done in self._admin.create_acls([_rule(*one) for one in rights]).values():
            done.result(20)

    def forbid(self, *rights: Right) -> None:
        """Let qm1 do this no more."""
        found = [
            AclBindingFilter(
                one.restype, one.name, one.resource_pattern_type, one.principal, one.host,
                one.operation, one.permission_type,
            )
            for one in (_rule(*right) for right in rights)
        ]  # fmt: skip
        for done in self._admin.delete_acls(found).values():
            assert len(done.result(20)) == 1

    def write(self, value: bytes) -> None:
        """Write a record by a new writer. Raises ExportError."""
        writer: ExportWriter = self._topics.writer("QM1", "E", TOPIC)
        try:
            self._written = writer.resume()
            record = ExportedRecord(value, None, [], 1)
            places = frozenset({(0, self._written.number + 1, 0)})
            writer.write([record], ExportProgress(self._written.number + 1, "Q", 0, places))
        finally:
            writer.close()


def _rule(kind: ResourceType, name: str, operation: str) -> AclBinding:
    pattern = ResourcePatternType.LITERAL if name == TOPIC else ResourcePatternType.PREFIXED
    may = AclPermissionType.ALLOW
    return AclBinding(kind, name, pattern, "User:qm1", "*", AclOperation[operation], may)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    key, trusted = certificate(tmp_path)
    with locked_kafka(key) as kafka:
        yield Site(kafka, trusted)


def test_an_export_needs_the_right_to_write_its_topic(site: Site) -> None:
    site.allow(*OF_EVERY_QUEUE_MANAGER)
    with pytest.raises(TopicRefusedError) as refused:
        site.write(b"not allowed")
    assert str(refused.value) == (
        f"the queue manager may not write topic {TOPIC}: allow its user of Kafka to WRITE and "
        "DESCRIBE it"
    )
    site.allow((ResourceType.TOPIC, TOPIC, "WRITE"))  # which includes DESCRIBE
    site.write(b"allowed")
    for right in OF_EVERY_QUEUE_MANAGER:
        if right in INCLUDED:
            continue
        site.forbid(right)
        with pytest.raises(ExportError) as failed:
            site.write(b"not allowed")
        assert "AUTHORIZATION_FAILED" in str(failed.value), right
        site.allow(right)
    site.forbid(*INCLUDED)
    site.write(b"allowed")
    assert values(site.kafka.bootstrap_servers, TOPIC, 2) == [b"allowed"] * 2


def test_it_reads_its_topic_where_a_transaction_is_open(site: Site) -> None:
    """To see whether that is one of its own."""
    site.allow(*OF_EVERY_QUEUE_MANAGER, (ResourceType.TOPIC, TOPIC, "WRITE"))
    other = site.topic.producer(**{"transactional.id": "other"})
    other.init_transactions(20)
    other.begin_transaction()
    other.produce(TOPIC, b"open")
    assert other.flush(20) == 0
    with pytest.raises(ExportError) as failed:
        site.write(b"not allowed")
    assert str(failed.value).startswith(f"reading {TOPIC}[0] failed: ")
    assert "TOPIC_AUTHORIZATION_FAILED" in str(failed.value)
    site.allow((ResourceType.TOPIC, TOPIC, "READ"))
    site.write(b"allowed")
    other.commit_transaction()
    assert values(site.kafka.bootstrap_servers, TOPIC, 2) == [b"open", b"allowed"]
