"""Events for tasks: the topic is read by a thread of its own, which ends with the iteration.

Kafka's client waits in calls that block; the event loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import ThreadPoolExecutor

from adapter.aio.channel import TaskChannel
from adapter.client import events
from adapter.client.events import Event


async def read_events(
    channel: TaskChannel, wait_ms: int, options: Mapping[str, str]
) -> AsyncGenerator[Event, None]:
    """Give the events of the queue manager; see Connection.events()."""
    ended = threading.Event()
    reading = events.read_events(channel, wait_ms, options, ended.is_set)
    thread, loop = ThreadPoolExecutor(1, "mqk-events"), asyncio.get_running_loop()
    try:
        while (event := await loop.run_in_executor(thread, next, reading, None)) is not None:
            yield event
    finally:
        ended.set()
        thread.submit(reading.close)  # behind the step that is under way
        thread.shutdown(wait=False)
