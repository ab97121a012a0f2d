"""Request and reply: one temporary queue of a connection takes the replies to all its requests.

It is made when the first request is put. When the connection is lost the queue is gone, and with it
the replies that were on their way; the next request names the one that was made in its place.
A reply that comes when nothing waits for it any more is discarded by a later request. The reply to
a request has its message id as correlation id. A program may give two requests one id: the second
one has a temporary queue of its own, where no late reply to the first one comes.
"""

from __future__ import annotations

import time

from adapter.client.context import Context
from adapter.client.conversion import incoming, outgoing
from adapter.client.message import Message, PutFields, shown_id
from adapter.connection.channel import arguments as a
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.cancelling import CancelToken
from adapter.connection.channel.forking import new_lock
from adapter.connection.channel.requests import Handle, Pending
from adapter.connection.channel.unit import perform, unit_for
from adapter.connection.channel.verbs import get_apart, get_request, open_handle, put_request
from adapter.core.contract import commands as c
from adapter.core.contract.answers import (
    DISCARD,
    PASS_CORRELATION_ID,
    PASS_DISCARD_AND_EXPIRY,
    ids_of_answer,
)
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.results import Messages, PutDone
from adapter.errors import (
    ConnectionBroken,
    ConnectionClosed,
    InvalidOption,
    InvalidType,
    NoReply,
    QueueNotFound,
    UnitInProgress,
)

MODEL = "SYSTEM.DEFAULT.MODEL.QUEUE"
REQUEST = 1  # MQMT_REQUEST
REPLY = 2  # MQMT_REPLY
SLICE_MS = 30_000
"""So often a wait looks whether the queue is still there."""
LATE_MAX = 10
"""Requests without a reply, before a queue that no request waits on is emptied."""
LATE_AMONG_OTHERS_MAX = 1_000
"""The same, before another queue is made because requests always wait: a fifth of its depth."""
DISCARDED_AT_ONCE = 2 * LATE_MAX


class ReplyPlace:
    """A temporary queue for replies. waits: how many requests have no reply yet. late: how many
    ended without one since the queue was last emptied: their replies may come all the same, and
    would fill it. given: the ids that programs gave to requests whose replies come there.
    """

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        self.waits = 0
        self.late = 0
        self.given: set[bytes] = set()

    @property
    def must_be_emptied(self) -> bool:
        """Whether late replies may be on it, and nothing else."""
        return self.late >= LATE_MAX and not self.waits

    def is_spent(self, message: MessageData) -> bool:
        """Whether another queue is to be made for the reply to a request: late replies may be on
        this one, among others, or one with the id that the program has given this request.
        """
        is_full = max(self.late, len(self.given)) >= LATE_AMONG_OTHERS_MAX
        return is_full or message.message_id in self.given

    def begin(self, message: MessageData) -> None:
        """Note that a request begins, and have its reply come here, with its id."""
        self.waits += 1
        if message.message_id.strip(b"\0"):
            self.given.add(message.message_id)
        message.reply_to, message.reply_to_queue_manager = self.handle.leads_to, ""
        message.message_type = REQUEST
        message.report &= ~PASS_CORRELATION_ID  # the reply would have another one

    def end(self, *, has_reply: bool) -> None:
        """Note that a request has ended."""
        self.waits -= 1
        self.late += not has_reply


