"""queue.units(): the worker loop, its retries, and what becomes of poison messages."""

import logging
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

import adapter
from adapter import errors as e
from adapter.client.attributes import QueueDefinition
from adapter.client.work import Work
from adapter.core.contract import commands as c
from adapter.core.contract.results import Refused
from tests.support.backlog import until
from tests.support.loopback import Loopback
from tests.support.scripted import Command

Connect = Callable[..., adapter.Connection]


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "adapter.client")


@pytest.fixture
def queue(qm: adapter.Connection) -> adapter.Queue:
    return qm.queue("Q")


def all_bodies(queue: adapter.Queue) -> list[bytes]:
    return [message.body for message in queue.browse()]


def work(
    queue: adapter.Queue, act: Callable[[Work], object], timeout: float = 0, size: int = 1
) -> None:
    """The worker loop as programs write it."""
    for unit in queue.units(size=size, timeout=timeout):
        with unit:
            act(unit)


def fail(_unit: Work) -> None:
    raise ZeroDivisionError


def crash_when(server: Loopback, event: threading.Event) -> None:
    assert event.wait(10)
    server.crash()


def interrupt(_unit: Work) -> None:
    raise KeyboardInterrupt


def commit_and_fail(unit: Work) -> None:
    unit.commit()
    raise ZeroDivisionError  # there is nothing left to back out


def test_messages_come_in_units_and_are_gone_after_them(queue: adapter.Queue) -> None:
    queue.put_many(b"%d" % number for number in range(25))
    sizes, bodies = [], []
    for unit in queue.units(size=10, timeout=0):
        with unit:
            sizes.append(len(unit.messages))
            bodies += [message.body for message in unit.messages]
            assert {message.unit_size for message in unit.messages} == {25}
    assert sizes == [10, 10, 5]
    assert bodies == [b"%d" % number for number in range(25)]
    assert queue.depth() == 0


def test_the_body_of_the_loop_joins_the_unit(qm: adapter.Connection, queue: adapter.Queue) -> None:
    qm.define_queue("OUT")
    queue.put(b"x")
    for unit in queue.units(timeout=0):
        with unit:
            qm.put("OUT", b"result")
            unit.backout()
        assert not unit.failed
        break
    assert (queue.depth(), qm.queue("OUT").depth()) == (1, 0)


