"""The owner hears of groups that have changed, while it serves."""

import asyncio
from pathlib import Path
from unittest.mock import Mock

from adapter.runtime.owner.owner import Owner
from adapter.server.access.groups import UserGroups, write
from adapter.server.services.groups import GroupService


def test_the_owner_is_told_while_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "groups"
    write(path, {"staff": ["ann"]})
    owner, told = Mock(Owner, running=False), asyncio.Event()
    owner.term.know_groups.side_effect = lambda _: told.set()
    groups = UserGroups(path)
    service = GroupService(groups, owner)

    async def live() -> None:
        service._know({"ann": ("staff",)})
        assert not owner.term.know_groups.called
        owner.running = True
        await service.prepare()
        write(path, {"tills": ["ann", "bob"]})
        await asyncio.wait_for(told.wait(), 10)
        await service.stop()

    asyncio.run(live())
    owner.term.know_groups.assert_called_once_with({"ann": ("tills",), "bob": ("tills",)})
