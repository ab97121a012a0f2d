"""A queue as a program has it open: its handles, its cursors, and one read.

It opens the queue for sending, for receiving and for moving when each is first asked for. What a
read means is decided in core.
"""

from __future__ import annotations

import itertools
import threading
from contextlib import suppress

from adapter.channel.channel import Channel
from adapter.channel.closing import Closing
from adapter.channel.requests import Handle, Pending
from adapter.channel.verbs import close_handles
from adapter.core.contract import msmq as c
from adapter.core.contract.results import Done
from adapter.errors import Error, InvalidType
from adapter.msmq import requests
from adapter.msmq.cursor import MessageCursor
from adapter.msmq.enumerations import QueueAccessMode
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import (
    MessageQueueException,
    as_msmq,
)
from adapter.msmq.filters import MessageReadPropertyFilter
from adapter.msmq.formatters import MessageFormatter
from adapter.msmq.message import Message, incoming
from adapter.msmq.properties import QueueProperties
from adapter.msmq.transaction import Transaction, resolved
from adapter.msmq.xml_formatter import XmlMessageFormatter


class OpenMessageQueue(QueueProperties, Closing):
    """A queue that is open. Shared by threads; leaving it as a context closes it.

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

    def close(self) -> None:
        """Give its handles back. Pending reads are cancelled: OPERATION_CANCELLED."""
        self._closed.set()
        with self._lock:
            handles = list(self._handles.values())
            self._handles.clear()
        if not self._channel.is_closed:
            close_handles(self._channel, handles)

    def create_cursor(self) -> MessageCursor:
        """Make a cursor before the first message."""
        handle = self._reading()
        number = next(self._cursor_numbers)
        command = c.MsmqCursor(handle.number, number)
        requests.ask(self._channel, command, Done, False, self.path)
        return MessageCursor(number, handle.number, self._close_cursor)

    def _close_cursor(self, cursor: MessageCursor) -> None:
        if self._closed.is_set() or self._channel.is_closed:
            return
        command = c.MsmqCursor(cursor.handle, cursor.number, close=True)
        with suppress(Error):  # it was lost with the connection
            requests.ask(self._channel, command, Done, False, self.path)

    def peek_ahead(self, command: c.MsmqReceive) -> Pending:
        """Send a peek, and return when the queue manager has it; the answer may come later."""
        request = requests.read_request(self._reading(), command, None)
        question = Pending(c.MsmqInquire(self.path, self._computer))
        with as_msmq(self.path):
            self._channel.submit([request, question])
            self._channel.await_all([question])
        return request

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
        self, command: c.MsmqReceive, cursor: MessageCursor | None, transaction: Transaction | None
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

    def _check_cursor(self, cursor: MessageCursor, handle: Handle) -> None:
        if not isinstance(cursor, MessageCursor):
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
