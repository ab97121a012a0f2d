"""Units of messages on queue Q, as the requirements of ordering put and get them."""

from collections.abc import Sequence

import adapter
from adapter.testing import TestQueueManager


def put_in_unit(
    qm: adapter.Connection, texts: Sequence[str], lost: TestQueueManager | None = None
) -> None:
    """One unit that puts some messages to Q, done again if it is told that it was backed out.

    lost: who loses the reply to its commit.
    """
    try:
        put_once(qm, texts, lost)
    except adapter.errors.BackedOut:  # the queue manager had gone before it began
        put_once(qm, texts, None)


def put_once(qm: adapter.Connection, texts: Sequence[str], lost: TestQueueManager | None) -> None:
    """One attempt at such a unit."""
    with qm.unit():
        for text in texts:
            qm.put("Q", text)
        if lost is not None:
            lost.drop_next_reply()  # the client does not hear of it, and asks again


def drain(qm: adapter.Connection) -> list[adapter.Message]:
    """Get everything, one message at a time."""
    found = []
    while (message := qm.get("Q")) is not None:
        found.append(message)
    return found


def interleave(qm: adapter.Connection) -> None:
    """Put two units of mixed priorities, so that their messages interleave on the queue."""
    for name in ("A", "B"):
        with qm.unit():
            qm.put("Q", f"{name}1", priority=5)
            qm.put("Q", f"{name}2", priority=2)
