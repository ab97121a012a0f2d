"""How a broker in a container is told its settings; the container itself: tests/docker."""

import pytest

from adapter.localkafka.container import environment, variable


@pytest.mark.parametrize(
    ("setting", "name"),
    [
        ("log.dirs", "KAFKA_LOG_DIRS"),
        ("a_b", "KAFKA_A__B"),
        ("a-b.c", "KAFKA_A___B_C"),
    ],
)
def test_a_setting_has_a_variable(setting: str, name: str) -> None:
    assert variable(setting) == name


def test_one_broker_can_keep_transactions_and_settings_win() -> None:
    told = environment({"log.dirs": "/elsewhere"})
    assert told["KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR"] == "1"
    assert told["KAFKA_TRANSACTION_STATE_LOG_MIN_ISR"] == "1"
    assert told["KAFKA_LOG_DIRS"] == "/elsewhere"


def test_what_the_broker_says_to_itself_stays_in_the_container() -> None:
    told = environment({})
    assert told["KAFKA_INTER_BROKER_LISTENER_NAME"] == "INSIDE"
    assert "KAFKA_ADVERTISED_LISTENERS" not in told, "it is told when Docker has chosen the port"


def test_clusters_are_different_ones() -> None:
    assert environment({})["CLUSTER_ID"] != environment({})["CLUSTER_ID"]
