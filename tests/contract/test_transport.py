"""The transports between queue managers: the contract, and what a Kafka alone can do."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Producer

from adapter.runtime.network.kafka import KafkaTransport
from adapter.runtime.network.memory import MemoryNetwork
from adapter.runtime.network.port import NetworkError, Transport
from adapter.storage.topics.admin import admin_client
from adapter.storage.topics.specs import TopicSettings
from tests.contract.transport_contract import TransportContract, records
from tests.support.backlog import until
from tests.support.shared_kafka import AnyKafka


class TestMemoryNetwork(TransportContract):
    @pytest.fixture
    def transport(self) -> MemoryNetwork:
        return MemoryNetwork()

    @pytest.fixture
    def topic(self) -> str:
        return "mq.QMB.in.QMA"

    @pytest.fixture
    def delete(self, transport: MemoryNetwork) -> Callable[[str], None]:
        return transport.delete

    def test_nothing_answers_while_it_is_away(self, transport: MemoryNetwork, topic: str) -> None:
        transport.open(topic)
        follower = transport.follower()
        follower.follow(topic, 0)
        transport.is_away = True
        for call in (
            lambda: self.send(transport, topic, b"a"),
            lambda: transport.open(topic),
            lambda: transport.identities([topic]),
            lambda: follower.read(0.0),
        ):
            with pytest.raises(NetworkError):
                call()
        transport.is_away = False
        self.send(transport, topic, b"a")
        assert [one.value for one in records(follower, 1)] == [b"a"]


class TestKafkaTransport(TransportContract):
    @pytest.fixture
    def transport(self, kafka: AnyKafka) -> Iterator[KafkaTransport]:
        one = KafkaTransport(kafka.bootstrap_servers)
        yield one
        one.close()

    @pytest.fixture
    def topic(self, unique_name: Callable[..., str]) -> str:
        return f"mq.{unique_name('QM')}.in.QMA"

    @pytest.fixture
    def delete(self, kafka: AnyKafka) -> Callable[[str], None]:
        """The broker knows when this returns: Kafka answers before."""

        def delete(topic: str) -> None:
            admin = admin_client(kafka.bootstrap_servers, None)
            for deleted in admin.delete_topics([topic]).values():
                deleted.result(10)
            until(lambda: topic not in admin.list_topics(timeout=10).topics)

        return delete

    def test_a_transaction_that_has_not_ended_blocks_its_topic_alone(
        self, transport: Transport, topic: str, kafka: AnyKafka
    ) -> None:
        other = topic + ".other"
        follower = transport.follower()
        for name in (topic, other):
            transport.open(name)
            follower.follow(name, 0)
        foreign = Producer(
            {"bootstrap.servers": kafka.bootstrap_servers, "transactional.id": topic}
        )
        foreign.init_transactions(10)
        foreign.begin_transaction()
        foreign.produce(topic, b"in a transaction")
        foreign.flush(10)
        self.send(transport, topic, b"behind it")
        self.send(transport, other, b"beside it")
        assert [one.value for one in records(follower, 1)] == [b"beside it"]
        foreign.abort_transaction(10)
        assert [one.value for one in records(follower, 1)] == [b"behind it"]
        follower.close()

    def test_a_kafka_that_is_not_there_is_named(self) -> None:
        topics = TopicSettings(replication=1, min_insync_replicas=1, timeout_s=0.5)
        away = KafkaTransport("127.0.0.1:1", topics=topics)
        with pytest.raises(NetworkError, match=r"127\.0\.0\.1:1"):
            away.identities(["mq.QMB.in.QMA"])
