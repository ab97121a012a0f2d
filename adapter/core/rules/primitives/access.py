"""Access: whether a principal may do something with an object, as the authority records say.

Without the setting every client may do everything, and so may privileged principals: operators of
this machine, and parts of the queue manager itself. A refusal tells a client the reason and the
name alone; what was missing is noted for the log.

A client that has not proved who it is has no user then: it has the authorities of the group
everyone, and no others. This module does not know which command needs what.
"""

from __future__ import annotations

from adapter.core.contract.authorities import QUEUE_MANAGER, Denial
from adapter.core.contract.commands import Request
from adapter.core.contract.parties import Principal, Proof
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.model.authorities import name_of
from adapter.core.model.manager import QueueManager
from adapter.core.model.session import Session


class Asker:
    """Who asks, in which connection, and for which command."""

    __slots__ = ("_qm", "command", "connection", "principal")

    def __init__(
        self, qm: QueueManager, connection: int, principal: Principal, command: str
    ) -> None:
        self._qm = qm
        self.connection = connection
        self.principal = principal
        self.command = command

    def instead(self, user: str) -> Asker:
        """Return the same for an alternate user, of whose groups the operating system says none."""
        return Asker(self._qm, self.connection, Principal(user, Proof.CONTEXT), self.command)

    def may(self, object_type: str, name: str, bits: int) -> bool:
        """Whether it has all of these authorities on an object."""
        return not self.missing(object_type, name, bits)

    def may_any(self, object_type: str, name: str, bits: int) -> bool:
        """Whether it has any of these authorities on an object."""
        return self.missing(object_type, name, bits) != bits

    def missing(self, object_type: str, name: str, bits: int) -> int:
        """Return which of these authorities it does not have."""
        if self.principal.is_privileged:
            return 0
        checked = name_of(object_type, name)
        return bits & ~self._qm.authorities.bits(self.principal, object_type, checked)

    def require(self, object_type: str, name: str, bits: int) -> None:
        """Refuse if it does not have all of these authorities on an object (MQRC_NOT_AUTHORIZED).

        object_type QUEUE_MANAGER: the queue manager itself, whatever the name is.
        """
        self.refuse_missing(object_type, name, self.missing(object_type, name, bits))

    def refuse_missing(self, object_type: str, name: str, missing: int) -> None:
        """Refuse if authorities on an object are missing."""
        if missing:
            raise self.refusal(object_type, name, missing)

    def lacks(self, object_type: str, name: str, bits: int) -> bool:
        """Whether it does not have all of these authorities: then that is noted for the log."""
        missing = self.missing(object_type, name, bits)
        if missing:
            self.refusal(object_type, name, missing)
        return bool(missing)

    def refusal(self, object_type: str, name: str, missing: int) -> Refusal:
        """Note what is missing, and return what the client is told."""
        shown = self._qm.name if object_type == QUEUE_MANAGER else name
        denied = Denial(
            self.connection, self.principal.user, self.command, object_type, shown, missing
        )
        self._qm.step.denied.append(denied)
        return Refusal(Reason.AUTHORITY_MISSING, shown)


def check_session(qm: QueueManager, request: Request, session: Session) -> None:
    """Refuse who asks for the session of another user (MQRC_NOT_AUTHORIZED).

    Also where authorities are not checked: who a client is, is known there too.
    """
    user = qm.connections[request.connection].party.user
    if session.user and user != session.user:
        name, command = "a session of another user", type(request.command).__name__
        qm.step.denied.append(Denial(request.connection, user, command, "session", name, 0))
        raise Refusal(Reason.AUTHORITY_MISSING, name)


def known_user(qm: QueueManager, principal: Principal) -> Principal:
    """Return who a client counts as: what it says of itself without proof is nothing, if
    authorities are checked.
    """
    if not qm.authorities.are_checked:
        return principal
    if principal.proof is Proof.NONE:
        return Principal()
    qm.authorities.see(principal)
    return principal
