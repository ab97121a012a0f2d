"""Messages of MSMQ for queues of MQ: by a direct format name without private$."""

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.results import Messages, Refused
from adapter.core.rules.msmq import delivery as d
from tests.support.core import Client, Core
from tests.support.msmq import (
    ADMINISTRATION,
    DEAD_LETTERS,
    TRANSACTIONAL_DEAD_LETTERS,
    client_of_msmq,
    drain,
    send,
)

NAME = "DIRECT=OS:.\\RESULTS"
TO_MQ = 2
EVERY_ACKNOWLEDGMENT = MsmqHeader(label="l", acknowledge=15, administration_queue=ADMINISTRATION)


def client_of_both(**attributes: object) -> Client:
    """A client that has a queue of MQ open for sending, as handle 2."""
    core = Core()
    core.configure()  # there are queues of its own
    client = client_of_msmq(core)
    client.do(m.MsmqCreate(ADMINISTRATION))
    client.do(c.DefineQueue("RESULTS", attributes))
    client.do(m.MsmqOpen(TO_MQ, NAME, m.SEND_ACCESS))
    return client


def got(client: Client) -> list[MessageData]:
    """Get all messages as a program of MQ."""
    client.do(c.Open(80, "RESULTS", c.INPUT))
    unit = client.begin()
    answer = client.do(c.Get(80, unit, limit=100))
    client.do(c.Commit(unit))
    client.do(c.Close(80))
    return [one.message for one in answer.messages] if isinstance(answer, Messages) else []


def test_it_is_a_persistent_message_whose_label_is_a_property() -> None:
    client = client_of_both(def_priority=4)
    send(client, "a", handle=TO_MQ, header=MsmqHeader(label="l"), priority=7)
    send(client, "b", handle=TO_MQ, single=True)
    found = {one.body: one for one in got(client)}
    plain, single = found[b"a"], found[b"b"]
    assert (plain.priority, plain.persistence, plain.properties, plain.msmq) == (
        *(7, 1, {"Label": "l"}),
        None,
    )
    assert (single.priority, single.properties) == (4, None), "it has no priority of its own"


def test_it_is_part_of_its_transaction() -> None:
    client = client_of_both()
    for body, end in (("never", c.Backout), ("kept", c.Commit)):
        unit = client.begin()
        send(client, body, handle=TO_MQ, unit=unit)
        assert got(client) == []
        client.do(end(unit))
    assert [one.body for one in got(client)] == [b"kept"]


def test_what_it_does_not_take_is_a_dead_letter_and_is_acknowledged() -> None:
    client = client_of_both(max_depth=1, max_message_length=10)
    send(client, "a", handle=TO_MQ, header=EVERY_ACKNOWLEDGMENT)
    send(client, "no room", handle=TO_MQ, header=EVERY_ACKNOWLEDGMENT, single=True)
    client.do(c.AlterQueue("RESULTS", {"max_depth": 9, "inhibit_put": True}))
    send(client, "inhibited", handle=TO_MQ, header=EVERY_ACKNOWLEDGMENT, single=True)
    client.do(c.AlterQueue("RESULTS", {"inhibit_put": False}))
    asking = MsmqHeader(journal=1)
    send(client, "longer than it takes", handle=TO_MQ, header=asking)
    assert drain(client, ADMINISTRATION) == [
        ("", d.REACHED_QUEUE),
        ("no room", d.QUOTA_EXCEEDED),
        ("inhibited", d.BAD_DESTINATION),
    ]
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == [
        ("no room", d.QUOTA_EXCEEDED),
        ("inhibited", d.BAD_DESTINATION),
    ]
    assert drain(client, DEAD_LETTERS) == [("longer than it takes", d.QUOTA_EXCEEDED)]
    assert [one.body for one in got(client)] == [b"a"]


def test_an_acknowledgment_goes_to_no_queue_of_mq() -> None:
    client = client_of_both()
    send(client, "a", header=MsmqHeader(acknowledge=15, administration_queue=NAME))
    assert got(client) == []


def test_a_queue_of_msmq_of_this_name_comes_first() -> None:
    client = client_of_both()
    client.do(m.MsmqCreate(".\\results"))
    send(client, "a", handle=TO_MQ)
    assert got(client) == []
    assert drain(client, ".\\results") == [("a", 0)]


def test_a_queue_that_is_gone_takes_none() -> None:
    client = client_of_both()
    client.do(c.DeleteQueue("RESULTS"))
    answer = client.do(m.MsmqSend(TO_MQ, MessageData(body=b"a")))
    assert isinstance(answer, Refused)


def test_what_is_no_queue_of_mq_is_not_found() -> None:
    client = client_of_both()
    names = (
        "results",
        "private$\\RESULTS",
        "RESULTS;journal",
        "NOPE",
        "SYSTEM.DEFAULT.LOCAL.QUEUE",
    )
    for number, name in enumerate(names, start=10):
        answer = client.do(m.MsmqOpen(number, f"DIRECT=OS:.\\{name}", m.SEND_ACCESS))
        assert isinstance(answer, Refused), name
    answer = client.do(m.MsmqOpen(9, NAME, m.RECEIVE_ACCESS))
    assert isinstance(answer, Refused), "it is not received from"
