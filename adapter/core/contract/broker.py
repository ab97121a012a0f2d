"""The commands that only programs of Service Broker give.

Every verb on conversations is part of a unit; a program's statement outside a transaction is a unit
by itself. Handles of conversations and conversation groups are GUIDs of 16 bytes, drawn by the
program. The catalog's commands take effect at once, and are in no unit. lock_ms: how long to wait
for a conversation group that another unit has locked (-1: without limit; 0: not at all).
This module does not know what a rule makes of it.
"""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta, Struct

from adapter.core.contract.authority_commands import Changes
from adapter.core.contract.bounds import ELEMENTS_MAX, Attributes

DEFAULT: Final = "DEFAULT"
"""The message type and the contract that every queue manager has."""

SCHEMA_PREFIX: Final = "http://schemas.microsoft.com/SQL/ServiceBroker/"
ERROR: Final = SCHEMA_PREFIX + "Error"
END_DIALOG: Final = SCHEMA_PREFIX + "EndDialog"
DIALOG_TIMER: Final = SCHEMA_PREFIX + "DialogTimer"
EVENT_NOTIFICATION: Final = "http://schemas.microsoft.com/SQL/Notifications/EventNotification"
NOTIFICATION_CONTRACT: Final = (
    "http://schemas.microsoft.com/SQL/Notifications/PostEventNotification"
)
SYSTEM_TYPES: Final = (ERROR, END_DIALOG, DIALOG_TIMER)

ENDPOINTS: Final = "endpoints"
SIDES: Final = "sides"
GROUPS: Final = "groups"
TRANSMISSION: Final = "transmission"

EXPORT_ADDRESS: Final = "EXPORT://"
"""What the address of a route begins with that leads to an export, before its name."""

QUEUE_DISABLED: Final = "BROKER_QUEUE_DISABLED"
QUEUE_ACTIVATION: Final = "QUEUE_ACTIVATION"
EVENTS: Final = (QUEUE_DISABLED, QUEUE_ACTIVATION)

ROWS_BYTES_MAX: Final = 4 * 1024 * 1024
"""The rows of one answer; one row may be longer."""

CATALOG_BYTES_MAX: Final = 64 * 1024 * 1024
"""The objects of one answer. Clients of an earlier release take a short answer for the last one:
it has nearly as much as they could be answered before."""


SHOWN_BODY_MAX: Final = 8_000
"""A row in transmission has a body of so many bytes at most; of a longer one only its length."""


class BrokerCreate(Struct, array_like=True, tag=100):
    """Create an object of the catalog. Durable. kind: see core.attributes.broker."""

    kind: str
    name: str
    attributes: Attributes = {}


class BrokerAlter(Struct, array_like=True, tag=101):
    """Alter an object of the catalog. Durable."""

    kind: str
    name: str
    attributes: Attributes


class BrokerDrop(Struct, array_like=True, tag=102):
    """Drop an object of the catalog. Durable. Refused while another object needs it."""

    kind: str
    name: str


class BrokerPermit(Struct, array_like=True, tag=115):
    """Change who may do what with an object of the catalog (GRANT, REVOKE). Durable."""

    kind: str
    name: str
    changes: Changes = []


class BrokerInquire(Struct, array_like=True, tag=103):
    """Ask for objects of the catalog, endpoints, groups, or messages that are in transmission.

    kind: of the catalog, or ENDPOINTS, SIDES, GROUPS or TRANSMISSION. name: of one object; empty:
    all, in order, after the one that was the last of the answer before (for endpoints: hex; for
    groups the attribute key). SIDES are the endpoints of one conversation; name: its id in hex. The
    answer is Descriptions, which end by count or by bytes; one that has none is the last, as is one
    of ENDPOINTS, GROUPS or queues that has fewer than count. Who may not browse the queue to which
    a message of TRANSMISSION goes sees it without its body.
    """

    kind: str
    name: str = ""
    after: str = ""
    count: int = 1_000


class BrokerBrowse(Struct, array_like=True, tag=104):
    """Look at the rows of a queue, ready and retained ones, also while it is OFF (SELECT).

    after: the queuing order of the last row of the answer before, negative if it was a retained
    one. conversation: empty: all of them. The answer is Messages; one that has none is the last.
    """

    queue: str
    after: int = 0
    count: int = 100
    conversation: bytes = b""


class BrokerBegin(Struct, array_like=True, tag=105):
    """BEGIN DIALOG CONVERSATION. The answer is Done.

    handle: of the new endpoint, never used before. lifetime_ms: 0: without limit. to_queue_manager:
    empty: as the routes say. related: a conversation whose group is joined; group: one to join,
    made if it does not exist; both empty: a new one, that is named group in either case.
    """

    unit: bytes
    handle: bytes
    from_service: str
    to_service: str
    contract: str = DEFAULT
    lifetime_ms: int = 0
    related: bytes = b""
    group: bytes = b""
    encryption: bool = False
    lock_ms: int = -1


class BrokerSend(Struct, array_like=True, tag=106):
    """SEND ON CONVERSATION: on every one of the handles, or on none. The answer is Done."""

    unit: bytes
    handles: Annotated[list[bytes], Meta(max_length=ELEMENTS_MAX)]
    message_type: str = DEFAULT
    body: bytes | None = None
    lock_ms: int = -1


class BrokerReceive(Struct, array_like=True, tag=107):
    """RECEIVE: rows of one conversation group, which the unit locks. The answer is Messages.

    top: -1: all of the group. conversation, group: empty: of the next group. wait_ms: 0: without
    WAITFOR, -1: without limit.
    """

    unit: bytes
    queue: str
    top: int = -1
    conversation: bytes = b""
    group: bytes = b""
    wait_ms: int = 0
    lock_ms: int = -1


class BrokerGetGroup(Struct, array_like=True, tag=108):
    """GET CONVERSATION GROUP: lock the next group that has messages. The answer is Descriptions:
    one, whose name is the group in hex, or none.
    """

    unit: bytes
    queue: str
    wait_ms: int = 0


class BrokerMove(Struct, array_like=True, tag=109):
    """MOVE CONVERSATION to another group of the same service's queue. The answer is Done."""

    unit: bytes
    handle: bytes
    group: bytes
    lock_ms: int = -1


class BrokerTimer(Struct, array_like=True, tag=110):
    """BEGIN CONVERSATION TIMER: from the commit on. Setting it again sets it anew."""

    unit: bytes
    handle: bytes
    timeout_ms: int
    lock_ms: int = -1


class BrokerEnd(Struct, array_like=True, tag=111):
    """END CONVERSATION, plainly, or with an error (> 0) and its description, or with cleanup."""

    unit: bytes
    handle: bytes
    error: int | None = None
    description: str = ""
    cleanup: bool = False
    lock_ms: int = -1


class BrokerSave(Struct, array_like=True, tag=112):
    """SAVE TRANSACTION: note a savepoint of the unit under a name, again if it exists."""

    unit: bytes
    name: str


class BrokerRollbackTo(Struct, array_like=True, tag=113):
    """ROLLBACK TRANSACTION to a savepoint: what came after it has no effect. Groups stay locked."""

    unit: bytes
    name: str


class BrokerAwaitEvent(Struct, array_like=True, tag=114):
    """Wait for the events after this number (-1: that come from now on). The answer is
    Descriptions, one an event; with none after wait_ms.

    Each: name of the object, and as attributes event, number, time_ms and details.
    """

    event: str
    after: int = -1
    wait_ms: int = 0
