"""Queues of MSMQ: creating, altering and finding them; which the queue manager makes by itself.

The dead-letter queues and the journal of the computer are made with the first queue, a queue's
journal when journaling begins, a subqueue when it is opened; a subqueue goes when it is empty and
no program has it open, whichever comes last. This module does not know what becomes of a message.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from adapter.core.attributes.msmq import KIND, MSMQ_ATTRIBUTES, MsmqAttributes
from adapter.core.attributes.queue import MESSAGE_LENGTH_MAX
from adapter.core.attributes.table import DESCRIPTION_LENGTH_MAX, without_dates
from adapter.core.contract import format_names
from adapter.core.contract.commands import Request
from adapter.core.contract.msmq import MsmqAlter, MsmqCreate, MsmqInquire
from adapter.core.contract.object_names import SYSTEM
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.records import QueueAltered, QueueDeleted, Record
from adapter.core.contract.results import Descriptions, QueueDescription
from adapter.core.model.made_queues import check_queue_room
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_handles import MsmqReader
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.model.queue import LocalQueue
from adapter.core.model.queue_kinds import made_of
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.msmq import computers
from adapter.core.rules.primitives import naming
from adapter.core.rules.primitives.decision import Decision, connection_of, done

A_QUEUE = "a queue of MSMQ"
PATTERN_LENGTH_MAX = 512
WILDCARDS = frozenset("*?")
DEPENDENT_SHARE = 4
"""A quarter of the queues that there may be are system queues of computers that depend on this
queue manager, at most: they are made from names that clients say of themselves."""
OUTGOING = "outgoing$;"
"""Begins the name of the transmission queue of another computer."""


def parse_name(qm: QueueManager, text: str, computer: str) -> format_names.FormatName:
    """Parse the name of one queue. computer: the caller's; empty: this one."""
    return format_names.parse(text, computer or computers.computer_of(qm))


def here(qm: QueueManager, text: str, computer: str) -> format_names.FormatName:
    """Parse the name of a queue of this queue manager, or refuse."""
    name = parse_name(qm, text, computer)
    if not computers.is_here(qm, name):
        raise computers.not_here(qm, name, text)
    return name


def find(qm: QueueManager, key: str) -> MsmqQueue | None:
    """Return the queue of a key, if there is one."""
    queue = qm.queues.get(key)
    return queue if isinstance(queue, MsmqQueue) else None


def is_leaving(qm: QueueManager, queue: MsmqQueue) -> bool:
    """Whether a deletion of a queue has begun, which may have to wait for pages: some messages are
    gone, and have been reported. So nothing may come between that refuses the rest: the queue is
    neither opened, nor read, nor sent to. Not so when the session that deletes it is gone.
    """
    return queue.deleter in qm.sessions


def check_stays(qm: QueueManager, queue: MsmqQueue) -> None:
    """Refuse to work with a queue that is gone, or is being deleted."""
    if queue.is_deleted or is_leaving(qm, queue):
        raise Refusal(Reason.QUEUE_DELETED, queue.name)


def of_mq(qm: QueueManager, name: format_names.FormatName) -> LocalQueue | None:
    """Return the queue of MQ that a name means, which MSMQ has no queue of; none of the queue
    manager's own.
    """
    if not name.of_mq or name.of_mq.startswith(SYSTEM) or not computers.is_here(qm, name):
        return None
    return None if find(qm, name.queue) is not None else naming.mq_queue(qm, name.of_mq)


def checked_name(qm: QueueManager, name: format_names.FormatName) -> str:
    """Return the name by which a right to a queue is asked; of another computer it is its format
    name.
    """
    if name.of_mq and of_mq(qm, name) is not None:
        return name.of_mq
    return name.base if computers.is_here(qm, name) else name.text


def queue_at(qm: QueueManager, text: str, computer: str) -> MsmqQueue:
    """Return a queue of this queue manager by its name, or refuse."""
    queue = find(qm, here(qm, text, computer).queue)
    if queue is None:
        raise Refusal(Reason.QUEUE_NOT_FOUND, text)
    return queue


def kept_at(qm: QueueManager, text: str, computer: str) -> MsmqQueue:
    """The same, also of a system queue of a computer that depends on this queue manager."""
    name = parse_name(qm, text, computer)
    kept = find(qm, computers.key_of(qm, name)) if computers.is_kept_here(qm, name) else None
    return kept or queue_at(qm, text, computer)


def ensure(plan: Plan, key: str, *, is_owed: bool = False, **attributes: Any) -> MsmqQueue:
    """Return the queue of a key; it is made, if it is missing. is_owed: see MadeQueues.add()."""
    queue = plan.new_queues.queues.get(key) or plan.qm.queues.get(key)
    if isinstance(queue, MsmqQueue):
        return queue
    given = {"path_name": key, **attributes, "kind": KIND}
    given |= {"created_ms": plan.now_ms, "altered_ms": plan.now_ms}
    made = MsmqQueue(key, naming.incarnation_of(plan.qm, key), MsmqAttributes(**given))
    plan.new_queues.add(plan.qm, made, given, is_owed=is_owed)
    return made


