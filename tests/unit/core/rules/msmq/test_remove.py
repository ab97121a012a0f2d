"""Deleting a queue of MSMQ beside transactions, and queues that its own messages name."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.msmq_header import DEAD_LETTER, MsmqHeader
from adapter.core.contract.results import Done
from adapter.core.rules.msmq import delivery
from tests.support.core import Client
from tests.support.msmq import (
    ADMINISTRATION,
    PATH,
    TRANSACTIONAL_DEAD_LETTERS,
    client_of_msmq,
    drain,
    send,
)

DEAD = ".\\private$\\dead"
PLAIN = ".\\private$\\plain"


@pytest.fixture
def client() -> Client:
    client = client_of_msmq(transactional=True)
    client.do(m.MsmqCreate(ADMINISTRATION))
    return client


@pytest.mark.parametrize("commits", [True, False])
def test_what_a_transaction_sends_to_a_deleted_queue_is_a_dead_letter_if_it_commits(
    client: Client, commits: bool
) -> None:
    header = MsmqHeader(acknowledge=15, administration_queue=ADMINISTRATION)
    unit = client.begin()
    send(client, "a", unit=unit, header=header)
    assert client.do(m.MsmqDelete(PATH)) == Done()
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == []
    assert drain(client, ADMINISTRATION) == []
    client.do(c.Commit(unit) if commits else c.Backout(unit))
    letters = [("a", delivery.BAD_DESTINATION)] * commits
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == letters
    assert drain(client, ADMINISTRATION) == letters


def test_a_queue_is_deleted_that_its_messages_name_for_dead_letters(client: Client) -> None:
    send(client, "a", single=True, header=MsmqHeader(journal=DEAD_LETTER, dead_letter_queue=PATH))
    assert client.do(m.MsmqDelete(PATH)) == Done(1)
    client.core.crash()
    found = drain(client.core.connect(), TRANSACTIONAL_DEAD_LETTERS)
    assert found == [("a", delivery.QUEUE_DELETED)]


def test_a_queue_is_deleted_that_its_messages_name_for_acknowledgments(client: Client) -> None:
    client.do(m.MsmqCreate(PLAIN))
    client.do(m.MsmqOpen(2, PLAIN, m.SEND_ACCESS))
    send(client, "a", handle=2, header=MsmqHeader(acknowledge=8, administration_queue=PLAIN))
    assert client.do(m.MsmqDelete(PLAIN)) == Done(1)
    client.core.crash()
    assert "private$\\plain" not in client.core.qm.queues


def test_a_dead_letter_for_a_deleted_queue_goes_to_the_computer_for_the_same_reason(
    client: Client,
) -> None:
    """A transaction holds it, and has reported it once."""
    client.do(m.MsmqCreate(DEAD, {"transactional": True}))
    client.do(m.MsmqCreate(PLAIN))
    client.do(m.MsmqOpen(2, PLAIN, m.SEND_ACCESS))
    header = MsmqHeader(
        acknowledge=15,
        administration_queue=ADMINISTRATION,
        journal=DEAD_LETTER,
        dead_letter_queue=DEAD,
    )
    unit = client.begin()
    send(client, "a", unit=unit, handle=2, header=header)
    assert client.do(m.MsmqDelete(DEAD)) == Done()
    client.do(c.Commit(unit))
    letters = [("a", delivery.NOT_TRANSACTIONAL_QUEUE)]
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == letters
    assert drain(client, ADMINISTRATION) == letters
