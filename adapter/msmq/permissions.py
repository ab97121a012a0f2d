"""Who may do what with a queue: SetPermissions and ResetPermissions of System.Messaging.

Permissions are authority records of the queue manager, which are MQ's too, and grant only. What
they cannot say of MSMQ's rights is refused, with what to do instead. This module knows no message.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from adapter.connection.channel import plain_arguments as a
from adapter.connection.channel.plain_arguments import WrongArgument, WrongArgumentType
from adapter.core.contract import authorities as bits
from adapter.core.contract import msmq as c
from adapter.core.contract.authority_commands import PermissionChange
from adapter.core.contract.results import Done
from adapter.msmq import requests
from adapter.msmq.enumerations import (
    AccessControlEntryType,
    MessageQueueAccessRights,
    TrusteeType,
)
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import MessageQueueException
from adapter.msmq.properties import QueueProperties

Rights = MessageQueueAccessRights
AUTHORITIES: Final = (
    (Rights.DELETE_MESSAGE, bits.GET),
    (Rights.PEEK_MESSAGE, bits.BROWSE),
    (Rights.WRITE_MESSAGE, bits.PUT),
    (Rights.SET_QUEUE_PROPERTIES, bits.CHANGE),
    (Rights.GET_QUEUE_PROPERTIES, bits.INQUIRE | bits.DISPLAY),
    (Rights.DELETE_QUEUE, bits.DELETE),
)
"""What each right is among authorities. That to see permissions is one of the queue manager."""
OWNERSHIP: Final = Rights.CHANGE_QUEUE_PERMISSIONS | Rights.TAKE_QUEUE_OWNERSHIP
EVERYONE: Final = "everyone"
NO_DENIAL: Final = (
    "authorities grant, and deny nothing: revoke the right from the user and from each of its "
    "groups, or let an administrator set NONE on the queue for the user and for its groups; "
    "mqk auth explain names the record that grants"
)
NO_JOURNAL: Final = (
    "only who may receive from a queue may receive from its journal: give "
    "RECEIVE_MESSAGE with it, or leave it out"
)
NO_OWNERSHIP: Final = (
    "who has FULL_CONTROL of a queue may change its permissions, and who may change the queue "
    "manager: give FULL_CONTROL, or leave it out"
)


class Trustee(Struct, frozen=True):
    """A user or a group of the queue manager. Everyone is the group of all, whatever its type."""

    name: str
    trustee_type: TrusteeType = TrusteeType.USER


class MessageQueueAccessControlEntry(Struct, frozen=True):
    """What a trustee may do with a queue."""

    trustee: Trustee
    rights: MessageQueueAccessRights
    entry_type: AccessControlEntryType = AccessControlEntryType.ALLOW


class AccessControlList(list[MessageQueueAccessControlEntry]):
    """Entries that are set together, in order: all or none."""


Given = str | Trustee | MessageQueueAccessControlEntry | Iterable[MessageQueueAccessControlEntry]


class QueuePermissions(QueueProperties):
    """A queue's permissions: they are set, and shown by mqk auth list."""

    def set_permissions(
        self,
        trustee: Given,
        rights: MessageQueueAccessRights | None = None,
        entry_type: AccessControlEntryType = AccessControlEntryType.ALLOW,
    ) -> None:
        """Change what a user or a group may do with the queue. It counts at the next open.

        trustee: the name of a user, or "Everyone"; a Trustee; or, without rights, an entry or an
        AccessControlList. ALLOW adds rights, SET replaces those that the trustee has, REVOKE takes
        all away, whatever rights are; DENY is refused. Who has full control may do this, as the
        creator of the queue has, and who may change the queue manager.
        Raises MessageQueueException: ACCESS_DENIED, QUEUE_NOT_FOUND, UNSUPPORTED_OPERATION.
        """
        self._permit(
            c.MsmqPermit("", [self._change(one) for one in _entries(trustee, rights, entry_type)])
        )

    def reset_permissions(self) -> None:
        """Let the queue have the permissions that it was created with, and no others: its creator
        has full control, everyone may send, and see its properties.
        """
        self._permit(c.MsmqPermit("", [], reset=True))

    def _permit(self, command: c.MsmqPermit) -> None:
        route = self._reads
        command.name, command.computer = self.path, route.computer
        requests.ask(route.channel, command, Done, self.path)

    def _change(self, entry: MessageQueueAccessControlEntry) -> PermissionChange:
        """Return what becomes of the record of an entry's trustee, or refuse."""
        kind = entry.entry_type
        if kind is AccessControlEntryType.DENY:
            raise self._unsupported("rights are not denied", NO_DENIAL)
        name, is_group = _entity(entry.trustee)
        if kind is AccessControlEntryType.REVOKE:
            return PermissionChange(name, is_group)
        keep = 0 if kind is AccessControlEntryType.SET else bits.ALL
        return PermissionChange(name, is_group, keep, self._bits(entry.rights))

    def _bits(self, rights: MessageQueueAccessRights) -> int:
        if Rights.FULL_CONTROL & ~rights == 0:
            return bits.APPLICABLE[bits.QUEUE]
        if rights & OWNERSHIP:
            raise self._unsupported("permissions are changed by who has full control", NO_OWNERSHIP)
        if rights & Rights.DELETE_JOURNAL_MESSAGE and not rights & Rights.DELETE_MESSAGE:
            raise self._unsupported("a journal has no permissions of its own", NO_JOURNAL)
        found = 0
        for right, authority in AUTHORITIES:
            if rights & right:
                found |= authority
        return found

    def _unsupported(self, happened: str, remedy: str) -> MessageQueueException:
        text = f"{happened} on queue {self.path}: {remedy}"
        return MessageQueueException(Code.UNSUPPORTED_OPERATION, text, self.path)


