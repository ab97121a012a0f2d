"""What only programs of MSMQ say of a message, and the commands that only they give.

A queue of MSMQ is a local queue with attributes of its own. Ids are the 24 bytes of core: a GUID
and a number. A lookup id is (7 - priority) * 2**56 + seq, so that lookup ids are unique in a queue
and sort in its order of delivery. This module does not know what a rule makes of it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from adapter.core.contract.authority_commands import Changes
from adapter.core.contract.bounds import Attributes
from adapter.core.contract.message import MessageData

# How a queue is opened (MQ_RECEIVE_ACCESS, MQ_SEND_ACCESS, MQ_MOVE_ACCESS, MQ_PEEK_ACCESS).
RECEIVE_ACCESS: Final = 1
SEND_ACCESS: Final = 2
MOVE_ACCESS: Final = 4
PEEK_ACCESS: Final = 32

# Where a read begins.
FIRST: Final = 0  # the first message that is available; without a cursor
CURRENT: Final = 1  # at the cursor, or the message with the lookup id
NEXT: Final = 2  # behind the cursor, or behind the message with the lookup id
PREVIOUS: Final = 3  # before the message with the lookup id
LAST: Final = 4
REWINDING: Final = 5  # behind the cursor, or what arrived before the cursor since it was there

NO_LOOKUP_ID: Final = -1
LEVEL_LATEST: Final = 4  # the version of MSMQ that reads queues of other computers in transactions


class MsmqOpen(Struct, array_like=True, tag=36):
    """Open a queue of MSMQ under a handle number that the client chooses (MQOpenQueue).

    name: a path or format name; several, separated by commas, for sending only. access:
    RECEIVE_ACCESS, which includes peeking, SEND_ACCESS, MOVE_ACCESS (the target of moves),
    PEEK_ACCESS, added up. A subqueue that does not exist is made. deny_receive: no other handle may
    have it open for receiving. computer: that of the program; empty: the queue manager's own. To a
    program on another computer the queues of this queue manager are remote. level: the version of
    MSMQ that the program's computer behaves as; 0: the latest.
    """

    handle: int
    name: str
    access: int
    deny_receive: bool = False
    computer: str = ""
    level: int = 0


class MsmqSend(Struct, array_like=True, tag=37):
    """Send a message (MQSendMessage). Durable, unless it is part of a unit.

    single: without a unit, as a transaction of its own (MQ_SINGLE_MESSAGE). Of the message these
    count: body, message_id (empty: a new one), correlation_id, priority (-1: 3), expiry_ms (the
    time to be received, from now; -1: without limit, 0: it expires at once) and msmq. Of msmq the
    queue manager sets message_class, transactional, destination, source, sent_ms and receive_by_ms.
    The answer is PutDone; Done, if the message has been discarded: its queue did not accept it, and
    it is no dead letter.
    """

    handle: int
    message: MessageData
    unit: bytes = b""
    single: bool = False


class MsmqReceive(Struct, array_like=True, tag=38):
    """Receive or peek at a message (MQReceiveMessage, MQReceiveMessageByLookupId).

    The answer is Messages: with none, if there was none (in time), and Refused with
    OPERATION_CANCELLED, if the handle was closed meanwhile. Durable, unless it peeks or is part of
    a unit. peek: remove nothing. wait_ms: 0 does not wait, -1 waits without limit. start: FIRST,
    or with a cursor CURRENT, NEXT or REWINDING, or with a lookup id CURRENT, NEXT or PREVIOUS, or
    without either LAST; with a cursor, only peeks go on to the next message. cursor: 0, or a cursor
    of the handle. message_id, correlation_id: of the message, if not empty. single: see MsmqSend.
    By a lookup id nothing is waited for.
    """

    handle: int
    unit: bytes = b""
    wait_ms: int = 0
    peek: bool = False
    start: int = FIRST
    cursor: int = 0
    lookup_id: int = NO_LOOKUP_ID
    message_id: bytes = b""
    correlation_id: bytes = b""
    single: bool = False

    @property
    def options(self) -> int:
        """The options of gets and browses that it has: none."""
        return 0


class MsmqCursor(Struct, array_like=True, tag=39):
    """Make a cursor of a handle, before the first message, or close it (MQCreateCursor)."""

    handle: int
    cursor: int
    close: bool = False


class MsmqMove(Struct, array_like=True, tag=40):
    """Move a message to another subqueue of the same queue, or back to it (MQMoveMessage).

    target: a handle that is open for it. Durable, unless it is part of a unit.
    """

    handle: int
    target: int
    lookup_id: int
    unit: bytes = b""


class MsmqReject(Struct, array_like=True, tag=41):
    """Reject a message that this unit has received (MQMarkMessageRejected)."""

    handle: int
    lookup_id: int
    unit: bytes


class MsmqCreate(Struct, array_like=True, tag=42):
    """Create a queue of MSMQ (MQCreateQueue). Durable. path: COMPUTER\\private$\\NAME or .\\...

    attributes: see core.attributes.msmq.
    """

    path: str
    attributes: Attributes = {}
    computer: str = ""


class MsmqAlter(Struct, array_like=True, tag=43):
    """Set properties of a queue of MSMQ (MQSetQueueProperties). Durable."""

    name: str
    attributes: Attributes
    computer: str = ""


class MsmqDelete(Struct, array_like=True, tag=44):
    """Delete a queue of MSMQ with what is on it (MQDeleteQueue). Durable."""

    name: str
    computer: str = ""


class MsmqPermit(Struct, array_like=True, tag=61):
    """Change who may do what with a queue of MSMQ (MQSetQueueSecurity). Durable.

    reset: before changes, let the queue have the permissions of a new one: its creator everything,
    everyone to send, and to see its properties.
    """

    name: str
    changes: Changes = []
    reset: bool = False
    computer: str = ""


class MsmqPurge(Struct, array_like=True, tag=45):
    """Remove every message that no transaction holds (MQPurgeQueue). Durable."""

    handle: int


class MsmqInquire(Struct, array_like=True, tag=46):
    """Ask for the queues of MSMQ whose name fits; the answer is Descriptions.

    name: a path or format name, or a pattern with * of path names without the computer, like
    private$\\*, which means no journals, subqueues and system queues. Each has, beside its
    attributes: path_name (with the computer, as it was created) and message_count.
    """

    name: str
    computer: str = ""


class MsmqLocate(Struct, array_like=True, tag=60):
    """Ask where the queues of a computer are read; the answer is ComputerFound.

    computer: empty: the queue manager's own.
    """

    computer: str = ""
