"""Signs of life in a ledger: who owns it, and when its last record was written. Pure.

For a start that wants to know whether it would depose an owner that is alive, and for a standby.
Nothing depends on the answer but courtesy: taking over is safe at any time.

**Whose record is the last**, is found in the last few records, which need not tell who was in force
before them. Among them may be what a deposed owner wrote late. So each owner that they name is
supposed to have been in force before, and none of them. What is written late is little; so it is
known who is in force if there is only one supposition that leaves no more than that unexplained.
Else more records are looked at. The first record of a ledger counts, trimmed or not.

In a sealed ledger only genuine seals say anything, and another writer may put any number of records
behind the last one. So with keys it is genuine records that are bounded, and not records: until a
seal is found the search goes back, to the beginning of the ledger, and keeps nothing of what a
forger wrote. Without any seal the ledger is not sealed.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from adapter.storage.ledger import envelope as envelopes
from adapter.storage.ledger.port import LastRecord, LedgerMismatch
from adapter.storage.ledger.seals import Seals

WINDOWS = (16, 256, 16_384)
"""How many of the last records are looked at, until one among them is a sign; with keys, as many
more at a time as the last one says."""
LATE_ENTRIES_MAX = 8
"""As many as two owners keep in flight: so many of the last records may be late."""
ANNOUNCEMENT_RECORDS_MAX = 262_144
"""How far back an owner's announcement is looked for: it is repeated with each snapshot."""


class Seen(Struct, gc=False):
    """One record as it lies in the log."""

    offset: int
    time_ms: int
    value: bytes | None


def probe(writer: bytes, says: bytes = b"") -> bytes:
    """Make a record from which its writer learns the ledger's time; it has no other effect.

    says: what an owner says of itself, as its OWNER_CHANGED did, which may have been deleted.
    """
    return envelopes.encode(envelopes.ENTRY, writer, envelopes.PROBE_N, says)


class Sign(Struct, gc=False):
    """One record as this search takes it. text: why it cannot be read, if a later mqk wrote it.

    is_sealed: with a seal that is genuine, as far as is known here.
    """

    record: Seen
    envelope: envelopes.Envelope | None
    is_sealed: bool
    text: str = ""


class Supposition(Struct, gc=False):
    """The last record of the owner in force, if a certain owner was in force before these records.

    unexplained: entries of owners that have not been in force, as far as these records say.
    was_sealed: they show that the ledger is sealed, or was. newer: what a later mqk wrote.
    """

    sign: LastRecord | None = None
    unexplained: int = 0
    was_sealed: bool = False
    newer: str = ""


def find_last_record(
    topic: str,
    first: int,
    end: int,
    read: Callable[[int, int], Iterable[Seen]],
    seals: Seals | None = None,
) -> LastRecord | None:
    """Find the last record of the owner in force in a log; None if there is no sign of anybody.

    first, end: its offsets, end excluded, and read returns the records of such a range. seals:
    without a key each seal is taken for genuine, as who needs to know it reads the ledger. Raises
    LedgerMismatch for what a later mqk wrote: this one must not take over from it.
    """
    seals = seals or Seals("")
    has_keys = bool(seals.ids())
    found: list[Sign] = []
    until, has_left_out = end, False
    for start in _starts(first, end, goes_on=has_keys):
        more = _decode(topic, read(start, until), seals)
        until = start
        if not has_keys or end - start <= WINDOWS[-1] or _has_seal(more):
            found = _without_forged([*more, *found]) if has_keys else more + found
        else:
            has_left_out = True  # forged, or of a ledger that is not sealed: the last ones will do
        if start == first and (not has_left_out or all(one.is_sealed for one in found)):
            return _sign_of(_suppose(found, _owner_before_all(found)))
        if has_keys and not _has_seal(found):
            continue
        possible = [one for one in _suppositions(found) if one.unexplained <= LATE_ENTRIES_MAX]
        if possible and all(one.sign == possible[0].sign for one in possible):
            return _sign_of(possible[0])
        if len(found) >= WINDOWS[-1]:
            break
    return _sign_of(min(_suppositions(found), key=lambda one: one.unexplained))


def _starts(first: int, end: int, *, goes_on: bool) -> Iterator[int]:
    """Say from where on to look, further and further back. goes_on: as far as the first record."""
    for window in WINDOWS:
        yield max(first, end - window)
        if end - window <= first:
            return
    if goes_on:
        yield from range(end - 2 * WINDOWS[-1], first, -WINDOWS[-1])
        yield first


def _has_seal(found: Sequence[Sign]) -> bool:
    return any(one.is_sealed and one.envelope is not None for one in found)


