"""A queue as a program has it open: its handles, its cursors, and one read.

It opens the queue for sending, for receiving and for moving when each is first asked for. What a
read means is decided in core.
"""

from __future__ import annotations

import itertools
import weakref
from contextlib import suppress
from typing import ClassVar, TypeVar

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.closing import Closing
from adapter.connection.channel.flag import Flag
from adapter.connection.channel.forking import is_mine, new_lock
from adapter.connection.channel.plain_arguments import WrongArgumentType
from adapter.connection.channel.requests import Handle, Pending
from adapter.connection.channel.verbs import close_handles
from adapter.core.attributes.msmq import QUOTA_UNLIMITED_KB
from adapter.core.contract import msmq as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Done
from adapter.errors import Error
from adapter.msmq import requests
from adapter.msmq.computers import ComputerConnections, QueueRoute
from adapter.msmq.cursor import MessageCursor
from adapter.msmq.enumerations import QueueAccessMode
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import MessageQueueException
from adapter.msmq.filters import MessageReadPropertyFilter
from adapter.msmq.formatters import MessageFormatter
from adapter.msmq.message import Message, incoming
from adapter.msmq.permissions import QueuePermissions
from adapter.msmq.transaction import Transaction, resolve
from adapter.msmq.xml_formatter import XmlMessageFormatter

_READS = QueueAccessMode.RECEIVE | QueueAccessMode.PEEK
_ENOUGH_FOR = {
    QueueAccessMode.SEND: QueueAccessMode.SEND,
    QueueAccessMode.MOVE: QueueAccessMode.MOVE | QueueAccessMode.RECEIVE,
    QueueAccessMode.RECEIVE: QueueAccessMode.RECEIVE,
    QueueAccessMode.PEEK: QueueAccessMode.PEEK,
}
"""What a queue is open for, by the access that an operation needs: any of it is enough."""


ValueT = TypeVar("ValueT")
OpenHandles = dict[tuple[QueueAccessMode, Channel], Handle]
"""What a queue object has open, by access and connection."""


