"""Statistics: which queues are told of, when, and what is said."""

from __future__ import annotations

import msgspec
import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.records import EventRaised
from adapter.core.rules.objects import statistics
from tests.support.core import START_MS, Client, Core, client_on

INTERVAL_S = 60
IDLE_S = statistics.IDLE_MS // 1000


def site(**limits: int) -> Client:
    """A client that has Q open, on a queue manager that makes statistics since now."""
    client = client_on(limits=Limits(statistics_interval_s=INTERVAL_S, **limits))
    client.core.give(inputs.Restarted())
    return client


def advanced(core: Core, seconds: float) -> list[EventRaised]:
    """The statistics that the passing of time brings."""
    records = core.advance(seconds).records
    return [one for one in records if isinstance(one, EventRaised)]


def figures(events: list[EventRaised]) -> list[tuple[int, ...]]:
    """Depth, puts, gets, returned and discarded of each."""
    names = ("current_depth", "puts", "gets", "returned", "discarded")
    return [tuple(int(event.details[name]) for name in names) for event in events]


def test_an_interval_says_what_happened_in_it_and_what_is_left() -> None:
    client = site()
    client.put("a")
    client.put("b")
    for persistence in (0, 1):
        client.put("gone", expiry_ms=10_000, persistence=persistence)
    client.core.advance(5)
    assert client.get() == ["a"]
    unit = client.begin()
    assert client.get(unit) == ["b"]
    client.do(c.Backout(unit))
    (event,) = advanced(client.core, 55)
    assert event == EventRaised(
        "queue_statistics", "Q", START_MS + 60_000,
        {
            "since_ms": str(START_MS), "current_depth": "1", "oldest_message_age_s": "60.0",
            "puts": "4", "gets": "1", "returned": "1", "discarded": "2",
            "uncommitted_puts": "0", "uncommitted_gets": "0", "claimed": "0", "delayed": "0",
        },
    )  # fmt: skip
    client.put("c")
    (event,) = advanced(client.core, 60)
    assert figures([event]) == [(2, 1, 0, 0, 0)], "counts begin anew"
    assert event.details["since_ms"] == str(START_MS + 60_000)


def test_before_its_time_nothing_is_said() -> None:
    client = site()
    client.put("a")
    assert advanced(client.core, 59.999) == []
    assert len(advanced(client.core, 0.001)) == 1


def test_an_open_unit_shows() -> None:
    client = site()
    client.put("a")
    unit = client.begin()
    client.get(unit)
    client.put("b", unit=unit)
    (event,) = advanced(client.core, 60)
    said = event.details
    assert (said["uncommitted_puts"], said["uncommitted_gets"]) == ("1", "1")
    assert said["current_depth"] == "1"


def test_a_queue_that_was_emptied_is_told_of_once_more_and_then_no_more() -> None:
    client = site()
    client.put("a")
    advanced(client.core, 60)
    client.get()
    assert figures(advanced(client.core, 60)) == [(0, 0, 1, 0, 0)]
    entries = len(client.core.entries)
    for _ in range(100):
        assert advanced(client.core, 60) == []
    assert len(client.core.entries) == entries, "nothing is written for it"
    assert client.core.next_tick_ms() is None, "and nobody is woken"
    client.put("b")
    assert figures(advanced(client.core, 60)) == [(1, 1, 0, 0, 0)]


