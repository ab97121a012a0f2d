"""The host of the trigger service that calls a function, for that function.

A function that a file names as "module:function" has no other way to the service's connection,
and so to the transaction of its trigger. This module does not know how functions are called.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from adapter.msmq.errors import InvalidOperationError
from adapter.msmq.host import Host

_current: ContextVar[Host | None] = ContextVar("trigger_service_host", default=None)


def current_host() -> Host:
    """Return the host of the trigger service that is calling this function.

    What the function sends and receives by it with MessageQueueTransactionType.AUTOMATIC is part
    of the transaction of a trigger with TRANSACTIONAL_RETRIEVAL. The service closes it. Raises
    InvalidOperationError outside of a function that a trigger service calls, and in threads that
    the function starts.
    """
    host = _current.get()
    if host is None:
        raise InvalidOperationError(
            "no trigger service is calling: use current_host() in the function of a rule, in the "
            "thread in which it is called, or connect with adapter.msmq.connect()"
        )
    return host


@contextmanager
def calling_from(host: Host) -> Iterator[None]:
    """Have current_host() return this host for the time of a block, in this thread."""
    token = _current.set(host)
    try:
        yield
    finally:
        _current.reset(token)
