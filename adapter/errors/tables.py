"""Errors of tables, and of claims of their keys."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.errors.root import Error


class TableError(Error):
    """A table cannot be read: its topic cannot, or it was closed."""

    reason, reason_name = 2102, "MQRC_RESOURCE_PROBLEM"


class TableBehind(TableError, TimeoutError):
    """A table has not come up to what was committed, or to the end of its topic, in time."""

    def __init__(self, text: str, object_name: str = "") -> None:
        Error.__init__(self, text, object_name)


class ClaimNotFree(TableError, TimeoutError):
    """Another unit has had the claim of a key until the time was over."""

    reason, reason_name = 2033, "MQRC_NO_MSG_AVAILABLE"

    def __init__(self, text: str, object_name: str = "") -> None:
        Error.__init__(self, text, object_name)
