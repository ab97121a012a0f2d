"""Rights of programs of MSMQ that say on which computer they are."""

import pytest

from adapter.core.contract import msmq as m
from adapter.core.contract.results import Done
from tests.support.authorities import checked, is_denied, set_records, user
from tests.support.core import Client
from tests.support.msmq import BOTH, KEY, PATH, send
from tests.unit.core.rules.msmq.test_computers import know

CONNECT = ("qmgr", "SELF", ["connect"])


@pytest.fixture
def client() -> Client:
    """The client of a user who may send to a queue, and receive from it."""
    operator = checked()
    operator.do(m.MsmqCreate(PATH, {"transactional": True}))
    know(operator, OTHER="QM2")
    client = operator.core.connect()
    user(client)
    return client


def opening(access: int, computer: str) -> m.MsmqOpen:
    return m.MsmqOpen(1, "QM1\\private$\\orders", access, computer=computer)


@pytest.mark.parametrize("access", [m.SEND_ACCESS, BOTH])
def test_who_sends_for_a_computer_that_has_a_queue_manager_needs_a_right_there(
    client: Client, access: int
) -> None:
    """Its dead letters go to the system queue of that computer."""
    queue = ("queue", KEY, ["put", "get"])
    set_records(client.core, CONNECT, queue)
    assert is_denied(client, opening(access, "other"))
    assert client.core.denials[-1].name == "DIRECT=OS:other\\system$;deadxact"
    set_records(client.core, CONNECT, queue, ("queue", "DIRECT=OS:OTHER\\SYSTEM$;**", ["put"]))
    assert client.do(opening(access, "other")) == Done()
    send(client, "forged", single=True, expiry_ms=0)
    (outgoing,) = [one for name, one in client.core.qm.queues.items() if "outgoing$" in name]
    assert outgoing.name == "outgoing$;other"


@pytest.mark.parametrize("computer", ["", "QM1", "CLIENT"])
def test_others_need_none(client: Client, computer: str) -> None:
    set_records(client.core, CONNECT, ("queue", KEY, ["put", "get"]))
    assert client.do(opening(BOTH, computer)) == Done()


def test_who_only_reads_needs_none(client: Client) -> None:
    set_records(client.core, CONNECT, ("queue", KEY, ["get"]))
    assert client.do(opening(m.RECEIVE_ACCESS, "OTHER")) == Done()


def test_a_right_to_a_queue_of_another_computer_counts_however_that_is_written(
    client: Client,
) -> None:
    set_records(client.core, CONNECT, ("queue", "DIRECT=OS:OTHER\\private$\\x", ["put"]))
    for number, name in enumerate(("OTHER\\private$\\x", "other\\Private$\\X"), 5):
        assert client.do(m.MsmqOpen(number, name, m.SEND_ACCESS)) == Done()
    assert is_denied(client, m.MsmqOpen(9, "OTHERS\\private$\\x", m.SEND_ACCESS))
