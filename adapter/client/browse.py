"""Browse: an iterator over what is on a queue. Its place survives a lost connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct

from adapter.client.context import Context
from adapter.client.conversion import shown
from adapter.client.handles import QueueHandles
from adapter.client.message import Message
from adapter.connection.channel import requests as rq
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Handle, Pending, StartOver
from adapter.connection.channel.unit import AnyUnit, NoUnit
from adapter.connection.channel.verbs import close_handles, open_handle
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Messages
from adapter.errors import InvalidOption, NotOpen

BATCH = 100  # messages a request: a slow reader is shown what was there a batch ago
SHARED = c.BROWSE | c.CO_OP
NO_WAIT_SHARED = "a browse with cooperate=True takes no timeout"

Remove = Callable[[tuple[int, int, int], bytes, AnyUnit | NoUnit | None], bool]
"""Get the message at a place that has this id, in a unit; whether it was there."""


class BrowsedMessage(Message, kw_only=True):
    """A message that is still on its queue, or was when it was browsed."""

    remover: Callable[[AnyUnit | NoUnit | None], bool]
    unmarker: Callable[[], object] = lambda: None

    def remove(self, unit: AnyUnit | NoUnit | None = None) -> bool:
        """Get it off the queue, in a unit like any get; False if it is not there any more."""
        return self.remover(unit)

    def unmark(self) -> None:
        """Let those that cooperate be shown it again, before its mark is over by itself."""
        self.unmarker()


class Browsing(Struct, frozen=True):
    """What is browsed: a queue, the ids that are wanted, and the selection.

    handles: those of the queue object. remover: gets a message that was shown.
    """

    context: Context
    handles: QueueHandles
    name: str
    wanted: tuple[bytes, bytes, bytes]
    remover: Remove
    selection: str

    def is_closed(self) -> bool:
        """Whether the queue object, or its connection, has been closed."""
        return self.handles.closing.is_set() or self.context.channel.is_closed

    def new_handle(self, modes: int) -> Handle:
        """Draw a handle for one browse."""
        handle = self.context.channel.new_handle(self.name, modes)
        handle.selection = self.selection
        return handle

    def show(self, delivered: Delivered) -> BrowsedMessage:
        """Return a message as the program is shown it."""
        place = (delivered.lane, delivered.seq, delivered.n)
        this = partial(self.remover, place, delivered.message.message_id)
        return shown(partial(BrowsedMessage, remover=this), delivered, self.context.schemas)


class BrowsePlace:
    """How far a browse has come: a lost connection has it begin again at the first message."""

    def __init__(self) -> None:
        self._of: tuple[str, int] | None = None
        self._last: tuple[int, int, int] | None = None

    def note_queue(self, origin: tuple[str, int]) -> None:
        """Note of which queue an answer is, see Handle.origin: of another nothing was shown."""
        if origin != self._of:
            self._of, self._last = origin, None

    def is_next(self, delivered: Delivered) -> bool:
        """Whether a message is behind all that were shown; it is shown then."""
        place = (-delivered.lane, delivered.seq, delivered.n)
        if self._last is not None and place <= self._last:
            return False
        self._last = place
        return True


class BrowsePlaces:
    """How far a browse has come that waits for further messages: a place for each lane, so that
    what arrives with a higher priority is shown too. They are places of one queue, which a lost
    connection may have replaced by another of its name.
    """

    def __init__(self) -> None:
        self._of: tuple[str, int] | None = None
        self._seen: dict[int, tuple[int, int, int]] = {}

    def tell(self, command: c.Browse) -> None:
        """Have a command show what was not shown."""
        command.seen, command.seen_of = list(self._seen.values()), self._of

    def note_queue(self, origin: tuple[str, int]) -> None:
        """Note of which queue an answer is, see Handle.origin: of another nothing was shown."""
        if origin != self._of:
            self._of = origin
            self._seen.clear()

    def note_shown(self, delivered: Delivered) -> None:
        """Note that a message was shown."""
        self._seen[delivered.lane] = (delivered.lane, delivered.seq, delivered.n)


def choose(of: Browsing, wait_ms: int, is_shared: bool) -> Iterator[BrowsedMessage]:
    """Browse in one of three ways; -1: wait without limit."""
    if not wait_ms:
        return iterate_shared(of) if is_shared else iterate(of)
    if is_shared:
        raise InvalidOption(NO_WAIT_SHARED, of.name)
    return follow(of, wait_ms)


def iterate(of: Browsing) -> Iterator[BrowsedMessage]:
    """Iterate over a queue's messages, under a handle of its own."""
    channel = of.context.channel
    handle, shown = of.new_handle(c.BROWSE), BrowsePlace()
    try:
        open_handle(channel, of.name, c.BROWSE, handle)
        while not of.is_closed():
            found = _ask(channel, handle, c.Browse(handle.number, False, BATCH, *of.wanted))
            if found is None:
                continue  # the cursor is before the first message again; what was shown is not
            if not found:
                return
            shown.note_queue(handle.origin)
            yield from map(of.show, filter(shown.is_next, found))
        channel.check_process()
    finally:
        close_opened(channel, handle)


