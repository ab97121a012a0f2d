"""How messages for a queue of another queue manager leave this one: by which transmission queue.

This module does not know how a route is found.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.attributes.objects import RemoteAttributes
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.transmission import Transmission
from adapter.core.model.destination import Destination, PutDefaults
from adapter.core.model.queue import LocalQueue


class RemoteRoute(Struct, frozen=True):
    """queue: the transmission queue. definition: the local definition that led there, if any."""

    queue: LocalQueue
    transmission: Transmission
    definition: RemoteAttributes | None = None

    @property
    def is_inhibited(self) -> bool:
        """Whether the local definition refuses puts."""
        return self.definition is not None and self.definition.inhibit_put


class NoRoute(Struct, frozen=True):
    """No transmission queue is for a queue of another queue manager. name: what a refusal names."""

    reason: Reason
    name: str
    text: str

    def refusal(self) -> Refusal:
        """Return what refuses to open the queue, or to send to it."""
        return Refusal(self.reason, self.name, self.text)


class Target(Struct):
    """The queue that a message of the queue manager's own goes to; None: reason says why.

    transmission: what it carries to another queue manager, if queue is a transmission queue.
    destination: what a message is checked against and filled in by: the queue, also where the name
    takes nothing, or the topic of an alias; None: the name leads nowhere. defaults: of the name, if
    that is not the destination's own.
    """

    queue: LocalQueue | None = None
    transmission: Transmission | None = None
    reason: Reason | None = None
    destination: Destination | None = None
    defaults: PutDefaults | None = None
