"""Gets whose cancellation gives the message back.

Theory. A get takes its message at the queue manager, before the task hears of it. A get without a
wait is answered at once, and its outcome is awaited whatever happens. A get that waits may be
cancelled at any moment, so it is done in a unit of its own: cancelled before the task has its
message, the unit is backed out, also while the connection is lost. Then the unit is committed, and
a cancellation that comes from there on comes behind the get, which returns its message. The unit
begins ahead: what the program was not shown comes back uncounted. If the connection is lost before
the commit is executed, the message is on its queue again, and the get goes on with what is left of
its time.

This module does not know queue objects.
"""

from __future__ import annotations

import time

from msgspec import structs

from adapter.aio.channel import TaskChannel
from adapter.aio.unit import TaskUnit, perform
from adapter.client.prefetch import left_ms
from adapter.connection.channel.requests import Handle
from adapter.connection.channel.verbs import get_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Messages
from adapter.errors import BackedOut


async def take(
    channel: TaskChannel, handle: Handle, command: c.Get, unit: TaskUnit | None
) -> list[Delivered]:
    """Get messages, in a unit or so that they are gone when this returns.

    The messages of a group are got in units or outside of them, not both: in logical order a get
    without a wait has a unit of its own too.
    """
    if unit is not None or not (command.wait_ms or command.options & c.LOGICAL_ORDER):
        request = get_request(handle, command, unit)
        return (await perform(channel, unit, [request], request, Messages)).messages
    until_s = time.monotonic() + command.wait_ms / 1000
    while True:
        own = TaskUnit(channel, ahead=True)
        own.begin()
        again = structs.replace(command, wait_ms=left_ms(command.wait_ms, until_s))
        request = get_request(handle, again, own)
        try:
            found = (await own.perform([request], request, Messages)).messages
            if found:
                await own.commit_apart()
            return found
        except BackedOut:
            if channel.holds(own.on_wire):
                raise
            # The connection was lost: nothing was got.
        finally:
            own.give_up()  # unless it has ended
