"""Threads on one connection: one reads for all, hands over, and nobody is left asleep."""

import contextvars
import gc
import logging
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

import adapter
from adapter import errors as e
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.timeouts import Timeouts
from adapter.connection.wire.codec import Payload
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback, connection_to
from tests.support.scripted import Command

Connect = Callable[..., adapter.Connection]
JOIN_S = 20.0


class Threads:
    """Runs calls in threads; keeps what they returned or raised."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self.returned: list[object] = []
        self.raised: list[BaseException] = []

    def start(self, call: Callable[[], object]) -> None:
        thread = threading.Thread(target=self._run, args=(call,))
        self._threads.append(thread)
        thread.start()

    def _run(self, call: Callable[[], object]) -> None:
        try:
            self.returned.append(call())
        except BaseException as error:  # noqa: BLE001 -- the test looks at it
            self.raised.append(error)

    def bodies(self) -> list[bytes]:
        """The bodies of the messages they returned."""
        return [m.body for m in self.returned if isinstance(m, adapter.Message)]

    def join(self) -> None:
        for thread in self._threads:
            thread.join(JOIN_S)
            assert not thread.is_alive(), "a thread was left waiting"
        self._threads.clear()


@pytest.fixture
def threads() -> Iterator[Threads]:
    started = Threads()
    yield started
    started.join()


class Arrivals:
    """Counts commands of a kind as they arrive; a test waits for a number of them."""

    def __init__(self, server: Loopback, kind: type) -> None:
        self._kind = kind
        self._changed = threading.Condition()
        self._count = 0
        server.before = self

    def __call__(self, _number: int, command: Command) -> None:
        if isinstance(command, self._kind):
            with self._changed:
                self._count += 1
                self._changed.notify_all()

    def wait_for(self, count: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._count >= count, JOIN_S)


@pytest.fixture
def deaf(server: Loopback) -> Iterator[adapter.Connection]:
    """A connection whose followers look up once an hour: nothing but a hand-over wakes them."""
    with connection_to(server, Timeouts(follow_s=3600.0)) as qm:
        qm.define_queue("Q")
        yield qm


def followed(qm: adapter.Connection, count: int) -> None:
    """Wait until so many threads have begun to follow on this connection."""
    deadline = time.monotonic() + JOIN_S
    while len(qm._channel._leadership.followers) < count:
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)


def test_sixteen_threads_share_a_connection(
    server: Loopback, qm: adapter.Connection, threads: Threads
) -> None:
    barrier = threading.Barrier(16)

    def work(number: int) -> int:
        name = f"Q{number}"
        qm.define_queue(name)
        queue = qm.queue(name)
        barrier.wait(JOIN_S)
        for turn in range(60):
            with qm.unit():
                queue.put(b"%d %d" % (number, turn))
            message = queue.get(timeout=5)
            assert message is not None
            assert message.body == b"%d %d" % (number, turn)
        return number

    for number in range(16):
        threads.start(lambda number=number: work(number))  # type: ignore[misc]
    threads.join()
    assert threads.raised == []
    assert sorted(map(int, map(str, threads.returned))) == list(range(16))
    figures = qm.statistics()
    assert figures["unanswered"] == 0
    assert figures["led"] > 16  # the lead went round
    assert figures["followed"] > 16


def test_a_unit_may_be_shared_by_threads(
    server: Loopback, qm: adapter.Connection, threads: Threads
) -> None:
    queue = qm.queue("Q")
    barrier = threading.Barrier(8)
    unit = qm.unit()
    unit.begin()

    def put() -> None:
        barrier.wait(JOIN_S)
        queue.put(b"x", unit=unit)

    for _ in range(8):
        threads.start(put)
    threads.join()
    unit.commit()
    assert threads.raised == []
    assert server.bodies("Q") == [b"x"] * 8
    assert server.count(c.Begin) == 1


def test_the_lead_is_handed_over_at_once(
    server: Loopback, deaf: adapter.Connection, threads: Threads
) -> None:
    qm = deaf
    first, second = qm.queue("Q", open_for="input"), qm.queue("Q", open_for="input")
    other = qm.queue("Q", open_for="output")
    arrivals = Arrivals(server, c.Get)
    threads.start(lambda: first.get(timeout=None))  # the leader
    arrivals.wait_for(1)
    threads.start(lambda: second.get(timeout=None))  # a follower
    arrivals.wait_for(2)
    followed(qm, 1)
    other.put(b"1")  # a third thread, which follows, too
    other.put(b"2")
    threads.join()
    assert threads.bodies() == [b"1", b"2"]


def test_a_waiting_get_holds_nobody_up(
    server: Loopback, qm: adapter.Connection, threads: Threads
) -> None:
    arrivals = Arrivals(server, c.Get)
    threads.start(lambda: qm.get("Q", timeout=None))
    arrivals.wait_for(1)
    qm.define_queue("R")
    for number in range(100):
        qm.put("R", b"%d" % number)
        assert qm.get("R") is not None
    qm.put("Q", b"end")
    threads.join()
    assert threads.bodies() == [b"end"]


def test_close_from_another_thread_wakes_everybody(
    server: Loopback, qm: adapter.Connection, threads: Threads
) -> None:
    queue = qm.queue("Q", open_for="input")
    arrivals = Arrivals(server, c.Get)

    def wait_in_a_unit() -> None:
        with qm.unit():
            queue.get(timeout=None)

    for _ in range(4):
        threads.start(lambda: queue.get(timeout=None))
        threads.start(lambda: qm.get("Q", timeout=None))
        threads.start(wait_in_a_unit)
    threads.start(lambda: list(queue.units()))
    arrivals.wait_for(13)
    began = time.monotonic()
    qm.close()
    threads.join()
    assert time.monotonic() - began < 4
    assert [type(error) for error in threads.raised] == [e.ConnectionClosed] * 12
    assert threads.returned == [[]]  # units() simply ends


def test_close_waits_for_the_queue_manager_to_take_note(
    server: Loopback, connect: Connect, qm: adapter.Connection
) -> None:
    leaving = connect()
    queue = leaving.queue("Q", open_for="input_exclusive")
    qm.put("Q", b"x")
    unit = leaving.unit()
    unit.begin()
    assert queue.get(unit=unit) is not None
    leaving.close()
    with qm.queue("Q", open_for="input_exclusive") as other:
        message = other.get()
        assert message is not None
        assert message.backout_count == 1


def test_an_abrupt_end_says_nothing(server: Loopback, connect: Connect) -> None:
    qm = connect()
    qm.define_queue("Q")
    queue = qm.queue("Q", open_for="input")
    gone = threading.Event()
    disconnected = server.gone

    def note(number: int) -> None:
        disconnected(number)
        gone.set()

    server.gone = note  # type: ignore[method-assign]
    before = len(server.executed)
    qm.disconnect(abrupt=True)
    assert gone.wait(JOIN_S)
    assert len(server.executed) == before
    assert queue.is_closed


@pytest.mark.parametrize("abrupt", [False, True])
def test_a_clean_end_says_which_outcomes_were_seen(
    server: Loopback, connect: Connect, abrupt: bool
) -> None:
    """A queue manager keeps unseen ones, with the message that a get got, for an hour."""
    qm = connect()
    qm.define_queue("Q")
    qm.put("Q", b"x")
    assert qm.queue("Q").get() is not None
    gone = threading.Event()
    disconnected = server.gone

    def note(number: int) -> None:
        disconnected(number)
        gone.set()

    server.gone = note  # type: ignore[method-assign]
    qm.disconnect(abrupt)
    assert gone.wait(JOIN_S)
    kept = server.call(lambda: [len(one.outcomes) for one in server.qm.sessions.values()])
    assert kept == [1 if abrupt else 0]


def test_close_waits_for_a_commit_of_another_thread(
    server: Loopback, qm: adapter.Connection, threads: Threads
) -> None:
    server.holds = (c.Commit,)
    arrivals = Arrivals(server, c.Commit)

    def commit() -> str:
        with qm.unit():
            qm.put("Q", b"x")
        return "committed"

    threads.start(commit)
    arrivals.wait_for(1)
    releasing = threading.Timer(0.1, server.release)
    releasing.start()
    qm.close()
    threads.join()
    releasing.join()
    assert threads.returned == ["committed"]


def test_close_does_not_wait_for_answers_that_change_nothing(
    server: Loopback, qm: adapter.Connection, threads: Threads
) -> None:
    server.holds = (c.AskStatus,)
    arrivals = Arrivals(server, c.AskStatus)
    threads.start(qm.queue("Q").depth)
    arrivals.wait_for(1)
    began = time.monotonic()
    qm.close()
    threads.join()
    assert time.monotonic() - began < Timeouts().close_s - 1
    assert [type(error) for error in threads.raised] == [e.ConnectionClosed]


def test_close_does_not_wait_for_a_queue_manager_that_is_gone(
    server: Loopback, connect: Connect, threads: Threads
) -> None:
    qm = connect()
    qm.define_queue("Q")
    queue = qm.queue("Q", open_for="output")
    server.crash()
    threads.start(queue.depth)
    followed_or_leading(qm)
    threads.start(lambda: queue.put(b"x"))
    followed(qm, 1)
    began = time.monotonic()
    queue.close()
    qm.close()
    threads.join()
    assert time.monotonic() - began < 3
    assert [type(error) for error in threads.raised] == [e.ConnectionClosed] * 2


def followed_or_leading(qm: adapter.Connection) -> None:
    deadline = time.monotonic() + JOIN_S
    while not qm.statistics()["connections_lost"]:
        assert time.monotonic() < deadline
        threading.Event().wait(0.001)


class InterruptedLink:
    """A link as it is, but for one receive, which a thread does not survive."""

    def __init__(self, qm: adapter.Connection) -> None:
        self.interrupt = threading.Event()
        self._link = qm._channel._state.link
        qm._channel._state.link = cast("Any", self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)

    def receive(self) -> list[Payload] | None:
        if self.interrupt.is_set():
            self.interrupt.clear()
            raise KeyboardInterrupt
        assert self._link is not None
        return self._link.receive()


def test_an_interrupted_wait_takes_no_message_for_nobody(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    queue = qm.queue("Q")
    assert queue.get() is None
    InterruptedLink(qm).interrupt.set()
    with pytest.raises(KeyboardInterrupt):
        queue.get(timeout=None)
    queue.put(b"x")
    assert queue.depth() == 1
    message = queue.get()
    assert message is not None
    assert qm.statistics()["unanswered"] == 0
    warned = [one for one in caplog.records if one.levelno >= logging.WARNING]
    assert not warned, "Ctrl-C is no loss"


def test_an_interrupted_leader_leaves_the_lead_to_others(
    server: Loopback, deaf: adapter.Connection, threads: Threads
) -> None:
    queue = deaf.queue("Q", open_for="input")
    arrivals = Arrivals(server, c.Get)
    link = InterruptedLink(deaf)
    threads.start(lambda: queue.get(timeout=None))
    arrivals.wait_for(1)
    threads.start(lambda: queue.get(timeout=None))
    arrivals.wait_for(2)
    followed(deaf, 1)
    link.interrupt.set()  # met when the leader looks up
    arrivals.wait_for(3)  # the other has taken the lead, connected and asked again
    with adapter.connect(server.address) as other:
        other.put("Q", b"1")
        threads.join()
    assert [type(error) for error in threads.raised] == [KeyboardInterrupt]
    assert threads.bodies() == [b"1"]


def test_a_large_message_is_no_silence(server: Loopback, connect: Connect) -> None:
    qm = connect()
    qm.define_queue("Q")
    body = bytes(range(256)) * 16_000
    qm.put("Q", body)
    message = qm.get("Q")
    assert message is not None
    assert message.body == body
    assert qm.statistics()["connections_lost"] == 0


def test_requests_in_one_call_go_in_one_frame(server: Loopback, qm: adapter.Connection) -> None:
    before = server.call(lambda: server.frames_received)
    qm.put("Q", b"x")
    qm.get("Q")
    assert server.call(lambda: server.frames_received) == before + 2
    with qm.unit():
        qm.put("Q", b"x")
    assert server.call(lambda: server.frames_received) == before + 4
    # open and put and close; open and get and close; begin and open and put and close; commit
    assert [type(command) for command in server.executed[-11:]] == [
        c.Open, c.Put, c.Close, c.Open, c.Get, c.Close, c.Begin, c.Open, c.Put, c.Close, c.Commit,
    ]  # fmt: skip


def test_threads_start_outside_a_unit_and_copied_contexts_inside(qm: adapter.Connection) -> None:
    queue = qm.queue("Q", open_for="output")
    with qm.unit():
        outside = threading.Thread(target=lambda: queue.put(b"outside"))
        inside = threading.Thread(
            target=contextvars.copy_context().run, args=(lambda: queue.put(b"inside"),)
        )
        for thread in (outside, inside):
            thread.start()
            thread.join(JOIN_S)
        assert [message.body for message in queue.browse()] == [b"outside"]
    assert queue.depth() == 2


def test_statistics_name_what_they_count(qm: adapter.Connection) -> None:
    qm.put("Q", b"x")
    figures = qm.statistics()
    assert figures["frames_sent"] == figures["frames_received"] == 2
    assert figures["requests"] == 5  # session, define; open, put, close
    assert figures["numbered"] == 2
    assert figures["bytes_sent"] > 50
    assert figures["connected"] is True
    assert (figures["unanswered"], figures["handles"], figures["units"]) == (0, 0, 0)


def units_and_requests() -> list[object]:
    """Return those that live, of other tests too."""
    gc.collect()
    return [thing for thing in gc.get_objects() if isinstance(thing, adapter.Unit | Pending)]


def test_nothing_is_kept_of_what_is_done(qm: adapter.Connection) -> None:
    earlier = units_and_requests()
    queue = qm.queue("Q")
    for _ in range(50):
        with qm.unit():
            queue.put(b"x")
        queue.get()
        list(queue.browse())
    now = units_and_requests()
    assert not [thing for thing in now if not any(thing is one for one in earlier)]
    figures = qm.statistics()
    assert (figures["unanswered"], figures["handles"], figures["units"]) == (0, 2, 0)


@pytest.mark.parametrize("options", [{}, {"on_reconnect": print}], ids=["", "on_reconnect"])
def test_a_dropped_connection_is_closed_and_warned_of(
    server: Loopback, options: dict[str, Any]
) -> None:
    qm = adapter.connect(server.address, **options)
    qm.define_queue("Q")
    queue = qm.queue("Q")
    del qm
    assert queue.depth() == 0  # its queue keeps it
    with pytest.warns(ResourceWarning, match="the connection to queue manager QM1") as warned:
        del queue
    assert [one.filename for one in warned] == [__file__]  # and nothing of a socket
    while server.call(lambda: len(server.clients)):
        time.sleep(0.01)


def test_a_connection_that_was_closed_or_not_made_is_dropped_silently(server: Loopback) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        adapter.connect(server.address).close()
        with pytest.raises(e.WrongQueueManager):
            adapter.connect(server.address, queue_manager="QM2")
        gc.collect()
