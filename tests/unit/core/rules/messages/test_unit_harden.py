"""HARDENBO: a delivery is counted before anybody sees the message, and the ledger says so."""

from adapter.core.contract import commands as c
from adapter.core.contract import records as r
from adapter.core.contract.results import Messages
from adapter.core.model.manager import QueueManager
from adapter.storage.format import entries
from tests.support.core import Client, client_on


def counts(qm: QueueManager, name: str = "Q") -> dict[tuple[int, int, int], int]:
    return {place: stored.backout_count for place, stored in qm.queues[name].stored.items()}


def agreed_counts(client: Client) -> list[int]:
    """The counts, which must be those that the entries say."""
    core = client.core
    assert counts(core.replayed()) == counts(core.qm)
    return [count for _, count in sorted(counts(core.qm).items())]


def written(client: Client) -> list[type]:
    return [type(record) for payload in client.core.entries for record in entries.decode(payload)]


def hardened() -> Client:
    client = client_on(harden_get_backout=True)
    client.put("a")
    client.put("b")
    return client


def test_a_delivery_is_counted_in_the_ledger_and_shown_without_itself() -> None:
    client = hardened()
    unit = client.begin()
    assert [each.backout_count for each in client.take(unit, limit=2)] == [0, 0]
    assert written(client)[-1] is r.DeliveryCounted
    assert agreed_counts(client) == [1, 1]


def test_the_message_waits_until_its_count_is_durable() -> None:
    client = hardened()
    unit = client.begin()
    entry_n = client.core.entry_n
    executed = client.core.execute(c.Request(client.number, 99, 0, c.Get(1, unit)))
    (reply,) = executed.replies
    assert isinstance(reply.result, Messages)
    assert reply.after == entry_n
    assert any(record.logged for record in executed.records)


def test_a_backout_does_not_count_twice() -> None:
    client = hardened()
    unit = client.begin()
    client.get(unit, limit=2)
    client.do(c.Backout(unit))
    assert r.BackoutCounted not in written(client)
    assert agreed_counts(client) == [1, 1]
    unit = client.begin()
    assert [each.backout_count for each in client.take(unit, limit=2)] == [1, 1]
    client.lose()
    assert agreed_counts(client) == [2, 2]


def test_a_crash_counts() -> None:
    client = hardened()
    for crashes in range(1, 4):
        client.get(client.begin())
        client.core.crash()
        client = client.core.connect()
        client.open()
        assert agreed_counts(client) == [crashes, 0]


def test_without_it_a_crash_does_not_count() -> None:
    client = client_on()
    client.put("a")
    client.get(client.begin())
    assert written(client)[-1] is not r.DeliveryCounted
    client.core.crash()
    assert agreed_counts(client) == [0]


def test_a_commit_takes_the_message_with_its_count() -> None:
    client = hardened()
    unit = client.begin()
    client.get(unit)
    client.do(c.Commit(unit))
    assert agreed_counts(client) == [0]


def test_a_get_outside_a_unit_has_nothing_to_count() -> None:
    client = hardened()
    assert client.get() == ["a"]
    assert r.DeliveryCounted not in written(client)


def test_a_get_that_waited_is_counted_too() -> None:
    client = client_on(harden_get_backout=True)
    unit = client.begin()
    request = client.send(c.Get(1, unit, wait_ms=-1))
    client.put("a")
    assert isinstance(client.answer(request), Messages)
    assert agreed_counts(client) == [1]


def test_what_is_not_persistent_is_counted_when_it_comes_back() -> None:
    client = client_on(harden_get_backout=True)
    client.put("soft", persistence=0)
    unit = client.begin()
    client.get(unit)
    assert r.DeliveryCounted not in written(client)
    client.do(c.Backout(unit))
    (seen,) = client.take(client.begin())
    assert seen.backout_count == 1


def test_the_attribute_counts_when_the_message_is_got() -> None:
    """A unit that holds one of each counts each once, whatever the queue says meanwhile."""
    client = hardened()
    unit = client.begin()
    client.get(unit)
    client.do(c.AlterQueue("Q", {"harden_get_backout": False}))
    client.get(unit)
    client.do(c.AlterQueue("Q", {"harden_get_backout": True}))
    client.do(c.Backout(unit))
    assert agreed_counts(client) == [1, 1]


def test_what_is_got_alone_is_what_came_back_before() -> None:
    """The count of the delivery itself does not make a message one that came back."""
    client = hardened()
    unit = client.begin()
    assert client.get(unit, alone=True) == ["a"]
    assert client.get(unit, alone=True) == ["b"]
    client.do(c.Backout(unit))
    unit = client.begin()
    assert client.get(unit, alone=True, limit=2) == ["a"]
    assert client.get(unit, alone=True) == []


def test_the_threshold_is_reported_once_when_it_is_reached() -> None:
    client = hardened()
    client.do(c.AlterQueue("Q", {"backout_threshold": 2}))
    reported = []
    for _ in range(3):
        unit = client.begin()
        client.get(unit)
        client.do(c.Backout(unit))
        reported.append(written(client).count(r.EventRaised))
    assert reported == [0, 1, 1]
