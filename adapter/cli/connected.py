"""The connection of a command to its queue manager, and what a mistyped name may have meant.

Every command that works on queues connects here; it must not know what the commands do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import adapter
from adapter.errors import Error, QueueNotFound

GUESSES_MAX = 3


@contextmanager
def connect(address: str, application: str, **options: Any) -> Iterator[adapter.Connection]:
    """Connect for the time of a command; options: of adapter.connect.

    An error about a queue that does not exist names the queues that have a similar name.
    """
    with adapter.connect(address, application=application, **options) as qm:
        try:
            yield qm
        except QueueNotFound as problem:
            raise similar(qm, problem) from problem


def similar(qm: adapter.Connection, problem: QueueNotFound) -> QueueNotFound:
    """The same error, with the names of similar queues if there are any."""
    try:
        names = [one.name for one in qm.queues()]
    except Error:  # the first error matters more than why nothing could be suggested
        return problem
    found = near(problem.object_name, names)
    if not found:
        return problem
    guessed = QueueNotFound(f"{problem.happened}: did you mean {found}?", problem.object_name)
    guessed.refused, guessed.happened = problem.refused, problem.happened
    return guessed


def near(name: str, names: list[str]) -> str:
    """Return similar names as a sentence has them; empty if no name is similar."""
    by_upper: dict[str, str] = {}
    for one in names:
        by_upper.setdefault(one.upper(), one)
    close = get_close_matches(name.upper(), by_upper, n=GUESSES_MAX)
    return " or ".join(by_upper[one] for one in close)
