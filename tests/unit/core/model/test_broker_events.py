"""Events of queues that programs may still ask for."""

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from adapter.core.contract.broker import QUEUE_ACTIVATION, QUEUE_DISABLED
from adapter.core.model import broker_events
from adapter.core.model.broker_events import KEPT, BrokerEvent, BrokerEvents


def event(kind: str, name: str = "Q") -> BrokerEvent:
    return BrokerEvent(kind, name, 1_000, {})


def test_frequent_events_do_not_displace_rare_ones() -> None:
    events = BrokerEvents()
    events.add(event(QUEUE_DISABLED))
    for _ in range(KEPT + 1):
        events.add(event(QUEUE_ACTIVATION))
    assert len(events.after(0, QUEUE_ACTIVATION)) == KEPT
    assert [one.number for one in events.after(0, QUEUE_DISABLED)] == [1_000]


def test_events_after_a_number_in_their_order() -> None:
    events = BrokerEvents()
    for name in "ABC":
        events.add(event(QUEUE_ACTIVATION, name))
        events.add(event(QUEUE_DISABLED, name))
    first = events.after(0, QUEUE_ACTIVATION)[0].number
    assert [one.name for one in events.after(first, QUEUE_ACTIVATION)] == ["B", "C"]
    assert events.after(events.latest, QUEUE_DISABLED) == []
    assert events.after(0, "ANY") == []


@given(st.lists(st.one_of(st.none(), st.integers(-5_000, 5_000)), max_size=40))
def test_a_reader_has_every_event_or_learns_that_some_are_lost(steps: list[int | None]) -> None:
    """steps: an event, with its time; or a read."""
    with patch.object(broker_events, "KEPT", 3):
        events, at, unread = BrokerEvents(), 0, 0
        for step in steps:
            if step is not None:
                events.add(BrokerEvent(QUEUE_ACTIVATION, "Q", step, {}))
                unread += 1
                continue
            found = events.after(at, QUEUE_ACTIVATION)
            assert len(found) == min(unread, 3)
            assert events.has_lost(at, QUEUE_ACTIVATION) is (unread > 3)
            at, unread = events.latest, 0
