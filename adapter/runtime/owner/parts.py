"""What an owner is made of, and its settings: data, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from adapter.core.contract.limits import Limits
from adapter.core.contract.topic_names import SCHEMAS
from adapter.core.inputs import Configured
from adapter.runtime.owner.calls import Moves, OwnerCalls
from adapter.runtime.owner.client_sink import ClientSink
from adapter.runtime.owner.clock import Clock
from adapter.runtime.owner.failed_steps import FailedSteps
from adapter.runtime.owner.storage import Storage
from adapter.storage.ledger.port import Ledger

HEARTBEAT_S = 5.0
"""An idle owner writes a sign of life this often."""
DRAIN_S = 2.5
"""How long a stop waits for the last entries to become durable, and for a snapshot."""


class OwnerSettings(Struct, frozen=True, kw_only=True):
    """attributes: those that the queue manager is given whenever it takes over. drain_s: see
    DRAIN_S. checks_authorities: whether authority records count. audits: take-overs are on
    record. registry_topic: of the schema registry. groups: says in which groups users are, beside
    those that the operating system says.
    """

    limits: Limits | None = None
    heartbeat_s: float = HEARTBEAT_S
    attributes: Mapping[str, Any] = {}
    drain_s: float = DRAIN_S
    checks_authorities: bool = False
    registry_topic: str = SCHEMAS
    audits: bool = False
    groups: Callable[[], Mapping[str, tuple[str, ...]]] = dict

    def as_input(self) -> Configured:
        """Return what a core is given of it when a term begins."""
        given = dict(self.attributes)
        return Configured(given, self.checks_authorities, self.registry_topic)


class TermParts(Struct, kw_only=True):
    """What every term of one queue manager is made of.

    serves: whether requests are served now.
    """

    ledger: Ledger
    clock: Clock
    clients: ClientSink
    storage: Storage | None
    calls: OwnerCalls
    serves: Callable[[], bool]
    moves: Moves
    failures: FailedSteps
