"""Names of objects: which are valid, which are taken, which a pattern means; and their attributes.

It does not know what becomes of an object.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any, Final

from adapter.core.attributes.objects import WITH_QUEUE_NAMES
from adapter.core.attributes.table import NAME_LENGTH_MAX, Table, problem_with
from adapter.core.contract.object_names import GENERATED, NAME, SYSTEM
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.model.queue import LocalQueue
from adapter.core.model.queue_kinds import why_not_of_mq

PATTERN_LENGTH_MAX: Final = 2 * NAME_LENGTH_MAX
"""Room for [...] and for stars; a pattern of a megabyte would take minutes to understand."""


def on_it(count: int) -> str:
    """Say how many messages are on a queue."""
    return "1 message is on it" if count == 1 else f"{count} messages are on it"


def check_name(name: str, detail: str = "") -> None:
    """Refuse an invalid name (MQRC_OBJECT_NAME_ERROR). detail: what it is, if not a queue's."""
    if len(name) > NAME_LENGTH_MAX or not NAME.fullmatch(name):
        raise Refusal(Reason.NAME_ERROR, name, detail)  # characters: the remedy of that reason


def check_object_room(qm: QueueManager, name: str) -> None:
    """Refuse one object too many that is no local queue: see Limits.objects."""
    if len(qm.objects) >= qm.limits.objects:
        raise Refusal(Reason.LIMIT_REACHED, name, f"{qm.limits.objects} objects at most")


def incarnation_of(qm: QueueManager, name: str, *, is_generated: bool = False) -> int:
    """Say which incarnation a new queue of a name is.

    The first one of a name that may have been generated is left to the queue that it was generated
    for: so no caller has to remember whether there was one.
    """
    first = 1 if GENERATED.fullmatch(name) and not is_generated else 0
    return qm.numbers.incarnations.get(name, first)


def forget(qm: QueueManager, names: Iterable[str]) -> None:
    """Forget the generated names among these, of queues that are gone: none is generated again."""
    for name in names:
        once = qm.numbers.incarnations.get(name) == 1 and name not in qm.queues
        if once and GENERATED.fullmatch(name):
            del qm.numbers.incarnations[name]


def kind_of(qm: QueueManager, name: str) -> str | None:
    """Say which kind of object a program opens by a queue's name; None if the name is free."""
    if name in qm.queues:
        return "queue"
    return next((kind for kind in WITH_QUEUE_NAMES if (kind, name) in qm.objects), None)


def why_kept(qm: QueueManager, name: str) -> str:
    """Say why only DEFINE QLOCAL may make an object of a queue's name: DEADQ names it, and who
    makes the queue has all rights on it, or ends it. "" if any object may have the name.
    """
    if not name or name != qm.attributes.dead_letter_queue:
        return ""
    return "DEADQ names it, which is to be a local queue: define one, or alter DEADQ"


def check_attributes(table: Table, what: str, name: str, attributes: dict[str, Any]) -> None:
    """Refuse attributes that an object cannot take. what: for the sentence, "a queue"."""
    for attribute, value in attributes.items():
        problem = problem_with(table, what, attribute, value)
        if problem:
            raise Refusal(Reason.ATTRIBUTE_ERROR, name, problem)


def mq_queue(qm: QueueManager, name: str) -> LocalQueue | None:
    """Return the local queue of a name, if it is one that programs of MQ and the SDK put to."""
    queue = qm.queues.get(name)
    return None if queue is None or why_not_of_mq(queue) else queue


def fitting_queues(qm: QueueManager, pattern: str, system: bool) -> list[LocalQueue]:
    """Return the local queues that a pattern means, in order; those of MSMQ are not shown."""
    names = [pattern] if pattern in qm.queues else fitting(qm.queues, pattern, system)
    found = (qm.queues.get(name) for name in names)
    return [one for one in found if one is not None and not isinstance(one, MsmqQueue)]


def fitting(names: Iterable[str], pattern: str, system: bool) -> list[str]:
    """Return the names that a pattern means, in order.

    system: also SYSTEM.*, which a pattern that begins with a wildcard does not mean otherwise.
    """
    if len(pattern) > PATTERN_LENGTH_MAX:
        text = f"a pattern has at most {PATTERN_LENGTH_MAX} characters"
        raise Refusal(Reason.NAME_ERROR, pattern, text)
    shows_system = system or pattern.startswith("S")
    return sorted(
        name
        for name in names
        if fnmatchcase(name, pattern) and (shows_system or not name.startswith(SYSTEM))
    )
