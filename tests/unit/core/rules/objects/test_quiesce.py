"""Quiescing: what is still done for units in flight, and what is refused."""

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Messages, Refused
from adapter.core.rules.objects.quiesce import idle_connections
from tests.support.core import Client, client_on

QUIESCING = Reason.QUEUE_MANAGER_QUIESCING
WITH_OBJECTS = ("define", "alter", "delete", "purge", "set")


def quiesce(client: Client) -> dict[tuple[int, int], object]:
    replies = client.core.give(inputs.Quiesced()).replies
    return {(reply.connection, reply.request): reply.result for reply in replies}


@pytest.mark.parametrize(
    "command",
    [
        c.Begin((1).to_bytes(16, "big") + (9).to_bytes(8, "big")),
        c.Put(1, [MessageData(body=b"a")]),
        c.Get(1),
        c.Get(1, wait_ms=-1),
        c.Put(1, [MessageData(body=b"a")], (1).to_bytes(16, "big") + (9).to_bytes(8, "big")),
        c.Browse(1),
        c.DefineQueue("NEW"),
        c.AlterQueue("Q", {}),
        c.DeleteQueue("Q"),
        c.PurgeQueue("Q"),
        c.SetAttributes(1, {}),
    ],
    ids=["begin", "put", "get", "wait", "put in no unit", "browse", *WITH_OBJECTS],
)
def test_new_work_is_refused(command: c.Command) -> None:
    client = client_on()
    quiesce(client)
    answer = client.do(command)
    assert isinstance(answer, Refused)
    assert (answer.reason, answer.name) == (QUIESCING, "QM1")


def test_a_unit_in_flight_comes_to_its_end() -> None:
    client = client_on("Q", "R")
    client.put("a")
    client.put("b")
    unit = client.begin()
    client.get(unit)
    quiesce(client)
    client.open("R", handle=7)
    client.put("c", unit=unit, handle=7)
    assert client.get(unit) == ["b"]
    assert client.get(unit) == []
    assert client.refused(c.Get(1, unit, wait_ms=5)) is QUIESCING
    client.do(c.Commit(unit))
    assert client.core.queue("R").depth == 1
    assert client.core.queue("Q").depth == 0
    assert client.refused(c.Begin(unit[:16] + bytes(7) + b"\t")) is QUIESCING


def test_a_unit_may_be_backed_out_and_its_outcome_asked_for() -> None:
    client = client_on()
    client.put("a")
    unit = client.begin()
    client.get(unit)
    quiesce(client)
    client.do(c.Backout(unit))
    client.do(c.AskOutcome(unit))
    client.do(c.AskStatus("*"))
    client.do(c.Close(1))
    assert client.core.queue().depth == 1


def test_waiting_gets_end_with_the_reason() -> None:
    client = client_on()
    other = client.core.connect()
    other.open()
    unit = client.begin()
    outside = client.send(c.Get(1, wait_ms=-1))
    inside = client.send(c.Get(1, unit, wait_ms=-1))
    elsewhere = other.send(c.Get(1, wait_ms=60_000))
    refused = Refused(QUIESCING, "QM1")
    assert quiesce(client) == {
        (client.number, outside): refused,
        (client.number, inside): refused,
        (other.number, elsewhere): refused,
    }
    assert not client.core.qm.waiters.count(client.core.queue())
    client.core.advance(120)


def test_gets_and_browses_that_ask_for_it_are_served_until_the_end() -> None:
    client = client_on()
    other = client.core.connect()
    other.open()
    unit = client.begin()
    client.put("a", unit=unit)
    browsing = client.send(c.Browse(1, wait_ms=-1, options=c.THROUGH_QUIESCE))
    elsewhere = other.send(c.Get(1, wait_ms=-1, options=c.THROUGH_QUIESCE))
    stopping = Refused(Reason.QUEUE_MANAGER_STOPPING, "QM1")
    assert quiesce(client) == {(other.number, elsewhere): stopping}, "nothing more is done there"
    getting = client.send(c.Get(1, unit, wait_ms=-1, options=c.THROUGH_QUIESCE))
    assert client.core.qm.waiters.count(client.core.queue()) == 2
    client.do(c.Commit(unit))
    assert isinstance(client.core.answers[client.number, browsing], Messages)
    assert (client.number, getting) in client.core.answers
    assert client.refused(c.Get(1)) is QUIESCING


def test_a_refused_command_is_not_done_and_may_be_sent_to_the_next_one() -> None:
    client = client_on()
    quiesce(client)
    assert client.refused(c.Put(1, [MessageData(body=b"a")])) is QUIESCING
    client.core.crash()
    back = client.core.connect()
    back.resume(client.session, [client.issued], client.issued)
    back.open()
    back.do(c.Put(1, [MessageData(body=b"a")]), number=client.issued)
    assert back.get() == ["a"]


def test_whose_units_hold_anything_is_busy() -> None:
    client = client_on()
    empty = client.core.connect()
    empty.begin()
    client.put("a", unit=client.begin())
    idle = client.core.connect()
    assert idle_connections(client.core.qm) == [empty.number, idle.number]
