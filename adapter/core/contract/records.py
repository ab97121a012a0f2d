"""What happened: the closed set of records that the ledger holds and replay applies.

Records are past tense. Every movement of a message is one, live and on replay; those of
non-persistent messages have logged=False and are applied without being written. New fields are
added through the schema of the entry (schemas/entry.avsc), with a default.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from adapter.core.contract.channel_rules import ChannelRuleSet
from adapter.core.contract.spans import Count, Span
from adapter.core.contract.unit_records import OutcomeOf as OutcomeOf  # noqa: PLC0414 -- of these
from adapter.core.contract.unit_records import Placed as Placed  # noqa: PLC0414
from adapter.core.contract.unit_records import Taken as Taken  # noqa: PLC0414
from adapter.core.contract.unit_records import UnitCommitted as UnitCommitted  # noqa: PLC0414

Cause = Literal["expired", "purged"]


class BackoutCounted(Struct):
    """The messages at these places were returned by a backout; each count rose by one."""

    gets: list[Taken]
    outcome: OutcomeOf | None
    logged: bool = True


class DeliveryCounted(Struct):
    """The messages at these places are handed out to a unit, and counted as backed out meanwhile.

    So the counts hold even if the owner dies. A commit takes the messages with their counts; a
    backout has nothing more to count.
    """

    gets: list[Taken]
    logged: bool = True


class MessagesDiscarded(Struct):
    """The messages at these places are gone without having been got."""

    places: list[Taken]
    cause: Cause
    logged: bool = True


class QueuePurged(Struct):
    """All persistent messages of a queue are gone, but for those at these places, held by units."""

    name: str
    places: list[Taken]
    count: int
    logged: bool = True


class QueueDefined(Struct):
    """A queue came to be. incarnation: how many queues of this name there were before."""

    name: str
    incarnation: int
    attributes: dict[str, Any]
    logged: bool = True


class QueueAltered(Struct):
    """These attributes of a queue took these values."""

    name: str
    attributes: dict[str, Any]
    logged: bool = True


class QueueDeleted(Struct):
    """A queue ceased to be, with what was on it."""

    name: str
    logged: bool = True


class SessionOpened(Struct):
    """A client session became known."""

    session: bytes
    time_ms: int
    logged: bool = True


class SessionBound(Struct):
    """A session belongs to a user from now on: no other one may attach to it, or ask of it."""

    session: bytes
    user: str
    logged: bool = True


class SessionExpired(Struct):
    """A client session was forgotten: its outcomes can no longer be asked for."""

    session: bytes
    logged: bool = True


class UnitFenced(Struct):
    """A client was told that a unit was backed out: it must never be begun again."""

    unit: bytes
    logged: bool = True


class OutcomeRecorded(Struct):
    """A numbered command that moved no message had this outcome."""

    outcome: OutcomeOf
    count: int
    logged: bool = True


class EventRaised(Struct):
    """Something an operator may want to know. name: the object it is about."""

    kind: str
    name: str
    time_ms: int
    details: dict[str, str]
    logged: bool = True


class QueueRestored(Struct):
    """Of a snapshot: a queue as it was. priorities: its persistent messages by priority."""

    name: str
    incarnation: int
    attributes: dict[str, Any]
    fifo_lane: int
    full_reported: bool
    priorities: list[int]
    logged: bool = True


class LaneRestored(Struct):
    """Of a snapshot: which persistent messages a lane holds; what they say is on its topic.

    spans: from, to (inclusive), and so on. counts: seq, backout count, and so on. ends: end of
    expiry (ms), first seq, last seq, and so on.
    """

    queue: str
    lane: int
    next_seq: int
    spans: list[int]
    counts: list[int]
    ends: list[int]
    logged: bool = True


class MessageRestored(Struct):
    """Of a snapshot: a message of a lane that is on no topic yet, with all that it says.

    It follows its lane, which counts it like the others.
    """

    unit: bytes
    unit_size: int
    put: Placed
    logged: bool = True


class NamesRestored(Struct):
    """Of a snapshot: how many queues of each name there have been."""

    incarnations: dict[str, int]
    logged: bool = True


class SessionRestored(Struct):
    """Of a snapshot: a session as far as the ledger knows it. Units are spans: from, to, ..."""

    session: bytes
    time_ms: int
    issued: int
    committed: list[int]
    fenced: list[int]
    forgotten: int
    logged: bool = True


class OutcomeRestored(Struct):
    """Of a snapshot: an outcome that a client has not said that it has seen.

    kind: "put", "get" or "done". gets: the messages got, and in counts their backout counts; of a
    put a message without its body, of which its client is told.
    """

    session: bytes
    number: int
    kind: str
    count: int
    message_id: bytes
    put_time_ms: int
    unit: bytes
    unit_size: int
    gets: list[Placed]
    counts: list[int]
    logged: bool = True


class HeadsRestored(Struct):
    """Of a snapshot: when the first messages of a queue's lanes were put.

    heads: lane, seq, put time (ms), and so on; of every lane that has persistent messages.
    """

    queue: str
    heads: list[int]
    logged: bool = True


class QueueNoted(Struct, gc=False):
    """seqs: by lane the first message that is still needed, 0: as noted before; none at all: the
    queue is gone, and nothing of it is needed.
    """

    name: str
    incarnation: int
    seqs: list[int]


class ConsumedRestored(Struct):
    """Of a snapshot: which messages were needed no more at a time, and are to go from the topics
    later. What is not named is as it was in the note before.
    """

    time_ms: int
    queues: list[QueueNoted]
    logged: bool = True


class ObjectDefined(Struct):
    """An object that is not a local queue came to be, or (of a snapshot) was there."""

    kind: str
    name: str
    attributes: dict[str, Any]
    logged: bool = True


class ObjectAltered(Struct):
    """These attributes of an object took these values; kind queue_manager: of itself."""

    kind: str
    name: str
    attributes: dict[str, Any]
    logged: bool = True


class ObjectDeleted(Struct):
    """An object that is not a local queue ceased to be."""

    kind: str
    name: str
    logged: bool = True


class ConsumerSet(Struct):
    """A consumer of a queue came to be, or these became its figures; see core.model.claims."""

    queue: str
    consumer: str
    claim: bytes
    timeout_ms: int
    consumed: int
    size_max: int
    logged: bool = True


class BatchClaimed(Struct):
    """A consumer was given messages as its next batch, or (of a snapshot) has been given them."""

    queue: str
    consumer: str
    spans: list[Span]
    counts: list[Count]
    deliveries: int = 0
    logged: bool = True


class BatchDelivered(Struct):
    """A batch was handed out to one more handle."""

    queue: str
    consumer: str
    batch: int
    logged: bool = True


class BatchesConsumed(Struct):
    """The batches up to this one were consumed: count messages are gone."""

    queue: str
    consumer: str
    through: int
    count: int
    size_max: int
    logged: bool = True


class BatchReturned(Struct):
    """The messages of a batch went back to their places, their counts raised; it is empty now."""

    queue: str
    consumer: str
    batch: int
    count: int
    raised: int
    size_max: int
    logged: bool = True


class ConsumerDeleted(Struct):
    """A consumer, which holds no messages, ceased to be."""

    queue: str
    consumer: str
    logged: bool = True


class DelayedExpired(Struct):
    """Delayed messages of a queue expired before they were due; places: where they waited."""

    queue: str
    places: list[Taken]
    logged: bool = True


class DelaysRestored(Struct):
    """Of a snapshot: when delayed messages of a queue are due; the queue where they wait has them.

    entries: when (ms), lane and seq there, priority, and so on.
    """

    queue: str
    entries: list[int]
    logged: bool = True


class PositionNoted(Struct, gc=False):
    """offset: from where a topic of arrivals is to be read."""

    topic: str
    topic_id: str
    offset: int


class UnitArrived(Struct):
    """What was read from a topic up to offset has taken effect: see inputs.Arrived.

    queue_manager, queue, incarnation: its origin. arrived: lane, seq and n of each message that
    arrived, also of those that had arrived before, and so on. lowest: lane, seq and n of Lowest,
    and so on.
    """

    topic: str
    topic_id: str
    offset: int
    source: str
    queue_manager: str
    queue: str
    incarnation: int
    arrived: list[int]
    lowest: list[int]
    logged: bool = True


class ArrivalsRestored(Struct):
    """Of a snapshot: what has arrived of an origin.

    lanes: lane, and seq and n below which everything has, and so on. seqs: lane, first and last of
    the persistent messages above that, and so on. others: the same of the n of other messages.
    """

    queue_manager: str
    queue: str
    incarnation: int
    lanes: list[int]
    seqs: list[int]
    others: list[int]
    logged: bool = True


class PositionsRestored(Struct):
    """Of a snapshot: from where topics of arrivals are to be read."""

    positions: list[PositionNoted]
    logged: bool = True


class ConversationSet(Struct, gc=False):
    """An endpoint of Service Broker came to be, or (of a snapshot) was there, or this became of it.

    far_service, far_queue_manager: of the other side; an empty queue manager is this one. An export
    may be in its place (EXPORT_ADDRESS; without a name: nothing goes there after an error).
    priority: 1 to 10. lifetime_ms: when its lifetime is over, timer_ms: when its timer is due, both
    times of day, 0: never. sent: how many messages it has sent. is_ended: a program has ended it.
    far: what has come of the other side: 0 nothing that ends it, 1 its end, 2 an error.
    """

    handle: bytes
    conversation: bytes
    group: bytes
    queue: str
    service: str
    far_service: str
    far_queue_manager: str
    contract: str
    is_initiator: bool
    priority: int
    lifetime_ms: int = 0
    timer_ms: int = 0
    sent: int = 0
    is_ended: bool = False
    far: int = 0
    logged: bool = True


class ConversationGone(Struct, gc=False):
    """An endpoint of Service Broker, which has no messages on its queue, ceased to be."""

    handle: bytes
    logged: bool = True


class RowsRestored(Struct, gc=False):
    """Of a snapshot: which messages of an endpoint are on its queue, and on that of what is
    retained.

    rows: their order, see core.model.conversations. retained: seqs; negative, -seq - 1: of what it
    has sent that waits for its far service.
    """

    handle: bytes
    rows: list[int]
    retained: list[int]
    logged: bool = True


class ReceiveNoted(Struct, gc=False):
    """A unit has received from a queue of Service Broker, or (has_ended) has ended."""

    queue: str
    unit: bytes
    has_ended: bool
    logged: bool = True


class FeedMoved(Struct):
    """What a feed has read before these offsets is put: partition, offset, and so on.

    topic_id: of the topic that they are of.
    """

    feed: str
    topic_id: str
    positions: list[int]
    logged: bool = True


class FeedSet(Struct):
    """A feed reads from these positions on, or (of a snapshot) it did.

    begin: where it reads those partitions from that have no position; "": as its definition says.
    topic_id: "" if there are no positions.
    """

    feed: str
    begin: str
    topic_id: str
    positions: list[int]
    logged: bool = True


class AuthoritySet(Struct):
    """An entity has these authorities on what a profile means, or (of a snapshot) it had them.

    bits: MQZAO_*, see contract.authorities. is_group: the entity is a group, and not a user.
    """

    profile: str
    object_type: str
    entity: str
    is_group: bool
    bits: int
    logged: bool = True


class AuthorityDeleted(Struct):
    """An entity has no authorities of its own any more on what a profile means."""

    profile: str
    object_type: str
    entity: str
    is_group: bool
    logged: bool = True


Record = (
    UnitCommitted
    | BackoutCounted
    | DeliveryCounted
    | MessagesDiscarded
    | QueueDefined
    | QueueAltered
    | QueueDeleted
    | SessionOpened
    | SessionBound
    | SessionExpired
    | UnitFenced
    | QueuePurged
    | QueueRestored
    | LaneRestored
    | MessageRestored
    | NamesRestored
    | SessionRestored
    | OutcomeRestored
    | OutcomeRecorded
    | EventRaised
    | HeadsRestored
    | ConsumedRestored
    | ObjectDefined
    | ObjectAltered
    | ObjectDeleted
    | ConsumerSet
    | BatchClaimed
    | BatchDelivered
    | BatchesConsumed
    | BatchReturned
    | ConsumerDeleted
    | DelayedExpired
    | DelaysRestored
    | UnitArrived
    | ArrivalsRestored
    | PositionsRestored
    | ConversationSet
    | ConversationGone
    | RowsRestored
    | ReceiveNoted
    | FeedMoved
    | FeedSet
    | AuthoritySet
    | AuthorityDeleted
    | ChannelRuleSet
)
