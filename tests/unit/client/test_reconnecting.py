"""on_reconnect: called in a thread of its own, with what it needs, and harmless."""

import gc
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue

import pytest

import adapter
from adapter import errors as e
from adapter.client.reconnecting import ReconnectCalls
from adapter.connection.channel.calls_in_turn import CallsInTurn
from adapter.connection.channel.link.port import NewLink
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback, OnCommand

Event = adapter.Reconnected[adapter.Connection]
Connect = Callable[..., adapter.Connection]
WAIT_S = 10.0


def callers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "on-reconnect"]


def test_it_is_called_with_the_connection_and_what_happened(
    server: Loopback, connect: Connect
) -> None:
    events: SimpleQueue[Event] = SimpleQueue()
    qm = connect(on_reconnect=events.put)
    qm.define_queue("Q")
    assert callers() == []
    for count in (1, 2):
        server.cut_all()
        qm.queues()
        event = events.get(timeout=WAIT_S)
        assert event.connection is qm
        assert event.address == server.address
        assert event.count == count
        assert 0 < event.away_s < WAIT_S
        # Closed, or reset if what was asked arrived after that.
        assert event.reason
        assert server.address not in event.reason
    assert events.empty()
    (thread,) = callers()
    qm.close()
    thread.join(WAIT_S)
    assert not thread.is_alive()


def test_it_may_use_the_connection_while_others_do(server: Loopback, connect: Connect) -> None:
    """And the link may be lost under it: its verb waits for the next, and it is called again."""
    done: SimpleQueue[int] = SimpleQueue()

    def again(event: Event) -> None:
        event.connection.put("Q", b"%d" % event.count)
        done.put(event.count)

    qm = connect(on_reconnect=again)
    qm.define_queue("Q")
    OnCommand(server, c.Put, server.cut_here)
    server.cut_all()
    qm.queues()
    assert [done.get(timeout=WAIT_S) for _ in range(2)] == [1, 2]
    assert server.bodies("Q") == [b"1", b"2"]


def test_a_call_that_waits_delays_no_verb(server: Loopback, connect: Connect) -> None:
    release, calls = threading.Event(), SimpleQueue[int]()

    def again(event: Event) -> None:
        calls.put(event.count)
        assert release.wait(WAIT_S)

    qm = connect(on_reconnect=again)
    for _ in range(2):
        server.cut_all()
        qm.queues()
    assert calls.get(timeout=WAIT_S) == 1
    assert calls.empty()  # one call after the other
    release.set()
    assert calls.get(timeout=WAIT_S) == 2


@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit, KeyboardInterrupt])
def test_an_exception_is_logged_and_the_connection_stays(
    server: Loopback,
    connect: Connect,
    caplog: pytest.LogCaptureFixture,
    error: type[BaseException],
) -> None:
    """Also that of sys.exit(), which would end the thread without a word, and with it all calls."""
    called: SimpleQueue[int] = SimpleQueue()

    def again(event: Event) -> None:
        called.put(event.count)
        raise error

    qm = connect(on_reconnect=again)
    for count in (1, 2):
        server.cut_all()
        qm.queues()
        assert called.get(timeout=WAIT_S) == count
    (thread,) = callers()
    qm.close()
    thread.join(WAIT_S)
    failed = [one for one in caplog.records if one.getMessage().startswith("on_reconnect failed")]
    assert [one.levelname for one in failed] == ["ERROR"] * 2
    assert failed[0].exc_info is not None


def test_it_may_close_the_connection(server: Loopback, connect: Connect) -> None:
    closed = threading.Event()

    def close(event: Event) -> None:
        event.connection.close()
        closed.set()

    qm = connect(on_reconnect=close)
    server.cut_all()
    with suppress(e.ConnectionClosed):  # it may come before the answer
        qm.queues()
    assert closed.wait(WAIT_S)
    with pytest.raises(e.ConnectionClosed):
        qm.queues()
    for thread in callers():
        thread.join(WAIT_S)
        assert not thread.is_alive()


def test_without_a_new_link_it_is_not_called(server: Loopback, connect: Connect) -> None:
    events: SimpleQueue[Event] = SimpleQueue()
    qm = connect(on_reconnect=events.put, reconnect_timeout_s=0.1)
    server.crash()
    with pytest.raises(e.ConnectionBroken):
        qm.queues()
    qm.close()
    assert events.empty()
    assert callers() == []
    server.start()


def test_the_thread_ends_with_a_connection_that_was_dropped(server: Loopback) -> None:
    called = threading.Event()
    qm = adapter.connect(server.address, on_reconnect=lambda _event: called.set())
    gone = weakref.ref(qm)
    server.cut_all()
    qm.queues()
    assert called.wait(WAIT_S)
    (thread,) = callers()
    qm._channel.close()
    del qm
    gc.collect()
    thread.join(WAIT_S)
    assert not thread.is_alive()
    assert gone() is None


def test_without_a_thread_for_it_the_verbs_go_on(
    server: Loopback,
    connect: Connect,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def begin(_calls: CallsInTurn) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(CallsInTurn, "begin", begin)
    qm = connect(on_reconnect=print)
    server.cut_all()
    assert qm.queues() == []
    assert "on_reconnect failed" in caplog.text


def test_what_is_no_function_is_refused(server: Loopback) -> None:
    async def again(event: Event) -> None:
        """Do nothing."""

    with pytest.raises(e.InvalidType, match="a plain function here"):
        adapter.connect(server.address, on_reconnect=again)
    with pytest.raises(e.InvalidType, match="on_reconnect is a function or None, not 7"):
        adapter.connect(server.address, on_reconnect=7)  # type: ignore[arg-type]


class Connected:
    """Stands for a connection that the program drops."""


def test_what_keeps_the_calls_does_not_keep_the_connection() -> None:
    """As a thread that renews tokens keeps them, which is to end with the connection."""
    events: SimpleQueue[adapter.Reconnected[Connected]] = SimpleQueue()
    connection = Connected()
    calls = ReconnectCalls(events.put, connection)
    calls.note(NewLink("host:1", 1.0, 1, "cut"))
    assert events.get(timeout=WAIT_S).connection is connection
    dropped = weakref.ref(connection)
    del connection
    gc.collect()
    assert dropped() is None
    calls.note(NewLink("host:1", 1.0, 2, "cut"))
    (thread,) = callers()
    calls.end()
    thread.join(WAIT_S)
    assert events.empty()


class Awaited:
    """What an object is that returns a coroutine when it is called: no coroutine function."""

    async def __call__(self, event: Event) -> None:
        raise AssertionError(event)


@pytest.mark.parametrize("call", [Awaited(), partial(Awaited())])
def test_a_coroutine_that_is_returned_is_said_to_be_awaited_by_nothing(
    server: Loopback, caplog: pytest.LogCaptureFixture, call: Callable[[Event], object]
) -> None:
    with adapter.connect(server.address, on_reconnect=call) as qm:
        qm.define_queue("Q")
        server.cut_all()
        qm.queues()
        for _ in range(1_000):
            if "on_reconnect failed" in caplog.text:
                break
            time.sleep(0.01)
    assert "which nothing awaits: use adapter.aio.connect()" in caplog.text
