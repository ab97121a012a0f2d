"""Putting many messages in units, pipelined, from a task; see adapter/client/put_many.py.

A cancellation gives the unit that is being put back at once. Commits that have been sent take
effect by themselves: their outcomes come first, so that the error says how many messages were put.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from adapter.aio.channel import TaskChannel
from adapter.aio.unit import TaskUnit
from adapter.client.put_many import Pipeline, in_units
from adapter.connection.channel.requests import Handle
from adapter.connection.channel.verbs import put_request
from adapter.core.contract.message import MessageData
from adapter.core.contract.results import PutDone


async def put_inside(
    handle: Handle, messages: Iterable[MessageData], size: int, unit: TaskUnit
) -> int:
    """Put messages into a unit that is open; returns how many."""
    count = 0
    for some in in_units(messages, size):
        request = put_request(handle, some, unit)
        await unit.perform([request], request, PutDone)
        count += len(some)
    return count


async def put_in_units(
    channel: TaskChannel, handle: Handle, messages: Iterable[MessageData], size: int
) -> int:
    """Put messages in units of their own; returns how many."""
    pipeline = Pipeline(channel, handle)
    try:
        return await channel.run(pipeline.put(messages, size))
    except asyncio.CancelledError as cancelled:
        await channel.run(pipeline.settle(cancelled))
        raise
    except Exception:
        raise
    except BaseException:
        channel.abandon(pipeline.commits)
        raise
