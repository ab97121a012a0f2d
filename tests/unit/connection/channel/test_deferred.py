"""Deferred puts: one frame a unit, the first refusal raised by the commit, no put lost silently."""

import gc
import threading
from collections.abc import Callable

import msgspec
import pytest
from msgspec import structs

import adapter
from adapter import errors as e
from adapter.connection.channel import deferred
from adapter.connection.channel.requests import Pending
from adapter.core.contract import commands as c
from adapter.core.contract.message import MessageData
from tests.support.loopback import Loopback

Connect = Callable[..., adapter.Connection]
CUTS = 400


@pytest.fixture
def queue(qm: adapter.Connection) -> adapter.Queue:
    queue = qm.queue("Q", open_for="output")
    with qm.unit():
        queue.get()  # the session is known, and the handles are open
    return queue


def frames_of(qm: adapter.Connection) -> int:
    return int(qm.statistics()["frames_sent"])


def test_a_unit_of_puts_is_one_frame_and_one_answer(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    frames, answers = frames_of(qm), qm.statistics()["frames_received"]
    with qm.unit():
        for body in (b"1", b"2", b"3"):
            queue.put(body, wait=False)
        assert frames_of(qm) == frames
    assert frames_of(qm) == frames + 1
    assert qm.statistics()["frames_received"] == answers + 1
    assert server.bodies("Q") == [b"1", b"2", b"3"]
    assert qm.statistics()["units"] == 0


def test_messages_that_follow_each_other_by_a_handle_are_one_put() -> None:
    kept = deferred.DeferredPuts()
    asked = [(1, 9), (1, 9), (2, 9), (1, 9), (1, 4), (1, 4)]
    for number, (handle, level) in enumerate(asked):
        message = MessageData(b"%d" % number)
        kept.keep(c.Put(handle, [message], b"u" * 24, c.DEFERRED, level), None)
        message.body = b"changed since"
    requests = deferred.join_puts(kept.take_all())
    encoded = [msgspec.msgpack.encode(one.command) for one in requests]
    puts = [msgspec.msgpack.decode(one, type=c.Put) for one in encoded]
    assert [len(put.messages) for put in puts] == [2, 1, 1, 2]
    found = [(put.handle, put.level, one.body) for put in puts for one in put.messages]
    assert found == [(*one, b"%d" % number) for number, one in enumerate(asked)]
    assert {(put.unit, put.options) for put in puts} == {(b"u" * 24, c.DEFERRED)}


def test_a_unit_that_was_backed_out_unsent_is_not_begun_by_a_close(
    qm: adapter.Connection, queue: adapter.Queue
) -> None:
    unit = qm.unit()
    unit.begin()
    queue.put(b"x", unit=unit, wait=False)
    unit.backout()
    queue.close()
    assert qm.statistics()["units"] == 0


def test_a_unit_that_is_dropped_while_its_puts_are_sent_is_backed_out(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    unit = qm.unit()
    unit.begin()
    queue.put(b"x", unit=unit, wait=False)
    unit.on_wire.is_dropped = True  # by the garbage collector, which has found it not yet begun
    queue.close()  # which sends it
    assert qm.queue("Q").depth() == 0
    assert server.count(c.Backout) == 1
    unit.backout()


def test_the_result_has_the_id_that_the_message_gets(
    qm: adapter.Connection, queue: adapter.Queue
) -> None:
    with qm.unit():
        drawn = [queue.put(b"drawn", wait=False) for _ in range(3)]
        given = queue.put(b"given", wait=False, message_id="mine")
    found = [message.message_id for message in queue.browse()]
    assert found == [*[one.message_id for one in drawn], given.message_id]
    assert len(set(found)) == 4
    assert given.message_id == b"mine".ljust(24, b"\0")
    assert given.put_time_ms == 0
    with pytest.raises(e.InvalidOption, match="wait=False"):
        _ = given.put_time


def test_outside_a_unit_no_put_can_be_deferred(queue: adapter.Queue) -> None:
    with pytest.raises(e.InvalidOption, match="wait=False needs a unit") as caught:
        queue.put(b"x", wait=False)
    assert caught.value.object_name == "Q"
    with pytest.raises(e.InvalidType):
        queue.put(b"x", wait=0)  # type: ignore[arg-type]


def test_puts_keep_their_order_with_verbs_that_wait(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    queue.put(b"there")
    frames = frames_of(qm)
    with qm.unit():
        queue.put(b"1", wait=False)
        queue.put(b"2")
        queue.put(b"3", wait=False)
        message = queue.get()
        queue.put(b"4", wait=False)
    assert frames_of(qm) == frames + 3
    assert message is not None
    assert server.bodies("Q") == [b"1", b"2", b"3", b"4"]


def test_the_first_refusal_is_raised_by_the_commit_which_backs_out(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    qm.define_queue("SHUT", inhibit_put=True)
    qm.define_queue("FULL", max_depth=0)
    shut, full = qm.queue("SHUT"), qm.queue("FULL")
    queue.put(b"got")
    unit = qm.unit()
    unit.begin()
    assert queue.get(unit=unit) is not None
    queue.put(b"1", unit=unit, wait=False)
    shut.put(b"2", unit=unit, wait=False)
    full.put(b"3", unit=unit, wait=False)
    with pytest.raises(e.PutInhibited, match="SHUT"):
        unit.commit()
    assert server.bodies("Q") == [b"got"]
    assert [message.backout_count for message in queue.browse()] == [1]
    assert not unit.is_open
    with pytest.raises(e.UnitEnded, match="backed out"):
        unit.commit()
    assert server.call(lambda: [known.units for known in server.qm.connections.values()]) == [{}]
    with qm.unit():
        queue.put(b"2", wait=False)
    assert server.bodies("Q") == [b"got", b"2"]


def test_what_is_kept_is_bounded(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    with qm.unit():
        for _ in range(deferred.KEPT_MAX - 1):
            queue.put(b"x", wait=False)
        frames = frames_of(qm)
        queue.put(b"x", wait=False)
        assert frames_of(qm) == frames + 1
        queue.put(bytes(deferred.KEPT_BYTES_MAX), wait=False)
        assert frames_of(qm) == frames + 2
        queue.put(b"last", wait=False)
        assert frames_of(qm) == frames + 2
    assert len(server.bodies("Q")) == deferred.KEPT_MAX + 2


def test_what_cannot_be_sent_is_refused_by_the_put_and_spares_the_others(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    with qm.unit() as unit:
        unit._deferred = deferred.DeferredPuts(longest=deferred.KEPT_BYTES_MAX)
        queue.put(b"1", wait=False)
        with pytest.raises(e.MessageTooLong, match="send less at once"):
            queue.put(bytes(2 * deferred.KEPT_BYTES_MAX), wait=False)
        queue.put(b"2", wait=False)
    assert server.bodies("Q") == [b"1", b"2"]


def test_finding_client_11_what_cannot_be_sent_leaves_nothing_to_send(
    qm: adapter.Connection, queue: adapter.Queue
) -> None:
    for _ in range(3):
        with qm.unit() as unit:
            queue.put(b"1")
            unit._deferred = deferred.DeferredPuts(longest=1000)
            with pytest.raises(e.MessageTooLong):
                queue.put(bytes(2000), wait=False)
    frames = frames_of(qm)
    qm.queue("Q", open_for="browse").close()
    assert frames_of(qm) == frames + 2


def test_a_verb_that_cannot_be_sent_does_not_take_puts_with_it(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    with qm.unit() as unit:
        queue.put(b"1", wait=False)
        with pytest.raises(e.InvalidValue, match="cannot be sent"):
            unit.submit([Pending(c.Get(1, offset=1 << 70))])
        queue.put(b"2", wait=False)
    assert server.bodies("Q") == [b"1", b"2"]


def test_a_message_that_is_changed_after_its_put_was_put_as_it_was(
    qm: adapter.Connection, queue: adapter.Queue
) -> None:
    details = adapter.Message(b"", properties={"a": 1})
    with qm.unit():
        queue.put(details, wait=False)
        assert details.properties is not None
        details.properties["a"] = 2
        details.body = b"other"
    (found,) = queue.browse()
    assert (found.body, found.properties) == (b"", {"a": 1})


def test_a_unit_that_is_backed_out_before_anything_was_sent_sends_nothing(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    frames = frames_of(qm)
    with qm.unit() as unit:
        queue.put(b"x", wait=False)
        assert unit.has_operations
        unit.backout()
    assert frames_of(qm) == frames
    assert server.bodies("Q") == []


def test_an_older_queue_manager_is_asked_put_by_put(server: Loopback, connect: Connect) -> None:
    server.version = 1
    qm = connect()
    qm.define_queue("Q")
    with qm.unit():
        assert qm.queue("Q").put(b"x", wait=False).put_time_ms > 0
    assert server.bodies("Q") == [b"x"]
    assert not [one for one in server.executed if isinstance(one, c.Put) and one.options]
    server.version = 2  # the next connection leads to a newer one
    server.cut_all()
    qm.put("Q", b"y")
    with qm.unit():
        assert qm.queue("Q").put(b"z", wait=False).put_time_ms == 0
    assert server.bodies("Q") == [b"x", b"y", b"z"]


@pytest.mark.parametrize("direction", ["received", "sent"])
def test_a_unit_in_one_frame_cut_at_every_byte_is_true(
    server: Loopback, connect: Connect, direction: str
) -> None:
    qm = connect()
    qm.define_queue("Q")
    queue = qm.queue("Q", open_for="output")
    outcomes = {"committed": 0, "backed out": 0}
    for at in range(direction == "sent", CUTS):
        unit = qm.unit()
        unit.begin()
        queue.put(b"%d" % at, unit=unit, wait=False)
        queue.put(b"%d again" % at, unit=unit, wait=False)
        lost = qm.statistics()["connections_lost"]
        server.cut_after(**{direction: at})
        try:
            unit.commit()
            outcome, true = "committed", [b"%d" % at, b"%d again" % at]
        except e.BackedOut:
            outcome, true = "backed out", []
        outcomes[outcome] += 1
        assert server.bodies("Q") == true
        assert qm.outcome(unit.id) == outcome
        assert qm.statistics()["units"] == 0
        queue.purge()
        if qm.statistics()["connections_lost"] == lost:
            break  # the whole exchange fits into so many bytes
    else:
        pytest.fail("the exchange has more bytes than were tried")
    assert outcomes["committed"] > 1
    assert outcomes["backed out"] > 1 if direction == "received" else not outcomes["backed out"]


def test_threads_may_put_into_one_unit(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    unit = qm.unit()
    unit.begin()

    def put(thread: int) -> None:
        for number in range(300):
            queue.put(b"%d %d" % (thread, number), unit=unit, wait=False)

    threads = [threading.Thread(target=put, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    unit.commit()
    found = server.bodies("Q")
    for putter in range(4):
        mine = [body for body in found if body.startswith(b"%d " % putter)]
        assert sorted(mine) == sorted(b"%d %d" % (putter, n) for n in range(300))


def test_a_begin_that_is_refused_is_what_the_commit_says(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    server.qm.limits = structs.replace(server.qm.limits, units_per_connection=0)
    with pytest.raises(e.LimitReached, match="at most 0 units"), qm.unit():
        queue.put(b"x", wait=False)
    assert server.bodies("Q") == []


def test_a_queue_may_be_closed_before_its_puts_are_sent(
    server: Loopback, qm: adapter.Connection
) -> None:
    with qm.unit():
        qm.queue("Q").put(b"1", wait=False)  # nothing refers to the object any more
        gc.collect()
        with qm.queue("Q") as queue:
            queue.put(b"2", wait=False)
    assert server.bodies("Q") == [b"1", b"2"]
