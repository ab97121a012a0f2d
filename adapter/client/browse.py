"""Browse: an iterator over what is on a queue. Its place survives a lost connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from adapter.channel import requests as rq
from adapter.channel.channel import Channel
from adapter.channel.requests import Handle, Pending, StartOver
from adapter.channel.unit import AnyUnit, NoUnit
from adapter.channel.verbs import close_handles, open_handle
from adapter.client.context import Context
from adapter.client.message import Message, got, readable
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Messages

BATCH = 100  # messages a request: a slow reader is shown what was there a batch ago

Remove = Callable[[tuple[int, int, int], bytes, AnyUnit | NoUnit | None], bool]
"""Get the message at a place that has this id, in a unit; whether it was there."""


class BrowsedMessage(Message, kw_only=True):
    """A message that is still on its queue, or was when it was browsed."""

    remover: Callable[[AnyUnit | NoUnit | None], bool]
    unmarker: Callable[[], None] = lambda: None

    def remove(self, unit: AnyUnit | NoUnit | None = None) -> bool:
        """Get it off the queue, in a unit like any get; False if it is not there any more."""
        return self.remover(unit)

    def unmark(self) -> None:
        """Let those that cooperate be shown it again, before its mark is over by itself."""
        self.unmarker()


def browsed(
    context: Context,
    name: str,
    wanted: tuple[bytes, bytes, bytes],
    remover: Remove,
    is_closed: Callable[[], bool],
    selection: str,
) -> Iterator[BrowsedMessage]:
    """Iterate over a queue's messages, under a handle of its own."""
    channel = context.channel
    handle = open_handle(channel, name, c.BROWSE, selection=selection)
    last: tuple[int, int, int] | None = None
    try:
        while not is_closed():
            found = _ask(channel, handle, c.Browse(handle.number, False, BATCH, *wanted))
            if found is None:
                continue  # the cursor is before the first message again; what was shown is not
            if not found:
                return
            for delivered in found:
                place = (-delivered.lane, delivered.seq, delivered.n)
                if last is None or place > last:
                    last = place
                    place = (delivered.lane, delivered.seq, delivered.n)
                    this = partial(remover, place, delivered.message.message_id)
                    shown = BrowsedMessage(remover=this, **got(delivered))
                    yield readable(shown, context.schemas)
        channel.check_process()
    finally:
        close_handles(channel, [handle])


def shared(
    context: Context,
    name: str,
    wanted: tuple[bytes, bytes, bytes],
    remover: Remove,
    is_closed: Callable[[], bool],
    selection: str,
) -> Iterator[BrowsedMessage]:
    """Iterate over the messages that no other program that cooperates was shown."""
    channel = context.channel
    handle = open_handle(channel, name, c.BROWSE | c.CO_OP, selection=selection)
    try:
        while not is_closed():
            options = c.UNMARKED | c.MARK_CO_OP
            command = c.Browse(handle.number, True, 1, *wanted, options=options)
            found = _ask(channel, handle, command)
            if found is None:
                continue  # what it had marked may be shown again
            if not found:
                return
            place = (found[0].lane, found[0].seq, found[0].n)
            this = partial(remover, place, found[0].message.message_id)
            unmark = partial(_unmark, channel, handle, place)
            shown = BrowsedMessage(remover=this, unmarker=unmark, **got(found[0]))
            yield readable(shown, context.schemas)
        channel.check_process()
    finally:
        close_handles(channel, [handle])


def _unmark(channel: Channel, handle: Handle, place: tuple[int, int, int]) -> None:
    """Take a mark away; a lost connection has done that already."""
    _ask(channel, handle, c.Browse(handle.number, options=c.UNMARK_CO_OP, place=place))


def _ask(channel: Channel, handle: Handle, command: c.Browse) -> list[Delivered] | None:
    """Browse; None if the connection was lost, and with it the cursor and what was marked."""
    request = Pending(command, rq.FROM_START, handle=handle)
    channel.ask([request])
    if isinstance(request.answer, StartOver):
        return None
    return channel.result(request, Messages).messages
