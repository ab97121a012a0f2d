"""What a command is answered with: the other half of the contract between wire and core.

A result's tag is part of the protocol and is never reused; new fields go last, with a default.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from adapter.core.contract.arrivals import Lowest
from adapter.core.contract.authorities import AuthorityRecord
from adapter.core.contract.channel_rules import ChannelRule
from adapter.core.contract.commands import AS_PUBLISHED
from adapter.core.contract.incarnations import IncarnationStates
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.parties import Proof

UnitState = Literal["committed", "backed out", "in flight", "unknown"]


class Done(Struct, array_like=True, tag=1, gc=False):
    """It is done; durable if the command is a durable one. count: messages that
    a commit put, or a purge or a deletion discarded. warning: see PutDone.
    """

    count: int = 0
    warning: int = 0


class Refused(Struct, array_like=True, tag=2, gc=False):
    """It was refused and nothing was changed. reason: core.reasons.Reason."""

    reason: int
    name: str = ""
    detail: str = ""


class PutDone(Struct, array_like=True, tag=3, gc=False):
    """The messages were accepted, under these ids, at this time.

    warning: 0, or the reason (core.reasons.Reason) for which it is done with a warning; it is not
    kept for a client that asks again after a restart of the queue manager. What follows is of the
    last of the messages, as the queue manager settled it; priority is -1, and group_id empty, if
    they are not known any more. put_date_time, offset: see Details. subscriptions: how many a
    publication was for; -1 for other puts, and if that is not known any more.
    """

    message_ids: list[bytes]
    put_time_ms: int
    warning: int = 0
    priority: int = -1
    persistence: int = -1
    group_id: bytes = b""
    group_seq: int = 1
    subscriptions: int = -1
    put_date_time: str = ""
    offset: int = 0


def put_done(message_ids: list[bytes], last: MessageData) -> PutDone:
    """Say what became of messages that were put."""
    return PutDone(
        message_ids,
        last.put_time_ms,
        priority=last.priority,
        persistence=last.persistence,
        group_id=last.group_id,
        group_seq=last.group_seq,
        put_date_time="" if last.details is None else last.details.put_date_time,
        offset=last.offset,
    )


class Messages(Struct, array_like=True, tag=4):
    """The messages got or browsed; empty if there was none (in time). warning: see PutDone.

    With the warning MESSAGE_TRUNCATED the message is shown, and stays on the queue. now_ms: the
    time of day at the queue manager, by which the rest of life is counted of messages that have an
    end; 0 if none has.
    """

    messages: list[Delivered]
    warning: int = 0
    now_ms: int = 0


class UnitOutcome(Struct, array_like=True, tag=5, gc=False):
    """What became of a unit."""

    state: UnitState


class QueueDescription(Struct, array_like=True, gc=False):
    """A queue's name and attributes, and the topic incarnation it writes to.

    created_ms, altered_ms: when it was defined and last altered; 0 if that is not known.
    """

    name: str
    incarnation: int
    attributes: dict[str, Any]
    created_ms: int = 0
    altered_ms: int = 0


class Descriptions(Struct, array_like=True, tag=6):
    """The queues whose name fits, by name. hides: all were asked for, and some are not shown to who
    asked.
    """

    queues: list[QueueDescription]
    hides: bool = False


class QueueStatus(Struct, array_like=True, gc=False):
    """Soft figures of one queue. uncommitted counts puts and gets of open units; claimed counts the
    messages that durable consumers have been given, and delayed those that wait for their time: the
    depth counts neither.

    The totals count messages since the process started: put and got for good, returned by backouts,
    and gone without having been got (expired or purged). last_put_ms, last_got_ms: 0 if not since
    the process started. high_depth, put_since_reset and got_since_reset count since reset_s_ago.
    """

    name: str
    current_depth: int
    open_input_count: int
    open_output_count: int
    uncommitted: int
    uncommitted_puts: int
    uncommitted_gets: int
    waiting_gets: int
    oldest_message_age_s: float
    depth_by_priority: list[int]
    put_total: int = 0
    got_total: int = 0
    returned_total: int = 0
    discarded_total: int = 0
    claimed: int = 0
    last_put_ms: int = 0
    last_got_ms: int = 0
    high_depth: int = 0
    put_since_reset: int = 0
    got_since_reset: int = 0
    reset_s_ago: float = 0.0
    delayed: int = 0


class Statuses(Struct, array_like=True, tag=7):
    """The status of the queues whose name fits, by name."""

    queues: list[QueueStatus]


class Resumed(Struct, array_like=True, tag=8, gc=False):
    """The session is attached again; unanswered numbered commands may be sent again."""


class ConnectionStatus(Struct, array_like=True, gc=False):
    """One connection. since_ms: when it was made; session: of 16 bytes, or empty.

    messages: what its units hold; oldest_unit_age_s: 0.0 if it has no unit. channel: the name by
    which it connects, "" if it names none. proof: how the user is known, see parties.Proof. asks:
    whether it is the connection that asked.
    """

    number: int
    application: str
    user: str
    address: str
    since_ms: int
    session: bytes
    handles: int
    waiting_gets: int
    units: int
    messages: int
    oldest_unit_age_s: float
    channel: str = ""
    proof: str = Proof.NONE.value
    asks: bool = False

    @property
    def is_own(self) -> bool:
        """Whether a part of the queue manager is connected."""
        return self.proof in (Proof.OWN.value, Proof.CONTEXT.value)


class UnitStatus(Struct, array_like=True, gc=False):
    """A unit in flight. since_ms: when it was begun; puts and gets: messages."""

    unit: bytes
    connection: int
    since_ms: int
    age_s: float
    puts: int
    gets: int


class HandleStatus(Struct, array_like=True, gc=False):
    """A queue that a connection has open. modes: core.commands.INPUT and the others, added up."""

    connection: int
    handle: int
    queue: str
    modes: int
    waiting_gets: int


class Connections(Struct, array_like=True, tag=9):
    """Who is connected, by number; and what was asked for besides.

    units: in flight, the oldest first; handles: by connection and number. *_left_out: how many
    more there are.
    """

    connections: list[ConnectionStatus]
    units: list[UnitStatus] = []
    units_left_out: int = 0
    handles: list[HandleStatus] = []
    handles_left_out: int = 0


class ObjectDescription(Struct, array_like=True, gc=False):
    """An object that is not a local queue. created_ms, altered_ms: see QueueDescription."""

    kind: str
    name: str
    attributes: dict[str, Any]
    created_ms: int = 0
    altered_ms: int = 0


class Objects(Struct, array_like=True, tag=10):
    """The objects whose name fits, by name. hides: see Descriptions."""

    objects: list[ObjectDescription]
    hides: bool = False


class Opened(Struct, array_like=True, tag=11, gc=False):
    """Opened, and what differs from the name that was given: queue is the local one that it is.

    is_made: it was made from a model, whose name was given. is_topic: it led to a topic, and queue
    is its whole topic string. queue_manager: of queue, if that is not local. is_transmission: it is
    a transmission queue, where messages wait for other queue managers. property_control: of the
    name that was opened (PROPCTL). incarnation: of queue, if that is local: how many queues of its
    name there were before. Places of one incarnation say nothing of another.
    """

    queue: str
    is_made: bool = False
    is_topic: bool = False
    queue_manager: str = ""
    is_transmission: bool = False
    property_control: str = "COMPAT"
    incarnation: int = 0


class Subscribed(Struct, array_like=True, tag=12, gc=False):
    """The subscription as it is. topic: its whole topic string; queue: where publications go.

    options: core.commands.DURABLE, MANAGED and ON_REQUEST, as far as they hold. ident: of 24 bytes.
    correlation_id: of the copies; empty: each publication's own. retained: how many publications
    have been put there that were retained before. warning: see PutDone. level, selection,
    priority: see core.commands.Subscribe.
    """

    name: str
    topic: str
    queue: str
    options: int
    ident: bytes
    correlation_id: bytes
    user_data: str
    retained: int = 0
    warning: int = 0
    level: int = 1
    selection: str = ""
    priority: int = AS_PUBLISHED


class ConsumerState(Struct, array_like=True, tag=13, gc=False):
    """Where a consumer stands. claim: to be given with what is asked about its batches.

    consumed, last: the numbers of the last batch that is consumed, and that was given.
    """

    claim: bytes
    consumed: int
    last: int


class BatchDescription(Struct, array_like=True, gc=False):
    """A batch. spans: lane, first seq, last seq, and so on, in the order of delivery.

    counts: lane, seq, backout count, and so on, of messages that came back before.
    """

    number: int
    spans: list[int]
    counts: list[int]


class Batches(Struct, array_like=True, tag=14):
    """What batches have in them, by number. incarnation: the queue's, for its topic's name."""

    incarnation: int
    batches: list[BatchDescription]


class ConsumerStatus(Struct, array_like=True, gc=False):
    """A consumer. connection: which has it open, or 0; away_s: for how long no connection has.

    messages: in its batches; deliveries: of its first batch. size_max: see core.model.claims.
    """

    queue: str
    name: str
    claim: bytes
    connection: int
    timeout_ms: int
    away_s: float
    consumed: int
    last: int
    messages: int
    deliveries: int
    size_max: int


class Consumers(Struct, array_like=True, tag=15):
    """The consumers of the queues that fit, by queue and name."""

    consumers: list[ConsumerStatus]


class LowestPlaces(Struct, array_like=True, tag=16):
    """Of each lane of a queue, what it still has. following: the unit that put the next available
    message; empty if no message is available.
    """

    lanes: list[Lowest]
    following: bytes = b""


class ExportPlaces(Struct, array_like=True):
    """How far an export has come. lowest: what the lanes of its queue still have; ends: the places
    of what is put there next, n being 0 if the queue has no message that is not persistent. Both
    are empty if there is no queue of this name.
    """

    name: str
    queue: str
    incarnation: int
    is_paused: bool
    lowest: list[Lowest]
    ends: list[Lowest]


class Exported(Struct, array_like=True, tag=17):
    """The exports of one topic, by name."""

    exports: list[ExportPlaces]


class AuthorityRecords(Struct, array_like=True, tag=18):
    """Authority records, by profile, type and entity. are_checked: whether they count: a setting of
    the queue manager.
    """

    records: list[AuthorityRecord]
    are_checked: bool


class AuthorityExplained(Struct, array_like=True, tag=19):
    """What a user may do with an object. bits: of all records that count together.

    records: those that count, one at most of the user and of each group. are_checked: see
    AuthorityRecords.
    """

    bits: int
    records: list[AuthorityRecord]
    are_checked: bool


class LackedRight(Struct, array_like=True):
    """Authorities that a user or a group does not have. object_type, bits: see authorities."""

    object_type: str
    name: str
    bits: int


class PointerFound(Struct, array_like=True):
    """An object that leads to others. bits: what a user or a group has on it; lacks: what the same
    does not have on what it leads to, and would need to define it.
    """

    kind: str
    name: str
    bits: int
    lacks: list[LackedRight]


class PointersFound(Struct, array_like=True, tag=21):
    """What leads a user or a group to what it has no right to, by kind and name. are_checked: see
    AuthorityRecords.
    """

    pointers: list[PointerFound]
    are_checked: bool


class ChannelRulesFound(Struct, array_like=True, tag=20):
    """Channel authentication records. checked: CHLAUTH of the queue manager: whether they count."""

    rules: list[ChannelRule]
    checked: str


class ComputerFound(Struct, array_like=True, tag=40, gc=False):
    """Where the queues of a computer of MSMQ are read.

    computer: its name. queue_manager, address: of the queue manager that has its queues; the one
    that answers, if no other is known to have them. level: the version of MSMQ that the queue
    manager which answers behaves as. others: if no queue manager has the computer, some that have
    one, and how many more there are. tls_address: where that queue manager listens with TLS.
    """

    computer: str
    queue_manager: str
    address: str
    level: int
    others: list[str] = []
    tls_address: str = ""


Result = (
    Done
    | Refused
    | PutDone
    | Messages
    | UnitOutcome
    | Descriptions
    | Statuses
    | Resumed
    | Connections
    | Objects
    | Opened
    | Subscribed
    | ConsumerState
    | Batches
    | Consumers
    | LowestPlaces
    | Exported
    | IncarnationStates
    | AuthorityRecords
    | AuthorityExplained
    | PointersFound
    | ChannelRulesFound
    | ComputerFound
)
