"""Connections broken at every byte: what was asked is done once, and the answer is true.

The server breaks the connection behind a chosen byte; what is on the queue decides what is true.
"""

import itertools
from collections.abc import Callable

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.requests import encode_into
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback
from tests.support.scripted import Budget

Connect = Callable[..., adapter.Connection]
CUTS = 160  # more bytes than any of the exchanges below has: that is asserted


@pytest.mark.parametrize("direction", ["received", "sent"])
def test_a_commit_cut_at_every_byte_is_true(
    server: Loopback, connect: Connect, direction: str
) -> None:
    qm = connect()
    qm.define_queue("Q")
    queue = qm.queue("Q", open_for="output")
    committed, backed_out = 0, 0
    for at in range(direction == "sent", CUTS):
        unit = qm.unit()
        unit.begin()
        queue.put(b"%d" % at, unit=unit)
        queue.put(b"%d again" % at, unit=unit)
        lost = qm.statistics()["connections_lost"]
        server.cut_after(**{direction: at})
        try:
            unit.commit()
            true = [b"%d" % at, b"%d again" % at]
            committed += 1
        except e.BackedOut:
            true = []
            backed_out += 1
        assert server.bodies("Q") == true
        assert qm.outcome(unit.id) == ("committed" if true else "backed out")
        qm.queue("Q").purge()
        if qm.statistics()["connections_lost"] == lost:
            break  # the whole exchange fits into so many bytes
    else:
        pytest.fail("the exchange has more bytes than were tried")
    assert committed > 1
    assert backed_out > 1 if direction == "received" else backed_out == 0


@pytest.mark.parametrize("direction", ["received", "sent"])
def test_a_put_cut_at_every_byte_is_put_once(
    server: Loopback, connect: Connect, direction: str
) -> None:
    qm = connect()
    qm.define_queue("Q")
    for at in itertools.count():
        lost = qm.statistics()["connections_lost"]
        server.cut_after(**{direction: at})
        result = qm.put("Q", b"%d" % at)
        if qm.statistics()["connections_lost"] == lost:
            break
        assert result.message_id
    assert 30 < at < 500
    assert server.bodies("Q") == [b"%d" % n for n in range(at + 1)]


@pytest.mark.parametrize("direction", ["received", "sent"])
def test_a_get_cut_at_every_byte_loses_nothing(
    server: Loopback, connect: Connect, direction: str
) -> None:
    qm = connect()
    qm.define_queue("Q")
    queue = qm.queue("Q")
    for at in range(500):
        qm.put("Q", b"%d" % at)
        lost = qm.statistics()["connections_lost"]
        server.cut_after(**{direction: at})
        message = queue.get(timeout=5)
        assert message is not None
        assert message.body == b"%d" % at
        assert server.bodies("Q") == []
        if qm.statistics()["connections_lost"] == lost:
            break
    else:
        pytest.fail("the exchange has more bytes than were tried")
    assert at > 25


def test_a_definition_whose_answer_is_lost_is_done_once(server: Loopback, connect: Connect) -> None:
    qm = connect()
    qm.define_queue("Q")
    for at in range(20):
        server.cut_after(sent=at)
        qm.define_queue(f"R{at}")
    assert [queue.name for queue in qm.queues("R*")] == sorted(f"R{at}" for at in range(20))
    # Definitions that had been done came again and were answered from what was recorded.
    assert 10 < qm.statistics()["connections_lost"] < 20


def test_the_first_of_all_commands_may_be_lost_with_its_session(
    server: Loopback, connect: Connect
) -> None:
    for at in range(60):
        qm = connect()
        server.cut_after(received=at)
        qm.define_queue(f"A{at}")
        qm.close()
    for at in range(40):
        qm = connect()
        server.cut_after(sent=at)
        qm.define_queue(f"B{at}")
        qm.close()
    assert len(server.qm.queues) == 100


def test_a_hook_that_grants_more_bytes_does_not_undo_a_cut(
    server: Loopback, connect: Connect
) -> None:
    """Else the rest of a frame would be missing from a connection that lives on."""
    qm = connect()
    lost = bytearray()
    encode_into(lost, [(1_000_000, 0, c.Inquire("*")), (1_000_001, 0, c.Inquire("*"))], [])

    def cut() -> bool:
        (client,) = server.clients.values()
        client.budget = Budget(received=len(lost) + 1)

        def grant(_number: int, _command: object) -> None:
            client.budget.received = 400

        server.before = grant
        client.data_received(bytes(lost + lost))
        return client.is_closing

    assert server.call(cut)
    assert qm.queues() == []
