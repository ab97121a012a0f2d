"""Snapshots of the owner: progress from offsets to n, parts of bounded size, state for state."""

import pytest

from adapter.core import dispatch, inputs
from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.pages import PageNeeded
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.snapshots import PART_BYTES, SAMPLES_MAX, EntryProgress, parts_of
from adapter.runtime.owner.storage import NOTHING, CopyStatus
from adapter.storage.format import entries
from adapter.storage.ledger.port import Position
from tests.golden.state import state
from tests.support.core import client_on

OWNER = b"o" * 16


def test_progress_goes_from_offsets_to_entries() -> None:
    progress = EntryProgress()
    progress.note(Position(10, OWNER, 0), CopyStatus())
    assert progress.moved_n == NOTHING
    progress.note(Position(14, OWNER, 4), CopyStatus(position=9))
    assert progress.moved_n == NOTHING
    progress.note(Position(14, OWNER, 4), CopyStatus(position=10))
    assert progress.moved_n == 0
    progress.note(Position(20, OWNER, 9), CopyStatus(position=19))
    assert progress.moved_n == 4
    progress.note(Position(20, OWNER, 9), CopyStatus(position=30))
    assert progress.moved_n == 9


def test_parts_are_bounded_and_say_it_all() -> None:
    records: list[r.Record] = [
        r.LaneRestored("Q", 0, 9, list(range(20_000)), [], []) for _ in range(20)
    ]
    queues = [r.QueueNoted("Q" * 48, number, 10 * [2**62]) for number in range(5_000)]
    records += [
        r.ConsumedRestored(2**53, queues),
        r.ConsumedRestored(0, [r.QueueNoted("Q", 0, [])]),
    ]
    parts = parts_of(records)
    assert len(parts) > 5
    assert max(map(len, parts)) < 2 * PART_BYTES
    assert [one for part in parts for one in entries.decode(part)] == records
    assert entries.decode(parts_of([])[0]) == []


def test_many_endpoints_are_a_few_parts() -> None:
    """Each is a record of the topic of snapshots."""
    names = ("broker$\\q", "//site/Asks", "//site/Answers", "", "DEFAULT")
    records: list[r.Record] = [
        r.ConversationSet(n.to_bytes(16, "big"), bytes(16), bytes(16), *names, True, 5)
        for n in range(20_000)
    ]
    parts = parts_of(records)
    assert sum(map(len, parts)) / len(parts) > PART_BYTES / 8
    assert [one for part in parts for one in entries.decode(part)] == records


def test_a_snapshot_says_what_the_ledger_said() -> None:
    client = client_on("A", "B", backout_threshold=3)
    for number in range(20):
        client.put(str(number), priority=number % 4, expiry_ms=900_000 if number % 5 else -1)
    for handle in (1, 2):
        unit = client.begin()
        client.put("in a unit", unit=unit, handle=handle)
        client.get(unit, handle=1)
        client.do(c.Backout(unit) if handle == 1 else c.Commit(unit))
    client.get(handle=1)
    client.define("GONE")
    client.do(c.DeleteQueue("GONE"))
    client.seen(1, 2, 3)
    client.put("with what was seen")
    core = client.core
    expected = state(core.replayed())
    restored = QueueManager("QM1", OWNER)
    for part in parts_of(list(dispatch.snapshot(core.qm))):
        for record in entries.decode(part):
            dispatch.replay(restored, record)
    assert restored.numbers.incarnations == core.qm.numbers.incarnations
    for name, queue in restored.queues.items():
        for lane in queue.lanes:
            for seq in list(lane.paged):
                page = [core.topics[name, queue.incarnation, lane.number][seq]]
                wanted = PageNeeded(name, lane.number, seq)
                dispatch.step(restored, core.now(), inputs.PageLoaded(wanted, 0, seq, page))
    found = state(restored)
    assert found["queues"] == expected["queues"]
    assert found["sessions"] == expected["sessions"]


@pytest.mark.parametrize("behind", [10, SAMPLES_MAX - 1, SAMPLES_MAX + 1, 3 * SAMPLES_MAX])
def test_however_far_movers_are_behind_progress_counts(behind: int) -> None:
    """Coarser, when there are more samples than are kept."""
    progress, looks = EntryProgress(), 5 * SAMPLES_MAX
    for look in range(looks):
        progress.note(Position(1_000 + look, OWNER, look), CopyStatus(1_000 + look - behind, 0))
        assert progress.moved_n <= max(look - behind, NOTHING)
    assert progress.moved_n >= (looks - 1 - behind) * 0.99
    assert len(progress._samples) <= SAMPLES_MAX
