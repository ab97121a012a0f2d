"""How long the names of queues may be: each is part of a topic's name, see format.names.

The topic of schema registries is named here too.

This module does not know which queue manager a queue is of.
"""

from __future__ import annotations

from typing import Final

TOPIC_NAME_MAX: Final = 160
"""What is left for a queue of the 249 characters of a topic's name."""

SCHEMAS: Final = "_schemas"
"""The topic of schema registries, unless a setting names another one."""
_PLAIN: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.")
_SHORT: Final = frozenset("_-/%")
"""They take two characters; of others each byte takes four."""


def topic_length(name: str) -> int:
    """Return how many characters of a topic's name a queue's name takes."""
    plain = sum(one in _PLAIN for one in name)
    short = sum(one in _SHORT for one in name)
    return plain + 2 * short + 4 * (len(name.encode(errors="replace")) - plain - short)
