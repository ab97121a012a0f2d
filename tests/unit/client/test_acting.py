"""Putting by the authorities of another user."""

from functools import partial

import pytest

import adapter
import adapter.testing
from adapter.client.acting import put_for
from adapter.client.connection import Connection, connect_in_process
from adapter.core.contract.parties import Principal, Proof
from adapter.errors import NotAuthorized


def connect_own(manager: adapter.testing.TestQueueManager) -> Connection:
    """Connect as a part of the queue manager."""
    accept = partial(manager._running().accept, Principal(manager.name, Proof.OWN))
    return connect_in_process(manager._loop, accept)


def test_all_messages_are_put_where_the_user_may_put_and_none_elsewhere() -> None:
    made = adapter.testing.queue_manager("QM1", authorities=True)
    with made as manager, connect_own(manager) as own:
        own.define_queue("Q")
        two = [adapter.Message(b"a"), adapter.Message(b"b")]
        with pytest.raises(NotAuthorized):
            put_for(own, "ada", "Q", two)
        own.set_authority("Q", users=["ada"], add=["put"])
        put_for(own, "ada", "Q", two)
        found = [own.get("Q"), own.get("Q"), own.get("Q")]
        assert [one and one.body for one in found] == [b"a", b"b", None]
        assert not own.queue_status("Q")[0].open_output_count


def test_a_model_queue_makes_none() -> None:
    made = adapter.testing.queue_manager("QM1")
    with made as manager, manager.connect() as qm, pytest.raises(adapter.Error):
        put_for(qm, "ada", "SYSTEM.DEFAULT.MODEL.QUEUE", [adapter.Message(b"a")])
