"""What programs do, as the auditor is told of it: messages and operations.

It imports nothing of the product.
"""

from __future__ import annotations


class Message:
    """What was put. It never changes."""

    __slots__ = ("body", "correlation", "expires_ms", "group", "hard", "last", "number", "priority")

    def __init__(
        self,
        body: str,
        priority: int,
        hard: bool,
        expires_ms: int = 0,
        correlation: str = "",
        group: str = "",
        number: int = 1,
        last: bool = False,
    ) -> None:
        self.body = body
        self.priority = priority
        self.hard = hard
        self.expires_ms = expires_ms
        self.correlation = correlation
        self.group = group
        self.number = number
        self.last = last

    def is_over(self, now_ms: int) -> bool:
        """Whether its time is over."""
        return 0 < self.expires_ms <= now_ms

    def __repr__(self) -> str:
        return f"{self.body}{'' if self.hard else '~'}"


class Op:
    """One operation of a client. number: 0, or the number under which it may come again."""

    __slots__ = (
        "body",
        "client",
        "correlation",
        "flag",
        "full",
        "gone",
        "group",
        "index",
        "kind",
        "limit",
        "messages",
        "now_ms",
        "number",
        "place",
        "queue",
        "stuck",
        "unit",
        "wait_ms",
        "whole",
    )

    def __init__(
        self,
        client: str,
        kind: str,
        now_ms: int,
        *,
        number: int = 0,
        unit: str = "",
        queue: str = "",
        messages: tuple[Message, ...] = (),
        limit: int = 1,
        body: str = "",
        correlation: str = "",
        group: str = "",
        place: str = "",
        flag: bool = False,
        wait_ms: int = 0,
        whole: bool = False,
    ) -> None:
        self.index = 0
        self.gone: tuple[tuple[str, str], ...] = ()
        """(queue, body) of what was discarded by it because its time was over."""
        self.stuck: frozenset[int] = frozenset()
        """Indexes of the waiting gets that are not looked at yet, nor those that came after."""
        self.full: frozenset[int] = frozenset()
        """Of those that are passed over until their client says what it has seen."""
        self.client = client
        self.kind = kind
        self.now_ms = now_ms
        self.number = number
        self.unit = unit
        self.queue = queue
        self.messages = messages
        self.limit = limit
        self.body = body
        self.correlation = correlation
        self.group = group
        self.place = place
        self.flag = flag
        self.wait_ms = wait_ms
        self.whole = whole

    def fits(self, message: Message) -> bool:
        """Whether the ids that were asked for are the message's."""
        return (
            (not self.body or self.body == message.body)
            and (not self.correlation or self.correlation == message.correlation)
            and (not self.group or self.group == message.group)
        )

    def __repr__(self) -> str:
        told = ((name, getattr(self, name, None)) for name in self.__slots__)
        return " ".join(f"{name}={value}" for name, value in told if value)
