"""What becomes of a message on a transmission queue that says no destination: a dead letter.

A program put it there itself, and not behind a valid MQXQH. As on IBM MQ it is put on the
dead-letter queue with MQFB_XMIT_Q_MSG_ERROR, in the unit that got it. This module must not know how
messages are sent.
"""

from __future__ import annotations

import time

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.unit import AnyUnit
from adapter.core.contract.message import Delivered
from adapter.core.mq_layouts.dead_letter import as_dead_letter
from adapter.runtime.network.port import NetworkError
from adapter.runtime.own_clients.dead_letters import NoDeadLetterError, put_letter

INVALID = 271
"""MQFB_XMIT_Q_MSG_ERROR."""


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
    now_ms = int(time.time() * 1000)
    letter = as_dead_letter(data, channel.queue_manager, queue, INVALID, now_ms)
    try:
        put_letter(channel, unit, queue, letter, now_ms, data.expires_at_ms)
    except NoDeadLetterError as error:
        wrong = f"message {data.message_id.hex()} on {queue} has no valid MQXQH"
        raise NoDestinationError(f"{wrong}, and {error}") from error
