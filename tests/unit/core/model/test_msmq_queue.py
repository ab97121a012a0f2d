"""The bytes on a queue of MSMQ: live and replayed, they are those of its messages."""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.results import Refused
from adapter.core.model.msmq_queue import MsmqQueue
from tests.support.core import Client, Core
from tests.support.hard_state import check_snapshots
from tests.support.msmq import BOTH, KEY, PATH, bytes_on, client_of_msmq, receive, send

SMALL, LARGE = "s" * 1_000, "l" * 90_000


def kept(core: Core) -> int:
    queue = core.queue(KEY)
    assert isinstance(queue, MsmqQueue)
    assert queue.kept_bytes == bytes_on(core, queue)
    return queue.kept_bytes


def again(core: Core) -> Client:
    client = core.connect()
    client.do(m.MsmqOpen(1, PATH, BOTH))
    return client


def test_a_large_message_that_a_snapshot_had_leaves_its_room() -> None:
    client = client_of_msmq(quota_kb=100)
    core = client.core
    send(client, LARGE, *[SMALL] * 5)
    core.crash_with_snapshot()
    client = again(core)
    assert receive(client) == [LARGE]
    assert kept(core) == 5 * len(SMALL)
    core.crash()
    assert kept(core) == 5 * len(SMALL)
    client = again(core)
    message = MessageData(body=LARGE.encode(), msmq=MsmqHeader())
    assert not isinstance(client.do(m.MsmqSend(1, message)), Refused)
    assert kept(core) == 5 * len(SMALL) + len(LARGE)
    check_snapshots(core.qm, core.replayed())


@pytest.mark.parametrize("with_snapshot", [False, True])
def test_what_a_transaction_holds_beside_a_purge(with_snapshot: bool) -> None:
    client = client_of_msmq(transactional=True)
    core = client.core
    send(client, LARGE, *[SMALL] * 9, single=True)
    unit = client.begin()
    assert receive(client, unit) == [LARGE]
    if with_snapshot:
        core.snapshot()
    other = again(core)
    other.do(m.MsmqPurge(1))
    assert kept(core) == len(LARGE)
    client.do(c.Backout(unit))
    check_snapshots(core.qm, core.replayed())
    core.crash()
    assert kept(core) == len(LARGE)


def test_a_message_that_has_expired_when_its_page_comes() -> None:
    core = Core(window_messages=2)
    client = client_of_msmq(core)
    for number in range(40):
        send(client, "x" * (number + 1), expiry_ms=1_000 if number % 2 else -1)
    for _ in range(3):
        core.advance(2)
    core.crash_with_snapshot()
    core.advance(120)
    client = again(core)
    found = []
    while body := receive(client):
        found += body
        kept(core)
        check_snapshots(core.qm, core.replayed())
    assert len(found) == 20


@pytest.mark.parametrize("holds", [False, True])
def test_a_purge_forgets_when_its_messages_were_received(holds: bool) -> None:
    client = client_of_msmq(transactional=True)
    queue = client.core.queue(KEY)
    assert isinstance(queue, MsmqQueue)
    waiting = again(client.core)
    waiting.send(m.MsmqReceive(1, wait_ms=-1, correlation_id=b"c" * 24))
    held = client.begin()
    for number in range(5):
        send(client, "x", single=True)
        unit = held if holds and not number else client.begin()
        assert receive(client, unit) == ["x"]
        if unit != held:
            client.do(c.Backout(unit))
        client.do(m.MsmqPurge(1))
    assert len(queue.locked_at) == holds
