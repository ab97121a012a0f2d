"""The task that shows new tokens; when one is due is said in connection/channel/renewal.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from adapter.connection.channel.renewal import TokenSchedule
from adapter.connection.channel.requests import Pending
from adapter.errors import Error


class RenewedByTask(Protocol):
    """A connection of tasks."""

    @property
    def is_closed(self) -> bool:
        """Whether close() has been called."""

    @property
    def is_connected(self) -> bool:
        """Whether there is a link, as far as is known."""

    async def ask(self, requests: list[Pending]) -> None:
        """Send requests in one frame and wait until each has an answer."""


async def keep_renewed(find: Callable[[], RenewedByTask | None], renewal: TokenSchedule) -> None:
    """Renew the token of a connection, until that is closed or dropped.

    find: returns the connection, and does not keep it.
    """
    while True:
        await asyncio.sleep(renewal.wait_s())
        request = await asyncio.to_thread(renewal.request)  # the program's function may block
        channel = find()
        if channel is None or channel.is_closed:
            return
        if request is not None and channel.is_connected:  # else the next link begins with it
            try:
                await channel.ask([request])
                renewal.note(request)
            except Error as error:
                renewal.failed(error)
        del channel  # it may be dropped while this waits
