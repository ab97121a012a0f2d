"""Replies: what is answered to whom, once it is durable."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from adapter.core.contract.results import Messages, Result


class Reply:
    """What to answer to which request. after: the entry that must be durable first; -1: none."""

    __slots__ = ("after", "connection", "request", "result")

    def __init__(self, connection: int, request: int, result: Result, after: int = -1) -> None:
        self.connection = connection
        self.request = request
        self.result = result
        self.after = after


def note_time(replies: Iterable[Reply], now_ms: int) -> None:
    """Say what time it is with messages that have an end: the clock of their client may be another.

    Answers that are kept, to be given again, stay as they are.
    """
    for reply in replies:
        found = reply.result
        if type(found) is Messages and any(one.message.expires_at_ms for one in found.messages):
            reply.result = replace(found, now_ms=now_ms)
