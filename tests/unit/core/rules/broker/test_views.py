"""What is in transmission is shown, in memory or not, and whoever holds it."""

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.results import Descriptions, Refused
from tests.support.core import Core

COUNT = 40


def test_messages_in_transmission_that_are_not_in_memory_are_shown() -> None:
    core = Core(window_messages=2)
    client = core.connect()
    for queue, service in (("near", "asks"), ("far", "answers")):
        client.do(b.BrokerCreate(kinds.QUEUE, queue))
        attributes = {"queue": queue, "contracts": b.DEFAULT}
        client.do(b.BrokerCreate(kinds.SERVICE, service, attributes))
    client.do(b.BrokerAlter(kinds.QUEUE, "far", {"status": False}))
    unit = client.begin()
    client.do(b.BrokerBegin(unit, bytes(16), "asks", "answers", group=bytes(16)))
    for number in range(COUNT):
        client.do(b.BrokerSend(unit, [bytes(16)], body=str(number).encode()))
    assert not isinstance(client.do(c.Commit(unit)), Refused)
    assert len(core.queue("broker$\\;heldanswers").stored) < COUNT
    found: list[bytes] = []
    after = ""
    while True:
        answer = client.do(b.BrokerInquire(b.TRANSMISSION, after=after))
        assert isinstance(answer, Descriptions)
        if not answer.queues:
            break
        found += [bytes.fromhex(one.attributes["body"]) for one in answer.queues]
        after = answer.queues[-1].name
    assert found == [str(number).encode() for number in range(COUNT)]