def test_an_exception_backs_out_and_the_loop_goes_on(
    queue: adapter.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    queue.put_many([b"1", b"2", b"3"])
    seen: list[list[tuple[bytes, int]]] = []
    for unit in queue.units(size=3, timeout=0):
        with unit:
            seen.append([(m.body, m.backout_count) for m in unit.messages])
            if len(seen) == 1:
                raise ZeroDivisionError("no work")
        assert unit.failed == (len(seen) == 1)
    # Who was backed out before comes alone, so that no neighbour shares its fate.
    assert seen == [
        [(b"1", 0), (b"2", 0), (b"3", 0)], [(b"1", 1)], [(b"2", 1)], [(b"3", 1)],
    ]  # fmt: skip
    assert "3 messages from queue Q was backed out" in caplog.text
    assert "ZeroDivisionError: no work" in caplog.text


def test_only_exceptions_of_programs_are_outlived(queue: adapter.Queue) -> None:
    queue.put(b"x")
    with pytest.raises(KeyboardInterrupt):
        work(queue, interrupt)
    assert queue.depth() == 1
    with pytest.raises(ZeroDivisionError):
        work(queue, commit_and_fail)
    assert queue.depth() == 0


def test_break_commits_as_leaving_does(queue: adapter.Queue) -> None:
    queue.put_many([b"1", b"2"])
    for unit in queue.units(timeout=0):
        with unit:
            break
    assert all_bodies(queue) == [b"2"]


def test_a_unit_that_nobody_ended_is_an_error(queue: adapter.Queue) -> None:
    queue.put(b"x")
    with pytest.raises(e.UnitInProgress, match="use `with u:`"):
        for _ in queue.units(timeout=0):
            pass
    assert queue.depth() == 1


def test_poison_is_set_aside_in_the_unit_that_gets_it(
    qm: adapter.Connection, queue: adapter.Queue, caplog: pytest.LogCaptureFixture
) -> None:
    qm.define_queue("ASIDE")
    qm.alter_queue("Q", backout_threshold=2, backout_requeue_queue="ASIDE")
    queue.put(b"poison", priority=3, correlation_id=b"c" * 24)
    queue.put_many([b"good", b"bad"])
    handled = []
    for unit in queue.units(size=2, timeout=0):
        with unit:
            for message in unit.messages:
                handled.append(message.body)
                if message.body != b"good":
                    raise ValueError(message.body)
    aside = list(qm.queue("ASIDE").browse())
    assert [message.body for message in aside] == [b"poison", b"bad"]
    assert (aside[0].priority, aside[0].correlation_id) == (3, b"c" * 24)
    assert aside[0].properties == {
        "mqk.backout_reason": "backout_threshold_reached",
        "mqk.backout_queue": "Q",
        "mqk.backout_count": 2,
    }
    assert handled.count(b"poison") == handled.count(b"bad") == 2
    assert queue.depth() == 0
    assert "moved to queue ASIDE" in caplog.text


@pytest.mark.parametrize("ahead", [{}, {"prefetch": 4}])
def test_finding_client_4_poison_got_by_an_alias_is_set_aside(
    qm: adapter.Connection, queue: adapter.Queue, ahead: dict[str, Any]
) -> None:
    """The attributes are those of the queue that it came from: an alias has none of them."""
    qm.define_queue("ASIDE")
    qm.define_object("alias", "ALIAS", target="Q")
    qm.alter_queue("Q", backout_threshold=1, backout_requeue_queue="ASIDE")
    queue.put_many([b"poison", b"good"])
    shown = []
    for unit in qm.queue("ALIAS").units(timeout=0, **ahead):
        with unit:
            shown += [message.body for message in unit.messages]
            if shown[-1] == b"poison":
                raise ValueError("poison")
    assert shown == [b"poison", b"good"]
    (aside,) = qm.queue("ASIDE").browse()
    assert aside.properties["mqk.backout_queue"] == "Q"
    assert queue.depth() == 0


def test_a_queue_may_move_poison_by_itself(qm: adapter.Connection, queue: adapter.Queue) -> None:
    qm.define_queue("ASIDE")
    qm.alter_queue("Q", backout_threshold=2, backout_action="MOVE", backout_requeue_queue="ASIDE")
    queue.put_many([b"poison", b"good"])
    handled = []
    for unit in queue.units(timeout=0):
        with unit:
            handled += [message.body for message in unit.messages]
            if handled[-1] == b"poison":
                raise ValueError("poison")
    assert handled == [b"poison", b"poison", b"good"]
    (aside,) = qm.queue("ASIDE").browse()
    assert aside.properties is not None
    assert aside.properties["mqk.backout_queue"] == "Q"


def test_poison_that_the_queue_manager_cannot_move_stops_the_loop(
    qm: adapter.Connection, queue: adapter.Queue
) -> None:
    qm.alter_queue("Q", backout_threshold=1, backout_action="MOVE")
    queue.put(b"poison")
    with pytest.raises(e.BackoutThresholdReached, match="the queue manager could move it neither"):
        work(queue, fail)
    assert all_bodies(queue) == [b"poison"]


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({}, "there is no backout_requeue_queue"),
        ({"backout_requeue_queue": "NONE"}, "queue NONE does not exist"),
        ({"backout_requeue_queue": "FULL"}, "queue FULL is full"),
        ({"backout_requeue_queue": "SHUT"}, "puts are inhibited on SHUT"),
        ({"backout_requeue_queue": "Q"}, "its backout_requeue_queue Q is that queue itself"),
        ({"backout_requeue_queue": "ROUND"}, "backout_requeue_queue ROUND is that queue itself"),
    ],
)
def test_poison_that_cannot_be_set_aside_stays_and_is_told(
    qm: adapter.Connection, queue: adapter.Queue, attributes: QueueDefinition, says: str
) -> None:
    qm.define_queue("FULL", max_depth=0)
    qm.define_queue("SHUT", inhibit_put=True)
    qm.define_object("alias", "ROUND", target="Q")
    qm.alter_queue("Q", backout_threshold=1)
    qm.alter_queue("Q", **attributes)
    queue.put(b"poison")
    with pytest.raises(e.BackoutThresholdReached, match=says) as caught:
        work(queue, fail)
    assert caught.value.object_name == "Q"
    assert "backout_threshold is 1" in caught.value.text
    assert all_bodies(queue) == [b"poison"]
    assert qm.statistics()["units"] == 0


def test_without_a_threshold_a_message_comes_again_and_again(queue: adapter.Queue) -> None:
    queue.put(b"x")
    counts = []
    for unit in queue.units(timeout=0):
        with unit:
            counts.append(unit.messages[0].backout_count)
            if len(counts) < 6:
                raise ZeroDivisionError
    assert counts == [0, 1, 2, 3, 4, 5]


def test_waiting_for_ever_ends_when_the_queue_is_closed(
    server: Loopback, queue: adapter.Queue
) -> None:
    waiting = threading.Event()
    server.before = lambda _n, command: waiting.set() if isinstance(command, c.Get) else None
    ended: list[list[object]] = []
    worker = threading.Thread(target=lambda: ended.append(list(queue.units())))
    worker.start()
    assert waiting.wait(10)
    queue.close()
    worker.join(10)
    assert ended == [[]]


def test_closing_ends_a_retry_delay(queue: adapter.Queue) -> None:
    queue.put(b"x")
    units = queue.units(retry_delay_s=3600)
    with next(units):
        raise ZeroDivisionError
    closing = threading.Timer(0.05, queue.close)
    closing.start()
    assert next(units, None) is None
    closing.join()


