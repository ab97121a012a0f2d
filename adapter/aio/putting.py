"""How a task waits for one put, of a queue's or of a topic's.

This module does not know where a message is put.
"""

from __future__ import annotations

from adapter.aio.channel import TaskChannel
from adapter.aio.unit import TaskUnit, perform
from adapter.client.message import PutResult
from adapter.client.putting import keep, kept_result
from adapter.connection.channel.requests import Handle
from adapter.connection.channel.verbs import put_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import PutDone


async def put_by(
    handle: Handle,
    owner: object,
    message: MessageData,
    inside: TaskUnit | None,
    wait: bool,
    channel: TaskChannel,
    options: int = 0,
) -> PutResult:
    """Put a message by a handle. owner: of the handle. wait: see Queue.put()."""
    request = put_request(handle, [message], inside, options)
    if not wait and inside is not None and channel.takes_one_way:
        put: c.Put = request.command
        if keep(inside, put, owner):
            await inside.send_kept()
        return kept_result(put)
    done = await perform(channel, inside, [request], request, PutDone)
    return PutResult(done.message_ids[0], done.put_time_ms)
