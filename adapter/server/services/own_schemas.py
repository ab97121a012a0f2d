"""The schemas of a queue manager's own topics, registered while it serves.

It serves without a registry as well: what goes wrong here is logged, and tried again if that may
help. It knows registries; it must not know what the schemas are for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing
from typing import Self

import structlog

from adapter.errors import InvalidOption, RegistryNotAvailable, SchemaError
from adapter.host import watched
from adapter.registry import own, topic
from adapter.registry.port import SchemaRegistry
from adapter.registry.rest import RestRegistry
from adapter.registry.topic import TopicRegistry
from adapter.server.process.parts import AcceptOwn, Part
from adapter.server.services.kafka_wiring import KafkaSettings

ON_TOPIC = "topic"
NO_REGISTRY = "none"
RETRY_S, RETRY_S_MAX = 1.0, 60.0

NOT_YET = "our schemas are not registered yet"
NOT_REGISTERED = "our schemas are not registered"

log = structlog.get_logger("mqk.registry")


class OwnSchemas:
    """Registers our schemas from a thread of its own.

    embedded: the queue manager's own registry, if that is the one. retry_s: the first pause before
    another attempt; later ones are longer.
    """

    def __init__(
        self, where: str, embedded: TopicRegistry | None = None, retry_s: float = RETRY_S
    ) -> None:
        self.embedded = embedded
        self._where = where
        self._retry_s = retry_s
        self._told = threading.Event()
        self.undone: dict[str, str] = {}
        """What is not done, and why: a new dict each time."""
        self._thread: threading.Thread | None = None

    @classmethod
    def of(cls, where: str, topic_name: str, kafka: KafkaSettings) -> Self:
        """where: "topic", "none", or a registry's URL."""
        if where != ON_TOPIC:
            return cls(where)
        embedded = topic.on_kafka(
            kafka.bootstrap_servers, topic_name, kafka.options, kafka.replication
        )
        return cls(where, embedded)

    @property
    def make_registry(self) -> Callable[[], SchemaRegistry] | None:
        """Makes the registry that others may ask; None without one."""
        if self._where == NO_REGISTRY:
            return None
        embedded = self.embedded
        return (lambda: embedded) if embedded is not None else lambda: RestRegistry(self._where)

    def start(self) -> None:
        """Begin."""
        if self._where != NO_REGISTRY:
            self._thread = watched.thread("own schemas", self._run, self._broke)

    def stop(self) -> None:
        """Register no more. A request that waits for Kafka is left: it ends with the process."""
        self._told.set()

    def _broke(self, what: str) -> None:
        """Go on without: nothing but readers of events needs the schemas at a registry."""
        self.undone = {NOT_REGISTERED: what}
        log.error(NOT_REGISTERED, reason=what)

    def _run(self) -> None:
        wait_s = self._retry_s
        while not self._told.is_set():
            try:
                written = self._register()
            except RegistryNotAvailable as error:
                self.undone = {NOT_YET: error.text}
                log.warning(NOT_YET, reason=error.text)
                self._told.wait(wait_s)
                wait_s = min(wait_s * 2, RETRY_S_MAX)
            except (SchemaError, InvalidOption) as error:
                self.undone = {NOT_REGISTERED: error.text}
                log.warning(NOT_REGISTERED, reason=error.text)
                return
            else:
                self.undone = {}
                log.info("our schemas are registered", new=written)
                return

    def _register(self) -> int:
        if self.embedded is not None:
            # Mostly nobody asks again: no connection is kept for that.
            with closing(self.embedded):
                return own.register_own(self.embedded)
        asked: SchemaRegistry
        with closing(RestRegistry(self._where)) as asked:
            return own.register_own(asked)


class SchemaService(Part):
    """Our schemas, as a part of the process: they are registered while it serves."""

    def __init__(self, schemas: OwnSchemas) -> None:
        self._schemas = schemas

    async def start(self, accept: AcceptOwn) -> None:  # noqa: ARG002 -- it is no client
        self._schemas.start()

    async def stop(self) -> None:
        self._schemas.stop()

    def undone(self) -> dict[str, str]:
        return self._schemas.undone
