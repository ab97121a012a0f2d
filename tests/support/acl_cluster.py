"""A broker that allows nothing but its rights, and what reaches it as one of the roles."""

from __future__ import annotations

from pathlib import Path

from confluent_kafka import Consumer, TopicPartition

from adapter.host.settings.acls.table import QUEUE_MANAGER
from adapter.localkafka import LocalKafka
from adapter.registry import topic as registry_topic
from adapter.runtime.network.kafka import KafkaTransport
from adapter.server.services.kafka_wiring import KafkaSettings, Wired, wire
from tests.docs.acls import EXAMPLE
from tests.support.acl_site import USERS, WITHIN_S, AclSite
from tests.support.locked_kafka import options


class Cluster:
    """The broker, its rights, and what reaches it as one of the users."""

    def __init__(self, kafka: LocalKafka, trusted: Path) -> None:
        self.site = AclSite(kafka.bootstrap_servers)
        self.operator = kafka.bootstrap_servers
        self.servers = kafka.proxied_bootstrap_servers
        self._trusted = trusted
        self._registered = 0

    def options(self, role: str) -> dict[str, str]:
        return options(USERS.get(role, role), self._trusted)

    def client(self, role: str) -> dict[str, str]:
        return {"bootstrap.servers": self.servers, **self.options(role)}

    def wired(self, role: str = QUEUE_MANAGER) -> Wired:
        settings = KafkaSettings(bootstrap_servers=self.servers, options=self.options(role))
        return wire("QM1", settings)

    def transport(self, role: str) -> KafkaTransport:
        return KafkaTransport(self.servers, self.options(role))

    def bounds(self, topic: str) -> dict[int, tuple[int, int]]:
        """The first offset of each partition, and the one behind the last."""
        consumer = Consumer({"bootstrap.servers": self.operator, "group.id": "operator"})
        try:
            lanes = consumer.list_topics(topic, WITHIN_S).topics[topic].partitions
            return {
                lane: consumer.get_watermark_offsets(TopicPartition(topic, lane), WITHIN_S)
                for lane in lanes
            }
        finally:
            consumer.close()

    def open_inbound(self, topic: str) -> None:
        """Make an inbound topic, as its queue manager does when it hears of the sender."""
        KafkaTransport(self.operator).open(topic)

    def register(self, role: str) -> None:
        """Register a schema that is not there yet."""
        self._registered += 1
        registry = registry_topic.on_kafka(self.servers, EXAMPLE.schema_topic, self.options(role))
        try:
            registry.register(f"subject {self._registered}", '"string"')
        finally:
            registry.close()
