"""The clients, as the owner sees them: a port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from adapter.core.contract.authorities import Denial
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused


class ClientSink(Protocol):
    """Where replies go. Called on the owner's thread."""

    def send(self, connection: int, replies: list[Reply]) -> None:
        """Give replies to one connection, in order."""

    def close(self, connection: int, reason: Refused | None) -> None:
        """End one connection."""

    def denied(self, denials: Sequence[Denial]) -> None:
        """Note for the audit which authorities clients lacked."""

    def close_all(self, reason: Refused) -> None:
        """End every connection; none of them is reported to the owner again."""