def _without_forged(found: Sequence[Sign]) -> list[Sign]:
    """Leave out what has no seal in a sealed ledger: from the first genuine seal on until a change
    may have ended the sealing, and before that seal, where it is older, or forged.
    """
    kept: list[Sign] = []
    was_sealed = is_sealed = False
    for one in found:
        if one.is_sealed and one.envelope is not None:
            is_change = one.envelope.kind == envelopes.OWNER_CHANGED
            if not was_sealed:
                kept = []
            if is_change or not was_sealed:  # an entry behind the end of the sealing is late
                is_sealed = not is_change or one.envelope.next_key != envelopes.NO_KEY
            was_sealed = True
        if one.is_sealed or not is_sealed:
            kept.append(one)
    return kept


def _suppositions(found: Sequence[Sign]) -> list[Supposition]:
    return [_suppose(found, owner) for owner in _owners_before(found)]


def _sign_of(supposed: Supposition) -> LastRecord | None:
    if supposed.newer:
        raise LedgerMismatch(supposed.newer)
    return supposed.sign


def _owners_before(found: Sequence[Sign]) -> list[bytes | None]:
    """Name each owner that these records name, and none of them: any may have been in force."""
    named = (_owner_before(one.envelope) for one in found if one.envelope is not None)
    return list({**dict.fromkeys(named), None: None})


def _owner_before_all(found: Sequence[Sign]) -> bytes | None:
    """Say who was in force before the first record of a ledger, which counts."""
    return next((_owner_before(one.envelope) for one in found if one.envelope is not None), None)


def _owner_before(envelope: envelopes.Envelope) -> bytes | None:
    """Say who is in force before a record, if it counts."""
    return envelope.owner if envelope.kind == envelopes.ENTRY else envelope.replaces


def _decode(topic: str, records: Iterable[Seen], seals: Seals) -> list[Sign]:
    """Decode what owners wrote, but what has a seal that is not genuine."""
    found = []
    for record in records:
        seal = envelopes.seal_of(record.value)
        is_sealed = seal is not None and (not seals.ids() or seals.is_genuine(seal))
        try:
            envelope = envelopes.decode(record.value)
        except envelopes.NewerVersion as newer:
            text = f"{topic} at offset {record.offset}: {newer}"
            found.append(Sign(record, None, is_sealed, text))
            continue
        except envelopes.CorruptRecord:
            continue
        if not envelope.is_probe and (is_sealed or seal is None):
            found.append(Sign(record, envelope, is_sealed))
    return found


def _suppose(found: Sequence[Sign], before: bytes | None) -> Supposition:
    """before: who was in force before these records; None: an owner that none of them names.

    Unsealed records say nothing of a sealed ledger. The first genuine seal shows that it is one,
    and what was found before it is older, or forged.
    """
    supposed, in_force, been, is_sealed = Supposition(), before, {before}, False
    for one in found:
        if is_sealed and not one.is_sealed:
            continue  # it is forged
        if one.envelope is None:
            supposed.newer = supposed.newer or one.text
            continue
        is_change = one.envelope.kind == envelopes.OWNER_CHANGED
        if one.is_sealed and not is_sealed:
            if supposed.was_sealed and not is_change:
                continue  # it is late: the sealing has ended
            supposed, is_sealed = Supposition(was_sealed=True), True
            in_force = one.envelope.replaces if is_change else before
            been = {in_force}
        if is_change:
            if one.envelope.replaces not in (None, in_force):
                continue  # it is void: another owner had taken over
            in_force = one.envelope.owner
            been.add(in_force)
            is_sealed = is_sealed and one.envelope.next_key != envelopes.NO_KEY
        elif one.envelope.owner != in_force:
            is_whole = one.envelope.part + 1 == one.envelope.parts
            supposed.unexplained += is_whole and one.envelope.owner not in been
            continue
        payload = one.envelope.payload if not is_change and one.envelope.parts == 1 else b""
        supposed.sign = LastRecord(one.envelope.owner, one.record.time_ms, payload)
    return supposed


def announcement(
    records: Iterable[Seen], owner: bytes, seals: Seals | None = None
) -> tuple[str, bool]:
    """Say what an owner wrote of itself, when it took over or later; "" if none of these does.

    Also whether that is certain: in a sealed ledger another writer may have written it.
    """
    seals = seals or Seals("")
    text, is_certain = "", False
    for record in records:
        seal = envelopes.seal_of(record.value)
        if seal is not None and seals.ids() and not seals.is_genuine(seal):
            continue
        try:
            found = envelopes.decode(record.value)
        except envelopes.CorruptRecord:
            continue
        says = found.kind == envelopes.OWNER_CHANGED or (found.is_probe and found.payload)
        certain = seal is not None or not seals.ids()
        if found.owner == owner and says and certain >= is_certain:
            text, is_certain = found.payload.decode(errors="replace"), certain
    return text, is_certain
