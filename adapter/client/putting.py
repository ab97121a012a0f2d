"""What every put of the SDK has in common, of a queue's and of a topic's.

This module does not know where a message is put.
"""

from __future__ import annotations

from adapter.client.message import PutResult
from adapter.connection.channel import arguments as a
from adapter.connection.channel.channel import Channel
from adapter.connection.channel.requests import Handle
from adapter.connection.channel.unit import AnyUnit, UnitBooks, perform
from adapter.connection.channel.verbs import put_request
from adapter.core.contract import commands as c
from adapter.core.contract.details import IN_GROUP, Details
from adapter.core.contract.message import NO_ID, MessageData
from adapter.core.contract.results import PutDone
from adapter.errors import InvalidOption

WAITS_OUTSIDE = (
    "wait=False needs a unit, whose commit says whether the message was put: put it in "
    "`with qm.unit():`, or wait"
)
VALUE = "-value"
"""Behind a queue's name: the subject of its bodies' schemas, as of a topic's values elsewhere."""


def check_wait(inside: UnitBooks | None, wait: object, name: str) -> None:
    """Refuse a put outside any unit that is not waited for."""
    if not a.as_flag("wait", wait) and inside is None:
        raise InvalidOption(WAITS_OUTSIDE, name)


def put_by(
    handle: Handle,
    owner: object,
    message: MessageData,
    inside: AnyUnit | None,
    wait: object,
    channel: Channel,
    options: int = 0,
) -> PutResult:
    """Put a message by a handle. owner: of the handle. wait: see Queue.put()."""
    request = put_request(handle, [message], inside, options)
    put: c.Put = request.command
    if not wait and inside is not None and channel.takes_one_way:
        if keep(inside, put, owner):
            inside.send_kept()
        return kept_result(put)
    done = perform(channel, inside, [request], request, PutDone)
    return PutResult(done.message_ids[0], done.put_time_ms)


def put_in_order(message: MessageData) -> int:
    """Have a message belong to the group of its handle; return the option of the put."""
    message.details = message.details or Details()
    message.details.flags |= IN_GROUP
    return c.LOGICAL_ORDER


def keep(unit: UnitBooks, put: c.Put, owner: object) -> bool:
    """Keep a put of one message that is sent with the unit's next verb that waits.

    Returns whether what is kept is to be sent now. owner: of the handle.
    """
    (message,) = put.messages
    if message.message_id in (b"", NO_ID):
        message.message_id = unit.channel.new_message_id()
    put.options |= c.DEFERRED
    return unit.put_later(put, message.message_id, owner)


def kept_result(put: c.Put) -> PutResult:
    """Return what a put that is kept has given its message."""
    return PutResult(put.messages[0].message_id, 0)


def subject_of(name: str, subject: object) -> str:
    """Return the subject that a value's schema is looked up in; None: the queue's or topic's own.

    >>> subject_of("orders", None)
    'orders-value'
    """
    return name + VALUE if subject is None else a.as_text("subject", subject)
