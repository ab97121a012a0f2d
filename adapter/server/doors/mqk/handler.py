"""What the frames of mqk clients mean: a hello is a claim, an operation goes through the gate.

It makes the connections' protocols and holds nothing of them: who is connected is known to
ClientConnections, and the gate decides who is let in. This module must not know how bytes become
frames.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from adapter.connection.wire import codec, frames
from adapter.connection.wire.heartbeats import agreed_ms
from adapter.connection.wire.session import Incoming
from adapter.connection.wire.standby_frames import StandbyFrame
from adapter.core.contract.commands import Command, Request
from adapter.core.contract.parties import Principal
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from adapter.core.contract.traits import TRAITS, is_one_way
from adapter.server.access.claim import Claim
from adapter.server.doors.gate import ClientGate
from adapter.server.doors.mqk.connection import ClientConnection, FrameHandler
from adapter.server.listen.connections import ClientConnections
from adapter.server.standby.standbys import Standbys

Asked = Command | frames.ServerCommand | Refused
"""What an operation is decoded to."""


class MqkHandler(FrameHandler):
    """Handles the frames of every mqk client of one queue manager."""

    def __init__(
        self, connections: ClientConnections, gate: ClientGate, standbys: Standbys, kafka: str = ""
    ) -> None:
        """kafka: where clients are told that topics are."""
        self._connections = connections
        self._gate = gate
        self._standbys = standbys
        self._kafka = kafka

    def accept(self, principal: Principal | None = None) -> ClientConnection:
        """Make the protocol of a new connection, of a socket or of a client in this process.

        principal: who the client is; None: it says so itself, and may have to prove it.
        """
        number = self._connections.next_number()
        return ClientConnection(self._connections, self, number, principal)

    def welcome(self, client: ClientConnection, hello: frames.Hello) -> None:
        claim = Claim(
            user=hello.user,
            password=hello.password,
            token=hello.token,
            application=hello.application,
            channel=hello.channel,
        )
        self._gate.admit(client, claim, partial(self._admitted, client, hello))

    def _admitted(self, client: ClientConnection, hello: frames.Hello) -> None:
        welcome = frames.Welcome(
            version=frames.common_version(hello),
            queue_manager=self._connections.queue_manager,
            connection=client.number,
            kafka=self._kafka,
            heartbeat_ms=agreed_ms(hello.heartbeat_ms, self._connections.bounds.heartbeat_ms),
        )
        client.keep_alive(welcome.heartbeat_ms)
        client.write(codec.encode(welcome))
        client.let_in()

    def of_standby(self, client: ClientConnection, frame: StandbyFrame) -> None:
        self._connections.greeted(client)
        self._standbys.take(client, frame)

    def gone(self, client: ClientConnection) -> None:
        self._standbys.gone(client)

    def seen(self, client: ClientConnection, numbers: list[int]) -> None:
        term = self._connections.term
        if term is not None:
            term.acknowledge(client.number, numbers)

    def operation(self, client: ClientConnection, operation: Incoming) -> None:
        command = operation.command
        request, number = operation.request, operation.number
        trait = TRAITS.get(type(command))
        if not request and (number or trait is None or not is_one_way(command)):
            client.goodbye(_unanswerable(command))
        elif trait is None:
            self._answer(client, request, command)
        else:
            self._gate.request(client, Request(client.number, request, number, command), trait)

    def _answer(self, client: ClientConnection, request: int, command: Asked) -> None:
        """Answer what is no matter of core."""

        def answer(result: Done | Refused | frames.Figures) -> None:
            client.answer((request, result))

        def switched(found: dict[str, Any]) -> None:
            answer(frames.Figures(found))

        name = type(command).__name__
        refused: Refused | None = None
        if isinstance(command, Refused):
            refused = command
        elif isinstance(command, frames.RenewToken):
            self._gate.renew(client, command.token, answer)
        elif isinstance(command, frames.Stop):
            refused = self._gate.stop(
                client,
                name,
                partial(answer, Done()),
                immediate=command.immediate,
                hand_over=command.hand_over,
            )
        elif isinstance(command, frames.SwitchOwner):
            refused = self._gate.switch(client, name, command.to, switched)
        elif isinstance(command, frames.AskServer):
            figures = self._gate.figures(client, name)
            if isinstance(figures, Refused):
                refused = figures
            else:
                answer(frames.Figures(figures.by_name()))
        if refused is not None:
            answer(refused)


def _unanswerable(command: Asked) -> Refused:
    """Say why a connection ends at an operation whose refusal its client would not hear of."""
    if isinstance(command, Refused):
        return command
    text = f"{type(command).__name__} needs a request number, because it is answered"
    return Refused(Reason.MALFORMED_REQUEST, "", text)
