"""Cursors and enumerators: walks through a queue that remove nothing by themselves.

This module does not know when a cursor moves: core does.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Protocol

from adapter.msmq.enumerations import PeekAction
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import InvalidOperationError, MessageQueueException
from adapter.msmq.message import Message
from adapter.msmq.transaction import Transaction

Timeout = float | timedelta | None


class MessageCursor:
    """A place in a queue, of MessageQueue.create_cursor(). It is lost with the connection."""

    def __init__(self, number: int, handle: int, close: Callable[[MessageCursor], None]) -> None:
        self.number = number
        self.handle = handle
        self._close = close
        self.is_closed = False

    def close(self) -> None:
        """Give it back."""
        if not self.is_closed:
            self.is_closed = True
            self._close(self)


class ReadableQueue(Protocol):
    """A queue as an enumerator sees it."""

    def create_cursor(self) -> MessageCursor:
        """Make a cursor before the first message."""

    def peek(
        self,
        timeout: Timeout = ...,
        *,
        cursor: MessageCursor | None = ...,
        action: PeekAction = ...,
    ) -> Message:
        """Return a message, and leave it there."""

    def receive(
        self,
        timeout: Timeout = ...,
        *,
        cursor: MessageCursor | None = ...,
        transaction: Transaction | None = ...,
    ) -> Message:
        """Return a message, and remove it."""


class MessageEnumerator:
    """A walk over the messages of a queue, from the head (GetMessageEnumerator2).

    Messages that arrive behind it while it goes on are met; it removes only by remove_current().
    """

    def __init__(self, queue: ReadableQueue) -> None:
        self._queue = queue
        self._cursor: MessageCursor | None = None
        self._action = PeekAction.CURRENT
        self._current: Message | None = None

    @property
    def current(self) -> Message:
        """The message it is at. Raises InvalidOperationError before the first, and at the end."""
        if self._current is None:
            raise InvalidOperationError("the enumerator is at no message: call move_next() first")
        return self._current

    def move_next(self, timeout: Timeout = 0) -> bool:
        """Go to the next message; False, and closed, if none comes within timeout."""
        if self._cursor is None:
            self.close()
            self._cursor = self._queue.create_cursor()
        try:
            self._current = self._queue.peek(timeout, cursor=self._cursor, action=self._action)
        except MessageQueueException as error:
            if error.message_queue_error_code in (Code.IO_TIMEOUT, Code.ILLEGAL_CURSOR_ACTION):
                self.close()
                return False
            if error.message_queue_error_code != Code.MESSAGE_ALREADY_RECEIVED:
                raise
            self._action = PeekAction.NEXT
            return self.move_next(timeout)
        self._action = PeekAction.NEXT
        return True

    def remove_current(
        self, *, timeout: Timeout = 0, transaction: Transaction | None = None
    ) -> Message | None:
        """Receive the message it is at, and return it; None before the first move_next().

        Raises MessageQueueException: MESSAGE_ALREADY_RECEIVED if another program was faster.
        """
        if self._cursor is None:
            return None
        message = self._queue.receive(timeout, cursor=self._cursor, transaction=transaction)
        self._action, self._current = PeekAction.CURRENT, None
        return message

    def reset(self) -> None:
        """Begin again at the head."""
        self.close()

    def close(self) -> None:
        """Give its cursor back."""
        if self._cursor is not None:
            self._cursor.close()
        self._cursor, self._action, self._current = None, PeekAction.CURRENT, None
