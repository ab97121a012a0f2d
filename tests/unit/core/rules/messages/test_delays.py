"""Delayed delivery where a transcript does not show it: pages, snapshots, doubts, damage."""

from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.attributes.system import DELAYED_QUEUE
from adapter.core.contract import commands as c
from adapter.core.contract.details import SEGMENTATION_ALLOWED, Details
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import EventRaised
from adapter.core.contract.unit_records import UnitCommitted
from adapter.core.rules.messages import delays
from adapter.storage.format import entries
from tests.support.by_hand import ByHand
from tests.support.core import START_MS, Client, Core

HOUR_MS = 3_600_000


def waiting(core: Core | None = None, count: int = 0, **fields: Any) -> Client:
    """Return a client with queue Q open, to which so many messages were put for an hour later."""
    core = core or Core()
    core.configure()
    client = core.connect()
    client.define()
    client.open()
    for number in range(count):
        client.put(f"m{number}", **{"delay_ms": HOUR_MS, **fields})
    return client


def all_of(client: Client) -> list[str]:
    """Get all there is."""
    found: list[str] = []
    while got := client.get():
        found += got
    return found


def test_a_million_would_not_be_in_memory() -> None:
    core = Core(Limits(window_messages=4))
    client = waiting(core, 100)
    assert core.queue(DELAYED_QUEUE).paged_count >= 90
    core.advance(3600)
    assert all_of(client) == [f"m{number}" for number in range(100)]
    assert core.queue(DELAYED_QUEUE).depth == core.queue().delayed == 0


def test_those_that_are_read_in_come_in_the_order_they_are_due() -> None:
    core = Core(Limits(window_messages=1))
    client = waiting(core)
    for number in range(30):
        client.put(f"m{number}", delay_ms=HOUR_MS - 1_000 * number)
    core.advance(3600)
    assert all_of(client) == [f"m{number}" for number in reversed(range(30))]


def test_a_snapshot_says_when_they_are_due() -> None:
    core = Core(Limits(window_messages=2))
    waiting(core, 20)
    core.crash_with_snapshot()
    assert core.queue().delayed == 20
    core.advance(3599)
    client = core.connect()
    client.open()
    assert client.get() == []
    core.advance(1)
    assert all_of(client) == [f"m{number}" for number in range(20)]


def test_a_snapshot_has_those_that_are_on_no_topic_yet() -> None:
    core = Core()
    waiting(core, 3)
    core.crash_with_snapshot(lagging=2**31)
    core.advance(3600)
    client = core.connect()
    client.open()
    assert all_of(client) == ["m0", "m1", "m2"]


def test_what_was_released_is_released_once_whatever_is_replayed() -> None:
    core = Core()
    client = waiting(core, 3)
    core.advance(3600)
    assert client.get() == ["m0"]
    core.crash()
    core.advance(3600)
    after = core.connect()
    after.open()
    assert all_of(after) == ["m1", "m2"]
    assert core.queue().delayed == 0


def test_a_step_releases_a_bounded_number() -> None:
    core = Core(Limits(released_per_step=4))
    client = waiting(core, 10)
    core.advance(3600)
    assert core.queue().depth == 4
    due_in_ms = core.qm.due.in_ms(core.now_ms, core.elapsed_ms)
    assert due_in_ms is not None
    assert due_in_ms <= 0
    core.advance(0)
    core.advance(0)
    assert len(all_of(client)) == 10


def test_an_entry_of_several_queues_gives_each_its_own() -> None:
    core = Core()
    client = waiting(core)
    client.define("P")
    client.open("P", handle=2)
    for handle in (1, 2, 1, 2):
        client.put(f"of {handle}", handle=handle, delay_ms=1_000)
    core.advance(1)
    assert (all_of(client), client.get(handle=2)) == (["of 1", "of 1"], ["of 2"])


