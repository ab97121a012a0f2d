"""A queue as a program uses it: put, get, browse, and what is asked about it.

This module knows units only as what an operation may belong to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Unpack

from adapter.client import admin
from adapter.client.administered import AdministeredQueue
from adapter.client.attributes import QueueSettings
from adapter.client.browse import BrowsedMessage, Browsing, choose
from adapter.client.context import Context
from adapter.client.conversion import context_asked, incoming, outgoing
from adapter.client.handles import OpenFor, QueueHandles, modes_of, token_of
from adapter.client.message import Message, PutFields, PutResult
from adapter.client.put_many import put_in_units, put_inside
from adapter.client.putting import check_wait, put_by, put_in_order, subject_of
from adapter.client.replies import ReplyQueue, outgoing_request
from adapter.client.retry import Retry, retries_of
from adapter.client.verb import ThreadFace
from adapter.client.work import QueueLoops, Work, source_of, units
from adapter.connection.channel import arguments as a
from adapter.connection.channel.cancelling import CancelToken
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.closing import Closing
from adapter.connection.channel.requests import Handle
from adapter.connection.channel.unit import AnyUnit, NoUnit, perform, show_interrupted, unit_for
from adapter.connection.channel.verbs import (
    get_apart,
    get_command,
    get_request,
    take_command,
    wanted_ids,
)
from adapter.core.contract import commands as c
from adapter.core.contract.results import Messages
from adapter.errors import ConnectionClosed

if TYPE_CHECKING:
    from adapter.registry.values import SchemaName

LoopOf = Callable[["Queue"], Iterator[Work]]
"""Begins a loop on a queue object."""


class Queue(ThreadFace, AdministeredQueue, Closing):
    """One queue of a connection. Every method may be called from any thread."""

    _channel: Channel

    def __init__(
        self,
        context: Context,
        name: str,
        open_for: OpenFor | None,
        replies: ReplyQueue,
        selection: str = "",
    ) -> None:
        self._name = a.as_name(name)
        self._selection = a.as_text("selection", selection)
        self._context = context
        self._channel = context.channel
        self._replies = replies
        self._handles = QueueHandles(context.channel, self._selection)
        self._loops = QueueLoops()
        self._input = c.EXCLUSIVE if open_for == "input_exclusive" else c.INPUT
        if open_for is not None:
            self._handle(modes_of(open_for, name))

    def put(
        self,
        body: bytes | str | Message,
        *,
        unit: AnyUnit | NoUnit | None = None,
        logical_order: bool = False,
        wait: bool = True,
        **fields: Unpack[PutFields],
    ) -> PutResult:
        """Put a message (MQPUT): durable when it returns, or part of a unit.

        A field that is not given keeps the Message's own value; None means a new id, or the
        queue's default. With deliver_after (seconds) or deliver_at (a datetime) no program gets the
        message before that time, and then it comes behind what is there of its priority; in a unit
        the seconds count from the put. expires_at (a datetime of the queue manager's clock): when
        it expires. user and application say who has put it, instead of user and program.
        logical_order: it belongs to the group that this queue object is putting, or begins one; the
        queue manager numbers it (MQPMO_LOGICAL_ORDER), and last_in_group ends the group. A lost
        connection ends the group too: put the rest by group_id and group_seq.
        wait=False, only in a unit: it is sent with the unit's next verb that waits, as with the
        commit; if it is refused, the commit raises that, and the unit is backed out. The result has
        the message id; the put time is not known.
        Raises QueueFull, PutInhibited, MessageTooLong, BackedOut, ...
        """
        message = outgoing(body, fields, self._context.application)
        inside = unit_for(self._channel, unit)
        check_wait(inside, wait, self.name)
        options = context_asked(fields)
        if a.as_flag("logical_order", logical_order):
            options |= put_in_order(message)
        handle = self._handles.output(self.name, options)
        return put_by(handle, self._handles, message, inside, wait, self._channel, options)

    def put_value(
        self,
        value: object,
        *,
        schema: SchemaName,
        subject: str | None = None,
        register: bool = False,
        unit: AnyUnit | NoUnit | None = None,
        wait: bool = True,
        **fields: Unpack[PutFields],
    ) -> PutResult:
        """Put an Avro value: its body is a zero byte, the schema's id, and Avro binary.

        schema: its subject in the registry (the latest version), (subject, version), its id, its
        file (a Path, or text that ends with .avsc), or itself (a mapping, or JSON text). A schema
        from a file or given as itself is looked up in the subject, by default the queue's name
        with -value; register: and registered there if it is new. The registry is that of
        adapter.connect(registry=). Raises NotAvro for a value that does not fit, SchemaNotFound,
        SchemaIncompatible, InvalidSchema, RegistryNotAvailable, and what put() raises: then
        nothing was put.
        """
        of, flag = subject_of(self.name, subject), a.as_flag("register", register)
        body = self._context.schemas.encode(value, schema=schema, subject=of, register=flag)
        return self.put(body, unit=unit, wait=wait, **fields)

    def put_many(self, messages: Iterable[bytes | str | Message], *, unit_size: int = 1000) -> int:
        """Put messages in units, the next one on its way while the last becomes durable.

        Returns how many were put. A unit ends early before it would be too large to be one. Inside
        a unit all of them belong to that, and unit_size only says how many go in one request.
        If a unit is refused, those before it are on the queue, nothing of it and those behind it
        is; the error's messages_put says how many. A unit that a lost connection backed out is
        put again.
        """
        size = a.as_whole("unit_size", unit_size, 1, 10_000)
        inside: AnyUnit | None = unit_for(self._channel, None)
        handle = self._handles.output(self.name, 0)
        ready = (outgoing(body, {}) for body in a.as_many("messages", messages))
        if inside is not None:
            return put_inside(handle, ready, size, inside)
        return put_in_units(self._channel, handle, ready, size)

    def get(
        self,
        *,
        timeout: float | timedelta | None = 0.0,
        message_id: a.Identifier | None = None,
        correlation_id: a.Identifier | None = None,
        group_id: a.Identifier | None = None,
        group_seq: int | None = None,
        logical_order: bool = False,
        all_messages: bool = False,
        unit: AnyUnit | NoUnit | None = None,
        if_persistent: bool = False,
        cancel: CancelToken | None = None,
    ) -> Message | None:
        """Get the first message that fits (MQGET), or None if none arrives in time.

        timeout: seconds; None: no limit. The order is priority descending, then commit order.
        logical_order: the next message of the group that this queue object is getting, or a first
        message (MQGMO_LOGICAL_ORDER). all_messages: begin no group that is not whole
        (MQGMO_ALL_MSGS_AVAILABLE). Outside a unit it is gone for good when this returns; so is a
        message that is not persistent, even in a unit, with if_persistent
        (MQGMO_SYNCPOINT_IF_PERSISTENT). cancel: a token by which another thread ends the wait; it
        goes with neither logical_order nor open_for="input_exclusive".
        Raises GetInhibited, BackedOut, ...
        """
        ids, wait_ms = wanted_ids(message_id, correlation_id, group_id), a.as_wait_ms(timeout)
        command = get_command(ids, wait_ms, group_seq, logical_order, all_messages)
        inside = unit_for(self._channel, unit)
        if a.as_flag("if_persistent", if_persistent) and inside is not None:
            command.options |= c.IF_PERSISTENT
        return self._get(command, inside, token_of(cancel, self.name, self._input, command.options))

    def request(
        self,
        body: bytes | str | Message,
        *,
        timeout: float | timedelta | None,
        cancel: CancelToken | None = None,
        **fields: Unpack[PutFields],
    ) -> Message:
        """Put a request (MQMT_REQUEST) and wait for the reply, on a temporary queue.

        timeout: seconds; None: no limit. The request expires with it, so that no program does the
        work in vain: give expiry_s, which may be None, for another expiry. The reply is the message
        whose correlation id is the request's id: qm.reply() makes such. cancel: a token by which
        another thread ends the wait, with NoReply; the request stays where it is.
        Raises UnitInProgress inside a unit, NoReply when none came in time, QueueFull, ...
        """
        token = a.as_cancel(cancel)
        message, wait_ms = outgoing_request(body, fields, self._context.application, timeout)
        asked = context_asked(fields)
        to = self._handles.output(self.name, asked)
        return self._replies.ask(to, message, wait_ms, token, asked)

    def take(
        self, place: tuple[int, int, int], message_id: bytes, unit: AnyUnit | NoUnit | None = None
    ) -> bool:
        """Remove the message of this id at a place, as browse showed it; False if it has gone."""
        return self._get(take_command(place, message_id), unit_for(self._channel, unit)) is not None

    def _get(
        self, command: c.Get, inside: AnyUnit | None, cancel: CancelToken | None = None
    ) -> Message | None:
        try:
            if cancel is None:
                request = get_request(self._handle(self._input), command, inside)
                got = perform(self._channel, inside, [request], request, Messages).messages
            else:
                own = self._handles.make_input(self.name)
                got = get_apart(self._channel, own, command, inside, cancel)
            if not got and self._channel.is_closed:
                raise ConnectionClosed("the connection was closed while the get waited", self.name)
            return incoming(got[0], self._context.schemas) if got else None
        except BaseException as error:
            show_interrupted(self._channel, inside, error)
            raise

    def units(
        self,
        size: int = 1,
        timeout: float | timedelta | None = None,
        retry_delay_s: float | timedelta = 0,
        *,
        prefetch: int = 0,
        commits: int = 1,
        retry: Retry | None = None,
        cancel: CancelToken | None = None,
    ) -> Iterator[Work]:
        """Get messages in units: `for u in queue.units(): with u: for m in u.messages: ...`

        Each unit has 1 to size messages. Leaving the with statement commits it; an exception in it
        backs it out, is logged, and the loop goes on after retry_delay_s. A message that was backed
        out before comes in a unit of its own; one whose backout count has reached the queue's
        backout_threshold is moved to the backout_requeue_queue in that unit, and its properties say
        why (BackoutThresholdReached: it cannot). With backout_action MOVE the backout does.
        retry: a message that fails is tried again later instead, and stands before no other.
        It ends when nothing comes within timeout, the queue or the connection is closed, or the
        token cancel is cancelled, after the unit at hand; no token goes with "input_exclusive".
        prefetch: get up to so many units ahead of the one shown, with bodies of about 1 MiB in all.
        Messages that were not shown come back uncounted when the loop is left, the queue closed, or
        a unit backed out. Others cannot get them meanwhile; one of higher priority waits for them.
        commits: leaving a with statement does not wait for the commit while fewer than so many are
        in flight. A commit that failed is raised by the next step of the loop, with units_failed;
        the loop's end waits for all, and after break the connection's next commit() or flush().
        """
        self._check_open()
        if (token := token_of(cancel, self.name, self._input)) is not None:
            loop = partial(Queue.units, size=size, timeout=timeout, retry_delay_s=retry_delay_s)
            more = partial(loop, prefetch=prefetch, commits=commits, retry=retry)
            return self._until_cancelled(token, more)
        wait_ms, delay_s = a.as_wait_ms(timeout), a.as_delay_s("retry_delay_s", retry_delay_s)
        handle = partial(self._handle, self._input)
        retries = retries_of(retry, self._channel, size)
        source = source_of(self, self._context, handle, size, prefetch, commits, retries)
        self._loops.sources.add(source)
        return units(self, self._channel, handle, source, wait_ms, delay_s, retries)

    def _until_cancelled(self, token: CancelToken, loop_of: LoopOf) -> Iterator[Work]:
        """Yield the units of a loop on a queue object of its own, which the token closes."""
        own = Queue(self._context, self.name, None, self._replies, self._selection)
        own._input = self._input
        return self._loops.until_cancelled(self, own, loop_of(own), token, partial(_end_soon, own))

    def browse(
        self,
        *,
        message_id: a.Identifier | None = None,
        correlation_id: a.Identifier | None = None,
        group_id: a.Identifier | None = None,
        cooperate: bool = False,
        timeout: float | timedelta | None = 0.0,
    ) -> Iterator[BrowsedMessage]:
        """Iterate over the messages that are there, in the order of delivery, removing nothing.

        Messages that units hold are left out. A message has .remove(unit=None). cooperate: each is
        shown to one of the programs that browse so (MQOO_CO_OP), and to another only when the queue
        manager's mark_interval_ms is over, by .unmark(), or when all of them have ended.
        timeout: wait so many seconds for each further message; None: without limit. Then a message
        that arrives is shown whatever its priority, each one once; closing the queue object ends
        the iteration. It does not go with cooperate.
        """
        self._check_open()
        wanted = wanted_ids(message_id, correlation_id, group_id)
        of = Browsing(self._context, self._handles, self.name, wanted, self.take, self._selection)
        return choose(of, a.as_wait_ms(timeout), a.as_flag("cooperate", cooperate))

    def set(self, **attributes: Unpack[QueueSettings]) -> None:
        """Set attributes that a program may set (MQSET): inhibit_get, inhibit_put, trigger_control,
        trigger_type, trigger_depth, trigger_msg_priority, trigger_data.
        """
        given = a.as_attributes(self.name, attributes)
        handle = self._handle(c.SET)
        self._run(admin.durable(self._channel, c.SetAttributes(handle.number, given), handle))

    def close(self) -> None:
        """Give its handles back; a get that waits ends with None, units() ends.

        What units() has got ahead and not shown is back on the queue before the handles are closed.
        """
        self._handles.closing.set()
        self._loops.end()
        self._handles.close()

    @property
    def is_closed(self) -> bool:
        """Whether it, or its connection, has been closed."""
        return self._handles.closing.is_set() or self._channel.is_closed

    def pause(self, seconds: float) -> bool:
        """Sleep, but not beyond close(); return whether that came."""
        return self._handles.pause(seconds)

    def _check_open(self) -> None:
        self._handles.check_open(self.name)

    def _handle(self, modes: int) -> Handle:
        """Return an open handle, opening it if need be."""
        return self._handles.get(self.name, modes)

    def __repr__(self) -> str:
        return f"<Queue {self.name}>"


def meant_by(queue: Queue, use: OpenFor) -> str:
    """Return the local queue that the name of a queue leads to, as of an alias: it is opened for
    this use, if it is not open so.
    """
    return queue._handle(modes_of(use, queue.name)).source


def _end_soon(queue: Queue) -> None:
    """Close a queue object, and do not wait: the thread that cancels a token waits for nothing."""
    queue._handles.closing.set()
    queue._loops.end()
    queue._handles.close_soon()
