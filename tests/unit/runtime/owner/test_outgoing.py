"""What services that carry messages away see of a queue manager."""

from adapter.runtime.owner.outgoing import Outgoing
from tests.support.core import client_on


def test_depths_are_those_of_the_moment() -> None:
    client = client_on()
    client.define("T", usage="XMITQ")
    outgoing = Outgoing(client.core.qm)
    assert outgoing.transmission_queues() == {"T": 0}
    before = outgoing.transmission_queues()
    client.open("T", handle=7)
    client.put("a", handle=7)
    assert (before, outgoing.transmission_queues()) == ({"T": 0}, {"T": 1})
    assert (outgoing.depth("T"), outgoing.depth("GONE")) == (1, None)


def test_a_queue_that_is_named_as_initiation_queue_initiates() -> None:
    client = client_on()
    outgoing = Outgoing(client.core.qm)
    assert not outgoing.initiates("INIT")
    client.define("TRIGGERED", initiation_queue="INIT")
    assert outgoing.initiates("INIT")


def test_a_computer_is_called_as_its_queue_manager_unless_it_has_a_name() -> None:
    client = client_on()
    qm = client.core.qm
    assert Outgoing(qm).computers() == (qm.name,)
    qm.attributes.msmq_computer = "HERE"
    assert Outgoing(qm).computers() == ("HERE",)
