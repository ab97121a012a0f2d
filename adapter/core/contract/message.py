"""A message, as applications put it and as a queue stores it.

The body is opaque bytes. Times are milliseconds since the epoch (UTC). This module does not know
how a message is encoded, nor where it is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.details import Details
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.transmission import Transmission

ID_LENGTH: Final = 24
NO_ID: Final = bytes(ID_LENGTH)
GUID_LENGTH: Final = 16
PRIORITY_AS_QUEUE: Final = -1  # MQPRI_PRIORITY_AS_Q_DEF
PERSISTENCE_AS_QUEUE: Final = -1
EXPIRY_UNLIMITED: Final = -1
PRIORITY_MAX: Final = 9

PROPERTIES_MAX: Final = 256
PROPERTIES_READ_MAX: Final = 1_000
"""More than a put allows: what has still more is refused before it is taken apart."""

Place = tuple[int, int, int]
"""(-lane, seq, n): ascending order is the order of delivery; n > 0 for non-persistent messages. No
message ever gets the place of another, not even after a restart."""

TERM_BITS: Final = 24
"""How many of n's bits count in a term before the next terms' numbers are reached: see first_n."""


def with_properties(
    properties: Mapping[str, Property] | None, more: Mapping[str, Property]
) -> dict[str, Property]:
    """Return a message's properties with more; without those if there is no room for all of them,
    as a message that is moved may have as many as a put allows.
    """
    there = dict(properties or {})
    told = {**there, **more}
    return told if len(told) <= PROPERTIES_MAX else there


def first_n(term: int) -> int:
    """Say where the n of non-persistent messages begins in a term, which nothing is written for.

    term: the ledger's offset when the term began. It grows by one with every entry, and an owner
    writes one every few seconds at least: no program puts 16 million messages to a lane between
    two, so that no n of a term is met in a later one. A lane's n counts on through a term. It stays
    below 2**63 as long as a ledger has had fewer than 2**39 entries.
    """
    return ((term + 1) << TERM_BITS) + 1


Property = None | bool | int | float | str | bytes
PROPERTY_TYPES: Final = (type(None), bool, int, float, str, bytes)


class MessageData(Struct, array_like=True, gc=False):
    """What an application puts. Resolved in place when it is admitted to a queue.

    Ids are 24 bytes; an empty message_id asks for a new one. expiry_ms counts from the put and is
    kept as given; expires_at_ms is 0 until the message is admitted, and 0 for ever if it has none.
    A put with the option KEEP_END says by it when the message expires: what is left of it becomes
    expiry_ms, by the queue manager's clock.
    delay_ms asks for a delay from the put on, deliver_at_ms for a time; on admission the first
    becomes the second. destination: of a message that waits for it, its queue.
    """

    body: bytes = b""
    message_id: bytes = b""
    correlation_id: bytes = b""
    group_id: bytes = b""
    group_seq: int = 1
    last_in_group: bool = False
    priority: int = PRIORITY_AS_QUEUE
    persistence: int = PERSISTENCE_AS_QUEUE
    expiry_ms: int = EXPIRY_UNLIMITED
    format: str = ""
    message_type: int = 8  # MQMT_DATAGRAM
    report: int = 0
    feedback: int = 0
    encoding: int = 546  # MQENC_NATIVE on x86-64
    ccsid: int = 1208  # UTF-8
    reply_to: str = ""
    reply_to_queue_manager: str = ""
    user: str = ""
    application: str = ""
    properties: Annotated[dict[str, Any], Meta(max_length=PROPERTIES_READ_MAX)] | None = None
    """Values: Property; checked, with the number of them, when it is admitted."""
    put_time_ms: int = 0
    expires_at_ms: int = 0
    details: Details | None = None
    """What only programs of MQ say."""
    delay_ms: int = 0
    deliver_at_ms: int = 0
    destination: str = ""
    transmission: Transmission | None = None
    """Where it goes, while it waits on a transmission queue."""
    msmq: MsmqHeader | None = None
    """What only programs of MSMQ say."""
    broker: BrokerHeader | None = None
    """What only programs of Service Broker say."""

    @property
    def offset(self) -> int:
        """Where a segment begins in its logical message; 0 if it is not a segment."""
        return self.details.offset if self.details is not None else 0

    @property
    def available_ms(self) -> int:
        """Since when it may be got: its put, or when its delay ended."""
        return max(self.put_time_ms, self.deliver_at_ms)

    @property
    def group_position(self) -> bytes:
        """Group, number in it and offset: what one message of a group has alone."""
        return position_of(self.group_id, self.group_seq, self.offset)


def position_of(group_id: bytes, number: int, offset: int) -> bytes:
    """Name a place in a group, to find its message by."""
    return group_id + number.to_bytes(4, "big") + offset.to_bytes(4, "big")


class Delivered(Struct, array_like=True, gc=False):
    """A message as a reply carries it."""

    message: MessageData
    lane: int
    seq: int
    n: int
    backout_count: int
    unit: bytes
    unit_index: int
    unit_size: int
    queue_unit_index: int
    queue_unit_size: int
