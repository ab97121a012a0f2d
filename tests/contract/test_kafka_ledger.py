"""The ledger contract, kept by the ledger on a real Kafka."""

from collections.abc import Callable, Iterator

import pytest

from adapter.localkafka import LocalKafka
from tests.contract.kafka_place import KafkaPlace
from tests.contract.ledger_contract import LedgerContract


class TestKafkaLedger(LedgerContract):
    @pytest.fixture
    def place(self, kafka: LocalKafka, unique_name: Callable[..., str]) -> Iterator[KafkaPlace]:
        place = KafkaPlace(kafka.bootstrap_servers, f"mq.{unique_name()}.ledger")
        yield place
        place.close()
