"""Errors of queues of other queue managers: no transmission queue leads there."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.core.contract.reasons import Reason
from adapter.errors.root import Error, raised_for


class RouteError(Error):
    """No transmission queue leads to a queue of another queue manager."""


@raised_for(
    Reason.UNKNOWN_REMOTE_QUEUE_MANAGER,
    "queue {name} is on another queue manager, which is unknown",
    "check its name; define a transmission queue for it, or start it on the same Kafka",
)
@raised_for(
    Reason.COMPUTER_NOT_REACHABLE,
    "no queue manager is known for the computer of MSMQ queue {name}",
    "check the name of the computer, and that its queue manager has been started",
)
class UnknownRemoteQueueManager(RouteError):
    """The queue is on another queue manager, to which no transmission queue leads."""

    reason, reason_name = 2087, "MQRC_UNKNOWN_REMOTE_Q_MGR"


@raised_for(
    Reason.REMOTE_QUEUE_NAME_ERROR,
    "remote queue {name} has no valid name at its queue manager",
    "alter its RNAME, or put to a queue that has a name",
)
class RemoteQueueNameError(RouteError):
    """A remote queue has no name, or an invalid one."""

    reason, reason_name = 2184, "MQRC_REMOTE_Q_NAME_ERROR"


@raised_for(
    Reason.UNKNOWN_TRANSMISSION_QUEUE,
    "remote queue {name} has no transmission queue",
    "define it with usage XMITQ, or alter the XMITQ of the remote queue",
)
class UnknownTransmissionQueue(RouteError):
    """The transmission queue of a remote queue does not exist."""

    reason, reason_name = 2196, "MQRC_UNKNOWN_XMIT_Q"


@raised_for(
    Reason.TRANSMISSION_QUEUE_TYPE_ERROR,
    "the transmission queue of remote queue {name} is not a local queue",
    "name a local queue with usage XMITQ",
)
class TransmissionQueueTypeError(RouteError):
    """The transmission queue is not a local queue."""

    reason, reason_name = 2091, "MQRC_XMIT_Q_TYPE_ERROR"


@raised_for(
    Reason.TRANSMISSION_QUEUE_USAGE_ERROR,
    "the queue for messages to remote queue {name} is not a transmission queue",
    "alter its usage to XMITQ, or name another queue",
)
class TransmissionQueueUsageError(RouteError):
    """The queue is not a transmission queue: its usage is NORMAL, or it is temporary."""

    reason, reason_name = 2092, "MQRC_XMIT_Q_USAGE_ERROR"


@raised_for(
    Reason.UNKNOWN_DEFAULT_TRANSMISSION_QUEUE,
    "the default transmission queue for remote queue {name} does not exist",
    "define it with usage XMITQ, or alter DEFXMITQ of the queue manager",
)
class UnknownDefaultTransmissionQueue(RouteError):
    """The default transmission queue does not exist."""

    reason, reason_name = 2197, "MQRC_UNKNOWN_DEF_XMIT_Q"


@raised_for(
    Reason.DEFAULT_TRANSMISSION_QUEUE_TYPE_ERROR,
    "the default transmission queue for remote queue {name} is not a local queue",
    "alter DEFXMITQ of the queue manager to a local queue with usage XMITQ",
)
class DefaultTransmissionQueueTypeError(RouteError):
    """The default transmission queue is not a local queue."""

    reason, reason_name = 2198, "MQRC_DEF_XMIT_Q_TYPE_ERROR"


@raised_for(
    Reason.DEFAULT_TRANSMISSION_QUEUE_USAGE_ERROR,
    "the default transmission queue for remote queue {name} is not a transmission queue",
    "alter its usage to XMITQ, or alter DEFXMITQ of the queue manager",
)
class DefaultTransmissionQueueUsageError(RouteError):
    """The default transmission queue is not a transmission queue: its usage is NORMAL."""

    reason, reason_name = 2199, "MQRC_DEF_XMIT_Q_USAGE_ERROR"
