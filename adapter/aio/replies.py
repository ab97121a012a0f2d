"""Request and reply: one temporary queue of a connection takes the replies to all its requests.

It is made when the first request is put. When the connection is lost the queue is gone, and with it
the replies that were on their way; the next request names the one that was made in its place.
"""

from __future__ import annotations

import asyncio
import time

from adapter.aio.context import TaskContext
from adapter.aio.getting import take
from adapter.aio.handles import open_handle
from adapter.aio.unit import perform
from adapter.channel.requests import Handle
from adapter.channel.verbs import put_request
from adapter.client.conversion import incoming
from adapter.client.message import Message
from adapter.client.replies import (
    MODEL,
    REQUEST,
    SLICE_MS,
    loss_of,
    no_reply,
    refuse_inside,
    slice_ms,
)
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import PutDone


class TaskReplies:
    """Where the replies to a connection's requests come."""

    def __init__(self, context: TaskContext) -> None:
        self._channel = context.channel
        self._schemas = context.schemas
        self._lock = asyncio.Lock()
        self._handle: Handle | None = None

    async def ask(self, to: Handle, message: MessageData, wait_ms: int, options: int) -> Message:
        """Put a request and wait for its reply. options: of the put. Raises NoReply."""
        refuse_inside(self._channel, to.queue)
        mine = await self._open()
        message.reply_to, message.message_type = mine.leads_to, REQUEST
        put = put_request(to, [message], None, options)
        done = await perform(self._channel, None, [put], put, PutDone)
        queue, until_s = mine.leads_to, time.monotonic() + wait_ms / 1000
        while True:
            left_ms = slice_ms(wait_ms, until_s)
            command = c.Get(0, b"", left_ms, 1, b"", done.message_ids[0])
            found = await take(self._channel, mine, command, None)
            if found:
                return incoming(found[0], self._schemas)
            if mine.leads_to != queue:
                raise loss_of(queue)
            if left_ms < SLICE_MS:
                raise no_reply(to.queue, wait_ms)

    async def _open(self) -> Handle:
        async with self._lock:
            handle = self._handle
            if handle is None or not handle.is_open:
                self._handle = handle = await open_handle(self._channel, MODEL, c.INPUT, handle)
            return handle
