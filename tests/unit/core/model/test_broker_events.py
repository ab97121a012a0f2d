"""Events of queues that programs may still ask for."""

from adapter.core.contract.broker import QUEUE_ACTIVATION, QUEUE_DISABLED
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
