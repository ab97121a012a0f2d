"""The ledger contract, kept by the ledger on a real Kafka; and what only it can meet."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from adapter.localkafka import free_port
from adapter.storage.ledger.envelope import encode_change
from adapter.storage.ledger.kafka import KafkaLedger, KafkaLedgerReader
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.port import LedgerMismatch, LedgerUnavailable
from tests.contract.kafka_place import KafkaPlace
from tests.contract.ledger_contract import (
    WAIT_S,
    Heard,
    LedgerContract,
    new_owner,
    payloads_of,
    take,
    write_durably,
)
from tests.contract.ownership_contract import OwnershipContract
from tests.support.shared_kafka import AnyKafka


@pytest.fixture
def kafka_place(kafka: AnyKafka, unique_name: Callable[..., str]) -> Iterator[KafkaPlace]:
    place = KafkaPlace(kafka.bootstrap_servers, f"mq.{unique_name()}.ledger")
    yield place
    place.close()


class TestKafkaLedger(LedgerContract, OwnershipContract):
    @pytest.fixture
    def place(self, kafka_place: KafkaPlace) -> KafkaPlace:
        return kafka_place


def test_a_take_over_of_ours_that_lands_late_is_no_rival(kafka_place: KafkaPlace) -> None:
    """It replaces an owner that another attempt has replaced meanwhile."""
    ledger = kafka_place.ledger()
    take(ledger)
    late = encode_change(new_owner(), ledger.durable().owner, b"given up")
    heard = Heard(ledger)
    take(ledger)
    write_durably(ledger, heard, [b"one"])
    kafka_place.write(late)
    write_durably(ledger, heard, [b"two"])
    assert payloads_of(take(ledger)[1]) == [b"one", b"two"]


def test_an_unreachable_kafka() -> None:
    address = f"127.0.0.1:{free_port()}"
    settings = LedgerSettings(
        bootstrap_servers=address, topic="mq.NOBODY.ledger", read_timeout_s=0.5
    )
    with pytest.raises(LedgerUnavailable, match=f"mq.NOBODY.ledger on {address}.*try again") as one:
        take(KafkaLedger(settings))
    assert one.value.retriable
    with pytest.raises(LedgerUnavailable, match="try again"):
        KafkaLedgerReader(settings).read(0.1)


def test_a_topic_that_does_not_exist(kafka: AnyKafka) -> None:
    settings = LedgerSettings(bootstrap_servers=kafka.bootstrap_servers, topic="mq.NOWHERE.ledger")
    with pytest.raises(LedgerUnavailable, match=r"mq\.NOWHERE\.ledger does not exist") as caught:
        take(KafkaLedger(settings))
    assert not caught.value.retriable
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    assert "mq.NOWHERE.ledger" not in admin.list_topics(timeout=WAIT_S).topics


def test_a_topic_with_two_partitions(kafka: AnyKafka, unique_name: Callable[..., str]) -> None:
    name = unique_name()
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(WAIT_S)
    settings = LedgerSettings(bootstrap_servers=kafka.bootstrap_servers, topic=name)
    with pytest.raises(LedgerMismatch, match="2 partitions and a ledger has one"):
        take(KafkaLedger(settings))


def test_a_setting_that_the_client_does_not_know() -> None:
    settings = LedgerSettings(
        bootstrap_servers="127.0.0.1:1", topic="mq.NOBODY.ledger", client={"no.such.setting": 1}
    )
    with pytest.raises(LedgerUnavailable, match=r"no\.such\.setting") as caught:
        take(KafkaLedger(settings))
    assert not caught.value.retriable


def test_looking_takes_reports_and_they_are_told_to_nobody_else(kafka_place: KafkaPlace) -> None:
    ledger = kafka_place.ledger()
    heard = Heard(ledger)
    take(ledger)
    n = ledger.append(b"its report may come to the ledger's thread, which was polling")
    if not ledger.look(WAIT_S):
        heard.wait_durable(n)
    heard.durable.clear()
    for round_ in range(10):
        n = ledger.append(b"%d" % round_)
        assert ledger.look(WAIT_S)
        assert ledger.durable().n == n
    assert heard.durable == []


def test_a_doubt_is_told_although_the_owner_looks_for_reports(kafka_place: KafkaPlace) -> None:
    first, second = kafka_place.ledger(), kafka_place.ledger()
    heard = Heard(first)
    take(first)
    first.append(b"durable")
    heard.wait_durable(1)
    assert first.look(WAIT_S)
    take(second)
    first.append(b"void")
    assert not first.look(WAIT_S)
    assert "another owner took over" in heard.wait_doubt()
    assert heard.durable == [1]
