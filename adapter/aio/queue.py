"""A queue as a task uses it: put, get, browse, and what is done to it.

This module knows units only as what an operation may belong to.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Self, Unpack
from weakref import WeakSet

from adapter.aio.browse import TaskBrowse, TaskBrowsing, browse
from adapter.aio.channel import TaskChannel
from adapter.aio.closing import TaskClosing
from adapter.aio.context import TaskContext
from adapter.aio.getting import take
from adapter.aio.handles import TaskHandles
from adapter.aio.put_many import put_in_units, put_inside
from adapter.aio.putting import put_by
from adapter.aio.replies import TaskReplies
from adapter.aio.unit import TaskUnit
from adapter.aio.values import encode
from adapter.aio.work import TaskSource, TaskUnits
from adapter.client import admin
from adapter.client.administered import AdministeredQueue
from adapter.client.attributes import QueueSettings
from adapter.client.conversion import context_asked, incoming, outgoing
from adapter.client.handles import LOOK_S, OpenFor, modes_of
from adapter.client.message import Message, PutFields, PutResult
from adapter.client.putting import check_wait, put_in_order, subject_of
from adapter.client.replies import outgoing_request
from adapter.client.retry import Retry, retries_of
from adapter.client.verb import TaskFace
from adapter.client.work import loop_sizes
from adapter.connection.channel import arguments as a
from adapter.connection.channel.requests import Handle
from adapter.connection.channel.unit import NoUnit, unit_for
from adapter.connection.channel.verbs import get_command, take_command, wanted_ids
from adapter.core.contract import commands as c
from adapter.errors import ConnectionClosed

if TYPE_CHECKING:
    from adapter.registry.values import SchemaName


class Queue(TaskFace, AdministeredQueue, TaskClosing):
    """One queue of a connection, for all tasks of its event loop."""

    _channel: TaskChannel

    def __init__(
        self,
        context: TaskContext,
        name: str,
        open_for: OpenFor | None,
        replies: TaskReplies,
        selection: str = "",
    ) -> None:
        self._name = a.as_name(name)
        self._opens = None if open_for is None else modes_of(open_for, name)
        self._input = c.EXCLUSIVE if open_for == "input_exclusive" else c.INPUT
        self._selection = a.as_text("selection", selection)
        self._context = context
        self._channel = context.channel
        self._replies = replies
        self._handles = TaskHandles(context.channel, self._selection)
        self._loops: WeakSet[TaskSource] = WeakSet()

    async def put(
        self,
        body: bytes | str | Message,
        *,
        unit: TaskUnit | NoUnit | None = None,
        logical_order: bool = False,
        wait: bool = True,
        **fields: Unpack[PutFields],
    ) -> PutResult:
        """Put a message (MQPUT): durable when it returns, or part of a unit.

        Its arguments are those of adapter.Queue.put(). If the task is cancelled when the put has
        been sent, the cancellation comes when its outcome is known; in a unit it comes at once, and
        backs the unit out.
        Raises QueueFull, PutInhibited, MessageTooLong, BackedOut, ...
        """
        message = outgoing(body, fields, self._context.application)
        inside = unit_for(self._channel, unit)
        check_wait(inside, wait, self.name)
        options = context_asked(fields)
        if a.as_flag("logical_order", logical_order):
            options |= put_in_order(message)
        handle = await self._handles.output(self.name, options)
        channel = self._channel
        return await put_by(handle, self._handles, message, inside, wait, channel, options)

    async def put_value(
        self,
        value: object,
        *,
        schema: SchemaName,
        subject: str | None = None,
        register: bool = False,
        unit: TaskUnit | NoUnit | None = None,
        wait: bool = True,
        **fields: Unpack[PutFields],
    ) -> PutResult:
        """Put an Avro value; see adapter.Queue.put_value().

        A thread asks the registry for a schema that is not known; the event loop goes on meanwhile.
        """
        of, flag = subject_of(self.name, subject), a.as_flag("register", register)
        body = await encode(self._context.schemas, value, schema, of, flag)
        return await self.put(body, unit=unit, wait=wait, **fields)

    async def put_many(
        self, messages: Iterable[bytes | str | Message], *, unit_size: int = 1000
    ) -> int:
        """Put messages in units, the next one on its way while the last becomes durable.

        Returns how many were put; see adapter.Queue.put_many(). If the task is cancelled, the
        messages that are on the queue are the first of those given, as many as a note of the
        CancelledError says, once the outcome of every commit that was sent is known. Inside a unit
        the cancellation comes at once, and backs the unit out.
        """
        size = a.as_whole("unit_size", unit_size, 1, 10_000)
        inside: TaskUnit | None = unit_for(self._channel, None)
        handle = await self._handles.output(self.name, 0)
        ready = (outgoing(body, {}) for body in a.as_many("messages", messages))
        if inside is not None:
            return await put_inside(handle, ready, size, inside)
        return await put_in_units(self._channel, handle, ready, size)

    async def get(
        self,
        *,
        timeout: float | timedelta | None = 0.0,  # noqa: ASYNC109 -- the queue manager waits
        message_id: a.Identifier | None = None,
        correlation_id: a.Identifier | None = None,
        group_id: a.Identifier | None = None,
        group_seq: int | None = None,
        logical_order: bool = False,
        all_messages: bool = False,
        unit: TaskUnit | NoUnit | None = None,
        if_persistent: bool = False,
    ) -> Message | None:
        """Get the first message that fits (MQGET), or None if none arrives in time.

        timeout: seconds; None: no limit. The order is priority descending, then commit order.
        logical_order, all_messages, if_persistent: see adapter.Queue.get().
        Outside a unit the message is gone for good when this returns. If the task is cancelled
        while it waits, no message is taken, or it is given back, uncounted; a unit that the get
        belongs to is backed out. With if_persistent a message that is not persistent is not part
        of the unit: one that was taken before the cancellation is gone.
        Raises GetInhibited, BackedOut, ...
        """
        ids, wait_ms = wanted_ids(message_id, correlation_id, group_id), a.as_wait_ms(timeout)
        command = get_command(ids, wait_ms, group_seq, logical_order, all_messages)
        inside = unit_for(self._channel, unit)
        if a.as_flag("if_persistent", if_persistent) and inside is not None:
            command.options |= c.IF_PERSISTENT
        return await self._get(command, inside)

    async def request(
        self,
        body: bytes | str | Message,
        *,
        timeout: float | timedelta | None,  # noqa: ASYNC109 -- the request expires with it
        **fields: Unpack[PutFields],
    ) -> Message:
        """Put a request (MQMT_REQUEST) and wait for the reply, on a temporary queue.

        timeout: seconds; None: no limit. The request expires with it, so that no program does the
        work in vain: give expiry_s, which may be None, for another expiry. The reply is the message
        whose correlation id is the request's id: qm.reply() makes such. If the task is cancelled
        while it waits, the request stays where it is.
        Raises UnitInProgress inside a unit, NoReply when none came in time, QueueFull, ...
        """
        message, wait_ms = outgoing_request(body, fields, self._context.application, timeout)
        asked = context_asked(fields)
        to = await self._handles.output(self.name, asked)
        return await self._replies.ask(to, message, wait_ms, asked)

    async def take(
        self, place: tuple[int, int, int], message_id: bytes, unit: TaskUnit | NoUnit | None = None
    ) -> bool:
        """Remove the message of this id at a place, as browse showed it; False if it has gone."""
        command = take_command(place, message_id)
        return await self._get(command, unit_for(self._channel, unit)) is not None

    async def _get(self, command: c.Get, inside: TaskUnit | None) -> Message | None:
        handle = await self._handle(self._input)
        found = await take(self._channel, handle, command, inside)
        if not found and self._channel.is_closed:
            raise ConnectionClosed("the connection was closed while the get waited", self.name)
        return incoming(found[0], self._context.schemas) if found else None

    def units(
        self,
        size: int = 1,
        timeout: float | timedelta | None = None,
        retry_delay_s: float | timedelta = 0,
        *,
        prefetch: int = 0,
        commits: int = 1,
        retry: Retry | None = None,
    ) -> TaskUnits:
        """Get messages in units: `async for u in queue.units(): async with u: ... u.messages`

        Each unit has 1 to size messages. Leaving the async with statement commits it; an exception
        in it backs it out, is logged, and the loop goes on after retry_delay_s; a cancellation
        backs it out and ends the loop. A message that was backed out before comes in a unit of its
        own; one whose backout count has reached the queue's backout_threshold is moved to the
        backout_requeue_queue in that unit, and its properties say why (BackoutThresholdReached: it
        cannot). It ends when nothing comes within timeout, or the queue or the connection is
        closed, after the unit at hand.
        retry: a message that fails is tried again later instead, and stands before no other.
        prefetch: get up to so many units ahead of the one shown, with bodies of about 1 MiB in all.
        Messages that were not shown come back uncounted when the loop is left or cancelled, the
        queue closed, or a unit backed out; others cannot get them meanwhile. A loop that a variable
        refers to is left by its aclose().
        commits: leaving an async with statement does not wait for the commit while fewer than so
        many are in flight. A commit that failed is raised by the next step of the loop, with
        units_failed; the loop's end waits for all, and after break the connection's next commit()
        or flush().
        """
        self._handles.check_open(self.name)
        sizes = loop_sizes(size, prefetch, commits)
        wait_ms, delay_s = a.as_wait_ms(timeout), a.as_delay_s("retry_delay_s", retry_delay_s)
        retries = retries_of(retry, self._channel, size)
        handle = partial(self._handle, self._input)
        source = TaskSource(self._context, handle, sizes, retries)
        self._loops.add(source)
        return TaskUnits(self, self._context, handle, source, wait_ms, delay_s, retries)

    def browse(
        self,
        *,
        message_id: a.Identifier | None = None,
        correlation_id: a.Identifier | None = None,
        group_id: a.Identifier | None = None,
        cooperate: bool = False,
        timeout: float | timedelta | None = 0.0,
    ) -> TaskBrowse:
        """Iterate, by async for, over the messages that are there, removing nothing.

        The order is that of delivery. Messages that units hold are left out. A message has
        `await message.remove(unit=None)`. cooperate: each is shown to one of the programs that
        browse so (MQOO_CO_OP), and to another only when the queue manager's mark_interval_ms is
        over, by `await message.unmark()`, or when all of them have ended.
        timeout: wait so many seconds for each further message; None: without limit. Then a message
        that arrives is shown whatever its priority, each one once; closing the queue object ends
        the iteration. It does not go with cooperate.
        """
        self._check_open()
        wanted, wait_ms = wanted_ids(message_id, correlation_id, group_id), a.as_wait_ms(timeout)
        of = TaskBrowsing(
            self._context, self._handles, self.name, wanted, self.take, self._selection
        )
        return browse(of, wait_ms, a.as_flag("cooperate", cooperate))

    async def set(self, **attributes: Unpack[QueueSettings]) -> None:
        """Set attributes that a program may set (MQSET): inhibit_get, inhibit_put, trigger_control,
        trigger_type, trigger_depth, trigger_msg_priority, trigger_data.
        """
        given = a.as_attributes(self.name, attributes)
        handle = await self._handle(c.SET)
        await self._run(admin.durable(self._channel, c.SetAttributes(handle.number, given), handle))

    async def close(self) -> None:
        """Give its handles back; a get that waits ends with None, units() ends.

        What units() has got ahead and not shown is back on the queue before the handles are closed.
        """
        for loop in list(self._loops):
            loop.give_back()
        await self._handles.close()

    @property
    def is_closed(self) -> bool:
        """Whether it, or its connection, has been closed."""
        return self._handles.is_closing or self._channel.is_closed

    async def pause(self, seconds: float) -> bool:
        """Sleep, but not beyond close(); return whether that came."""
        until_s = time.monotonic() + seconds
        while not self.is_closed and (left_s := until_s - time.monotonic()) > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(left_s, LOOK_S)):
                    await self._handles.closing.wait()
        return self.is_closed

    def __await__(self) -> Generator[Any, None, Self]:
        """Open it for what open_for says."""
        return self._open().__await__()

    async def __aenter__(self) -> Self:
        return await self._open()

    async def _open(self) -> Self:
        self._check_open()
        if self._opens is not None:
            await self._handle(self._opens)
        return self

    def _check_open(self) -> None:
        self._handles.check_open(self.name)

    async def _handle(self, modes: int) -> Handle:
        """Return an open handle, opening it if need be."""
        return await self._handles.get(self.name, modes)

    def __repr__(self) -> str:
        return f"<Queue {self.name}>"


def close_soon(queue: Queue) -> None:
    """Give the handles of a queue back that has no loops, and do not wait for it."""
    queue._handles.close_soon()
