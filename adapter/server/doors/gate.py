"""What every door of a queue manager does for its clients: it admits them, hands their commands to
the owner with a line for the audit where one is due, and asks for an authority before it answers
what is no matter of core. A door is a folder beside this module; it knows a protocol, and this
module must know none.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import structlog
from msgspec.structs import replace

from adapter.core.contract.authorities import CONTROL, DISPLAY
from adapter.core.contract.commands import OUTPUT, Open, Request
from adapter.core.contract.parties import ORIGIN_LENGTH_MAX, Party, Principal, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from adapter.core.contract.traits import Trait
from adapter.host import addresses
from adapter.runtime.owner.clock import Clock
from adapter.runtime.owner.term import OwnerTerm
from adapter.server.access.admission import Admission
from adapter.server.access.audit import DONE, AuditTrail, by
from adapter.server.access.claim import Claim
from adapter.server.listen.clients import GatedClient, ServedClient, ServerControl
from adapter.server.listen.connections import ClientConnections
from adapter.server.listen.tls import names_of
from adapter.server.process.figures import ServerFigures
from adapter.server.services.commands import COMMAND_QUEUE

log = structlog.get_logger("mqk.listener")


class ClientGate:
    """Admits clients, and lets through what they ask. On the event loop's thread."""

    def __init__(
        self,
        connections: ClientConnections,
        admission: Admission,
        audit: AuditTrail,
        clock: Clock,
        control: ServerControl,
    ) -> None:
        """control: what clients ask of the server."""
        self._connections = connections
        self._admission = admission
        self._audit = audit
        self._clock = clock
        self._control = control

    # -- who connects

    def admit(self, client: GatedClient, claim: Claim, admitted: Callable[[], None]) -> None:
        """Admit a client, now or once the owner serves, or say goodbye to it with the reason.

        admitted: called when it is one of the connections, before anything is answered to it.
        """
        self._connections.greeted(client)
        admit = partial(self._admit, client, claim, admitted)
        if not self._connections.held.hold(client, admit):
            admit()

    def _admit(self, client: GatedClient, claim: Claim, admitted: Callable[[], None]) -> None:
        def decided(principal: Principal | Refused) -> None:
            if isinstance(principal, Refused):
                where, what = client.peer.address, claim.application[:ORIGIN_LENGTH_MAX]
                self._audit.not_authenticated(claim.user, where, what, principal)
                client.goodbye(principal)
            elif self._connections.is_open(client):
                self._let_in(client, claim, principal, admitted)

        if len(claim.user) > ORIGIN_LENGTH_MAX:
            text = f"a user has {ORIGIN_LENGTH_MAX} characters at most"
            client.goodbye(Refused(Reason.NOT_AUTHORIZED, claim.user[:ORIGIN_LENGTH_MAX], text))
            return
        if client.principal is not None:
            decided(client.principal)
            return
        term = self._connections.term
        self._admission.ask(
            term.inquiries.password_check if term is not None else "",
            claim,
            decided,
            peer=client.peer,
            remote=_is_remote(client),
            wanted=lambda: self._connections.is_open(client),
        )

    def _let_in(
        self,
        client: GatedClient,
        claim: Claim,
        principal: Principal,
        admitted: Callable[[], None],
    ) -> None:
        why_not = self._why_not_by(claim.channel, client.peer)
        if why_not:
            log.warning("client refused", user=principal.user, reason=why_not)
            client.goodbye(Refused(Reason.NOT_AUTHORIZED, claim.channel, why_not))
            return
        now_ms = self._clock.now_ms()
        application = claim.application[:ORIGIN_LENGTH_MAX]
        peer = client.peer
        subject, issuer = (names_of(peer.certificate, one) for one in ("subject", "issuer"))
        party = Party(
            *(application, principal, peer.address, now_ms, claim.channel),
            *(peer.host, subject, issuer),
        )
        refused = self._connections.admit(client, party)
        if refused is not None:
            client.goodbye(refused)
            return
        admitted()
        self._end_with_proof(client, principal)

    def _why_not_by(self, channel: str, peer: addresses.Peer) -> str:
        """Say why a client may not connect by a channel; "" if it may. Those of this machine that
        use no network need no TLS.
        """
        term = self._connections.term
        if not channel or not peer.host or term is None:
            return ""
        subject = names_of(peer.certificate, "subject")
        return term.inquiries.why_not_by(channel, is_encrypted=peer.is_encrypted, subject=subject)

    def renew(
        self, client: GatedClient, token: str, answered: Callable[[Done | Refused], None]
    ) -> None:
        """Let a connection go on by another token, if that names the same user.

        answered: called while the connection is open, now or later.
        """

        def decided(found: Principal | Refused) -> None:
            if self._connections.is_open(client) and client.party is not None:
                answered(self._take_token(client, client.party, found))

        user = client.party.user if client.party is not None else ""
        claim = Claim(user=user, token=token)
        self._admission.ask("", claim, decided, peer=client.peer, remote=_is_remote(client))

    def _take_token(
        self, client: GatedClient, party: Party, found: Principal | Refused
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

    def _end_with_proof(self, client: GatedClient, principal: Principal) -> None:
        if principal.expires_ms:
            client.end_in((principal.expires_ms - self._clock.now_ms()) / 1000)

    # -- what it asks of the owner

    def request(self, client: ServedClient, request: Request, trait: Trait) -> None:
        """Have a command executed. While no owner serves nothing is: the client has no answer, and
        asks the next owner.
        """
        term = self._connections.term
        if term is None:
            return
        command = request.command
        if trait.opens and type(command) is Open and command.modes & OUTPUT:
            self._look_at_open(term, command.queue)
        if trait.audit is not None:
            at = client.number, request.request
            self._audit.asked(trait.audit, term.inquiries, at, command, client.party)
            term.request(request)
            self._audit.executed(at)
            return
        if trait.shows_bodies and self._audit.is_on:
            self._audit.browsed(term.inquiries, client.number, command, client.party)
        term.request(request)

    def _look_at_open(self, term: OwnerTerm, name: str) -> None:
        if COMMAND_QUEUE in (name, term.inquiries.alias_target(name)):
            self._control.need_commands()

    # -- what it asks of the server; each method returns a Refused where an authority is missing

    def figures(self, client: ServedClient, asked: str) -> ServerFigures | Refused:
        """Return what `mqk qmgr status` shows. asked: the operation's name, as for all of these."""
        return self._deny(client, asked, DISPLAY) or self._control.figures()

    def stop(
        self,
        client: ServedClient,
        asked: str,
        accepted: Callable[[], None],
        *,
        immediate: bool,
        hand_over: bool,
    ) -> Refused | None:
        """Begin the queue manager's end. accepted: called before, so that the client is answered.
        hand_over: a standby is to take over.
        """
        denied = self._deny(client, asked, CONTROL)
        if denied is None:
            accepted()
            who = by(client.number, client.party)
            log.info("stop requested by a client", immediate=immediate, **who)
            self._record_request(client, "stop", immediate=immediate, hand_over=hand_over)
            self._control.tell_to_stop(immediate, for_good=not hand_over)
        return denied

    def switch(
        self, client: ServedClient, asked: str, to: str, answered: Callable[[dict[str, Any]], None]
    ) -> Refused | None:
        """Hand the queue manager over to a standby. answered: called while the client is there."""

        def answer(what: dict[str, Any]) -> None:
            if self._connections.is_open(client):
                answered(what)

        denied = self._deny(client, asked, CONTROL)
        if denied is None:
            self._record_request(client, "switch", to=to)
            self._control.switch_owner(to, answer)
        return denied

    def _record_request(self, client: ServedClient, what: str, **details: Any) -> None:
        """Have on record that a client may have asked for the end of this owner, before it ends."""
        name = self._connections.queue_manager
        self._audit.visited(f"request {what}", name, client.party, DONE, client.number, **details)

    def _deny(self, client: ServedClient, asked: str, bits: int) -> Refused | None:
        """Return the refusal of a client that lacks an authority for the queue manager."""
        term = self._connections.term
        denied = None if term is None else term.inquiries.lacks(client.number, asked, bits)
        if denied is None:
            return None
        self._connections.denied([denied])
        return Refused(Reason.AUTHORITY_MISSING, self._connections.queue_manager)


def _is_remote(client: GatedClient) -> bool:
    host = client.peer.host
    return bool(host) and not addresses.is_loopback(host)
