"""What a ledger record says, in words and as data: for `mqk ledger show`.

Pure: from the bytes of a record and its verdict to something to print. It knows the format of
entries; it must not know where records come from.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from string import Formatter
from typing import Any

import msgspec
from msgspec import Struct

from adapter.cli.output import number
from adapter.core.contract import records as r
from adapter.core.contract.authorities import words_of
from adapter.core.contract.channel_rules import ChannelRuleSet
from adapter.core.contract.unit_records import RecordPart
from adapter.storage.format import entries
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.envelope import OWNER_CHANGED, Envelope, text_of
from adapter.storage.ledger.validity import Verdict

MEANING = {
    Verdict.VALID: "valid",
    Verdict.OWNER_CHANGED: "owner changed",
    Verdict.DUPLICATE: "duplicate: written twice by a producer that retried; does not count",
    Verdict.VOID: "void: another owner had taken over, or an entry is missing; does not count",
    Verdict.PART: "part of a valid entry, or of one that has no end",
    Verdict.FORGED: "forged: it has no genuine seal, and the ledger is sealed; does not count",
    Verdict.CORRUPT: "corrupt: not a record of a ledger; does not count",
}
ID_DIGITS = 12
"""So much of an id is shown to people; --json shows all of it."""


class Shown(Struct, kw_only=True):
    """One record of the ledger, explained. records: as data; lines: the same in words."""

    offset: int
    time: str
    verdict: str
    owner: str | None
    n: int | None
    bytes: int
    records: list[dict[str, Any]]
    lines: list[str]


def explain(
    offset: int,
    time_ms: int,
    size: int,
    verdict: Verdict,
    envelope: Envelope | None,
    payload: bytes | None = None,
) -> Shown:
    """Explain one record. What does not count is explained all the same.

    payload: of the whole entry, if the record is the last of several.
    """
    shown = Shown(
        offset=offset,
        time=time_of(time_ms),
        verdict=verdict.name.lower(),
        owner=None if envelope is None else envelope.owner.hex(),
        n=None if envelope is None else envelope.n,
        bytes=size,
        records=[],
        lines=[],
    )
    if envelope is not None:
        _explain_payload(envelope, payload, shown)
    return shown


def _explain_payload(envelope: Envelope, payload: bytes | None, shown: Shown) -> None:
    if envelope.kind == OWNER_CHANGED:
        who = text_of(envelope.payload)
        shown.records.append({"record": "OwnerChanged", "who": who})
        shown.lines.append(_explain_change(who, envelope.next_key, shown.verdict))
        return
    if envelope.is_probe:
        shown.lines.append("a start asked for the ledger's time, to see whether its owner is alive")
        return
    if envelope.parts > 1:
        shown.lines.append(f"part {envelope.part + 1} of {envelope.parts} of an entry")
        if payload is None:
            return
    try:
        found = entries.decode(envelope.payload if payload is None else payload)
    except UnreadableError as problem:
        shown.records.append({"record": "Unreadable", "reason": str(problem)})
        shown.lines.append(f"unreadable: {problem}")
        return
    if not found:
        shown.lines.append("a heartbeat: nothing happened, the owner is alive")
    for record in found:
        shown.records.append(as_data(record))
        shown.lines.append(in_words(record))


def _explain_change(who: str, next_key: bytes | None, verdict: str) -> str:
    if verdict == Verdict.VOID.name.lower():
        return f"{who} wanted to take over, and another owner had done so before"
    if verdict == Verdict.FORGED.name.lower():
        return f"it says that {who} takes over"
    owned = f"from here on the ledger is owned by {who}"
    if next_key is None:
        return owned
    return f"{owned}, and " + (f"sealed with key {next_key.hex()}" if next_key else "not sealed")


def time_of(time_ms: int) -> str:
    """A time as people write it, UTC; empty if Kafka gave no time."""
    if time_ms < 0:
        return ""
    text = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def as_data(record: r.Record) -> dict[str, Any]:
    """A record as plain data; bodies are left out, their lengths are given."""
    found: dict[str, Any] = {"record": type(record).__name__}
    for name, value in _fields(record).items():
        if name not in ("logged", "taken", "made"):
            found[name] = _plain(value)
    return found


def _fields(record: Any) -> dict[str, Any]:
    return record.by_name() if isinstance(record, RecordPart) else msgspec.structs.asdict(record)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, r.Placed):
        message = value.message
        return {
            "queue": value.queue,
            "lane": value.lane,
            "seq": value.seq,
            "message_id": message.message_id,
            "correlation_id": message.correlation_id,
            "priority": message.priority,
            "body_bytes": len(message.body),
        }
    return _fields(value) if isinstance(value, (RecordPart, Struct)) else value


def short(ident: bytes) -> str:
    """The end of an id, which is the part that differs from the next one's."""
    return ident.hex()[-ID_DIGITS:]