def _entries(
    given: Given, rights: MessageQueueAccessRights | None, kind: AccessControlEntryType
) -> list[MessageQueueAccessControlEntry]:
    """Return what is to be set, from a trustee with rights, one entry or several."""
    if isinstance(given, str):
        given = Trustee(given)
    if isinstance(given, Trustee):
        if rights is None:
            raise WrongArgumentType("give rights too: which ones of MessageQueueAccessRights")
        return [_check_entry(MessageQueueAccessControlEntry(given, rights, kind))]
    if rights is not None:
        raise WrongArgumentType("rights go with the name of a user, or a Trustee: leave them out")
    if isinstance(given, MessageQueueAccessControlEntry):
        return [_check_entry(given)]
    if not isinstance(given, Iterable):
        raise WrongArgumentType(
            "give the name of a user, a Trustee, a MessageQueueAccessControlEntry or an "
            f"AccessControlList, not {given!r}"
        )
    return [_check_entry(one) for one in given]


def _check_entry(entry: object) -> MessageQueueAccessControlEntry:
    if not isinstance(entry, MessageQueueAccessControlEntry):
        raise WrongArgumentType(f"an entry is a MessageQueueAccessControlEntry, not {entry!r}")
    if not isinstance(entry.trustee, Trustee):
        raise WrongArgumentType(f"the trustee of an entry is a Trustee, not {entry.trustee!r}")
    if not isinstance(entry.entry_type, AccessControlEntryType):
        raise WrongArgumentType(
            f"an entry's type is an AccessControlEntryType, not {entry.entry_type!r}"
        )
    if not isinstance(entry.rights, Rights):
        raise WrongArgumentType(f"rights are MessageQueueAccessRights, not {entry.rights!r}")
    beyond = entry.rights & ~Rights.FULL_CONTROL
    if beyond:
        raise WrongArgument(f"MessageQueueAccessRights has no right {int(beyond):#x}")
    return entry


def _entity(trustee: Trustee) -> tuple[str, bool]:
    """Return the name of a trustee, and whether it is a group's."""
    name = a.as_name(trustee.name, "trustee's name")
    if name.lower().removeprefix("\\") == EVERYONE:
        return EVERYONE, True
    if trustee.trustee_type in (TrusteeType.USER, TrusteeType.UNKNOWN):
        return name, False
    if trustee.trustee_type is not TrusteeType.GROUP:
        raise WrongArgument(
            f"trustee {name} is a user or a group of the queue manager: set its type"
        )
    return name, True
