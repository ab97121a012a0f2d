"""Signs of life in a ledger: who owns it, and when its last record was written. Pure.

For a start that wants to know whether it would depose an owner that is alive. Nothing depends on
the answer but courtesy: taking over is safe at any time.
"""

from collections.abc import Iterable

from msgspec import Struct

from adapter.ledger import envelope as envelopes
from adapter.ledger.port import LastRecord, LedgerMismatch
from adapter.ledger.seals import Seals

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


def last_record(
    topic: str, records: Iterable[Seen], *, whole: bool = True, seals: Seals | None = None
) -> LastRecord | None:
    """Find the last record of the owner in force; None if there is no sign of anybody.

    whole: these are all records, or more are not to be read. Else None too if it needs earlier ones
    to know whether the last change counts, or with keys whether the ledger is sealed. Raises
    LedgerMismatch for what a later mqk wrote: this one must not take over from it. seals: without
    a key each seal is taken for genuine, as who needs to know it reads the ledger.
    """
    search = SignSearch(topic, seals or Seals(""), whole=whole)
    for record in records:
        search.take(record)
    return search.found()


class SignSearch:
    """What the records of a log so far say of its owner. Unsealed ones say nothing of a sealed log,
    and the first genuine seal shows that it is one.
    """

    def __init__(self, topic: str, seals: Seals, *, whole: bool) -> None:
        self._topic = topic
        self._seals = seals
        self._whole = self._known = whole
        self._owner = envelopes.NOBODY
        self._sign: LastRecord | None = None
        self._is_sealed = self._was_sealed = False
        self._newer = ""

    def found(self) -> LastRecord | None:
        """Return the sign, when all records have been taken."""
        if self._newer:
            raise LedgerMismatch(self._newer)
        is_sure = self._known and (self._whole or self._was_sealed or not self._seals.ids())
        return self._sign if is_sure else None

    def take(self, record: Seen) -> None:
        """Take the next record."""
        one = envelopes.seal_of(record.value)
        is_sealed = one is not None and (not self._seals.ids() or self._seals.is_genuine(one))
        if self._is_sealed and not is_sealed:
            return  # it is forged
        try:
            found = envelopes.decode(record.value)
        except envelopes.NewerVersion as newer:
            self._newer = self._newer or f"{self._topic} at offset {record.offset}: {newer}"
            return
        except envelopes.CorruptRecord:
            return
        if is_sealed and not self._is_sealed:
            if self._was_sealed and found.kind != envelopes.OWNER_CHANGED:
                return  # it is late: the sealing has ended
            self._begin_sealed()
        if is_sealed or one is None:
            self._judge(found, record.time_ms)

    def _begin_sealed(self) -> None:
        """Forget what was found before: it is older, or forged."""
        self._is_sealed = self._was_sealed = True
        self._owner, self._sign, self._newer = envelopes.NOBODY, None, ""

    def _judge(self, found: envelopes.Envelope, time_ms: int) -> None:
        owner, nobody = self._owner, envelopes.NOBODY
        if found.kind == envelopes.OWNER_CHANGED:
            if found.replaces not in (None, owner) and owner != nobody:
                return  # it is void: another owner had taken over
            self._known = self._known or owner != nobody or found.replaces is None
            self._owner = found.owner
            self._sign = LastRecord(found.owner, time_ms, b"")
            self._is_sealed = self._is_sealed and found.next_key != envelopes.NO_KEY
        elif found.n != PROBE_N and owner in (nobody, found.owner):
            # Two owners do not write without a change between.
            self._owner, self._known = found.owner, True
            payload = found.payload if found.parts == 1 else b""
            self._sign = LastRecord(found.owner, time_ms, payload)


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
