"""Closing with deletion: a dynamic queue goes with the handle that asks for it, and no other."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract.authorities import bits_of
from adapter.core.contract.authority_commands import SetAuthority
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Subscribed
from tests.support.authorities import checked, is_denied, user
from tests.support.core import IN_OUT, Client, Core
from tests.support.hard_state import check_snapshots
from tests.support.topics import DURABLE, core_with_topics, subscribe


def a_deleted_queue_that_is_open(core: Core) -> tuple[Client, str]:
    """A managed queue that has gone with its subscription, and a client that has it open as 1."""
    client, other = core.connect(), core.connect()
    told = subscribe(client, "a", DURABLE, name="S")
    other.open(told.queue)
    client.do(c.CloseSubscription(10, remove=True))
    assert told.queue not in core.qm.queues
    return other, told.queue


@pytest.mark.parametrize("how", [c.DELETE, c.PURGE])
def test_a_queue_that_has_been_deleted_is_closed_like_any(how: int) -> None:
    core = core_with_topics()
    client, name = a_deleted_queue_that_is_open(core)
    assert client.refused(c.Get(1)) is Reason.QUEUE_DELETED
    assert client.do(c.Close(1, how)) == Done()
    core.crash()
    assert name not in core.qm.queues


@pytest.mark.parametrize("how", [c.DELETE, c.PURGE])
def test_no_right_is_asked_to_delete_a_queue_that_has_gone(how: int) -> None:
    """The records of who made it have gone with it."""
    client = checked()
    of_topic = bits_of("topic", ["sub", "resume"])
    client.do(SetAuthority("SYSTEM.BASE.TOPIC", "topic", ["ada"], [], of_topic))
    of_queue = bits_of("queue", ["get", "browse"])
    client.do(SetAuthority("SYSTEM.MANAGED.DURABLE.**", "queue", ["ada"], [], of_queue))
    user(client)
    options = c.CREATE | c.DURABLE | c.MANAGED
    answer = client.do(c.Subscribe(1, "a", name="S", options=options, queue_handle=2))
    assert isinstance(answer, Subscribed)
    assert is_denied(client, c.Close(2, how)), "it is there"
    assert client.do(c.CloseSubscription(1, remove=True)) == Done()
    assert client.do(c.Close(2, how)) == Done()
    assert client.refused(c.Close(2)) is Reason.HANDLE_NOT_OPEN


@pytest.mark.parametrize("how", [c.DELETE, c.PURGE])
def test_a_close_deletes_no_other_queue_of_its_name(how: int) -> None:
    core = core_with_topics()
    client, name = a_deleted_queue_that_is_open(core)
    keeper = core.connect()
    keeper.define(name)
    keeper.open(name)
    keeper.put("kept", persistence=1)
    assert client.do(c.Close(1, how)) == Done()
    assert keeper.get() == ["kept"]
    core.crash()
    assert name in core.qm.queues


def test_what_is_delayed_for_it_goes_with_it() -> None:
    core = core_with_topics()
    client = core.connect()
    given = {"definition_type": "PERMDYN"}
    client.do(c.DefineObject("model", "M", given))
    client.do(c.Open(1, "M", IN_OUT, dynamic_name="D"))
    client.put("later", delay_ms=60_000, persistence=1)
    client.put("softly", delay_ms=60_000, persistence=0)
    assert client.do(c.Close(1, c.PURGE)) == Done()
    check_snapshots(core.qm, core.replayed())
    assert core.queue("SYSTEM.DELAYED.QUEUE").depth == 0
