"""The handles of one queue object: opened when first needed, and closed with the object.

This module does not know what is put or got by a handle.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import ClassVar, Final, Literal, get_args

from adapter.client.producing import TOPIC_CLOSED, topic_handle, topic_refusals
from adapter.connection.channel import arguments as a
from adapter.connection.channel.cancelling import CancelToken
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.flag import Flag
from adapter.connection.channel.forking import is_mine, new_lock
from adapter.connection.channel.requests import Handle
from adapter.connection.channel.verbs import close_handles, leave_open, open_handle
from adapter.core.contract import commands as c
from adapter.errors import InvalidOption, NotAuthorized, NotOpen

OpenFor = Literal["input", "input_exclusive", "output", "browse"]
_MODES: Final = {
    "input": c.INPUT,
    "input_exclusive": c.EXCLUSIVE,
    "output": c.OUTPUT,
    "browse": c.BROWSE,
}
LOOK_S: Final = 0.2
"""A loop that pauses looks so often whether its connection was closed."""
IN_ORDER: Final = 1 << 32
"""Beside its modes, of the handle for logical order: other puts by it would end its group."""
_SELECTIVE: Final = (c.INPUT, c.EXCLUSIVE, c.BROWSE)


def modes_of(open_for: object, name: str) -> int:
    """Return the modes that a queue is opened with for a use of it; InvalidOption if unknown."""
    use = a.as_text("open_for", open_for)
    if use not in _MODES:
        raise InvalidOption(
            f"open_for is one of {', '.join(get_args(OpenFor))}, not {a.shown(open_for)}", name
        )
    return _MODES[use]


def token_of(
    cancel: CancelToken | None, name: str, modes: int, options: int = 0
) -> CancelToken | None:
    """Take a token or None; InvalidOption for a token, if what it is to end has to go by the same
    handle as others.

    modes: by which the queue object gets otherwise. options: of the get.
    """
    token = a.as_cancel(cancel)
    if token is not None and (modes == c.EXCLUSIVE or options & c.LOGICAL_ORDER):
        raise InvalidOption(
            "what cancel= ends has a handle of its own, so that it goes with neither "
            "logical_order nor open_for='input_exclusive': close the queue object to end it",
            name,
        )
    return token


class QueueHandles:
    """One handle for each way of opening a queue. Every method may be called from any thread."""

    _closed: ClassVar[str] = "queue {name} is closed: open it again with queue()"

    def __init__(self, channel: Channel, selection: str) -> None:
        """selection: of the handles that messages are got or browsed by."""
        self._channel = channel
        self.lock = new_lock()
        """Held while a handle is opened."""
        self.closing = Flag()
        self._selection = selection
        self._open: dict[int, Handle] = {}
        self._in_order = c.OUTPUT | c.SET_CONTEXT
        """The modes of the handle for what is put in logical order."""

    def __del__(self) -> None:
        if getattr(self, "_open", None):  # else nothing is open, or a signal handler has raised
            self._channel.let_go(self._open)

    def check_open(self, name: str) -> None:
        """Refuse to go on with a queue object that has been closed, or is a parent process's."""
        self._channel.check_process()
        if self.closing.is_set():
            raise NotOpen(self._closed.format(name=name), name)

    def get(self, name: str, modes: int, use: int = 0) -> Handle:
        """Return an open handle of a queue, opening it if need be. use: 0 or IN_ORDER."""
        key = modes | use
        handle = self._open.get(key)
        if handle is not None and handle.is_open:
            return handle
        self._channel.refuse_reentry(self.lock)
        with self.lock:
            self.check_open(name)
            handle = self._open.get(key)
            if handle is None or not handle.is_open:
                if handle is None or handle.queue != name:  # a subscription has another queue now
                    handle = self._new(name, modes)
                self._keep_open(name, key, handle)
        if self.closing.is_set():  # by a signal handler meanwhile, which could not wait for this
            self.close()
            self.check_open(name)
        return handle

    def _keep_open(self, name: str, key: int, handle: Handle) -> None:
        """Open a queue, under a new handle or one that has lost it."""
        try:
            self._open_by(name, handle)
            self._open[key] = handle
        except BaseException as error:
            if self._channel.was_interrupted(error):
                leave_open(self._channel, [handle])
            raise

    def _new(self, name: str, modes: int) -> Handle:
        handle = self._channel.new_handle(name, modes)
        handle.selection = self._selection if modes in _SELECTIVE else ""
        return handle

    def _open_by(self, name: str, handle: Handle) -> None:
        open_handle(self._channel, name, handle.modes, handle)

    def output(self, name: str, options: int) -> Handle:
        """Return an open handle for a put with these options: it may set the context that the put
        asks for, and no more.

        What is put in logical order has to go by one handle of its own, whatever a later message of
        the group says of who has put it. So that one may set all context, if the user may.
        """
        modes = c.OUTPUT | options & c.SET_CONTEXT
        if options & c.LOGICAL_ORDER:
            with suppress(NotAuthorized):
                return self.get(name, self._in_order, IN_ORDER)
            handle = self.get(name, modes, IN_ORDER)
            self._in_order = modes
            return handle
        return self.get(name, modes)

    def add(self, handle: Handle) -> None:
        """Have close() close a handle that a browse which waits has opened for itself."""
        self._open[-handle.number] = handle

    def forget(self, handle: Handle) -> None:
        """Leave the closing of such a handle to the browse."""
        self._open.pop(-handle.number, None)

    def make_input(self, name: str) -> Handle:
        """Make a handle for one get, which opens it; closing the handle ends the wait."""
        self.check_open(name)
        handle = self._channel.new_handle(name, c.INPUT)
        handle.selection = self._selection
        return handle

    def pause(self, seconds: float) -> bool:
        """Sleep, but not beyond the close of the queue or connection; return whether that came."""
        until_s = time.monotonic() + seconds
        while not (is_closed := self.closing.is_set() or self._channel.is_closed):
            left_s = until_s - time.monotonic()
            if left_s <= 0:
                break
            self.closing.wait(min(left_s, LOOK_S))
        return is_closed

    def close_soon(self) -> None:
        """Have every handle closed, and do not wait for it; none is opened any more."""
        self.closing.set()
        self._channel.close_soon(list(self._open.values()))

    def close(self) -> None:
        """Close every handle; none is opened any more."""
        self.closing.set()
        if self._channel.is_inside or is_mine(self.lock):  # in a signal handler: it cannot wait
            self.close_soon()
            return
        with self.lock:
            handles = list(self._open.values())
            self._open.clear()
        if not self._channel.is_closed:
            close_handles(self._channel, handles)


class TopicHandles(QueueHandles):
    """The handle of the queue whose messages are written to a topic, by the topic's name."""

    _closed: ClassVar[str] = TOPIC_CLOSED

    def __init__(self, channel: Channel) -> None:
        super().__init__(channel, "")

    def _new(self, name: str, modes: int) -> Handle:
        return topic_handle(self._channel, name, modes)

    def _open_by(self, name: str, handle: Handle) -> None:
        with topic_refusals(name):
            super()._open_by(name, handle)