def in_words(record: r.Record) -> str:
    """A record as a sentence."""
    words = _WORDS[type(record)]
    if isinstance(words, str):
        return _SENTENCE.vformat(words, (), _fields(record))
    return words(record)


class _Sentence(Formatter):
    """Formats of fields of records: {session:id}, {time_ms:time}, {count:n message}, ..."""

    def format_field(self, value: Any, format_spec: str) -> str:
        way, _, noun = format_spec.partition(" ")
        if way == "n":
            return number(value if isinstance(value, int) else len(value), noun)
        return _FORMATS[way](value) if way else str(value)


_SENTENCE = _Sentence()


def _lanes(places: list[r.Placed] | list[r.Taken]) -> list[str]:
    """`3 on Q (lane 5: seq 1-2; lane 0: seq 7)` for each queue."""
    by_queue: dict[str, dict[int, list[int]]] = {}
    for place in places:
        by_queue.setdefault(place.queue, {}).setdefault(place.lane, []).append(place.seq)
    texts = []
    for queue, lanes in by_queue.items():
        count = sum(map(len, lanes.values()))
        where = "; ".join(
            f"lane {lane}: seq {ranges(seqs)}" for lane, seqs in sorted(lanes.items(), reverse=True)
        )
        texts.append(f"{count} on {queue} ({where})")
    return texts


def ranges(numbers: list[int]) -> str:
    """`1-3, 7` for 1 2 3 7."""
    runs: list[list[int]] = []
    for one in sorted(numbers):
        if runs and one == runs[-1][-1] + 1:
            runs[-1][1:] = [one]
        else:
            runs.append([one])
    return ", ".join("-".join(map(str, run)) for run in runs)


def _entity(record: r.AuthoritySet | r.AuthorityDeleted) -> str:
    return f"{'group' if record.is_group else 'user'} {record.entity}"


def _offsets(positions: list[int]) -> str:
    """Say up to where partitions were read."""
    pairs = zip(positions[::2], positions[1::2], strict=True)
    return ", ".join(f"partition {n} up to offset {offset}" for n, offset in pairs)


def _outcome(outcome: r.OutcomeOf | None) -> str:
    if outcome is None:
        return ""
    return f" [command {outcome.number} of session {short(outcome.session)}]"


_FORMATS: dict[str, Callable[[Any], str]] = {
    "id": short,
    "time": time_of,
    "total": lambda counts: str(sum(counts)),
    "places": lambda places: "; ".join(_lanes(places)) or "nothing",
    "settings": lambda values: ", ".join(f"{k}={v!r}" for k, v in values.items()) or "no attribute",
    "details": lambda values: "".join(f", {k}={v}" for k, v in values.items()),
    "outcome": _outcome,
}


def _unit_committed(record: r.UnitCommitted) -> str:
    parts = [f"put {text}" for text in _lanes(record.puts)]
    parts += [f"got {text}" for text in _lanes(record.gets)]
    by = "" if record.verb == "commit" else f" (a {record.verb} outside a unit)"
    did = "; ".join(parts) or "nothing"
    return f"unit {short(record.unit)} committed{by}: {did}{_outcome(record.outcome)}"


def _queue_defined(record: r.QueueDefined) -> str:
    again = f" (defined {record.incarnation} times before)" if record.incarnation else ""
    return f"queue {record.name} defined{again}: {_FORMATS['settings'](record.attributes)}"


