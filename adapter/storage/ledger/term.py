"""The book-keeping of one term of one owner: which of its entries may be promised. Pure.

A term begins with the owner's OWNER_CHANGED and ends with a doubt or a close. Delivery reports come
in as (step, offset). While each is one past the one before, no other owner wrote in between and the
record is valid; with its last part an entry is. A jump in offset is a gap that must be read: void
records are harmless, an OWNER_CHANGED that counts deposes us. It does no reading itself, and must
not know Kafka.
"""

from collections.abc import Iterable
from functools import partial

from adapter.storage.ledger.envelope import NO_KEY, NewerVersion, RecordNumber, text_of
from adapter.storage.ledger.port import Deposed, Forged, Position, join_forged
from adapter.storage.ledger.seals import Seals
from adapter.storage.ledger.validity import Validity, Verdict


class Term:
    """One owner's term. next_n: for the next append; durable_n: all up to it may be promised, and
    so many parts of the entry after it are durable too.
    """

    __slots__ = (
        "_forged", "_key", "_seals", "at", "durable_n", "next_n", "next_offset", "owner", "parts",
        "topic",
    )  # fmt: skip

    def __init__(
        self,
        topic: str,
        owner: bytes,
        offset: int,
        seals: Seals | None = None,
    ) -> None:
        """offset: of our OWNER_CHANGED. seals: what it said of them, None: none."""
        self._seals = seals
        self._key = NO_KEY if seals is None else seals.begins_with
        self._forged: Forged | None = None
        self.topic = topic
        self.owner = owner
        self.next_n = 1
        self.durable_n = 0
        self.parts = 0
        self.next_offset = offset + 1
        self.at = Position(offset, owner, 0)
        """Of the last entry that may be promised; replaced as a whole, for other threads."""

    @property
    def has_undurable(self) -> bool:
        """Whether there are appends that may not be promised yet."""
        return self.durable_n + 1 < self.next_n

    def follows(self, step: RecordNumber, offset: int) -> bool:
        """Take a delivery report if it follows the one before; False: there is a gap to judge."""
        expected = (self.durable_n + 1, self.parts, self.next_offset)
        if (step.n, step.part, offset) != expected:
            return False
        self._reached(step, offset)
        return True

    def _reached(self, step: RecordNumber, offset: int) -> None:
        self.next_offset = offset + 1
        if not step.is_last:
            self.parts = step.part + 1
            return
        self.durable_n, self.parts = step.n, 0
        self.at = Position(offset, self.owner, step.n)

    def pass_over(self, offset: int) -> None:
        """Take the delivery report of a record of this owner that is no entry.

        If something lies before it, it is part of a gap, which the next report shows.
        """
        if offset == self.next_offset:
            self.next_offset = offset + 1

    def as_written(self, records: Iterable[bytes]) -> Iterable[bytes]:
        """Return the records of an entry, sealed if this term is."""
        if self._seals is None or self._key == NO_KEY:
            return records
        return map(partial(self._seals.seal, self._key), records)

    def take_forged(self) -> Forged | None:
        """Return what gaps had of another writer, once."""
        found, self._forged = self._forged, None
        return found

    def gap(self, offset: int) -> range:
        """Say which offsets judge_gap must be given for a report that does not follow."""
        return range(self.next_offset, offset + 1)

    def judge_gap(self, step: RecordNumber, offset: int, values: Iterable[bytes | None]) -> str:
        """Judge the records of a gap, the reported one last; "" to go on, else why to doubt."""
        validity = Validity.at(
            self.owner, self.durable_n, self.parts, seals=self._seals, key=self._key
        )
        for at, value in enumerate(values, self.next_offset):
            try:
                verdict, envelope = validity.judge_value(value)
            except NewerVersion as newer:
                return f"{self.topic} at offset {at}: {newer}"
            if verdict is Verdict.FORGED:
                self._forged = join_forged(self._forged, Forged(at, at))
            if verdict is Verdict.OWNER_CHANGED and envelope is not None:
                owner, who = envelope.owner.hex(), text_of(envelope.payload)
                return Deposed(
                    f"{self.topic}: another owner took over at offset {at}: {who} ({owner})"
                )
        reached = (validity.next_n, validity.next_part) > (step.n, step.part)
        if offset < self.next_offset or validity.voided or not reached:
            return (
                f"{self.topic}: entry n {step.n} was reported at offset {offset}, and it is not "
                f"valid there: after n {self.durable_n} at offset {self.next_offset - 1} comes "
                "something else"
            )
        self._reached(step, offset)
        return ""
