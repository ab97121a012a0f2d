"""Reading a log in order: from raw records to valid entries, the same for every ledger.

It applies validity and insists that no record is missing. It must not know where records come from.
"""

from collections.abc import Container

from adapter.storage.ledger import port
from adapter.storage.ledger.attempts import OwnerAttempts
from adapter.storage.ledger.envelope import (
    NOBODY,
    OWNER_CHANGED,
    CorruptRecord,
    NewerVersion,
    UnknownKey,
    decode,
    text_of,
)
from adapter.storage.ledger.seals import Seals
from adapter.storage.ledger.validity import Assembly, Validity, Verdict

RESTORE = (
    "restore the queue manager from a backup (mqk ledger restore), or the topic from a copy. "
    'Without one, see "The ledger has lost entries" in the runbook'
)


def check_known(topic: str, known: port.Known, first: int, end: int) -> None:
    """Refuse a log that cannot have a known entry; first, end: its offsets, end excluded."""
    offset = known.position.offset
    if offset >= end:
        raise port.LedgerMismatch(
            f"{topic} ends at offset {end}, and {known.how}: entries that Kafka had confirmed are "
            f"lost. The topic was truncated or created again: {RESTORE}"
        )
    if offset < first:
        raise port.LedgerMismatch(
            f"{topic} begins at offset {first}, and {known.how}: older records than may go were "
            "deleted. Check that its retention is off (retention.ms=-1, retention.bytes=-1), and "
            f"{RESTORE}"
        )


def check_known_value(topic: str, known: port.Known, value: bytes | None) -> None:
    """Refuse a log that has another record where a known entry was."""
    position = known.position
    try:
        found = decode(value)
    except NewerVersion as newer:
        raise port.LedgerMismatch(f"{topic} at offset {position.offset}: {newer}") from newer
    except CorruptRecord as corrupt:
        has = str(corrupt)
    else:
        if (found.owner, found.n) == (position.owner, position.n):
            return
        has = f"it has owner {found.owner.hex()} n {found.n} there"
    raise port.LedgerMismatch(
        f"{topic} is not the ledger that it was, for {known.how}, which was owner "
        f"{position.owner.hex()} n {position.n}: {has}. The topic was truncated or created again: "
        f"{RESTORE}"
    )


