"""GRANT, REVOKE and DENY on services and queues. This module does not know what a right is for.

Permissions are authority records of the queue manager, which are MQ's too, and grant only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from adapter.core.attributes import broker as kinds
from adapter.core.contract import authorities as bits
from adapter.core.contract import broker as b
from adapter.core.contract.authority_commands import PermissionChange
from adapter.core.contract.results import Done
from adapter.servicebroker import arguments as a
from adapter.servicebroker.catalog import Catalog
from adapter.servicebroker.errors import InvalidArgument, InvalidArgumentType, ServiceBrokerError

PUBLIC: Final = "public"
_COMMON: Final = {"ALTER": bits.CHANGE, "VIEW DEFINITION": bits.DISPLAY | bits.INQUIRE}
PERMISSIONS: Final = {
    kinds.SERVICE: {"SEND": bits.PUT, **_COMMON, "CONTROL": bits.APPLICABLE[bits.SERVICE]},
    kinds.QUEUE: {
        "RECEIVE": bits.GET,
        "SELECT": bits.BROWSE,
        **_COMMON,
        "CONTROL": bits.APPLICABLE[bits.QUEUE],
    },
}
"""What each permission is among authorities, by what it is on."""
TYPES: Final = {kinds.SERVICE: bits.SERVICE, kinds.QUEUE: bits.QUEUE}
NO_DENIAL: Final = (
    "there is no DENY, as authorities grant and deny nothing: REVOKE the permission from the user "
    "and from each of its groups, or let an administrator set NONE on the object for the user and "
    "for its groups; mqk auth explain names the record that grants"
)
Names = str | Iterable[str]


class Permissions(Catalog):
    """The statements on permissions: each takes effect at once, and is part of no transaction.

    A permission counts from the next statement on. Who has CONTROL of an object may grant, as its
    creator has, and who may change the queue manager.
    """

    def grant(
        self,
        permissions: Names,
        *,
        on_service: str | None = None,
        on_queue: str | None = None,
        to_user: Names = (),
        to_role: Names = (),
    ) -> None:
        """GRANT SEND ON SERVICE, RECEIVE or SELECT ON QUEUE, ALTER, CONTROL or VIEW DEFINITION on
        either. to_role: groups of the queue manager; "public" is everyone.
        """
        kind, name = _object(on_service, on_queue)
        granted = _bits(kind, permissions)
        self._permit(kind, name, _entities(to_user, to_role), bits.ALL, granted)

    def revoke(
        self,
        permissions: Names,
        *,
        on_service: str | None = None,
        on_queue: str | None = None,
        from_user: Names = (),
        from_role: Names = (),
    ) -> None:
        """REVOKE: permissions that were granted are taken back; of CONTROL, all of them."""
        kind, name = _object(on_service, on_queue)
        kept = bits.ALL & ~_bits(kind, permissions)
        self._permit(kind, name, _entities(from_user, from_role), kept)

    def deny(
        self,
        permissions: Names,
        *,
        on_service: str | None = None,
        on_queue: str | None = None,
        to_user: Names = (),
        to_role: Names = (),
    ) -> None:
        """DENY: always refused, as nothing can be denied; the error says what to do instead."""
        kind, name = _object(on_service, on_queue)
        _bits(kind, permissions)
        _entities(to_user, to_role)
        raise ServiceBrokerError(0, f"{kind} {name!r}: {NO_DENIAL}", name)

    def _permit(
        self, kind: str, name: str, entities: list[tuple[str, bool]], keep: int, add: int = 0
    ) -> None:
        """Change what each user or group may do with an object."""
        changes = [PermissionChange(*entity, keep, add) for entity in entities]
        self._ask(b.BrokerPermit(kind, name, changes), Done)


def _object(on_service: str | None, on_queue: str | None) -> tuple[str, str]:
    """Return the kind and the name of the object that a statement is on."""
    if (on_service is None) == (on_queue is None):
        raise InvalidArgument("give either on_service or on_queue")
    if on_queue is not None:
        return kinds.QUEUE, a.as_queue(on_queue)
    return kinds.SERVICE, a.as_name("service", on_service or "")


def _bits(kind: str, permissions: Names) -> int:
    known = PERMISSIONS[kind]
    found = 0
    for given in _each("permissions", permissions):
        word = " ".join(a.as_option("permission", given).split())
        if word not in known:
            raise InvalidArgument(f"a {kind} has no permission {given!r}: use {', '.join(known)}")
        found |= known[word] & bits.APPLICABLE[TYPES[kind]]
    if not found:
        raise InvalidArgument(f"give a permission: {', '.join(known)}")
    return found


def _entities(users: Names, roles: Names) -> list[tuple[str, bool]]:
    """Return users and groups, each with whether it is a group."""
    found = [(_user(one), False) for one in _each("users", users)]
    found += [(_role(one), True) for one in _each("roles", roles)]
    if not found:
        raise InvalidArgument("give a user or a role")
    return found


def _user(given: str) -> str:
    name = a.as_name("user", given)
    if name == PUBLIC:
        raise InvalidArgument("public is a role, and no user: give it as a role")
    return name


def _role(given: str) -> str:
    name = a.as_name("role", given)
    return bits.EVERYONE if name.lower() == PUBLIC else name


def _each(what: str, names: object) -> list[str]:
    if isinstance(names, str):
        return [names]
    if not isinstance(names, Iterable) or isinstance(names, bytes):
        raise InvalidArgumentType(f"{what} are a str or several, not {names!r}")
    return list(names)