def follow(of: Browsing, wait_ms: int) -> Iterator[BrowsedMessage]:
    """Iterate over a queue's messages, and wait for each further one; -1: without limit.

    Closing the queue object ends the wait.
    """
    channel = of.context.channel
    handle = of.new_handle(c.BROWSE)
    places = BrowsePlaces()
    try:
        open_handle(channel, of.name, c.BROWSE, handle)
        of.handles.add(handle)
        while not of.handles.closing.is_set():
            command = c.Browse(handle.number, False, BATCH, *of.wanted, wait_ms=wait_ms)
            places.tell(command)
            found = _await(channel, handle, command, of.handles)
            if not found:
                return
            places.note_queue(handle.origin)
            for delivered in found:
                places.note_shown(delivered)
                yield of.show(delivered)
        channel.check_process()
    finally:
        of.handles.forget(handle)
        close_opened(channel, handle)


def _await(
    channel: Channel, handle: Handle, command: c.Browse, handles: QueueHandles
) -> list[Delivered]:
    """Browse, also over another connection; nothing if the queue object is closed meanwhile."""
    request = Pending(command, handle=handle)
    if command.wait_ms > 0:
        request.wait_until_s = time.monotonic() + command.wait_ms / 1000
    try:
        channel.ask([request])
        return channel.result(request, Messages).messages
    except NotOpen:
        if handles.closing.is_set():
            return []
        raise


def iterate_shared(of: Browsing) -> Iterator[BrowsedMessage]:
    """Iterate over the messages that no other program that cooperates was shown."""
    channel = of.context.channel
    handle = of.new_handle(SHARED)
    try:
        open_handle(channel, of.name, SHARED, handle)
        while not of.is_closed():
            found = _ask(channel, handle, shared_command(handle, of.wanted))
            if found is None:
                continue  # what it had marked may be shown again
            if not found:
                return
            place = (found[0].lane, found[0].seq, found[0].n)
            shown = of.show(found[0])
            shown.unmarker = partial(_ask, channel, handle, unmark_command(handle, place))
            yield shown
        channel.check_process()
    finally:
        close_opened(channel, handle)


def close_opened(channel: Channel, handle: Handle) -> None:
    """Close the handle of a browse, unless it could not be opened."""
    if handle.is_open:
        close_handles(channel, [handle])


def shared_command(handle: Handle, wanted: tuple[bytes, bytes, bytes]) -> c.Browse:
    """Make the command that marks and returns a message which no mark keeps from being shown."""
    return c.Browse(handle.number, True, 1, *wanted, options=c.UNMARKED | c.MARK_CO_OP)


def unmark_command(handle: Handle, place: tuple[int, int, int]) -> c.Browse:
    """Make the command that takes a mark away; a lost connection has done that already."""
    return c.Browse(handle.number, options=c.UNMARK_CO_OP, place=place)


def _ask(channel: Channel, handle: Handle, command: c.Browse) -> list[Delivered] | None:
    """Browse; None if the connection was lost, and with it the cursor and what was marked."""
    request = Pending(command, rq.FROM_START, handle=handle)
    channel.ask([request])
    if isinstance(request.answer, StartOver):
        return None
    return channel.result(request, Messages).messages
