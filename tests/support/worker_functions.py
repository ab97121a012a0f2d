"""Functions that workers call in tests."""

import asyncio
import os
import threading
import time
from contextlib import suppress
from typing import Any

import adapter


def copy(message: adapter.Message) -> None:
    """Put the body on OUT, with who has done it; fail with poison, when that was done."""
    adapter.worker_connection().put(
        "OUT",
        message.body,
        properties={"shown_ns": time.monotonic_ns(), "pid": os.getpid()},
    )
    if message.body.startswith(b"poison"):
        raise ValueError(f"{message.text} at {time.monotonic_ns()}")


async def copy_in_loop(message: adapter.Message, unit: Any) -> None:
    """Do the same as a coroutine."""
    assert unit is None or unit.messages == [message]
    qm: adapter.aio.Connection = adapter.worker_connection()
    properties = {"shown_ns": time.monotonic_ns(), "pid": os.getpid()}
    await qm.put("OUT", message.body, properties=properties)
    if message.body.startswith(b"poison"):
        raise ValueError(f"{message.text} at {time.monotonic_ns()}")


def wrap(message: adapter.Message) -> object:
    """Return a coroutine, and be none."""
    return copy_in_loop(message, None)


def promise(_message: adapter.Message) -> object:
    """Return a future, whose event loop never runs."""
    loop = asyncio.new_event_loop()
    try:
        return loop.create_future()
    finally:
        loop.close()


def iterate_later(message: adapter.Message) -> object:
    """Return a generator, and be none."""
    return (adapter.worker_connection().put("OUT", body) for body in [message.body])


async def wrap_in_loop(message: adapter.Message) -> object:
    """Return a coroutine that nothing awaits."""
    return copy_in_loop(message, None)


async def refuse_in_loop(message: adapter.Message) -> None:
    """Fail before anything was done."""
    raise ValueError(message.text)


async def linger_in_loop(message: adapter.Message) -> None:
    """Say that it was shown, outside the unit; then take as many seconds as it says."""
    qm: adapter.aio.Connection = adapter.worker_connection()
    await qm.put("SHOWN", message.body, unit=adapter.NO_UNIT)
    await asyncio.sleep(float(message.body))
    await qm.put("OUT", message.body)


async def block_the_loop(message: adapter.Message) -> None:
    """Say that it was shown, and let no other task run meanwhile."""
    qm: adapter.aio.Connection = adapter.worker_connection()
    await qm.put("SHOWN", message.body, unit=adapter.NO_UNIT)
    time.sleep(float(message.body))  # noqa: ASYNC251 -- this is what it is for


async def meet(message: adapter.Message) -> None:
    """Wait for the other tasks of the process, and put the name of the event loop on OUT."""
    qm: adapter.aio.Connection = adapter.worker_connection()
    together.append(message)
    while len(together) < int(message.body):  # noqa: ASYNC110 -- an event has one loop
        await asyncio.sleep(0.001)
    await qm.put("OUT", type(asyncio.get_running_loop()).__module__)


async def leave_in_loop(_message: adapter.Message) -> None:
    """End the process, as no function should."""
    raise SystemExit("leaving")


async def cancel_itself(_message: adapter.Message) -> None:
    """End as a coroutine does that awaits one which was cancelled."""
    raise asyncio.CancelledError


async def cancel_its_task(_message: adapter.Message) -> None:
    """Cancel the task that runs it, as a library may."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()
    await asyncio.sleep(0)


async def cancel_its_task_last(_message: adapter.Message) -> None:
    """Cancel the task that runs it, and await nothing more."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def cancel_all_others(_message: adapter.Message) -> None:
    """Cancel every other task of the event loop, as programs do that end."""
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
    await asyncio.sleep(0)


async def cancel_the_idle(_message: adapter.Message) -> None:
    """Cancel the other tasks of the worker, which wait for a message."""
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        if task.get_name().startswith("worker "):
            task.cancel()


async def swallow(_message: adapter.Message) -> None:
    """Have the unit backed out by a cancelled verb, and go on."""
    qm: adapter.aio.Connection = adapter.worker_connection()
    queue = qm.queue("OUT")
    await queue.get()  # it is open: what is cancelled is a get, and no open
    with suppress(TimeoutError):
        async with asyncio.timeout(0.01):
            await queue.get(timeout=None)


def refuse(message: adapter.Message) -> None:
    """Fail before anything was done."""
    raise ValueError(message.text)


def linger(message: adapter.Message) -> None:
    """Say that it was shown, outside the unit; then take as many seconds as it says."""
    qm = adapter.worker_connection()
    qm.put("SHOWN", message.body, unit=adapter.NO_UNIT)
    time.sleep(float(message.body))
    qm.put("OUT", message.body)


def leave(_message: adapter.Message) -> None:
    """End the thread, as no function should."""
    raise SystemExit("leaving")


def die(message: adapter.Message) -> None:
    """Take the process along with poison, as a fault in a library does."""
    if message.body == b"poison":
        os._exit(11)
    copy(message)


async def die_in_loop(message: adapter.Message) -> None:
    """Do the same as a coroutine, before the event loop has another turn."""
    if message.body == b"poison":
        os._exit(11)
    await copy_in_loop(message, None)


def count_threads(message: adapter.Message) -> None:
    """Put which thread it runs in on OUT."""
    time.sleep(0.1)
    adapter.worker_connection().put("OUT", f"{message.text} {threading.current_thread().name}")


together: list[adapter.Message] = []
"""Messages that tasks have in hand at the same time."""
not_callable = 5
"""No function."""


def end_and_fail(message: adapter.Message, unit: Any) -> None:
    """End its unit as the message says, and fail behind that; copy other messages."""
    if message.body == b"1":
        adapter.worker_connection().put("OUT", message)
        return
    getattr(unit, message.body.decode())()
    raise ValueError("behind the end")


async def end_and_fail_in_loop(message: adapter.Message, unit: Any) -> None:
    """Do the same in a loop."""
    if message.body == b"1":
        await adapter.worker_connection().put("OUT", message)
        return
    await getattr(unit, message.body.decode())()
    raise ValueError("behind the end")
