"""Dead letters come to where the programs read that sent the messages: of a computer without a
queue manager, whatever became of its messages, here or at another queue manager.
"""

import itertools

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import DEAD_LETTER, MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done
from tests.support.authorities import checked, is_denied, set_records, user
from tests.support.core import Client, Core
from tests.support.msmq import (
    BOTH,
    KEY,
    PATH,
    client_of_msmq,
    delivered,
    drain,
    lookup_id,
    send,
)
from tests.unit.core.rules.msmq.test_computers import drained, know

HEADER = MsmqHeader(journal=DEAD_LETTER)
OWN = "{}\\SYSTEM$;DEADXACT"


def expire(at: Client) -> None:
    at.core.advance(60)


def reject(at: Client) -> None:
    unit = at.begin()
    for one in delivered(at.do(m.MsmqReceive(1, unit))):
        at.do(m.MsmqReject(1, lookup_id(one), unit))
    at.do(c.Commit(unit))


def purge(at: Client) -> None:
    at.do(m.MsmqPurge(1))


def delete(at: Client) -> None:
    at.do(m.MsmqDelete(PATH))


def do_nothing(_: Client) -> None:
    """The queue does not accept the message."""


FAILURES = {
    "not there": ("none", do_nothing),
    "not transactional": ("plain", do_nothing),
    "expires": ("orders", expire),
    "rejected": ("orders", reject),
    "purged": ("orders", purge),
    "deleted": ("orders", delete),
}


def computer(name: str) -> Client:
    """A queue manager with a transactional queue, and one that is not."""
    client = client_of_msmq(Core(name=name), transactional=True)
    client.do(m.MsmqCreate(".\\private$\\plain"))
    return client


@pytest.fixture
def computers() -> dict[str, Client]:
    return {name: computer(name) for name in ("HOME", "OTHER")}


class Network:
    """Carries what waits on outgoing queues."""

    def __init__(self, computers: dict[str, Client]) -> None:
        self._computers = computers
        self._places = itertools.count(1)

    def carry(self) -> None:
        for number, (name, one) in enumerate([*self._computers.items()] * 3):
            for to, other in self._computers.items():
                queue = one.core.qm.queues.get(f"outgoing$;{to.lower()}")
                for stored in list(queue.in_order()) if queue is not None and to != name else []:
                    self._take(one, queue.name if queue is not None else "", number)
                    origin = Origin(name, f"outgoing$;{to.lower()}", 0)
                    arrival = Arrival(stored.message, 0, next(self._places))
                    unit = ArrivedUnit("topic", "id", arrival.seq, origin, [arrival], name)
                    other.core.take(other.core.give(inputs.Arrived(unit)))

    @staticmethod
    def _take(at: Client, queue: str, number: int) -> None:
        handle = 1_000 + number
        at.do(c.Open(handle, queue, c.INPUT))
        at.do(c.Get(handle))
        at.do(c.Close(handle))


def open_as_dependent(client: Client, path: str, computer: str = "CLIENT", handle: int = 2) -> None:
    client.do(m.MsmqOpen(handle, path, m.SEND_ACCESS, computer=computer))


@pytest.mark.parametrize("at", ["HOME", "OTHER"])
@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("is_deleted", [False, True])
@pytest.mark.parametrize("is_known", [False, True])
def test_a_dependent_computer_has_its_dead_letter(
    computers: dict[str, Client], at: str, failure: str, is_deleted: bool, is_known: bool
) -> None:
    """is_deleted: its queue of dead letters, before the message fails."""
    home, network = computers["HOME"], Network(computers)
    if is_known:
        know(home, OTHER="OTHER")
        know(computers["OTHER"], HOME="HOME")
    name, fail = FAILURES[failure]
    queue = "plain" if at == "HOME" and name == "none" else name  # what is not there is refused
    open_as_dependent(home, f"{at}\\private$\\{queue}")
    send(home, "a", single=True, handle=2, header=HEADER, expiry_ms=30_000)
    if is_deleted and at == "OTHER":
        assert isinstance(home.do(m.MsmqDelete(OWN.format("CLIENT"))), Done)
    network.carry()
    if is_deleted and at == "HOME" and fail is not do_nothing:
        assert isinstance(home.do(m.MsmqDelete(OWN.format("CLIENT"))), Done)
    fail(computers[at])
    network.carry()
    home.core.crash()
    home = home.core.connect()
    letters = drained(home, ".\\SYSTEM$;DEADXACT", "CLIENT")
    assert [body for body, _ in letters] == ["a"]
    assert all(not one.available_count for key, one in home.core.qm.queues.items() if "$;" in key)


