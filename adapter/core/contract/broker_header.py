"""What only programs of Service Broker say of a message. This module does not know what rules make
of it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

NO_HANDLE: Final = bytes(16)

# What a row of a queue is (the column status).
RETAINED_RECEIVED: Final = 0
READY: Final = 1
WAITING: Final = 2  # not yet on its queue, which is OFF
RETAINED_SENT: Final = 3


class BrokerHeader(Struct, array_like=True, gc=False):
    """The properties of a message that Service Broker has and core's message has not.

    handle: of the endpoint that it is for; empty while it is on its way to one that may not exist
    yet. conversation: the id that both endpoints share. sequence: its number among the messages of
    its direction, from 0; below 0 (see of_no_direction) of what the queue manager itself has put to
    an endpoint's own queue, a timer or an error, until it is there. status: see above. validation:
    E, N or X, how its type is validated. service: which service it is for; from_service,
    from_queue_manager: which one sent it. from_initiator: it goes to the target. lifetime_ms: when
    the lifetime is over (0: never). group: the conversation group of the endpoint; only in answers
    to programs.
    """

    handle: bytes = b""
    conversation: bytes = NO_HANDLE
    sequence: int = 0
    message_type: str = ""
    validation: str = "N"
    status: int = READY
    service: str = ""
    contract: str = ""
    from_service: str = ""
    from_queue_manager: str = ""
    from_initiator: bool = False
    lifetime_ms: int = 0
    group: bytes = b""

    @property
    def has_direction(self) -> bool:
        """Whether one endpoint has sent it to the other one."""
        return self.sequence >= 0

    @property
    def shown_sequence(self) -> int:
        """The number that programs see."""
        return self.sequence if self.has_direction else of_no_direction(self.sequence)


def of_no_direction(sequence: int) -> int:
    """Return the sequence of a message of no direction, and back: no endpoint has sent it, so that
    no route is looked up for it, and nothing that the other side has sent comes before or behind.
    """
    return -1 - sequence
