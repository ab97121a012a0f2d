"""Promises: which replies may be given when, and which records did not happen."""

from adapter.core.contract.message import MessageData
from adapter.core.contract.records import QueueDeleted
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Done
from adapter.core.contract.stored import Stored
from adapter.runtime.owner.promises import Collected, Promises


def reply(request: int) -> Reply:
    return Reply(1, request, Done())


def given(promises: Promises, n: int) -> list[int]:
    return [each.request for each in promises.take_replies(n)]


def test_replies_wait_for_their_entry() -> None:
    promises = Promises()
    promises.add(1, reply(10))
    promises.add(2, reply(20))
    promises.add(2, reply(21))
    promises.add(2, reply(22))
    assert len(promises) == 4
    assert given(promises, 0) == []
    assert given(promises, 1) == [10]
    assert given(promises, 2) == [20, 21, 22]
    assert len(promises) == 0


def test_one_report_may_be_for_several_entries() -> None:
    promises = Promises()
    promises.add(2, reply(20))
    promises.add(1, reply(10))
    assert given(promises, 5) == [10, 20]


def test_an_entry_that_is_not_written_is_not_waited_for() -> None:
    promises = Promises()
    promises.add(6, reply(60))
    promises.bring_forward(5)
    assert given(promises, 4) == []
    assert given(promises, 5) == [60]


def test_a_reply_for_an_earlier_entry_holds_no_later_one_up() -> None:
    """The one that was parked last need not be the one that waits longest."""
    promises = Promises()
    promises.add(6, reply(60))
    promises.add(3, reply(30))
    promises.bring_forward(5)
    assert given(promises, 3) == [30]
    assert given(promises, 5) == [60]


def test_records_behind_the_last_entry_are_void() -> None:
    """And with them what they removed."""
    lost = Stored(
        message=MessageData(),
        place=(0, 0, 1),
        unit=b"",
        unit_index=0,
        unit_size=1,
        queue_unit_index=0,
        queue_unit_size=1,
    )
    first, second, third = QueueDeleted("A"), QueueDeleted("B"), QueueDeleted("C")
    promises = Promises()
    promises.made(1, Collected([first]))
    promises.made(2, Collected([second]))
    promises.made(3, Collected([third], [("C", lost)]))
    promises.take_replies(1)
    promises.add(3, reply(30))
    void = promises.void(2)
    assert (void.records, void.removed) == ([third], [("C", lost)])
    assert len(promises) == 0
    assert given(promises, 9) == []