def test_messages_of_other_computers_return_to_them(computers: dict[str, Client]) -> None:
    other = computers["OTHER"]
    other.do(m.MsmqOpen(2, "HOME\\private$\\plain", m.SEND_ACCESS))
    send(other, "a", single=True, handle=2)
    Network(computers).carry()
    assert [body for body, _ in drain(other, OWN.format("OTHER"))] == ["a"]


def test_a_computer_that_has_got_a_queue_manager_gets_its_dead_letters_there() -> None:
    home = computer("HOME")
    open_as_dependent(home, "HOME\\private$\\orders")
    send(home, "a", single=True, handle=2, expiry_ms=10)
    know(home, CLIENT="CLIENT")
    home.core.advance(1)
    (stored,) = home.core.qm.queues["outgoing$;client"].in_order()
    assert stored.message.body == b"a"


HERE = "QM1\\private$\\orders"
opening = m.MsmqOpen(2, HERE, m.SEND_ACCESS, computer="OTHER")
sending = m.MsmqSend(2, MessageData(body=b"forged", expiry_ms=10, msmq=MsmqHeader()), single=True)


def checked_computer() -> tuple[Client, Client]:
    """An operator, and a user who may send to a queue, but not to the far system queue."""
    operator = checked()
    operator.do(m.MsmqCreate(PATH, {"transactional": True}))
    set_records(operator.core, ("qmgr", "SELF", ["connect"]), ("queue", KEY, ["put"]))
    client = operator.core.connect()
    user(client)
    return operator, client


def outgoing(client: Client) -> list[bytes]:
    found = [one for name, one in client.core.qm.queues.items() if name == "outgoing$;other"]
    return [stored.message.body for queue in found for stored in queue.in_order()]


@pytest.mark.parametrize("may", [False, True])
@pytest.mark.parametrize("known_before", ["open", "send", "expiry"])
def test_who_lacks_the_right_sends_nothing_to_a_far_system_queue(
    may: bool, known_before: str
) -> None:
    """However early its handle was opened, or its message sent."""
    operator, client = checked_computer()
    if may:
        queue = ("queue", "DIRECT=OS:OTHER\\system$;deadxact", ["put"])
        set_records(client.core, ("qmgr", "SELF", ["connect"]), ("queue", KEY, ["put"]), queue)
    denied = False
    for step, command in (("open", opening), ("send", sending), ("expiry", None)):
        if step == known_before:
            know(operator, OTHER="OTHERQM")
        denied = denied or (command is not None and is_denied(client, command))
    client.core.advance(60)
    assert denied == (not may and known_before != "expiry")
    assert outgoing(client) == [b"forged"] * may


def test_what_may_not_leave_is_a_dead_letter_here() -> None:
    operator, client = checked_computer()
    client.do(opening)
    client.do(sending)
    know(operator, OTHER="OTHERQM")
    client.core.advance(60)
    assert [body for body, _ in drain(operator, OWN.format("QM1"))] == ["forged"]


def rename(client: Client, name: str) -> c.AlterObject:
    return c.AlterObject("queue_manager", client.core.qm.name, {"msmq_computer": name})


def test_a_queue_manager_is_not_renamed_to_a_computer_whose_queues_it_has() -> None:
    home = computer("HOME")
    open_as_dependent(home, "HOME\\private$\\orders")
    send(home, "a", single=True, handle=2, expiry_ms=10)
    assert home.refused(rename(home, "Client")) is Reason.ATTRIBUTE_ERROR
    home.core.advance(1)
    assert [body for body, _ in drained(home, ".\\SYSTEM$;DEADXACT", "CLIENT")] == ["a"]
    assert isinstance(home.do(m.MsmqDelete(OWN.format("CLIENT"))), Done)
    assert home.do(rename(home, "Client")) == Done()
    home.do(m.MsmqOpen(5, "client\\private$\\orders", BOTH))
