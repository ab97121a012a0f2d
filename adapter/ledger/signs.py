"""Signs of life in a ledger: who owns it, and when its last record was written. Pure.

For a start that wants to know whether it would depose an owner that is alive, and for a standby.
Nothing depends on the answer but courtesy: taking over is safe at any time.

**Whose record is the last**, is found in the last few records, which need not tell who was in force
before them. Among them may be what a deposed owner wrote late. So each owner that they name is
supposed to have been in force before; the one counts by whom most of the entries are explained, for
what is written late is little. If several are possible, more records are looked at.
"""

from collections.abc import Callable, Iterable, Sequence

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


class Account(Struct, gc=False):
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
    for window in WINDOWS:
        start = max(first, end - window)
        whole = start == first or window == WINDOWS[-1]
        sign = last_record(topic, read(start, end), whole=whole)
        if sign is not None or start == first:
            return sign
    return None


def last_record(topic: str, records: Iterable[Seen], *, whole: bool = True) -> LastRecord | None:
    """Find the last record of the owner in force among these; see find_last_record.

    whole: these are all records, or more are not to be read. Else None too if it needs earlier ones
    to know who is in force.
    """
    found = _decode(topic, records)
    named = dict.fromkeys(
        one.owner if one.kind == envelopes.ENTRY else one.replaces for _, one in found
    )
    accounts = [_account(found, owner) for owner in named if owner is not None]
    if not whole or not accounts:
        accounts.append(_account(found, None))
    if whole:
        return min(accounts, key=lambda account: account.unexplained).sign
    possible = [account.sign for account in accounts if not account.unexplained]
    return possible[0] if possible and all(sign == possible[0] for sign in possible) else None


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


def _account(found: Sequence[tuple[Seen, envelopes.Envelope]], in_force: bytes | None) -> Account:
    """in_force: who was, before these records; None: an owner that none of them names."""
    account = Account(None, 0)
    been = {in_force}
    for record, envelope in found:
        payload = b""
        if envelope.kind == envelopes.OWNER_CHANGED:
            if envelope.replaces not in (None, in_force):
                continue  # it is void: another owner had taken over
            in_force = envelope.owner
            been.add(in_force)
        elif envelope.owner != in_force:
            account.unexplained += envelope.owner not in been
            continue
        elif envelope.parts == 1:
            payload = envelope.payload
        account.sign = LastRecord(envelope.owner, record.time_ms, payload)
    return account


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
