"""Functions that workers call in tests."""

import os
import threading
import time
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
        raise ValueError(f"poison at {time.monotonic_ns()}")


async def copy_in_loop(message: adapter.Message, unit: Any) -> None:
    """Do the same as a coroutine."""
    assert unit.messages == [message]
    copy(message)


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


def count_threads(message: adapter.Message) -> None:
    """Put which thread it runs in on OUT."""
    time.sleep(0.1)
    adapter.worker_connection().put("OUT", f"{message.text} {threading.current_thread().name}")


not_callable = 5
"""No function."""
