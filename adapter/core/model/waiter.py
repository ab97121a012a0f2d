"""A get or a browse that waits: soft state, owned by core so that it is served fairly."""

from __future__ import annotations

from adapter.core.contract.commands import Browse, Get, Request


class Waiter:
    """One waiting get or browse. deadline_ms: 0 is without limit; ended: answered or gone."""

    __slots__ = ("command", "deadline_ms", "ended", "request")

    def __init__(self, request: Request, command: Get | Browse, deadline_ms: int) -> None:
        self.request = request
        self.command = command
        self.deadline_ms = deadline_ms
        self.ended = False
