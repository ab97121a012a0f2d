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
from adapter.client.conversion import incoming
from adapter.client.message import Message
from adapter.client.replies import (
    MODEL,
    SLICE_MS,
    ReplyPlace,
    discarding,
    loss_of,
    no_reply,
    refuse_inside,
    slice_ms,
)
from adapter.connection.channel.requests import Handle
from adapter.connection.channel.verbs import put_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import Messages, PutDone


class TaskReplies:
    """Where the replies to a connection's requests come."""

    def __init__(self, context: TaskContext) -> None:
        self._channel = context.channel
        self._schemas = context.schemas
        self._lock = asyncio.Lock()
        self._place: ReplyPlace | None = None

    async def ask(self, to: Handle, message: MessageData, wait_ms: int, options: int) -> Message:
        """Put a request and wait for its reply. options: of the put. Raises NoReply."""
        refuse_inside(self._channel, to.queue)
        place, reply = await self._open(message), None
        try:
            put = put_request(to, [message], None, options)
            done = await perform(self._channel, None, [put], put, PutDone)
            reply = await self._await(place.handle, message.reply_to, done.message_ids[0], wait_ms)
        finally:
            self._leave(place, has_reply=reply is not None)
        if reply is None:
            raise no_reply(to.queue, wait_ms)
        return reply

    async def _await(
        self, mine: Handle, queue: str, request_id: bytes, wait_ms: int
    ) -> Message | None:
        """Wait for the reply, for a while at a time; see ReplyQueue."""
        until_s = time.monotonic() + wait_ms / 1000
        while True:
            if mine.leads_to != queue:  # also before the first wait: the put may have taken long
                raise loss_of(queue)
            left_ms = slice_ms(wait_ms, until_s)
            command = c.Get(0, b"", left_ms, 1, b"", request_id)
            found = await take(self._channel, mine, command, None)
            if found:
                return incoming(found[0], self._schemas)
            if mine.leads_to != queue:
                raise loss_of(queue)
            if left_ms < SLICE_MS:
                return None

    async def _open(self, message: MessageData) -> ReplyPlace:
        """Return a queue that has room for the reply to one request more; the request names it."""
        async with self._lock:
            place = before = self._place
            if place is None or place.is_spent(message):
                place = ReplyPlace(self._channel.new_handle(MODEL, c.INPUT))
            if not place.handle.is_open:
                await open_handle(self._channel, MODEL, c.INPUT, place.handle)
            elif place.must_be_emptied:
                await self._empty(place)
            self._place = place
            place.begin(message)
        if before is not None and before is not place and not before.waits:
            self._channel.close_soon(before.handle)
        return place

    async def _empty(self, place: ReplyPlace) -> None:
        """Discard late replies."""
        place.late, is_empty = 0, False
        while not is_empty:
            gets = discarding(place.handle)
            found = await perform(self._channel, None, gets, gets[-1], Messages)
            is_empty = not found.messages

    def _leave(self, place: ReplyPlace, *, has_reply: bool) -> None:
        """Note the end of a request; the last one of a queue that is spent closes it."""
        place.end(has_reply=has_reply)
        if place is not self._place and not place.waits:
            self._channel.close_soon(place.handle)
