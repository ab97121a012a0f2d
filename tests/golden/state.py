"""What a queue manager knows, as plain data: to compare it with what it knew in another release."""

from typing import Any

import msgspec
from msgspec.structs import astuple

from adapter.core.contract.results import PutDone
from adapter.core.contract.stored import Stored
from adapter.core.model.claims import Batch, DurableConsumer
from adapter.core.model.manager import QueueManager
from adapter.core.model.queue import LocalQueue
from adapter.core.model.session import Session

LATER: dict[str, Any] = {
    "details": None,
    "transmission": None,
    "msmq": None,
    "broker": None,
    "warning": 0,
    "now_ms": 0,
    "delay_ms": 0,
    "deliver_at_ms": 0,
    "destination": "",
}


def state(qm: QueueManager) -> dict[str, Any]:
    """All hard state. Bytes: in hexadecimal, bodies as text."""
    found = {
        "queues": {name: _queue(qm, queue) for name, queue in sorted(qm.queues.items())},
        "objects": [[*key, _set(attributes)] for key, attributes in sorted(qm.objects.items())],
        "queue_manager": _set(qm.attributes),
        "sessions": {one.ident.hex(): _session(one) for one in qm.sessions.values()},
    }
    if qm.feeds.by_name:  # the first ledgers have none
        found["feeds"] = {
            name: {"begin": one.begin, "topic_id": one.topic_id, "offsets": one.offsets}
            for name, one in sorted(qm.feeds.by_name.items())
        }
    if len(qm.channel_rules):
        found["channel_rules"] = sorted(map(list, map(astuple, qm.channel_rules.every())))
    if qm.authorities.count:
        found["authorities"] = sorted(map(list, map(astuple, qm.authorities.every())))
    return found


def _set(attributes: msgspec.Struct) -> dict[str, Any]:
    """Return what differs from the defaults: later releases have more attributes."""
    usual = type(attributes)()
    given = msgspec.structs.asdict(attributes)
    return {name: value for name, value in given.items() if value != getattr(usual, name)}


def _queue(qm: QueueManager, queue: LocalQueue) -> dict[str, Any]:
    return {
        "incarnation": queue.incarnation,
        "attributes": _set(queue.attributes),
        "depth": queue.depth,
        "next_seqs": [lane.next_seq for lane in queue.lanes],
        "messages": [_message(stored) for stored in queue.in_memory()],
        "not_in_memory": [
            [lane.number, lane.paged.spans(), sorted(lane.counts.items())]
            for lane in queue.lanes
            if lane.paged
        ],
        **({"delayed": _delayed(qm, queue)} if queue.delayed else {}),
        "consumers": {name: _consumer(one) for name, one in queue.consumers.items()},
    }


def _delayed(qm: QueueManager, queue: LocalQueue) -> list[Any]:
    """When the messages that wait are due, and where they do."""
    assert queue.delays is not None
    waits = [one for one in queue.delays.entries() if qm.is_delayed(one[1])]
    return [queue.delayed, sorted([due_ms, *place] for due_ms, place, _ in waits)]


def _consumer(consumer: DurableConsumer) -> dict[str, Any]:
    return {
        "claim": consumer.claim.hex(),
        "consumed": consumer.consumed,
        "size_max": consumer.size_max,
        "batches": {str(number): _batch(one) for number, one in consumer.batches.items()},
    }


def _batch(batch: Batch) -> dict[str, Any]:
    hard = (batch.spans, batch.counts, batch.deliveries)
    return dict(zip(("spans", "counts", "deliveries"), map(msgspec.to_builtins, hard), strict=True))


def _message(stored: Stored) -> dict[str, Any]:
    fields = _known_then(msgspec.structs.asdict(stored.message))
    return {
        "place": list(stored.place),
        "unit": stored.unit.hex(),
        "unit_index": stored.unit_index,
        "unit_size": stored.unit_size,
        "queue_unit_index": stored.queue_unit_index,
        "queue_unit_size": stored.queue_unit_size,
        "backout_count": stored.backout_count,
        **{name: _plain(value) for name, value in fields.items()},
        "body": stored.message.body.decode(),
    }


def _known_then(fields: dict[str, Any]) -> dict[str, Any]:
    """Leave out what later releases added and nobody had said anything in."""
    return {name: value for name, value in fields.items() if LATER.get(name, ...) != value}


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, msgspec.Struct):
        return _plain(_known_then(msgspec.structs.asdict(value)))
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value


def _session(session: Session) -> dict[str, Any]:
    return {
        "issued": session.issued,
        "outcomes": {str(number): _outcome(one) for number, one in session.outcomes.items()},
        "committed": [number for number in range(100) if session.is_committed(number)],
        "fenced": [number for number in range(100) if number in session.fenced],
        **({"user": session.user} if session.user else {}),
    }


def _outcome(result: Any) -> dict[str, Any]:
    fields = _known_then(msgspec.structs.asdict(result))
    if isinstance(result, PutDone):
        fields = {name: fields[name] for name in ("message_ids", "put_time_ms")}
    return {"is": type(result).__name__, **_plain(fields)}
