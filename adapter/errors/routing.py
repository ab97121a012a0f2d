"""Errors of queues of other queue managers: no transmission queue leads there."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.errors.root import Error


class RouteError(Error):
    """No transmission queue leads to a queue of another queue manager."""


class UnknownRemoteQueueManager(RouteError):
    """The queue is on another queue manager, to which no transmission queue leads."""

    reason, reason_name = 2087, "MQRC_UNKNOWN_REMOTE_Q_MGR"


class RemoteQueueNameError(RouteError):
    """A remote queue has no name, or an invalid one."""

    reason, reason_name = 2184, "MQRC_REMOTE_Q_NAME_ERROR"


class UnknownTransmissionQueue(RouteError):
    """The transmission queue of a remote queue does not exist."""

    reason, reason_name = 2196, "MQRC_UNKNOWN_XMIT_Q"


class TransmissionQueueTypeError(RouteError):
    """The transmission queue is not a local queue."""

    reason, reason_name = 2091, "MQRC_XMIT_Q_TYPE_ERROR"


class TransmissionQueueUsageError(RouteError):
    """The queue is not a transmission queue: its usage is NORMAL, or it is temporary."""

    reason, reason_name = 2092, "MQRC_XMIT_Q_USAGE_ERROR"


class UnknownDefaultTransmissionQueue(RouteError):
    """The default transmission queue does not exist."""

    reason, reason_name = 2197, "MQRC_UNKNOWN_DEF_XMIT_Q"


class DefaultTransmissionQueueTypeError(RouteError):
    """The default transmission queue is not a local queue."""

    reason, reason_name = 2198, "MQRC_DEF_XMIT_Q_TYPE_ERROR"


class DefaultTransmissionQueueUsageError(RouteError):
    """The default transmission queue is not a transmission queue: its usage is NORMAL."""

    reason, reason_name = 2199, "MQRC_DEF_XMIT_Q_USAGE_ERROR"


class OptionNotValidForType(Error):
    """An object of this type cannot be opened for this."""

    reason, reason_name = 2045, "MQRC_OPTION_NOT_VALID_FOR_TYPE"
