"""Signs of life in a ledger: who owns it, and when its last record was written. Pure.

For a start that wants to know whether it would depose an owner that is alive, and for a standby.
Nothing depends on the answer but courtesy: taking over is safe at any time.

**Whose record is the last**, is found in the last few records, which need not tell who was in force
before them. Among them may be what a deposed owner wrote late. So each owner that they name is
supposed to have been in force before, and none of them. What is written late is little; so it is
known who is in force if there is only one supposition that leaves no more than that unexplained.
Else more records are looked at. The first record of a ledger counts, trimmed or not.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from adapter.ledger import envelope as envelopes
from adapter.ledger.port import LastRecord, LedgerMismatch

PROBE_N = 0
"""No owner's entry has this n. A probe is void for every reader, and no sign of anybody."""
WINDOWS = (16, 256, 16_384)
"""How many of the last records are looked at, until one among them is a sign."""
LATE_ENTRIES_MAX = 8
"""As many as two owners keep in flight: so many of the last records may be late."""
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


class Supposition(Struct, gc=False):
    """The last record of the owner in force, if a certain owner was in force before these records.

    unexplained: entries of owners that have not been in force, as far as these records say.
    """

    sign: LastRecord | None
    unexplained: int


def find_last_record(
    topic: str, first: int, end: int, read: Callable[[int, int], Iterable[Seen]]
) -> LastRecord | None:
    """Find the last record of the owner in force in a log; None if there is no sign of anybody.

    first, end: its offsets, end excluded, and read returns the records of such a range. Raises
    LedgerMismatch for what a later mqk wrote: this one must not take over from it.
    """
    suppositions: list[Supposition] = []
    for window in WINDOWS:
        start = max(first, end - window)
        found = _decode(topic, read(start, end))
        if start == first:
            return _suppose(found, _owner_before(found[0][1])).sign if found else None
        suppositions = _suppositions(found)
        possible = [one.sign for one in suppositions if one.unexplained <= LATE_ENTRIES_MAX]
        if possible and all(one == possible[0] for one in possible):
            return possible[0]
    return min(suppositions, key=lambda one: one.unexplained).sign


def _suppositions(found: Sequence[tuple[Seen, envelopes.Envelope]]) -> list[Supposition]:
    """Suppose of each owner that is named, and of none of them, that it was in force before."""
    owners = dict.fromkeys(_owner_before(envelope) for _, envelope in found)
    return [_suppose(found, owner) for owner in {**owners, None: None}]


def _owner_before(envelope: envelopes.Envelope) -> bytes | None:
    """Say who is in force before a record, if it counts."""
    return envelope.owner if envelope.kind == envelopes.ENTRY else envelope.replaces


def _decode(topic: str, records: Iterable[Seen]) -> list[tuple[Seen, envelopes.Envelope]]:
    """Decode what owners wrote."""
    found = []
    for record in records:
        try:
            envelope = envelopes.decode(record.value)
        except envelopes.NewerVersion as newer:
            raise LedgerMismatch(f"{topic} at offset {record.offset}: {newer}") from newer
        except envelopes.CorruptRecord:
            continue
        if envelope.kind == envelopes.OWNER_CHANGED or envelope.n != PROBE_N:
            found.append((record, envelope))
    return found


def _suppose(
    found: Sequence[tuple[Seen, envelopes.Envelope]], in_force: bytes | None
) -> Supposition:
    """in_force: who was, before these records; None: an owner that none of them names."""
    supposed = Supposition(None, 0)
    been = {in_force}
    for record, envelope in found:
        payload = b""
        if envelope.kind == envelopes.OWNER_CHANGED:
            if envelope.replaces not in (None, in_force):
                continue  # it is void: another owner had taken over
            in_force = envelope.owner
            been.add(in_force)
        elif envelope.owner != in_force:
            is_whole = envelope.part + 1 == envelope.parts
            supposed.unexplained += is_whole and envelope.owner not in been
            continue
        elif envelope.parts == 1:
            payload = envelope.payload
        supposed.sign = LastRecord(envelope.owner, record.time_ms, payload)
    return supposed


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