def test_messages_that_nobody_touches_are_told_of_more_seldom() -> None:
    client = site()
    client.put("a")
    (first,) = advanced(client.core, 60)
    while_idle = [advanced(client.core, 60) for _ in range(2 * IDLE_S // 60)]
    told = [event for events in while_idle for event in events]
    assert [event.time_ms - first.time_ms for event in told] == [IDLE_S * 1000, 2 * IDLE_S * 1000]
    assert figures(told) == [(1, 0, 0, 0, 0)] * 2
    assert told[-1].details["oldest_message_age_s"] == str(60.0 + 2 * IDLE_S)


def test_a_long_interval_holds_for_idle_queues_too() -> None:
    client = site()
    client.core.qm.attributes.statistics_interval_s = 2 * IDLE_S
    client.put("a")
    assert len(advanced(client.core, 2 * IDLE_S)) == 1
    assert advanced(client.core, IDLE_S) == []
    assert len(advanced(client.core, IDLE_S)) == 1


def test_a_clock_that_jumps_brings_one_event() -> None:
    client = site()
    client.put("a")
    assert figures(advanced(client.core, 7 * 86_400)) == [(1, 1, 0, 0, 0)]
    assert client.core.next_tick_ms() == client.core.now_ms + 60_000


def test_all_queues_of_a_round_are_one_entry() -> None:
    client = site()
    for number in range(3):
        client.define(f"Q{number}")
        client.open(f"Q{number}", handle=number + 2)
        client.put("a", handle=number + 2)
    client.define("EMPTY")
    before = len(client.core.entries)
    assert [event.name for event in advanced(client.core, 60)] == ["Q0", "Q1", "Q2"]
    assert len(client.core.entries) == before + 1


def test_so_many_queues_are_looked_at_in_a_tick() -> None:
    client = site(statistics_per_tick=2)
    client.core.advance(60)  # nobody is to be woken after this
    for number in range(4):
        client.define(f"Q{number}")
        client.open(f"Q{number}", handle=number + 2)
        client.put("a", handle=number + 2)
        client.do(c.Close(number + 2))
    core = client.core
    assert [event.name for event in advanced(core, 60)] == ["Q0"], "Q is empty"
    assert core.next_tick_ms() == core.now_ms
    client.do(c.DeleteQueue("Q3", purge=True))
    assert [event.name for event in advanced(core, 0)] == ["Q1", "Q2"]
    assert advanced(core, 0) == [], "Q3 is gone meanwhile"
    assert core.next_tick_ms() == core.now_ms + 60_000


def test_a_temporary_queue_has_none() -> None:
    client = site()
    client.core.configure()
    client.do(c.Open(9, "SYSTEM.DEFAULT.MODEL.QUEUE", c.INPUT | c.OUTPUT, dynamic_name="TEMP"))
    client.put("a", handle=9)
    assert advanced(client.core, 60) == []


def test_a_stop_says_what_has_happened_by_then() -> None:
    client = site()
    client.define("EMPTY")
    client.put("a")
    client.core.advance(59)
    found = client.core.give(inputs.Stopped()).records
    events = [one for one in found if isinstance(one, EventRaised)]
    assert [event.name for event in events] == ["Q", "QM1"]
    assert figures(events[:1]) == [(1, 1, 0, 0, 0)]


def test_after_a_crash_counting_begins_anew() -> None:
    client = site()
    client.define("EMPTY")
    client.put("a")
    client.put("b")
    client.core.advance(60)
    client.put("c")
    client.core.crash()
    core = client.core
    assert advanced(core, 59.999) == []
    (event,) = advanced(core, 0.001)
    assert (event.name, figures([event])) == ("Q", [(3, 0, 0, 0, 0)])
    assert event.details["since_ms"] == str(core.now_ms - 60_000)
    assert event.details["oldest_message_age_s"] == "120.0"


def test_a_term_that_ends_loses_no_count() -> None:
    """The tally is taken over by the same process, and with it what was told."""
    client = site()
    client.put("a")
    client.core.advance(60)
    client.put("b")
    core, tally = client.core, client.core.qm.tally
    core.qm = core.replayed()
    core.qm.tally = tally
    core.give(inputs.Restarted())
    assert figures(advanced(core, 60)) == [(2, 1, 0, 0, 0)]


def test_it_is_off_unless_somebody_says_so() -> None:
    client = client_on()
    client.put("a")
    assert advanced(client.core, 86_400) == []
    assert client.core.next_tick_ms() is None


def alter(client: Client, seconds: int) -> None:
    client.do(c.AlterObject("queue_manager", "QM1", {"statistics_interval_s": seconds}))


def test_it_is_switched_on_and_off() -> None:
    client = client_on()
    client.core.give(inputs.Restarted())
    client.put("a")
    client.get()
    client.core.advance(1)
    alter(client, 10)
    assert client.core.next_tick_ms() == START_MS + 11_000
    client.put("b")
    (event,) = advanced(client.core, 10)
    assert figures([event]) == [(1, 1, 0, 0, 0)], "what was before is not counted"
    assert event.details["since_ms"] == str(START_MS + 1000)
    alter(client, 0)
    client.put("c")
    assert client.core.next_tick_ms() is None
    assert advanced(client.core, 60) == []
    alter(client, 10)
    assert figures(advanced(client.core, 10)) == [(2, 0, 0, 0, 0)]


def test_another_interval_is_counted_from_the_last_round() -> None:
    client = site()
    client.put("a")
    client.core.advance(20)
    alter(client, 30)
    assert advanced(client.core, 9.999) == []
    assert len(advanced(client.core, 0.001)) == 1
    client.put("b")
    client.core.advance(20)
    alter(client, 10)
    (event,) = advanced(client.core, 0)
    assert event.details["since_ms"] == str(START_MS + 30_000)
    client.do(c.AlterObject("queue_manager", "QM1", {"description": "other"}))
    assert client.core.next_tick_ms() == client.core.now_ms + 10_000


def test_a_longer_interval_of_the_configuration_wakes_nobody_too_soon() -> None:
    client = site()
    client.core.configure(statistics_interval_s=100)
    client.put("a")
    assert advanced(client.core, 60) == []
    assert client.core.next_tick_ms() == START_MS + 100_000
    client.core.configure(statistics_interval_s=0)
    assert advanced(client.core, 60) == []
    assert client.core.next_tick_ms() is None


@pytest.mark.parametrize("snapshot", [False, True])
@pytest.mark.parametrize("seconds", [0, 30])
def test_what_was_altered_is_kept_though_the_configuration_says_otherwise(
    seconds: int, snapshot: bool
) -> None:
    client = site()
    alter(client, seconds)
    if snapshot:
        client.core.crash_with_snapshot()
    else:
        client.core.crash()
    assert client.core.qm.attributes.statistics_interval_s == seconds


def test_a_queue_that_is_defined_again_begins_anew() -> None:
    client = site()
    client.put("a")
    client.put("b")
    client.core.advance(60)
    client.do(c.Close(1))
    client.do(c.DeleteQueue("Q", purge=True))
    client.define()
    client.open()
    client.put("c")
    assert figures(advanced(client.core, 60)) == [(1, 1, 0, 0, 0)]


def test_the_events_are_replayed_to_nothing() -> None:
    client = site()
    client.put("a")
    client.core.advance(60)
    again = client.core.replayed().queues["Q"]
    assert msgspec.structs.asdict(again.attributes) == msgspec.structs.asdict(
        client.core.queue().attributes
    )
    assert again.depth == 1
