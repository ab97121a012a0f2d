"""Events for tasks: the topic is read by a thread of its own, which ends with the iteration.

Kafka's client waits in calls that block; the event loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import ThreadPoolExecutor

from adapter.aio.channel import TaskChannel
from adapter.client.events import Event, event_reader, shown_event


async def read_events(
    channel: TaskChannel, wait_ms: int, options: Mapping[str, str]
) -> AsyncGenerator[Event, None]:
    """Give the events of the queue manager; see Connection.events()."""
    loop = asyncio.get_running_loop()
    thread = ThreadPoolExecutor(1, "mqk-events")
    try:
        reader = await loop.run_in_executor(thread, event_reader, channel, options)
        try:
            events = iter(reader.read(wait_ms))
            while (event := await loop.run_in_executor(thread, next, events, None)) is not None:
                yield shown_event(event)
        finally:
            reader.end()
            thread.submit(reader.close)  # behind the read that is under way
    finally:
        thread.shutdown(wait=False)