class ReplyQueue:
    """Where the replies to a connection's requests come. For any thread."""

    def __init__(self, context: Context) -> None:
        self._channel = context.channel
        self._schemas = context.schemas
        self._lock = new_lock()
        self._place: ReplyPlace | None = None

    def ask(
        self,
        to: Handle,
        message: MessageData,
        wait_ms: int,
        cancel: CancelToken | None = None,
        options: int = 0,
    ) -> Message:
        """Put a request and wait for its reply. options: of the put.

        Raises NoReply, UnitInProgress.
        """
        refuse_inside(self._channel, to.queue)
        if cancel is not None and cancel.is_cancelled:
            raise NoReply("the token was cancelled before the request was put", to.queue)
        place, reply = self._open(message), None
        try:
            put = put_request(to, [message], None, options)
            done = perform(self._channel, None, [put], put, PutDone)
            reply = self._await(
                place.handle, message.reply_to, done.message_ids[0], wait_ms, cancel
            )
        finally:
            self._leave(place, has_reply=reply is not None)
        if reply is not None:
            return reply
        if self._channel.is_closed:
            raise ConnectionClosed(
                "the connection was closed while a reply was waited for", to.queue
            )
        if cancel is not None and cancel.is_cancelled:
            raise NoReply("the wait for a reply was cancelled", to.queue)
        raise no_reply(to.queue, wait_ms)

    def _await(
        self,
        mine: Handle,
        queue: str,
        request_id: bytes,
        wait_ms: int,
        cancel: CancelToken | None,
    ) -> Message | None:
        """Wait for the reply, for a while at a time: a lost connection takes the queue with it.

        queue: the one that the request names, which may be gone already.
        """
        until_s = time.monotonic() + wait_ms / 1000
        while True:
            if mine.leads_to != queue:  # also before the first wait: the put may have taken long
                raise loss_of(queue)
            left_ms = slice_ms(wait_ms, until_s)
            command = c.Get(0, b"", left_ms, 1, b"", request_id)
            found = self._get(mine, queue, command, cancel)
            if found:
                return incoming(found[0], self._schemas)
            if mine.leads_to != queue:
                raise loss_of(queue)
            is_over = left_ms < SLICE_MS or self._channel.is_closed
            if is_over or (cancel is not None and cancel.is_cancelled):
                return None

    def _get(
        self, mine: Handle, queue: str, command: c.Get, cancel: CancelToken | None
    ) -> list[Delivered]:
        """Get a reply; with a token under a handle of its own, which is closed to end the wait."""
        if cancel is None:
            get = get_request(mine, command, None)
            return perform(self._channel, None, [get], get, Messages).messages
        try:
            apart = self._channel.new_handle(queue, c.INPUT)
            return get_apart(self._channel, apart, command, None, cancel)
        except QueueNotFound as error:
            raise loss_of(queue) from error

    def _open(self, message: MessageData) -> ReplyPlace:
        """Return a queue that has room for the reply to one request more; the request names it."""
        self._channel.refuse_reentry(self._lock)
        with self._lock:
            place = before = self._place
            if place is None or place.is_spent(message):
                place = ReplyPlace(self._channel.new_handle(MODEL, c.INPUT))
            if not place.handle.is_open:
                open_handle(self._channel, MODEL, c.INPUT, place.handle)
            elif place.must_be_emptied:
                self._empty(place)
            self._place = place
            place.begin(message)
        if before is not None and before is not place and not before.waits:
            self._channel.close_soon([before.handle])
        return place

    def _empty(self, place: ReplyPlace) -> None:
        """Discard late replies."""
        place.late, is_empty = 0, False
        while not is_empty:
            gets = discarding(place.handle)
            is_empty = not perform(self._channel, None, gets, gets[-1], Messages).messages

    def _leave(self, place: ReplyPlace, *, has_reply: bool) -> None:
        """Note the end of a request; the last one of a queue that is spent closes it."""
        place.end(has_reply=has_reply)
        if place is not self._place and not place.waits:
            self._channel.close_soon([place.handle])


def discarding(handle: Handle) -> list[Pending]:
    """Make gets of late replies, which go in one frame."""
    return [get_request(handle, c.Get(0), None) for _ in range(DISCARDED_AT_ONCE)]


def refuse_inside(channel: ChannelBooks, queue: str) -> None:
    """Raise UnitInProgress inside a unit."""
    if unit_for(channel, None) is not None:
        raise UnitInProgress(
            "a request cannot be put in a unit: it could get no reply before the commit. Put "
            "it outside the unit, or put a message and get its reply later",
            queue,
        )


def no_reply(queue: str, wait_ms: int) -> NoReply:
    """Make the error of a request without a reply."""
    advice = f"check that the program that serves {queue} runs, and its log for errors"
    return NoReply(f"no reply came within {wait_ms} ms: {advice}", queue)


def slice_ms(wait_ms: int, until_s: float) -> int:
    """Say how long the next get of a reply may wait."""
    if wait_ms < 0:
        return SLICE_MS
    return min(SLICE_MS, max(0, round((until_s - time.monotonic()) * 1000)))


def loss_of(queue: str) -> ConnectionBroken:
    """Make the error of a request whose reply went with the connection."""
    return ConnectionBroken(
        "the connection was lost while a reply was waited for, and the reply with it: ask again",
        queue,
    )


def outgoing_request(
    body: object, fields: PutFields, application: str, timeout: object
) -> tuple[MessageData, int]:
    """Make the message of a request; it expires with the wait for its reply, unless it says else.

    Returns too how long to wait, in milliseconds.
    """
    message, wait_ms = outgoing(body, fields, application), a.as_wait_ms(timeout)
    if wait_ms >= 0 and message.expiry_ms < 0 and "expiry_s" not in fields:
        message.expiry_ms = max(wait_ms, 1)
    return message, wait_ms


def address_reply(message: object, fields: PutFields) -> tuple[str, str]:
    """Return the queue, and its queue manager, that a reply to a message goes to; fill in what the
    put of the reply does not say itself, as the report options of the message have it.

    Raises InvalidOption if the message asks for none.
    """
    if not isinstance(message, Message):
        raise InvalidType(f"reply() answers a Message that was got, not {a.shown(message)}")
    if not message.reply_to:
        raise InvalidOption(
            f"message {shown_id(message.message_id)} names no queue for a reply: it is not a "
            "request"
        )
    about = message.report, message.message_id, message.correlation_id
    passed_id, correlation_id = ids_of_answer(*about)
    fields.setdefault("correlation_id", correlation_id)
    fields.setdefault("message_type", REPLY)
    if passed_id:
        fields.setdefault("message_id", passed_id)
    if message.report & PASS_DISCARD_AND_EXPIRY:
        fields.setdefault("report", message.report & DISCARD)
        if message.expires_at is not None and "expiry_s" not in fields:
            fields.setdefault("expires_at", message.expires_at)
    return message.reply_to, message.reply_to_queue_manager
