"""Publishing and subscribing as a program does it: a subscription is a queue to get from.

Its two handles, of the subscription and of its queue, are opened by one request, and again by that
when the connection was lost. What was published in between is only there if it is durable. This
module does not know which publications a subscription gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import msgspec

from adapter.client import admin
from adapter.client.context import Context
from adapter.client.message import Message, PutResult
from adapter.client.queue import LoopOf, Queue
from adapter.client.replies import ReplyQueue
from adapter.client.work import Work
from adapter.connection.channel import arguments as a
from adapter.connection.channel import requests as rq
from adapter.connection.channel.books import ChannelBooks
from adapter.connection.channel.cancelling import CancelToken
from adapter.connection.channel.requests import Handle, Pending, open_request
from adapter.connection.channel.steps import Steps
from adapter.connection.channel.unit import AnyUnit, UnitBooks
from adapter.connection.channel.verbs import ask_to_open, close_handles, close_request, put_request
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import PutDone
from adapter.errors import (
    CallInProgress,
    InvalidSubscriptionName,
    NoRetainedMessage,
    NotOpen,
    QueueNotFound,
)

LEVEL_MAX = 9


def publish_requests(
    channel: ChannelBooks,
    topic: str,
    message: MessageData,
    unit: UnitBooks | None,
    retain: bool,
    level: int,
    asked: int,
) -> tuple[Pending, Pending, Pending]:
    """Make the requests that open a topic, put to it, and close it.

    asked: which context the put sets.
    """
    handle = channel.new_handle(topic, c.OUTPUT)
    handle.opening = c.OpenTopic(handle.number, topic, modes=asked)
    put = put_request(handle, [message], unit, asked | c.RETAIN * retain)
    assert isinstance(put.command, c.Put)
    put.command.level = a.as_whole("level", level, 0, LEVEL_MAX)
    return open_request(handle, put.when_lost), put, close_request(handle)


def publication_result(done: PutDone) -> PutResult:
    """Return what a publication was given."""
    reached = done.subscriptions if done.subscriptions >= 0 else None
    return PutResult(done.message_ids[0], done.put_time_ms, reached)


def subscription_of(
    topic: str,
    name: str | None,
    durable: bool,
    destination: str | None,
    retained: bool,
    level: int,
    selection: str,
) -> c.Subscribe:
    """Check what a program asks for, and make the command of it; its handles are missing."""
    options = c.CREATE | c.MANAGED * (destination is None)
    options |= c.NEW_ONLY * (not a.as_flag("retained", retained))
    if a.as_flag("durable", durable):
        options |= c.DURABLE | c.RESUME
        if not name:
            raise InvalidSubscriptionName("a durable subscription has a name: give name=")
    return c.Subscribe(
        0,
        a.as_name(topic, "topic"),
        name=a.as_text("name", name),
        options=options,
        destination=a.as_text("destination", destination, NAME_LENGTH_MAX),
        level=a.as_whole("level", level, 0, LEVEL_MAX),
        selection=a.as_text("selection", selection),
    )


def subscription_handles(channel: ChannelBooks, wanted: c.Subscribe) -> tuple[Handle, Handle]:
    """Make the handles of a subscription and of its queue, which one request opens."""
    mine, queue = channel.new_handle(wanted.topic_string, 0), channel.new_handle("", c.INPUT)
    queue.opened_with = mine
    mine.opening = msgspec.structs.replace(wanted, handle=mine.number, queue_handle=queue.number)
    return mine, queue


def request_retained(channel: ChannelBooks, subscription: Handle) -> Steps[int]:
    """Have what is retained put to a subscription again; how many that is."""
    command = c.SubscriptionRequest(subscription.number)
    try:
        return (yield from admin.durable(channel, command, subscription))
    except NoRetainedMessage:
        return 0


def not_open(subscription: str) -> NotOpen:
    """Make the error of a removal that comes too late."""
    text = f"subscription {subscription!r} is closed: open it again to remove it"
    return NotOpen(text, subscription)


class Subscription(Queue):
    """A subscription of a connection, and the queue that publications are got from.

    name is the queue's; after a lost connection it may be another one. subscription is the
    subscription's own, or "". Each publication says its topic as property MQTopicString.
    """

    def __init__(self, context: Context, wanted: c.Subscribe, replies: ReplyQueue) -> None:
        super().__init__(context, "subscription", None, replies)
        self.topic = wanted.topic_string
        self.subscription = wanted.name
        self.is_durable = bool(wanted.options & c.DURABLE)
        self._mine, self._input_handle = subscription_handles(context.channel, wanted)
        self._handle(c.INPUT)

    @property
    def name(self) -> str:
        """The queue that publications are got from; after a lost connection it may be another."""
        return self._mine.leads_to

    def _handle(self, modes: int) -> Handle:
        """Return an open handle of its queue; the one that gets are by comes with it."""
        if modes != c.INPUT:
            return super()._handle(modes)
        if not self._mine.is_open:
            self._channel.refuse_reentry(self._handles.lock)
            with self._handles.lock:
                self._check_open()
                if not self._mine.is_open:
                    opening = open_request(self._mine)
                    ask_to_open(self._channel, opening, self._mine, self._input_handle)
        return self._input_handle

    def _get(
        self, command: c.Get, inside: AnyUnit | None, cancel: CancelToken | None = None
    ) -> Message | None:
        """Get; a get with a handle of its own goes on with the queue made in another's place."""
        while True:
            self._handle(c.INPUT)
            name = self.name
            try:
                return super()._get(command, inside, cancel)
            except QueueNotFound:
                if self.name == name:
                    raise

    def _until_cancelled(self, token: CancelToken, loop_of: LoopOf) -> Iterator[Work]:
        self._handle(c.INPUT)
        name, begin = self.name, partial(super()._until_cancelled, token, loop_of)
        return self._go_on(name, begin(), begin)

    def _go_on(
        self, name: str, loop: Iterator[Work], begin: Callable[[], Iterator[Work]]
    ) -> Iterator[Work]:
        """Yield the units of a loop; it goes on with the queue made in another's place."""
        while True:
            try:
                yield from loop
                return
            except QueueNotFound as error:
                if self.is_closed:
                    return
                if error.units_failed or self.name == name:
                    raise
            name = self.name
            loop = begin()

    def request_retained(self) -> int:
        """Have what is retained for its topics put to it again (MQSUBRQ); how many that is."""
        self._handle(c.INPUT)
        return self._run(request_retained(self._channel, self._mine))

    def close(self, remove: bool = False) -> None:
        """Close it; a get that waits ends with None. remove: for good, also if it is durable.

        Any other is gone with its close, and with it what is on a queue that was made for it.
        """
        is_removed = a.as_flag("remove", remove) and self.is_durable
        if is_removed:
            self._channel.refuse_reentry()
        was_open = not self._handles.closing.is_set()
        super().close()
        if not was_open or self._channel.is_closed:
            if is_removed:
                raise not_open(self.subscription)
            return
        close_handles(self._channel, [self._input_handle])
        self._channel.drop_handle(self._mine)
        command = c.CloseSubscription(self._mine.number, remove=is_removed)
        if is_removed:
            request = Pending(command, handle=self._mine)
            self._channel.ask([request])
            self._channel.check_opened(request)
        elif self._channel.is_connected:
            request = Pending(command, rq.FORGOTTEN, handle=self._mine)
            if not self._channel.is_inside:
                self._channel.ask([request])
                return
            with suppress(CallInProgress):  # a signal handler cannot wait: it ends with the rest
                self._channel.submit([request])

    def __repr__(self) -> str:
        return f"<Subscription {self.subscription!r} to {self.topic!r}>"
