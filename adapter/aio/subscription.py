"""Subscribing from a task; see adapter/client/subscription.py.

Its two handles are opened and closed together. This module does not know which publications a
subscription gets.
"""

from __future__ import annotations

from adapter.aio.context import TaskContext
from adapter.aio.handles import ask_to_open
from adapter.aio.queue import Queue
from adapter.aio.replies import TaskReplies
from adapter.client.subscription import not_open, request_retained, subscription_handles
from adapter.connection.channel import arguments as a
from adapter.connection.channel.requests import Handle, Pending, open_request
from adapter.core.contract import commands as c


class Subscription(Queue):
    """A subscription of a connection, and the queue that publications are got from.

    name is the queue's; after a lost connection it may be another one. subscription is the
    subscription's own, or "". Each publication says its topic as property MQTopicString.
    """

    def __init__(self, context: TaskContext, wanted: c.Subscribe, replies: TaskReplies) -> None:
        super().__init__(context, "subscription", "input", replies)
        self.topic = wanted.topic_string
        self.subscription = wanted.name
        self.is_durable = bool(wanted.options & c.DURABLE)
        self._mine, self._input_handle = subscription_handles(context.channel, wanted)
        self._handles.add(self._input_handle)
        self._handles.add(self._mine)

    @property
    def name(self) -> str:
        """The queue that publications are got from; after a lost connection it may be another."""
        return self._mine.leads_to

    async def _handle(self, modes: int) -> Handle:
        """Return an open handle of its queue; the one that gets are by comes with it."""
        if modes != c.INPUT:
            return await super()._handle(modes)
        if not self._mine.is_open:
            async with self._handles.lock:
                self._check_open()
                if not self._mine.is_open:
                    opening = open_request(self._mine)
                    await ask_to_open(self._channel, opening, self._mine, self._input_handle)
        return self._input_handle

    async def request_retained(self) -> int:
        """Have what is retained for its topics put to it again (MQSUBRQ); how many that is."""
        await self._handle(c.INPUT)
        return await self._run(request_retained(self._channel, self._mine))

    async def close(self, remove: bool = False) -> None:
        """Close it; a get that waits ends with None. remove: for good, also if it is durable.

        Any other is gone with its close, and with it what is on a queue that was made for it.
        """
        if not (a.as_flag("remove", remove) and self.is_durable):
            await super().close()
            return
        if self.is_closed:
            raise not_open(self.subscription)
        self._handles.forget(self._mine)
        try:
            await super().close()
        except BaseException:
            self._channel.close_soon(self._mine)
            raise
        self._channel.drop_handle(self._mine)
        removal = Pending(c.CloseSubscription(self._mine.number, remove=True), handle=self._mine)
        await self._channel.ask([removal])
        self._channel.check_opened(removal)

    def __repr__(self) -> str:
        return f"<Subscription {self.subscription!r} to {self.topic!r}>"