class OpenMessageQueue(QueuePermissions, Closing):
    """A queue that is open. Shared by threads; leaving it as a context closes it.

    formatter: of values that are sent and received. message_read_property_filter: what is read of
    messages. default_properties_to_send: a Message with the properties that values are sent with.
    """

    INFINITE_TIMEOUT: ClassVar[None] = None
    INFINITE_QUEUE_SIZE: ClassVar[int] = QUOTA_UNLIMITED_KB

    def __init__(
        self,
        computers: ComputerConnections,
        path: str,
        access: QueueAccessMode = QueueAccessMode.SEND_AND_RECEIVE,
        deny_receive: bool = False,
        is_lazy: bool = False,
    ) -> None:
        super().__init__(computers, path)
        if not isinstance(access, QueueAccessMode):
            raise WrongArgumentType(f"access is of QueueAccessMode, not {access!r}")
        self._access = access
        self._deny_receive = deny_receive
        self._handles: OpenHandles = {}
        weakref.finalize(self, let_go, self._handles).atexit = False
        self._lock = new_lock()
        self._cursor_numbers = itertools.count(1)
        self._closed = Flag()
        self._known: dict[str, bool] = {}
        """Of the names of this machine, which messages may name."""
        self._formatter: MessageFormatter | None = XmlMessageFormatter()
        self._filter = MessageReadPropertyFilter()
        self._defaults = Message()
        if not is_lazy:
            self._open_at_once()

    def _open_at_once(self) -> None:
        """Open it for what shows most: an error is raised now, not by the first operation."""
        is_read = self._access != QueueAccessMode.SEND and ";" in self.path
        if self._access & QueueAccessMode.SEND and not is_read:
            self._handle(QueueAccessMode.SEND)
        elif self._access & QueueAccessMode.MOVE:
            self._handle(QueueAccessMode.MOVE)
        if self.can_read and (
            self._deny_receive or not self._access & QueueAccessMode.SEND or ";" in self.path
        ):
            self._reading(peeks=True)

    @property
    def formatter(self) -> MessageFormatter | None:
        """What writes and reads values of bodies; None: as XmlMessageFormatter()."""
        return self._formatter

    @formatter.setter
    def formatter(self, value: MessageFormatter | None) -> None:
        methods = (getattr(value, "write", None), getattr(value, "read", None))
        if value is not None and (isinstance(value, type) or not any(map(callable, methods))):
            raise WrongArgumentType(
                f"formatter has write() and read(), as MessageFormatter: {value!r}"
            )
        self._formatter = value

    @property
    def message_read_property_filter(self) -> MessageReadPropertyFilter:
        """What is read of messages."""
        return self._filter

    @message_read_property_filter.setter
    def message_read_property_filter(self, value: MessageReadPropertyFilter) -> None:
        self._filter = _of_type("message_read_property_filter", value, MessageReadPropertyFilter)

    @property
    def default_properties_to_send(self) -> Message:
        """A Message with the properties that values are sent with."""
        return self._defaults

    @default_properties_to_send.setter
    def default_properties_to_send(self, value: Message) -> None:
        self._defaults = _of_type("default_properties_to_send", value, Message)

    @property
    def access_mode(self) -> QueueAccessMode:
        """What it was opened for."""
        return self._access

    @property
    def deny_shared_receive(self) -> bool:
        """Whether it was opened so that no other program receives from it meanwhile."""
        return self._deny_receive

    @property
    def can_read(self) -> bool:
        """Whether it is open for receiving or peeking."""
        return bool(self._access & _READS)

    @property
    def can_write(self) -> bool:
        """Whether it is open for sending."""
        return bool(self._access & QueueAccessMode.SEND)

    def close(self) -> None:
        """Give its handles back. Pending reads are cancelled: OPERATION_CANCELLED."""
        self._closed.set()
        inside = [one for _, one in list(self._handles) if one.is_inside]
        if inside or is_mine(self._lock):  # in a signal handler: it cannot wait
            for (_, channel), handle in list(self._handles.items()):
                channel.close_soon([handle])
            return
        with self._lock:
            handles = list(self._handles.items())
            self._handles.clear()
        for channel in {channel for (_, channel), _ in handles if not channel.is_closed}:
            close_handles(channel, [one for (_, over), one in handles if over is channel])

    def create_cursor(self) -> MessageCursor:
        """Make a cursor before the first message."""
        handle = self._reading(peeks=True)
        number = next(self._cursor_numbers)
        requests.ask(self._reads.channel, c.MsmqCursor(handle.number, number), Done, self.path)
        return MessageCursor(number, handle.number, self._close_cursor)

    def _close_cursor(self, cursor: MessageCursor) -> None:
        channel = self._reads.channel
        if self._closed.is_set() or channel.is_closed:
            return
        command = c.MsmqCursor(cursor.handle, cursor.number, close=True)
        with suppress(Error):  # it was lost with the connection
            requests.ask(channel, command, Done, self.path)

    def peek_ahead(self, command: c.MsmqReceive) -> Pending:
        """Send a peek, and return when the queue manager has it; the answer may come later."""
        request = requests.read_request(self._reading(peeks=True), command, None)
        route = self._reads
        question = Pending(c.MsmqInquire(self.path, route.computer))
        with requests.errors_of(route.channel, self.path):
            route.channel.submit([request, question])
            route.channel.await_all([question])
        return request

    def await_peek(self, request: Pending) -> Delivered | None:
        """Wait for the answer to a peek that was sent; None: there is no message."""
        channel = self._reads.channel
        channel.await_all([request])
        return requests.read_answer(channel, request, self.path)

    def await_answers(self) -> None:
        """Wait until what the queue manager has answered by now is known here."""
        requests.inquire(self._reads, self.path)

    def _is_known(self, computer: str) -> bool:
        """Whether a queue manager has a computer of this name. It is asked once, as for the path
        that was opened, and not for each message.
        """
        known = self._known.get(computer)
        if known is None:
            known = self._known[computer] = self._computers.is_known(computer)
        return known

    def _handle(self, access: QueueAccessMode, route: QueueRoute | None = None) -> Handle:
        """Return the handle for some access, opening it if need be. route: None is the own queue
        manager to send, which sends on, and that of the queue's computer for all else.
        """
        if not self._access & _ENOUGH_FOR[access]:
            name = access.name or ""
            raise MessageQueueException(
                Code.ACCESS_DENIED,
                f"queue {self.path} is not open for this: open it with QueueAccessMode.{name}",
                self.path,
            )
        if route is None:
            route = self._computers.own if access is QueueAccessMode.SEND else self._reads
        handle = self._handles.get((access, route.channel))
        if handle is not None and handle.is_open:
            return handle
        route.channel.refuse_reentry(self._lock)
        with self._lock:
            if self._closed.is_set():
                raise MessageQueueException(
                    Code.INVALID_HANDLE, f"queue {self.path} is closed: open it again", self.path
                )
            handle = self._handles.get((access, route.channel))
            if handle is not None and handle.is_open:  # another thread was faster
                return handle
            reads = QueueAccessMode.MOVE if not self.can_read else _READS
            deny = self._deny_receive and bool(access & reads)
            route = self._computers.now(route)
            handle = requests.open_handle(route, self.path, int(access), deny)
            self._handles[access, route.channel] = handle
            return handle

    def _reading(self, *, peeks: bool = False) -> Handle:
        """Return the handle for receiving, or for peeking, if that is all that is asked for and
        that it is open for.
        """
        only_peeks = peeks and not self._access & QueueAccessMode.RECEIVE
        return self._handle(QueueAccessMode.PEEK if only_peeks else QueueAccessMode.RECEIVE)

    def _read(
        self, command: c.MsmqReceive, cursor: MessageCursor | None, transaction: Transaction | None
    ) -> Message | None:
        route = self._reads
        unit, command.single = resolve(self._computers, transaction, route.channel)
        handle = self._reading(peeks=command.peek)
        command.handle = handle.number
        if cursor is not None:
            self._check_cursor(cursor, handle)
            command.cursor = cursor.number
        # Before the message is removed: nothing may fail behind that.
        formatter, unread = self._formatter, self._filter.unread()
        request = requests.read_request(handle, command, unit)
        delivered = requests.read(route.channel, request, unit, self.path)
        if delivered is None:
            self._check_open()
            return None
        return incoming(delivered, formatter, unread, unit)

    def _check_cursor(self, cursor: MessageCursor, handle: Handle) -> None:
        if not isinstance(cursor, MessageCursor):
            raise WrongArgumentType(f"cursor is one of create_cursor(), not {cursor!r}")
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


def _of_type(name: str, value: object, kind: type[ValueT]) -> ValueT:
    if not isinstance(value, kind):
        raise WrongArgumentType(f"{name} is a {kind.__name__}, not {value!r}")
    return value


def let_go(handles: OpenHandles) -> None:
    """Have what a queue object has open closed with what is asked next over each connection: the
    object is gone, and close() was not called.
    """
    for (_, channel), handle in handles.items():
        channel.let_go({handle.number: handle})
