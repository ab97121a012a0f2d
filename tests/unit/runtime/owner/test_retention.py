"""Retention: what is noted with snapshots, and when it is due."""

import pytest

from adapter.core import dispatch
from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.retention import (
    BATCH_LANES,
    NOTES,
    PAUSE_SWEEPS,
    Retention,
    marks_of,
)
from adapter.runtime.owner.storage import FOREVER
from adapter.storage.topics.port import ALL, LaneKey, Trimmed
from tests.support.core import client_on

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NONE: frozenset[str] = frozenset()


def snapshot(*lanes: tuple[str, int, int], gone: int = 0) -> list[r.Record]:
    """The records of a snapshot: name, lane and first message that is needed, of each lane."""
    queues = dict.fromkeys(name for name, _, _ in lanes)
    names = dict.fromkeys(queues, 1) | ({"GONE": gone} if gone else {})
    return [
        r.NamesRestored(names),
        *(r.QueueRestored(name, 0, {}, 0, False, []) for name in queues),
        *(r.LaneRestored(name, lane, 99, [seq, 98], [], []) for name, lane, seq in lanes),
    ]


def noted(retention: Retention, records: list[r.Record], now_ms: int) -> list[r.Record]:
    notes = retention.note(records, now_ms)
    retention.written()
    return notes


def test_what_is_on_a_queue_is_needed_and_so_is_what_units_hold() -> None:
    client = client_on("A", "B")
    for number in range(6):
        client.put(str(number), priority=2 * (number % 2), handle=1)
    client.get(handle=1)  # 1, of lane 2
    held = client.begin()
    client.get(held, handle=1)  # 3
    client.get(handle=1)  # 5
    for _ in range(3):
        client.get(handle=1)  # all of lane 0
    client.define("GONE")
    client.do(c.DeleteQueue("GONE"))
    marks = marks_of(dispatch.snapshot(client.core.qm))
    assert marks.first == {("A", 0, 0): 4, ("A", 0, 2): 2}
    assert marks.ended == {"A": 0, "B": 0, "GONE": 1}


def test_the_first_message_of_a_lane_in_several_records_counts() -> None:
    lane = [r.LaneRestored("Q", 0, 99, [seq, seq], [], []) for seq in (7, 9)]
    marks = marks_of([r.QueueRestored("Q", 3, {}, 0, False, []), *lane])
    assert marks.first == {("Q", 3, 0): 7}


def test_what_was_noted_is_due_when_it_is_old_enough() -> None:
    retention = Retention(DAY_MS, [])
    noted(retention, snapshot(("Q", 0, 5)), HOUR_MS)
    assert retention.due(HOUR_MS + DAY_MS - 1, NONE) == {}
    due: dict[LaneKey, int] = {("Q", 0, 0): 5}
    assert retention.due(HOUR_MS + DAY_MS, NONE) == due
    retention.done(due, Trimmed(4))
    assert retention.due(HOUR_MS + DAY_MS, NONE) == {}
    assert retention.statistics() == {
        "trimmed_offsets": 4,
        "deleted_topics": 0,
        "trim_failures": 0,
        "trims_waiting": 0,
    }


def test_a_note_counts_when_its_snapshot_is_durable() -> None:
    retention = Retention(0, [])
    retention.note(snapshot(("Q", 0, 5)), 1)
    assert retention.due(DAY_MS, NONE) == {}
    retention.note(snapshot(("Q", 0, 7)), 2)  # the one before was not finished
    retention.written()
    assert retention.due(DAY_MS, NONE) == {("Q", 0, 0): 7}


def test_notes_go_on_with_the_next_term() -> None:
    first = Retention(DAY_MS, [])
    noted(first, snapshot(("Q", 0, 5)), 0)
    notes = noted(first, snapshot(("Q", 0, 8)), HOUR_MS * 3)
    qm = QueueManager("QM1", b"next owner")
    for note in notes:
        dispatch.replay(qm, note)
    second = Retention(DAY_MS, qm.noted)
    assert second.due(DAY_MS, NONE) == {("Q", 0, 0): 5}
    assert second.due(DAY_MS + 3 * HOUR_MS, NONE) == {("Q", 0, 0): 8}


