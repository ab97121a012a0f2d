"""What becomes of a message on a transmission queue that says no destination: a dead letter.

A program put it there itself, and not behind a valid MQXQH. As on IBM MQ it is put on the
dead-letter queue with MQFB_XMIT_Q_MSG_ERROR, in the unit that got it. This module must not know how
messages are sent.
"""

from __future__ import annotations

import time

from msgspec import structs

from adapter.channel.channel import Channel
from adapter.channel.unit import AnyUnit, perform
from adapter.channel.verbs import close_handles, dead_letter_queue, open_handle, put_request
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.results import PutDone
from adapter.core.mq_layouts.dead_letter import as_dead_letter
from adapter.errors import ConnectionBroken, Error
from adapter.network.port import NetworkError

INVALID = 271
"""MQFB_XMIT_Q_MSG_ERROR."""
CONFIRMATIONS = 0x3F00
"""MQRO_COA and MQRO_COD with data: of arrival and delivery, which a dead letter has not."""


class NoDestinationError(NetworkError):
    """A message says no destination, and no dead-letter queue takes it."""


def has_destination(message: Delivered) -> bool:
    """Whether a message says where it goes."""
    to = message.message.transmission
    return to is not None and bool(to.queue_manager or to.computer)


def put_dead_letter(channel: Channel, unit: AnyUnit, queue: str, message: Delivered) -> None:
    """Put a message of a transmission queue on the dead-letter queue, in the unit that got it.

    Raises NoDestinationError, ConnectionBroken.
    """
    data = message.message
    wrong = f"message {data.message_id.hex()} on {queue} has no valid MQXQH"
    now_ms = int(time.time() * 1000)
    letter = as_dead_letter(data, channel.queue_manager, queue, INVALID, now_ms)
    try:
        put_letter(channel, unit, letter, now_ms, data.expires_at_ms)
    except NoDeadLetterQueueError as error:
        raise NoDestinationError(f"{wrong}, and {error}") from error
    except ConnectionBroken:
        raise
    except Error as error:
        text = f"{wrong}, and the dead-letter queue does not take it: {error}"
        raise NoDestinationError(text) from error


class NoDeadLetterQueueError(Exception):
    """The queue manager has no dead-letter queue."""


def put_letter(
    channel: Channel, unit: AnyUnit, letter: MessageData, now_ms: int, expires_at_ms: int
) -> None:
    """Put a dead letter, in the unit that got its message. expires_at_ms: of that; 0: never.

    Raises NoDeadLetterQueueError, and Error if the queue does not take it.
    """
    name = dead_letter_queue(channel)
    if not name:
        raise NoDeadLetterQueueError(
            f"queue manager {channel.queue_manager} has no dead-letter queue: name one by ALTER "
            "QMGR DEADQ, or get the message"
        )
    letter = structs.replace(
        letter,
        report=letter.report & ~CONFIRMATIONS,
        transmission=None,
        delay_ms=0,
        deliver_at_ms=0,
        expiry_ms=max(expires_at_ms - now_ms, 1) if expires_at_ms else -1,
    )
    handle = open_handle(channel, name, c.OUTPUT | c.SET_CONTEXT)
    request = put_request(handle, [letter], unit, c.SET_CONTEXT)
    perform(channel, unit, [request], request, PutDone)
    close_handles(channel, [handle])
