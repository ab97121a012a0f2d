"""MessageQueue: one queue as a program has it open. What an operation means is decided in core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from adapter.connection.channel import plain_arguments as a
from adapter.connection.channel.plain_arguments import WrongArgumentType
from adapter.core.contract import msmq as c
from adapter.core.contract.results import Done
from adapter.msmq import requests
from adapter.msmq.cursor import MessageEnumerator
from adapter.msmq.enumerations import QueueAccessMode
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import MessageQueueException
from adapter.msmq.message import Message
from adapter.msmq.reading import QueueReader
from adapter.msmq.transaction import Transaction, resolve


class MessageQueue(QueueReader):
    """A queue, of Host.open() or create(). Shared by threads; leaving it as a context closes it.

    formatter: of values that are sent and received. message_read_property_filter: what is read of
    messages. default_properties_to_send: a Message with the properties that values are sent with.
    `INFINITE_TIMEOUT`: of reads that wait without limit. `INFINITE_QUEUE_SIZE`: of quotas.
    """

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
        unit, single = resolve(self._computers, transaction)
        data = message.to_data(self.formatter, self._is_known)
        route = self._computers.own if unit is None else self._computers.of(unit.channel)
        handle = self._handle(QueueAccessMode.SEND, route)
        command = c.MsmqSend(handle.number, data, b"", single)
        identifier = requests.send(route.channel, handle, command, unit, self.path)
        message.sent_as(identifier)
        return message.id

    def _made_of(self, value: object) -> Message:
        message = Message(value)
        defaults = self.default_properties_to_send
        for name, default in defaults.set_properties().items():
            setattr(message, name, default)
        return message

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

    def move(
        self, lookup_id: int, to: MessageQueue, *, transaction: Transaction | None = None
    ) -> None:
        """Move a message to a subqueue of this queue, or from it back to the queue."""
        if not isinstance(to, MessageQueue):
            raise WrongArgumentType(f"to is the MessageQueue to move to, not {to!r}")
        channel = self._reads.channel
        unit, _ = resolve(self._computers, transaction, channel)
        handle, target = self._handle(QueueAccessMode.MOVE), to._handle(QueueAccessMode.MOVE)
        command = c.MsmqMove(
            handle.number, target.number, a.as_whole("lookup_id", lookup_id, 0, 2**63)
        )
        requests.perform_in(channel, handle, command, unit, self.path)

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
        requests.perform_in(self._reads.channel, handle, command, unit, self.path)

    def purge(self) -> int:
        """Remove every message that no transaction has received; returns how many."""
        handle = self._reading()
        command = c.MsmqPurge(handle.number)
        return requests.ask(self._reads.channel, command, Done, self.path).count

    def __repr__(self) -> str:
        return f"<MessageQueue {self.path}>"
