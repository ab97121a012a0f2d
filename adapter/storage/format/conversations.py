"""Records of conversations of Service Broker as an entry has them, written field by field.

A queue manager with many conversations writes one of these for each endpoint in every snapshot, and
some in every commit of a dialog; fastavro needs ten times as long. A property test proves every
value byte-equal to fastavro's. This module does not know what a conversation is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adapter.core.contract import records as r
from adapter.storage.format import avro

_SET, _GONE, _ROWS, _NOTED = (avro.long(index) for index in range(35, 39))
"""Their indexes in the schema's union of records."""


def _encode_set(record: r.ConversationSet, parts: list[bytes]) -> None:
    text, long = avro.text, avro.long
    parts += (
        _SET,
        record.handle,
        record.conversation,
        record.group,
        text(record.queue),
        text(record.service),
        text(record.far_service),
        text(record.far_queue_manager),
        text(record.contract),
        avro.TRUE if record.is_initiator else avro.FALSE,
        long(record.priority),
        long(record.lifetime_ms),
        long(record.timer_ms),
        long(record.sent),
        avro.TRUE if record.is_ended else avro.FALSE,
        long(record.far),
    )


def _encode_gone(record: r.ConversationGone, parts: list[bytes]) -> None:
    parts += (_GONE, record.handle)


def _encode_rows(record: r.RowsRestored, parts: list[bytes]) -> None:
    parts += (_ROWS, record.handle)
    for numbers in (record.rows, record.retained):
        if numbers:
            parts.append(avro.long(len(numbers)))
            parts += map(avro.long, numbers)
        parts.append(avro.END)


def _encode_noted(record: r.ReceiveNoted, parts: list[bytes]) -> None:
    ended = avro.TRUE if record.has_ended else avro.FALSE
    parts += (_NOTED, avro.text(record.queue), record.unit, ended)


ENCODERS: dict[type, Callable[[Any, list[bytes]], None]] = {
    r.ConversationSet: _encode_set,
    r.ConversationGone: _encode_gone,
    r.RowsRestored: _encode_rows,
    r.ReceiveNoted: _encode_noted,
}
"""By kind of record: appends the record's index in the union and its fields to the parts."""


def _weigh_set(record: r.ConversationSet) -> int:
    names = len(record.service) + len(record.far_service) + len(record.contract)
    return 256 + 4 * (names + len(record.queue) + len(record.far_queue_manager))


WEIGHTS: dict[type, Callable[[Any], int]] = {
    r.ConversationSet: _weigh_set,
    r.ConversationGone: lambda record: 16 + len(record.handle),
    r.RowsRestored: lambda record: 64 + 10 * (len(record.rows) + len(record.retained)),
    r.ReceiveNoted: lambda record: 64 + 4 * len(record.queue),
}
"""By kind of record: bounds from above the bytes that it takes in an entry."""
