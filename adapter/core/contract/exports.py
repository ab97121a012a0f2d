"""How a program says what record of a topic of Kafka its message becomes, and sees that it was.

Properties say it, by name; adapter.storage.format.exports makes the record. This module does not
know who writes it.
"""

from __future__ import annotations

import msgspec

from adapter.core.contract.results import ExportPlaces

KEY = "KafkaKey"
"""A property: the key of the record, bytes or text."""
TO_PARTITION, TO_TIMESTAMP = "KafkaToPartition", "KafkaToTimestamp"
"""Properties by which a program says where a record goes: its partition, and its time in
milliseconds since 1970."""
TOMBSTONE = "KafkaTombstone"
"""A property: true for a record without a value."""
EXACT_HEADERS = "KafkaHeaders"
"""A property: all headers as they are to be, in place of those of properties."""
PARTITION_MAX = 2**31 - 1
TIME_MAX_MS = 2**63 - 1

RecordHeaders = list[tuple[str, bytes | None]]


def encode_headers(headers: RecordHeaders) -> bytes:
    """Return the value of the property that says all headers: a MessagePack array of pairs."""
    return msgspec.msgpack.encode(headers)


def has_written(then: ExportPlaces, now: ExportPlaces | None) -> bool:
    """Whether an export has written all that its queue had then; or that is not there any more.

    Places are never given twice, so nothing that came later is waited for.
    """
    if now is None or (now.queue, now.incarnation) != (then.queue, then.incarnation):
        return True  # its messages were taken away from it, or go elsewhere
    lowest = {one.lane: one for one in now.lowest}
    return all(lowest[end.lane].seq >= end.seq and lowest[end.lane].n >= end.n for end in then.ends)
