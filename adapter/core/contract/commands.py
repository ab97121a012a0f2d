"""The commands a client may give: the closed contract between wire and core.

Commands are imperative. They carry neither time nor identity of the caller: the owner wraps them
in a Request. A command's tag is part of the protocol and is never reused; new fields go last, with
a default. Commands marked *durable* are numbered by the client's session, so that their outcome
can be asked for again.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from adapter.core.contract import authority_commands, broker, channel_rules, incarnations, msmq
from adapter.core.contract.bounds import ELEMENTS_MAX, LANES_MAX, MESSAGES_MAX, Attributes
from adapter.core.contract.message import MessageData
from adapter.core.contract.request import Request as Request  # noqa: PLC0414 -- of this contract

# Open modes, to be added up (MQOO_INPUT_SHARED, ... ; our own numbers).
INPUT: Final = 1
EXCLUSIVE: Final = 2
OUTPUT: Final = 4
BROWSE: Final = 8
INQUIRE: Final = 16
SET: Final = 32
CO_OP: Final = 64  # with BROWSE: one of a set of handles that share marks
EXISTING: Final = 128  # of a handle at its client, which says Open.existing for it
SHARED: Final = 256  # likewise, with INPUT: Open.shared

# What a close does to a permanent dynamic queue (MQCO_NONE, _DELETE, _DELETE_PURGE).
KEEP: Final = 0
DELETE: Final = 1
PURGE: Final = 2

# What a put, get or browse asks for beyond the usual, to be added up (of MQPMO_*; our own numbers)
LOGICAL_ORDER: Final = 1
ALL_MESSAGES: Final = 2  # MQGMO_ALL_MSGS_AVAILABLE
ALL_SEGMENTS: Final = 4  # MQGMO_ALL_SEGMENTS_AVAILABLE
COMPLETE: Final = 8  # MQGMO_COMPLETE_MSG
UNDER_CURSOR: Final = 16  # MQGMO_MSG_UNDER_CURSOR, _BROWSE_MSG_UNDER_CURSOR
LOCK: Final = 32
UNLOCK: Final = 64
MATCH_GROUP_SEQ: Final = 128
MATCH_OFFSET: Final = 256
BOUNDED: Final = 512  # what is longer than length_max stays on the queue
RETAIN: Final = 1024  # MQPMO_RETAIN
WARN_NO_SUBSCRIBERS: Final = 2048  # MQPMO_WARN_IF_NO_SUBS_MATCHED
IF_PERSISTENT: Final = 4096  # MQGMO_SYNCPOINT_IF_PERSISTENT
MARK_HANDLE: Final = 8192  # MQGMO_MARK_BROWSE_HANDLE
MARK_CO_OP: Final = 16_384  # MQGMO_MARK_BROWSE_CO_OP
UNMARKED: Final = 32_768  # MQGMO_UNMARKED_BROWSE_MSG
UNMARK_HANDLE: Final = 65_536  # MQGMO_UNMARK_BROWSE_HANDLE
UNMARK_CO_OP: Final = 131_072  # MQGMO_UNMARK_BROWSE_CO_OP
THROUGH_QUIESCE: Final = 262_144  # without MQGMO_FAIL_IF_QUIESCING: it goes on until the very end
CONTINUES: Final = 134_217_728  # with LOGICAL_ORDER: refused unless the handle is in a group
DEFERRED: Final = 524_288  # of a put: not answered; the commit of its unit says if it was refused


# Which parts of a message's context puts may write, of modes, and a put does write, of options, to
# be added up (MQOO_, MQPMO_PASS_* and SET_*_CONTEXT; our own numbers). Identity is the user, the
# accounting token and the identity data; origin is the application, its type and data, and the date
# and time. MQ's PASS_ALL and SET_ALL are both parts. What a put writes in neither way is that of
# its connection, whatever its messages say.
PASS_IDENTITY: Final = 1_048_576
PASS_ORIGIN: Final = 2_097_152
SET_IDENTITY: Final = 4_194_304
SET_ORIGIN: Final = 8_388_608
SAVE_CONTEXT: Final = 16_777_216  # of modes: the context of what is got last may be passed
NO_CONTEXT: Final = 33_554_432  # of options
KEEP_END: Final = 67_108_864  # of a put: expires_at_ms of its messages, where it is not 0, counts
PASS_CONTEXT: Final = PASS_IDENTITY | PASS_ORIGIN
SET_CONTEXT: Final = SET_IDENTITY | SET_ORIGIN
CONTEXT_MODES: Final = PASS_CONTEXT | SET_CONTEXT | SAVE_CONTEXT
CONTEXT_OPTIONS: Final = PASS_CONTEXT | SET_CONTEXT | NO_CONTEXT

# What a subscription is to be, to be added up (MQSO_*; our own numbers).
CREATE: Final = 1
RESUME: Final = 2
ALTER: Final = 4
DURABLE: Final = 8
MANAGED: Final = 16
ON_REQUEST: Final = 32  # MQSO_PUBLICATIONS_ON_REQUEST
NEW_ONLY: Final = 64  # MQSO_NEW_PUBLICATIONS_ONLY
SET_CORRELATION: Final = 128  # MQSO_SET_CORREL_ID
AS_PUBLISHED, AS_QUEUE_SAYS = -3, -1  # in place of a priority: MQPRI_PRIORITY_AS_*


class SessionOpen(Struct, array_like=True, tag=1):
    """Make a session known, durably and idempotently, before its first numbered command."""

    session: bytes


class SessionResume(Struct, array_like=True, tag=2):
    """Attach to a session again after a connection was lost. unanswered: numbers whose outcome the
    client has not seen; it sends those commands again. issued: the highest number given out.
    """

    session: bytes
    unanswered: Annotated[list[int], Meta(max_length=ELEMENTS_MAX)]
    issued: int


class Open(Struct, array_like=True, tag=3):
    """Open a queue under a handle number that the client chooses (MQOPEN).

    queue: of a local queue, of an alias, or of a model that a dynamic queue is made from; it is
    given dynamic_name, whose last * becomes something unique. selection: gets and browses under
    this handle are given only what fits (MQOD.SelectionString, see core.model.selector).
    queue_manager: the queue's (MQOD.ObjectQMgrName), or an alias of one, or a transmission queue;
    empty: this one, or as the name says. A queue of another one is opened for output only, or for
    inquiries by its local name: puts go to a transmission queue. kafka_topic: instead of a queue's
    name, for output: the queue whose messages are written to this topic; it is made if it does not
    exist. alternate_user: by whose authorities (MQOO_ALTERNATE_USER_AUTHORITY); "": the client's.
    existing: a model is refused, as for MQPUT1. shared: whatever DEFSOPT says (MQOO_INPUT_SHARED).
    """

    handle: int
    queue: str
    modes: int
    dynamic_name: str = ""
    selection: str = ""
    queue_manager: str = ""
    kafka_topic: str = ""
    alternate_user: str = ""
    existing: bool = False
    shared: bool = False


class Close(Struct, array_like=True, tag=4):
    """Close a handle (MQCLOSE). delete: a permanent dynamic queue, by it: KEEP, DELETE, PURGE."""

    handle: int
    delete: int = 0


class Put(Struct, array_like=True, tag=5):
    """Put messages (MQPUT). Outside a unit: exactly one message, and durable.

    options: LOGICAL_ORDER, by which the queue manager numbers groups and segments of the handle.
    DEFERRED: a one-way operation in a unit. The unit keeps the first refusal of its deferred puts,
    executes none after it, and its commit is refused for it; see Commit.
    context: the handle whose saved context is passed, if options say so.
    level: of publications, 0 to 9: of their subscriptions those get them that have the highest
    level that is not above it.
    """

    handle: int
    messages: Annotated[list[MessageData], Meta(max_length=MESSAGES_MAX)]
    unit: bytes = b""
    options: int = 0
    level: int = 9
    context: int = 0


class Get(Struct, array_like=True, tag=6):
    """Get messages destructively (MQGET). Outside a unit: exactly one message, and durable.

    wait_ms: 0 does not wait, -1 waits without limit. limit: at most that many, waiting only for
    the first. alone: a message that was backed out before comes in a unit of its own. place: the
    message at (lane, seq, n), as browse showed it, and no other; if ids are given, with them.
    options: with any of them, one message. group_seq, offset, length_max (bytes of a body): used
    if options say so. IF_PERSISTENT: a message that is not persistent is not got in the unit, but
    for good; it is lost if the answer is.
    """

    handle: int
    unit: bytes = b""
    wait_ms: int = 0
    limit: int = 1
    message_id: bytes = b""
    correlation_id: bytes = b""
    group_id: bytes = b""
    alone: bool = False
    place: tuple[int, int, int] | None = None
    options: int = 0
    group_seq: int = 1
    offset: int = 0
    length_max: int = 0


class Browse(Struct, array_like=True, tag=7):
    """Show the next messages after the handle's cursor (MQGMO_BROWSE_FIRST, _NEXT).

    options: with any of them, one message. UNLOCK shows none. BOUNDED: the cursor stays before a
    message that is longer than length_max. wait_ms: as of a get, for a message behind the cursor.
    place: as of a get; the cursor goes there. With UNMARK_HANDLE and UNMARK_CO_OP it stays. seen,
    without options, in place of the cursor, which stays: of each lane the place (lane, seq, n) seen
    last. seen_of: its queue and incarnation (see Opened): of another one nothing was seen.
    """

    handle: int
    restart: bool = False
    limit: int = 1
    message_id: bytes = b""
    correlation_id: bytes = b""
    group_id: bytes = b""
    options: int = 0
    group_seq: int = 1
    offset: int = 0
    length_max: int = 0
    wait_ms: int = 0
    place: tuple[int, int, int] | None = None
    seen: Annotated[list[tuple[int, int, int]], Meta(max_length=LANES_MAX)] | None = None
    seen_of: tuple[str, int] | None = None


class Begin(Struct, array_like=True, tag=18):
    """Begin a unit, under an id of the client: its session id and a number below 2**63 (MQBEGIN).

    A unit that ended with its connection is not begun again by a later verb: that is refused.
    ahead: no program was shown what the unit gets. Until it is touched, backing it out raises no
    backout count, whatever ends it. A get from a queue with harden_get_backout touches it, because
    it counts what it gives, unless that is a transmission queue: senders get ahead there.
    """

    unit: bytes
    ahead: bool = False


class Touch(Struct, array_like=True, tag=48):
    """Say that what a unit got is about to be shown: from now on the unit is not ahead.

    It has no effect on a unit that is not ahead, has ended or is not known.
    """

    unit: bytes


class Commit(Struct, array_like=True, tag=8):
    """Commit a unit (MQCMIT). Durable.

    If a deferred put of the unit was refused, the unit is backed out, and the commit is refused for
    the reason of that put. Sent again, it is refused for the same reason; after a restart of the
    queue manager with BACKED_OUT, like all verbs of units that have ended with it.
    """

    unit: bytes


class Backout(Struct, array_like=True, tag=9):
    """Back a unit out (MQBACK). Durable.

    uncounted: the program has not worked on what the unit got: no backout count rises.
    """

    unit: bytes
    uncounted: bool = False


class AskOutcome(Struct, array_like=True, tag=10):
    """Ask what became of a unit."""

    unit: bytes


class DefineQueue(Struct, array_like=True, tag=11):
    """Define a local queue (DEFINE QLOCAL). Durable. replace: alter it if it exists."""

    name: str
    attributes: Attributes = {}
    replace: bool = False


class AlterQueue(Struct, array_like=True, tag=12):
    """Alter a local queue (ALTER QLOCAL). Durable."""

    name: str
    attributes: Attributes


class DeleteQueue(Struct, array_like=True, tag=13):
    """Delete a local queue (DELETE QLOCAL). Durable. purge: with the messages on it."""

    name: str
    purge: bool = False


class PurgeQueue(Struct, array_like=True, tag=14):
    """Discard every message that no unit holds (CLEAR QLOCAL). Durable."""

    name: str


class Inquire(Struct, array_like=True, tag=15):
    """Ask for the attributes of the local queues whose name fits the pattern (INQUIRE_Q).

    system: also SYSTEM.*, to which no pattern that begins with a wildcard leads otherwise.
    """

    pattern: str
    system: bool = False


class AskStatus(Struct, array_like=True, tag=16):
    """Ask for the status of the local queues whose name fits the pattern (INQUIRE_Q_STATUS).

    system: see Inquire. reset: what counts since the last reset begins anew, behind the answer.
    """

    pattern: str
    system: bool = False
    reset: bool = False


class SetAttributes(Struct, array_like=True, tag=17):
    """Set attributes through a handle opened for SET (MQSET). Durable."""

    handle: int
    attributes: Attributes


class AskConnections(Struct, array_like=True, tag=19):
    """Ask who is connected (DISPLAY CONN).

    units: and for their units, the oldest first. handles: and for what they have open.
    """

    units: bool = False
    handles: bool = False


class EndConnection(Struct, array_like=True, tag=20):
    """End another connection as if it were lost (STOP CONN): its units are backed out first."""

    connection: int


class DefineObject(Struct, array_like=True, tag=21):
    """Define an object other than a local queue (DEFINE QALIAS, PROCESS, ...). Durable.

    kind: of core.attributes.objects.KINDS. replace: alter it if it exists.
    """

    kind: str
    name: str
    attributes: Attributes = {}
    replace: bool = False


class AlterObject(Struct, array_like=True, tag=22):
    """Alter such an object, or the queue manager, whose name is its own (ALTER QMGR). Durable."""

    kind: str
    name: str
    attributes: Attributes


class DeleteObject(Struct, array_like=True, tag=23):
    """Delete such an object (DELETE QALIAS, PROCESS, ...). Durable."""

    kind: str
    name: str


class InquireObjects(Struct, array_like=True, tag=24):
    """Ask for the objects of a kind whose name fits the pattern. system: see Inquire."""

    kind: str
    pattern: str
    system: bool = False


class OpenTopic(Struct, array_like=True, tag=25):
    """Open a topic under a handle number that the client chooses; puts by it are publications.

    Its topic string is that of the topic object, a '/' and the one given, or one of them alone; by
    a topic object, Opened says it. A put may have the options RETAIN and WARN_NO_SUBSCRIBERS.
    modes: which context puts may write. alternate_user: see Open.
    """

    handle: int
    topic_string: str = ""
    topic_object: str = ""
    modes: int = 0
    alternate_user: str = ""


class Subscribe(Struct, array_like=True, tag=26):
    """Make a subscription, or go on with a durable one, under a handle (MQSUB).

    options: CREATE, RESUME, ALTER or several, and what it is to be. topic_string: may have
    wildcards; see OpenTopic. name: of a durable one. destination: a queue, unless it is MANAGED.
    queue_handle: if not 0, the destination is opened by it, for input. correlation_id: of the
    copies, if options say so; empty: each publication's own. level: see Put; what is retained is
    given up to level 1. selection: which publications it gets, see Open; "": all. priority: of the
    copies, 0 to 9, AS_PUBLISHED, or AS_QUEUE_SAYS. alternate_user: see Open.
    """

    handle: int
    topic_string: str = ""
    topic_object: str = ""
    name: str = ""
    options: int = CREATE
    destination: str = ""
    queue_handle: int = 0
    user_data: str = ""
    correlation_id: bytes = b""
    level: int = 1
    selection: str = ""
    priority: int = AS_PUBLISHED
    alternate_user: str = ""


class CloseSubscription(Struct, array_like=True, tag=27):
    """Close a subscription's handle (MQCLOSE). remove: a durable one is deleted (MQCO_REMOVE_SUB);
    any other always is. What is on a managed queue goes with it.
    """

    handle: int
    remove: bool = False


class SubscriptionRequest(Struct, array_like=True, tag=28):
    """Ask for the retained publications of a subscription, again (MQSUBRQ). Durable.

    The answer's count says how many have been put to its queue.
    """

    handle: int


class ClearRetained(Struct, array_like=True, tag=29):
    """Discard what is retained for a topic (CLEAR TOPICSTR). Durable. It may have wildcards."""

    topic_string: str


class OpenConsumer(Struct, array_like=True, tag=30):
    """Open a queue as one of its durable consumers, which comes to be by it.

    A name can be open once. Without anybody for timeout_ms a consumer loses what it was given.
    may_break_off: its program ends without closing it also when all went well.
    """

    handle: int
    queue: str
    consumer: str
    timeout_ms: int
    may_break_off: bool = False


class ClaimBatch(Struct, array_like=True, tag=31):
    """Have a consumer be given its next batch: limit messages at most, which its topic has.

    planned: the number of the last batch that its program has taken note of. The answer's last is
    the number of the batch; if it is as before, there was nothing to give. An empty batch is given
    if there is nothing while another is unconsumed: a program that ends batch after batch gets to
    the end of that one. only_ask: claim nothing; the answer's last is the number that the batch
    would have.
    """

    handle: int
    limit: int
    planned: int = 0
    only_ask: bool = False


class ReadBatches(Struct, array_like=True, tag=32):
    """Ask what is in the batches behind one number up to another; those before are consumed.

    claim: as the consumer had it when it was opened. limit: the last of them is claimed if it is
    the next one to be claimed, with so many messages at most, and without any if there are none;
    -1: nothing is claimed.
    """

    handle: int
    claim: bytes
    after: int
    through: int
    limit: int = -1


class ConsumeBatches(Struct, array_like=True, tag=33):
    """Consume the batches up to this number: their messages are gone for good."""

    handle: int
    claim: bytes
    through: int


class AskConsumers(Struct, array_like=True, tag=34):
    """Ask for the consumers of the local queues whose name fits the pattern.

    system: see Inquire.
    """

    pattern: str
    system: bool = False


class DeleteConsumer(Struct, array_like=True, tag=35):
    """Forget a consumer that no program has open; what it was given returns. Durable."""

    queue: str
    consumer: str


class AskLowest(Struct, array_like=True, tag=47):
    """Ask what the lanes of a queue that is open still have, from which place on.

    Messages that units, browses and consumers hold count. The answer is true for good.
    """

    handle: int


class SeekFeed(Struct, array_like=True, tag=49):
    """Set from where a feed reads: EARLIEST, LATEST, a time, or partition:offset, ... Durable."""

    feed: str
    to: str


class AskExports(Struct, array_like=True, tag=50):
    """Ask for the exports of a topic, and how far each has come. The answer is true for good."""

    topic: str


Command = (
    SessionOpen
    | SessionResume
    | Open
    | Close
    | Put
    | Get
    | Browse
    | Commit
    | Backout
    | AskOutcome
    | DefineQueue
    | AlterQueue
    | DeleteQueue
    | PurgeQueue
    | Inquire
    | AskStatus
    | SetAttributes
    | Begin
    | Touch
    | AskConnections
    | EndConnection
    | DefineObject
    | AlterObject
    | DeleteObject
    | InquireObjects
    | OpenTopic
    | Subscribe
    | CloseSubscription
    | SubscriptionRequest
    | ClearRetained
    | OpenConsumer
    | ClaimBatch
    | ReadBatches
    | ConsumeBatches
    | AskConsumers
    | DeleteConsumer
    | AskLowest
    | SeekFeed
    | AskExports
    | incarnations.AskIncarnations
    | authority_commands.SetAuthority
    | authority_commands.DeleteAuthority
    | authority_commands.RefreshSecurity
    | authority_commands.InquireAuthorities
    | authority_commands.ExplainAuthority
    | authority_commands.InquirePointers
    | channel_rules.SetChannelRule
    | channel_rules.InquireChannelRules
    | msmq.MsmqOpen
    | msmq.MsmqSend
    | msmq.MsmqReceive
    | msmq.MsmqCursor
    | msmq.MsmqMove
    | msmq.MsmqReject
    | msmq.MsmqCreate
    | msmq.MsmqAlter
    | msmq.MsmqDelete
    | msmq.MsmqPermit
    | msmq.MsmqPurge
    | msmq.MsmqInquire
    | msmq.MsmqLocate
    | broker.BrokerCreate
    | broker.BrokerAlter
    | broker.BrokerDrop
    | broker.BrokerPermit
    | broker.BrokerInquire
    | broker.BrokerBrowse
    | broker.BrokerBegin
    | broker.BrokerSend
    | broker.BrokerReceive
    | broker.BrokerGetGroup
    | broker.BrokerMove
    | broker.BrokerTimer
    | broker.BrokerEnd
    | broker.BrokerSave
    | broker.BrokerRollbackTo
    | broker.BrokerAwaitEvent
)
