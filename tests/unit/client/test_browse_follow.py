"""A browse that waits for further messages, as a program sees it."""

import threading
from collections.abc import Callable, Iterator

import pytest

import adapter
from adapter import errors as e
from adapter.core.contract import commands as c
from tests.support.loopback import Loopback
from tests.support.scripted import Command

Connect = Callable[..., adapter.Connection]
WAIT_S = 10.0


@pytest.fixture
def queue(qm: adapter.Connection) -> adapter.Queue:
    return qm.queue("Q")


class Waiting:
    """Does something each time that a browse has come which waits."""

    def __init__(self, server: Loopback, *acts: Callable[[], object]) -> None:
        self._acts = list(acts)
        self._due = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()
        server.before = self._look

    def _look(self, _number: int, command: Command) -> None:
        if isinstance(command, c.Browse) and command.wait_ms:
            self._due.release()

    def _work(self) -> None:
        for act in self._acts:
            assert self._due.acquire(timeout=WAIT_S)
            act()


def bodies(messages: Iterator[adapter.Message], count: int) -> list[bytes]:
    return [next(messages).body for _ in range(count)]


def test_what_arrives_is_shown_once_whatever_its_priority(
    server: Loopback, connect: Connect, queue: adapter.Queue
) -> None:
    putting = connect().queue("Q")
    queue.put_many([b"a", b"b"])
    acts = [
        lambda: None,
        lambda: putting.put("low", priority=0),
        lambda: putting.put("high", priority=9),
        lambda: putting.put("low too", priority=0),
    ]
    Waiting(server, *acts)
    following = queue.browse(timeout=None)
    assert bodies(following, 5) == [b"a", b"b", b"low", b"high", b"low too"]
    assert queue.depth() == 5, "nothing is taken"


def test_it_goes_on_over_another_connection(
    server: Loopback, qm: adapter.Connection, connect: Connect, queue: adapter.Queue
) -> None:
    putting = connect().queue("Q")
    queue.put_many([b"a", b"b"])
    Waiting(server, lambda: None, server.cut_all, lambda: putting.put("c"))
    following = queue.browse(timeout=WAIT_S)
    assert bodies(following, 3) == [b"a", b"b", b"c"]
    assert qm.statistics()["connections_lost"] == 1


def test_it_ends_when_nothing_comes_in_time(queue: adapter.Queue) -> None:
    queue.put("a")
    assert [message.body for message in queue.browse(timeout=0.01)] == [b"a"]


def test_closing_the_queue_ends_the_wait(server: Loopback, queue: adapter.Queue) -> None:
    queue.put("a")
    Waiting(server, lambda: None, queue.close)
    assert [message.body for message in queue.browse(timeout=None)] == [b"a"]


def test_closing_the_connection_ends_the_wait(
    server: Loopback, qm: adapter.Connection, queue: adapter.Queue
) -> None:
    Waiting(server, qm.close)
    with pytest.raises(e.ConnectionClosed):
        next(queue.browse(timeout=None))


def test_its_handle_ends_with_it(qm: adapter.Connection, queue: adapter.Queue) -> None:
    queue.put("a")
    following = queue.browse(timeout=None)
    next(following)
    assert qm.statistics()["handles"] == 2
    following.close()  # type: ignore[attr-defined]
    assert qm.statistics()["handles"] == 1


def test_a_message_that_it_shows_can_be_removed(queue: adapter.Queue) -> None:
    queue.put("a")
    assert next(queue.browse(timeout=None)).remove()
    assert queue.depth() == 0


def test_what_is_refused(queue: adapter.Queue) -> None:
    with pytest.raises(e.InvalidOption, match="takes no timeout"):
        queue.browse(timeout=1, cooperate=True)
    with pytest.raises(e.InvalidTimeout):
        queue.browse(timeout=-1)
