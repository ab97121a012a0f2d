"""A feed on a Kafka that allows little: its topic is enough, and without that it says so."""

from collections.abc import Sequence
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from adapter.core.attributes.feed import FeedAttributes
from adapter.core.contract.feeds import FeedStart
from adapter.feeds.kafka import KafkaFeedTopics
from adapter.feeds.port import FeedReading, SizedBatch
from adapter.feeds.readers import FeedReaders
from tests.support.backlog import until
from tests.support.feed_site import OthersTopic
from tests.support.locked_kafka import certificate, locked_kafka, options

TOPIC = "orders"


def test_a_feed_needs_the_right_to_read_its_topic_and_no_other(tmp_path: Path) -> None:
    key, trusted = certificate(tmp_path)
    broke: list[str] = []
    bodies: list[bytes] = []

    def deliver(found: Sequence[FeedStart | SizedBatch]) -> None:
        for one in found:
            if isinstance(one, SizedBatch):
                bodies.extend(each.message.body for each in one.batch.messages)

    with locked_kafka(key) as kafka:
        topic = OthersTopic(kafka.bootstrap_servers, TOPIC)
        topic.produce(b"a")
        topics = KafkaFeedTopics(kafka.proxied_bootstrap_servers, options("qm1", trusted))
        readers = FeedReaders("QM1", topics, broke.append)
        feed = FeedAttributes(topic=TOPIC, queue="Q")
        readers.read({"F": FeedReading("F", 1, feed, "EARLIEST", "", {})}, deliver)

        def state() -> tuple[str, str]:
            found = readers.figures("F", {})
            assert found is not None
            return found.state, found.why

        until(lambda: state()[0] == "retrying")
        assert state()[1] == (
            f"the queue manager may not read topic {TOPIC}: allow its user of Kafka to READ and "
            "DESCRIBE it"
        )
        allow(kafka.bootstrap_servers, AclOperation.READ)  # which includes DESCRIBE
        until(lambda: bodies == [b"a"])
        readers.show({"F": {0: 1}})  # which the group does not allow
        topic.produce(b"b")
        until(lambda: bodies == [b"a", b"b"])
        until(lambda: state() == ("running", ""))
        readers.stop()()
    assert not broke


def allow(servers: str, operation: AclOperation) -> None:
    """Let the user qm1 do something with the topic."""
    rule = AclBinding(
        ResourceType.TOPIC,
        TOPIC,
        ResourcePatternType.LITERAL,
        "User:qm1",
        "*",
        operation,
        AclPermissionType.ALLOW,
    )
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_acls([rule])[rule].result(20)