def test_closing_the_connection_ends_a_retry_delay(
    qm: adapter.Connection, queue: adapter.Queue
) -> None:
    queue.put(b"x")
    units = queue.units(retry_delay_s=20)
    with next(units):
        raise ZeroDivisionError
    closing = threading.Timer(0.05, qm.close)
    closing.start()
    began_s = time.monotonic()
    assert next(units, None) is None
    assert time.monotonic() - began_s < 15
    closing.join()


def test_a_lost_connection_is_outlived(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    queue.put_many(b"%d" % number for number in range(20))
    done: list[bytes] = []
    for turn, unit in enumerate(queue.units(size=4, timeout=0.2)):
        with unit:
            if not turn % 2:
                server.cut_all()
            queue.depth()
            done += [m.body for m in unit.messages] if turn % 2 else []
    assert sorted(done, key=int) == [b"%d" % number for number in range(20)]
    assert queue.depth() == 0


def test_a_get_that_waits_in_the_loop_outlives_a_lost_connection(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue, connect: Connect
) -> None:
    cuts = iter(range(3))

    def cut(number: int, command: Command) -> Refused | None:
        if isinstance(command, c.Get) and next(cuts, None) is not None:
            server.clients[number].cut()
        return None

    server.before = cut
    connect().put("Q", b"x")
    server.cut_all()
    for unit in queue.units(timeout=5):
        with unit:
            assert unit.messages[0].body == b"x"
            break
    assert qm.statistics()["connections_lost"] >= 3


def test_lost_connections_do_not_make_the_loop_wait_longer_or_shorter(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    waits: list[int] = []

    def cut_twice(number: int, command: Command) -> None:
        if isinstance(command, c.Get):
            waits.append(command.wait_ms)
            if len(waits) in (1, 2):
                threading.Event().wait(0.05)  # so much of the time is over
                server.clients[number].cut()

    queue.put(b"x")
    server.before = cut_twice
    work(queue, lambda _unit: None, timeout=0.5)
    assert len(waits) == 4  # two cut, one that got, one that waited in vain
    assert waits[1] <= 450
    assert waits[2] <= 400
    assert waits[3] > 490


def test_a_commit_in_doubt_is_not_swallowed(server: Loopback, connect: Connect) -> None:
    qm = connect(reconnect_timeout_s=0.2)
    qm.define_queue("Q")
    queue = qm.queue("Q")
    queue.put(b"x")
    server.holds = (c.Commit,)
    arrived = threading.Event()
    server.before = lambda _n, command: arrived.set() if isinstance(command, c.Commit) else None
    ending = threading.Thread(target=crash_when, args=(server, arrived))
    ending.start()
    with pytest.raises(e.InDoubt):
        work(queue, lambda _unit: None)
    ending.join()
    server.start()


def test_other_refusals_end_the_loop(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    queue.put(b"x")
    queue.set(inhibit_get=True)
    with pytest.raises(e.GetInhibited):
        next(queue.units())
    until(lambda: not any(known.units for known in server.qm.connections.values()))
    queue.set(inhibit_get=False)
    server.qm.limits = structs.replace(server.qm.limits, units_per_connection=0)
    with pytest.raises(e.LimitReached, match="at most 0 units"):
        next(queue.units())


@pytest.mark.parametrize("ahead", [{}, {"prefetch": 4}, {"commits": 3}])
def test_finding_users_2_a_token_ends_units(queue: adapter.Queue, ahead: dict[str, Any]) -> None:
    """The unit at hand is finished; what was not shown is on the queue; the queue object lives."""
    queue.put("a")
    queue.put("b")
    token = adapter.CancelToken()
    shown = []
    for work in queue.units(timeout=None, cancel=token, **ahead):
        with work:
            shown += [message.body for message in work.messages]
            token.cancel()
    assert shown == [b"a"]
    left = queue.get()
    assert left is not None
    assert (left.body, left.backout_count) == (b"b", 0)


def test_cancelling_a_loop_waits_for_nothing(server: Loopback, queue: adapter.Queue) -> None:
    token, cancelled = adapter.CancelToken(), threading.Event()

    def cancel() -> None:
        token.cancel()
        cancelled.set()

    units = queue.units(timeout=None, cancel=token)
    loop = threading.Thread(target=lambda: list(units))
    loop.start()
    until(lambda: server.count(c.Get) > 0)
    server.stall()
    cancelling = threading.Thread(target=cancel)
    cancelling.start()
    is_at_once = cancelled.wait(5)
    server.stall(ends=True)
    for thread in (cancelling, loop):
        thread.join(10)
    assert is_at_once
    assert not loop.is_alive()


def test_finding_client_4_closing_the_queue_ends_a_loop_with_a_token(queue: adapter.Queue) -> None:
    loop = queue.units(timeout=None, cancel=adapter.CancelToken())
    closing = threading.Timer(0.1, queue.close)
    closing.start()
    assert list(loop) == []
    closing.join()


def test_finding_users_2_a_signal_handler_ends_units_that_wait(queue: adapter.Queue) -> None:
    token = adapter.CancelToken()
    before = signal.signal(signal.SIGALRM, lambda *_: token.cancel())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        assert list(queue.units(timeout=None, cancel=token)) == []
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    queue.put("still open")
    assert queue.get() is not None
