"""A backup that was taken and restored is the queue manager that was, its messages once each."""

import itertools
from pathlib import Path
from types import SimpleNamespace

import pytest

from adapter.core import dispatch
from adapter.core.contract import commands as c
from adapter.core.contract.pages import Paged
from adapter.core.contract.records import Record
from adapter.core.rules.drive import restore
from adapter.runtime.owner import replay
from adapter.runtime.owner.storage import CopyStatus, Storage
from adapter.storage.backup import kafka, restoring
from adapter.storage.backup.contents import FIRST, Contents, examine
from adapter.storage.backup.file import BackupError, BackupLane, Frame, SnapshotPart, new, read
from adapter.storage.backup.file import CopiedRecord as Copy
from adapter.storage.format import descriptor, entries
from adapter.storage.ledger import envelope
from adapter.storage.ledger.envelope import ENTRY, OWNER_CHANGED, encode
from adapter.storage.ledger.memory import MemoryLedger, MemoryLog
from adapter.storage.ledger.port import LedgerMismatch, Position
from adapter.storage.ledger.scan import Scan
from adapter.storage.ledger.snapshots import MemorySnapshots, Snapshot
from adapter.storage.topics.port import Page, PagesUnavailableError
from tests.support.backup_place import MARK, MemoryPlace, header, take
from tests.support.core import Client, client_on

OWNERS = [bytes([number]) * 16 for number in range(1, 9)]


class Running:
    """A queue manager whose ledger and topics are a place; its entries go there by write()."""

    def __init__(self, *queues: str) -> None:
        self.client: Client = client_on(*queues)
        self.core = self.client.core
        self.place = MemoryPlace()
        self.n = self.owner = 0
        self.written = 0
        self.parked: frozenset[str] = frozenset()
        self.take_over()
        self.write()

    def take_over(self) -> None:
        """Another owner comes."""
        self.owner, self.n = self.owner + 1, 0
        self.place.values.append(encode(OWNER_CHANGED, OWNERS[self.owner], 0, b"me"))

    def write(self, *, copy: bool = True) -> None:
        """Write what was decided, and copy it, unless its topic is parked."""
        for payload in self.core.entries[self.written :]:
            self.n += 1
            self.place.values.append(encode(ENTRY, OWNERS[self.owner], self.n, payload))
            if copy:
                self.place.copy_entry(payload)
        self.written = len(self.core.entries)

    def snapshot(self, behind: int = 0, *, trim: bool = True) -> None:
        """Write a snapshot; behind: its position is so many entries before its cut."""
        qm = self.core.qm
        records = [*dispatch.snapshot(qm), *restore.whole(dispatch.unmoved(qm, 9, self.parked))]
        parts = [entries.encode_by_schema([one]) for one in records]
        after = Position(len(self.place.values) - 1 - behind, OWNERS[self.owner], self.n - behind)
        self.place.snapshots.append(Snapshot(after, self.n, parts))
        if trim:
            self.place.first = after.offset

    def put(self, *bodies: str, priority: int = 0) -> None:
        for body in bodies:
            self.client.put(body, priority=priority)
        self.write()


def restored(place: MemoryPlace, path: Path) -> tuple[MemoryPlace, Contents]:
    """Take a backup, restore it, and let movers go on there."""
    take(place, path)
    contents = examine(path)
    found = MemoryPlace()
    restoring.restore(path, contents, found, lambda: None)
    assert found.progress is not None
    messages = {(lane, one.seq) for lane, copies in found.lanes.items() for one in copies}
    assert len(messages) == contents.messages, "no others"
    let_movers_go_on(found)
    return found, contents


def let_movers_go_on(place: MemoryPlace) -> None:
    at = place.progress
    assert at is not None
    scan = Scan("ledger", Position(at.offset, at.owner, at.n))
    for offset, value in itertools.islice(enumerate(place.values), at.offset, None):
        entry = scan.take(offset, 0, value)
        if entry is not None:
            place.copy_entry(entry.payload)


