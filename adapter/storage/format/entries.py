"""Entries: the records of one append, as the ledger's payload.

UnitCommitted is the hot record; it and those of conversations are written by hand, the others as
their schema says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import msgspec
from msgspec import Struct

from adapter.core.contract import records as r
from adapter.core.contract.channel_rules import ChannelRule, ChannelRuleSet
from adapter.core.contract.spans import Count, Span
from adapter.core.contract.unit_records import OutcomeOf, Placed, Taken, UnitCommitted
from adapter.core.contract.weights import weight as message_weight
from adapter.storage.format import avro, conversations, descriptor
from adapter.storage.format.schemas import VERSION, Codec

ENTRY_BYTES_MAX: Final = 15 * 512 * 1024
"""7.5 MiB: what an entry may grow to, below the 8 MiB that the ledger's topic takes."""

NESTED: Final = (r.QueueNoted, r.PositionNoted, Span, Count)
"""Records within records."""

_codec = Codec("entry")
_VERSION: Final = bytes((VERSION,))
_BEFORE_ONE: Final = 2
"""Bytes of an entry of one record before it: the version and the length of the block."""
_UNIT_NAME: Final = "mqk.UnitCommitted"
_UNIT_COMMITTED: Final = avro.long(0)  # its index in the schema's union of records
_VERBS: Final = {"commit": avro.long(0), "put": avro.long(1), "get": avro.long(2)}
"""As in the schema."""
_EMPTY_TEXT: Final = avro.text("")
_NULL: Final = avro.long(0)
_OUTCOME: Final = avro.long(1)
"""The union of a unit's outcome."""


def encode(records: Iterable[r.Record]) -> bytes:
    """Return the payload of an entry; records that are not logged have no place in it."""
    written = list(records)
    parts = [_VERSION]
    if written:
        parts.append(avro.long(len(written)))
    for record in written:
        if type(record) is UnitCommitted:
            _encode_unit(record, parts)
            continue
        encoder = conversations.ENCODERS.get(type(record))
        if encoder is None:
            parts.append(encode_by_schema([record])[_BEFORE_ONE:-1])
        else:
            encoder(record, parts)
    parts.append(avro.END)
    return b"".join(parts)


def encode_by_schema(records: Iterable[r.Record]) -> bytes:
    """Return the payload of an entry, written as its schema says: the measure of encode."""
    return _codec.encode({"records": [_written(record) for record in records]})


def _encode_unit(record: UnitCommitted, parts: list[bytes]) -> None:
    unit = record.unit
    parts += (_UNIT_COMMITTED, unit, avro.long(record.size))
    if record.puts:
        parts.append(avro.long(len(record.puts)))
        descriptors = descriptor.DescriptorWriter(unit, record.size)
        time_ms, time_bytes = 0, avro.long(0)
        name, name_bytes = "", _EMPTY_TEXT
        for placed in record.puts:
            queue, message = placed.queue, placed.message
            header = descriptors.write(placed)
            put_time_ms, body = message.put_time_ms, message.body
            if put_time_ms != time_ms:  # mostly that of the put before, as is the queue
                time_ms, time_bytes = put_time_ms, avro.long(put_time_ms)
            if queue != name:
                name, name_bytes = queue, avro.text(queue)
            parts.append(name_bytes)
            parts.append(avro.long(placed.lane))
            parts.append(time_bytes)
            parts.append(avro.long(len(header)))
            parts.append(header)
            parts.append(avro.long(len(body)))
            parts.append(body)
    parts.append(avro.END)
    if record.gets:
        parts.append(avro.long(len(record.gets)))
        name, name_bytes = "", _EMPTY_TEXT
        for taken in record.gets:
            if taken.queue != name:
                name, name_bytes = taken.queue, avro.text(taken.queue)
            parts.append(name_bytes)
            parts.append(avro.long(taken.lane))
            parts.append(avro.long(taken.seq))
            parts.append(avro.long(taken.priority))
    parts += (avro.END, _VERBS[record.verb])
    _encode_outcome(record.outcome, parts)


def _encode_outcome(outcome: OutcomeOf | None, parts: list[bytes]) -> None:
    if outcome is None:
        parts.append(_NULL)
        return
    parts.append(_OUTCOME)
    parts.append(outcome.session)
    parts.append(avro.long(outcome.number))
    seen = outcome.seen
    if seen:
        parts.append(avro.long(len(seen)))
        parts += [avro.long(number) for number in seen]
    parts.append(avro.END)


