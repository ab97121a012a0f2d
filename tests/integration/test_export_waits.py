"""A message that its topic does not take waits, with what comes behind it, until the topic does."""

from collections.abc import Callable

import pytest

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
    place = OthersTopic(servers, unique_name("results"))
    topic = place.name
    place.set(max_message_bytes="2000")
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
        place.set(max_message_bytes="1000000")
        assert values(servers, topic, 2) == [long, b"behind it"]
        assert qm.figures()["exports"]["E"]["dead_letters"] == 0
