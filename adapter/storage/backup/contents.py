"""What a backup consists of: a snapshot, the ledger behind it, and the messages that it speaks of.

A snapshot says which messages wait and not what they say: that is on the queues' topics, and in the
backup. Messages that came behind the snapshot's cut are in the ledger; a restore lets the
movers copy them from there. Nothing here knows Kafka.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from adapter.core.contract.ranges import Ranges
from adapter.core.contract.records import LaneRestored, MessageRestored, QueueRestored, Record
from adapter.storage.backup import file as files
from adapter.storage.format import chunks, descriptor, entries, names
from adapter.storage.format.schemas import UnreadableError
from adapter.storage.ledger.port import Position
from adapter.storage.ledger.scan import Scan
from adapter.storage.ledger.seals import NO_KEYS, SealKeys, Seals
from adapter.storage.ledger.snapshots import Snapshot

FIRST = 1
"""Where the first record of a restored ledger lies: before it there is the mark of a restore."""


class WaitingMessages(Struct):
    """What a snapshot speaks of: the queues' incarnations by name, and each lane's messages.

    whole: those that it holds itself because they were on no topic, by number, as they would lie.
    """

    queues: dict[str, int] = {}
    lanes: dict[files.BackupLane, Ranges] = {}
    whole: dict[files.BackupLane, dict[int, list[files.CopiedRecord]]] = {}


class Contents(Struct):
    """A backup that was read from its beginning to its end.

    cut: the entry up to which the messages are in it as copies. end: the ledger's last offset and
    one. records, messages: how many of the ledger, and how many wait at the cut.
    """

    header: files.BackupHeader
    snapshot: Snapshot
    waiting: WaitingMessages
    cut: Position
    end: int
    records: int
    messages: int

    def restored_position(self, position: Position) -> Position:
        """Say where an entry of the backup lies when it has been restored."""
        offset = position.offset - self.snapshot.after.offset + FIRST
        return Position(offset, position.owner, position.n)


def waiting_of(snapshot: Snapshot) -> WaitingMessages:
    """Read which messages a snapshot speaks of. Raises BackupError for one that is not known."""
    waiting = WaitingMessages()
    try:
        for part in snapshot.parts:
            for record in entries.decode(part):
                _take_in(waiting, record)
    except UnreadableError as newer:
        raise files.BackupError(
            f"the snapshot cannot be read by this mqk: {newer}; use the mqk that wrote it, or a "
            "newer one"
        ) from newer
    return waiting


def _take_in(waiting: WaitingMessages, record: Record) -> None:
    if isinstance(record, QueueRestored):
        waiting.queues[record.name] = record.incarnation
    elif isinstance(record, LaneRestored):
        lane = files.BackupLane(record.queue, waiting.queues[record.queue], record.lane)
        seqs = waiting.lanes.setdefault(lane, Ranges())
        for at in range(0, len(record.spans), 2):
            seqs.add_span(record.spans[at], record.spans[at + 1])
    elif isinstance(record, MessageRestored):
        lane = files.BackupLane(record.put.queue, waiting.queues[record.put.queue], record.put.lane)
        put, message = record.put, record.put.message
        header = (descriptor.HEADER, descriptor.encode(put, record.unit, record.unit_size))
        waiting.whole.setdefault(lane, {})[record.put.seq] = [
            files.CopiedRecord(put.seq, message.put_time_ms, headers, None, value)
            for headers, value in chunks.records_of(header, message.body)
        ]


def examine(path: Path, keys: SealKeys = NO_KEYS) -> Contents:
    """Read a whole backup and see that nothing is missing in it. Raises LedgerError.

    keys: of the seals of its ledger.
    """
    header = files.read_header(path)
    ledger = names.ledger_topic(header.queue_manager)
    examining = Examining(path, Seals(ledger, keys))
    for frame in files.read(path):
        if isinstance(frame, files.BackupLane):
            examining.lane = examining.found.setdefault(frame, Ranges())
        elif isinstance(frame, files.CopiedRecord):
            examining.copied(frame)
        elif isinstance(frame, files.SnapshotHead):
            examining.cut(frame)
        elif isinstance(frame, files.SnapshotPart):
            examining.parts.append(frame.content)
        elif isinstance(frame, files.LedgerRecord):
            examining.entry(frame)
    return examining.contents(header)


class Examining:
    """What has been read of a backup so far."""

    def __init__(self, path: Path, seals: Seals) -> None:
        self._path = path
        self._seals = seals
        self.lane: Ranges | None = None
        self.found: dict[files.BackupLane, Ranges] = {}
        self.parts: list[bytes] = []
        self._head: files.SnapshotHead | None = None
        self._scan: Scan | None = None
        self._cut: Position | None = None
        self._records = 0

    def copied(self, frame: files.CopiedRecord) -> None:
        """Take a message's copy in."""
        if self.lane is None:
            raise files.damage(self._path, f"message {frame.seq} is of no lane")
        self.lane.add(frame.seq)

    def cut(self, frame: files.SnapshotHead) -> None:
        """Take the head of the snapshot in."""
        if self._head is not None:
            raise files.damage(self._path, "it has two snapshots")
        self._head = frame
        after = Position(frame.offset, frame.owner, frame.n)
        self._scan = Scan(str(self._path), after, self._seals)
        if frame.cut_n == frame.n:
            self._cut = after

    def entry(self, frame: files.LedgerRecord) -> None:
        """Take a record of the ledger in."""
        head, scan = self._head, self._scan
        if head is None or scan is None:
            raise files.damage(self._path, f"offset {frame.offset} comes before the snapshot")
        entry = scan.take(frame.offset, frame.time_ms, frame.value)
        self._records += 1
        if self._cut is None and entry and (entry.owner, entry.n) == (head.owner, head.cut_n):
            self._cut = Position(entry.offset, entry.owner, entry.n)

    def contents(self, header: files.BackupHeader) -> Contents:
        """Say what there is, when all has been read."""
        head, scan = self._head, self._scan
        if head is None or scan is None or len(self.parts) != head.parts:
            raise files.damage(self._path, "its snapshot is not whole")
        if self._cut is None or not self._records:
            raise files.damage(self._path, f"it ends before entry n {head.cut_n} of its snapshot")
        snapshot = Snapshot(Position(head.offset, head.owner, head.n), head.cut_n, self.parts)
        waiting = waiting_of(snapshot)
        for lane, wanted in waiting.lanes.items():
            found = self.found.get(lane, Ranges())
            missing = next((seq for seq in wanted if seq not in found), None)
            if missing is not None:
                what = f"message {missing} of queue {lane.queue}, lane {lane.lane}, is not in it"
                raise files.damage(self._path, what)
        messages = sum(wanted.total for wanted in waiting.lanes.values())
        end = scan.next_offset
        return Contents(header, snapshot, waiting, self._cut, end, self._records, messages)
