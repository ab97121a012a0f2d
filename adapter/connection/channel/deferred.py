"""Deferred puts: kept in the client, and sent with the unit's next verb that waits.

Theory. Inside a unit no put takes effect before the commit, so that a program can do without the
answer of each. A message is encoded at once, kept, and goes out in a one-way put before the next
waiting verb of its unit, in the same frame; the queue manager executes a frame in order. Messages
that follow each other by the same handle are one put, as those of put_many(): deciding it costs a
fraction of what as many puts cost. A unit of puts and their commit is thus one frame and one
answer. The first deferred put that is refused refuses the unit's commit, which backs the unit out;
so no put is lost without an error, and it makes no difference which of its messages was refused.

Each kept put refers to the object whose handle it uses, so that the garbage collector does not have
the handle closed before the put is sent; whatever closes handles sends kept puts first.

What is kept is bounded: beyond that it is sent without a verb. One-way operations go out on the
link in use or not at all: if that link is lost, the unit is gone with it anyway.

Any thread may add puts to a unit: so they are joined only when they are taken out to be sent. This
module does not know what becomes of a put.
"""

from __future__ import annotations

from collections import deque
from typing import Final, cast

from msgspec import Raw, structs

from adapter.connection.channel import requests as rq
from adapter.connection.channel.requests import Pending
from adapter.connection.wire.frames import FRAME_BYTES_MAX
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.errors import MessageTooLong

KEPT_BYTES_MAX: Final = 256 * 1024
"""A longer frame saves nothing more, and the queue manager begins later with it."""
KEPT_MAX: Final = 500
"""Puts: the same for small messages."""
LONGEST: Final = FRAME_BYTES_MAX - 2 * KEPT_BYTES_MAX
"""Beside it a frame has room for what is kept, and for the verb that it is sent with."""


class KeptPut:
    """A put of one message, and that message as it was. owner: of the put's handle."""

    __slots__ = ("message", "owner", "put")

    def __init__(self, put: c.Put, message: Raw, owner: object) -> None:
        self.put = put
        self.message = message
        self.owner = owner


class DeferredPuts:
    """The puts of one unit that have not been sent."""

    def __init__(self, longest: int = LONGEST) -> None:
        """longest: bytes of a message that a frame can carry, encoded."""
        self._longest = longest
        self._kept: deque[KeptPut] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, put: c.Put, owner: object) -> bool:
        """Keep a put of one message, as that is now, and the owner of its handle.

        Returns whether what is kept is to be sent now. Raises InvalidValue for what cannot be
        encoded, MessageTooLong for what no frame can carry.
        """
        (content,) = put.messages
        message = rq.encode(content)
        size = len(memoryview(message))
        if size > self._longest:
            raise MessageTooLong(
                f"the put has {size} bytes, {self._longest} is the most: send less at once"
            )
        self._kept.append(KeptPut(put, message, owner))
        self._bytes += size
        return self._bytes >= KEPT_BYTES_MAX or len(self._kept) >= KEPT_MAX

    def take_all(self) -> list[KeptPut]:
        """Take out what is kept, to be sent."""
        taken = []
        self._bytes = 0
        while self._kept:
            taken.append(self._kept.popleft())
        return taken

    def take_back(self, taken: list[KeptPut]) -> None:
        """Keep again what could not be sent, before what has been added since."""
        self._kept.extendleft(reversed(taken))
        self._bytes += sum(len(memoryview(one.message)) for one in taken)

    def clear(self) -> None:
        """Forget what is kept: the unit has ended."""
        self._kept.clear()
        self._bytes = 0


def join_puts(kept: list[KeptPut]) -> list[Pending]:
    """Return the requests that put what is kept, in its order."""
    requests: list[Pending] = []
    key: tuple[int, int, int, int] | None = None
    messages: list[Raw] = []
    for one in kept:
        put = one.put
        kind = put.handle, put.options, put.level, put.context
        if key != kind:
            key, messages = kind, []
            sent = structs.replace(put, messages=cast("list[MessageData]", messages))
            requests.append(Pending(sent, rq.FORGOTTEN, one_way=True))
        messages.append(one.message)
    return requests
