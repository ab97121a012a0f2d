"""The statements on conversations, which a transaction and a session have alike.

A statement outside a transaction is a transaction of its own. This module does not know what a
statement means, nor how a transaction begins.
"""

from __future__ import annotations

import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any, TypeVar
from uuid import UUID, uuid4

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.unit import Unit, perform
from adapter.core.contract import broker as b
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Descriptions, Done, Messages
from adapter.errors import BackedOut
from adapter.servicebroker import arguments as a
from adapter.servicebroker.errors import InvalidArgument, InvalidArgumentType, as_broker
from adapter.servicebroker.rows import Row, row_of

Handle = UUID | str
ResultT = TypeVar("ResultT")
SECOND_MS = 1_000
GROUP_NOT_FOUND = 8436
DIGITS = "[0-9A-Fa-f]{32}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}"
GUID = re.compile(rf"(?:urn:uuid:)?(?:{DIGITS})|\{{(?:{DIGITS})\}}")
TIMEOUT_MAX_MS = SECONDS_MAX = TOP_MAX = 2_147_483_647
ATTEMPTS_MAX = 10
"""How often the first, or only, statement of a transaction is tried while connections are lost."""


class Statements(ABC):
    """The statements on conversations."""

    @abstractmethod
    def _unit(self) -> AbstractContextManager[tuple[Channel, Unit]]:
        """Give the unit that a statement is part of; one of its own ends with the context."""

    @property
    @abstractmethod
    def _may_repeat(self) -> bool:
        """Whether a statement whose connection was lost may be given again: its transaction has
        done nothing else.
        """

    @property
    @abstractmethod
    def lock_timeout_ms(self) -> int:
        """How long to wait for a conversation group that another transaction has locked."""

    def _do(
        self, command: Any, kind: type[ResultT], numbers: Mapping[Reason, int] | None = None
    ) -> ResultT:
        wait_ms = getattr(command, "wait_ms", 0)
        until_s = time.monotonic() + wait_ms / 1000 if wait_ms > 0 else None
        attempts = ATTEMPTS_MAX if self._may_repeat else 1
        with as_broker(numbers):
            for _ in range(attempts - 1):
                with suppress(BackedOut):  # with its connection: nothing of it has happened
                    return self._attempt(command, kind, until_s)
            return self._attempt(command, kind, until_s)

    def _attempt(self, command: Any, kind: type[ResultT], until_s: float | None) -> ResultT:
        """Give a statement once. until_s: when a wait for messages is over; None: without one, or
        without limit.
        """
        with self._unit() as (channel, unit):
            command.unit = unit.id
            if until_s is not None:  # never 0: that is no wait for messages, but one for locks
                command.wait_ms = max(math.ceil((until_s - time.monotonic()) * 1000), 1)
            if hasattr(command, "lock_ms"):
                command.lock_ms = self.lock_timeout_ms
            request = Pending(command)
            return perform(channel, unit, [request], request, kind)

    def begin_dialog(
        self,
        from_service: str,
        to_service: str,
        *,
        contract: str = b.DEFAULT,
        lifetime_s: int | None = None,
        encryption: bool = False,
        related_conversation: Handle | None = None,
        related_conversation_group: Handle | None = None,
    ) -> UUID:
        """BEGIN DIALOG CONVERSATION; returns its handle. encryption must be False: bodies are kept
        as they are sent.
        """
        if related_conversation is not None and related_conversation_group is not None:
            raise InvalidArgument("give a related conversation or a related group, not both")
        handle = uuid4()
        group = related_conversation_group
        related = b"" if related_conversation is None else as_guid(related_conversation)
        lifetime = 0 if lifetime_s is None else as_seconds("lifetime_s", lifetime_s)
        self._do(
            b.BrokerBegin(
                b"",
                handle.bytes,
                a.as_name("from_service", from_service),
                a.as_name("to_service", to_service),
                a.as_name("contract", contract),
                lifetime * SECOND_MS,
                related,
                uuid4().bytes if group is None else as_guid(group),
                a.as_flag("encryption", encryption),
            ),
            Done,
            {Reason.OBJECT_NOT_FOUND: 8423},
        )
        return handle

    def send(
        self,
        handles: Handle | Iterable[Handle],
        *,
        message_type: str = b.DEFAULT,
        body: bytes | str | None = None,
    ) -> None:
        """SEND ON CONVERSATION, on all of the handles or on none. A str is sent as NVARCHAR, in
        UTF-16LE.
        """
        given: list[Any] = [handles]
        if isinstance(handles, Iterable) and not isinstance(handles, str | bytes):
            given = list(handles)
        self._do(
            b.BrokerSend(
                b"",
                [as_guid(one) for one in given],
                a.as_name("message_type", message_type),
                as_body(body),
            ),
            Done,
            {Reason.OBJECT_NOT_FOUND: 8428},
        )

    def receive(
        self,
        queue: str,
        *,
        top: int | None = None,
        conversation_handle: Handle | None = None,
        conversation_group_id: Handle | None = None,
        timeout_ms: int = 0,
    ) -> list[Row]:
        """RECEIVE: rows of one conversation group, which is locked until the transaction ends; []
        if no message is there. timeout_ms: 0: without WAITFOR, -1: without limit.
        """
        if conversation_handle is not None and conversation_group_id is not None:
            raise InvalidArgument("give a conversation handle or a conversation group, not both")
        handle, group = conversation_handle, conversation_group_id
        command = b.BrokerReceive(
            b"",
            a.as_queue(queue),
            -1 if top is None else a.as_whole("top", top, 1, TOP_MAX),
            b"" if handle is None else as_guid(handle),
            b"" if group is None else as_guid(group),
            as_timeout_ms(timeout_ms),
        )
        numbers = {} if group is None else {Reason.CONVERSATION_NOT_FOUND: GROUP_NOT_FOUND}
        return [row_of(one) for one in self._do(command, Messages, numbers).messages]

    def get_conversation_group(self, queue: str, *, timeout_ms: int = 0) -> UUID | None:
        """GET CONVERSATION GROUP: lock the next group that has messages; None if no group has."""
        command = b.BrokerGetGroup(b"", a.as_queue(queue), as_timeout_ms(timeout_ms))
        found = self._do(command, Descriptions).queues
        return UUID(hex=found[0].name) if found else None

    def move_conversation(self, handle: Handle, group: Handle) -> None:
        """MOVE CONVERSATION to another group."""
        self._do(
            b.BrokerMove(b"", as_guid(handle), as_guid(group)),
            Done,
            {Reason.CONVERSATION_STATE_ERROR: 8438},
        )

    def begin_conversation_timer(self, handle: Handle, timeout_s: int) -> None:
        """BEGIN CONVERSATION TIMER: a DialogTimer message comes after so many seconds."""
        timeout_ms = as_seconds("timeout_s", timeout_s) * SECOND_MS
        self._do(
            b.BrokerTimer(b"", as_guid(handle), timeout_ms),
            Done,
            {Reason.CONVERSATION_STATE_ERROR: 8458},
        )

    def end_conversation(
        self,
        handle: Handle,
        *,
        error: int | None = None,
        description: str | None = None,
        cleanup: bool = False,
    ) -> None:
        """END CONVERSATION, plainly, WITH ERROR = ... DESCRIPTION = ..., or WITH CLEANUP."""
        if (error is None) != (description is None):
            raise InvalidArgument("an error code and its description go together", 8419)
        code = None if error is None else a.as_whole("error", error, -(2**63), 2**63 - 1)
        text = "" if description is None else a.as_text("description", description)
        self._do(
            b.BrokerEnd(b"", as_guid(handle), code, text, a.as_flag("cleanup", cleanup)),
            Done,
            {Reason.CONVERSATION_STATE_ERROR: 8427},
        )


def as_guid(value: Handle) -> bytes:
    """Check a handle; returns its 16 bytes."""
    if isinstance(value, UUID):
        return value.bytes
    if not isinstance(value, str):
        raise InvalidArgumentType(f"a handle is a UUID or a str, not {value!r}")
    if GUID.fullmatch(value) is None:  # before UUID(), which takes much that is none
        raise InvalidArgument(f"{value[:50]!r} is not a GUID")
    return UUID(value).bytes


def as_body(body: object) -> bytes | None:
    """Check a body; returns its bytes."""
    if body is None or isinstance(body, bytes):
        return body
    if isinstance(body, str):
        return body.encode("utf-16-le", "surrogatepass")
    if isinstance(body, bytearray | memoryview):
        return bytes(body)
    raise InvalidArgumentType(f"a body is bytes, a str or None, not {type(body).__name__}")


def as_timeout_ms(value: int) -> int:
    """Check a time to wait."""
    return a.as_whole("timeout_ms", value, -1, TIMEOUT_MAX_MS)


def as_seconds(name: str, value: int) -> int:
    """Check a lifetime, or the time of a timer."""
    return a.as_whole(name, value, 1, SECONDS_MAX)
