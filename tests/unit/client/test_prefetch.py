"""Units ahead: in order, each message once, and uncounted unless the program was shown it."""

import gc
import itertools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import structs

import adapter
from adapter import errors as e
from adapter.client.work import Work
from adapter.core.contract import commands as c
from tests.support.backlog import until
from tests.support.loopback import Loopback
from tests.support.scripted import Command

Connect = Callable[..., adapter.Connection]
BODIES = [b"%d" % number for number in range(40)]
OPTIONS = [(1, 1), (8, 1), (0, 8), (8, 8)]


@pytest.fixture
def queue(qm: adapter.Connection) -> adapter.Queue:
    return qm.queue("Q")


def held(server: Loopback) -> int:
    """How many units are open at the queue manager."""
    return server.call(lambda: sum(len(one.units) for one in server.qm.connections.values()))


def counts(queue: adapter.Queue) -> dict[bytes, int]:
    return {message.body: message.backout_count for message in queue.browse()}


def bodies(unit: Work) -> list[bytes]:
    return [message.body for message in unit.messages]


def ahead(queue: adapter.Queue) -> Iterator[Work]:
    """A loop that has shown ten units, so that it has eight ahead."""
    units = queue.units(timeout=5, prefetch=8)
    for _ in range(10):
        with next(units):
            pass
    return units


@pytest.mark.parametrize(("prefetch", "commits"), OPTIONS)
@pytest.mark.parametrize("size", [1, 3])
def test_every_message_comes_once_and_in_order(
    server: Loopback, qm: adapter.Connection, prefetch: int, commits: int, size: int
) -> None:
    qm.define_queue("OUT")
    queue, out = qm.queue("Q"), qm.queue("OUT")
    queue.put_many(BODIES)
    for unit in queue.units(size, timeout=0, prefetch=prefetch, commits=commits):
        with unit:
            for message in unit.messages:
                out.put(message.body, wait=False)
    assert server.bodies("OUT") == BODIES
    assert (queue.depth(), held(server), qm.statistics()["units"]) == (0, 0, 0)
    assert qm.statistics()["unanswered"] == 0


@pytest.mark.parametrize(("prefetch", "commits"), OPTIONS)
def test_a_failed_unit_comes_again_before_what_was_ahead(
    server: Loopback, queue: adapter.Queue, prefetch: int, commits: int
) -> None:
    queue.put_many(BODIES)
    failing = {b"5", b"20", b"39"}
    seen = []
    for unit in queue.units(timeout=0, prefetch=prefetch, commits=commits):
        with unit:
            (message,) = unit.messages
            seen.append((message.body, message.backout_count))
            if message.body in failing:
                failing.remove(message.body)
                raise ZeroDivisionError
    expected = [(body, 0) for body in BODIES]
    for number in (39, 20, 5):
        expected.insert(number + 1, (b"%d" % number, 1))
    assert seen == expected
    assert (queue.depth(), held(server)) == (0, 0)


def test_a_unit_that_the_program_backs_out_comes_again_first(queue: adapter.Queue) -> None:
    queue.put_many(BODIES)
    units = ahead(queue)
    with next(units) as unit:
        unit.backout()
    with next(units) as unit:
        assert bodies(unit) == [b"10"]
    with next(units) as unit:
        assert bodies(unit) == [b"11"]


def leave_by_break(queue: adapter.Queue) -> None:
    for turn, unit in enumerate(queue.units(prefetch=8)):
        if turn == 10:
            break
        with unit:
            pass


def leave_by_error(queue: adapter.Queue) -> None:
    def interrupt() -> None:
        for turn, unit in enumerate(queue.units(prefetch=8)):
            with unit:
                if turn == 10:
                    raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()


def leave_by_close_of_the_iterator(queue: adapter.Queue) -> None:
    units = ahead(queue)
    next(units)
    units.close()  # type: ignore[attr-defined]


def leave_by_the_garbage_collector(queue: adapter.Queue) -> None:
    units = ahead(queue)
    next(units)
    cycle: list[object] = [units]
    cycle.append(cycle)
    del units, cycle
    gc.collect()


@pytest.mark.parametrize(
    "leave",
    [
        leave_by_break,
        leave_by_error,
        leave_by_close_of_the_iterator,
        leave_by_the_garbage_collector,
    ],
)
def test_leaving_the_loop_gives_back_what_was_not_shown_uncounted(
    server: Loopback, queue: adapter.Queue, leave: Callable[[adapter.Queue], None]
) -> None:
    queue.put_many(BODIES)
    leave(queue)
    until(lambda: server.bodies("Q") == BODIES[10:])
    assert counts(queue) == {body: int(body == b"10") for body in BODIES[10:]}
    assert held(server) == 0