def weight(record: r.Record) -> int:
    """Bound from above the bytes a record takes in an entry."""
    if type(record) is UnitCommitted:
        size = 256 + 96 * len(record.gets) + _seen_weight(record.outcome)
        for placed in record.puts:
            size += 256 + message_weight(placed.message)
        return size
    known = conversations.WEIGHTS.get(type(record))
    if known is not None:
        return known(record)
    if isinstance(record, r.BackoutCounted):
        return 256 + 96 * len(record.gets) + _seen_weight(record.outcome)
    if isinstance(record, r.DeliveryCounted):
        return 256 + 96 * len(record.gets)
    if isinstance(record, (r.MessagesDiscarded, r.QueuePurged, r.DelayedExpired)):
        return 256 + 96 * len(record.places)
    if isinstance(record, r.BatchClaimed):
        return 1024 + 64 * len(record.spans) + 32 * len(record.counts)
    return _restored_weight(record)


def _restored_weight(record: r.Record) -> int:
    """The same, for those of a snapshot."""
    if isinstance(record, r.LaneRestored):
        return 256 + 10 * (len(record.spans) + len(record.counts) + len(record.ends))
    if isinstance(record, r.MessageRestored):
        return 256 + message_weight(record.put.message)
    if isinstance(record, r.DelaysRestored):
        return 256 + 10 * len(record.entries)
    if isinstance(record, r.HeadsRestored):
        return 256 + 10 * len(record.heads)
    if isinstance(record, r.OutcomeRestored):
        return 512 + sum(256 + message_weight(placed.message) for placed in record.gets)
    if isinstance(record, r.SessionRestored):
        return 256 + 10 * (len(record.committed) + len(record.fenced))
    if isinstance(record, r.NamesRestored):
        return 256 + sum(16 + 4 * len(name) for name in record.incarnations)
    if isinstance(record, r.ConsumedRestored):
        return 256 + sum(32 + 4 * len(one.name) + 10 * len(one.seqs) for one in record.queues)
    if isinstance(record, (r.ObjectDefined, r.ObjectAltered)):
        texts = [value for value in record.attributes.values() if isinstance(value, str)]
        return 16 * 1024 + 4 * (len(record.name) + sum(map(len, texts)))
    if isinstance(record, ChannelRuleSet):
        rule = record.rule
        listed = (*rule.key, *rule.users, *rule.addresses, rule.mca_user, rule.description)
        return 1024 + sum(16 + 4 * len(one) for one in listed)
    if isinstance(record, r.ObjectDeleted):
        return 256 + 4 * len(record.name)
    return _arrivals_weight(record)


def _arrivals_weight(record: r.Record) -> int:
    """The same, for those of arrivals; and for all that are short."""
    if isinstance(record, r.UnitArrived):
        return 2048 + 10 * (len(record.arrived) + len(record.lowest))
    if isinstance(record, r.ArrivalsRestored):
        return 1024 + 10 * (len(record.lanes) + len(record.seqs) + len(record.others))
    if isinstance(record, r.PositionsRestored):
        return 256 + 1280 * len(record.positions)
    if isinstance(record, (r.FeedMoved, r.FeedSet)):
        return 1024 + 10 * len(record.positions)
    return 16 * 1024


def _seen_weight(outcome: OutcomeOf | None) -> int:
    return 10 * len(outcome.seen) if outcome else 0


def _written(record: r.Record) -> tuple[str, dict[str, Any]]:
    if isinstance(record, UnitCommitted):
        value = {
            "unit": record.unit,
            "size": record.size,
            "puts": [_put_value(placed, record.unit, record.size) for placed in record.puts],
            "gets": [_taken_value(taken) for taken in record.gets],
            "verb": record.verb,
            "outcome": _outcome_value(record.outcome),
        }
    else:
        value = _plain_value(record)
    if isinstance(record, r.OutcomeRestored):
        puts = (_put_value(placed, record.unit, record.unit_size) for placed in record.gets)
        value["gets"] = list(puts)
    elif isinstance(record, r.MessageRestored):
        value["put"] = _put_value(record.put, record.unit, record.unit_size)
    return f"mqk.{type(record).__name__}", value


def _put_value(placed: Placed, unit: bytes, unit_size: int) -> dict[str, Any]:
    return {
        "queue": placed.queue,
        "lane": placed.lane,
        "put_time_ms": placed.message.put_time_ms,
        "descriptor": descriptor.encode(placed, unit, unit_size),
        "body": placed.message.body,
    }


def _taken_value(taken: Taken) -> dict[str, Any]:
    return {"queue": taken.queue, "lane": taken.lane, "seq": taken.seq, "priority": taken.priority}


def _outcome_value(outcome: OutcomeOf | None) -> dict[str, Any] | None:
    if outcome is None:
        return None
    return {"session": outcome.session, "number": outcome.number, "seen": outcome.seen}


def _plain_value(record: Any) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for name, one in msgspec.structs.asdict(record).items():
        if name != "logged":
            value[name] = _field_value(one)
    return value


def _field_value(value: Any) -> Any:
    if isinstance(value, OutcomeOf):
        return _outcome_value(value)
    if isinstance(value, ChannelRule):
        return msgspec.structs.asdict(value)
    if isinstance(value, list) and value and isinstance(value[0], Taken):
        return [_taken_value(taken) for taken in value]
    if isinstance(value, list) and value and isinstance(value[0], NESTED):
        return [msgspec.structs.asdict(one) for one in value]
    return value


