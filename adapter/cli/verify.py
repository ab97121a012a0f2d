"""Looking for what is wrong in a ledger: `mqk ledger verify`.

Every record goes the way that it goes when an owner starts: the rule that says what counts, the
format, and replay into a core of its own. It must not know where records come from.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.cli.explain import MEANING
from adapter.core import dispatch
from adapter.core.contract import records as r
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.replay import UNFIT, restore
from adapter.storage.format import descriptor, entries, names
from adapter.storage.format.progress import CopyProgress
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.envelope import OWNER_BYTES, NewerVersion, UnknownKey
from adapter.storage.ledger.port import Raw
from adapter.storage.ledger.seals import NO_KEYS, SealKeys, Seals
from adapter.storage.ledger.snapshots import Snapshot, covers
from adapter.storage.ledger.validity import Assembly, Validity, Verdict

HARMLESS = frozenset({Verdict.DUPLICATE, Verdict.VOID, Verdict.FORGED})
"""What failures and other writers leave behind, and the rule that says what counts is there for."""


class Observation(Struct, frozen=True):
    """Something that is not as usual. anomaly: it must not be; else it is only told."""

    offset: int
    anomaly: bool
    text: str


class Verifier:
    """Takes a ledger's records in order, and finds what is wrong with them."""

    def __init__(
        self,
        name: str,
        snapshot: Snapshot | None = None,
        copied: CopyProgress | None = None,
        keys: SealKeys = NO_KEYS,
    ) -> None:
        """snapshot: what stands for the entries that have been deleted. copied: see copies(). keys:
        of the ledger's seals.
        """
        self._seals = Seals(names.ledger_topic(name), keys)
        self._copied = copied or CopyProgress()
        self._copies: dict[tuple[str, int], int] = {}
        self.qm = QueueManager(name, bytes(OWNER_BYTES))
        self.records = self.entries = self.owners = self.anomalies = 0
        self._next = 0
        self._validity = Validity(self._seals)
        self._assembly = Assembly()
        self._reader = descriptor.DescriptorReader()
        self._seqs: dict[tuple[str, int], int] = {}
        self._replayable = True
        self._snapshot = snapshot
        if snapshot is not None:
            restore(self.qm, snapshot, self._reader)

    def take(self, raw: Raw) -> list[Observation]:
        """Take the next record; what is to be said about it. Raises UnknownKey."""
        found: list[Observation] = []
        if not self.records and self._snapshot is not None:
            self._next = raw.offset
            self._validity = Validity.of_trimmed(raw.value, self._seals)
        if raw.offset != self._next:
            gap = f"the records from offset {self._next} on are missing: {raw.offset} comes next"
            found.append(Observation(self._next, True, gap))
        self._next = raw.offset + 1
        self.records += 1
        try:
            found += self._judge(raw)
        except UnknownKey:
            raise
        except NewerVersion as newer:
            found.append(Observation(raw.offset, True, str(newer)))
        self.anomalies += sum(one.anomaly for one in found)
        return found

    def finish(self) -> list[Observation]:
        """Say what is wrong with the whole, when every record has been taken."""
        if self._snapshot is None or not self.records or self.entries or self.owners:
            return []
        self.anomalies += 1
        text = "no record of the ledger counts, so that nothing in it was verified"
        return [Observation(self._next - 1, True, text)]

    def copies(self) -> dict[tuple[str, int], int]:
        """Return the last copy to each topic and lane, as the movers' progress says; its seq."""
        found = {}
        for (name, lane), seq in self._copies.items():
            queue = self.qm.queues.get(name)
            if queue is not None:
                topic = names.queue_topic(self.qm.name, name, queue.incarnation)
                found[topic, lane] = seq
        return {at: seq for at, seq in found.items() if at[0] not in self._copied.parked}

    def _judge(self, raw: Raw) -> list[Observation]:
        verdict, envelope = self._validity.judge_value(raw.value)
        if verdict is Verdict.OWNER_CHANGED:
            self.owners += 1
            return []
        payload = self._assembly.take(verdict, envelope)
        if verdict is Verdict.PART:
            return []
        if envelope is not None and verdict is Verdict.VALID and payload is None:
            return self._judge_beginning(raw)
        if payload is None or envelope is None:
            return [Observation(raw.offset, verdict not in HARMLESS, MEANING[verdict])]
        self.entries += 1
        snapshot = self._snapshot
        known = snapshot is not None and (
            raw.offset <= snapshot.after.offset or covers(snapshot, envelope.owner, envelope.n)
        )
        is_copied = not known and raw.offset <= self._copied.offset
        problems = self._read(payload, known, is_copied)
        return [Observation(raw.offset, True, text) for text in problems]

    def _judge_beginning(self, raw: Raw) -> list[Observation]:
        """Judge the end of an entry that has begun before the first record that is left."""
        self.entries += 1
        if self._snapshot is not None and raw.offset <= self._snapshot.after.offset:
            return []
        text = "the end of an entry whose beginning was deleted: no snapshot stands for it"
        return [Observation(raw.offset, True, text)]

    def _read(self, payload: bytes, known: bool, is_copied: bool) -> list[str]:
        try:
            records = entries.decode(payload, self._reader)
        except UnreadableError as problem:
            return [f"unreadable: {problem}"]
        except UNFIT as problem:
            return [f"unreadable: {problem!r}"]
        problems = []
        for record in records:
            problems += self._numbering(record)
            if isinstance(record, r.QueueDefined | r.QueueDeleted):
                self._copies = {at: seq for at, seq in self._copies.items() if at[0] != record.name}
            elif isinstance(record, r.UnitCommitted) and is_copied:
                self._copies |= {(put.queue, put.lane): put.seq for put in record.puts}
            problems += [] if known else self._replay(record)
        return problems

    def _replay(self, record: r.Record) -> list[str]:
        """Apply a record; behind one that cannot be applied, nothing else can be judged by it."""
        if not self._replayable:
            return []
        kind = type(record).__name__
        try:
            why = dispatch.replay(self.qm, record)
        except UNFIT as problem:
            self._replayable = False
            return [f"{kind} cannot be applied: {problem!r}; what follows is not replayed"]
        if not why:
            return []
        return [f"{kind} does not fit the records before it: {why}; a start leaves that out"]

    def _numbering(self, record: r.Record) -> list[str]:
        """Whether the messages of every lane are numbered densely."""
        if isinstance(record, r.QueueDefined | r.QueueDeleted):
            self._seqs = {at: seq for at, seq in self._seqs.items() if at[0] != record.name}
        if not isinstance(record, r.UnitCommitted):
            return []
        problems = []
        for put in record.puts:
            wanted = self._seqs.get((put.queue, put.lane), 1)
            is_met = self._snapshot is None or (put.queue, put.lane) in self._seqs
            if put.seq != wanted and is_met:
                problems.append(
                    f"a message on {put.queue}, lane {put.lane}, has seq {put.seq}, and {wanted} "
                    "comes next"
                )
            self._seqs[put.queue, put.lane] = put.seq + 1
        return problems
