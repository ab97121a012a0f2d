"""Queues whose topics cannot be written: events, and a bound on what is put to them."""

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.parked import ParkedQueue
from adapter.core.contract.reasons import Reason
from adapter.core.contract.records import EventRaised
from adapter.core.model.uncopied import Uncopied
from tests.support.core import START_MS, Client, client_on

LIMIT = 1000
HELD = ParkedQueue(0, LIMIT, "no such topic")


def tell(client: Client, **parked: ParkedQueue) -> list[EventRaised]:
    executed = client.core.give(inputs.MoversReported(parked))
    return [one for one in executed.records if isinstance(one, EventRaised)]


def parked_client(held: ParkedQueue = HELD) -> Client:
    client = client_on("Q", "OTHER", limits=Limits(parked_bytes=LIMIT))
    client.put("before")
    tell(client, Q=held)
    return client


def test_puts_are_refused_when_as_much_waits_as_may() -> None:
    client = parked_client()
    assert client.refused(c.Put(1, [MessageData(body=b"x")])) is Reason.QUEUE_PARKED
    unit = client.begin()
    assert client.refused(c.Put(1, [MessageData(body=b"x")], unit)) is Reason.QUEUE_PARKED
    client.put("elsewhere", handle=2)
    client.put("never copied", persistence=0)


def test_gets_and_commits_go_on() -> None:
    client = client_on("Q", limits=Limits(parked_bytes=LIMIT))
    client.put("before")
    unit = client.begin()
    client.put("in the unit", unit=unit)
    tell(client, Q=HELD)
    assert client.get(unit) == ["before"]
    client.do(c.Commit(unit))
    assert client.get() == ["in the unit"]


def test_below_the_bound_nothing_is_refused() -> None:
    client = parked_client(ParkedQueue(0, LIMIT - 1, "no such topic"))
    client.put("more")


def test_another_incarnation_is_not_concerned() -> None:
    client = parked_client(ParkedQueue(3, LIMIT, "no such topic"))
    client.put("more")
    assert tell(client, Q=ParkedQueue(3, 9, "")) == []


def test_an_event_for_each_change() -> None:
    client = client_on("Q")
    parked = EventRaised("queue_parked", "Q", START_MS, {"why": "no such topic"})
    assert tell(client, Q=HELD) == [parked]
    assert tell(client, Q=ParkedQueue(0, 2 * LIMIT, "no such topic")) == []
    assert tell(client) == [EventRaised("queue_resumed", "Q", START_MS, {})]
    assert tell(client) == []


def test_a_queue_that_resumes_takes_puts_again() -> None:
    client = parked_client()
    tell(client)
    client.put("again")
    assert client.get(limit=1) == ["before"]


def client_of_frozen_movers(*queues: str) -> Client:
    """Of a queue manager whose movers have copied what there was, and report nothing more."""
    client = client_on(*queues, limits=Limits(uncopied_bytes=4000))
    assert copied(client, client.core.entry_n) == []
    vars(client.core)["_page"] = lambda: None
    return client


def copied(client: Client, moved_n: int) -> list[EventRaised]:
    executed = client.core.give(inputs.Copied(moved_n))
    return [one for one in executed.records if isinstance(one, EventRaised)]


def test_finding_reliability_d5_what_waits_for_the_movers_has_a_bound() -> None:
    """The queue manager counts by itself."""
    client = client_of_frozen_movers("Q", "OTHER")
    body = MessageData(body=bytes(500))
    for _ in range(4):  # of 512 bytes and a body each
        client.do(c.Put(1, [body]))
    unit = client.begin()
    assert client.refused(c.Put(1, [body])) is Reason.QUEUE_PARKED
    assert client.refused(c.Put(2, [body], unit)) is Reason.QUEUE_PARKED, "of all queues"
    client.put("never copied", persistence=0)
    assert len(client.get(limit=1)) == 1, "gets go on"
    (event,) = copied(client, 0)
    assert (event.kind, event.name) == ("copies_behind", "QM1")
    assert copied(client, 0) == [], "it is told once"

    last_n = client.core.entry_n
    assert client.core.qm.uncopied.total > 4000
    first_n = client.core.qm.uncopied._entries[0][0]
    assert copied(client, first_n) == []
    assert client.refused(c.Put(1, [body])) is Reason.QUEUE_PARKED, "until half of it is copied"
    (event,) = copied(client, last_n)
    assert (event.kind, event.details) == ("copies_caught_up", {"bytes": "0"})
    client.do(c.Put(1, [body]))


def test_finding_reliability_d5_without_movers_nothing_is_refused() -> None:
    uncopied = Uncopied(limit=1000)
    for number in range(9):
        uncopied.add(number, 1, 500)
    assert (uncopied.is_full, len(uncopied._entries)) == (False, 1), "nor is memory taken"


def test_finding_reliability_d5_a_restart_counts_what_it_replays() -> None:
    client = client_of_frozen_movers("Q")
    for _ in range(4):
        client.do(c.Put(1, [MessageData(body=bytes(500))]))
    total = client.core.qm.uncopied.total
    assert total > 4000
    client.core.crash()
    assert client.core.qm.uncopied.total == total
