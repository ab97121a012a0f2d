"""Authority records: who may do what with which objects; and roles, which are several at once.

It knows authorities only by their words; which ones a command needs, the queue manager knows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, cast

from msgspec import Struct

from adapter.client.channel_rules import ChannelRuleAdministration
from adapter.client.verb import Verb
from adapter.connection.channel import arguments as a
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.steps import Steps, ask
from adapter.core.contract import authorities
from adapter.core.contract import authority_commands as ac
from adapter.core.contract.authorities import APPLICABLE, QUEUE, QUEUE_MANAGER
from adapter.core.contract.results import AuthorityExplained, AuthorityRecords, Done, PointersFound
from adapter.errors import InvalidOption

_LOOK: Final = ("dsp", "inq")


class RolePart(Struct, frozen=True):
    """One record of a role. profile: None: the one that is given with the role."""

    object_type: str
    profile: str | None
    words: tuple[str, ...]


def _everywhere(words: tuple[str, ...]) -> tuple[RolePart, ...]:
    """Return what a role has of every object that can have one of these authorities."""
    parts = []
    for object_type, bits in APPLICABLE.items():
        fitting = tuple(word for word in words if authorities.bits_of(object_type, [word]) & bits)
        if fitting:
            profile = authorities.SELF if object_type == QUEUE_MANAGER else "**"
            parts.append(RolePart(object_type, profile, fitting))
    return tuple(parts)


_CONNECT: Final = RolePart(QUEUE_MANAGER, authorities.SELF, ("connect", "inq"))
ROLES: Final[dict[str, tuple[RolePart, ...]]] = {
    "app-put": (_CONNECT, RolePart(QUEUE, None, ("put", "inq"))),
    "app-get": (_CONNECT, RolePart(QUEUE, None, ("get", "browse", "inq"))),
    "monitor": _everywhere(("connect", *_LOOK)),
    "operator": _everywhere(("connect", *_LOOK, "clr", "ctrl", "ctrlx")),
    "admin": _everywhere(("all",)),
}
"""app-put and app-get are of the objects that are named with them; the others of all objects."""


def parts_of(role: str, profile: str = "") -> list[RolePart]:
    """Return the records of a role. Raises InvalidOption."""
    if a.as_name(role, "role") not in ROLES:
        raise InvalidOption(f"unknown role {role!r}: use {', '.join(ROLES)}")
    parts = ROLES[role]
    needs = any(one.profile is None for one in parts)
    if needs != bool(profile):
        what = "needs the name of an object, or a profile" if needs else "is of all objects"
        raise InvalidOption(f"role {role} {what}")
    return [RolePart(one.object_type, one.profile or profile, one.words) for one in parts]


def _bits(object_type: str, words: Iterable[str]) -> int:
    if a.as_text("object_type", object_type) not in APPLICABLE:
        known = ", ".join(APPLICABLE)
        raise InvalidOption(f"{object_type!r} is not a type of object: use {known}")
    try:
        return authorities.bits_of(object_type, [a.as_name(one, "authority") for one in words])
    except ValueError as wrong:
        raise InvalidOption(str(wrong)) from wrong


def set_authority(
    channel: ChannelBooks, command: ac.SetAuthority | ac.DeleteAuthority | ac.RefreshSecurity
) -> Steps[int]:
    """Change authority records, or what they allow; return how many were deleted, or closed."""
    return (yield from ask(channel, command, Done)).count


class AuthorityAdministration(ChannelRuleAdministration):
    """What a connection offers to administrators of authorities and of channels' rules."""

    _channel: ChannelBooks

    @Verb
    def set_authority(
        self,
        profile: str,
        object_type: str = QUEUE,
        *,
        users: Iterable[str] = (),
        groups: Iterable[str] = (),
        add: Iterable[str] = (),
        remove: Iterable[str] = (),
    ) -> Steps[None]:
        """Give users and groups authorities on objects, or take them away (SET AUTHREC).

        profile: the name of an object, or one with wildcards: ? is one character, * any number of
        them between two dots, ** any number of parts between dots. Of a user and of a group the
        most specific profile counts. object_type: "queue", "qmgr", "topic", ... add, remove: words
        of IBM MQ, such as "put", "get", "browse", "all"; to add "none" takes all others away. Who
        has no record of the profile has one then. Raises InvalidOption, InvalidAttribute,
        InvalidName.
        """
        added, removed = list(a.as_many("add", add)), list(a.as_many("remove", remove))
        if any(str(word).lower() == "none" for word in added):
            removed.append("all")
        yield from set_authority(
            self._channel,
            ac.SetAuthority(
                a.as_text("profile", profile),
                object_type,
                a.as_names(users, "user"),
                a.as_names(groups, "group"),
                _bits(object_type, added),
                _bits(object_type, removed),
            ),
        )

    @Verb
    def delete_authority(
        self,
        profile: str,
        object_type: str = QUEUE,
        *,
        users: Iterable[str] = (),
        groups: Iterable[str] = (),
    ) -> Steps[int]:
        """Delete the records that users and groups have of a profile (DELETE AUTHREC); how many.

        Raises ObjectNotFound.
        """
        names = a.as_names(users, "user"), a.as_names(groups, "group")
        kind = a.as_text("object_type", object_type)
        command = ac.DeleteAuthority(a.as_text("profile", profile), kind, *names)
        return (yield from set_authority(self._channel, command))

    @Verb
    def refresh_security(self) -> Steps[int]:
        """Close what is open without the authority that it needs now (REFRESH SECURITY); how much.

        Handles are closed; what was got and put by them stays in its unit. Connections whose user
        may not connect any more are ended, and their units backed out.
        """
        return (yield from set_authority(self._channel, ac.RefreshSecurity()))

    @Verb
    def set_role(
        self,
        role: str,
        profile: str = "",
        *,
        users: Iterable[str] = (),
        groups: Iterable[str] = (),
        revoke: bool = False,
    ) -> Steps[None]:
        """Give users and groups all authorities of a role, or with revoke take them away.

        role: "app-put", "app-get" (both of the queues that profile means), "monitor", "operator",
        "admin" (all of every object). What app-put and app-get have of the queue manager stays when
        they are revoked: other queues may need it. Raises InvalidOption.
        """
        names = a.as_names(users, "user"), a.as_names(groups, "group")
        takes_away = a.as_flag("revoke", revoke)
        for part in parts_of(role, a.as_text("profile", profile)):
            bits = _bits(part.object_type, part.words)
            if takes_away and part == _CONNECT:
                continue
            given = (0, bits) if takes_away else (bits, 0)
            command = ac.SetAuthority(part.profile or "", part.object_type, *names, *given)
            yield from set_authority(self._channel, command)

    @Verb
    def authorities(
        self,
        profile: str = "",
        object_type: str = "",
        *,
        user: str = "",
        group: str = "",
        of: ac.Selection = "records",
    ) -> Steps[AuthorityRecords]:
        """Return the authority records that fit (DISPLAY AUTHREC), and whether they count.

        of: "records", those of this profile; "matching", those whose profile means an object of
        this name; "members", likewise, and those that a user has as everyone has them.
        """
        command = ac.InquireAuthorities(
            *(a.as_text("profile", profile), a.as_text("object_type", object_type)),
            a.as_text("group", group) or a.as_text("user", user),
            bool(group),
            cast("ac.Selection", a.plain_value(of)),
        )
        return (yield from ask(self._channel, command, AuthorityRecords))

    @Verb
    def explain_authority(
        self, user: str, name: str, object_type: str = QUEUE, *, groups: Iterable[str] = ()
    ) -> Steps[AuthorityExplained]:
        """Return what a user may do with an object, and the records that say so.

        groups: of the user in the operating system, which the queue manager knows only while the
        user is connected; those of its file of groups count in any case.
        """
        given = a.as_text("user", user), a.as_text("object_type", object_type)
        command = ac.ExplainAuthority(*given, a.as_text("name", name), a.as_names(groups, "group"))
        return (yield from ask(self._channel, command, AuthorityExplained))

    @Verb
    def authority_pointers(
        self, user: str = "", *, group: str = "", groups: Iterable[str] = ()
    ) -> Steps[PointersFound]:
        """Return which objects lead a user, or a group, to what it has no right to.

        groups: of the user in the operating system, a directory or a token, as those of
        explain_authority(): their rights count as the user's.

        An alias, a backout queue, a service and other objects that point to another one hand on
        what that one can do. What was defined before mqk asked for rights on the target, or by an
        administrator, may lead further than the rights of who uses it: each such object is here
        with what these do not have.
        """
        names = a.as_text("group", group), a.as_text("user", user)
        of_user = a.as_names(groups, "group")
        if group and of_user:
            raise InvalidOption("groups are those of a user: give user, or group alone")
        command = ac.InquirePointers(names[0] or names[1], bool(group), of_user)
        return (yield from ask(self._channel, command, PointersFound))
