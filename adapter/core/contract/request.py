"""A request: a client's command, and what the server adds to it.

It never leaves the process. Compiled code reads a class with slots much faster than a Struct, and
the commands are in a module of their own because a module that holds Structs with keywords is not
compiled.
"""

from __future__ import annotations

from typing import Any


class Request:
    """A command with what the server adds: who asks, and under which number.

    request: 0 for a one-way operation, which is not answered. number: 0, or the number of a durable
    command in the client's session. command: one of the union Command. now_ms: when core decided it
    last, the time of day; core notes it, because it may keep a request and decide it again.
    """

    __slots__ = ("command", "connection", "now_ms", "number", "request")

    def __init__(
        self, connection: int, request: int, number: int, command: Any, now_ms: int = 0
    ) -> None:
        self.connection = connection
        self.request = request
        self.number = number
        self.command = command
        self.now_ms = now_ms
