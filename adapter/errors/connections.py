"""Errors of connections, and of starting."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.core.contract.reasons import Reason
from adapter.errors.root import Error, raised_for


@raised_for(
    Reason.NOT_AUTHORIZED,
    "authentication failed for user {name}",
    "check the user and the password",
)
@raised_for(
    Reason.AUTHORITY_MISSING,
    "no authority for {name}",
    "let an administrator grant it; the queue manager's log says what is missing",
)
class NotAuthorized(Error):
    """The user is not authorized to do this."""

    reason, reason_name = 2035, "MQRC_NOT_AUTHORIZED"


@raised_for(
    Reason.CONNECTION_ENDED,
    "connection {name} was ended by an administrator, and its units were backed out",
    "connect again, and repeat the work of its units",
)
class ConnectionBroken(Error, ConnectionError):
    """The queue manager could not be reached in time."""

    reason, reason_name = 2009, "MQRC_CONNECTION_BROKEN"

    def __init__(self, text: str, object_name: str = "") -> None:
        # Both arguments would make OSError read them as errno and text.
        Error.__init__(self, text, object_name)


class ConnectionClosed(ConnectionBroken):
    """This program closed the connection."""

    reason, reason_name = 2018, "MQRC_HCONN_ERROR"


@raised_for(
    Reason.QUEUE_MANAGER_NOT_AVAILABLE, "the queue manager is not available", "try again in a while"
)
class QueueManagerNotAvailable(ConnectionBroken):
    """No queue manager answers at the address."""

    reason, reason_name = 2059, "MQRC_Q_MGR_NOT_AVAILABLE"
    is_host_available = True
    """False if no host accepted a TCP connection."""
    is_tls_refused = False
    """Whether TLS failed where one did: a certificate is not accepted, or there is no TLS."""


@raised_for(
    Reason.STANDBY_QUEUE_MANAGER,
    "the process at this address is a standby of queue manager {name}",
    "name the addresses of all its processes, with commas between them",
)
class StandbyQueueManager(QueueManagerNotAvailable):
    """A standby listens at the address: it serves when it has taken the queue manager over."""

    reason, reason_name = 2543, "MQRC_STANDBY_Q_MGR"


@raised_for(
    Reason.QUEUE_MANAGER_QUIESCING,
    "queue manager {name} is quiescing and accepts no new work",
    "try again when it has restarted",
)
class QueueManagerQuiescing(ConnectionBroken):
    """The queue manager is quiescing and accepts no new work; nothing was done."""

    reason, reason_name = 2161, "MQRC_Q_MGR_QUIESCING"


@raised_for(
    Reason.QUEUE_MANAGER_STOPPING,
    "the queue manager is stopping",
    "try again when it has restarted",
)
class QueueManagerStopping(ConnectionBroken):
    """The queue manager is being stopped."""

    reason, reason_name = 2162, "MQRC_Q_MGR_STOPPING"


@raised_for(
    Reason.QUEUE_MANAGER_NAME_ERROR,
    "queue manager {name} is not at this address",
    "check name and address",
)
class WrongQueueManager(ConnectionBroken):
    """Another queue manager answers at the address."""

    reason, reason_name = 2058, "MQRC_Q_MGR_NAME_ERROR"


@raised_for(
    Reason.PROTOCOL_VERSION_ERROR,
    "the queue manager speaks another version of the protocol",
    "install the same release on both sides",
)
class WrongVersion(ConnectionBroken):
    """The queue manager speaks another version of the protocol."""

    reason, reason_name = 2273, "MQRC_CONNECTION_ERROR"


class NoReply(Error, TimeoutError):
    """A request was put, and no reply came in time."""

    reason, reason_name = 2033, "MQRC_NO_MSG_AVAILABLE"

    def __init__(self, text: str, object_name: str = "") -> None:
        Error.__init__(self, text, object_name)


class StartError(Error):
    """A queue manager or a tool of it did not start; the text says why."""

    reason, reason_name = 2059, "MQRC_Q_MGR_NOT_AVAILABLE"
    exit_status = 1
    """Of a command that ends with it."""

    def __str__(self) -> str:
        return self.text  # no queue manager gave a reason


class NotSwitched(Error):
    """The queue manager was not handed over to a standby, and nothing was changed."""

    reason, reason_name = 2102, "MQRC_RESOURCE_PROBLEM"

    def __str__(self) -> str:
        return self.text  # no queue manager refused


class KafkaNotAvailable(Error, ConnectionError):
    """Kafka, of which the program itself reads, could not be reached, or failed."""

    reason, reason_name = 2102, "MQRC_RESOURCE_PROBLEM"


class WrongEventLoop(Error):
    """A connection of adapter.aio was used outside the event loop that it was made in."""

    reason, reason_name = 2018, "MQRC_HCONN_ERROR"


class CallInProgress(Error):
    """A signal handler used the connection in the midst of a call of its own thread."""

    reason, reason_name = 2219, "MQRC_CALL_IN_PROGRESS"


@raised_for(
    Reason.UNEXPECTED_ERROR,
    "queue manager {name} could not carry out the command, because of an error of its own",
    "look in its log for the error, and report it; other commands are served",
)
class CommandFailed(Error):
    """The queue manager failed at the command, twice, and has undone what it had done of it.

    A command without a number of its own (an open, a browse, a put or get in a unit) is refused
    from then on for the whole session: connect again to try it once more.
    """

    reason, reason_name = 2195, "MQRC_UNEXPECTED_ERROR"


@raised_for(
    Reason.LIMIT_REACHED,
    "a limit of the queue manager is reached",
    "close what is no longer used, or try again later",
)
class LimitReached(Error):
    """A limit of the queue manager or of the connection is reached."""

    reason, reason_name = 2102, "MQRC_RESOURCE_PROBLEM"


@raised_for(
    Reason.OUT_OF_ORDER, "the queue manager did not expect this command now", "connect again"
)
@raised_for(
    Reason.MALFORMED_REQUEST,
    "the queue manager did not understand the request",
    "install the same release on both sides",
)
class UnexpectedAnswer(Error):
    """Client and queue manager do not understand each other."""