_WORDS: dict[type, str | Callable[[Any], str]] = {
    r.UnitCommitted: _unit_committed,
    r.BackoutCounted: "backed out, and backout count raised: {gets:places}{outcome:outcome}",
    r.DeliveryCounted: "handed out to a unit, and counted as backed out until it commits: "
    "{gets:places}",
    r.MessagesDiscarded: "{cause}, and gone: {places:places}",
    r.QueueDefined: _queue_defined,
    r.QueueAltered: "queue {name} altered: {attributes:settings}",
    r.QueueDeleted: "queue {name} deleted, with what was on it",
    r.SessionOpened: "session {session:id} opened at {time_ms:time}",
    r.SessionBound: "session {session:id} is that of user {user}",
    r.SessionExpired: "session {session:id} forgotten",
    r.UnitFenced: "unit {unit:id} fenced: it was reported as backed out",
    r.QueuePurged: "queue {name} purged: {count:n message} gone",
    r.NamesRestored: "snapshot: {incarnations:n name} of queues",
    r.QueueRestored: "snapshot: queue {name}, {priorities:total} on it",
    r.ConsumedRestored: "snapshot: consumed messages of {queues:n queue}, noted {time_ms:time}",
    r.LaneRestored: "snapshot: lane {lane} of {queue}",
    r.MessageRestored: "snapshot: message {put.seq} of lane {put.lane} of {put.queue}, which was "
    "on no topic yet",
    r.HeadsRestored: "snapshot: age of what {queue} begins with",
    r.SessionRestored: "snapshot: session {session:id}",
    r.OutcomeRestored: "snapshot: outcome of command {number} of session {session:id}",
    r.OutcomeRecorded: "done, {count:n message} concerned{outcome:outcome}",
    r.EventRaised: "event {kind} of {name} at {time_ms:time}{details:details}",
    r.ObjectDefined: "{kind} {name} defined: {attributes:settings}",
    r.ObjectAltered: "{kind} {name} altered: {attributes:settings}",
    r.ObjectDeleted: "{kind} {name} deleted",
    r.ConsumerSet: "consumer {consumer} of {queue}: batch {consumed} is consumed",
    r.BatchClaimed: lambda record: (
        f"consumer {record.consumer} of {record.queue} was assigned "
        f"{number(sum(span.count for span in record.spans), 'message')}"
    ),
    r.BatchDelivered: "batch {batch} of consumer {consumer} of {queue} handed out",
    r.BatchesConsumed: "batches of consumer {consumer} of {queue} consumed up to {through}: "
    "{count:n message}",
    r.BatchReturned: "batch {batch} of consumer {consumer} of {queue} went back: "
    "{count:n message}, counts raised by {raised}",
    r.ConsumerDeleted: "consumer {consumer} of {queue} deleted",
    r.DelayedExpired: "{places:n message} for {queue} expired before delivery",
    r.DelaysRestored: lambda record: (
        f"snapshot: delivery times of {number(len(record.entries) // 4, 'delayed message')} for "
        f"{record.queue}"
    ),
    r.UnitArrived: lambda record: (
        f"{number(len(record.arrived) // 3, 'message')} arrived by {record.topic}; it is read from "
        f"offset {record.offset} next"
    ),
    r.ArrivalsRestored: "snapshot: what arrived of queue {queue}, incarnation {incarnation}, of "
    "{queue_manager}",
    r.ConversationSet: lambda record: (
        f"endpoint {short(record.handle)} of service {record.service}: it has sent "
        f"{number(record.sent, 'message')}{', and has been ended' if record.is_ended else ''}"
    ),
    r.ConversationGone: "endpoint {handle:id} forgotten",
    r.RowsRestored: "snapshot: {rows:n message} of endpoint {handle:id}",
    r.ReceiveNoted: lambda record: (
        f"unit {short(record.unit)} has "
        f"{'ended, which received' if record.has_ended else 'received'} from {record.queue}"
    ),
    r.FeedMoved: lambda record: f"feed {record.feed} has read {_offsets(record.positions)}",
    r.FeedSet: lambda record: (
        f"feed {record.feed} has read {_offsets(record.positions) or 'nothing'}"
        f"{', and begins at ' + record.begin if record.begin else ''}"
    ),
    r.AuthoritySet: lambda record: (
        f"{_entity(record)} has {' '.join(words_of(record.bits)) or 'no authority'} on "
        f"{record.object_type} {record.profile}"
    ),
    r.AuthorityDeleted: lambda record: (
        f"authority record of {_entity(record)} on {record.object_type} {record.profile} deleted"
    ),
    ChannelRuleSet: lambda record: (
        f"channel authentication record {record.rule.profile} {record.rule.kind} "
        f"{'deleted' if record.is_gone else 'set'}"
    ),
    r.PositionsRestored: lambda record: (
        f"snapshot: from where {len(record.positions)} topics of arrivals are read next"
    ),
}
