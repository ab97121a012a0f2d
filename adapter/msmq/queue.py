"""MessageQueue: one queue as a program has it open.

It opens the queue for sending, for receiving and for moving when each is first asked for. What an
operation means is decided in core.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from adapter import watched
from adapter.channel import arguments as a
from adapter.channel.channel import Channel
from adapter.channel.requests import Handle, Pending
from adapter.channel.verbs import close_handles
from adapter.core.contract import msmq as c
from adapter.core.contract.results import Done
from adapter.errors import Error, InvalidType
from adapter.msmq import requests
from adapter.msmq.cursor import Cursor, MessageEnumerator, Timeout
from adapter.msmq.enumerations import MessageLookupAction, PeekAction, QueueAccessMode
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import (
    InvalidOperationError,
    MessageQueueException,
    MessageQueueTimeout,
    as_msmq,
)
from adapter.msmq.filters import MessageReadPropertyFilter
from adapter.msmq.formatters import MessageFormatter
from adapter.msmq.message import Message, incoming, same_id
from adapter.msmq.properties import QueueProperties
from adapter.msmq.transaction import Transaction, resolved
from adapter.msmq.xml_formatter import XmlMessageFormatter


class MessageQueue(QueueProperties):
    """A queue, of Host.open() or create(). Shared by threads; leaving it as a context closes it.

    formatter: of values that are sent and received. message_read_property_filter: what is read of
    messages. default_properties_to_send: a Message with the properties that values are sent with.
    """

    def __init__(
        self,
        channel: Channel,
        computer: str,
        path: str,
        access: QueueAccessMode = QueueAccessMode.SEND_AND_RECEIVE,
        deny_receive: bool = False,
        is_lazy: bool = False,
    ) -> None:
        super().__init__(channel, computer, path)
        if not isinstance(access, QueueAccessMode):
            raise InvalidType(f"access is of QueueAccessMode, not {access!r}")
        self._access = access
        self._deny_receive = deny_receive
        self._handles: dict[QueueAccessMode, Handle] = {}
        self._lock = threading.Lock()
        self._cursor_numbers = itertools.count(1)
        self._closed = threading.Event()
        self.formatter: MessageFormatter = XmlMessageFormatter()
        self.message_read_property_filter = MessageReadPropertyFilter()
        self.default_properties_to_send = Message()
        if not is_lazy:
            self._open_at_once()

    def _open_at_once(self) -> None:
        """Open it for what shows most: an error is raised now, not by the first operation."""
        if self._access & QueueAccessMode.SEND and ";" not in self.path:
            self._handle(QueueAccessMode.SEND)
        elif self._access & QueueAccessMode.MOVE:
            self._handle(QueueAccessMode.MOVE)
        if self._deny_receive or not self._access & QueueAccessMode.SEND or ";" in self.path:
            self._reading()

    # -- sending

    def send(
        self, obj: Any, *, label: str | None = None, transaction: Transaction | None = None
    ) -> str:
        """Send a Message, or a value in the formatter's form; bytes are sent as they are.

        Returns the message's id, which a Message also has then; "" if the queue does not accept the
        message, and the queue manager has discarded it (see the page From MSMQ).
        Raises MessageQueueException: TRANSACTION_USAGE (level 2), MESSAGE_STORAGE_FAILED, ...
        """
        message = obj if isinstance(obj, Message) else self._made_of(obj)
        if label is not None:
            message.label = label
        unit, single = resolved(self._channel, transaction)
        data = message.to_data(self.formatter)
        handle = self._handle(QueueAccessMode.SEND)
        command = c.MsmqSend(handle.number, data, b"", single)
        identifier = requests.send(self._channel, handle, command, unit, self.path)
        message.sent_as(identifier)
        return message.id

    def _made_of(self, value: object) -> Message:
        message = Message(value)
        defaults = self.default_properties_to_send
        for name, default in defaults.set_properties().items():
            setattr(message, name, default)
        return message

    # -- receiving

    def receive(
        self,
        timeout: Timeout = None,
        *,
        cursor: Cursor | None = None,
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
        cursor: Cursor | None = None,
        action: PeekAction = PeekAction.CURRENT,
    ) -> Message:
        """Return the first message, or the one at a cursor or behind it, and leave it there.

        Raises MessageQueueTimeout if none comes within timeout (seconds; None: without limit), and
        MessageQueueException: ILLEGAL_CURSOR_ACTION, MESSAGE_ALREADY_RECEIVED, ...
        """
        if not isinstance(action, PeekAction):
            raise InvalidType(f"action is of PeekAction, not {action!r}")
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
        command = c.MsmqReceive(0, message_id=same_id(id, "id"))
        return self._find(command, timeout, transaction)

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
        command = c.MsmqReceive(0, correlation_id=wanted)
        return self._find(command, timeout, transaction)

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

    def begin_receive(self, timeout: Timeout = None) -> Future[Message]:
        """Receive in a thread; the result is a Message, or an error as of receive().

        close() cancels it: the error is OPERATION_CANCELLED.
        """
        future: Future[Message] = Future()
        future.set_running_or_notify_cancel()

        def run() -> None:
            try:
                message = self.receive(timeout)
            except BaseException as error:  # noqa: BLE001 -- it is the caller's
                future.set_exception(error)
            else:
                future.set_result(message)

        def ended(text: str) -> None:
            future.set_exception(MessageQueueException(Code.GENERIC, text, self.path))

        watched.thread(f"receive from {self.path}", run, ended)
        return future

    def peek_ahead(self, command: c.MsmqReceive) -> Pending:
        """Send a peek, and return when the queue manager has it; the answer may come later."""
        request = requests.read_request(self._reading(), command, None)
        question = Pending(c.MsmqInquire(self.path, self._computer))
        with as_msmq(self.path):
            self._channel.submit([request, question])
            self._channel.await_all([question])
        return request

    # -- walks

    def create_cursor(self) -> Cursor:
        """Make a cursor before the first message."""
        handle = self._reading()
        number = next(self._cursor_numbers)
        command = c.MsmqCursor(handle.number, number)
        requests.ask(self._channel, command, Done, False, self.path)
        return Cursor(number, handle.number, self._close_cursor)

    def _close_cursor(self, cursor: Cursor) -> None:
        if self._closed.is_set() or self._channel.is_closed:
            return
        command = c.MsmqCursor(cursor.handle, cursor.number, close=True)
        with suppress(Error):  # it was lost with the connection
            requests.ask(self._channel, command, Done, False, self.path)

    def enumerate(self) -> MessageEnumerator:
        """Return a walk over the messages (GetMessageEnumerator2)."""
        return MessageEnumerator(self)

    def __iter__(self) -> Iterator[Message]:
        """Iterate over the messages that are there, and remove nothing."""
        walk = self.enumerate()
        try:
            while walk.move_next():
                yield walk.current
        finally:
            walk.close()

    def get_all_messages(self) -> list[Message]:
        """Return the messages that are there, in order, and remove nothing."""
        return list(self)

    # -- others

    def move(
        self, lookup_id: int, to: MessageQueue, *, transaction: Transaction | None = None
    ) -> None:
        """Move a message to a subqueue of this queue, or from it back to the queue."""
        if not isinstance(to, MessageQueue):
            raise InvalidType(f"to is the MessageQueue to move to, not {to!r}")
        unit, _ = resolved(self._channel, transaction)
        handle, target = self._reading(), to._handle(QueueAccessMode.MOVE)
        command = c.MsmqMove(
            handle.number, target.number, a.as_whole("lookup_id", lookup_id, 0, 2**63)
        )
        requests.perform_in(self._channel, handle, command, unit, self.path)

    def mark_rejected(self, message: Message) -> None:
        """Reject a message that was received in a pending transaction: at its commit the sender
        gets a negative acknowledgment, and the message goes to the sender's dead-letter queue.
        """
        unit = message.unit_received_in
        if unit is None:
            raise MessageQueueException(
                Code.TRANSACTION_USAGE,
                "mark_rejected() takes a message that was received in a transaction",
                self.path,
            )
        handle = self._reading()
        command = c.MsmqReject(handle.number, message.lookup_id, unit.id)
        requests.perform_in(self._channel, handle, command, unit, self.path)

    def purge(self) -> int:
        """Remove every message that no transaction has received; returns how many."""
        handle = self._reading()
        command = c.MsmqPurge(handle.number)
        return requests.ask(self._channel, command, Done, True, self.path).count

    def close(self) -> None:
        """Give its handles back. Pending reads are cancelled: OPERATION_CANCELLED."""
        self._closed.set()
        with self._lock:
            handles = list(self._handles.values())
            self._handles.clear()
        if not self._channel.is_closed:
            close_handles(self._channel, handles)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- how

    def _handle(self, access: QueueAccessMode) -> Handle:
        """Return the handle for some access, opening it if need be."""
        handle = self._handles.get(access)
        if handle is not None and handle.is_open:
            return handle
        with self._lock:
            if self._closed.is_set():
                raise MessageQueueException(
                    Code.INVALID_HANDLE, f"queue {self.path} is closed: open it again", self.path
                )
            deny = self._deny_receive and access != QueueAccessMode.SEND
            handle = requests.open_handle(
                self._channel, self.path, int(access), deny, self._computer
            )
            self._handles[access] = handle
            return handle

    def _reading(self) -> Handle:
        only_peeks = not self._access & QueueAccessMode.RECEIVE
        return self._handle(QueueAccessMode.PEEK if only_peeks else QueueAccessMode.RECEIVE)

    def _read(
        self, command: c.MsmqReceive, cursor: Cursor | None, transaction: Transaction | None
    ) -> Message | None:
        unit, command.single = resolved(self._channel, transaction)
        handle = self._reading()
        command.handle = handle.number
        if cursor is not None:
            self._check_cursor(cursor, handle)
            command.cursor = cursor.number
        request = requests.read_request(handle, command, unit)
        delivered = requests.read(self._channel, request, unit, self.path)
        if delivered is None:
            self._check_open()
            return None
        wanted = self.message_read_property_filter
        return incoming(delivered, self.formatter, wanted, unit)

    def _check_cursor(self, cursor: Cursor, handle: Handle) -> None:
        if not isinstance(cursor, Cursor):
            raise InvalidType(f"cursor is one of create_cursor(), not {cursor!r}")
        if cursor.is_closed or cursor.handle != handle.number:
            raise MessageQueueException(
                Code.INVALID_HANDLE,
                f"the cursor is closed, or of another queue than {self.path}: create another",
                self.path,
            )

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise MessageQueueException(
                Code.OPERATION_CANCELLED,
                f"queue {self.path} was closed while a read was pending",
                self.path,
            )

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
            raise InvalidType(f"action is of MessageLookupAction, not {action!r}")
        wanted = a.as_whole("lookup_id", lookup_id, 0, 2**63 - 1)
        if action in (MessageLookupAction.FIRST, MessageLookupAction.LAST):
            wanted = c.NO_LOOKUP_ID
        command = c.MsmqReceive(0, peek=peek, start=action.value, lookup_id=wanted)
        return self._find(command, None, transaction)

    def __repr__(self) -> str:
        return f"<MessageQueue {self.path}>"