def test_only_what_has_changed_is_noted_and_not_too_often() -> None:
    retention = Retention(DAY_MS, [])
    noted(retention, snapshot(("A", 0, 5), ("A", 1, 1), ("B", 9, 2)), 0)
    again = noted(retention, snapshot(("A", 0, 6), ("B", 9, 2)), DAY_MS // NOTES - 1)
    assert len(again) == 1
    notes = noted(retention, snapshot(("A", 0, 7), ("B", 9, 2)), DAY_MS // NOTES)
    assert notes == [
        r.ConsumedRestored(
            0, [r.QueueNoted("A", 0, [5] + 9 * [0]), r.QueueNoted("B", 0, 9 * [0] + [2])]
        ),
        r.ConsumedRestored(DAY_MS // NOTES, [r.QueueNoted("A", 0, [7] + 9 * [0])]),
    ]
    assert len(noted(retention, snapshot(("A", 0, 7), ("B", 9, 2)), DAY_MS // 2)) == 2


def test_of_a_queue_that_is_gone_nothing_is_needed() -> None:
    retention = Retention(0, [])
    noted(retention, snapshot(("Q", 0, 1), gone=2), 0)
    lanes = {("GONE", incarnation, lane): ALL for incarnation in (0, 1) for lane in range(10)}
    assert retention.due(0, NONE) == lanes
    assert noted(retention, snapshot(("Q", 0, 1), gone=2), 1) == []


def test_forever_is_forever() -> None:
    retention = Retention(FOREVER, [r.ConsumedRestored(0, [r.QueueNoted("Q", 0, [5])])])
    assert noted(retention, snapshot(("Q", 0, 5)), 0) == []
    assert retention.due(1000 * DAY_MS, NONE) == {}


def test_a_clock_that_was_ahead_holds_nothing() -> None:
    retention = Retention(HOUR_MS, [])
    noted(retention, snapshot(("Q", 0, 5)), 1000 * DAY_MS)
    assert retention.due(DAY_MS, NONE) == {}
    assert retention.due(DAY_MS + HOUR_MS, NONE) == {("Q", 0, 0): 5}


def test_parked_queues_wait_and_batches_are_bounded() -> None:
    retention = Retention(0, [])
    lanes = [(f"Q{number}", lane, 2) for number in range(30) for lane in range(10)]
    noted(retention, snapshot(*lanes), 0)
    batch = retention.due(0, frozenset({"Q0"}))
    assert len(batch) == BATCH_LANES
    assert not any(queue == "Q0" for queue, _, _ in batch)
    retention.done(batch, Trimmed())
    batch = retention.due(0, frozenset({"Q0"}))
    assert len(batch) == 90
    retention.done(batch, Trimmed())
    assert retention.due(0, NONE) == {}  # what was parked is noted anew
    noted(retention, snapshot(*lanes), 0)
    assert len(retention.due(0, NONE)) == 10


def test_what_was_parked_is_noted_anew() -> None:
    """Its topic may have been created again, with all that the ledger has."""
    retention = Retention(0, [])
    for _ in range(2):
        noted(retention, snapshot(("A", 0, 5), ("B", 0, 6)), 0)
        batch = retention.due(0, NONE)
        retention.done(batch, Trimmed())
    assert retention.due(0, frozenset({"A"})) == {}
    assert retention.due(0, NONE) == {}
    noted(retention, snapshot(("A", 0, 5), ("B", 0, 6)), 0)
    assert retention.due(0, NONE) == {("A", 0, 0): 5}


def test_what_failed_is_tried_again_after_a_while_and_what_had_no_time_at_once() -> None:
    retention = Retention(0, [])
    noted(retention, snapshot(("A", 0, 5), ("B", 0, 6), ("C", 0, 7)), 0)
    batch = retention.due(0, NONE)
    retention.done(batch, Trimmed(5, {("B", 0, 0): ""}))
    assert retention.due(0, NONE) == {("B", 0, 0): 6}
    retention.done({("B", 0, 0): 6}, Trimmed(0, {("B", 0, 0): "not allowed"}))
    for _ in range(PAUSE_SWEEPS):
        assert retention.due(0, NONE) == {}
    assert retention.due(0, NONE) == {("B", 0, 0): 6}
    assert retention.statistics()["trim_failures"] == 1
    retention.done({("B", 0, 0): 6}, Trimmed(0, {("B", 0, 0): "not allowed"}))
    for _ in range(2 * PAUSE_SWEEPS):
        assert retention.due(0, NONE) == {}
    assert retention.due(0, NONE)


def test_what_became_due_while_it_was_trimmed_is_not_forgotten() -> None:
    retention = Retention(0, [])
    noted(retention, snapshot(("Q", 0, 5)), 0)
    batch = retention.due(0, NONE)
    noted(retention, snapshot(("Q", 0, 9)), 1)
    assert retention.due(1, NONE) == {("Q", 0, 0): 9}
    retention.done(batch, Trimmed(4))
    assert retention.due(1, NONE) == {("Q", 0, 0): 9}


@pytest.mark.parametrize("keep_ms", [DAY_MS, FOREVER])
def test_names_of_queues_that_are_gone_are_told_once_they_are_noted(keep_ms: int) -> None:
    retention = Retention(keep_ms, [])
    retention.note(snapshot(("Q", 0, 5), gone=1), HOUR_MS)
    assert retention.written() == ["GONE"]
    assert retention.written() == []
    again = retention.note(snapshot(("Q", 0, 5), gone=1), HOUR_MS + 1)
    assert retention.written() == ([] if again else ["GONE"]), "not noted again so soon"


def test_lanes_that_fail_do_not_keep_others_from_being_trimmed() -> None:
    retention = Retention(0, [])
    bad = [(f"BAD{number}", lane, 2) for number in range(20) for lane in range(10)]
    lanes = [(f"Q{number}", lane, 2) for number in range(40) for lane in range(10)]
    noted(retention, snapshot(*bad, *lanes), 0)
    trimmed = 0
    for _ in range(5 * PAUSE_SWEEPS):
        batch = retention.due(0, NONE)
        undone = {lane: "not allowed" for lane in batch if lane[0].startswith("BAD")}
        if batch:
            retention.done(batch, Trimmed(undone=undone))
        trimmed += len(batch) - len(undone)
    assert trimmed == 400


def test_what_failed_is_behind_what_had_no_time() -> None:
    retention = Retention(0, [])
    noted(retention, snapshot(("BAD", 0, 2), ("A", 0, 2), ("B", 0, 2)), 0)
    batch = retention.due(0, NONE)
    undone = {("BAD", 0, 0): "no leader", ("A", 0, 0): "", ("B", 0, 0): ""}
    retention.done(batch, Trimmed(undone=undone))
    for _ in range(PAUSE_SWEEPS):
        assert retention.due(0, NONE) == {}
    assert [lane[0] for lane in retention.due(0, NONE)] == ["A", "B", "BAD"]


def test_a_clock_that_was_behind_for_a_term_deletes_nothing_early() -> None:
    """The note keeps its time, by which the next term goes."""
    now_ms = 1_000 * DAY_MS
    notes = noted(Retention(DAY_MS, []), snapshot(("Q", 0, 5)), now_ms)
    behind = Retention(DAY_MS, [one for one in notes if isinstance(one, r.ConsumedRestored)])
    assert behind.due(now_ms - 30 * DAY_MS, NONE) == {}
    notes = behind.note(snapshot(("Q", 0, 5)), now_ms - 30 * DAY_MS)
    after = Retention(DAY_MS, [one for one in notes if isinstance(one, r.ConsumedRestored)])
    assert after.due(now_ms + HOUR_MS, NONE) == {}
    assert after.due(now_ms + DAY_MS, NONE) == {("Q", 0, 0): 5}


def test_a_clock_that_was_corrected_within_a_term_says_the_time_of_its_notes() -> None:
    now_ms = 1_000 * DAY_MS
    behind = Retention(DAY_MS, [])
    notes = behind.note(snapshot(("Q", 0, 5)), now_ms - 30 * DAY_MS, now_ms)
    behind.written()
    assert behind.due(now_ms - 29 * DAY_MS - 1, NONE) == {}
    after = Retention(DAY_MS, [one for one in notes if isinstance(one, r.ConsumedRestored)])
    assert after.due(now_ms + HOUR_MS, NONE) == {}
    assert after.due(now_ms + DAY_MS, NONE) == {("Q", 0, 0): 5}
