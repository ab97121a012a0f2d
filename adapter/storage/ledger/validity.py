"""Which records of a ledger count: the one implementation of the rule that every reader applies.

A record is valid if its owner is that of the last OWNER_CHANGED before it and its n is that
owner's last valid n + 1. A lower n is a duplicate (a producer whose batch timed out may write it
twice). A skip voids the rest of that owner: something before was rejected, and nothing after it
was ever promised. OWNER_CHANGED carries n = 0, an owner's first entry n = 1. It names the owner
that it replaces, and is void if another one is in force: a process that was frozen, and does not
know that it was replaced, replaces none. One of an earlier release names none, and always counts.

The records of a long entry have the same n, and count their parts: there the same holds of each
next part. An entry counts when its last part does; what is unfinished when the owner changes never
does.

A ledger may be *sealed*: then a key is in force, only records with a genuine seal of that key are
judged as above, and all others are void. An OWNER_CHANGED is sealed with the key in force before
it, and names the one that is in force behind it, or none. So every reader that can judge an owner's
change learns which key it needs next, and refuses to go on without it: what cannot be checked must
not be skipped, and a writer without a key cannot make it look so. The first key is in force from
the OWNER_CHANGED on that is sealed with the key that it names.

Pure: the same records in the same order give the same verdicts to every reader, at any time.
"""

from enum import IntEnum
from typing import Self

from adapter.storage.ledger.envelope import (
    ENTRY,
    NO_KEY,
    NOBODY,
    OWNER_CHANGED,
    SEALED_VERSION,
    CorruptRecord,
    Envelope,
    NewerVersion,
    Sealed,
    UnknownKey,
    decode,
    seal_of,
)
from adapter.storage.ledger.seals import Seals


class Verdict(IntEnum):
    """What a record is, given the records before it. Only VALID and OWNER_CHANGED count.

    PART: it will count when the last part of its entry does. FORGED: it is void, because the ledger
    is sealed and the record is not, or not with a key of the ledger: another writer's.
    """

    VALID = 0
    DUPLICATE = 1
    VOID = 2
    OWNER_CHANGED = 3
    CORRUPT = 4
    PART = 5
    FORGED = 6


