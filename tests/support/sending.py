"""Puts for other queue managers, straight to a transmission queue."""

import itertools
from collections.abc import Iterable, Sequence

import adapter
from adapter.connection.channel.unit import AnyUnit, perform
from adapter.connection.channel.verbs import close_handles, open_handle, put_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import PutDone
from adapter.core.contract.transmission import Transmission
from adapter.testing import TestQueueManager


def define_transmission_queue(manager: TestQueueManager, destination: str) -> None:
    """Define the transmission queue to a queue manager."""
    assert "No command failed" in manager.mqsc(
        f"DEFINE QLOCAL({destination}) USAGE(XMITQ) MSGDLVSQ(FIFO) MAXDEPTH(999999999)"
    )


def send(
    qm: adapter.Connection,
    destination: str,
    queue: str,
    bodies: Iterable[bytes],
    *,
    persistence: int | Sequence[int] = 1,
    transmission_queue: str = "",
) -> None:
    """Put messages for a queue of another queue manager, in one unit.

    persistence: of all, or of each.
    """
    channel = qm._channel
    handle = open_handle(channel, transmission_queue or destination, c.OUTPUT)
    each = itertools.repeat(persistence) if isinstance(persistence, int) else persistence
    messages = [
        MessageData(body=body, persistence=one, transmission=Transmission(queue, destination))
        for body, one in zip(bodies, each, strict=False)
    ]
    unit = AnyUnit(channel)
    unit.begin()
    try:
        for at in range(0, len(messages), 500):
            request = put_request(handle, messages[at : at + 500], unit)
            perform(channel, unit, [request], request, PutDone)
        unit.commit()
    finally:
        close_handles(channel, [handle])
