"""The bounds of a connection, and losses at them: what is asked ends, and each outcome is known."""

from __future__ import annotations

import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator

import pytest

import adapter
from adapter import errors as e
from adapter import testing
from adapter.client.put_many import Pipeline
from adapter.client.replies import LATE_MAX, MODEL
from adapter.connection.channel.commits import CommitsInFlight
from adapter.connection.channel.deferred import KEPT_BYTES_MAX, DeferredPuts
from adapter.connection.channel.numbering import UNANSWERED_MAX, SessionNumbers
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.steps import run
from adapter.connection.wire import codec, frames
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from tests.drivers import Driver
from tests.support.loopback import Loopback, OnCommand, loopback

Connect = Callable[..., adapter.Connection]
WAIT_S = 10.0
BUFFERS_BYTES = 24 * 1024 * 1024
"""More than both ends of a connection within one machine keep of what is not read."""


def until(is_so: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < deadline_s, "it does not come"
        time.sleep(0.005)


def open_units(server: Loopback) -> int:
    return server.call(lambda: sum(len(one.units) for one in server.qm.connections.values()))


def fill(qm: adapter.Connection, server: Loopback) -> list[Pending]:
    """Have as many commands unanswered as a connection of threads may have."""
    server.holds = (c.PurgeQueue,)
    requests = [Pending(c.PurgeQueue("R")) for _ in range(UNANSWERED_MAX)]
    qm.unit().channel.submit(requests)
    return requests


@pytest.fixture
def full(server: Loopback) -> Iterator[adapter.Connection]:
    """A connection of threads with queues Q and R."""
    with adapter.connect(server.address) as qm:
        qm.define_queue("Q")
        qm.define_queue("R")
        yield qm


def test_a_unit_that_fails_when_no_command_more_may_be_sent_is_backed_out(
    server: Loopback, full: adapter.Connection
) -> None:
    full.put("Q", b"x")
    with pytest.raises(KeyError), full.unit():  # noqa: PT012
        assert full.queue("Q").get() is not None
        waiting = fill(full, server)
        raise KeyError
    server.release()
    full.unit().channel.await_all(waiting)
    full.put("R", b"next")
    until(lambda: server.bodies("Q") == [b"x"] and not open_units(server))


def test_put_many_that_is_refused_there_leaves_no_unit(
    server: Loopback, full: adapter.Connection
) -> None:
    queue = full.queue("Q", open_for="output")
    handle = queue._handles.get("Q", c.OUTPUT)
    channel = full.unit().channel
    steps = Pipeline(channel, handle).put([MessageData(body=b"1")], 1)
    channel.await_all(next(steps))
    channel.await_all(next(steps))  # its put is answered
    waiting = fill(full, server)
    with pytest.raises(e.LimitReached):
        run(channel, steps)
    server.release()
    channel.await_all(waiting)
    full.put("R", b"next")
    until(lambda: not open_units(server))
    assert server.bodies("Q") == []


def test_every_outcome_that_is_in_doubt_can_be_asked_for(
    server: Loopback, full: adapter.Connection
) -> None:
    channel = full.unit().channel
    queue = full.queue("Q", open_for="output")
    handle = queue._handles.get("Q", c.OUTPUT)
    server.holds = (c.Put,)
    puts = [
        Pending(c.Put(handle.number, [MessageData(body=b"%d" % n)]), handle=handle)
        for n in range(UNANSWERED_MAX)
    ]
    channel.submit(puts)
    until(lambda: len(server.bodies("Q")) == UNANSWERED_MAX)
    channel.abandon(puts)
    server.release()
    outcomes = {
        full.outcome(one.answer.unit_id) for one in puts if isinstance(one.answer, e.InDoubt)
    }
    assert outcomes == {"committed"}


def test_numbers_that_were_never_sent_push_out_no_doubtful_ones() -> None:
    session = SessionNumbers()
    session.issued = 2 * UNANSWERED_MAX
    session.give_up(1, was_sent=True)
    for number in range(2, 2 * UNANSWERED_MAX):
        session.give_up(number, was_sent=False)
    assert session.resume_command([]).unanswered == [1]
    assert session.unanswered_count == 1


def test_a_queue_that_is_closed_while_the_connection_is_made_again_is_closed(
    server: Loopback, driver: Driver
) -> None:
    qm = driver.connect(server.address)
    qm.define_queue("Q")
    queue = qm.queue("Q", open_for="input_exclusive")
    if hasattr(queue, "open"):
        queue.open()
    queue.get()
    server.holds = (c.Open,)
    server.cut_all()
    asking = threading.Thread(target=qm.queues)
    asking.start()
    until(lambda: bool(server.call(lambda: len(server.held))))  # it is opened again
    closing = threading.Thread(target=queue.close)
    closing.start()
    closing.join(WAIT_S)
    assert not closing.is_alive()
    server.release()
    asking.join(WAIT_S)
    until(lambda: _open_input(server) == 0)
    qm.close()


def _open_input(server: Loopback) -> int:
    with adapter.connect(server.address) as other:
        (status,) = other.queue_status("Q")
        return status.open_input_count


class HeldUnit:
    """A unit whose commit fails, once it is let go."""

    id = b"unit"
    message_ids: list[bytes] = []  # noqa: RUF012

    def __init__(self) -> None:
        self.is_awaited = threading.Event()
        self.may_end = threading.Event()

    def await_outcome(self, commit: Pending) -> None:
        self.is_awaited.set()
        self.may_end.wait(WAIT_S)
        commit.settle(Done())

    def settle(self, _commit: Pending) -> None:
        raise e.BackedOut("it failed")


def test_flush_hears_of_a_commit_that_another_thread_waits_for() -> None:
    commits, unit = CommitsInFlight(1), HeldUnit()
    commits.add(unit, Pending(c.Commit(b"")))
    making_room = threading.Thread(target=commits.make_room)
    making_room.start()
    assert unit.is_awaited.wait(WAIT_S)
    failures: list[e.Error] = []

    def flush() -> None:
        try:
            commits.flush()
        except e.Error as error:
            failures.append(error)

    flushing = threading.Thread(target=flush)
    flushing.start()
    flushing.join(0.1)
    assert flushing.is_alive(), "it returns before the commit is known"
    unit.may_end.set()
    flushing.join(WAIT_S)
    making_room.join(WAIT_S)
    assert [type(one) for one in failures] == [e.BackedOut]


def test_what_is_taken_back_counts_again() -> None:
    deferred = DeferredPuts()
    body = bytes(KEPT_BYTES_MAX // 2)
    assert not deferred.keep(c.Put(1, [MessageData(body=body)]), None)
    deferred.take_back(deferred.take_all())
    assert deferred.keep(c.Put(1, [MessageData(body=body)]), None)


def test_late_replies_do_not_fill_the_queue_of_a_connection(driver: Driver) -> None:
    most = LATE_MAX + 5
    with testing.queue_manager() as manager:
        of = driver.of(manager)
        with manager.connect() as service, of.connect() as qm:
            service.define_queue("SERVICE")
            service.alter_object("model", MODEL, max_depth=most)
            for _ in range(4 * most):
                with pytest.raises(e.NoReply):
                    qm.queue("SERVICE").request(b"?", timeout=0, expiry_s=None)
                request = service.get("SERVICE")
                assert request is not None
                service.reply(request, b"late")
            (depth,) = [one.current_depth for one in service.queue_status("*") if one.current_depth]
            assert depth <= LATE_MAX + 1


def test_a_request_whose_reply_queue_is_lost_while_it_is_put_says_so(
    server: Loopback, driver: Driver
) -> None:
    qm = driver.connect(server.address)
    qm.define_queue("Q")
    qm.define_object("model", MODEL)
    queue = qm.queue("Q")
    queue.put(b"the handle is open")
    OnCommand(server, c.Put, server.cut_here)
    with pytest.raises(e.ConnectionBroken, match="ask again"):
        queue.request(b"?", timeout=None)
    qm.close()


def put_without_end(
    qm: adapter.Connection, queue: adapter.Queue, offered: list[int], bodies: int
) -> None:
    """Put in units that are not waited for. offered: grows with each body that was taken."""
    for number in range(bodies):
        with qm.unit() as unit:
            queue.put(b"%06d" % number + bytes(1_000_000), wait=False)
            offered.append(number)
            unit.commit(wait=False)
    qm.flush()


def stands_still(offered: list[int]) -> bool:
    """Whether nothing is taken any more."""
    count = len(offered)
    time.sleep(0.3)
    return bool(offered) and len(offered) == count


def test_a_program_that_puts_faster_than_the_link_takes_waits(
    server: Loopback, full: adapter.Connection
) -> None:
    queue = full.queue("Q")
    queue.put(b"first")
    server.stall()
    bodies, offered = 60, list[int]()
    putting = threading.Thread(target=put_without_end, args=(full, queue, offered, bodies))
    putting.start()
    until(lambda: stands_still(offered))
    assert len(offered) * 1_000_000 <= BUFFERS_BYTES
    server.stall(ends=True)
    putting.join(WAIT_S)
    assert [int(body[:6]) for body in server.bodies("Q")[1:]] == list(range(bodies))


def test_what_a_unit_keeps_without_a_link_is_bounded(
    server: Loopback, full: adapter.Connection
) -> None:
    queue = full.queue("Q")
    queue.put(b"first")
    server.crash()
    body = bytes(10_000)
    tracemalloc.start()
    try:
        with pytest.raises(e.BackedOut), full.unit():  # noqa: PT012
            for _ in range(40 * KEPT_BYTES_MAX // len(body)):
                queue.put(body, wait=False)
            server.start()
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes <= 8 * KEPT_BYTES_MAX
    full.put("Q", b"last")
    assert server.bodies("Q") == [b"first", b"last"]


def test_a_program_that_opens_without_end_is_refused(driver: Driver, server: Loopback) -> None:
    qm = driver.connect(server.address)
    qm.define_queue("Q")
    most = Limits().handles_per_connection
    queues = [qm.queue("Q") for _ in range(most)]
    for queue in queues:
        queue.get()
    further = qm.queue("Q")
    for _ in range(3):
        with pytest.raises(e.LimitReached, match=str(most)):
            further.get()
    assert qm.statistics()["handles"] == most
    queues.pop().close()
    assert further.get() is None
    qm.close()


def test_a_goodbye_that_comes_while_the_link_is_full_is_followed(
    server: Loopback, full: adapter.Connection
) -> None:
    queue = full.queue("Q")
    queue.put(b"first")
    with loopback() as other:
        with adapter.connect(other.address) as there:
            there.define_queue("Q")
        server.stall()
        offered: list[int] = []
        failures: list[e.Error] = []

        def put_until_it_fails() -> None:
            try:
                with full.unit():
                    for number in range(60):
                        queue.put(bytes(1_000_000), wait=False)
                        offered.append(number)
            except e.Error as error:
                failures.append(error)

        putting = threading.Thread(target=put_until_it_fails)
        putting.start()
        until(lambda: stands_still(offered))
        away = Refused(Reason.QUEUE_MANAGER_QUIESCING, "QM1", "it is handed over")
        goodbye = codec.encode(frames.Goodbye(away, other.address))

        def send() -> None:
            for client in server.clients.values():
                client.send(goodbye)

        server.call(send)
        putting.join(WAIT_S)
        assert failures, "the unit is gone: the other one does not know the session"
        full.put("Q", b"second")
        assert other.bodies("Q") == [b"second"]
