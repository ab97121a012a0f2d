"""Commits in flight: bounded, answered in order, and each failure raised once."""

import logging
import threading
from collections.abc import Callable

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.commits import IN_FLIGHT_MAX
from adapter.core.contract import commands as c
from tests.support.backlog import until
from tests.support.loopback import Loopback

Connect = Callable[..., adapter.Connection]


@pytest.fixture
def queue(qm: adapter.Connection) -> adapter.Queue:
    qm.define_queue("SHUT", inhibit_put=True)
    return qm.queue("Q", open_for="output")


def committed(qm: adapter.Connection, queue: adapter.Queue, body: bytes) -> adapter.Unit:
    """Put a message in a unit, and leave its commit in flight."""
    with qm.unit() as unit:
        queue.put(body, wait=False)
        unit.commit(wait=False)
    return unit


def test_commits_in_flight_are_not_awaited_until_there_are_too_many(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    server.call(lambda: setattr(server, "holds", (c.Commit,)))
    bodies = [b"%d" % number for number in range(IN_FLIGHT_MAX + 1)]
    units = [committed(qm, queue, body) for body in bodies[:-1]]
    assert qm.statistics()["unanswered"] == IN_FLIGHT_MAX
    with pytest.raises(e.UnitEnded, match="is being committed"):
        units[0].commit()
    one_more = threading.Thread(target=committed, args=(qm, queue, bodies[-1]))
    one_more.start()
    one_more.join(0.05)
    assert one_more.is_alive()
    server.release()
    one_more.join(10)
    qm.flush()
    assert qm.statistics()["unanswered"] == 0
    assert server.bodies("Q") == bodies
    with pytest.raises(e.UnitEnded, match="has been committed"):
        units[0].commit()


def test_a_failure_is_raised_by_the_next_commit_which_commits_nothing(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    with qm.unit() as failing:
        ident = qm.queue("SHUT").put(b"x", wait=False).message_id
        failing.commit(wait=False)
    queue.depth()  # now the outcome has arrived
    with pytest.raises(e.PutInhibited, match="SHUT") as caught, qm.unit() as unit:
        queue.put(b"not put", wait=False)
    (failure,) = caught.value.units_failed
    assert (failure.unit_id, failure.message_ids) == (failing.id, [ident])
    assert failure.error is caught.value
    assert ident.hex() in "".join(caught.value.__notes__)
    assert not unit.is_open
    qm.flush()  # it has been raised
    with qm.unit():
        queue.put(b"put")
    assert server.bodies("Q") == [b"put"]


def test_flush_raises_the_first_failure_with_all_others(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    units = []
    shut = qm.queue("SHUT", open_for="output")
    server.holds = (c.Commit,)
    for to in (shut, queue, shut):
        with qm.unit() as unit:
            to.put(b"x", wait=False)
            unit.commit(wait=False)
            units.append(unit)
    server.release()
    with pytest.raises(e.PutInhibited) as caught:
        qm.flush()
    assert [one.unit_id for one in caught.value.units_failed] == [units[0].id, units[2].id]
    assert server.bodies("Q") == [b"x"]


def test_close_waits_and_raises(server: Loopback, connect: Connect, qm: adapter.Connection) -> None:
    qm.define_queue("SHUT", inhibit_put=True)
    other = connect()
    committed(other, other.queue("Q"), b"x")
    other.close()
    assert server.bodies("Q") == [b"x"]
    failing = connect()
    with pytest.raises(e.PutInhibited), failing:
        committed(failing, failing.queue("SHUT"), b"x")
    assert failing.is_closed


def test_another_error_that_ends_a_connection_is_not_replaced(
    connect: Connect, qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    qm.define_queue("SHUT", inhibit_put=True)
    caplog.set_level(logging.WARNING, "adapter.client")
    failing = connect()
    committed(failing, failing.queue("SHUT"), b"x")
    failing.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert failing.is_closed
    assert "PutInhibited" in caplog.text


def test_a_unit_without_verbs_has_nothing_in_flight(qm: adapter.Connection) -> None:
    with qm.unit() as unit:
        unit.commit(wait=False)
    assert not qm.statistics()["unanswered"]


@pytest.mark.parametrize("arrived", [0, 3, 7])
def test_a_lost_connection_divides_them(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue, arrived: int
) -> None:
    committed(qm, queue, b"first")
    sent = qm.statistics()["bytes_sent"]
    committed(qm, queue, b"0")
    frame_bytes = qm.statistics()["bytes_sent"] - sent
    qm.flush()
    queue.purge()
    bodies = [b"%d" % number for number in range(IN_FLIGHT_MAX)]
    server.cut_after(received=frame_bytes * arrived + frame_bytes // 2)
    units = [committed(qm, queue, body) for body in bodies]
    with pytest.raises(e.BackedOut) as caught:
        qm.flush()
    assert [one.unit_id for one in caught.value.units_failed] == [one.id for one in units[arrived:]]
    assert server.bodies("Q") == bodies[:arrived]
    assert qm.statistics()["units"] == 0


def test_a_lost_connection_loses_none_that_arrived(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    bodies = [b"%d" % number for number in range(IN_FLIGHT_MAX)]
    server.call(lambda: setattr(server, "holds", (c.Commit,)))
    for body in bodies:
        committed(qm, queue, body)
    until(lambda: server.bodies("Q") == bodies)
    server.call(lambda: setattr(server, "holds", ()))
    server.cut_all()
    qm.flush()
    assert server.bodies("Q") == bodies


def test_without_a_queue_manager_they_are_in_doubt(server: Loopback, connect: Connect) -> None:
    qm = connect(reconnect_timeout_s=0.2)
    qm.define_queue("Q")
    queue = qm.queue("Q", open_for="output")
    server.call(lambda: setattr(server, "holds", (c.Commit,)))
    units = [committed(qm, queue, b"x") for _ in range(3)]
    server.crash()
    with pytest.raises(e.InDoubt) as caught:
        qm.flush()
    assert [one.unit_id for one in caught.value.units_failed] == [unit.id for unit in units]
    server.call(lambda: setattr(server, "holds", ()))
    server.start()
    states = {qm.outcome(unit.id) for unit in units}
    assert len(server.bodies("Q")) == (3 if states == {"committed"} else 0)
