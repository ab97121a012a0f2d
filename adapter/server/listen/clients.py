"""The border between the server and the protocols of its clients.

A protocol makes the connections of its clients and gives them to ClientConnections, which knows
each as a ServedClient; what its clients ask of the server itself it asks of a ServerControl. This
module knows no protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from adapter.core.contract.parties import Party, Principal
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused
from adapter.host.addresses import Peer
from adapter.server.process.figures import ServerFigures


class ServedClient(Protocol):
    """A client's connection, whatever its protocol. party: who it is, once it is admitted."""

    number: int
    party: Party | None

    def reply(self, replies: list[Reply]) -> None:
        """Send the owner's replies, as soon as the client takes them."""

    def goodbye(self, reason: Refused) -> None:
        """Say why, and close once that and the replies before it are sent."""

    def part(self, reason: Refused) -> bool:
        """Say goodbye if nothing is under way and nothing was since this was called last.

        Returns whether something is under way that will come to its end.
        """

    def cut(self) -> None:
        """Break the connection without a word, replies and all."""

    def hold_back(self, held: bool) -> None:
        """Read nothing more, or go on."""

    def go_on(self) -> None:
        """Execute more of what waits: there is room again."""

    def beat(self) -> None:
        """Say something if the client hears nothing else; end the connection if it is dead."""

    def look(self, now_s: float) -> None:
        """End the connection if the client has left something half done for too long."""


class GatedClient(ServedClient, Protocol):
    """A client's connection, as a gate needs it. peer: where it connects from. principal: who the
    client is, if that is known before it says anything.
    """

    peer: Peer
    principal: Principal | None

    def end_in(self, left_s: float) -> None:
        """End the connection after this time, unless it is told a later end before."""


class ServerControl(Protocol):
    """What clients ask of the server, and not of the owner."""

    def tell_to_stop(self, immediate: bool = False, for_good: bool = False) -> None:
        """Begin the queue manager's end. for_good: no standby is to take over."""

    def switch_owner(self, to: str, answered: Callable[[dict[str, Any]], None]) -> None:
        """Hand the queue manager over to a standby; see ServerRoles.switch."""

    def need_commands(self) -> None:
        """See that the command queue is served."""

    def figures(self) -> ServerFigures:
        """Return what `mqk qmgr status` shows."""
