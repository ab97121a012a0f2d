"""Browse: an iterator over what is on a queue. Its place survives a lost connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from adapter.client import requests as rq
from adapter.client.channel import Channel
from adapter.client.message import Message, got, readable
from adapter.client.requests import Pending, StartOver
from adapter.client.unit import AnyUnit, NoUnit
from adapter.client.verbs import close_handles, open_handle
from adapter.core import commands as c
from adapter.core.results import Messages

BATCH = 100  # messages a request: a slow reader is shown what was there a batch ago

Remove = Callable[[tuple[int, int, int], bytes, AnyUnit | NoUnit | None], bool]
"""Get the message at a place that has this id, in a unit; whether it was there."""


class BrowsedMessage(Message, kw_only=True):
    """A message that is still on its queue, or was when it was browsed."""

    remover: Callable[[AnyUnit | NoUnit | None], bool]

    def remove(self, unit: AnyUnit | NoUnit | None = None) -> bool:
        """Get it off the queue, in a unit like any get; False if it is not there any more."""
        return self.remover(unit)


def browsed(
    channel: Channel,
    name: str,
    wanted: tuple[bytes, bytes, bytes],
    remover: Remove,
    is_closed: Callable[[], bool],
    selection: str,
) -> Iterator[BrowsedMessage]:
    """Iterate over a queue's messages, under a handle of its own."""
    handle = open_handle(channel, name, c.BROWSE, selection=selection)
    last: tuple[int, int, int] | None = None
    try:
        while not is_closed():
            command = c.Browse(handle.number, False, BATCH, *wanted)
            request = Pending(command, rq.FROM_START, handle=handle)
            channel.ask([request])
            if isinstance(request.answer, StartOver):
                continue  # the cursor is before the first message again; what was shown is not
            found = channel.result(request, Messages).messages
            if not found:
                return
            for delivered in found:
                place = (-delivered.lane, delivered.seq, delivered.n)
                if last is None or place > last:
                    last = place
                    place = (delivered.lane, delivered.seq, delivered.n)
                    this = partial(remover, place, delivered.message.message_id)
                    shown = BrowsedMessage(remover=this, **got(delivered))
                    yield readable(shown, channel.schemas)
    finally:
        close_handles(channel, [handle])
