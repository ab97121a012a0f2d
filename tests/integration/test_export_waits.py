"""A message that its topic does not take waits, with what comes behind it, until the topic does."""

from collections.abc import Callable

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from adapter import testing
from tests.support.backlog import until
from tests.support.exported import values
from tests.support.feed_site import OthersTopic
from tests.support.shared_kafka import AnyKafka


@pytest.mark.parametrize("refused", ["WAIT", "DEADLETTER"])
def test_it_waits_until_the_topic_takes_it(
    kafka: AnyKafka, unique_name: Callable[..., str], refused: str
) -> None:
    """With REFUSED(DEADLETTER) where there is no dead-letter queue."""
    servers = kafka.bootstrap_servers
    topic = OthersTopic(servers, unique_name("results")).name
    limit(servers, topic, 2_000)
    long = bytes(5_000)
    with (
        testing.queue_manager(unique_name("QM"), bootstrap_servers=servers) as manager,
        manager.connect() as qm,
    ):
        qm.define_queue("RESULTS", msg_delivery_sequence="FIFO")
        qm.define_object("export", "E", queue="RESULTS", topic=topic, refused=refused)
        qm.put("RESULTS", long)
        waits = f"waits: topic {topic} does not take it: Broker: Message size too large"
        until(lambda: waits in qm.figures()["exports"]["E"]["why"])
        why = qm.figures()["exports"]["E"]["why"]
        assert ("has no dead-letter queue" in why) == (refused == "DEADLETTER")
        qm.put("RESULTS", b"behind it")
        limit(servers, topic, 1_000_000)
        assert values(servers, topic, 2) == [long, b"behind it"]
        assert qm.figures()["exports"]["E"]["dead_letters"] == 0


def limit(servers: str, topic: str, length: int) -> None:
    """Let the records of a topic be so long, in bytes."""
    change = ConfigEntry(
        "max.message.bytes", str(length), incremental_operation=AlterConfigOpType.SET
    )
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    admin = AdminClient({"bootstrap.servers": servers})
    admin.incremental_alter_configs([resource])[resource].result(20)