class Validity:
    """The owner in force, the n and part it may write next, and whether a skip voided its rest.

    key: the id of the key in force; NO_KEY: the ledger is not sealed.
    """

    __slots__ = ("_seals", "key", "next_n", "next_part", "owner", "voided")

    def __init__(self, seals: Seals | None = None) -> None:
        """seals: of the keys that are known; None: none."""
        self._seals = seals or Seals("")
        self.key = NO_KEY
        self.owner = NOBODY
        self.next_n = 0
        self.next_part = 0
        self.voided = False

    @classmethod
    def of_trimmed(cls, first: bytes | None, seals: Seals | None = None) -> Self:
        """Begin with the first record of a log whose older records were deleted, as if it counts.

        A log is trimmed up to an entry that does. Raises UnknownKey.
        """
        validity = cls(seals)
        try:
            envelope = decode(first)
        except CorruptRecord:
            return validity
        if envelope.is_probe:
            return validity
        if envelope.kind == ENTRY:
            validity.owner, validity.next_n = envelope.owner, envelope.n
            validity.next_part = envelope.part  # of a long entry only the last part may be left
        else:
            validity.owner = envelope.replaces or NOBODY
        one = seal_of(first)
        if one is not None:
            validity.key = validity._known(one.key_id)
        return validity

    @classmethod
    def at(
        cls,
        owner: bytes,
        n: int,
        parts: int = 0,
        *,
        seals: Seals | None = None,
        key: bytes = NO_KEY,
    ) -> Self:
        """Resume after the valid entry (owner, n), and so many parts of the next one."""
        validity = cls(seals)
        validity.owner = owner
        validity.next_n = n + 1
        validity.next_part = parts
        validity.key = key
        return validity

    def resume_behind(self, value: bytes | None) -> bool:
        """Learn from the last valid record by which key the next one is sealed.

        Return whether its own seal is genuine, if it has one. Raises CorruptRecord, UnknownKey.
        """
        one = seal_of(value)
        if one is None:
            self.key = NO_KEY
            return True
        self._known(one.key_id)
        next_key = decode(value).next_key
        self.key = self._known(one.key_id if next_key is None else next_key)
        return self._seals.is_genuine(one)

    def judge(self, envelope: Envelope) -> Verdict:
        """Say what the next record of the log is."""
        if envelope.kind == ENTRY:
            return self._judge_entry(envelope)
        if envelope.n != 0:
            return Verdict.CORRUPT
        if envelope.owner == self.owner:
            return Verdict.DUPLICATE  # written twice by a producer that retried
        if envelope.replaces not in (None, self.owner):
            return Verdict.VOID
        self.owner = envelope.owner
        self.next_n = 1
        self.next_part = 0
        self.voided = False
        return Verdict.OWNER_CHANGED

    def judge_value(self, value: bytes | None) -> tuple[Verdict, Envelope | None]:
        """Decode and judge; what is not a ledger record at all is CORRUPT, and counts as void.

        Kafka guards what we wrote by checksums, so such a record is another program's. Raises
        NewerVersion: what a later mqk wrote must not be skipped; UnknownKey: nor what this reader
        cannot check.
        """
        if self.key or (value and value[0] == SEALED_VERSION):
            return self._judge_sealed(value)
        try:
            envelope = decode(value)
        except NewerVersion:
            raise
        except CorruptRecord:
            return Verdict.CORRUPT, None
        if envelope.next_key is not None:
            return Verdict.CORRUPT, None  # it is nothing without a seal
        return self.judge(envelope), envelope

    def _judge_sealed(self, value: bytes | None) -> tuple[Verdict, Envelope | None]:
        """Judge a record of a sealed ledger, or a sealed one of a ledger that is not."""
        one = seal_of(value)
        if self.key:
            if one is None or not self._seals.is_genuine(one):
                envelope = _read(value)
                is_probe = envelope is not None and envelope.is_probe
                return (Verdict.VOID if is_probe else Verdict.FORGED), envelope
            if one.key_id != self.key:
                return Verdict.VOID, _read(value)  # too late, of an owner that sealed so
        try:
            envelope = decode(value if one is None else one.record)
        except NewerVersion:
            raise
        except CorruptRecord:
            return Verdict.CORRUPT, None
        if self.key or one is None:
            return self._judge_genuine(envelope), envelope
        return self._judge_first(one, envelope), envelope

    def _judge_first(self, one: Sealed, envelope: Envelope) -> Verdict:
        """Judge a sealed record of a ledger that is not sealed: whether it is from here on."""
        if envelope.kind == ENTRY or envelope.replaces not in (None, self.owner):
            return Verdict.VOID  # too late, of an owner from before the sealing's end
        self._known(one.key_id)
        if not self._seals.is_genuine(one):
            return Verdict.FORGED
        return self._judge_genuine(envelope)

    def _judge_genuine(self, envelope: Envelope) -> Verdict:
        if envelope.kind == OWNER_CHANGED and envelope.next_key is None:
            return Verdict.CORRUPT
        verdict = self.judge(envelope)
        if verdict is Verdict.OWNER_CHANGED and envelope.next_key is not None:
            self.key = self._known(envelope.next_key)
        return verdict

    def _known(self, key_id: bytes) -> bytes:
        """Return the id of a key, if the key is known. Raises UnknownKey."""
        if key_id == NO_KEY or self._seals.knows(key_id):
            return key_id
        known = self._seals.ids()
        has = f"which has {', '.join(known)}" if known else "for none was given"
        raise UnknownKey(
            f"the ledger is sealed with key {key_id.hex()}, which is not in the file of its keys, "
            f"{has}: set ledger_key_file (of a command --ledger-key-file) to a file with that key, "
            "such as the owner's"
        )

    def _judge_entry(self, envelope: Envelope) -> Verdict:
        if envelope.owner != self.owner:
            return Verdict.VOID
        at, expected = (envelope.n, envelope.part), (self.next_n, self.next_part)
        if at < expected:
            return Verdict.DUPLICATE
        if at != expected or self.voided:
            self.voided = True
            return Verdict.VOID
        if envelope.part + 1 < envelope.parts:
            self.next_part += 1
            return Verdict.PART
        self.next_n, self.next_part = self.next_n + 1, 0
        return Verdict.VALID


def _read(value: bytes | None) -> Envelope | None:
    """Read what can be read of a record that does not count."""
    try:
        return decode(value)
    except CorruptRecord:
        return None


class Assembly:
    """Puts the parts of long entries together, from records that have been judged in order.

    An entry whose first parts were deleted has no payload.
    """

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def take(self, verdict: Verdict, envelope: Envelope | None) -> bytes | None:
        """Take the next record; the whole payload of the entry that is complete with it, if any."""
        if verdict is Verdict.OWNER_CHANGED:
            self._parts = []
        if envelope is None or verdict not in (Verdict.VALID, Verdict.PART):
            return None
        if len(self._parts) != envelope.part:
            return None  # its first parts were deleted, and nothing else is collected
        if verdict is Verdict.PART:
            self._parts.append(envelope.payload)
            return None
        if not self._parts:
            return envelope.payload
        parts, self._parts = [*self._parts, envelope.payload], []
        return b"".join(parts)