def decode(payload: bytes, reader: descriptor.DescriptorReader | None = None) -> list[r.Record]:
    """Read an entry's records; schemas.UnreadableError if it is damaged.

    reader: give the same one for every entry of a ledger; it reads what recurs only once.
    """
    reader = reader or descriptor.DescriptorReader()
    return [
        _read_unit(value, reader) if name == _UNIT_NAME else read_record(name, value)
        for name, value in raw_records(payload)
    ]


def _read_unit(value: dict[str, Any], reader: descriptor.DescriptorReader) -> UnitCommitted:
    return UnitCommitted(
        value["unit"],
        value["size"],
        [_read_put(put, reader) for put in value["puts"]],
        _read_takens(value["gets"]),
        value["verb"],
        _read_outcome(value["outcome"]),
    )


def _read_put(value: dict[str, Any], reader: descriptor.DescriptorReader) -> Placed:
    message, at = reader.read(value["descriptor"], value["body"])
    return Placed(
        value["queue"],
        value["lane"],
        at.seq,
        0,
        at.unit_index,
        at.queue_unit_index,
        at.queue_unit_size,
        message,
    )


def _read_takens(values: list[dict[str, Any]]) -> list[Taken]:
    return [
        Taken(value["queue"], value["lane"], value["seq"], 0, value["priority"]) for value in values
    ]


def _read_outcome(value: Any) -> OutcomeOf | None:
    if isinstance(value, tuple):
        value = value[1]
    return None if value is None else OutcomeOf(**value)


def _reader(kind: type[Struct]) -> Callable[[dict[str, Any]], Any]:
    def read(value: dict[str, Any]) -> Any:
        for name in ("gets", "places"):
            if name in value:
                value[name] = _read_takens(value[name])
        if "outcome" in value:
            value["outcome"] = _read_outcome(value["outcome"])
        return kind(**value)

    return read


def _read_outcome_restored(value: dict[str, Any]) -> r.OutcomeRestored:
    reader = descriptor.DescriptorReader()
    value["gets"] = [_read_put(put, reader) for put in value["gets"]]
    return r.OutcomeRestored(**value)


def _read_message_restored(value: dict[str, Any]) -> r.MessageRestored:
    value["put"] = _read_put(value["put"], descriptor.DescriptorReader())
    return r.MessageRestored(**value)


def _read_batch_claimed(value: dict[str, Any]) -> r.BatchClaimed:
    value["spans"] = [Span(**one) for one in value["spans"]]
    value["counts"] = [Count(**one) for one in value["counts"]]
    return r.BatchClaimed(**value)


_READ: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    kind.__name__: _reader(kind)
    for kind in (
        r.BackoutCounted,
        r.DeliveryCounted,
        r.MessagesDiscarded,
        r.QueueDefined,
        r.QueueAltered,
        r.QueueDeleted,
        r.SessionOpened,
        r.SessionBound,
        r.SessionExpired,
        r.UnitFenced,
        r.QueuePurged,
        r.QueueRestored,
        r.LaneRestored,
        r.NamesRestored,
        r.SessionRestored,
        r.OutcomeRecorded,
        r.ConversationSet,
        r.ConversationGone,
        r.RowsRestored,
        r.ReceiveNoted,
        r.EventRaised,
        r.HeadsRestored,
        r.ObjectDefined,
        r.ObjectAltered,
        r.ObjectDeleted,
        r.ConsumerSet,
        r.BatchDelivered,
        r.BatchesConsumed,
        r.BatchReturned,
        r.ConsumerDeleted,
        r.DelayedExpired,
        r.DelaysRestored,
        r.UnitArrived,
        r.ArrivalsRestored,
        r.FeedMoved,
        r.FeedSet,
        r.AuthoritySet,
        r.AuthorityDeleted,
    )
} | {
    "OutcomeRestored": _read_outcome_restored,
    "MessageRestored": _read_message_restored,
    "ConsumedRestored": lambda value: r.ConsumedRestored(
        value["time_ms"], [r.QueueNoted(**one) for one in value["queues"]]
    ),
    "BatchClaimed": _read_batch_claimed,
    "ChannelRuleSet": lambda value: ChannelRuleSet(ChannelRule(**value["rule"]), value["is_gone"]),
    "PositionsRestored": lambda value: r.PositionsRestored(
        [r.PositionNoted(**one) for one in value["positions"]]
    ),
}


def raw_records(payload: bytes) -> list[tuple[str, dict[str, Any]]]:
    """Read an entry as its schema has it: the full name of each record, and its fields."""
    records: list[tuple[str, dict[str, Any]]] = _codec.decode(payload)["records"]
    return records


def read_record(name: str, value: dict[str, Any]) -> Any:
    """Make core's record of one that raw_records gave."""
    return _READ[name.removeprefix("mqk.")](value)
