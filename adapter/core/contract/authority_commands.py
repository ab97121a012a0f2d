"""The commands on authority records.

What an authority is: contract.authorities. This module does not know who has one.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from adapter.core.contract.bounds import ELEMENTS_MAX

Names = Annotated[list[str], Meta(max_length=ELEMENTS_MAX)]
Selection = Literal["records", "matching", "members"]
"""What of InquireAuthorities may be."""


class SetAuthority(Struct, array_like=True, tag=51):
    """Give users and groups authorities on what a profile means, or take them (SET AUTHREC).

    Durable. object_type, add, remove: see contract.authorities. What is both added and removed is
    removed. Who had no record of this profile has one by it, even with no authority.
    """

    profile: str
    object_type: str
    users: Names = []
    groups: Names = []
    add: int = 0
    remove: int = 0


class DeleteAuthority(Struct, array_like=True, tag=52):
    """Delete the records that users and groups have of a profile (DELETE AUTHREC). Durable."""

    profile: str
    object_type: str
    users: Names = []
    groups: Names = []


class InquireAuthorities(Struct, array_like=True, tag=53):
    """Ask for authority records. What is empty selects nothing.

    profile: what a record's profile is, or what its profile means, see of. entity: a user, or with
    is_group a group. of: "records", whose profile is this one; "matching", whose profile means an
    object of this name; "members", of what the user of this name has: also by its groups.
    """

    profile: str = ""
    object_type: str = ""
    entity: str = ""
    is_group: bool = False
    of: str = "records"


class ExplainAuthority(Struct, array_like=True, tag=54):
    """Ask what a user may do with an object, and which records say so.

    groups: of the user. The answer is AuthorityExplained.
    """

    user: str
    object_type: str
    name: str
    groups: Names = []


class InquirePointers(Struct, array_like=True, tag=58):
    """Ask which objects lead a user, or with is_group a group, to what it has no right to.

    groups: of the user. The answer is PointersFound.
    """

    entity: str
    is_group: bool = False
    groups: Names = []


class PermissionChange(Struct, array_like=True):
    """What becomes of what a user or a group has on one object by the object's own name.

    keep: the bits that stay, of those that it had. add: those that it has beside them. Who has none
    then has no record of the object: what a less specific profile says counts again.
    """

    entity: str
    is_group: bool = False
    keep: int = 0
    add: int = 0


Changes = Annotated[list[PermissionChange], Meta(max_length=ELEMENTS_MAX)]
"""One after the other, all or none."""


class RefreshSecurity(Struct, array_like=True, tag=55):
    """Close what is open without the authority that it needs now (REFRESH SECURITY). Durable.

    The answer counts the handles that are closed, and the connections that are ended.
    """
