"""A ledger topic on a real Kafka, for the contract suite and the tests of faults."""

from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from adapter.storage.ledger.kafka import KafkaLedger, KafkaLedgerReader
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.port import RECORD_BYTES_MAX, Ledger, LedgerReader, Position
from adapter.storage.topics.admin import TopicAdmin
from adapter.storage.topics.specs import TopicSettings, ledger_spec
from tests.support.topic_settings import configure

WAIT_S = 20.0
SHORTEST_BATCH = 60


class KafkaPlace:
    """One ledger topic; what it hands out is closed by close()."""

    def __init__(self, bootstrap_servers: str, topic: str, **settings: Any) -> None:
        self.settings = LedgerSettings(
            bootstrap_servers=bootstrap_servers, topic=topic, read_timeout_s=WAIT_S, **settings
        )
        self._topics = TopicAdmin(bootstrap_servers, TopicSettings.for_brokers(1))
        self._topics.ensure([ledger_spec(topic)])
        self._closers: list[Callable[[], None]] = []
        self._producer: Producer | None = None

    def ledger(self, **settings: Any) -> Ledger:
        """A new ledger; settings differ from the place's (a proxy's address, timeouts)."""
        ledger = KafkaLedger(self._with(settings))
        self._closers.append(ledger.close)
        return ledger

    def reader(self, position: Position | None = None) -> LedgerReader:
        reader = KafkaLedgerReader(self.settings, position)
        self._closers.append(reader.close)
        return reader

    def write(self, value: bytes) -> int:
        """As any other program would."""
        if self._producer is None:
            self._producer = Producer(
                {"bootstrap.servers": self.settings.bootstrap_servers, "linger.ms": 0}
            )
        offsets: list[int | None] = []
        self._producer.produce(
            self.settings.topic,
            value,
            partition=0,
            on_delivery=lambda _error, message: offsets.append(message.offset()),
        )
        self._producer.flush(WAIT_S)
        assert offsets[0] is not None
        return offsets[0]

    def trim(self, before: int) -> None:
        admin = AdminClient({"bootstrap.servers": self.settings.bootstrap_servers})
        where = TopicPartition(self.settings.topic, 0, before)
        admin.delete_records([where])[where].result(WAIT_S)

    def recreate(self) -> None:
        self._topics.delete([self.settings.topic])
        self._topics.ensure([ledger_spec(self.settings.topic)])

    def refuse_writes(self, *, refused: bool) -> None:
        """No batch of records is as short."""
        limit = SHORTEST_BATCH if refused else RECORD_BYTES_MAX
        name = "max.message.bytes"
        configure(self.settings.bootstrap_servers, self.settings.topic, {name: str(limit)})

    def close(self) -> None:
        for close in self._closers:
            close()

    def _with(self, changes: Mapping[str, Any]) -> LedgerSettings:
        fields = {name: getattr(self.settings, name) for name in LedgerSettings.__struct_fields__}
        return LedgerSettings(**{**fields, **changes})
