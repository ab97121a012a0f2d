"""Opening queues of MSMQ, and cursors. This module does not know what is read or sent by them."""

from __future__ import annotations

from adapter.core.contract import format_names
from adapter.core.contract import msmq as m
from adapter.core.contract.commands import Request
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Done
from adapter.core.model.made_queues import check_queue_room
from adapter.core.model.manager import QueueManager
from adapter.core.model.msmq_handles import MsmqReader, MsmqSender, ReadCursor
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.model.waiters import Waiter
from adapter.core.rules.messages.plan import Plan
from adapter.core.rules.msmq import computers, queues
from adapter.core.rules.network import opening
from adapter.core.rules.primitives import waiting
from adapter.core.rules.primitives.decision import Decision, connection_of

EVERY_ACCESS = m.RECEIVE_ACCESS | m.SEND_ACCESS | m.MOVE_ACCESS | m.PEEK_ACCESS
CURSORS_MAX = 1_000


def decide_open(qm: QueueManager, request: Request, command: m.MsmqOpen) -> Decision:
    """MQOpenQueue. A queue of another computer is opened for sending only."""
    connection = connection_of(qm, request)
    computer = command.computer or computers.computer_of(qm)
    if not format_names.is_computer(computer):
        most = format_names.NAME_LENGTH_MAX
        text = f"the program's computer needs a name of 1 to {most} plain characters"
        raise Refusal(Reason.ILLEGAL_QUEUE_PATH, command.name, text)
    names = format_names.parse_all(command.name, computer)
    _check_access(command, names)
    opening.check_numbers(qm, connection, command.name, command.handle)
    if command.access == m.SEND_ACCESS:
        for name in names:
            _check_target(qm, name)
        sender = MsmqSender(command.handle, command.name, names, computer)
        connection.handles[command.handle] = sender
        return Decision([], Done(), qm.entry_n)
    plan = Plan(qm, request.now_ms)
    queue = _opened_queue(plan, command, names[0])
    _check_sharing(queue, command)
    handle = MsmqReader(
        command.handle,
        queue,
        command.access,
        names[0],
        computer,
        is_remote=not computers.are_same(qm, computer, names[0].computer),
        level=command.level or m.LEVEL_LATEST,
        deny_receive=command.deny_receive,
    )
    handle.count(1)
    connection.handles[command.handle] = handle
    return Decision(plan.record(), Done(), qm.entry_n)


def _check_access(command: m.MsmqOpen, names: list[format_names.FormatName]) -> None:
    if not command.access or command.access & ~EVERY_ACCESS:
        text = f"access {command.access}"
        raise Refusal(Reason.UNSUPPORTED_ACCESS_MODE, command.name, text)
    if command.deny_receive and (len(names) > 1 or command.access == m.SEND_ACCESS):
        text = "only a queue that is read is kept from other receivers"
        raise Refusal(Reason.UNSUPPORTED_ACCESS_MODE, command.name, text)
    if len(names) > 1 and command.access != m.SEND_ACCESS:
        text = "several names are opened for sending only"
        raise Refusal(Reason.UNSUPPORTED_FORMAT_NAME, command.name, text)


def _check_target(qm: QueueManager, name: format_names.FormatName) -> None:
    """Refuse to send to what is not sent to, or is not here."""
    if name.part:
        text = "programs do not send to journals, subqueues and system queues"
        raise Refusal(Reason.UNSUPPORTED_FORMAT_NAME, name.text, text)
    if not computers.is_here(qm, name):
        return
    queue = queues.find(qm, name.queue)
    if queue is not None:
        queues.check_stays(qm, queue)
    elif queues.of_mq(qm, name) is None:
        raise Refusal(Reason.QUEUE_NOT_FOUND, name.text)


def _opened_queue(plan: Plan, command: m.MsmqOpen, name: format_names.FormatName) -> MsmqQueue:
    """Find the queue to be read, or make it: subqueues, journals and system queues."""
    qm = plan.qm
    if name.queue in format_names.SYSTEM_QUEUES:
        return _system_queue(plan, command, name)
    if not computers.is_here(qm, name):
        raise computers.not_here(qm, name, command.name)
    if command.access & m.SEND_ACCESS:
        _check_target(qm, name)
    queue, base = queues.find(qm, name.queue), queues.find(qm, name.base)
    if base is not None:
        queues.check_stays(qm, base)
    if queue is None:
        if base is None or not name.part:
            raise Refusal(Reason.QUEUE_NOT_FOUND, command.name)
        check_queue_room(qm, command.name)
        if name.part == format_names.JOURNAL:
            return queues.ensure_journal(plan, base.name, base.attributes)
        queues.check_new_name(name.part, command.name)
        return queues.ensure_subqueue(plan, name.queue, base)
    return queue


