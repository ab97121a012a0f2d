"""Messages that a worker has rejected: where they go, and what becomes of those not taken there.

A rejected message must not come again, whatever its queue says, and by whatever name: its task
would be executed without end. So it goes to the queue that is meant for it; else, with the reason,
to the dead-letter queue of the queue manager; and is discarded where neither takes it, as AMQP has
it, with a line in the log. This module does not know how a framework names its queues.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import adapter
from adapter.client.acting import comes_back, local_source, put_on
from adapter.core.mq_layouts.dead_letter import made_at
from adapter.errors import BackedOut, ConnectionBroken, Error, InDoubt, QueueNotFound
from adapter.frameworks.options import check_put
from adapter.frameworks.units import give_back

LOST = (BackedOut, ConnectionBroken, InDoubt)
"""The unit is gone, and the message back on its queue or about to be."""

APPLICATION_TYPE = 6
"""MQAT_UNIX: what our own programs are."""

log = logging.getLogger(__name__)


def end_rejected(
    qm: adapter.Connection,
    unit: adapter.Unit,
    message: adapter.Message,
    source: str,
    target: str,
    *,
    define: Callable[[], None] | None = None,
    **fields: Any,
) -> None:
    """Move a message to the queue that is meant for what is rejected, and commit its unit.

    source: the queue that the message was got from. target: "": none, it is discarded. define:
    defines the target if it does not exist, for a second attempt. fields: of the put to target that
    are others than the message's. Raises what LOST says; and for fields that no put takes
    InvalidValue or InvalidType, when the message is back in its place.
    """
    try:
        check_put(fields)  # a mistake of the caller is no refusal of the target
    except Error:
        give_back(unit, counted=False)
        raise
    problem = _problem_with(qm, unit, message, source, target, fields) if target else None
    if isinstance(problem, QueueNotFound) and define is not None and _is_defined(define):
        problem = _problem_with(qm, unit, message, source, target, fields)
    if problem is not None:
        end_undeliverable(qm, unit, message, source, target, problem)
    else:
        unit.commit()


def end_undeliverable(
    qm: adapter.Connection,
    unit: adapter.Unit,
    message: adapter.Message,
    source: str,
    target: str,
    problem: Error,
) -> None:
    """Move a message to the dead-letter queue, if there is one that takes it, and commit its unit.

    problem: why it cannot go to target. target: "": that is not known.
    """
    said = f"message {message.message_id.hex()} of queue {source}"
    log.warning("%s was not moved to %s: %s", said, target or "the queue it is meant for", problem)
    dead = _dead_letter_queue(qm)
    if dead in ("", source, target):
        log.error("%s is discarded: there is no other dead-letter queue", said)
    else:
        header = _header(qm, target, problem)
        fields = {"dead_letter": header, "feedback": header.reason}
        refused = _problem_with(qm, unit, message, source, dead, fields)
        if refused is not None:
            log.error("%s is discarded: the dead-letter queue refuses it: %s", said, refused)
    unit.commit()


def _is_defined(define: Callable[[], None]) -> bool:
    try:
        define()
    except LOST:
        raise
    except Error as error:
        log.warning("a queue for rejected messages cannot be defined: %s", error)
        return False
    return True


def _problem_with(
    qm: adapter.Connection,
    unit: adapter.Unit,
    message: adapter.Message,
    source: str,
    target: str,
    fields: dict[str, Any],
) -> Error | None:
    """Put a message on a queue, in its unit; return why that is not possible, None if it was."""
    circle = Error(f"queue {target} is the queue that rejects it", target)
    if target == source:
        return circle
    fields = {"deliver_after": None, "deliver_at": None, **fields}
    try:
        if comes_back(qm, local_source(qm, source), target, message):
            return circle
        put_on(qm, target, message, unit=unit, **fields)
    except LOST:
        raise
    except Error as error:
        return error
    return None


def _dead_letter_queue(qm: adapter.Connection) -> str:
    """Return the name of the dead-letter queue, "" if the queue manager has or tells none."""
    try:
        own = next(iter(qm.objects("queue_manager")), None)
    except LOST:
        raise
    except Error as error:
        log.warning("the name of the dead-letter queue is not known: %s", error)
        return ""
    return "" if own is None else str(own.attributes["dead_letter_queue"])


def _header(qm: adapter.Connection, target: str, problem: Error) -> adapter.DeadLetter:
    return made_at(
        int(time.time() * 1000),
        reason=problem.reason,
        destination=target,
        destination_queue_manager=qm.name,
        application_type=APPLICATION_TYPE,
    )
