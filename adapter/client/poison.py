"""Poison messages: those that were backed out as often as their queue's backout_threshold says.

The loop of a program that has no policy of retries moves them to the queue's backout_requeue_queue,
in the unit that has got them. This module does not know how a loop gets messages.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from adapter.client.aside import leads_to, put_aside
from adapter.client.message import Message
from adapter.client.unit_steps import UnitEnd, UnitSteps, commit_aside, describe_queue
from adapter.connection.channel.unit import UnitBooks
from adapter.core.contract.backout import explain
from adapter.errors import BackedOut, BackoutThresholdReached, Error, NotAuthorized, QueueNotFound

log = logging.getLogger("adapter.client")


def move_poison(unit: UnitBooks, name: str, message: Message) -> UnitSteps[str | None]:
    """Move a message to the backout queue of its queue, in the unit that has got it, and commit.

    name: of the queue that it came from.
    Returns "", or None if it is to be shown. Raises BackoutThresholdReached: it cannot be moved.
    """
    try:
        described = yield from describe_queue(name)
    except QueueNotFound:
        if unit.channel.holds(unit.on_wire):
            raise
        return ""  # the connection was lost, and with it what had been made for it
    except NotAuthorized:
        log.warning(
            "message %s of queue %s was backed out %d times, and is shown again whatever "
            "backout_threshold is: the user may not see that; grant inq of the queue",
            message.message_id.hex(),
            name,
            message.backout_count,
        )
        return None
    verdict = judge(name, message, described.attributes)
    if verdict is None:
        return None
    if verdict.problem:
        yield UnitEnd.BACKOUT
        raise BackoutThresholdReached(verdict.problem, name)
    if (yield from leads_to(unit.channel, verdict.target, name)):
        yield UnitEnd.BACKOUT
        raise BackoutThresholdReached(verdict.circle, name)
    told = explain(message.properties, name, message.backout_count)
    put = put_aside(unit, verdict.target, message, properties=told)
    problem = yield from commit_aside(put)
    if isinstance(problem, BackedOut):
        return ""  # the connection was lost: it comes again
    if problem is not None:
        raise BackoutThresholdReached(verdict.failure(problem), name) from problem
    log.warning(
        "message %s of queue %s was backed out %d times: moved to queue %s",
        message.message_id.hex(),
        name,
        message.backout_count,
        verdict.target,
    )
    return ""


class Judgement(Struct, frozen=True):
    """What becomes of a message that came back too often. problem: why it stays, or ""."""

    happened: str
    target: str
    problem: str = ""

    @property
    def circle(self) -> str:
        """Say that it would come back, and its backouts be counted from 0 again."""
        return (
            f"{self.happened}stays there, because its backout_requeue_queue {self.target} is that "
            "queue itself: name another one, or set backout_threshold to 0"
        )

    def failure(self, error: Error) -> str:
        """Say that it could not be moved."""
        return (
            f"{self.happened}could not be moved to queue {self.target}; it stays where it is: "
            f"{error}"
        )


def judge(name: str, message: Message, attributes: Mapping[str, Any]) -> Judgement | None:
    """Decide by its queue's attributes what becomes of a message; None: it is worked on."""
    threshold = attributes["backout_threshold"]
    if not threshold or message.backout_count < threshold:
        return None
    moved_by = attributes.get("backout_action", "PROGRAM")  # an older one has none
    target = attributes["backout_requeue_queue"]
    happened = (
        f"message {message.message_id.hex()} of queue {name} was backed out "
        f"{message.backout_count} times, backout_threshold is {threshold}, and it "
    )
    if moved_by == "MOVE":
        return Judgement(
            happened,
            target,
            happened + "is still there: the queue manager could move it neither to the "
            "backout_requeue_queue nor to the dead-letter queue; its event "
            "backout_threshold_reached says why",
        )
    if not target:
        return Judgement(
            happened,
            target,
            happened + "stays there, because there is no backout_requeue_queue: set one, or set "
            "backout_threshold to 0",
        )
    return Judgement(happened, target)
