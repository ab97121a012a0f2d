"""A queue manager that is renamed while programs have its queues open, and messages name it."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core import inputs
from adapter.core.attributes.objects import QUEUE_MANAGER
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.computers import KnownComputer
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import DEAD_LETTER, MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import ComputerFound, Objects
from adapter.core.model.msmq_queue import MsmqQueue
from adapter.core.rules.msmq.computers import FORMER_MAX
from tests.support.core import Client
from tests.support.examples import examples
from tests.support.hard_state import check_snapshots
from tests.support.msmq import (
    ADMINISTRATION,
    BOTH,
    PATH,
    client_of_msmq,
    drain,
    look,
    receive,
    send,
)
from tests.unit.core.rules.msmq.test_computers import know

LETTERS = ".\\private$\\letters"
HEADER = MsmqHeader(
    acknowledge=15,
    administration_queue=ADMINISTRATION,
    journal=DEAD_LETTER,
    dead_letter_queue=LETTERS,
)
NAMES = ("", "ONE", "two", "One")


def rename(client: Client, computer: str) -> None:
    client.do(c.AlterObject(QUEUE_MANAGER, "QM1", {"msmq_computer": computer}))


def renamed() -> Client:
    """A client that has a queue open; dead letters and acknowledgments have queues too."""
    client = client_of_msmq(transactional=True)
    client.do(m.MsmqCreate(ADMINISTRATION))
    client.do(m.MsmqCreate(LETTERS, {"transactional": True}))
    return client


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32))
def test_whatever_it_is_called_its_messages_stay_here(seed: int) -> None:
    draw = random.Random(seed)
    client = renamed()
    core = client.core
    handles, ends, received = [1], 0, 0
    for number in range(draw.randint(5, 30)):
        match draw.choice(("rename", "open", "send", "send", "receive", "receive", "restart")):
            case "rename":
                rename(client, draw.choice(NAMES))
            case "open":
                name = core.qm.attributes.msmq_computer or "QM1"
                path = draw.choice((PATH, name + PATH[1:]))
                client.do(m.MsmqOpen(number + 10, path, draw.choice((BOTH, m.SEND_ACCESS))))
                handles.append(number + 10)
            case "send":
                lifetime = draw.choice((-1, -1, 0))
                handle = draw.choice(handles)
                send(client, "x", handle=handle, single=True, header=HEADER, expiry_ms=lifetime)
                ends += 1
            case "receive":
                received += len(receive(client))
            case "restart":
                check_snapshots(core.qm, core.replayed())
                draw.choice((core.crash, core.crash_with_snapshot))()
                client = core.connect()
                client.do(m.MsmqOpen(1, PATH, BOTH))
                handles = [1]
    assert all(isinstance(queue, MsmqQueue) for queue in core.qm.queues.values())
    while receive(client):
        received += 1
    dead = drain(client, LETTERS)
    assert len(dead) + received == ends
    outcomes = [kind for _, kind in drain(client, ADMINISTRATION) if kind != 2]
    assert len(outcomes) == ends


def test_a_former_name_is_its_own_until_another_queue_manager_has_it() -> None:
    client = renamed()
    send(client, "x", single=True, header=HEADER)
    rename(client, "NEW")
    assert client.do(m.MsmqLocate("qm1")) == ComputerFound("qm1", "QM1", "", 3)
    client.do(m.MsmqOpen(2, "QM1\\private$\\orders", BOTH, computer="QM1"))
    assert receive(client, handle=2, peek=True) == ["x"]
    know(client, QM1="QM9")
    assert client.do(m.MsmqLocate("qm1")) == ComputerFound("qm1", "QM9", "host:1", 3)
    client.do(m.MsmqSend(2, MessageData(b"y", msmq=HEADER), b"", True))
    client.do(m.MsmqOpen(3, "QM1\\private$\\orders", m.SEND_ACCESS))
    send(client, "z", handle=3)
    assert "outgoing$;qm1" in client.core.qm.queues
    assert len(look(client)) == 1


def test_former_names_are_bounded_and_read_only() -> None:
    client = renamed()
    for number in range(FORMER_MAX + 5):
        rename(client, f"NAME{number}")
    kept = client.core.qm.attributes.msmq_former_computers.split(",")
    assert len(kept) == FORMER_MAX
    assert kept[-1] == f"name{FORMER_MAX + 3}"
    answer = client.do(c.InquireObjects(QUEUE_MANAGER, "*"))
    assert isinstance(answer, Objects)
    assert answer.objects[0].attributes["msmq_former_computers"] == ",".join(kept)
    setting = c.AlterObject(QUEUE_MANAGER, "QM1", {"msmq_former_computers": "x"})
    assert client.refused(setting) is Reason.ATTRIBUTE_ERROR


def test_a_former_name_that_another_queue_manager_had_too_is_still_its_own() -> None:
    client = renamed()
    rename(client, "NEW")
    other = KnownComputer("QM9", "host:1", is_former=True)
    client.core.give(inputs.QueueManagersKnown(frozenset({"QM9"}), {"qm1": other}))
    send(client, "x", single=True)
    assert receive(client) == ["x"]
