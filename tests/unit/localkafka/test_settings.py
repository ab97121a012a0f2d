"""Broker settings: what a plan becomes in server.properties."""

from pathlib import Path

import pytest

from adapter.localkafka import settings
from adapter.localkafka.settings import BrokerPlan


def plan(number: int, **more: int) -> BrokerPlan:
    folder = Path(f"/data/broker-{number}")
    ports = {"port": 9000 + number, "controller_port": 9100 + number}
    return BrokerPlan(number=number, folder=folder, **(ports | more))


THREE = [plan(1), plan(2), plan(3)]


def test_one_broker_keeps_one_copy() -> None:
    found = settings.properties(plan(1), [plan(1)], {})
    assert found["default.replication.factor"] == "1"
    assert found["transaction.state.log.min.isr"] == "1"
    assert found["min.insync.replicas"] == "1"


def test_three_brokers_keep_three_copies_and_need_two() -> None:
    found = settings.properties(plan(2), THREE, {})
    assert found["offsets.topic.replication.factor"] == "3"
    assert found["transaction.state.log.replication.factor"] == "3"
    assert found["transaction.state.log.min.isr"] == "2"
    assert found["min.insync.replicas"] == "2"


def test_every_broker_names_all_controllers() -> None:
    voters = {settings.properties(one, THREE, {})["controller.quorum.voters"] for one in THREE}
    assert voters == {"1@127.0.0.1:9101,2@127.0.0.1:9102,3@127.0.0.1:9103"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("unclean.leader.election.enable", "false"),
        ("broker.session.timeout.ms", "2000"),
        ("broker.heartbeat.interval.ms", "300"),
        ("replica.lag.time.max.ms", "3000"),
        ("replica.socket.timeout.ms", "3000"),
        ("replica.fetch.wait.max.ms", "200"),
        ("group.initial.rebalance.delay.ms", "0"),
        ("log.retention.ms", "-1"),
        ("auto.create.topics.enable", "false"),
    ],
)
def test_the_settings_that_safety_and_failover_rest_on(key: str, value: str) -> None:
    assert settings.properties(plan(1), [plan(1)], {})[key] == value


def test_eight_mebibytes_fit_into_a_message() -> None:
    found = settings.properties(plan(1), [plan(1)], {})
    assert int(found["message.max.bytes"]) > 8 * 1024 * 1024
    assert found["replica.fetch.max.bytes"] == found["message.max.bytes"]


def test_without_a_proxy_there_is_no_second_listener() -> None:
    found = settings.listeners(plan(1))
    assert found["listeners"] == "PLAIN://127.0.0.1:9001,CONTROLLER://127.0.0.1:9101"
    assert found["advertised.listeners"] == "PLAIN://127.0.0.1:9001"


def test_the_second_listener_advertises_the_proxy_and_not_itself() -> None:
    found = settings.listeners(plan(1, proxied_port=9201, proxy_port=9301))
    assert "PROXIED://127.0.0.1:9201" in found["listeners"]
    assert "PROXIED://127.0.0.1:9301" in found["advertised.listeners"]
    assert "9201" not in found["advertised.listeners"]
    assert "PROXIED:PLAINTEXT" in found["listener.security.protocol.map"]


def test_what_the_caller_gives_wins() -> None:
    found = settings.properties(
        plan(1), [plan(1)], {"log.retention.ms": "5", "num.io.threads": "1"}
    )
    assert (found["log.retention.ms"], found["num.io.threads"]) == ("5", "1")


def test_clients_start_from_every_broker() -> None:
    assert settings.bootstrap_servers(THREE) == "127.0.0.1:9001,127.0.0.1:9002,127.0.0.1:9003"


def test_rendering_escapes_backslashes() -> None:
    assert settings.render({"b": "x\\y", "a": "1"}) == "a=1\nb=x\\\\y\n"


TOP = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("page", "written"),
    [
        ("docker/compose.yaml", 'KAFKA_{variable}: "{value}"'),
        ("examples/two-hosts/compose.yaml", 'KAFKA_{variable}: "{value}"'),
        ("docs/operations/kafka.md", "\n{key}={value}\n"),
        ("docs/operations/kafka.md", "\n      {key}: {value}\n"),
    ],
)
def test_users_meet_the_settings_of_a_fail_over_wherever_they_meet_kafka(
    page: str, written: str
) -> None:
    text = (TOP / page).read_text()
    for key, value in settings.FAILOVER.items():
        variable = key.replace(".", "_").upper()
        assert written.format(key=key, value=value, variable=variable) in text
