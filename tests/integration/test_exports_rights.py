"""An export of a queue manager that reaches Kafka with a password, and may write little there."""

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

import adapter
from adapter.localkafka import LocalKafka
from tests.support.backlog import until
from tests.support.export_site import ExportedTopic, await_export, await_why, put_all
from tests.support.locked_kafka import certificate, locked_kafka, options
from tests.support.server_process import ServerProcess

USER = "User:qm1"
LITERAL, PREFIXED = ResourcePatternType.LITERAL, ResourcePatternType.PREFIXED
TOPIC = ResourceType.TOPIC
OWN = (
    (TOPIC, "mq.", PREFIXED),
    (ResourceType.TRANSACTIONAL_ID, "mq.", PREFIXED),
    (ResourceType.GROUP, "mqk", PREFIXED),
    (ResourceType.BROKER, "kafka-cluster", LITERAL),
)
"""What a queue manager needs for itself."""


class Rights:
    """What the queue manager's user may do."""

    def __init__(self, servers: str) -> None:
        self._admin = AdminClient({"bootstrap.servers": servers})
        for kind, name, pattern in OWN:
            self.allow(kind, name, pattern, AclOperation.ALL)

    def allow(
        self, kind: ResourceType, name: str, pattern: ResourcePatternType, what: AclOperation
    ) -> None:
        rule = AclBinding(kind, name, pattern, USER, "*", what, AclPermissionType.ALLOW)
        self._admin.create_acls([rule])[rule].result(20)

    def withdraw(self, topic: str, what: AclOperation) -> None:
        rule = AclBindingFilter(TOPIC, topic, LITERAL, USER, "*", what, AclPermissionType.ALLOW)
        assert len(self._admin.delete_acls([rule])[rule].result(20)) == 1
        # The controller has answered. The broker itself follows it, and says what it goes by.
        until(lambda: not self._admin.describe_acls(rule).result(20))


@pytest.fixture
def kafka_and_options(tmp_path: Path) -> Iterator[tuple[LocalKafka, dict[str, str]]]:
    key, trusted = certificate(tmp_path)
    with locked_kafka(key) as kafka:
        yield kafka, options("qm1", trusted)


def test_an_export_needs_the_right_to_write_its_topic_and_says_so(
    kafka_and_options: tuple[LocalKafka, dict[str, str]], tmp_path: Path
) -> None:
    kafka, login = kafka_and_options
    rights = Rights(kafka.bootstrap_servers)
    results = ExportedTopic(kafka.bootstrap_servers, "results")
    others = ExportedTopic(kafka.bootstrap_servers, "others")
    for what in (AclOperation.WRITE, AclOperation.READ):
        rights.allow(TOPIC, "others", LITERAL, what)
    refused = (
        "the queue manager may not write topic results: allow its user of Kafka to WRITE, READ and "
        "DESCRIBE it"
    )
    servers = kafka.proxied_bootstrap_servers
    with ServerProcess("QM1", servers, tmp_path, options=login) as server:
        server.start()
        with adapter.connect(server.address) as qm:
            for queue, topic in (("RESULTS", "results"), ("OTHERS", "others")):
                qm.define_queue(queue, msg_delivery_sequence="FIFO")
                qm.define_object("export", topic, topic=topic, queue=queue)
            put_all(qm, "RESULTS", [b"1"])
            assert await_why(qm, "results", "may not") == refused
            for what in (AclOperation.WRITE, AclOperation.READ):  # which include DESCRIBE
                rights.allow(TOPIC, "results", LITERAL, what)
            assert results.values(1) == [b"1"]
            await_export(qm, "results", lambda one: one["why"] == "")
            rights.withdraw("results", AclOperation.WRITE)
            put_all(qm, "RESULTS", [b"2", b"3"])
            assert await_why(qm, "results", "may not") == refused
            put_all(qm, "OTHERS", [b"other"])
            assert others.values(1) == [b"other"]
            rights.allow(TOPIC, "results", LITERAL, AclOperation.WRITE)
            assert results.values(3) == [b"1", b"2", b"3"]
            await_export(qm, "results", lambda one: one["why"] == "")
