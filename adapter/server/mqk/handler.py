"""What the frames of mqk clients mean: a hello is admitted, an operation goes to the owner.

It makes the connections' protocols and holds nothing of them; who is connected is known to
ClientConnections. This module must not know how bytes become frames.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import structlog
from msgspec.structs import replace

from adapter import addresses
from adapter.core.contract.authorities import CONTROL, DISPLAY
from adapter.core.contract.commands import OUTPUT, Command, Open, Request
from adapter.core.contract.parties import ORIGIN_LENGTH_MAX, Party, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from adapter.core.contract.traits import TRAITS, is_one_way
from adapter.owner.clock import Clock
from adapter.owner.term import OwnerTerm
from adapter.server.admission import Admission
from adapter.server.audit import DONE, AuditTrail, by
from adapter.server.clients import ServerControl
from adapter.server.commands import COMMAND_QUEUE
from adapter.server.connections import ClientConnections
from adapter.server.mqk.connection import ClientConnection, FrameHandler
from adapter.server.standbys import Standbys
from adapter.server.tls import names_of
from adapter.wire import codec, frames
from adapter.wire.heartbeats import agreed_ms
from adapter.wire.session import Incoming
from adapter.wire.standby_frames import StandbyFrame

Asked = Command | frames.ServerCommand | Refused
"""What an operation is decoded to."""

log = structlog.get_logger("mqk.listener")


class MqkHandler(FrameHandler):
    """Handles the frames of every mqk client of one queue manager."""

    def __init__(
        self,
        connections: ClientConnections,
        admission: Admission,
        audit: AuditTrail,
        clock: Clock,
        control: ServerControl,
        standbys: Standbys,
        kafka: str = "",
    ) -> None:
        """control: what clients ask of the server. kafka: where they are told that topics are."""
        self._standbys = standbys
        self._connections = connections
        self._admission = admission
        self._audit = audit
        self._clock = clock
        self._control = control
        self._kafka = kafka

    def accept(self, principal: Principal | None = None) -> ClientConnection:
        """Make the protocol of a new connection, of a socket or of a client in this process.

        principal: who the client is; None: it says so itself, and may have to prove it.
        """
        number = self._connections.next_number()
        return ClientConnection(self._connections, self, number, principal)

    def welcome(self, client: ClientConnection, hello: frames.Hello) -> None:
        self._connections.greeted(client)
        if not self._connections.held.hold(client, partial(self._admit, client, hello)):
            self._admit(client, hello)

    def _admit(self, client: ClientConnection, hello: frames.Hello) -> None:
        """Admit a client, or say why not."""

        def decided(principal: Principal | Refused) -> None:
            if isinstance(principal, Refused):
                where, what = client.peer.address, hello.application[:ORIGIN_LENGTH_MAX]
                self._audit.not_authenticated(hello.user, where, what, principal)
                client.goodbye(principal)
            elif self._connections.is_open(client):
                self._let_in(client, hello, principal)

        if len(hello.user) > ORIGIN_LENGTH_MAX:
            text = f"a user has {ORIGIN_LENGTH_MAX} characters at most"
            client.goodbye(Refused(Reason.NOT_AUTHORIZED, hello.user[:ORIGIN_LENGTH_MAX], text))
            return
        if client.principal is not None:
            decided(client.principal)
            return
        term = self._connections.term
        peer = client.peer
        self._admission.ask(
            term.inquiries.password_check if term is not None else "",
            hello,
            decided,
            peer=peer,
            remote=_is_remote(client),
            wanted=lambda: self._connections.is_open(client),
        )

    def _let_in(self, client: ClientConnection, hello: frames.Hello, principal: Principal) -> None:
        why_not = self._why_not_by(hello.channel, client.peer)
        if why_not:
            log.warning("client refused", user=principal.user, reason=why_not)
            client.goodbye(Refused(Reason.NOT_AUTHORIZED, hello.channel, why_not))
            return
        now_ms = self._clock.now_ms()
        application = hello.application[:ORIGIN_LENGTH_MAX]
        peer = client.peer
        subject, issuer = (names_of(peer.certificate, one) for one in ("subject", "issuer"))
        party = Party(
            *(application, principal, peer.address, now_ms, hello.channel),
            *(peer.host, subject, issuer),
        )
        refused = self._connections.admit(client, party)
        if refused is not None:
            client.goodbye(refused)
            return
        welcome = frames.Welcome(
            version=frames.common_version(hello),
            queue_manager=self._connections.queue_manager,
            connection=client.number,
            kafka=self._kafka,
            heartbeat_ms=agreed_ms(hello.heartbeat_ms, self._connections.bounds.heartbeat_ms),
        )
        client.keep_alive(welcome.heartbeat_ms)
        client.write(codec.encode(welcome))
        self._end_with_proof(client, principal)
        client.let_in()

    def _why_not_by(self, channel: str, peer: addresses.Peer) -> str:
        """Say why a client may not connect by a channel; "" if it may. Those of this machine that
        use no network need no TLS.
        """
        term = self._connections.term
        if not channel or not peer.host or term is None:
            return ""
        subject = names_of(peer.certificate, "subject")
        return term.inquiries.why_not_by(channel, is_encrypted=peer.is_encrypted, subject=subject)

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
            return
        if trait is None:
            self._answer(client, request, command)
            return
        term = self._connections.term
        if term is None:
            return
        if trait.opens and type(command) is Open and command.modes & OUTPUT:
            self._look_at_open(term, command.queue)
        if trait.audit is not None:
            at = client.number, request
            self._audit.asked(trait.audit, term.inquiries, at, command, client.party)
            term.request(Request(client.number, request, number, command))
            self._audit.executed(at)
            return
        if trait.shows_bodies and self._audit.is_on:
            self._audit.browsed(term.inquiries, client.number, command, client.party)
        term.request(Request(client.number, request, number, command))

    def _answer(self, client: ClientConnection, request: int, command: Asked) -> None:
        """Answer what is no matter of core."""
        if isinstance(command, Refused):
            client.answer((request, command))
        elif isinstance(command, frames.RenewToken):
            self._renew(client, request, command.token)
        elif self._is_denied(client, command):
            name = self._connections.queue_manager
            client.answer((request, Refused(Reason.AUTHORITY_MISSING, name)))
        elif isinstance(command, frames.Stop):
            client.answer((request, Done()))
            who = by(client.number, client.party)
            log.info("stop requested by a client", immediate=command.immediate, **who)
            self._requested(
                client, "stop", immediate=command.immediate, hand_over=command.hand_over
            )
            self._control.tell_to_stop(command.immediate, for_good=not command.hand_over)
        elif isinstance(command, frames.SwitchOwner):
            self._requested(client, "switch", to=command.to)
            self._control.switch_owner(command.to, partial(self._answer_switch, client, request))
        elif isinstance(command, frames.AskServer):
            client.answer((request, frames.Figures(self._control.figures().by_name())))

    def _requested(self, client: ClientConnection, what: str, **details: Any) -> None:
        """Have on record that a client may have asked for the end of this owner, before it ends."""
        name = self._connections.queue_manager
        self._audit.visited(f"request {what}", name, client.party, DONE, client.number, **details)

    def _answer_switch(
        self, client: ClientConnection, request: int, answer: dict[str, Any]
    ) -> None:
        if self._connections.is_open(client):
            client.answer((request, frames.Figures(answer)))

    def _renew(self, client: ClientConnection, request: int, token: str) -> None:
        """Let a connection go on by another token, if that names the same user."""

        def decided(found: Principal | Refused) -> None:
            if self._connections.is_open(client) and client.party is not None:
                client.answer((request, self._take_token(client, client.party, found)))

        user = client.party.user if client.party is not None else ""
        hello = frames.Hello(version=0, user=user, token=token)
        self._admission.ask("", hello, decided, peer=client.peer, remote=_is_remote(client))

    def _take_token(
        self, client: ClientConnection, party: Party, found: Principal | Refused
    ) -> Done | Refused:
        if isinstance(found, Refused):
            return found
        before = party.principal
        if before.proof is not Proof.TOKEN or found.user != before.user:
            text = f"the token is of {found.user}: connect anew to be another user"
            if before.proof is not Proof.TOKEN:
                text = "the connection was not made by a token: connect anew with one"
            return Refused(Reason.NOT_AUTHORIZED, before.user, text)
        client.party = replace(party, principal=found)
        self._end_with_proof(client, found)
        term = self._connections.term
        if term is not None:
            term.introduce(client.number, client.party)
        log.info("token renewed", **by(client.number, client.party))
        return Done()

    def _end_with_proof(self, client: ClientConnection, principal: Principal) -> None:
        if principal.expires_ms:
            client.end_in((principal.expires_ms - self._clock.now_ms()) / 1000)

    def _is_denied(self, client: ClientConnection, command: Asked) -> bool:
        """Whether a client has no authority for what it asks of the server: a stop and a switch are
        control, and figures are display, of the queue manager.
        """
        term = self._connections.term
        bits = CONTROL if isinstance(command, frames.Stop | frames.SwitchOwner) else DISPLAY
        name = type(command).__name__
        denied = None if term is None else term.inquiries.lacks(client.number, name, bits)
        if denied is not None:
            self._connections.denied([denied])
        return denied is not None

    def _look_at_open(self, term: OwnerTerm, name: str) -> None:
        if COMMAND_QUEUE in (name, term.inquiries.alias_target(name)):
            self._control.need_commands()


def _is_remote(client: ClientConnection) -> bool:
    host = client.peer.host
    return bool(host) and not addresses.is_loopback(host)


def _unanswerable(command: Asked) -> Refused:
    """Say why a connection ends at an operation whose refusal its client would not hear of."""
    if isinstance(command, Refused):
        return command
    text = f"{type(command).__name__} needs a request number, because it is answered"
    return Refused(Reason.MALFORMED_REQUEST, "", text)
