"""The groups of users of a file, as the owner is told of them while it serves.

This module must not know what groups may do.
"""

from __future__ import annotations

from adapter.runtime.owner.owner import Owner
from adapter.server.access.groups import GroupsByUser, UserGroups
from adapter.server.process.parts import Part


class GroupService(Part):
    """Tells the owner of groups that have changed."""

    def __init__(self, groups: UserGroups, owner: Owner) -> None:
        self._groups = groups
        self._owner = owner

    async def prepare(self) -> None:
        self._groups.watch(self._know, self._owner.broke)

    async def stop(self) -> None:
        self._groups.stop()

    def _know(self, by_user: GroupsByUser) -> None:
        if self._owner.running:
            self._owner.term.know_groups(by_user)