@pytest.mark.parametrize("when", [{"delay_ms": HOUR_MS}, {"deliver_at_ms": START_MS + HOUR_MS}])
def test_the_expiry_cap_of_a_queue_counts_from_when_a_message_is_due(when: dict[str, Any]) -> None:
    core = Core()
    core.configure()
    client = core.connect()
    client.define(expiry_cap=600)
    client.open()
    client.put("capped", **when)
    client.put("sooner", expiry_ms=HOUR_MS - 1, **when)
    core.advance(3600)
    (got,) = client.take()
    assert got.message.body == b"capped"
    assert got.message.expires_at_ms == START_MS + HOUR_MS + 60_000
    client.put("again", delay_ms=HOUR_MS)
    core.advance(3600 + 60)
    assert all_of(client) == []


def test_expired_while_not_in_memory() -> None:
    core = Core(Limits(window_messages=1))
    client = waiting(core, 20, expiry_ms=60_000)
    core.advance(3600)
    assert all_of(client) == []
    assert core.queue().delayed == core.queue(DELAYED_QUEUE).depth == 0
    core.crash()
    assert core.queue().delayed == 0


def test_a_purge_of_what_is_not_in_memory_is_replayed() -> None:
    core = Core(Limits(window_messages=1))
    client = waiting(core, 20)
    client.put("soft", delay_ms=HOUR_MS, persistence=0)
    answer = client.do(c.PurgeQueue("Q"))
    assert answer.count == 21  # type: ignore[union-attr]
    for _ in range(2):
        assert core.queue().delayed == core.queue(DELAYED_QUEUE).depth == 0
        core.crash()


def test_after_a_doubt_those_that_are_not_persistent_wait_still() -> None:
    core = ByHand()
    client = waiting(core, 1)
    client.put("soft", delay_ms=HOUR_MS, persistence=0)
    core.take_over(core.qm)
    assert core.queue().delayed == 2
    core.advance(3600)
    after = core.connect()
    after.open()
    assert sorted(all_of(after)) == ["m0", "soft"]


def test_a_release_that_did_not_become_durable_is_made_again() -> None:
    core = ByHand()
    client = waiting(core, 1)
    client.put("soft", delay_ms=HOUR_MS, persistence=0)
    core.held = True
    core.advance(3600)
    assert core.queue().depth == 2
    core.take_over(core.qm)
    core.held = False
    assert core.queue().delayed == 2
    core.advance(0)
    after = core.connect()
    after.open()
    assert sorted(all_of(after)) == ["m0", "soft"]
    assert core.queue().delayed == 0


def test_a_message_that_is_missing_lets_others_go_first() -> None:
    core = Core(Limits(window_messages=1))
    client = waiting(core, 5)
    (lost,) = [lane for lane in core.topics if lane[0] == DELAYED_QUEUE]
    kept = core.topics[lost].pop(3)
    core.advance(3600)
    assert sorted(all_of(client)) == ["m0", "m1", "m3", "m4"]
    raised = [
        record
        for payload in core.entries
        for record in entries.decode(payload)
        if isinstance(record, EventRaised)
    ]
    assert [(one.kind, one.name, one.details["seq"]) for one in raised] == [
        (delays.MISSING, "Q", "3")
    ]
    core.topics[lost][3] = kept
    core.advance(60)
    assert all_of(client) == ["m2"]


def test_it_waits_while_too_much_waits_for_the_topic() -> None:
    core = Core(Limits(parked_bytes=10))
    client = waiting(core, 1)
    parked = {"Q": ParkedQueue(core.queue().incarnation, 20, "gone")}
    core.give(inputs.MoversReported(parked))
    core.advance(3600)
    assert client.get() == []
    core.give(inputs.MoversReported({}))
    core.advance(1)
    assert client.get() == ["m0"]


def test_a_queue_with_a_delayed_put_in_a_unit_is_in_use() -> None:
    client = waiting()
    unit = client.begin()
    client.put("held", unit=unit, delay_ms=1_000)
    client.do(c.Close(1))
    assert client.refused(c.DeleteQueue("Q", purge=True)) == Reason.QUEUE_IN_USE


