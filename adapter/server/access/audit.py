"""The audit: who gave which administrative command to which object, and what was refused to whom.

All of it is in the log. With the setting `audit` it is also on record, as events of the queue
manager, and these say more: what a command changed, and which administrator looked at messages. A
command is noted when its outcome is known, which is when it is durable. Commands that move messages
are not administrative. No note has a body or a password. This module knows what commands are
called, not what they do.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Any, Final

import structlog
from msgspec import json

from adapter.core.attributes.objects import QUEUE_MANAGER
from adapter.core.contract import audit as on_record
from adapter.core.contract.audit import AuditNote
from adapter.core.contract.authorities import ALL, Denial, words_of
from adapter.core.contract.authority_commands import DeleteAuthority, PermissionChange, SetAuthority
from adapter.core.contract.broker import TRANSMISSION, BrokerPermit
from adapter.core.contract.channel_rules import SetChannelRule
from adapter.core.contract.msmq import MsmqPermit
from adapter.core.contract.parties import Party, Proof
from adapter.core.contract.reasons import Reason
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Refused, Result
from adapter.core.contract.traits import Audit
from adapter.runtime.owner.inquiries import Inquiries, fields_of

OF_COMMANDS = "mqk "
"""What the application begins with that a command of mqk says it is."""

TRUSTED = (Proof.OPERATOR, Proof.OWN, Proof.CONTEXT)
DETAILS = (
    *("attributes", "replace", "purge", "add", "remove", "users", "groups", "reset", "action"),
    "to",
)
NOT_OF_RULE = frozenset({"profile", "kind", "action", "users"})
"""Of a channel authentication record: they are in a note by themselves."""
BITS = ("add", "remove")
DONE: Final = {"outcome": "done"}
DETAIL_LENGTH_MAX: Final = 8_000
IN_TRANSMISSION: Final = "sys.transmission_queue"
"""The name on record of what is looked at where messages of several queues are shown."""
FAILURES_MAX: Final = 50
"""Refusals on record in FAILURES_S: who is refused again and again must not fill the ledger. How
many were left out is said by the next one; the log has them all."""
FAILURES_S: Final = 10.0
BROWSES_MAX: Final = 10_000
"""Handles that are known to have been used for looking at messages; more are noted again."""

log = structlog.get_logger("mqk.audit")


class CommandNote:
    """An administrative command that is not answered yet. looks: asks what it changes."""

    __slots__ = ("after", "before", "facts", "looks")

    def __init__(
        self, facts: dict[str, Any], looks: Callable[[], dict[str, Any] | None] | None
    ) -> None:
        self.facts = facts
        self.looks = looks
        self.before = looks() if looks is not None else None
        self.after = self.before


class AuditTrail:
    """Notes administrative commands until they are answered, and puts on record what has to be."""

    def __init__(self, *, is_on: bool = False, now_s: Callable[[], float] = time.monotonic) -> None:
        """is_on: there are events, once write() says where they go."""
        self.is_on = is_on
        self._now_s = now_s
        self._asked: dict[tuple[int, int], CommandNote] = {}
        self._browsed: set[tuple[int, object]] = set()
        self._write: Callable[[list[AuditNote]], None] = _nowhere
        self._waiting: list[AuditNote] = []
        self._since_s = float("-inf")
        self._failures = self._left_out = 0

    def write(self, write: Callable[[list[AuditNote]], None]) -> None:
        """Put notes on record by this, from now on; it is called in a turn of the event loop."""
        self._write = write

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
        looks = _looking(inquiries, command, words) if self.is_on else None
        if words.get("kind") == QUEUE_MANAGER:
            words["kind"] = "queue manager"
        what, name = audit.command.format_map(words), audit.of.format_map(words)
        details = {one: value for one in DETAILS if (value := getattr(command, one, None))}
        if changes := getattr(command, "changes", None):
            details["changes"] = [_change(one) for one in changes]
        if isinstance(command, SetChannelRule):  # its address is not that of the client
            details["rule"] = fields_of(command, NOT_OF_RULE)
        details |= {one: " ".join(words_of(details[one])) for one in BITS if one in details}
        facts = {"command": what, "object": name, **by(connection, party), **details}
        self._asked[at] = CommandNote(facts, looks)

    def executed(self, at: tuple[int, int]) -> None:
        """A command has been decided: what it has changed is there, or is refused."""
        noted = self._asked.get(at)
        if noted is not None and noted.looks is not None:
            noted.after = noted.looks()

    def answered(self, replies: list[Reply]) -> None:
        """Write what came of the administrative commands among these."""
        if not self._asked:
            return
        for reply in replies:
            noted = self._asked.pop((reply.connection, reply.request), None)
            if noted is not None:
                self._command(noted, _outcome(reply.result))

    def gone(self, connection: int) -> None:
        """A connection has ended: what of its commands was not answered may have been done."""
        for key in [one for one in self._asked if one[0] == connection]:
            self._command(self._asked.pop(key), {"outcome": "unknown"})
        if self._browsed:
            self._browsed = {one for one in self._browsed if one[0] != connection}

    def denied(self, denial: Denial, party: Party | None) -> None:
        """Note which authority was missing: the client hears the reason and the name alone.

        acting_as: the user whose authority it is, if that is another one than the client's; of what
        no client asks for, as a report or what arrives, always.
        """
        facts = {
            "command": denial.command, "object": denial.name, "object_type": denial.object_type,
            "missing": " ".join(words_of(denial.missing)), **by(denial.connection, party),
        }  # fmt: skip
        if party is None or party.user != denial.user:
            facts["acting_as"] = denial.user
        log.warning("not authorized", **facts)
        name = facts.pop("object")
        self._failure(on_record.NOT_AUTHORIZED, name, facts)

    def not_authenticated(self, user: str, address: str, application: str, why: Refused) -> None:
        """Note a client that is not who it says, or says nothing of it; the log has it already."""
        facts = {"address": address, "application": application, "why": why.detail}
        self._failure(on_record.NOT_AUTHENTICATED, user, facts)

    def visited(
        self,
        command: str,
        name: str,
        party: Party | None,
        outcome: dict[str, str],
        connection: int = 0,
        **details: Any,
    ) -> None:
        """Note an administrative command that is no matter of core, and what came of it.

        connection: 0: it has none.
        """
        facts = {"command": command, "object": name, **by(connection, party), **details}
        self._command(CommandNote(facts, None), outcome)

    def browsed(
        self, inquiries: Inquiries, connection: int, command: Any, party: Party | None
    ) -> None:
        """Note an administrator that looks at messages, once for each open of a queue."""
        if (
            not getattr(command, "peek", True)
            or getattr(command, "kind", TRANSMISSION) != TRANSMISSION
            or party is None
            or party.principal.proof is Proof.OWN
        ):
            return
        handle = getattr(command, "handle", None)
        of = getattr(command, "queue", IN_TRANSMISSION)
        queue = of if handle is None else inquiries.queue_of(connection, handle)
        key = connection, queue if handle is None else (handle, queue)
        if key in self._browsed or not inquiries.may_change(connection, queue):
            return
        if len(self._browsed) >= BROWSES_MAX:
            self._browsed.clear()
        self._browsed.add(key)
        self._note(on_record.BROWSED, queue, by(connection, party))

    def _command(self, noted: CommandNote, outcome: dict[str, str]) -> None:
        log.info("administrative command", **noted.facts, **outcome)
        changed = _difference(noted.before, noted.after)
        facts = {**noted.facts, **outcome, **changed}
        if changed:
            for given in ("attributes", "rule"):  # they are among what has changed
                facts.pop(given, None)
        name = facts.pop("object")
        self._note(on_record.COMMAND, str(name), facts)

    def _failure(self, kind: str, name: str, facts: dict[str, Any]) -> None:
        now_s = self._now_s()
        if now_s - self._since_s >= FAILURES_S:
            self._since_s, self._failures = now_s, 0
        self._failures += 1
        if self._failures > FAILURES_MAX:
            self._left_out += 1
            return
        if self._left_out:
            facts = facts | {"left_out": self._left_out}
            self._left_out = 0
        self._note(kind, name, facts)

    def _note(self, kind: str, name: str, facts: dict[str, Any]) -> None:
        """Put something on record in the next turn of the loop: the owner may be in a step now."""
        if not self.is_on:
            return
        details = {key: _text(value) for key, value in facts.items() if value not in ("", None, {})}
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self._write_all)
        self._waiting.append(AuditNote(kind, name, details))

    def _write_all(self) -> None:
        notes, self._waiting = self._waiting, []
        self._write(notes)


def by(connection: int, party: Party | None) -> dict[str, Any]:
    """Say who it was. connection: 0: it has none."""
    who = party or Party()
    known = {
        "user": who.user, "proof": who.principal.proof.value, "application": who.application,
        "address": who.address,
    }  # fmt: skip
    return known | {"connection": connection} if connection else known


def level_of(party: Party) -> int:
    """Return the level at which a connection is logged: two lines a command hide all others.

    Only an operator, and a part of the queue manager, can have them hidden.
    """
    is_hidden = party.application.startswith(OF_COMMANDS) and party.principal.proof in TRUSTED
    return logging.DEBUG if is_hidden else logging.INFO


def _nowhere(notes: list[AuditNote]) -> None:
    log.warning("not on record: the queue manager does not serve", notes=len(notes))


def _looking(
    inquiries: Inquiries, command: Any, words: dict[str, Any]
) -> Callable[[], dict[str, Any] | None]:
    """Return what asks for the state that a command changes, of its object."""
    if isinstance(command, SetAuthority | DeleteAuthority):
        return lambda: inquiries.authorities_of(
            command.object_type, command.profile, command.users, command.groups
        )
    if isinstance(command, SetChannelRule):
        return lambda: inquiries.channel_rules_of(command)
    if isinstance(command, MsmqPermit | BrokerPermit):
        return lambda: inquiries.permissions_of(command)
    kind = str(words.get("kind", "queue"))
    name = str(words.get("queue_of") or words.get("name") or "")
    return lambda: inquiries.attributes_of(kind, name)


def _change(change: PermissionChange) -> str:
    """Say what a user or a group is given, and what is left of what it had: all, or the rest."""
    who = f"{'group' if change.is_group else 'user'} {change.entity}"
    taken = " ".join(words_of(ALL & ~change.keep)) if change.keep else "all"
    given = " ".join(words_of(change.add))
    return f"{who}: take {taken or 'none'}, give {given or 'none'}"


def _difference(before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, str]:
    """Say what was before and after a command, of all that is not the same."""
    if before == after:
        return {}
    was, is_ = before or {}, after or {}
    names = [one for one in {**was, **is_} if was.get(one) != is_.get(one)]
    said = {}
    for key, state in (("before", before), ("after", after)):
        if state is not None:
            said[key] = json.encode({one: state[one] for one in names if one in state}).decode()
    return said


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else json.encode(value).decode()
    return text[:DETAIL_LENGTH_MAX]


def _outcome(result: Result) -> dict[str, str]:
    if not isinstance(result, Refused):
        return DONE
    known = result.reason in set(Reason)
    reason = Reason(result.reason).name if known else str(result.reason)
    return {"outcome": "refused", "reason": reason}
