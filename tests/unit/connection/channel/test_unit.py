"""Units that a program has dropped, and calls that are outside a unit by mistake."""

import gc
import os
import threading
import warnings
from collections.abc import Callable, Generator

import pytest

import adapter
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback, OnCommand

Connect = Callable[..., adapter.Connection]


@pytest.fixture
def debug(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "adapter.client")


def hints(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if "outside any unit" in one.getMessage()]


def open_unit(qm: adapter.Connection) -> adapter.Unit:
    unit = qm.unit()
    unit.begin()
    qm.put("Q", b"x", unit=unit)
    return unit


def test_a_dropped_unit_is_backed_out_and_warned_of(
    server: Loopback, qm: adapter.Connection
) -> None:
    queue = qm.queue("Q")
    queue.put(b"got")
    unit = qm.unit()
    unit.begin()
    assert queue.get(unit=unit) is not None
    ident = unit.id
    with pytest.warns(ResourceWarning, match=f"unit {ident.hex()} on queue manager QM1") as warned:
        del unit
    (one,) = warned
    assert one.filename == __file__  # where it was dropped
    assert isinstance(one.source, adapter.Unit)
    assert qm.outcome(ident) == "backed out"
    assert server.bodies("Q") == [b"got"]


def test_a_waiting_thread_backs_it_out(
    server: Loopback, qm: adapter.Connection, connect: Connect
) -> None:
    """What another thread dropped does not wait for the next request."""
    getting = OnCommand(server, c.Get)
    got: list[adapter.Message | None] = []
    thread = threading.Thread(target=lambda: got.append(qm.get("Q", timeout=30)))
    thread.start()
    assert getting.arrived.wait(10)
    unit = open_unit(qm)
    backed_out = OnCommand(server, c.Backout)
    with pytest.warns(ResourceWarning):
        del unit
    assert backed_out.arrived.wait(10)
    connect().put("Q", b"at last")
    thread.join(10)
    assert [one.body for one in got if one] == [b"at last"]


def test_the_garbage_collector_waits_for_no_thread_that_has_the_lock(
    server: Loopback, qm: adapter.Connection
) -> None:
    unit = open_unit(qm)
    cycle: list[object] = [unit]
    cycle.append(cycle)
    held, dropped = threading.Event(), threading.Event()
    waited: list[bool] = []

    def hold() -> None:
        with qm._channel._lock:
            held.set()
            waited.append(dropped.wait(5))

    holding = threading.Thread(target=hold)
    holding.start()
    assert held.wait(10)
    del unit, cycle
    with pytest.warns(ResourceWarning):
        gc.collect()
    dropped.set()
    holding.join()
    assert waited == [True]
    assert qm.queue("Q").depth() == 0
    assert server.count(c.Backout) == 1


def test_deferred_puts_of_a_dropped_unit_are_warned_of(
    server: Loopback, qm: adapter.Connection
) -> None:
    unit = qm.unit()
    unit.begin()
    with qm.queue("Q") as queue:
        queue.put(b"first", unit=unit)
        unit.commit()
        unit = qm.unit()
        unit.begin()
        queue.put(b"never", unit=unit, wait=False)
        with pytest.warns(ResourceWarning, match="dropped without commit or backout"):
            del unit
    assert server.bodies("Q") == [b"first"]
    assert server.count(c.Backout) == 0  # it never began at the queue manager


def test_other_units_are_dropped_silently(
    server: Loopback, qm: adapter.Connection, connect: Connect
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        qm.unit()
        qm.unit().begin()  # nothing was done in it
        with qm.unit():
            qm.put("Q", b"x")
        open_unit(qm).commit()
        open_unit(qm).backout()
        lost = open_unit(qm)
        server.cut_all()
        qm.queues()
        del lost  # the lost connection has backed it out
        other = connect()
        closed, deferred = open_unit(other), other.unit()
        deferred.begin()
        other.queue("Q").put(b"x", unit=deferred, wait=False)
        other.close()  # which has backed them out
        del closed, deferred
        gc.collect()
    assert server.count(c.Backout) == 2


def test_a_forked_child_drops_the_units_of_its_parent_silently(qm: adapter.Connection) -> None:
    unit = open_unit(qm)
    child = os.fork()
    if not child:
        status = 1
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                del unit
                gc.collect()
            status = len(warned)
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    unit.commit()


@pytest.mark.usefixtures("debug")
def test_a_call_beside_a_unit_of_another_thread_is_logged_once(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        with qm.unit() as unit:
            qm.put("Q", b"inside")
            for _ in range(2):
                thread = threading.Thread(target=qm.put, args=("Q", b"outside"), name="helper")
                thread.start()
                thread.join()
    (hint,) = hints(caplog)
    assert hint.startswith("thread helper works outside any unit on the connection to QM1, while ")
    assert f"{threading.current_thread().name} is in the with statement of unit " in hint
    assert unit.id.hex() not in hint  # it was the first one


@pytest.mark.usefixtures("debug")
def test_what_is_meant_to_be_outside_is_not_logged(
    qm: adapter.Connection, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    queue, other = qm.queue("Q"), connect()
    with qm.unit() as unit:
        for options in ({"unit": unit}, {"unit": adapter.NO_UNIT}):
            thread = threading.Thread(target=queue.put, args=(b"x",), kwargs=options)
            thread.start()
            thread.join()
        thread = threading.Thread(target=other.put, args=("Q", b"another connection"))
        thread.start()
        thread.join()
    queue.put(b"the unit has ended")
    assert hints(caplog) == []


def test_units_are_not_noted_without_debug(qm: adapter.Connection) -> None:
    with qm.unit():
        assert qm._channel.entered == {}


def test_a_unit_that_another_thread_has_left_is_joined_by_nothing(qm: adapter.Connection) -> None:
    """As a generator's is that is closed elsewhere, by the garbage collector perhaps."""

    def rows() -> Generator[int, None, None]:
        with qm.unit():
            qm.put("Q", b"undone")
            yield 1

    left = rows()
    next(left)
    closing = threading.Thread(target=left.close)
    closing.start()
    closing.join(10)
    qm.put("Q", b"outside")
    with qm.unit():
        qm.put("Q", b"inside")
    assert [message.body for message in qm.queue("Q").browse()] == [b"outside", b"inside"]
