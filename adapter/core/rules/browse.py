"""Browse: show messages without removing them. It does not know how a browsed one is removed."""

from __future__ import annotations

from adapter.core.commands import BROWSE, Browse, Request
from adapter.core.model.connection import START
from adapter.core.model.manager import QueueManager
from adapter.core.model.message import Stored, delivered, weight
from adapter.core.reasons import Reason, Refusal
from adapter.core.results import Messages
from adapter.core.rules.decision import Decision, handle_of
from adapter.core.rules.get import (
    BYTES_PER_GET_MAX,
    MESSAGES_PER_GET_MAX,
    candidates,
    check_allowed,
    check_match,
    in_memory,
)


def decide_browse(qm: QueueManager, request: Request, command: Browse) -> Decision:
    """MQGET with MQGMO_BROWSE_FIRST or _NEXT: the next messages behind the cursor.

    A message of higher priority that arrived behind the cursor is not seen until a restart. What
    other units have put is not seen before their commit; what they have got is not seen at all.
    """
    handle = handle_of(qm, request, command.handle, BROWSE, Reason.NOT_OPEN_FOR_BROWSE)
    queue = handle.queue
    check_allowed(handle)
    if not 1 <= command.limit <= MESSAGES_PER_GET_MAX:
        raise Refusal(Reason.OPTIONS_ERROR, queue.name, f"limit {command.limit}")
    check_match(command, queue)
    cursor = START if command.restart else handle.cursor
    plain = not (command.message_id or command.correlation_id or command.group_id)
    source = queue.in_order_after(cursor) if plain else candidates(queue, command)
    found: list[Stored] = []
    size = 0
    for stored in in_memory(source, found):
        if stored.place <= cursor or 0 < stored.message.expires_at_ms <= request.now_ms:
            continue
        size += weight(stored.message)
        if found and size > BYTES_PER_GET_MAX:
            break
        found.append(stored)
        if len(found) == command.limit:
            break
    handle.cursor = found[-1].place if found else cursor
    return Decision([], Messages([delivered(stored) for stored in found]), qm.entry_n)
