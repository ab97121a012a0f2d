"""Looking at a message without removing it, and removing a conversation that cannot go on.

An inspection receives in a transaction that it always rolls back; a removal ends the conversation
with an error and turns the queue on. Whether a message is poison is for people to decide. This
module does not know what a statement means.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from uuid import UUID

from msgspec import Struct

from adapter.core.attributes.broker import ROLLBACKS_MAX
from adapter.core.contract.broker_header import READY
from adapter.servicebroker import arguments as a
from adapter.servicebroker.catalog import Catalog
from adapter.servicebroker.catalog_views import CatalogViews
from adapter.servicebroker.errors import InvalidArgumentType, ServiceBrokerError
from adapter.servicebroker.rows import Row
from adapter.servicebroker.statements import Handle, Statements, as_guid
from adapter.servicebroker.transaction import Transaction
from adapter.servicebroker.views import EndpointRow

NO_MESSAGE = "No message available."
EMPTY = "Empty message."
BINARY = "No validation -- binary message:"


class Inspection(Struct, frozen=True):
    """What an inspection found. text: what it prints. row: None if no message was available in
    time. rollback_count: of the queue, with this inspection.
    """

    text: str
    row: Row | None
    rollback_count: int


class Removal(Struct, frozen=True):
    """What became of a conversation. inspected: its first message, as it was before. endpoints: the
    sides of the conversation that are left. state_cleared: clear_state was called.
    """

    conversation_handle: UUID
    queue: str
    inspected: Row | None
    text: str
    endpoints: list[EndpointRow]
    state_cleared: bool

    @property
    def report(self) -> str:
        """Say what was done, and what is left to do."""
        lines = [f"conversation {self.conversation_handle} was ended with an error", self.text]
        lines += [
            f"its other side, {one.conversation_handle} of service {one.service_name}, is in state "
            f"{one.state}: it has to receive the error, and end"
            for one in self.endpoints
        ]
        if not self.state_cleared:
            lines.append(
                "state that applications keep for the conversation was not cleared: remove it, "
                "because they receive no message that says that it has ended"
            )
        return "\n".join(lines)


ERROR_MAX = 2**31 - 1
"""Of a program's own errors; negative numbers are the system's."""
LATIN_END = "\u0180"
"""Behind the last letter of Latin scripts that is common."""


class Poison(Catalog, CatalogViews, Statements):
    """Inspection and removal of poison messages."""

    @abstractmethod
    def transaction(self) -> Transaction:
        """BEGIN TRANSACTION."""

    def inspect(
        self,
        queue: str,
        conversation_handle: Handle,
        *,
        timeout_ms: int = 2000,
        force: bool = False,
    ) -> Inspection:
        """Receive the next message of a conversation, show it, and roll back.

        It waits while another transaction has the conversation's group. The rollback counts for the
        queue: the inspection that would turn it OFF is refused, unless force is given.
        Raises ServiceBrokerError.
        """
        before = self.queue(queue)
        disables = before.status and before.is_poison_message_handling_enabled
        if disables and before.rollback_count == ROLLBACKS_MAX - 1 and not force:
            raise ServiceBrokerError(
                0,
                f"an inspection now would be rollback {ROLLBACKS_MAX} in a row, and turn queue "
                f"{before.name} OFF: look at it with browse(), or give force=True",
                before.name,
            )
        transaction = self.transaction()
        try:
            rows = transaction.receive(
                queue, top=1, conversation_handle=conversation_handle, timeout_ms=timeout_ms
            )
        finally:
            if transaction.is_open:
                transaction.rollback()
        row = rows[0] if rows else None
        return Inspection(shown(row), row, self.queue(queue).rollback_count)

    def remove_poison(
        self,
        queue: str,
        conversation_handle: Handle,
        *,
        error: int,
        description: str,
        clear_state: Callable[[UUID], object] | None = None,
    ) -> Removal:
        """End a conversation that cannot go on: show its first message, END CONVERSATION WITH
        ERROR, turn the queue ON, and call clear_state(handle).

        The message is looked at without receiving it, so that nothing counts as rolled back.
        Raises ServiceBrokerError, with nothing changed, if the queue has no such conversation, or
        an argument is wrong.
        """
        if clear_state is not None and not callable(clear_state):
            raise InvalidArgumentType(f"clear_state is a callable, not {clear_state!r}")
        if not isinstance(description, str):
            raise InvalidArgumentType(f"description is a str, not {description!r}")
        code = a.as_whole("error", error, 1, ERROR_MAX)
        handle = UUID(bytes=as_guid(conversation_handle))
        known = self._endpoint_of(handle)
        name = self.queue(queue).name
        if known is None or known.queue != name:
            raise ServiceBrokerError(
                8426, f"queue {name} has no conversation {handle}: check the handle", str(handle)
            )
        waiting = self._browse(queue, handle.bytes)
        row = next((one for one in waiting if one.status == READY), None)
        self.end_conversation(handle, error=code, description=description)
        self.alter_queue(queue, status=True)  # last: no reader meets the message again
        if clear_state is not None:
            clear_state(handle)
        left = self._sides_of(known.conversation_id)
        return Removal(handle, name, row, shown(row), left, clear_state is not None)


def shown(row: Row | None) -> str:
    """Write what the sample of SQL Server's documentation prints of a message."""
    if row is None:
        return NO_MESSAGE
    if row.validation == "E":
        return EMPTY
    if row.validation == "X":
        return row.text
    if row.validation == "N":
        return f"{BINARY}\n{raw(row.message_body or b'')}"
    return ""


def raw(body: bytes) -> str:
    """Write a body of any kind: as text if it is text, else in hexadecimal digits.

    Bytes of any meaning may be UTF-16LE: they are text if most of it is Latin; else both are shown.

    >>> raw(b"\\x00\\x4e\\x01\\x4e")
    '0x004E014E (as UTF-16LE: 一丁)'
    """
    digits = f"0x{body.hex().upper()}"
    for encoding in ("utf-8", "utf-16-le"):
        try:
            text = body.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not all(one.isprintable() or one in "\t\n\r" for one in text):
            continue
        if encoding == "utf-16-le" and 2 * sum(one < LATIN_END for one in text) <= len(text):
            return f"{digits} (as UTF-16LE: {text})"
        return text
    return digits