class Pages:
    """Reads what lies on a place's lanes."""

    def __init__(self, place: MemoryPlace) -> None:
        self._place = place

    def read(self, queue: str, incarnation: int, lane: int, seq: int, count: int) -> Page:
        assert count == 1
        for one in self._place.lane(BackupLane(queue, incarnation, lane), seq):
            header = one.headers[0][1]
            assert header is not None
            message, at = descriptor.decode(header, one.value or b"")
            fields = {name: getattr(at, name) for name in at.__struct_fields__}
            return Page(at.seq, [Paged(message=message, **fields)])
        raise PagesUnavailableError(f"{queue} {incarnation} {lane} {seq}")

    def rest(self) -> None:
        """See PageReader."""

    def close(self) -> None:
        pass


def replayed(place: MemoryPlace) -> list[Record]:
    """What an owner that starts there knows."""
    log = MemoryLog("restored")
    for value in place.values:
        log.write(value or b"")
    ledger = MemoryLedger(log)
    ledger.trim(place.first)
    storage = Storage(snapshots=place, pages=Pages(place), copied=CopyStatus)
    qm = replay.take_over("QM1", b"o" * 16, "a test", ledger, None, storage).qm
    ledger.close()
    return list(dispatch.snapshot(qm))


def check_same(running: Running, found: MemoryPlace) -> None:
    """The state is what it was, and every message that waits is on its lane once, in order."""
    wanted = list(dispatch.snapshot(running.core.qm))
    assert replayed(found) == wanted
    for lane, copies in found.lanes.items():
        seqs = [one.seq for one in copies]
        assert seqs == sorted(set(seqs)), f"{lane}: {seqs}"
    contents: dict[BackupLane, dict[int, Copy]] = {
        lane: {one.seq: one for one in copies} for lane, copies in found.lanes.items()
    }
    for lane, copies in running.place.lanes.items():
        queue = running.core.qm.queues.get(lane.queue)
        if queue is None or queue.incarnation != lane.incarnation:
            continue
        live = {-place[0]: [] for place in queue.stored}  # type: dict[int, list[int]]
        for place in queue.stored:
            live[-place[0]].append(place[1])
        for one in copies:
            if one.seq in live.get(lane.lane, []):
                assert contents[lane][one.seq] == one


@pytest.mark.parametrize("copied", [(), (7, 8), (9,)])
def test_what_only_the_snapshot_holds_is_taken_from_it(
    tmp_path: Path, copied: tuple[int, ...]
) -> None:
    """A topic is parked; some messages come to it while the backup is taken."""
    running = Running("Q")
    running.put("a", "b")
    for body in "cdefghij":
        running.client.put(body)
    running.write(copy=False)
    assert running.client.get() == ["a"]
    running.parked = frozenset({"Q"})
    for stored in running.core.qm.queues["Q"].stored.values():
        stored.entry_n = 3 if stored.place[1] > 2 else -1
    running.snapshot()
    for number in copied:
        running.place.copy_entry(running.core.entries[number])
    found, contents = restored(running.place, tmp_path / "backup")
    assert contents.messages == 9
    (copies,) = found.lanes.values()
    assert [(one.seq, one.value) for one in copies] == [
        (number, b"%c" % (96 + number)) for number in range(2, 11)
    ]
    assert replayed(found) == list(dispatch.snapshot(running.core.qm))


def work(running: Running) -> None:
    """Something of everything: holes, counts, held messages, outcomes, incarnations."""
    client = running.client
    for number in range(30):
        running.put(f"first {number}", priority=number % 3)
    unit = client.begin()
    client.get(unit, limit=4)
    client.do(c.Backout(unit))
    held = client.begin()
    client.get(held, limit=2)
    for _ in range(5):
        client.get()
    client.define("GONE")
    client.open("GONE", handle=8)
    client.put("of another queue", handle=8)
    client.do(c.Close(8))
    client.do(c.DeleteQueue("GONE", purge=True))
    client.define("GONE")
    client.open("GONE", handle=8)
    client.put("of the next one", handle=8)
    running.write()


