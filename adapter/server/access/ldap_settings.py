"""The settings ldap_* of a queue manager: which directory knows its users. It asks none."""

from __future__ import annotations

from msgspec import Struct


class LdapSettings(Struct, kw_only=True, frozen=True):
    """A directory of users. server: its URL, "" for none. ca: file of its authorities, "" for those
    that the system trusts. user_dn: the name of a user's entry, with {} for the user. group_base:
    where groups are, "" for no groups. group_filter: which of them a user is in, with {dn} and
    {user}. group_attribute: what of a group is its name.
    """

    server: str = ""
    ca: str = ""
    user_dn: str = ""
    group_base: str = ""
    group_filter: str = "(member={dn})"
    group_attribute: str = "cn"
