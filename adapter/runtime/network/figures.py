"""The figures of senders and of the receiver, by the names that operators see. Data only."""

from __future__ import annotations

from msgspec import Struct


class SenderFigures(Struct, kw_only=True):
    """Figures of the sender of one transmission queue.

    state: "waiting" (for messages), "sending", "retrying", "waiting for the destination" or
    "stopped"; for_s: since when. error: why the last attempt failed; "" once one has succeeded.
    A sender whose destination receives nothing is "waiting for the destination" too.
    destination: of the unit that was sent last, or is being sent. not_received: records that wait
    in Kafka for it, of all that send there from this queue manager, those of the last seconds among
    them. messages, units, bytes, failures:
    since the sender was started, running_s ago; dead_letters: messages without a destination.
    """

    state: str
    for_s: float
    error: str
    destination: str
    messages: int
    units: int
    bytes: int
    failures: int
    dead_letters: int
    running_s: float
    not_received: int = 0


class ReceiverFigures(Struct, kw_only=True):
    """Figures of a queue manager's receiver.

    topics: how many it reads, and paused: of how many too much waits. held_bytes: of records that
    were read and wait. unreadable: records that were no messages. left_out: records of no whole
    unit: it is sent again, or had come before. trouble: why nothing is read, or "". blocked: the
    queue for which the next unit of a topic waits, by the topic. later: of a topic that is not read
    on, what a later release has sent.
    """

    topics: int
    paused: int
    held_bytes: int
    unreadable: int
    failures: int
    trouble: str
    units: int = 0
    messages: int = 0
    blocked: dict[str, str] = {}
    left_out: int = 0
    later: dict[str, str] = {}


class NetworkFigures(Struct, kw_only=True):
    """senders: by transmission queue. queue_managers: how many are in the directory."""

    senders: dict[str, SenderFigures]
    receiver: ReceiverFigures
    queue_managers: int
