"""One connection for each process of a broker."""

import os

import pytest
from dramatiq.errors import ConnectionClosed

from adapter.dramatiq.connection import ProcessConnection, in_dramatiqs_names
from adapter.errors import BackedOut, ConnectionBroken, QueueFull
from adapter.testing import TestQueueManager


def test_a_process_has_one_connection(manager: TestQueueManager) -> None:
    one = ProcessConnection({"address": manager.address})
    first = one.get()
    assert one.get() is first
    one.close()
    assert first.is_closed
    second = one.get()
    assert second is not first
    one.close()
    one.close()


def test_a_forked_child_has_its_own(
    manager: TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = ProcessConnection({"address": manager.address})
    parents = one.get()
    with monkeypatch.context() as in_child:
        in_child.setattr(os, "getpid", lambda: 0)
        childs = one.get()
        assert childs is not parents
        one.close()
    assert not parents.is_closed
    parents.close()


@pytest.mark.parametrize("error", [ConnectionBroken("lost"), BackedOut("lost")])
def test_a_lost_connection_is_dramatiqs_error(error: Exception) -> None:
    with pytest.raises(ConnectionClosed, match="lost") as raised, in_dramatiqs_names():
        raise error
    assert raised.value.__cause__ is error


def test_other_errors_stay() -> None:
    with pytest.raises(QueueFull), in_dramatiqs_names():
        raise QueueFull("full")
