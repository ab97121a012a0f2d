"""Definitions of exports: what may be said in one; and how far exports have come.

An export needs no other rule: its messages wait on an ordinary queue, and a client of the queue
manager gets them from there (adapter.runtime.exports). How far it has come is therefore seen on the
queue: whatever is not there any more was written, or removed.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from msgspec import structs

from adapter.core.attributes.export import ExportAttributes
from adapter.core.contract.arrivals import Lowest
from adapter.core.contract.commands import AskExports, Request
from adapter.core.contract.object_names import SYSTEM
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.results import Exported, ExportPlaces
from adapter.core.model.manager import QueueManager
from adapter.core.rules.network import exports, routes
from adapter.core.rules.primitives.decision import Decision


def check_new(qm: QueueManager, name: str, attributes: dict[str, Any]) -> None:
    """Refuse what cannot be an export, and one too many."""
    exports.check_room(qm, name)
    _check(qm, name, ExportAttributes(**attributes))


def check_alteration(qm: QueueManager, name: str, attributes: dict[str, Any]) -> None:
    """Refuse what would make of an export what cannot be one."""
    _check(qm, name, structs.replace(qm.exports[name], **attributes))


def _check(qm: QueueManager, name: str, export: ExportAttributes) -> None:
    problem = _problem(qm, name, export)
    if problem:
        raise Refusal(Reason.ATTRIBUTE_ERROR, name, problem)


def _problem(qm: QueueManager, name: str, export: ExportAttributes) -> str:
    problem = exports.name_problem(qm, export.topic, exports.ELSEWHERE)
    if problem:
        return problem
    if not routes.is_name(export.queue):
        return f"queue {export.queue!r} is not a valid name of a queue"
    if export.queue.startswith(SYSTEM) and not export.queue.startswith(exports.PREFIX):
        return f"queue {export.queue} is one of the queue manager; export another queue"
    for other, known in qm.exports.items():
        if other != name and known.queue == export.queue:
            return f"export {other} gets the messages of queue {known.queue}; use another queue"
    problem = exports.list_problem("headers", export.headers, "names")
    return problem or exports.feeding_problem(qm, export.topic)


def decide_ask(qm: QueueManager, request: Request, command: AskExports) -> Decision:
    """Show the exports of a topic; once all that happened before is durable."""
    found = [
        _places(qm, name, export)
        for name, export in sorted(qm.exports.items(), key=itemgetter(0))
        if export.topic == command.topic
    ]
    return Decision([], Exported(found), qm.entry_n)


def _places(qm: QueueManager, name: str, export: ExportAttributes) -> ExportPlaces:
    is_paused = export.state == "PAUSED"
    queue = qm.queues.get(export.queue)
    if queue is None:
        return ExportPlaces(name, export.queue, 0, is_paused, [], [])
    has_soft = any(queue.soft_by_priority) or (
        queue.locked_count > 0 and any(one.locked and one.place[2] for one in queue.stored.values())
    )
    ends = [Lowest(one.number, one.next_seq, one.next_n * has_soft) for one in queue.lanes]
    return ExportPlaces(name, queue.name, queue.incarnation, is_paused, queue.lowest(), ends)
