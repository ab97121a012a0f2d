"""When a trigger message is made: the conditions of TP1/Message Queue, under the manual's numbers.

The manual is "Program creation guide", 13.3, "Conditions for a trigger event". Each condition is a
function that looks at a Situation; WAYS says which of them must hold for each kind of event. This
module decides; it does not know what a trigger message says, nor where it goes.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from adapter.core.model.queue import LocalQueue
from adapter.core.model.trigger_event import TriggerEvent


class Situation(Struct):
    """What the conditions are asked about: an application queue at the moment of an event.

    event: what happened to it, or to the initiation queue that it names. initiation: that queue, if
    there is such a local queue; not one that is deleted while it is open. has_process: there is
    a process of the name that it gives. interval_ms: TriggerInterval. since_ms: how long ago the
    queue's last trigger message was made, if there was one.
    """

    event: TriggerEvent
    queue: LocalQueue
    initiation: LocalQueue | None
    has_process: bool
    interval_ms: int
    since_ms: int | None


class Condition(Struct, frozen=True):
    """number: the manual's; n: of the messages that 11 and 12 ask for. text: as in the manual."""

    number: str
    text: str
    holds: Callable[[Situation], bool]


class Way(Struct, frozen=True):
    """One way to a trigger message. name: the manual's number of what happens; 1: an arrival."""

    name: str
    conditions: tuple[Condition, ...]


def _is_put(s: Situation) -> bool:
    return s.event.kind == "put"


def _reaches_the_number(s: Situation) -> bool:
    before, stored = s.event.before, s.event.stored
    match s.queue.attributes.trigger_type:
        case "FIRST":
            return before == 0
        case "DEPTH":  # one message at a time, that is: TriggerDepth - 1 before it
            return before < s.queue.attributes.trigger_depth <= before + stored
        case _:
            return True


def _initiation_queue_takes(s: Situation) -> bool:
    queue = s.initiation
    if queue is None:
        return False
    attributes = queue.attributes
    return not (attributes.inhibit_get or attributes.inhibit_put) and attributes.usage == "NORMAL"


def _is_one_more(s: Situation) -> bool:
    if not _is_put(s):
        return False
    match s.queue.attributes.trigger_type:
        case "FIRST":
            return s.event.before > 0 and (s.since_ms is None or s.since_ms >= s.interval_ms)
        case "DEPTH":
            return s.event.before >= s.queue.attributes.trigger_depth
        case _:
            return False


def _was_served(s: Situation) -> bool:
    is_last = s.event.kind == "close" and s.event.inputs == 0
    return is_last and s.queue.attributes.trigger_type in ("FIRST", "DEPTH")


def _has_the_number(s: Situation) -> bool:
    attributes = s.queue.attributes
    wanted = attributes.trigger_depth if attributes.trigger_type == "DEPTH" else 1
    return s.queue.trigger_count() >= wanted


def _criteria_changed(s: Situation) -> bool:
    event, attributes = s.event, s.queue.attributes
    if event.kind != "alter" or event.queue is not s.queue:
        return False
    relevant = {"trigger_control", "trigger_type", "trigger_msg_priority"}
    if attributes.trigger_type == "DEPTH":
        relevant.add("trigger_depth")
    return not relevant.isdisjoint(event.was)


def _lifted(event: TriggerEvent, inhibition: str) -> bool:
    return event.kind == "alter" and event.was.get(inhibition) is True


C1 = Condition("1", "a message is put on the queue", _is_put)
C2 = Condition(
    "2",
    "its priority is TriggerMsgPriority or higher",
    lambda s: s.event.priority >= s.queue.attributes.trigger_msg_priority,
)
C3 = Condition(
    "3",
    "messages of such a priority that were on the queue before: FIRST: none; EVERY: any number; "
    "DEPTH: TriggerDepth - 1",
    _reaches_the_number,
)
C4 = Condition(
    "4",
    "FIRST, DEPTH: the queue is not open for input",
    lambda s: s.queue.attributes.trigger_type == "EVERY" or s.queue.opens.input == 0,
)
C5 = Condition(
    "5",
    "the queue names a process that exists, or it is a transmission queue and names none",
    lambda s: s.has_process if s.queue.attributes.process else s.queue.is_transmission,
)
C6 = Condition(
    "6",
    "the initiation queue that the queue names exists: puts and gets are allowed, Usage is "
    "NORMAL, it is not deleted",
    _initiation_queue_takes,
)
C7 = Condition(
    "7",
    "the initiation queue is open for input",
    lambda s: s.initiation is not None and s.initiation.opens.input > 0,
)
C8 = Condition("8", "TriggerControl is ON", lambda s: s.queue.attributes.trigger_control)
C9 = Condition("9", "TriggerType is not NONE", lambda s: s.queue.attributes.trigger_type != "NONE")
C10 = Condition(
    "10",
    "a message is put on the queue; messages of such a priority that were there before: FIRST: 1 "
    "or more, and TriggerInterval has passed since the last trigger message for the queue; DEPTH: "
    "TriggerDepth or more",
    _is_one_more,
)
C11 = Condition(
    "11", "FIRST, DEPTH: the last handle that has the queue open for input is closed", _was_served
)
CN = Condition(
    "n",
    "messages of such a priority on the queue: FIRST, EVERY: 1 or more; DEPTH: TriggerDepth or "
    "more",
    _has_the_number,
)
C12A = Condition(
    "12a",
    "TriggerControl becomes ON; or it is ON, and TriggerType, TriggerMsgPriority or (DEPTH) "
    "TriggerDepth changes",
    _criteria_changed,
)
C12B = Condition(
    "12b",
    "puts to the initiation queue are allowed again",
    lambda s: _lifted(s.event, "inhibit_put") and s.event.queue is s.initiation,
)
C12C = Condition(
    "12c",
    "gets from the initiation queue, or from the queue itself, are allowed again",
    lambda s: _lifted(s.event, "inhibit_get"),
)
C12D = Condition(
    "12d",
    "a program opens the initiation queue for input, and it is not open for input already",
    lambda s: s.event.kind == "open" and s.event.inputs == 1,
)

CONDITIONS = (C1, C2, C3, C4, C5, C6, C7, C8, C9, C10, C11, CN, C12A, C12B, C12C, C12D)
_4_TO_9 = (C4, C5, C6, C7, C8, C9)
_5_TO_9 = (C5, C6, C7, C8, C9)

WAYS = (
    Way("1", (C1, C2, C3, *_4_TO_9)),
    Way("10", (C10, C2, *_4_TO_9)),
    Way("11", (C11, CN, *_5_TO_9)),
    Way("12a", (C12A, CN, *_4_TO_9)),
    Way("12b", (C12B, CN, *_4_TO_9)),
    Way("12c", (C12C, CN, *_4_TO_9)),
    Way("12d", (C12D, CN, *_4_TO_9)),
)
"""Of an event, each queue concerned gets one trigger message at most, by the first that is open."""


def way(situation: Situation) -> Way | None:
    """Return the first way whose conditions all hold, or None: no trigger message."""
    for one in WAYS:
        if all(each.holds(situation) for each in one.conditions):
            return one
    return None
