"""Looking at a message without removing it, and removing a conversation that cannot go on.

An inspection receives in a transaction that it always rolls back; a removal ends the conversation
with an error and turns the queue on. Whether a message is poison is for people to decide. This
module does not know what a statement means.
"""

from __future__ import annotations

import codecs
import re
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

BEFORE = "before the inspection"
"""A savepoint: what is rolled back to it counts for no queue."""
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
    sides of the conversation that are left, this one among them until the other one has the error.
    state_cleared: clear_state was called.
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
            if one.conversation_handle != self.conversation_handle
        ]
        if any(one.conversation_handle == self.conversation_handle for one in self.endpoints):
            lines.append(
                "this side is forgotten when the other side has the error: it waits for that, "
                "see transmission_queue()"
            )
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
XML_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
XML_DECLARED = re.compile(rb"""<\?xml\s[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
ZEROS = {(False, True): "utf-16-le", (True, False): "utf-16-be"}
"""Which of the first two bytes is 0: XML begins with < or white space."""


class Poison(Catalog, CatalogViews, Statements):
    """Inspection and removal of poison messages."""

    @abstractmethod
    def transaction(self) -> Transaction:
        """BEGIN TRANSACTION."""

    @abstractmethod
    def _check_no_transaction(self) -> None:
        """Raise InvalidArgument if the session has an open transaction."""

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
        queue: the inspection that would turn it OFF is refused, and does not count, unless force is
        given. Raises ServiceBrokerError.
        """
        if not force:
            self._check_rollback(queue)
        transaction = self.transaction()
        try:
            if not force:
                transaction.save(BEFORE)
            rows = transaction.receive(
                queue, top=1, conversation_handle=conversation_handle, timeout_ms=timeout_ms
            )
            if rows and not force:
                self._check_again(queue, transaction)
        finally:
            if transaction.is_open:
                transaction.rollback()
        row = rows[0] if rows else None
        return Inspection(shown(row), row, self.queue(queue).rollback_count)

    def _check_again(self, queue: str, transaction: Transaction) -> None:
        """Refuse an inspection that has received, without a rollback that counts: it may have
        waited for a transaction which was rolled back.
        """
        try:
            self._check_rollback(queue)
        except ServiceBrokerError:
            transaction.rollback_to(BEFORE)
            transaction.commit()
            raise

    def _check_rollback(self, queue: str) -> None:
        """Refuse one more rollback if it would turn the queue OFF."""
        shows = self.queue(queue)
        disables = shows.status and shows.is_poison_message_handling_enabled
        if disables and shows.rollback_count >= ROLLBACKS_MAX - 1:
            raise ServiceBrokerError(
                0,
                f"an inspection now would be rollback {shows.rollback_count + 1} in a row, and "
                f"turn queue {shows.name} OFF: look at it with browse(), or give force=True",
                shows.name,
            )

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

        The message is looked at without receiving it, so that nothing counts as rolled back. What
        was done is not undone by a rollback, so that it is no part of a transaction.
        Raises ServiceBrokerError, with nothing changed, if the queue has no such conversation, the
        session has an open transaction, or an argument is wrong.
        """
        self._check_no_transaction()
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
        return xml_text(row.message_body or b"")
    if row.validation == "N":
        return f"{BINARY}\n{raw(row.message_body or b'')}"
    return ""


def xml_text(body: bytes) -> str:
    """Write a body of XML, which says itself how it is encoded: by its mark, by its zeros, or by
    its declaration; else it is UTF-8.

    >>> xml_text(b"<part>bolt</part>"), xml_text("<part>bolt</part>".encode("utf-16-le"))
    ('<part>bolt</part>', '<part>bolt</part>')
    """
    found = next((encoding for mark, encoding in XML_MARKS if body.startswith(mark)), "")
    if not found:
        declared = XML_DECLARED.match(body)
        found = declared[1].decode("ascii") if declared else "utf-8"
        found = ZEROS.get((body[:1] == b"\0", body[1:2] == b"\0"), found)
    try:
        return body.decode(found)
    except (LookupError, UnicodeError):
        return raw(body)


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
