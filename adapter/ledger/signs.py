"""Signs of life in a ledger: who owns it, and when its last record was written. Pure.

For a start that wants to know whether it would depose an owner that is alive. Nothing depends on
the answer but courtesy: taking over is safe at any time.
"""

from collections.abc import Iterable

from msgspec import Struct

from adapter.ledger import envelope as envelopes
from adapter.ledger.port import LastRecord, LedgerMismatch

PROBE_N = 0
"""No owner's entry has this n. A probe is void for every reader, and no sign of anybody."""
WINDOWS = (16, 256, 16_384)
"""How many of the last records are looked at, until one among them is a sign."""
ANNOUNCEMENT_RECORDS_MAX = 262_144
"""How far back an owner's announcement is looked for: it is only for a sentence."""


class Seen(Struct, gc=False):
    """One record as it lies in the log."""

    offset: int
    time_ms: int
    value: bytes | None


def probe(owner: bytes) -> bytes:
    """Make a record from which its writer learns the ledger's time; it has no other effect."""
    return envelopes.encode(envelopes.ENTRY, owner, PROBE_N, b"")


def last_record(topic: str, records: Iterable[Seen], *, whole: bool = True) -> LastRecord | None:
    """Find the last record of the owner in force; None if there is no sign of anybody.

    whole: these are all records, or more are not to be read. Else None too if it needs earlier ones
    to know whether the last change counts. Raises LedgerMismatch for what a later mqk wrote: this
    one must not take over from it.
    """
    owner = envelopes.NOBODY
    sign = None
    known = whole
    for record in records:
        try:
            found = envelopes.decode(record.value)
        except envelopes.NewerVersion as newer:
            raise LedgerMismatch(f"{topic} at offset {record.offset}: {newer}") from newer
        except envelopes.CorruptRecord:
            continue
        if found.kind == envelopes.OWNER_CHANGED:
            if found.replaces not in (None, owner) and owner != envelopes.NOBODY:
                continue  # it is void: another owner had taken over
            known = known or owner != envelopes.NOBODY or found.replaces is None
            owner = found.owner
            sign = LastRecord(owner, record.time_ms, b"")
        elif found.n != PROBE_N and owner in (envelopes.NOBODY, found.owner):
            owner, known = found.owner, True  # two owners do not write without a change between
            payload = found.payload if found.parts == 1 else b""
            sign = LastRecord(owner, record.time_ms, payload)
    return sign if known else None


def announcement(records: Iterable[Seen], owner: bytes) -> str:
    """Say what an owner wrote when it took over; "" if that is not among the records."""
    text = ""
    for record in records:
        try:
            found = envelopes.decode(record.value)
        except envelopes.CorruptRecord:
            continue
        if found.kind == envelopes.OWNER_CHANGED and found.owner == owner:
            text = found.payload.decode(errors="replace")
    return text