class Scan:
    """The state of one pass over a log: where it is, what is valid, what it has met."""

    def __init__(
        self,
        topic: str,
        position: port.Position | None = None,
        seals: Seals | None = None,
        forged_through: int = -1,
    ) -> None:
        """seals: of the ledger's keys; None: a sealed ledger is refused. forged_through: forged
        records up to this offset are known, and are left out of `forged`.
        """
        self._forged_through = forged_through
        self._topic = topic
        self._unconfirmed = position
        self.next_offset = 0 if position is None else position.offset
        self.validity = Validity(seals)
        if position is not None:
            self.validity = Validity.at(position.owner, position.n, seals=seals)
        self.met = dict.fromkeys(Verdict, 0)
        self.forged: port.Forged | None = None
        self._assembly = Assembly()
        self._last_n = {NOBODY: 0} if position is None else {position.owner: position.n}
        self._began = position
        self._announced = ""
        """Where the owner in force took over, and what it says of itself, if that was read."""

    def take(self, offset: int, time_ms: int, value: bytes | None) -> port.Entry | None:
        """Take the log's next record; the entry, if a valid one is complete with it."""
        if offset != self.next_offset:
            raise self._missing(offset)
        self.next_offset = offset + 1
        if self._unconfirmed is not None:
            self._confirm(self._unconfirmed, value)
            return None
        try:
            verdict, envelope = self.validity.judge_value(value)
        except NewerVersion as newer:
            raise port.LedgerMismatch(f"{self._topic} at offset {offset}: {newer}") from newer
        self.met[verdict] += 1
        if verdict is Verdict.FORGED and offset > self._forged_through:
            self.forged = port.join_forged(self.forged, port.Forged(offset, offset))
        if verdict is Verdict.OWNER_CHANGED and envelope is not None:
            self._last_n[self.validity.owner] = 0
            self._announced = f" at offset {offset}: {text_of(envelope.payload)}"
        payload = self._assembly.take(verdict, envelope)
        if payload is None or envelope is None:
            return None
        self._last_n[envelope.owner] = envelope.n
        return port.Entry(offset, envelope.owner, envelope.n, time_ms, payload)

    def check_bounds(self, first: int, end: int) -> None:
        """Refuse a log that does not hold what comes next; first, end: its offsets, end excluded.

        Without a position the log must begin at 0: what was deleted would be skipped silently.
        """
        if self.next_offset < first:
            raise port.LedgerMismatch(
                f"{self._topic} begins at offset {first}, and offset {self.next_offset} is needed: "
                "its older records were deleted. Restore the topic from a copy, and check that its "
                "retention is off (retention.ms=-1, retention.bytes=-1)"
            )
        read_before = self.next_offset if self._unconfirmed is None else self.next_offset + 1
        if read_before > end:
            raise port.LedgerMismatch(
                f"{self._topic} ends at offset {end}, and was read up to offset {read_before} "
                "before: it was truncated or created again. Restore the topic from a copy, or "
                "remove the reader's saved position to read the new ledger from its start"
            )

    def require_own(self, offset: int, owner: bytes, value: bytes | None) -> None:
        """Refuse a log that does not hold, at that offset, the OWNER_CHANGED of this take-over."""
        try:
            found = decode(value)
        except ValueError:
            found = None
        if found is None or (found.kind, found.owner) != (OWNER_CHANGED, owner):
            raise port.LedgerMismatch(
                f"{self._topic} does not hold at offset {offset} what was just written there: it "
                "was created again meanwhile. Restore the topic from a copy, then start again"
            )

    def require_confirmed(self, confirmed: port.Position | None) -> None:
        """Refuse a log that has lost an entry that was confirmed: truncated, or another log.

        What lies before the position that it is read from need not be there.
        """
        if confirmed is None or (self._began and self._began.offset >= confirmed.offset):
            return
        last_n = self._last_n.get(confirmed.owner, -1)
        if last_n < confirmed.n:
            has = f"n {last_n}" if last_n >= 0 else "no entry"
            raise port.LedgerMismatch(
                f"{self._topic} has lost entries that Kafka had confirmed: of owner "
                f"{confirmed.owner.hex()} it has {has}, and n {confirmed.n} was at offset "
                f"{confirmed.offset}. It was truncated or created again: {RESTORE}"
            )

    def require_one_of(self, ours: OwnerAttempts, another: bytes | None) -> None:
        """Refuse to replace an owner but one of ours, or another one. NOBODY is an owner here."""
        owner = self.validity.owner
        if owner in ours:
            ours.add(owner)  # however many attempts fail from now on, it stays ours
        elif owner != another:
            raise port.OwnedByAnother(self._took_over())

    def require_replaced(self, replaced: bytes, owner: bytes, ours: Container[bytes]) -> None:
        """Refuse a take-over that is void: before it another one replaced the same owner.

        ours: owner ids of earlier attempts, given up after a timeout, that may be written late.
        """
        found = self.validity.owner
        if found in (replaced, owner):
            return
        raise self._came_first(found in ours)

    def _came_first(self, is_ours: bool) -> port.LedgerError:
        if is_ours:
            return port.LedgerUnavailable(
                f"{self._topic}: an earlier attempt of ours to take over, given up after a "
                f"timeout, was written late{self._announced}; try again"
            )
        return port.OwnedByAnother(
            f"{self._took_over()}. It came first, and was not disturbed: stop it, or start again "
            "with --take-over"
        )

    def _took_over(self) -> str:
        owner = self.validity.owner.hex()
        return f"{self._topic}: another owner took over{self._announced} ({owner})"

    def taken_over(self, offset: int, key: bytes = b"") -> port.TakenOver:
        """What a take-over says when all before our own record at offset has been taken.

        key: the id of the one that we seal with.
        """
        validity = self.validity
        last_n = max(0, validity.next_n - 1)
        return port.TakenOver(offset, self.met[Verdict.VALID], validity.owner, last_n, key)

    def _confirm(self, position: port.Position, value: bytes | None) -> None:
        self._unconfirmed = None
        try:
            found = decode(value)
        except ValueError as corrupt:
            raise self._another_ledger(position, str(corrupt)) from corrupt
        if (found.owner, found.n) != (position.owner, position.n):
            raise self._another_ledger(position, f"it holds {found.owner.hex()} n {found.n}")
        try:
            is_genuine = self.validity.resume_behind(value)
        except UnknownKey as unknown:
            at = f"{self._topic} at offset {position.offset}"
            raise port.LedgerMismatch(f"{at}: {unknown}") from unknown
        if not is_genuine:
            raise self._another_ledger(position, "its seal is not genuine")

    def _another_ledger(self, position: port.Position, found: str) -> port.LedgerMismatch:
        return port.LedgerMismatch(
            f"{self._topic} at offset {position.offset} is not what was read there before "
            f"(owner {position.owner.hex()} n {position.n}): {found}. The topic was truncated or "
            "created again: restore it from a copy, or remove the reader's saved position to read "
            "the new ledger from its start"
        )

    def _missing(self, offset: int) -> port.LedgerMismatch:
        return port.LedgerMismatch(
            f"{self._topic} has no record at offset {self.next_offset}; the next is {offset}. "
            "Records were deleted or the topic was created again: restore it from a copy, and "
            "check that its retention is off and nothing but mqk deletes from it"
        )
