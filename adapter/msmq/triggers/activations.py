"""What a trigger service has done: activations and peeks, in order, the last ones of each.

This module does not know how triggers are run.
"""

from __future__ import annotations

import threading
from collections import deque

from msgspec import Struct

KEPT_MAX = 10_000
"""Activations and peeks that are kept, for a service that runs for years."""


class Activation(Struct):
    """One activation of a trigger. error: what failed; None if nothing did.

    rules_acted, rules_failed: the names of rules whose conditions held, and whose actions were
    carried out or have failed. rules_not_acted: of rules whose conditions did not hold.
    """

    trigger: str
    message_id: str
    label: str
    lookup_id: int
    rules_acted: tuple[str, ...] = ()
    rules_not_acted: tuple[str, ...] = ()
    error: str | None = None
    rules_failed: tuple[str, ...] = ()


class Peek(Struct):
    """One request to peek at the next message of a queue. message_id, lookup_id: what it has
    returned; "" and 0 while it is pending.
    """

    queue: str
    triggers: tuple[str, ...]
    message_id: str = ""
    lookup_id: int = 0


class Journal:
    """The last activations and peeks, and how many there have been."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._activations: deque[Activation] = deque(maxlen=KEPT_MAX)
        self._peeks: deque[Peek] = deque(maxlen=KEPT_MAX)
        self._counts = dict.fromkeys(
            ("activations", "peeks", "actions", "failures", "repeats_stopped"), 0
        )

    @property
    def activations(self) -> list[Activation]:
        """The last activations, in order."""
        with self._lock:
            return list(self._activations)

    @property
    def peeks(self) -> list[Peek]:
        """The last peeks, in order."""
        with self._lock:
            return list(self._peeks)

    def activated(self, activation: Activation) -> None:
        """Keep an activation that begins."""
        with self._lock:
            self._activations.append(activation)
            self._counts["activations"] += 1

    def peeked(self, peek: Peek) -> None:
        """Keep a peek that is sent."""
        with self._lock:
            self._peeks.append(peek)
            self._counts["peeks"] += 1

    def count(self, name: str) -> None:
        """Count actions, failures or repeats_stopped."""
        with self._lock:
            self._counts[name] += 1

    def statistics(self) -> dict[str, int]:
        """Return how many of each there have been."""
        with self._lock:
            return dict(self._counts)
