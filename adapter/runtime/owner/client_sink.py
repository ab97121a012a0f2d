"""The clients, as the owner sees them: a port."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

from adapter.core.contract.authorities import Denial
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused


class ClientSink:
    """Where replies go. Called on the owner's thread."""

    @abstractmethod
    def send(self, connection: int, replies: list[Reply]) -> None:
        """Give replies to one connection, in order."""

    @abstractmethod
    def close(self, connection: int, reason: Refused | None) -> None:
        """End one connection."""

    @abstractmethod
    def denied(self, denials: Sequence[Denial]) -> None:
        """Note for the audit which authorities clients lacked."""

    def serve_commands(self) -> None:
        """See that the command queue is served, where there is what serves it: messages wait."""

    @abstractmethod
    def close_all(self, reason: Refused) -> None:
        """End every connection; none of them is reported to the owner again."""