@pytest.mark.parametrize("behind", [0, 3])
@pytest.mark.parametrize("trim", [False, True])
def test_a_restored_queue_manager_is_the_one_that_was(
    tmp_path: Path, behind: int, trim: bool
) -> None:
    running = Running("Q", "R")
    work(running)
    running.snapshot(behind, trim=trim)
    work_on(running)
    found, contents = restored(running.place, tmp_path / "backup")
    check_same(running, found)
    assert contents.messages == 26, "of the snapshot: 30 and 1, without 5"
    assert sum(isinstance(one, Copy) for one in read(tmp_path / "backup")) == 26
    assert found.queues["GONE"] == 1
    assert found.progress is not None
    assert found.progress.incarnations == {"GONE": 1}
    assert found.values[0] == MARK
    assert found.first == FIRST


def work_on(running: Running) -> None:
    running.take_over()
    for number in range(7):
        running.put(f"then {number}", priority=number % 3)
    for _ in range(3):
        running.client.get()
    running.write()


def test_a_ledger_without_a_snapshot_is_restored_from_its_beginning(tmp_path: Path) -> None:
    running = Running("Q")
    running.place.values.insert(0, b"of another program")
    work(running)
    found, contents = restored(running.place, tmp_path / "backup")
    check_same(running, found)
    assert contents.messages == 0
    assert contents.snapshot.after.offset == 1


def test_a_backup_can_be_taken_of_what_was_restored(tmp_path: Path) -> None:
    running = Running("Q")
    work(running)
    running.snapshot()
    found, _ = restored(running.place, tmp_path / "first")
    again, _ = restored(found, tmp_path / "second")
    check_same(running, again)


def test_a_queue_manager_that_runs_meanwhile_trims_what_was_to_be_read(tmp_path: Path) -> None:
    """Its ledger, and messages that were got; then its newest snapshot counts."""
    running = Running("Q", "R")
    for number in range(40):
        running.put(f"{number}", priority=number % 2)
    running.snapshot()
    turns = itertools.count()

    def meanwhile(_lane: BackupLane | None = None) -> None:
        if next(turns) > 6:
            return
        for _ in range(4):
            running.client.get()
        running.put("new")
        running.write()
        running.snapshot(behind=1)
        for lane, copies in running.place.lanes.items():
            queue = running.core.queue(lane.queue)
            needed = min((at[1] for at in queue.stored if at[0] == -lane.lane), default=10**9)
            running.place.lanes[lane] = [one for one in copies if one.seq >= needed]

    running.place.before_lane = meanwhile
    running.place.before_ledger = meanwhile
    found, _ = restored(running.place, tmp_path / "backup")
    assert next(turns) > 7
    check_same(running, found)


@pytest.mark.parametrize("when", ["before its bounds are read", "before it is read"])
def test_a_first_snapshot_that_is_written_meanwhile_counts(
    tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running("Q")
    running.put("a", "b")
    place = running.place
    bounds = place.bounds
    left = ["c"]

    def write_it() -> None:
        while left:
            running.put(left.pop())
            running.snapshot()

    def bounds_later() -> tuple[int, int]:
        write_it()
        return bounds()

    if when == "before it is read":
        place.before_ledger = write_it
    else:
        monkeypatch.setattr(place, "bounds", bounds_later)
    found, contents = restored(place, tmp_path / "backup")
    check_same(running, found)
    assert contents.messages == 3
    assert not left


def test_a_message_of_several_records_is_copied_whole(tmp_path: Path) -> None:
    running = Running("Q")
    running.put("a", "b")
    ((lane, copies),) = running.place.lanes.items()
    running.place.lanes[lane] = [one for one in copies for _ in range(3)]
    running.snapshot()
    found, _ = restored(running.place, tmp_path / "backup")
    assert [one.seq for one in found.lanes[lane]] == [1, 1, 1, 2, 2, 2]


def test_a_message_that_is_not_on_its_topic_is_missed(tmp_path: Path) -> None:
    running = Running("Q")
    running.put("a", "b", "c")
    running.snapshot()
    ((lane, copies),) = running.place.lanes.items()
    for lost in range(3):
        running.place.lanes[lane] = [one for one in copies if one.seq != lost + 1]
        words = rf"was not backed up: message {lost + 1} of queue Q, lane \d, is not on"
        with pytest.raises(BackupError, match=words):
            take(running.place, tmp_path / "backup")
    assert not (tmp_path / "backup").exists()


def test_what_cannot_be_backed_up_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="is empty: no owner has begun"):
        take(MemoryPlace(), tmp_path / "backup")
    running = Running("Q")
    running.place.first = 1
    with pytest.raises(BackupError, match="begins at offset 1, and no snapshot stands for what"):
        take(running.place, tmp_path / "backup")
    running.snapshot()
    running.place.first = len(running.place.values)
    with pytest.raises(BackupError, match="was not backed up: offset"):
        take(running.place, tmp_path / "backup")
    running.place.snapshots[-1].parts = [b"\x09"]
    with pytest.raises(BackupError, match=r"snapshot cannot be read by this mqk: .*version 9"):
        take(running.place, tmp_path / "backup")


