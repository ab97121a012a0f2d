"""Errors of durable consumers."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.errors.root import Error


class ConsumerError(Error):
    """An operation of a durable consumer failed."""


class ConsumerNotFound(ConsumerError):
    """The queue has no consumer of that name."""

    reason, reason_name = 2085, "MQRC_UNKNOWN_OBJECT_NAME"


class ConsumerInUse(ConsumerError):
    """Another program has the consumer open."""

    reason, reason_name = 2042, "MQRC_OBJECT_IN_USE"


class ClaimLost(ConsumerError):
    """The consumer was gone longer than its timeout; its messages returned to the queue."""

    reason, reason_name = 2041, "MQRC_OBJECT_CHANGED"


class BatchNotFound(ConsumerError):
    """The consumer was not assigned such a batch, or has consumed it."""

    reason, reason_name = 2033, "MQRC_NO_MSG_AVAILABLE"
