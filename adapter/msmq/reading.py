"""Receiving and peeking: by place, by id, by correlation id and by lookup id.

It translates; which message a read returns is decided in core.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from adapter.connection.channel import plain_arguments as a
from adapter.connection.channel.plain_arguments import WrongArgument, WrongArgumentType
from adapter.core.contract import msmq as c
from adapter.host import watched
from adapter.msmq.cursor import MessageCursor, Timeout
from adapter.msmq.enumerations import MessageLookupAction, PeekAction
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import InvalidOperationError, MessageQueueException, MessageQueueTimeout
from adapter.msmq.message import Message, same_id
from adapter.msmq.open_queue import OpenMessageQueue
from adapter.msmq.transaction import Transaction


class QueueReader(OpenMessageQueue):
    """A queue that messages are read from."""

    def receive(
        self,
        timeout: Timeout = None,
        *,
        cursor: MessageCursor | None = None,
        transaction: Transaction | None = None,
    ) -> Message:
        """Remove the first message, or the one at a cursor, and return it.

        Raises MessageQueueTimeout if none comes within timeout (seconds; None: without limit), and
        MessageQueueException: TRANSACTION_USAGE, MESSAGE_ALREADY_RECEIVED, OPERATION_CANCELLED.
        """
        start = c.CURRENT if cursor is not None else c.FIRST
        command = c.MsmqReceive(0, wait_ms=a.as_wait_ms(timeout), start=start)
        return self._timely(self._read(command, cursor, transaction))

    def peek(
        self,
        timeout: Timeout = None,
        *,
        cursor: MessageCursor | None = None,
        action: PeekAction = PeekAction.CURRENT,
    ) -> Message:
        """Return the first message, or the one at a cursor or behind it, and leave it there.

        Raises MessageQueueTimeout if none comes within timeout (seconds; None: without limit), and
        MessageQueueException: ILLEGAL_CURSOR_ACTION, MESSAGE_ALREADY_RECEIVED, ...
        """
        if not isinstance(action, PeekAction):
            raise WrongArgumentType(f"action is of PeekAction, not {action!r}")
        if action is PeekAction.NEXT and cursor is None:
            raise WrongArgument("PeekAction.NEXT is behind a cursor: use one of create_cursor()")
        start = action.value if cursor is not None else c.FIRST
        command = c.MsmqReceive(0, wait_ms=a.as_wait_ms(timeout), peek=True, start=start)
        return self._timely(self._read(command, cursor, None))

    def receive_by_id(
        self,
        id: str,  # noqa: A002 -- as System.Messaging names it
        *,
        timeout: Timeout = None,
        transaction: Transaction | None = None,
    ) -> Message:
        """Remove the message of this id, and return it. timeout: None does not wait.

        Raises InvalidOperationError if it is not there, MessageQueueTimeout if a timeout is given.
        """
        return self._find(c.MsmqReceive(0, message_id=same_id(id, "id")), timeout, transaction)

    def peek_by_id(
        self,
        id: str,  # noqa: A002 -- as System.Messaging names it
        *,
        timeout: Timeout = None,
        transaction: Transaction | None = None,
    ) -> Message:
        """Return the message of this id, and leave it there; see receive_by_id()."""
        command = c.MsmqReceive(0, peek=True, message_id=same_id(id, "id"))
        return self._find(command, timeout, transaction)

    def receive_by_correlation_id(
        self,
        correlation_id: str,
        *,
        timeout: Timeout = None,
        transaction: Transaction | None = None,
    ) -> Message:
        """Remove the first message of this correlation id, and return it; see receive_by_id()."""
        wanted = same_id(correlation_id, "correlation_id")
        return self._find(c.MsmqReceive(0, correlation_id=wanted), timeout, transaction)

    def peek_by_correlation_id(
        self,
        correlation_id: str,
        *,
        timeout: Timeout = None,
        transaction: Transaction | None = None,
    ) -> Message:
        """Return the first message of this correlation id, and leave it there."""
        wanted = same_id(correlation_id, "correlation_id")
        command = c.MsmqReceive(0, peek=True, correlation_id=wanted)
        return self._find(command, timeout, transaction)

    def receive_by_lookup_id(
        self,
        lookup_id: int,
        *,
        action: MessageLookupAction = MessageLookupAction.CURRENT,
        transaction: Transaction | None = None,
    ) -> Message:
        """Remove the message with a lookup id, or beside it, and return it. Waits for none.

        Raises InvalidOperationError if there is no such message.
        """
        return self._look_up(lookup_id, action, transaction, peek=False)

    def peek_by_lookup_id(
        self,
        lookup_id: int,
        *,
        action: MessageLookupAction = MessageLookupAction.CURRENT,
        transaction: Transaction | None = None,
    ) -> Message:
        """Return the message with a lookup id, or beside it, and leave it there."""
        return self._look_up(lookup_id, action, transaction, peek=True)

    def begin_receive(
        self, timeout: Timeout = None, *, cursor: MessageCursor | None = None
    ) -> Future[Message]:
        """Receive in a thread; the result is a Message, or an error as of receive().

        close() cancels it: the error is OPERATION_CANCELLED.
        """
        return self._in_thread("receive", lambda: self.receive(timeout, cursor=cursor))

    def begin_peek(
        self,
        timeout: Timeout = None,
        *,
        cursor: MessageCursor | None = None,
        action: PeekAction = PeekAction.CURRENT,
    ) -> Future[Message]:
        """Peek in a thread; the result is a Message, or an error as of peek(). See
        begin_receive().
        """
        return self._in_thread("peek", lambda: self.peek(timeout, cursor=cursor, action=action))

    def _in_thread(self, what: str, read: Callable[[], Message]) -> Future[Message]:
        future: Future[Message] = Future()
        future.set_running_or_notify_cancel()

        def run() -> None:
            try:
                message = read()
            except BaseException as error:  # noqa: BLE001 -- it is the caller's
                future.set_exception(error)
            else:
                future.set_result(message)

        def ended(text: str) -> None:
            future.set_exception(MessageQueueException(Code.GENERIC, text, self.path))

        watched.thread(f"{what} from {self.path}", run, ended)
        return future

    def _timely(self, message: Message | None) -> Message:
        if message is None:
            raise MessageQueueTimeout(f"no message of queue {self.path} came in time", self.path)
        return message

    def _find(
        self, command: c.MsmqReceive, timeout: Timeout, transaction: Transaction | None
    ) -> Message:
        command.wait_ms = 0 if timeout is None else a.as_wait_ms(timeout)
        try:
            message = self._read(command, None, transaction)
        except MessageQueueException as error:
            if error.message_queue_error_code != Code.MESSAGE_NOT_FOUND:
                raise
            message = None
        if message is None and timeout is None:
            raise InvalidOperationError(f"the message is not on queue {self.path}", self.path)
        return self._timely(message)

    def _look_up(
        self,
        lookup_id: int,
        action: MessageLookupAction,
        transaction: Transaction | None,
        *,
        peek: bool,
    ) -> Message:
        if not isinstance(action, MessageLookupAction):
            raise WrongArgumentType(f"action is of MessageLookupAction, not {action!r}")
        wanted = a.as_whole("lookup_id", lookup_id, 0, 2**63 - 1)
        if action in (MessageLookupAction.FIRST, MessageLookupAction.LAST):
            wanted = c.NO_LOOKUP_ID
        command = c.MsmqReceive(0, peek=peek, start=action.value, lookup_id=wanted)
        return self._find(command, None, transaction)