def changed(frames: list[Frame], path: Path) -> Path:
    with new(path, header()) as writer:
        for frame in frames:
            writer.write(frame)
    return path


def test_a_backup_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    running = Running("Q")
    running.put("a", "b")
    running.snapshot(behind=1)
    take(running.place, tmp_path / "backup")
    frames = list(read(tmp_path / "backup"))
    kinds = [type(frame).__name__ for frame in frames]
    assert kinds.count("LedgerRecord") == 2
    copied, cut, part = (
        kinds.index(kind) for kind in ("CopiedRecord", "SnapshotHead", "SnapshotPart")
    )
    wrong: list[tuple[list[Frame], str]] = [
        (frames[1:], "message 1 is of no lane"),
        (frames[:copied] + frames[copied + 1 :], "message 1 of queue Q, lane 0, is not in it"),
        (frames[:cut] + frames[cut + 1 :], r"offset \d+ comes before the snapshot"),
        (frames[: cut + 1] + frames[cut:], "it has two snapshots"),
        (frames[:part] + frames[part + 1 :], "its snapshot is not whole"),
        (frames[:-1], r"it ends before entry n \d+ of its snapshot"),
        ([one for one in frames if not isinstance(one, SnapshotPart)], "its snapshot is not whole"),
    ]
    for at, (without, words) in enumerate(wrong):
        with pytest.raises(BackupError, match=f"is damaged: {words}. Use another backup"):
            examine(changed(without, tmp_path / str(at)))
    with pytest.raises(LedgerMismatch, match="has no record at offset"):
        examine(changed(frames[:-2] + frames[-1:], tmp_path / "gap"))


@pytest.mark.parametrize("has_snapshot", [False, True])
def test_a_restore_is_unfinished_until_its_snapshot_is_there(
    monkeypatch: pytest.MonkeyPatch, has_snapshot: bool
) -> None:
    """What is behind a snapshot is whole, though the mark be there: it is not begun again."""
    log, snapshots = MemoryLog(), MemorySnapshots()
    log.write(envelope.restoring(bytes(16)))
    log.write(encode(OWNER_CHANGED, OWNERS[0], 0, bytes(16)))
    if has_snapshot:
        snapshots.write(Snapshot(Position(1, OWNERS[0], 0), 0, [b"\1\0"]))
        assert snapshots.newest() is not None
    monkeypatch.setattr(kafka, "Whole", lambda _: SimpleNamespace(first=log.first, end=log.end))
    monkeypatch.setattr(kafka, "read_values", lambda *_: [log.read(log.first, 1)[0].value])
    target = kafka.KafkaRestoreTarget.__new__(kafka.KafkaRestoreTarget)
    monkeypatch.setattr(target, "_ledger", None, raising=False)
    monkeypatch.setattr(target, "_snapshots", snapshots, raising=False)
    monkeypatch.setattr(target, "_mark", envelope.restoring(bytes(16)), raising=False)
    assert target.is_unfinished() is not has_snapshot
    assert target.has_mark()
    log.trim(1)
    assert not target.is_unfinished()
    assert not target.has_mark()
