"""The limit of queues: whatever makes some asks for it."""

from hypothesis import given
from hypothesis import strategies as st

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.limits import Limits
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.core import Client, Core

NUMBERS = st.integers(0, 3)
ON_A_QUEUE = (6, 7, 8, 11)
PATH = ".\\private$\\q{}"


def by(number: int) -> list[c.Command]:
    """Every command that makes queues, for objects of a number."""
    path = PATH.format(number)
    return [
        c.DefineQueue(f"Q{number}"),
        c.Open(1 + number, "DYNAMIC", c.OUTPUT, dynamic_name=f"D{number}.*"),
        c.Open(10 + number, "R", c.OUTPUT, queue_manager=f"QM{number + 2}"),
        c.Open(20 + number, "", c.OUTPUT, kafka_topic=f"topic{number}"),
        m.MsmqCreate(path),
        m.MsmqCreate(path, {"journaling": True}),
        m.MsmqAlter(path, {"journaling": True}),
        m.MsmqOpen(30 + number, f"{path};journal", m.RECEIVE_ACCESS),
        m.MsmqOpen(40 + number, f"{path};sub{number}", m.RECEIVE_ACCESS),
        b.BrokerCreate(kinds.QUEUE, f"q{number}"),
        b.BrokerCreate(kinds.QUEUE, f"q{number}", {"retention": True}),
        b.BrokerAlter(kinds.QUEUE, f"q{number}", {"retention": True}),
    ]


def prepared(limits: Limits) -> Client:
    """A program at a queue manager with a queue of MSMQ and one of Service Broker."""
    core = Core(limits)
    core.configure()
    core.qm.known_queue_managers = frozenset(f"QM{number + 2}" for number in range(4))
    client = core.connect()
    client.do(c.DefineObject("model", "DYNAMIC", {"definition_type": "PERMDYN"}))
    client.do(m.MsmqCreate(PATH.format(0)))
    client.do(b.BrokerCreate(kinds.QUEUE, "q0"))
    return client


def client_with(room: int) -> Client:
    """The same, with so much room for further queues."""
    return prepared(Limits(queues=len(prepared(Limits()).core.qm.queues) + room))


@given(st.integers(1, 8), st.lists(st.tuples(NUMBERS, st.integers(0, len(by(0)) - 1)), max_size=30))
def test_no_command_makes_more_than_there_may_be(room: int, given: list[tuple[int, int]]) -> None:
    client = client_with(room)
    qm = client.core.qm
    for number, which in given:
        before = len(qm.queues)
        answer = client.answer(client.send(by(number)[which]))
        assert len(qm.queues) <= qm.limits.queues
        if isinstance(answer, Refused):
            assert len(qm.queues) == before
            full = answer.reason in (Reason.LIMIT_REACHED, Reason.UNKNOWN_REMOTE_QUEUE_MANAGER)
            assert not full or before + 7 >= qm.limits.queues  # one of MSMQ comes with several


def test_each_of_them_makes_some() -> None:
    made = []
    for which in range(len(by(0))):
        client = client_with(100)
        before = len(client.core.qm.queues)
        client.do(by(0 if which in ON_A_QUEUE else 1)[which])
        made.append(len(client.core.qm.queues) - before)
    assert made == [1, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 1]