def _system_queue(plan: Plan, command: m.MsmqOpen, name: format_names.FormatName) -> MsmqQueue:
    """Return a system queue of this computer, or of one that depends on this queue manager."""
    qm = plan.qm
    if command.access & m.SEND_ACCESS:
        _check_target(qm, name)
    if computers.is_here(qm, name):
        queues.ensure_system(plan)
        return queues.ensure_system_queue(plan, name.queue)
    is_own = bool(command.computer) and format_names.same_computer(name.computer, command.computer)
    if not computers.is_kept_here(qm, name):
        if not is_own or not computers.depends_on(qm, name.computer):
            raise computers.not_here(qm, name, command.name)
        check_queue_room(qm, command.name)
    queue = queues.ensure_for_dependent(plan, name.queue, name.computer)
    if queue is None:
        text = "computers without a queue manager have as many system queues as there may be"
        raise Refusal(Reason.LIMIT_REACHED, command.name, text)
    return queue


def _check_sharing(queue: MsmqQueue, command: m.MsmqOpen) -> None:
    """Refuse to open a queue for receiving beside a handle that shares it with no other."""
    if command.access & m.RECEIVE_ACCESS and queue.denials:
        text = "it is open with deny_receive"
        raise Refusal(Reason.SHARING_VIOLATION, command.name, text)
    if command.deny_receive and queue.opens.input:
        text = "deny_receive was asked for, and it is open for receiving"
        raise Refusal(Reason.SHARING_VIOLATION, command.name, text)


def reader_of(qm: QueueManager, request: Request, number: int, access: int) -> MsmqReader:
    """Return an open handle of a queue, or refuse. access: any of these is enough."""
    handle = connection_of(qm, request).handles.get(number)
    if handle is None:
        raise Refusal(Reason.HANDLE_NOT_OPEN, detail=f"handle {number} is not open")
    if not isinstance(handle, MsmqReader) or not handle.access & access:
        raise Refusal(Reason.ACCESS_DENIED, handle.name)
    queues.check_stays(qm, handle.msmq)
    return handle


def sender_of(qm: QueueManager, request: Request, number: int) -> MsmqSender | MsmqReader:
    """Return an open handle for sending, or refuse."""
    handle = connection_of(qm, request).handles.get(number)
    if isinstance(handle, MsmqSender):
        return handle
    return reader_of(qm, request, number, m.SEND_ACCESS)


def _waits_with(waiter: Waiter, command: m.MsmqCursor) -> bool:
    waits = waiter.command
    if not isinstance(waits, m.MsmqReceive):
        return False
    return (waits.handle, waits.cursor) == (command.handle, command.cursor)


def decide_cursor(qm: QueueManager, request: Request, command: m.MsmqCursor) -> Decision:
    """MQCreateCursor, MQCloseCursor."""
    handle = reader_of(qm, request, command.handle, m.RECEIVE_ACCESS | m.PEEK_ACCESS)
    known = handle.cursors.get(command.cursor)
    if command.close:
        if known is None:
            raise Refusal(Reason.HANDLE_NOT_OPEN, handle.name, f"cursor {command.cursor}")
        del handle.cursors[command.cursor]
        waiters = connection_of(qm, request).waiters.values()
        cancelled = [one for one in waiters if _waits_with(one, command)]
        replies = [waiting.answer(qm, one, waiting.cancellation(one)) for one in cancelled]
        return Decision([], Done(), replies=replies)
    if known is not None or not 0 < command.cursor <= opening.HANDLE_MAX:
        raise Refusal(Reason.HANDLE_IN_USE, handle.name, f"cursor {command.cursor}")
    if len(handle.cursors) >= CURSORS_MAX:
        text = f"a handle has at most {CURSORS_MAX} cursors"
        raise Refusal(Reason.LIMIT_REACHED, handle.name, text)
    handle.cursors[command.cursor] = ReadCursor(len(handle.queue.lanes))
    return Decision([], Done())
