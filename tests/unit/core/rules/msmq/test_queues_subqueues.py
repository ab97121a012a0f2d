"""Subqueues: one that is empty goes as soon as no program and no transaction uses it."""

from collections.abc import Callable

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.results import Done
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots
from tests.support.msmq import BOTH, KEY, PATH, client_of_msmq, look, lookup_id, receive, send

SUB = f"{KEY};retry"
SOME_DAYS_S = 4 * 24 * 3_600


def moved(expiry_ms: int = -1) -> Client:
    """A client with a message on a subqueue, which is handle 2."""
    client = client_of_msmq(transactional=True)
    send(client, "a", single=True, expiry_ms=expiry_ms)
    assert client.do(c.Close(1)) == Done()
    client.do(m.MsmqOpen(1, PATH, BOTH | m.MOVE_ACCESS))
    client.do(m.MsmqOpen(2, f"{PATH};retry", m.RECEIVE_ACCESS | m.MOVE_ACCESS))
    (one,) = look(client)
    assert client.do(m.MsmqMove(1, 2, lookup_id(one))) == Done(1)
    return client


def received_in_a_transaction(client: Client) -> None:
    unit = client.begin()
    assert receive(client, unit, 2) == ["a"]
    client.do(c.Close(2))
    assert SUB in client.core.qm.queues
    client.do(c.Commit(unit))


def moved_back_by_a_transaction(client: Client) -> None:
    unit = client.begin()
    (one,) = look(client, 2)
    assert client.do(m.MsmqMove(2, 1, lookup_id(one), unit)) == Done(1)
    client.do(c.Close(2))
    client.do(c.Commit(unit))


def a_move_that_was_aborted(client: Client) -> None:
    moved_back_by_a_transaction(client)
    client.do(m.MsmqOpen(2, f"{PATH};retry", m.MOVE_ACCESS))
    unit = client.begin()
    (one,) = look(client)
    assert client.do(m.MsmqMove(1, 2, lookup_id(one), unit)) == Done(1)
    client.do(c.Close(2))
    assert SUB in client.core.qm.queues
    client.do(c.Backout(unit))


def expired(client: Client) -> None:
    client.do(c.Close(2))
    assert SUB in client.core.qm.queues
    client.core.advance(10)


def lost(client: Client) -> None:
    assert receive(client, handle=2, single=True) == ["a"]
    core = client.core
    core.crash()
    assert SUB in core.qm.queues, "the program may come back"
    core.advance(SOME_DAYS_S)


@pytest.mark.parametrize(
    "ending",
    [received_in_a_transaction, moved_back_by_a_transaction, a_move_that_was_aborted, lost],
)
def test_an_empty_subqueue_goes(ending: Callable[[Client], None]) -> None:
    client = moved()
    ending(client)
    core: Core = client.core
    assert SUB not in core.qm.queues
    check_snapshots(core.qm, core.replayed())


def test_a_subqueue_goes_when_its_last_message_expires() -> None:
    client = moved(expiry_ms=5_000)
    expired(client)
    assert SUB not in client.core.qm.queues


def test_a_subqueue_with_a_message_stays_whoever_is_lost() -> None:
    core = moved().core
    core.crash_with_snapshot()
    core.advance(SOME_DAYS_S)
    assert core.queue(SUB).available_count == 1
