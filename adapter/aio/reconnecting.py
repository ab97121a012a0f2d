"""Calls of on_reconnect= in a task of its own. This module makes no link."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from typing import Generic
from weakref import ref

from adapter.client.reconnecting import (
    ConnectionT,
    OnReconnect,
    log_failed_call,
    reconnection,
)
from adapter.connection.channel.link.port import NewLink, NoLink


class TaskReconnects(Generic[ConnectionT]):
    """Calls a function or coroutine function of the program for each new link of a connection.

    The task lives as long as there is something to call, one call after the other. The task that
    makes links has no part in it: so a call may wait for verbs while the link is lost once more.
    The connection is not kept: that task, which keeps this, is to end when the program drops it.
    """

    def __init__(self, call: OnReconnect[ConnectionT], connection: ConnectionT) -> None:
        self._call = call
        self._find = ref(connection)
        self._links: deque[NewLink] = deque()
        self._task: asyncio.Task[None] | None = None

    def note(self, link: NewLink | NoLink | None) -> None:
        """Have the function called if there is a new link; in the event loop."""
        if not isinstance(link, NewLink):
            return
        self._links.append(link)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._make_calls(), name="on-reconnect")

    def end(self) -> None:
        """Call no more, and cancel the call under way, unless that is what closes."""
        self._links.clear()
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()

    async def _make_calls(self) -> None:
        while self._links and (connection := self._find()) is not None:
            event = reconnection(connection, self._links.popleft())
            del connection
            try:
                called = self._call(event)
                if inspect.isawaitable(called):
                    await called
            except Exception as error:  # noqa: BLE001 -- it is the program's, and logged
                log_failed_call(error)