def test_depth_triggers_do_not_count_them() -> None:
    client = waiting()
    client.define("INIT")
    client.do(c.DefineObject("process", "P", {}))
    client.open("INIT", handle=2)
    client.do(
        c.AlterQueue(
            "Q",
            {
                "initiation_queue": "INIT",
                "process": "P",
                "trigger_type": "DEPTH",
                "trigger_depth": 2,
            },
        )
    )
    client.do(c.AlterQueue("Q", {"trigger_control": True}))
    unit = client.begin()
    client.put("one", "two", unit=unit, delay_ms=1_000)
    client.put("here", unit=unit)
    assert client.core.queue().trigger_count() == 1
    client.do(c.Commit(unit))
    assert client.core.queue("INIT").depth == 0


def test_segments_that_a_delayed_put_is_cut_into_come_together() -> None:
    client = waiting()
    client.do(c.AlterQueue("Q", {"max_message_length": 16}))
    client.put("x" * 40, delay_ms=1_000, details=Details(flags=SEGMENTATION_ALLOWED))
    assert client.core.queue().delayed == 3
    client.core.advance(1)
    assert client.get(options=c.COMPLETE) == ["x" * 40]


@pytest.mark.parametrize(
    "fields",
    [
        {"delay_ms": -1},
        {"deliver_at_ms": -1},
        {"delay_ms": 2**62},
        {"deliver_at_ms": START_MS + 2**60},
    ],
)
def test_a_delay_that_no_message_can_have(fields: dict[str, Any]) -> None:
    client = waiting()
    put = c.Put(1, [MessageData(body=b"x", **fields)])
    assert client.refused(put) == Reason.OPTIONS_ERROR


def test_what_a_program_says_of_a_destination_does_not_count() -> None:
    client = waiting()
    client.put("a", destination="ELSEWHERE")
    client.put("b", destination="ELSEWHERE", deliver_at_ms=1)
    found = client.take() + client.take()
    assert [(one.message.destination, one.message.deliver_at_ms) for one in found] == [
        ("", 0),
        ("", 1),
    ]


def test_a_queue_manager_that_was_not_configured_says_so() -> None:
    client = Core().connect()
    client.define()
    client.open()
    assert client.refused(c.Put(1, [MessageData(body=b"x", delay_ms=1)])) == Reason.OPTIONS_ERROR


def test_the_topic_of_the_queue_has_it_when_it_is_due() -> None:
    core = Core()
    waiting(core, 1)
    assert ("Q", 0, 0) not in core.topics
    core.advance(3600)
    (copy,) = core.topics["Q", 0, 0].values()
    assert (copy.message.destination, copy.message.deliver_at_ms) == ("", START_MS + HOUR_MS)
    (released,) = [
        record for record in entries.decode(core.entries[-1]) if isinstance(record, UnitCommitted)
    ]
    assert [taken.queue for taken in released.gets] == [DELAYED_QUEUE]


@pytest.mark.parametrize("how", ["purge", "delete"])
def test_browses_with_conditions_end_when_delayed_messages_have_gone(how: str) -> None:
    """What has gone was not in memory, and views of the delayed messages knew it."""
    core = Core(Limits(window_messages=16, unit_messages=16))
    client = waiting(core, 100)
    client.do(c.Open(2, DELAYED_QUEUE, c.BROWSE, selection="colour IS NULL"))
    assert client.browse(2) == ["m0"]
    client.define("OTHER")
    client.open("OTHER", handle=3)
    client.put("other", handle=3, delay_ms=HOUR_MS)
    client.do(c.Close(1))
    client.do(c.PurgeQueue("Q") if how == "purge" else c.DeleteQueue("Q", purge=True))
    core.pages = 0
    assert client.browse(2, restart=True) == ["other"]
    assert client.browse(2) == []
    assert core.pages < 100
