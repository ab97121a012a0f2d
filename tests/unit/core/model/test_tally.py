"""What is counted for operators, and what is not."""

from adapter.core.contract import commands as c
from adapter.core.model.tally import QueueTally
from tests.support.core import client_on


def test_puts_and_gets_are_counted_by_queue() -> None:
    client = client_on("A", "B")
    client.put("one", handle=1)
    unit = client.begin()
    client.get(unit, handle=1)
    client.put("two", unit=unit, handle=2)
    client.put("three", unit=unit, handle=2, persistence=0)
    tally = client.core.qm.tally
    assert (tally.of("A"), tally.of("B")) == (QueueTally(put=1), QueueTally())
    client.do(c.Commit(unit))
    assert (tally.of("A"), tally.of("B")) == (QueueTally(put=1, got=1), QueueTally(put=2))
    assert (tally.commits, tally.backouts) == (1, 0)


def test_a_unit_without_messages_is_a_commit_too() -> None:
    client = client_on()
    client.do(c.Commit(client.begin()))
    assert client.core.qm.tally.commits == 1


def test_backouts_asked_for_and_by_lost_connections() -> None:
    client = client_on()
    client.put("a")
    unit = client.begin()
    client.get(unit)
    client.do(c.Backout(unit))
    client.get(client.begin())
    client.begin()
    client.core.disconnect(client.number)
    tally = client.core.qm.tally
    assert tally.backouts == 3
    assert tally.of("Q") == QueueTally(put=1, returned=2)


def test_messages_that_nobody_got() -> None:
    client = client_on()
    client.put("a")
    client.put("b", expiry_ms=1000)
    client.core.advance(1.0)
    assert client.core.qm.tally.of("Q").discarded == 1
    client.do(c.PurgeQueue("Q"))
    assert client.core.qm.tally.of("Q") == QueueTally(put=2, discarded=2)


def test_a_new_queue_of_a_name_begins_anew() -> None:
    client = client_on()
    client.put("a")
    client.do(c.Close(1))
    client.do(c.DeleteQueue("Q", purge=True))
    assert client.core.qm.tally.of("Q") == QueueTally()


def test_replay_is_not_counted() -> None:
    client = client_on()
    client.put("a")
    client.core.crash()
    assert client.core.queue().depth == 1
    assert client.core.qm.tally.of("Q") == QueueTally()
