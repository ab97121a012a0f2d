"""What arrives at a queue manager from others: messages, and where each of them was.

A place on a transmission queue names one message for ever, so that a message that is sent twice is
known by it. Persistent messages of a lane count its seq, non-persistent ones its n; a place has
one of the two, and the other is 0. This module knows no transport.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.message import MessageData


class Origin(Struct, array_like=True, frozen=True, gc=False):
    """Where places were given: queue manager (its unique id), transmission queue, incarnation.

    Of what a plain Kafka client wrote: the unique id of the topic, "", 0. There the lane of a place
    is the record's partition, and its seq is the offset + 1.
    """

    queue_manager: str
    queue: str = ""
    incarnation: int = 0


class Lowest(Struct, array_like=True, frozen=True, gc=False):
    """What a lane of a transmission queue still has, and will have: messages from these on.

    seq: of its first persistent message, n: of its first non-persistent one; of an empty lane,
    those of the next messages; 0: not known. Messages with lower ones were sent, or were removed.
    """

    lane: int
    seq: int
    n: int


class Arrival(Struct, gc=False):
    """A message that arrived. Its transmission says where it goes.

    lane, seq, n: its place; n of a persistent message is 0, seq of another one is not used.
    code: 0, or why this is no valid message (MQRC): it goes to the dead-letter queue.
    """

    message: MessageData
    lane: int
    seq: int
    n: int = 0
    code: int = 0


class ArrivedUnit(Struct):
    """A unit of another queue manager, whole; or one record of a plain Kafka client.

    topic, topic_id: where it was read. offset: from where the topic is to be read, once this has
    taken effect; not behind the first record of a unit that is not complete yet. source: the name
    of the queue manager that sent it; "": a plain Kafka client. unit: its id there; empty: a new
    one. lowest: of lanes of the origin, as far as known. behind: lane, seq and n of a message that
    is to have arrived before: else the unit is left out, as its source sends it again behind that
    one. Without messages it only moves the offset.
    """

    topic: str
    topic_id: str
    offset: int
    origin: Origin
    messages: list[Arrival] = []
    source: str = ""
    unit: bytes = b""
    lowest: list[Lowest] = []
    behind: tuple[int, int, int] | None = None
