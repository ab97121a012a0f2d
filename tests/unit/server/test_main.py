"""What settings mean for a server."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from adapter.core.contract.limits import Limits
from adapter.host.logs import LogSettings
from adapter.host.settings.config import load
from adapter.host.settings.setting_rows import SETTINGS
from adapter.server import main
from adapter.server.listen.bounds import ConnectionBounds
from adapter.server.main import settings_of
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.settings import ServerSettings
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.topics.specs import TopicSettings


def test_a_line_that_nobody_reads_is_no_failure() -> None:
    """A standby says that it serves, long after the program has gone that started it."""
    program = (
        "import sys; from adapter.server.main import write_line;"
        "write_line(sys.stdout, 'one'); sys.stdin.read(); write_line(sys.stdout, 'two')"
    )
    started = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert started.stdin is not None
    assert started.stdout is not None
    assert started.stdout.readline() == b"one\n"
    started.stdout.close()
    started.stdin.close()
    assert started.wait(60.0) == 0


def test_a_setting_says_that_a_process_stands_by() -> None:
    made = settings_of(load(NEEDED | {"standby": "yes", "standby_priority": 7}, {}))
    assert made.standby
    assert made.standby_priority == 7
    assert settings_of(load(NEEDED, {"MQK_STANDBY": "yes"})).standby


NEEDED = {"queue_manager": "QM1", "kafka.bootstrap_servers": "k:1"}


def test_defaults_are_those_of_the_parts() -> None:
    """So that nothing has two defaults."""
    made = settings_of(load(NEEDED, {}))
    wanted = ServerSettings(
        queue_manager="QM1",
        kafka=KafkaSettings(bootstrap_servers="k:1"),
        unix_path="auto",
        http_port=9414,
        http_if_free=True,
        limits=Limits(statistics_interval_s=60),
        registry="topic",
    )
    assert made == wanted
    topics = TopicSettings(replication=1, min_insync_replicas=1)
    assert SETTINGS["kafka.events_retention_ms"].default == topics.events_retention_ms
    movers = MoverSettings(
        queue_manager="Q",
        source=KafkaCluster("k:1"),
        destination=KafkaCluster("k:1"),
        topics=topics,
    )
    assert SETTINGS["mover_interval_ms"].default == movers.interval_ms


CHOICES = {
    "listen_unix": "/run/QM1",
    "listen_unix_mode": "660",
    "depth_trigger_disables": "yes",
    "every_triggers_on_backout": "no",
    "dead_letter_queue": "DLQ",
    "credentials_file": "users",
    "authorities": "yes",
    "audit": "no",
    "network": "no",
    "schema_registry": "http://127.0.0.1:8081/x",
    "schema_topic": "other",
}


LOGS = {"log_level": "debug", "log_format": "json"}


def test_every_setting_gets_where_it_is_used() -> None:
    numbers = {
        key: str(one.bounds[0] + 1000 + at)
        for at, (key, one) in enumerate(SETTINGS.items())
        if one.bounds and one.bounds[1] > 2000
    }
    flags = {
        **NEEDED,
        **numbers,
        "listen": "[::1]:7",
        **LOGS,
        "kafka.replication": "5",
        "kafka.min_insync_replicas": "4",
        **CHOICES,
    }
    made = settings_of(load(flags, {}, None, {"-X": {"security.protocol": "SSL"}}))
    wanted = {key: int(value) for key, value in numbers.items()}
    assert made == ServerSettings(
        queue_manager="QM1",
        kafka=KafkaSettings(
            bootstrap_servers="k:1",
            options={"security.protocol": "SSL"},
            replication=5,
            min_insync_replicas=4,
            consumed_retention_ms=wanted.pop("kafka.consumed_retention_ms"),
            events_retention_ms=wanted.pop("kafka.events_retention_ms"),
            mover_interval_ms=wanted.pop("mover_interval_ms"),
        ),
        host="::1",
        port=7,
        unix_path="/run/QM1",
        unix_mode=0o660,
        http_port=wanted.pop("http_port"),
        quiesce_ms=wanted.pop("quiesce_ms"),
        heartbeat_ms=wanted.pop("heartbeat_ms"),
        bounds=ConnectionBounds(heartbeat_ms=wanted.pop("client_heartbeat_ms")),
        log=LogSettings(level="debug", format="json"),
        limits=Limits(
            unit_messages=wanted.pop("max_uncommitted_messages"),
            handles_per_connection=wanted.pop("max_handles"),
            queues=wanted.pop("max_queues"),
            sessions=wanted.pop("max_sessions"),
            session_expiry_ms=wanted.pop("session_expiry_ms"),
            uncopied_bytes=wanted.pop("uncopied_bytes"),
            statistics_interval_s=wanted["statistics_interval_s"],
        ),
        attributes={
            "statistics_interval_s": wanted.pop("statistics_interval_s"),
            "trigger_interval_ms": wanted.pop("trigger_interval_ms"),
            "dead_letter_queue": "DLQ",
            "depth_trigger_disables": True,
            "every_triggers_on_backout": False,
        },
        credentials_file="users",
        authorities=True,
        registry="http://127.0.0.1:8081/x",
        registry_topic="other",
        network=False,
    )
    assert not wanted


@pytest.mark.parametrize(
    ("audit", "authorities", "is_on"),
    [
        ("with_authorities", "yes", True), ("with_authorities", "no", False),
        ("yes", "no", True), ("no", "yes", False), ("no", "no", False),
    ],
)  # fmt: skip
def test_the_audit_is_on_record_with_authorities_unless_it_is_said(
    audit: str, authorities: str, is_on: bool
) -> None:
    made = settings_of(load({**NEEDED, "audit": audit, "authorities": authorities}, {}))
    assert (made.audit, made.authorities) == (is_on, authorities == "yes")


def test_the_address_for_monitoring_may_be_any() -> None:
    made = settings_of(load({**NEEDED, "http_listen": "0.0.0.0"}, {}))
    assert (made.http_host, made.http_port, made.http_if_free) == ("0.0.0.0", 9414, False)
    made = settings_of(load({**NEEDED, "http_listen": "[::]:80"}, {}))
    assert (made.http_host, made.http_port) == ("::", 80)
    none = settings_of(load({**NEEDED, "http_port": "0"}, {}))
    assert (none.http_port, none.http_if_free) == (0, False)


def test_the_registry_may_have_an_address_of_its_own() -> None:
    made = settings_of(load({**NEEDED, "registry_listen": "[::1]"}, {}))
    assert (made.registry_host, made.registry_port) == ("::1", 8081)
    made = settings_of(load(NEEDED, {}))
    assert (made.registry_host, made.registry_port) == ("", 0)


def test_a_start_that_waits_for_kafka_ends_soon_after_a_signal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before there is a server that could be told: its calls to Kafka may take half a minute."""
    left: list[str] = []

    async def starting() -> None:
        ended = asyncio.Event()

        def leave(failure: str) -> None:
            left.append(failure)
            ended.set()

        monkeypatch.setattr(main, "leave", leave)
        monkeypatch.setattr(main, "START_GRACE_S", 0.01)
        signals = main.StopSignals("QM1")
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(ended.wait(), 20)
        assert signals.came

    asyncio.run(starting())
    (failure,) = left
    assert failure.startswith("queue manager QM1 was told to stop while it started, and Kafka has")
