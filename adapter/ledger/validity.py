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

Pure: the same records in the same order give the same verdicts to every reader, at any time.
"""

from enum import IntEnum
from typing import Self

from adapter.ledger.envelope import ENTRY, NOBODY, CorruptRecord, Envelope, NewerVersion, decode


class Verdict(IntEnum):
    """What a record is, given the records before it. Only VALID and OWNER_CHANGED count.

    PART: it will count when the last part of its entry does.
    """

    VALID = 0
    DUPLICATE = 1
    VOID = 2
    OWNER_CHANGED = 3
    CORRUPT = 4
    PART = 5


class Validity:
    """The owner in force, the n and part it may write next, and whether a skip voided its rest."""

    __slots__ = ("next_n", "next_part", "owner", "voided")

    def __init__(self) -> None:
        self.owner = NOBODY
        self.next_n = 0
        self.next_part = 0
        self.voided = False

    @classmethod
    def of_trimmed(cls, first: bytes | None) -> Self:
        """Begin with the first record of a log whose older records were deleted, as if it counts.

        A log is trimmed up to an entry that does.
        """
        try:
            envelope = decode(first)
        except CorruptRecord:
            return cls()
        if envelope.kind == ENTRY:
            return cls.at(envelope.owner, envelope.n - 1)
        validity = cls()
        validity.owner = envelope.replaces or NOBODY
        return validity

    @classmethod
    def at(cls, owner: bytes, n: int, parts: int = 0) -> Self:
        """Resume after the valid entry (owner, n), and so many parts of the next one."""
        validity = cls()
        validity.owner = owner
        validity.next_n = n + 1
        validity.next_part = parts
        return validity

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
        NewerVersion: what a later mqk wrote must not be skipped.
        """
        try:
            envelope = decode(value)
        except NewerVersion:
            raise
        except CorruptRecord:
            return Verdict.CORRUPT, None
        return self.judge(envelope), envelope

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


class Assembly:
    """Puts the parts of long entries together, from records that have been judged in order."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def take(self, verdict: Verdict, envelope: Envelope | None) -> bytes | None:
        """Take the next record; the whole payload of the entry that is complete with it, if any."""
        if verdict is Verdict.OWNER_CHANGED:
            self._parts = []
        if envelope is None or verdict not in (Verdict.VALID, Verdict.PART):
            return None
        if verdict is Verdict.PART:
            self._parts.append(envelope.payload)
            return None
        if not self._parts:
            return envelope.payload
        parts, self._parts = [*self._parts, envelope.payload], []
        return b"".join(parts)
