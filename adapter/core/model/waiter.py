"""A get or a browse that waits: soft state, owned by core so that it is served fairly."""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.commands import Browse, Get, Request


class Waiter(Struct, eq=False):
    """One waiting get or browse. deadline_ms: 0 is without limit; ended: answered or gone."""

    request: Request
    command: Get | Browse
    deadline_ms: int
    ended: bool = False
