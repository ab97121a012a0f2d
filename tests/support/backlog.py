"""A queue that is filled and emptied in units, and figures that are waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from adapter.testing import TestQueueManager

WAIT_S = 20.0
LOOK_S = 0.02


def until(is_so: Callable[[], bool], meanwhile: Callable[[], object] = lambda: None) -> None:
    """Wait until a figure has come to what is expected; figures tell nobody that they change."""
    deadline_s = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline_s, "it did not come to that"
        meanwhile()
        threading.Event().wait(LOOK_S)


def bodies(first: int, end: int) -> list[bytes]:
    """Bodies that say their numbers."""
    return [b"%06d" % number for number in range(first, end)]


def drain(manager: TestQueueManager, count: int, unit_size: int) -> list[bytes]:
    """Get so many messages of the queue Q, in units of so many; their bodies."""
    got: list[bytes] = []
    with manager.connect() as qm:
        queue = qm.queue("Q")
        while len(got) < count:
            with qm.unit() as unit:
                for _ in range(min(unit_size, count - len(got))):
                    message = queue.get(unit=unit)
                    assert message is not None, f"{len(got)} came, and there must be more"
                    got.append(message.body)
    return got
