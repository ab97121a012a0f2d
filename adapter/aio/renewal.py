"""The task that shows new tokens; when one is due is said in adapter/channel/renewal.py."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from adapter.channel.renewal import TokenRenewal
from adapter.errors import Error

if TYPE_CHECKING:
    from adapter.aio.channel import TaskChannel


async def keep_renewed(weak: Callable[[], TaskChannel | None], renewal: TokenRenewal) -> None:
    """Renew the token of a connection, until that is closed or dropped; it does not keep it."""
    while True:
        await asyncio.sleep(renewal.wait_s())
        request = renewal.request()
        channel = weak()
        if channel is None or channel.is_closed:
            return
        if request is not None and channel.is_connected:  # else the next link begins with it
            try:
                await channel.ask([request])
                renewal.note(request)
            except Error as error:
                renewal.failed(error)
        del channel  # it may be dropped while this waits
