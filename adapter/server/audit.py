"""The audit in the log: who gave which administrative command to which object, and its outcome.

A line is written when the outcome is known, which is when it is durable. Commands that move
messages are not administrative. This module knows what commands are called, not what they do.
"""

from __future__ import annotations

import logging
from typing import Any

import structlog

from adapter.core.attributes.objects import QUEUE_MANAGER
from adapter.core.contract.authorities import Denial, words_of
from adapter.core.contract.parties import Party, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused, Result
from adapter.core.contract.traits import Audit
from adapter.owner.inquiries import Inquiries

OF_COMMANDS = "mqk "
"""What the application begins with that a command of mqk says it is."""

TRUSTED = (Proof.OPERATOR, Proof.OWN, Proof.CONTEXT)

log = structlog.get_logger("mqk.audit")


DETAILS = ("attributes", "replace", "purge")


class AuditTrail:
    """Notes administrative commands until they are answered."""

    def __init__(self) -> None:
        self._asked: dict[tuple[int, int], dict[str, Any]] = {}

    def asked(
        self,
        audit: Audit,
        inquiries: Inquiries,
        at: tuple[int, int],
        command: Any,
        party: Party | None,
    ) -> None:
        """Note an administrative command.

        audit: of its trait. inquiries: know what handles are open. at: connection and request.
        """
        connection = at[0]
        words = {one: getattr(command, one) for one in command.__struct_fields__}
        if "handle" in words:
            words["queue_of"] = inquiries.queue_of(connection, command.handle)
        if words.get("kind") == QUEUE_MANAGER:
            words["kind"] = "queue manager"
        what, name = audit.command.format_map(words), audit.of.format_map(words)
        details = {one: value for one in DETAILS if (value := getattr(command, one, None))}
        self._asked[at] = {
            "command": what, "object": name, **by(connection, party), **details
        }  # fmt: skip

    def answered(self, replies: list[Reply]) -> None:
        """Write what came of the administrative commands among these."""
        if not self._asked:
            return
        for reply in replies:
            noted = self._asked.pop((reply.connection, reply.request), None)
            if noted is not None:
                log.info("administrative command", **noted, **_outcome(reply.result))

    def gone(self, connection: int) -> None:
        """A connection has ended: what of its commands was not answered may have been done."""
        for key in [one for one in self._asked if one[0] == connection]:
            log.info("administrative command", **self._asked.pop(key), outcome="unknown")


def by(connection: int, party: Party | None) -> dict[str, Any]:
    """Say who it was."""
    who = party or Party()
    return {
        "user": who.user, "proof": who.principal.proof.value, "application": who.application,
        "address": who.address, "connection": connection,
    }  # fmt: skip


def note_denied(denial: Denial, party: Party | None) -> None:
    """Write which authority was missing: the client hears the reason and the name alone.

    acting_as: the user whose authority it is, if that is another one than the client's.
    """
    more = {"acting_as": denial.user} if party is not None and party.user != denial.user else {}
    log.warning(
        "not authorized",
        command=denial.command,
        object=denial.name,
        object_type=denial.object_type,
        missing=" ".join(words_of(denial.missing)),
        **by(denial.connection, party),
        **more,
    )


def level_of(party: Party) -> int:
    """Return the level at which a connection is logged: two lines a command hide all others.

    Only an operator, and a part of the queue manager, can have them hidden.
    """
    is_hidden = party.application.startswith(OF_COMMANDS) and party.principal.proof in TRUSTED
    return logging.DEBUG if is_hidden else logging.INFO


def _outcome(result: Result) -> dict[str, str]:
    if not isinstance(result, Refused):
        return {"outcome": "done"}
    known = result.reason in set(Reason)
    reason = Reason(result.reason).name if known else str(result.reason)
    return {"outcome": "refused", "reason": reason}
