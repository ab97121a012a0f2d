"""The properties of a queue as the queue manager keeps them, read and set from a MessageQueue.

It knows no message.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from msgspec import structs

from adapter.connection.channel import plain_arguments as a
from adapter.core.attributes.msmq import QUOTA_UNLIMITED_KB
from adapter.core.contract import msmq as c
from adapter.core.contract.format_names import FormatName, parse
from adapter.core.contract.reasons import Refusal
from adapter.core.contract.results import Done, QueueDescription
from adapter.msmq import identifiers, requests
from adapter.msmq.computers import ComputerConnections, QueueRoute
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import MessageQueueException
from adapter.msmq.names import HERE
from adapter.msmq.property_names import KnownProperties


class QueueProperties(KnownProperties):
    """A queue's properties; each read asks the queue manager, each setting is durable."""

    _what = "a queue"
    _own_attributes = frozenset(
        {"default_properties_to_send", "formatter", "message_read_property_filter"}
    )

    def __init__(self, computers: ComputerConnections, path: str) -> None:
        self._computers = computers
        self._path = path
        self._route: QueueRoute | None = None

    @property
    def _reads(self) -> QueueRoute:
        """How it is read, which is where it is. Raises MessageQueueException."""
        route = self._route
        if route is None:
            route = self._route = self._computers.to(self._path)
        return route

    @property
    def path(self) -> str:
        """The path or format name that it was opened by."""
        return self._path

    @property
    def machine_name(self) -> str:
        """The name of its computer, as the path says it; "." is the program's own."""
        return self._format_name().computer

    @property
    def queue_name(self) -> str:
        r"""Its name on its computer, such as private$\orders, in lower case; of a queue of MQ in
        the case of the path.
        """
        named = self._format_name()
        return named.of_mq or named.queue

    @property
    def format_name(self) -> str:
        r"""Its direct format name, with the computer: DIRECT=OS:COMPUTER\private$\orders."""
        named = self._format_name()
        computer = named.computer
        if computer == HERE:
            own = self._computers.own.computer
            computer = own or self._computers.locate("").computer
        return structs.replace(named, computer=computer).text

    def _format_name(self) -> FormatName:
        try:
            return parse(self._path, HERE)
        except Refusal as refusal:
            raise MessageQueueException(
                Code.UNSUPPORTED_FORMATNAME_OPERATION,
                f"{self._path} is not the name of one queue: {refusal.detail}",
                self._path,
            ) from None

    @property
    def create_time(self) -> datetime:
        """When it was created, in UTC."""
        return _when(self._describe().created_ms)

    @property
    def last_modify_time(self) -> datetime:
        """When its properties were changed last, in UTC."""
        return _when(self._describe().altered_ms)

    @property
    def base_priority(self) -> int:
        """-32,768 to 32,767. It is stored, and has no effect."""
        return int(self._inquire()["base_priority"])

    @base_priority.setter
    def base_priority(self, value: int) -> None:
        self._alter(base_priority=a.as_whole("base_priority", value, -(2**15), 2**15 - 1))

    @property
    def category(self) -> str:
        """A GUID that says which type of queue it is to the programs that use it, or ""."""
        return str(self._inquire()["type_id"])

    @category.setter
    def category(self, value: str | UUID) -> None:
        self._alter(type_id=identifiers.as_guid("category", value))

    @property
    def transactional(self) -> bool:
        """Whether it takes only messages sent in transactions."""
        return bool(self._inquire()["transactional"])

    @property
    def label(self) -> str:
        """Free text about the queue."""
        return str(self._inquire()["label"])

    @label.setter
    def label(self, value: str) -> None:
        self._alter(label=a.as_text("label", value))

    @property
    def use_journal_queue(self) -> bool:
        """Whether copies of received messages go to its journal."""
        return bool(self._inquire()["journaling"])

    @use_journal_queue.setter
    def use_journal_queue(self, value: bool) -> None:
        self._alter(journaling=a.as_flag("use_journal_queue", value))

    @property
    def maximum_queue_size_kb(self) -> int:
        """How many KB of messages it takes."""
        return int(self._inquire()["quota_kb"])

    @maximum_queue_size_kb.setter
    def maximum_queue_size_kb(self, value: int) -> None:
        self._alter(quota_kb=_quota("maximum_queue_size_kb", value))

    @property
    def journal_quota_kb(self) -> int:
        """How many KB of messages its journal takes."""
        return int(self._inquire()["journal_quota_kb"])

    @journal_quota_kb.setter
    def journal_quota_kb(self, value: int) -> None:
        self._alter(journal_quota_kb=_quota("journal_quota_kb", value))

    def count(self) -> int:
        """Return how many messages are on it that can be received."""
        return int(self._inquire()["message_count"])

    def _inquire(self) -> dict[str, Any]:
        return self._describe().attributes

    def _describe(self) -> QueueDescription:
        found = requests.inquire(self._reads, self._path)
        if found:
            return found[0]
        happened = f"queue {self._path} does not exist"
        if self._format_name().of_mq:
            happened += " as one of MSMQ, and a queue of MQ has no properties of MSMQ"
        text = f"{happened}: create it, or check its path"
        raise MessageQueueException(Code.QUEUE_NOT_FOUND, text, self._path)

    def _alter(self, **attributes: bool | int | str | None) -> None:
        route = self._reads
        command = c.MsmqAlter(self._path, attributes, route.computer)
        requests.ask(route.channel, command, Done, self._path)


def _quota(name: str, value: object) -> int:
    return a.as_whole(name, value, 0, QUOTA_UNLIMITED_KB)


def _when(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)