def ensure_system(plan: Plan) -> None:
    """Have the queues that every computer has."""
    for queue in format_names.SYSTEM_QUEUES:
        ensure_system_queue(plan, queue)


def ensure_system_queue(plan: Plan, queue: str, computer: str = "") -> MsmqQueue:
    """Return a system queue. computer: one that depends on this queue manager; empty: its own."""
    name = format_names.FormatName(computer or computers.computer_of(plan.qm), queue)
    transactional = queue == format_names.TRANSACTIONAL_DEAD_LETTERS
    key = computers.key_of(plan.qm, name)
    return ensure(plan, key, is_owed=True, transactional=transactional)


def kept_for(plan: Plan, queue: str, computer: str, *, is_ours: bool) -> MsmqQueue | None:
    """Return a system queue of a computer that depends on this queue manager, if there is one; the
    queue manager's own, if there cannot be one more, or the step deletes it.

    is_ours: the computer depended on this queue manager when it sent what is put there; so the
    queue is made again, if it was deleted meanwhile.
    """
    if not computers.depends_on(plan.qm, computer):
        return None
    key = computers.key_of(plan.qm, format_names.FormatName(computer, queue))
    found = plan.new_queues.queues.get(key) or plan.qm.queues.get(key)
    if isinstance(found, MsmqQueue) and key not in plan.deleted:
        return found
    if key in plan.deleted or not has_room_for_dependent(plan):
        return ensure_system_queue(plan, queue)
    return ensure_system_queue(plan, queue, computer) if is_ours else None


