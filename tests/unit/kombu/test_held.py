"""Messages that are not acknowledged: how many there may be, and what becomes of them."""

import threading
from collections.abc import Callable
from typing import Any

import kombu
import pytest
from amqp.exceptions import RecoverableConnectionError
from kombu.exceptions import ChannelError

import adapter
from adapter.kombu import held
from adapter.kombu.held import HeldMessage, HeldOfProcess, UnitQoS
from tests.support.backlog import until

WAIT_S = 20.0


def put(connection: kombu.Connection, queue: str, *bodies: Any) -> None:
    connection.default_channel.queue_declare(queue)
    for body in bodies:
        kombu.Producer(connection).publish(body, routing_key=queue)


def test_channels_of_a_process_hold_no_more_than_its_connection_may(
    url: str, qm: adapter.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what one of them acknowledges is room for another, which waits."""
    monkeypatch.setattr(held, "HELD_OF_PROCESS_MAX", 5)
    got: list[Any] = []
    with kombu.Connection(url) as first, kombu.Connection(url) as second:
        put(first, "Q", *range(8))
        for prefetch, connection in enumerate((first, first, second), 9):
            channel = connection.channel()
            channel.basic_qos(0, prefetch, False)
            channel.basic_consume("Q", False, got.append, f"tag {prefetch}")
        for _ in range(5):
            first.drain_events(timeout=WAIT_S)
        for connection in (first, second):
            with pytest.raises(TimeoutError):
                connection.drain_events(timeout=0.05)
        assert len(got) == 5
        drained = threading.Thread(target=second.drain_events, kwargs={"timeout": WAIT_S})
        drained.start()
        drained.join(0.05)
        assert drained.is_alive()
        got[0].ack()
        drained.join(WAIT_S)
        assert len(got) == 6
        until(lambda: qm.queue("Q").depth() == 2)
    assert qm.queue("Q").depth() == 7


def test_what_is_held_is_counted_however_it_ends(url: str) -> None:
    with kombu.Connection(url) as connection:
        put(connection, "Q", *range(6))
        of_process = connection.transport.link.held
        channel = connection.channel()
        counts = []
        ends: list[Callable[[Any], None]] = [
            lambda one: one.ack(),
            lambda one: one.reject(),
            lambda one: one.requeue(),
            lambda _: channel.basic_ack(0, multiple=True),
            lambda _: channel.basic_recover(requeue=True),
            lambda _: channel.close(),
        ]
        for end in ends:
            message = channel.basic_get("Q")
            counts.append(held.HELD_OF_PROCESS_MAX - of_process.left())
            end(message)
            counts.append(held.HELD_OF_PROCESS_MAX - of_process.left())
        assert counts == [1, 0] * 6


def test_room_is_told_until_it_is_not_wanted_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held, "HELD_OF_PROCESS_MAX", 1)
    of_process, told = HeldOfProcess(), []
    of_process.on_room(lambda: told.append(1))
    call = lambda: told.append(2)  # noqa: E731 -- the same one is taken off
    of_process.on_room(call)
    of_process.note(1)
    of_process.note(-1)
    assert told == [1, 2]
    of_process.off_room(call)
    of_process.off_room(call)
    of_process.note(1)
    of_process.note(-1)
    of_process.note(0)
    assert told == [1, 2, 1]


def test_a_higher_prefetch_count_wakes_a_drain_that_waits(connection: kombu.Connection) -> None:
    put(connection, "Q", 1, 2)
    channel = connection.default_channel
    channel.basic_qos(0, 1, False)
    got: list[Any] = []
    channel.basic_consume("Q", False, got.append, "tag")
    connection.drain_events(timeout=WAIT_S)
    drained = threading.Thread(target=connection.drain_events, kwargs={"timeout": WAIT_S})
    drained.start()
    drained.join(0.05)
    assert drained.is_alive()
    channel.basic_qos(0, 2, False)
    drained.join(WAIT_S / 2)
    assert len(got) == 2


@pytest.mark.parametrize("count", [-1, 65_536, 2**70])
def test_prefetch_counts_that_amqp_has_not_are_refused(
    connection: kombu.Connection, count: int
) -> None:
    channel = connection.default_channel
    with pytest.raises(ChannelError, match="invalid prefetch count") as refused:
        channel.basic_qos(0, count, False)
    assert refused.value.reply_code == "406"
    for allowed in (65_535, 0):
        channel.basic_qos(0, allowed, False)
        assert channel.qos.prefetch_count == allowed


def test_tag_0_with_multiple_acknowledges_all(
    connection: kombu.Connection, qm: adapter.Connection
) -> None:
    put(connection, "Q", 1, 2)
    channel = connection.default_channel
    channel.basic_ack(0, multiple=True)
    for _ in range(2):
        channel.basic_get("Q")
    channel.basic_ack(0, multiple=True)
    status = qm.queue("Q").status()
    assert (status.current_depth, status.uncommitted_gets) == (0, 0)


@pytest.mark.parametrize("end", ["ack", "reject", "requeue"])
def test_a_message_that_is_ended_while_its_channel_is_closed_is_ended(
    connection: kombu.Connection,
    qm: adapter.Connection,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
) -> None:
    """By a thread of a pool, which has begun before the close and goes on behind it."""
    put(connection, "Q", 1)
    channel = connection.channel()
    message = channel.basic_get("Q")
    begun, goes_on = threading.Event(), threading.Event()
    for verb in ("commit", "backout"):
        real = getattr(adapter.Unit, verb)

        def slowly(unit: adapter.Unit, *, real: Any = real, **how: Any) -> None:
            begun.set()
            assert goes_on.wait(WAIT_S)
            real(unit, **how)

        monkeypatch.setattr(adapter.Unit, verb, slowly)
    met: list[BaseException | None] = []

    def run() -> None:
        try:
            getattr(message, end)()
            met.append(None)
        except Exception as error:  # noqa: BLE001 -- it is looked at
            met.append(error)

    ended = threading.Thread(target=run)
    ended.start()
    assert begun.wait(WAIT_S)
    channel.close()
    goes_on.set()
    ended.join(WAIT_S)
    assert met == [None]
    status = qm.queue("Q").status()
    assert (status.current_depth, status.uncommitted_gets) == (end == "requeue", 0)


def test_what_comes_for_a_channel_that_was_closed_meanwhile_goes_back(
    qm: adapter.Connection,
) -> None:
    qm.define_queue("Q")
    qm.put("Q", "x")
    qos = UnitQoS(HeldOfProcess(), lambda _: None, lambda: None)
    unit = qm.unit()
    unit.begin()
    message = qm.get("Q", unit=unit)
    assert message is not None
    qos.restore_unacked_once()
    with pytest.raises(RecoverableConnectionError):
        qos.hold(1, HeldMessage("Q", message, unit))
    assert qm.queue("Q").depth() == 1
