"""Replies: what is answered to whom, once it is durable."""

from __future__ import annotations

from adapter.core.contract.results import Result


class Reply:
    """What to answer to which request. after: the entry that must be durable first; -1: none."""

    __slots__ = ("after", "connection", "request", "result")

    def __init__(self, connection: int, request: int, result: Result, after: int = -1) -> None:
        self.connection = connection
        self.request = request
        self.result = result
        self.after = after
