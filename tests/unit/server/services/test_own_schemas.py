"""A queue manager registers its own schemas while it serves, and serves without."""

from __future__ import annotations

import threading
from typing import Any

from structlog.testing import capture_logs

from adapter.errors import RegistryNotAvailable
from adapter.registry import own, topic
from adapter.registry.http import RegistryServer
from adapter.registry.log import MemorySchemaLog
from adapter.registry.rest import RestRegistry
from adapter.registry.topic import TopicRegistry
from adapter.server.services.kafka_wiring import KafkaSettings
from adapter.server.services.own_schemas import OwnSchemas

WAIT_S = 20.0


class Away(TopicRegistry):
    """Cannot be reached the first times it is asked."""

    def __init__(self, times: int) -> None:
        super().__init__(MemorySchemaLog())
        self.left = times
        self.done = threading.Event()

    def subjects(self) -> list[str]:
        if self.left:
            self.left -= 1
            raise RegistryNotAvailable("away")
        return super().subjects()

    def register(self, subject: str, schema: str) -> int:
        found = super().register(subject, schema)
        if subject == own.own()[-1].subject:
            self.done.set()
        return found


def events(logs: list[Any]) -> list[str]:
    return [one["event"] for one in logs]


def test_schemas_are_registered_as_soon_as_the_registry_is_there() -> None:
    registry = Away(3)
    with capture_logs() as logs:
        ours = OwnSchemas("topic", registry, retry_s=0.01)
        ours.start()
        assert registry.done.wait(WAIT_S)
        ours.stop()
    assert events(logs).count("our schemas are not registered yet") == 3
    assert registry.subjects() == [one.subject for one in own.own()]


def test_a_stop_does_not_wait_for_a_registry_that_is_away() -> None:
    registry = Away(10**9)
    ours = OwnSchemas("topic", registry)
    ours.start()
    ours.stop()
    ours.stop()


def test_a_registry_that_refuses_is_not_asked_again() -> None:
    registry = topic.in_memory()
    registry.register("mqk.Event", '"int"')
    with capture_logs() as logs:
        ours = OwnSchemas("topic", registry)
        ours.start()
        assert ours._thread is not None
        ours._thread.join(WAIT_S)
    assert events(logs) == ["our schemas are not registered"]
    assert "incompatible" in logs[0]["reason"]


def test_a_registry_elsewhere_is_asked_over_http() -> None:
    registry = topic.in_memory()
    with RegistryServer(registry) as server:
        ours = OwnSchemas.of(server.start(port=0), "", KafkaSettings(bootstrap_servers=""))
        assert ours.embedded is None
        ours.start()
        assert ours._thread is not None
        ours._thread.join(WAIT_S)
    assert registry.subjects() == [one.subject for one in own.own()]


def test_without_a_registry_nothing_is_done() -> None:
    ours = OwnSchemas.of("none", "", KafkaSettings(bootstrap_servers=""))
    ours.start()
    assert ours._thread is None
    assert ours.embedded is None
    ours.stop()


def test_others_may_ask_the_same_registry() -> None:
    registry = topic.in_memory()
    make = OwnSchemas("topic", registry).make_registry
    assert make is not None
    assert make() is registry
    assert OwnSchemas("none").make_registry is None
    make = OwnSchemas("http://127.0.0.1:1").make_registry
    assert make is not None
    found = make()
    assert isinstance(found, RestRegistry)
    assert found.url == "http://127.0.0.1:1"
    found.close()