def has_room_for_dependent(plan: Plan) -> bool:
    """Whether there may be one more system queue of computers that depend on this queue manager."""
    new = plan.new_queues.queues.values()
    count = sum(isinstance(one, MsmqQueue) and one.is_of_dependent for one in new)
    most = max(1, plan.qm.limits.queues // DEPENDENT_SHARE)
    return plan.qm.msmq_totals.dependent.queues + count < most


def ensure_for_dependent(plan: Plan, queue: str, computer: str) -> MsmqQueue | None:
    """Return a system queue of a computer that depends on this queue manager; it is made, if it is
    missing. None: there cannot be one more.
    """
    key = computers.key_of(plan.qm, format_names.FormatName(computer, queue))
    is_there = key in plan.new_queues.queues or key in plan.qm.queues
    if not is_there and not has_room_for_dependent(plan):
        return None
    return ensure_system_queue(plan, queue, computer)


def ensure_outgoing(plan: Plan, computer: str) -> LocalQueue | None:
    """Return the transmission queue of another computer. It is FIFO: units stay together.

    None: there are as many queues as there may be.
    """
    qm, made = plan.qm, plan.new_queues
    name = computers.queue_of(qm, computer, OUTGOING + "{}")
    queue = made.queues.get(name) or qm.queues.get(name)
    if queue is not None:
        return queue
    if not made.has_room(qm):
        return None
    given: dict[str, Any] = {
        "description": f"for computer {computer}"[:DESCRIPTION_LENGTH_MAX],
        "usage": "XMITQ",
        "msg_delivery_sequence": "FIFO",
        "max_message_length": MESSAGE_LENGTH_MAX,
    }
    queue = made_of(name, naming.incarnation_of(qm, name), given)
    made.add(qm, queue, given)
    return queue


def ensure_journal(
    plan: Plan, base: str, attributes: MsmqAttributes, *, is_owed: bool = False
) -> MsmqQueue:
    """Return the journal of a queue. is_owed: see MadeQueues.add()."""
    path = f"{attributes.path_name};{format_names.JOURNAL}"
    return ensure(plan, f"{base};{format_names.JOURNAL}", is_owed=is_owed, path_name=path)


def ensure_subqueue(plan: Plan, key: str, base: MsmqQueue) -> MsmqQueue:
    """Return a subqueue of a queue."""
    path = f"{base.attributes.path_name};{key.partition(';')[2]}"
    return ensure(plan, key, path_name=path, transactional=base.attributes.transactional)


def check_new_name(key: str, text: str) -> None:
    """Refuse a new queue whose name would be taken for a pattern of other queues' names, by
    programs that look for queues and in authority records.
    """
    if set(key) & WILDCARDS:
        raise Refusal(Reason.ILLEGAL_QUEUE_PATH, text, "* and ? are part of patterns of names")


def decide_create(qm: QueueManager, request: Request, command: MsmqCreate) -> Decision:
    """MQCreateQueue."""
    name = here(qm, command.path, command.computer)
    if name.part:
        text = "subqueues are made when they are opened, journals and system queues are there"
        raise Refusal(Reason.ILLEGAL_QUEUE_PATH, command.path, text)
    if name.queue in qm.queues:
        raise Refusal(Reason.QUEUE_EXISTS, command.path)
    check_new_name(name.queue, command.path)
    naming.check_attributes(MSMQ_ATTRIBUTES, A_QUEUE, command.path, command.attributes)
    plan = Plan(qm, request.now_ms)
    check_queue_room(qm, command.path, len(format_names.SYSTEM_QUEUES) + 2)
    ensure_system(plan)
    path = command.path.rpartition("\\")[2]
    path = f"private$\\{path}" if "\\" in name.queue else path
    given: dict[str, Any] = {"path_name": path} | command.attributes
    creator = connection_of(qm, request).party.principal
    if qm.authorities.are_checked and creator.user and not creator.is_privileged:
        given["owner"] = creator.user
    queue = ensure(plan, name.queue, **given)
    if queue.attributes.journaling:
        ensure_journal(plan, queue.name, queue.attributes)
    return done(qm, request, plan.record())


def decide_alter(qm: QueueManager, request: Request, command: MsmqAlter) -> Decision:
    """MQSetQueueProperties. A lower quota counts for what arrives from now on."""
    queue = queue_at(qm, command.name, command.computer)
    if not queue.is_sent_to:
        text = "properties are set of queues, not of journals, subqueues and system queues"
        raise Refusal(Reason.ATTRIBUTE_ERROR, command.name, text)
    naming.check_attributes(MSMQ_ATTRIBUTES, A_QUEUE, command.name, command.attributes)
    if "transactional" in command.attributes:
        text = "whether a queue is transactional is said when it is created"
        raise Refusal(Reason.ATTRIBUTE_ERROR, command.name, text)
    plan = Plan(qm, request.now_ms)
    if command.attributes.get("journaling"):
        ensure_journal(plan, queue.name, queue.attributes)
    altered = QueueAltered(queue.name, command.attributes | {"altered_ms": request.now_ms})
    return done(qm, request, [*plan.record(), altered])


def decide_inquire(qm: QueueManager, request: Request, command: MsmqInquire) -> Decision:
    """Show queues with their attributes and how many messages they hold."""
    if len(command.name) > PATTERN_LENGTH_MAX:
        text = f"a pattern has at most {PATTERN_LENGTH_MAX} characters"
        raise Refusal(Reason.ILLEGAL_QUEUE_PATH, command.name[:PATTERN_LENGTH_MAX], text)
    if "*" in command.name:
        pattern = command.name.lower().replace("[", "[[]")
        found = [
            queue
            for name, queue in sorted(qm.queues.items())
            if isinstance(queue, MsmqQueue) and not queue.part and fnmatchcase(name, pattern)
        ]
    else:
        name = parse_name(qm, command.name, command.computer)
        queue = find(qm, computers.key_of(qm, name)) if computers.is_kept_here(qm, name) else None
        found = [queue] if queue is not None else []
    return Decision([], Descriptions([_describe(qm, queue) for queue in found]), qm.entry_n)


def _describe(qm: QueueManager, queue: MsmqQueue) -> QueueDescription:
    every = without_dates(queue.attributes)
    shown = {name: every[name] for name in MSMQ_ATTRIBUTES}
    path = queue.attributes.path_name
    is_own = queue.base == format_names.SYSTEM or not queue.is_system_queue
    shown["path_name"] = f"{computers.computer_of(qm)}\\{path}" if is_own else path
    shown["message_count"] = queue.available_count
    created, altered = queue.attributes.created_ms, queue.attributes.altered_ms
    return QueueDescription(queue.name, queue.incarnation, shown, created, altered)


def settle(qm: QueueManager, queue: MsmqQueue) -> list[Record]:
    """Delete a subqueue that is needed no more; record how many bytes are on another queue."""
    if qm.queues.get(queue.name) is not queue:
        return []
    if queue.is_subqueue and not queue.is_needed:
        return [QueueDeleted(queue.name)]
    return [QueueAltered(queue.name, {"kept_bytes": queue.kept_bytes})]


def note_unused(qm: QueueManager) -> None:
    """Look for subqueues that are needed no more: programs that had them open do not come back."""
    for queue in qm.queues.values():
        if isinstance(queue, MsmqQueue) and queue.is_subqueue and not queue.is_needed:
            qm.step.unsettled[queue.name] = queue


def close(handle: MsmqReader) -> list[Record]:
    """Close a handle; a subqueue that is empty goes with its last one."""
    handle.count(-1)
    queue = handle.msmq
    if queue.is_deleted or not queue.is_subqueue or queue.is_needed:
        return []
    return [QueueDeleted(queue.name)]
