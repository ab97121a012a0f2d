"""adapter.localkafka.container on the image of docker/kafka."""

from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

import adapter.testing
from adapter.localkafka import LocalKafkaError
from adapter.localkafka.container import KafkaContainer
from tests.docker.conftest import TAG, await_health, body, published_on

Name = Callable[..., str]


def test_transactions_begin_commit_and_abort(broker: KafkaContainer, unique_name: Name) -> None:
    servers, topic = broker.bootstrap_servers, unique_name()
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer.init_transactions(30)
    for text, end in (
        (b"seen", producer.commit_transaction),
        (b"aborted", producer.abort_transaction),
        (b"seen too", producer.commit_transaction),
    ):
        producer.begin_transaction()
        producer.produce(topic, text)
        assert producer.flush(30) == 0
        end(30)
    reader = Consumer(
        {"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "earliest"}
    )
    reader.subscribe([topic])
    messages = [reader.poll(30), reader.poll(30)]
    reader.close()
    assert [message and message.value() for message in messages] == [b"seen", b"seen too"]


def test_a_queue_manager_runs_on_it(broker: KafkaContainer, unique_name: Name) -> None:
    name, servers = unique_name("QM"), broker.bootstrap_servers
    with adapter.testing.queue_manager(name, bootstrap_servers=servers) as manager:
        with manager.connect() as qm:
            qm.define_queue("Q")
            qm.put("Q", b"kept")
        manager.restart()
        with manager.connect() as qm:
            assert body(qm, "Q") == b"kept"


def test_it_is_healthy_and_published_on_loopback_only(broker: KafkaContainer) -> None:
    await_health(broker, "healthy")
    assert published_on(broker) == {"127.0.0.1"}
    assert broker.exec(["id", "-u"]).output.strip() != b"0"


def test_a_broker_that_does_not_start_says_why() -> None:
    wrong = KafkaContainer(f"mqk-kafka:{TAG}", settings={"process.roles": "nonsense"})
    with pytest.raises(LocalKafkaError, match=r"last words:[\s\S]*nonsense"):
        wrong.start()
