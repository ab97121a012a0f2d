"""A get that waits for a message: soft state, owned by core so that it is served fairly."""

from __future__ import annotations

from msgspec import Struct

from adapter.core.commands import Get, Request


class Waiter(Struct, eq=False):
    """One waiting get. deadline_ms is 0 if it waits without limit; ended: answered or gone."""

    request: Request
    command: Get
    deadline_ms: int
    ended: bool = False