def test_closing_the_queue_gives_back_what_is_ahead_at_once(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    queue.put_many(BODIES)
    units = ahead(queue)
    with next(units) as unit:
        assert len(server.bodies("Q")) <= len(BODIES) - 11 - 8
        closing = threading.Thread(target=queue.close)
        closing.start()
        closing.join(10)
        assert server.bodies("Q") == BODIES[11:]
        assert bodies(unit) == [b"10"]
    assert next(units, None) is None
    assert counts(qm.queue("Q")) == dict.fromkeys(BODIES[11:], 0)
    assert held(server) == 0


def test_a_loop_that_waits_ends_when_the_queue_is_closed(
    server: Loopback, queue: adapter.Queue
) -> None:
    ended: list[list[object]] = []
    worker = threading.Thread(target=lambda: ended.append(list(queue.units(prefetch=8))))
    worker.start()
    until(lambda: server.call(lambda: any(c.waiters for c in server.qm.connections.values())))
    queue.close()
    worker.join(10)
    assert ended == [[]]
    until(lambda: held(server) == 0)


@pytest.mark.parametrize("end", ["abrupt", "close"])
def test_of_a_program_that_ends_only_what_it_was_shown_counts(
    server: Loopback, connect: Connect, qm: adapter.Connection, end: str
) -> None:
    qm.queue("Q").put_many(BODIES)
    dying = connect()
    units = ahead(dying.queue("Q"))
    next(units)
    assert held(server) == 9
    dying.disconnect(abrupt=end == "abrupt")
    until(lambda: server.bodies("Q") == BODIES[10:])
    assert counts(qm.queue("Q")) == {body: int(body == b"10") for body in BODIES[10:]}


def test_on_an_empty_queue_one_get_waits_and_nothing_is_sent(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue, connect: Connect
) -> None:
    queue.put_many(BODIES)
    shown: list[bytes] = []

    def work() -> None:
        for unit in queue.units(prefetch=8):
            with unit:
                shown.extend(bodies(unit))

    worker = threading.Thread(target=work)
    worker.start()
    until(lambda: shown == BODIES)
    until(lambda: _waiting(server) == 1)
    frames = server.frames_received
    threading.Event().wait(0.1)
    assert server.frames_received - frames <= 1  # of this thread's own
    assert _waiting(server) == 1
    connect().put("Q", b"late")
    until(lambda: shown[-1] == b"late")
    queue.close()
    worker.join(10)


def _waiting(server: Loopback) -> int:
    return server.call(lambda: sum(len(one.waiters) for one in server.qm.connections.values()))


def test_a_program_that_is_faster_than_its_producer_costs_about_one_get_a_message(
    server: Loopback, connect: Connect, queue: adapter.Queue
) -> None:
    producer = connect()
    units = queue.units(prefetch=8)
    gets = server.count(c.Get)
    for number in range(100):
        producer.put("Q", b"%d" % number)
        with next(units) as unit:
            assert bodies(unit) == [b"%d" % number]
    assert server.count(c.Get) - gets < 130


def test_a_loop_tries_seldom_while_the_queue_is_short_and_soon_after_it_was_long(
    server: Loopback, connect: Connect, queue: adapter.Queue
) -> None:
    """Its patience doubles with each attempt that finds nothing, and halves with each that finds
    something: a burst does not pay for quiet hours before the last one.
    """
    producer = connect()
    units = queue.units(timeout=5, prefetch=8)

    def steps_alone() -> int:
        """How many units of a burst are got one by one, before several are ahead."""
        burst = BODIES * 3
        producer.queue("Q").put_many(burst)
        ahead = []
        for left in reversed(range(len(burst))):
            with next(units):
                pass
            ahead.append(left - len(server.bodies("Q")))
        return next(step for step, count in enumerate(ahead) if count > 1)

    assert steps_alone() <= 2
    for _ in range(320):
        producer.put("Q", b"alone")
        with next(units):
            pass
    assert 16 < steps_alone() <= 64
    assert steps_alone() <= 4


def test_the_loop_ends_when_nothing_comes_in_time(server: Loopback, queue: adapter.Queue) -> None:
    queue.put_many([b"1", b"2"])
    waits: list[int] = []
    server.before = lambda _n, command: (
        waits.append(command.wait_ms) if isinstance(command, c.Get) else None
    )
    seen = []
    for unit in queue.units(timeout=0.3, prefetch=8):
        with unit:
            seen += bodies(unit)
    assert seen == [b"1", b"2"]
    assert max(waits) <= 300


def test_a_lost_connection_is_outlived_in_order(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    queue.put_many(BODIES)
    done: list[bytes] = []
    turns = itertools.count(1)
    for unit in queue.units(timeout=0.2, prefetch=8):
        with unit:
            if next(turns) % 5 == 0:
                server.cut_all()
        if not unit.failed:
            done += bodies(unit)
    assert done == BODIES
    assert queue.depth() == 0
    assert qm.statistics()["connections_lost"] >= 8


@pytest.mark.parametrize("direction", ["received", "sent"])
def test_a_connection_that_is_lost_at_any_byte_loses_and_doubles_nothing(
    server: Loopback, connect: Connect, direction: str
) -> None:
    qm = connect()
    qm.define_queue("Q")
    qm.define_queue("OUT")
    queue, out = qm.queue("Q"), qm.queue("OUT")
    queue.put_many(BODIES)
    cut = itertools.count(7, 61)
    raised = 0
    while queue.depth():
        try:
            for unit in queue.units(2, timeout=0.1, prefetch=4, commits=4):
                with unit:
                    if bodies(unit)[0] in BODIES[::6]:
                        server.cut_after(**{direction: next(cut)})
                    for message in unit.messages:
                        out.put(message.body, wait=False)
        except e.BackedOut as lost:
            raised += len(lost.units_failed)
    assert server.bodies("OUT") == BODIES
    assert held(server) == 0
    assert qm.statistics()["connections_lost"] > 3
    assert raised or direction == "sent"


def test_a_commit_that_failed_is_raised_by_the_next_step(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    qm.define_queue("SHUT", inhibit_put=True)
    shut = qm.queue("SHUT")
    queue.put_many(BODIES)
    ids = [message.message_id for message in queue.browse()]
    shown = []

    def work() -> None:
        for unit in queue.units(timeout=1, prefetch=2, commits=4):
            with unit:
                shown.append(bodies(unit)[0])
                if shown[-1] == b"5":
                    shut.put(b"x", wait=False)

    with pytest.raises(e.PutInhibited) as caught:
        work()
    (failure,) = caught.value.units_failed
    assert ids[5] in failure.message_ids
    assert len(shown) < 12
    assert counts(queue)[b"5"] == 1
    assert sum(counts(queue).values()) == 1
    assert (held(server), qm.statistics()["unanswered"]) == (0, 0)


def test_a_put_that_is_refused_fails_its_unit_and_the_loop_goes_on(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    qm.define_queue("OUT", inhibit_put=True)
    out = qm.queue("OUT")
    queue.put_many(BODIES[:5])
    failed = []
    for unit in queue.units(timeout=0, prefetch=2):
        with unit:
            out.put(unit.messages[0].body, wait=False)
        failed.append(unit.failed)
        if unit.failed:
            out.set(inhibit_put=False)
    assert failed == [True, False, False, False, False, False]
    assert server.bodies("OUT") == BODIES[:5]


def test_commits_that_a_break_leaves_in_flight_are_raised_by_flush(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    qm.define_queue("SHUT", inhibit_put=True)
    shut = qm.queue("SHUT")
    queue.put_many(BODIES)
    for unit in queue.units(commits=8):
        with unit:
            shut.put(b"x", wait=False)
            break
    with pytest.raises(e.PutInhibited):
        qm.flush()
    assert server.bodies("Q") == BODIES


@pytest.mark.parametrize("prefetch", [0, 8])
def test_an_older_queue_manager_gives_unit_by_unit(
    server: Loopback, connect: Connect, prefetch: int
) -> None:
    server.version = 1
    qm = connect()
    qm.define_queue("Q")
    queue = qm.queue("Q")
    queue.put_many(BODIES)
    seen = []
    for unit in queue.units(timeout=0, prefetch=prefetch, commits=8):
        assert held(server) <= 2  # one whose commit is on its way
        with unit:
            seen += bodies(unit)
    assert seen == BODIES
    assert server.count(c.Touch) == 0
    assert not [one for one in server.executed if isinstance(one, c.Begin) and one.ahead]


def test_poison_is_set_aside_as_without_prefetch(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    qm.define_queue("ASIDE")
    qm.alter_queue("Q", backout_threshold=2, backout_requeue_queue="ASIDE")
    queue.put_many(BODIES)
    handled = []
    for unit in queue.units(timeout=0, prefetch=8, commits=8):
        with unit:
            handled += bodies(unit)
            if handled[-1] in (b"3", b"17"):
                raise ValueError(handled[-1])
    assert server.bodies("ASIDE") == [b"3", b"17"]
    assert [body for body, _ in itertools.groupby(handled)] == BODIES
    assert handled.count(b"3") == handled.count(b"17") == 2


def test_poison_that_cannot_be_set_aside_ends_the_loop_and_all_is_given_back(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    qm.alter_queue("Q", backout_threshold=1)
    queue.put_many(BODIES)

    def work() -> None:
        for unit in queue.units(timeout=0, prefetch=8):
            with unit:
                assert bodies(unit) != [b"12"]

    with pytest.raises(e.BackoutThresholdReached):
        work()
    until(lambda: held(server) == 0)
    assert counts(queue) == {body: 2 * (body == b"12") for body in BODIES[12:]}


def test_bodies_ahead_are_bounded(server: Loopback, queue: adapter.Queue) -> None:
    queue.put_many([bytes(300_000)] * 15)
    most = 0
    for unit in queue.units(timeout=0, prefetch=8):
        with unit:
            most = max(most, held(server))
    assert most == 1 + 3


def test_a_message_that_is_longer_than_the_bound_is_got_alone(
    server: Loopback, queue: adapter.Queue
) -> None:
    queue.put_many([bytes(1_500_000)] * 4)
    most = []
    for unit in queue.units(timeout=0, prefetch=8):
        with unit:
            most.append(held(server))
    assert len(most) == 4
    assert most[1:] == [1, 1, 1]


def test_a_connection_without_room_for_units_gets_fewer_ahead(
    server: Loopback, queue: adapter.Queue
) -> None:
    queue.put_many(BODIES)
    server.qm.limits = structs.replace(server.qm.limits, units_per_connection=3)
    seen = []
    for unit in queue.units(timeout=0, prefetch=8):
        with unit:
            seen += bodies(unit)
    assert seen == BODIES
    server.qm.limits = structs.replace(server.qm.limits, units_per_connection=0)
    with pytest.raises(e.LimitReached, match="at most 0 units"):
        next(queue.units(prefetch=8))


def test_a_get_that_is_refused_ends_the_loop(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    queue.put_many(BODIES)
    units = ahead(queue)
    qm.alter_queue("Q", inhibit_get=True)
    with pytest.raises(e.GetInhibited):
        finish(units)
    until(lambda: held(server) == 0)
    assert set(counts_when_allowed(qm).values()) == {0}


def finish(units: Iterator[Work]) -> None:
    for unit in units:
        with unit:
            pass


def counts_when_allowed(qm: adapter.Connection) -> dict[bytes, int]:
    qm.alter_queue("Q", inhibit_get=False)
    return counts(qm.queue("Q"))


def test_a_selection_holds_for_units_ahead(qm: adapter.Connection) -> None:
    queue = qm.queue("Q", selection="kind = 'wanted'")
    for number, body in enumerate(BODIES):
        queue.put(body, properties={"kind": "wanted" if number % 2 else "other"})
    seen = []
    for unit in queue.units(timeout=0, prefetch=8):
        with unit:
            seen += bodies(unit)
    assert seen == BODIES[1::2]


def test_closing_the_queue_ends_a_retry_delay(server: Loopback, queue: adapter.Queue) -> None:
    queue.put_many(BODIES)
    units = queue.units(retry_delay_s=3600, prefetch=8)
    with next(units):
        raise ZeroDivisionError
    assert held(server) <= 1 + 8
    closing = threading.Timer(0.05, queue.close)
    closing.start()
    assert next(units, None) is None
    closing.join()
    assert server.bodies("Q") == BODIES


def test_the_queue_manager_may_go_while_the_loop_waits(
    server: Loopback, queue: adapter.Queue, connect: Connect
) -> None:
    cuts = iter(range(3))

    def cut(number: int, command: Command) -> None:
        if isinstance(command, c.Get) and next(cuts, None) is not None:
            server.clients[number].cut()

    server.before = cut
    connect().put("Q", b"x")
    for unit in queue.units(timeout=5, prefetch=8):
        with unit:
            assert bodies(unit) == [b"x"]
            break


@pytest.mark.parametrize("options", [{"prefetch": -1}, {"prefetch": 101}, {"commits": 0}])
def test_options_have_bounds(queue: adapter.Queue, options: dict[str, Any]) -> None:
    with pytest.raises(e.InvalidOption):
        queue.units(**options)
