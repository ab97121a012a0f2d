"""Staging: where a message is stored that is not due yet, in place of its destination.

This module does not know when a message is due, nor who releases it.
"""

from __future__ import annotations

import msgspec

from adapter.core.attributes.system import DELAYED_QUEUE
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.model.delays import DELAY_MAX_MS
from adapter.core.model.destination import Destination
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue


def check(qm: QueueManager, name: str, message: MessageData, now_ms: int) -> None:
    """Refuse a delay that no message can have. name: of the queue or topic it is put to."""
    delay_ms = message.delay_ms or message.deliver_at_ms - now_ms
    if message.delay_ms < 0 or message.deliver_at_ms < 0 or delay_ms > DELAY_MAX_MS:
        text = f"a delay of {delay_ms} ms: it is 0 to {DELAY_MAX_MS} ms from the put"
        raise Refusal(Reason.OPTIONS_ERROR, name, text)
    if delay_ms > 0 and DELAYED_QUEUE not in qm.queues:
        text = f"{DELAYED_QUEUE} does not exist; the next start defines it"
        raise Refusal(Reason.OPTIONS_ERROR, name, text)


def resolve(queue: Destination, message: MessageData, now_ms: int) -> None:
    """Settle when a message is due; one that is due by now waits nowhere."""
    if message.delay_ms:
        message.deliver_at_ms = now_ms + message.delay_ms
    message.delay_ms = 0
    message.destination = queue.name if message.deliver_at_ms > now_ms else ""


def stage(
    qm: QueueManager, puts: list[tuple[LocalQueue, MessageData]]
) -> list[tuple[LocalQueue, MessageData]]:
    """Say where puts are stored: those that are not due with the delayed messages.

    Staged messages do not expire; release_due() checks their expiry.
    """
    for _, message in puts:
        if message.destination:
            break
    else:
        return puts
    delayed = qm.queues[DELAYED_QUEUE]
    return [
        (delayed, msgspec.structs.replace(message, expires_at_ms=0))
        if message.destination
        else (queue, message)
        for queue, message in puts
    ]


def check_own(queue_name: str) -> None:
    """Refuse what would take delayed messages away from their destinations' sight."""
    if queue_name == DELAYED_QUEUE:
        text = "delayed messages are on it until they are due; it can be browsed"
        raise Refusal(Reason.QUEUE_IN_USE, queue_name, text)
