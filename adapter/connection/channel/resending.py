"""What goes out again on a new link, cut into frames. This module sends nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from adapter.connection.channel import requests as rq
from adapter.connection.channel.outstanding import Outstanding
from adapter.connection.channel.requests import Operations
from adapter.connection.channel.unit_again import in_order, on_wire
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m

RESEND_BYTES: Final = 4 * 1024 * 1024
"""What goes out again is cut into frames of about this size."""


def resending(outstanding: Outstanding, now_s: float) -> Iterator[Operations]:
    """Return what is sent again, in the old order, cut into frames."""
    operations: Operations = []
    size = 0
    for request, is_answered in in_order(
        list(outstanding.pending.values()), on_wire(outstanding.units, outstanding.pending).values()
    ):
        command = request.command
        if is_answered:
            if request.wait_until_s and isinstance(command, c.Get | c.Browse | m.MsmqReceive):
                command.wait_ms = max(int((request.wait_until_s - now_s) * 1000), 0)
            request.resent += request.sent
            request.unsure |= request.sent and request.not_now is None
            request.sent, request.not_now = True, None
            operations.append((request.request, request.number, command))
        else:
            operations.append((0, 0, command))
        size += rq.size_of(command)
        if size > RESEND_BYTES or len(operations) == rq.FRAME_OPERATIONS_MAX:
            yield operations
            operations, size = [], 0
    if operations:
        yield operations
