"""What becomes of a message that the topic of an export does not take: a dead letter.

It is put in the unit that got it. This module must not know how a topic is written.
"""

from __future__ import annotations

import time

from adapter.connection.channel.channel import Channel
from adapter.connection.channel.unit import AnyUnit
from adapter.core.attributes.export import ExportAttributes
from adapter.core.contract.feeds import TOPIC
from adapter.core.contract.message import MessageData, with_properties
from adapter.core.mq_layouts.dead_letter import as_dead_letter
from adapter.runtime.exports.port import ExportError
from adapter.runtime.own_clients.dead_letters import NoDeadLetterError, UnitFullError, put_letter

WHY = "KafkaError"
"""A property of a dead letter: why its topic does not take it."""


class LetterRoomError(ExportError):
    """The unit that got a message has no room for its dead letter: fewer are to be got in one."""


def put_dead_letter(
    channel: Channel,
    unit: AnyUnit,
    export: ExportAttributes,
    message: MessageData,
    code: int,
    why: str,
) -> None:
    """Put a message on the dead-letter queue. code: MQRC. Raises LetterRoomError, ExportError,
    ConnectionBroken.
    """
    now_ms = int(time.time() * 1000)
    letter = as_dead_letter(message, channel.queue_manager, export.queue, code, now_ms)
    letter.properties = with_properties(letter.properties, {TOPIC: export.topic, WHY: why})
    waits = f"message {message.message_id.hex()} waits: {why}; and"
    try:
        put_letter(channel, unit, export.queue, letter, now_ms, message.expires_at_ms)
    except UnitFullError as error:
        raise LetterRoomError(f"{waits} {error}") from error
    except NoDeadLetterError as error:
        raise ExportError(f"{waits} {error}") from error
