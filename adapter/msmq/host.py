"""Host: the connection of a computer to its queue manager, as MSMQ programs use it.

It knows how queues are created, found and opened; it does not know messages.
"""

from __future__ import annotations

from adapter.connection.channel import plain_arguments as a
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.closing import Closing
from adapter.connection.channel.requests import Pending
from adapter.core.contract import commands
from adapter.core.contract import msmq as c
from adapter.core.contract.format_names import is_format_name
from adapter.core.contract.results import Done, UnitOutcome, UnitState
from adapter.msmq import identifiers, requests
from adapter.msmq.computers import ComputerConnections, QueueRoute
from adapter.msmq.enumerations import QueueAccessMode
from adapter.msmq.error_codes import MessageQueueErrorCode as Code
from adapter.msmq.errors import InvalidOperationError, MessageQueueException
from adapter.msmq.names import as_queue_name, here_as_dot, is_public, means_here
from adapter.msmq.queue import MessageQueue

PRIVATE_QUEUES = r"private$\*"


class Host(Closing):
    """A computer on which a program runs. Shared by threads; leaving it as a context closes it.

    Programs do not construct it: msmq.connect() returns it. A queue is local if it is on this
    computer, else remote.
    """

    def __init__(self, computers: ComputerConnections) -> None:
        self.computers = computers

    @property
    def channel(self) -> Channel:
        """The connection to the queue manager."""
        return self.computers.own.channel

    @property
    def queue_manager(self) -> str:
        """The name of the queue manager."""
        return self.channel.queue_manager

    @property
    def computer(self) -> str:
        """The name that was given to connect(); empty: the queue manager's own computer."""
        return self.computers.own.computer

    @property
    def is_closed(self) -> bool:
        """Whether it has been closed."""
        return self.channel.is_closed

    def create(
        self, path: str, *, transactional: bool = False, label: str | None = None
    ) -> MessageQueue:
        """Create a queue, and return it, open for sending and receiving.

        Raises MessageQueueException: QUEUE_EXISTS, ILLEGAL_QUEUE_PATHNAME, ...
        """
        name = self._name_sent(path)
        if is_public(name):
            raise MessageQueueException(
                Code.UNSUPPORTED_FORMATNAME_OPERATION,
                f"queue {name} would be a public queue, which needs a directory of Windows: "
                "create COMPUTER\\private$\\NAME",
                name,
            )
        attributes: dict[str, bool | int | str | None] = {
            "transactional": a.as_flag("transactional", transactional)
        }
        if label is not None:
            attributes["label"] = a.as_text("label", label)
        route = self.computers.to(name)
        requests.ask(route.channel, c.MsmqCreate(name, attributes, route.computer), Done, name)
        return self.open(name)

    def delete(self, path: str) -> None:
        """Delete a queue with the messages on it. Raises MessageQueueException: QUEUE_NOT_FOUND."""
        name = self._name_sent(path)
        route = self.computers.to(name)
        requests.ask(route.channel, c.MsmqDelete(name, route.computer), Done, name)

    def exists(self, path: str) -> bool:
        """Whether there is a queue of this path.

        Raises InvalidOperationError for a format name, as System.Messaging does.
        """
        name = self._name_sent(path)
        if is_format_name(name):
            raise InvalidOperationError(
                f"exists() takes a path such as .\\private$\\orders, not the format name {name}"
            )
        if "*" in name:
            return False  # it would be taken for a pattern, and no queue is called so
        try:
            return bool(requests.inquire(self.computers.to(name), name))
        except MessageQueueException as error:
            if error.message_queue_error_code == Code.QUEUE_NOT_FOUND:
                return False
            raise

    def open(
        self,
        path: str,
        *,
        access: QueueAccessMode = QueueAccessMode.SEND_AND_RECEIVE,
        deny_receive: bool = False,
    ) -> MessageQueue:
        """Open a queue; several names, separated by commas, may be opened for sending.

        deny_receive: no other program may receive from it meanwhile.
        Raises MessageQueueException: QUEUE_NOT_FOUND, SHARING_VIOLATION, ...
        """
        return MessageQueue(
            self.computers, self._name_sent(path), access, a.as_flag("deny_receive", deny_receive)
        )

    def get_private_queues(self, computer: str | None = None) -> list[MessageQueue]:
        """Return the private queues of a computer, by name. None is opened.

        computer: None or a dot is that of the queue manager.
        Raises MessageQueueException: MACHINE_NOT_FOUND, REMOTE_MACHINE_NOT_AVAILABLE.
        """
        route = self.computers.own if computer is None else self._at(computer)
        found = requests.inquire(route, PRIVATE_QUEUES)
        return [
            MessageQueue(self.computers, str(one.attributes["path_name"]), is_lazy=True)
            for one in found
        ]

    def _name_sent(self, path: str) -> str:
        """Return a name as it is sent: with a dot for this machine."""
        return here_as_dot(as_queue_name(path), self.computers.is_known)

    def _at(self, computer: str) -> QueueRoute:
        name = a.as_name(computer, "computer")
        if name == "." or means_here(name, self.computers.is_known):
            return self.computers.own
        route = self.computers.at(name)
        if route is self.computers.own and not self.computers.is_known(name):
            others = ", ".join(self.computers.locate(name).others)
            raise MessageQueueException(
                Code.MACHINE_NOT_FOUND,
                f"no queue manager in the directory has the queues of computer {name}; known "
                f"computers: {others}: check the name, or start its queue manager on the same "
                "Kafka",
                name,
            )
        return route

    def outcome(self, transaction_id: str, computer: str | None = None) -> UnitState:
        """Say what became of a transaction: "committed", "backed out", "in flight" or "unknown".

        computer: whose queue manager had the transaction, as its `computer` says; None: the host's
        own, and those of other computers to which this host is connected. Of a transaction in which
        nothing was sent and received nothing is recorded: it is "backed out" or "unknown", also if
        it was committed. Raises MessageQueueException: MACHINE_NOT_FOUND,
        REMOTE_MACHINE_NOT_AVAILABLE.
        """
        identifier = identifiers.as_message_id("transaction_id", transaction_id)
        ident = a.as_unit_id(identifier)
        channels = self.computers.channels if not computer else [self._at(computer).channel]
        states = (self._outcome(channel, ident) for channel in channels)
        return next((state for state in states if state != "unknown"), "unknown")

    def _outcome(self, channel: Channel, ident: bytes) -> UnitState:
        request = Pending(commands.AskOutcome(ident))
        with requests.errors_of(channel, ""):
            channel.ask([request])
            return channel.result(request, UnitOutcome).state

    def close(self) -> None:
        """End the connection: pending transactions are aborted, pending reads cancelled."""
        self.computers.close()

    def __repr__(self) -> str:
        return f"<Host {self.computer or '.'} of {self.queue_manager}>"
