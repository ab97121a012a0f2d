"""How messages for a queue of another queue manager leave this one: by which transmission queue.

This module does not know how a route is found.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.attributes.objects import RemoteAttributes
from adapter.core.contract.transmission import Transmission
from adapter.core.model.queue import LocalQueue

Made = dict[str, LocalQueue]
"""Transmission queues that are new, by name: the step that uses them defines them."""


class RemoteRoute(Struct, frozen=True):
    """queue: the transmission queue. definition: the local definition that led there, if any."""

    queue: LocalQueue
    transmission: Transmission
    definition: RemoteAttributes | None = None

    @property
    def is_inhibited(self) -> bool:
        """Whether the local definition refuses puts."""
        return self.definition is not None and self.definition.inhibit_put
