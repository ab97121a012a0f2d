"""Transactions that wait for each other's conversation groups: one is the victim, none waits on."""

import threading
from uuid import UUID

import pytest

from adapter.servicebroker import ServiceBrokerError, Transaction
from adapter.servicebroker.errors import DEADLOCK_VICTIM
from tests.support.broker_site import EXPENSES, BrokerSite, broker_site

WAIT_S = 20.0


def holding(at: BrokerSite) -> tuple[UUID, UUID, Transaction, Transaction]:
    """Two conversations, each received by a transaction of its own."""
    first, second = at.submitted("first"), at.submitted("second")
    one, other = at.program.transaction(), at.admin.transaction()
    assert len(one.receive(EXPENSES, conversation_handle=first)) == 1
    assert len(other.receive(EXPENSES, conversation_handle=second)) == 1
    return first, second, one, other


@pytest.mark.parametrize("timeout_ms", [-1, 20_000], ids=["without limit", "for a time"])
def test_receives_that_wait_for_each_other(timeout_ms: int) -> None:
    with broker_site() as at:
        first, second, one, other = holding(at)
        found: list[str] = []

        def wait() -> None:
            rows = one.receive(EXPENSES, conversation_handle=second, timeout_ms=timeout_ms)
            found.extend(row.text for row in rows)

        waits = threading.Thread(target=wait)
        waits.start()
        at.await_waits(EXPENSES)
        with pytest.raises(ServiceBrokerError) as refused:
            other.receive(EXPENSES, conversation_handle=first, timeout_ms=timeout_ms)
        assert refused.value.number == DEADLOCK_VICTIM
        assert not other.is_open
        waits.join(WAIT_S)
        assert found == ["second"]
        one.commit()
        assert (at.texts(), at.count()) == ([], 0)


def test_a_receive_and_an_end_that_wait_for_each_other() -> None:
    with broker_site() as at:
        first, second, one, other = holding(at)
        waits = threading.Thread(
            target=lambda: one.receive(EXPENSES, conversation_handle=second, timeout_ms=-1)
        )
        waits.start()
        at.await_waits(EXPENSES)
        with pytest.raises(ServiceBrokerError) as refused:
            other.end_conversation(first)
        assert refused.value.number == DEADLOCK_VICTIM
        waits.join(WAIT_S)
        one.rollback()
        assert at.texts() == ["first", "second"]
