"""put_many: in order, once, and always the beginning of what was given."""

import threading
from collections.abc import Callable, Iterator

import pytest

import adapter
from adapter import errors as e
from adapter.client import put_many
from adapter.connection.channel import handshake
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from tests.support.loopback import Loopback
from tests.support.scripted import Command

Connect = Callable[..., adapter.Connection]


def numbered(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def when(event: threading.Event, act: Callable[[], None]) -> None:
    assert event.wait(10)
    act()


@pytest.mark.parametrize(
    ("count", "size", "units"), [(0, 10, 0), (1, 10, 1), (10, 10, 1), (95, 10, 10)]
)
def test_everything_is_put_in_order_in_units(
    server: Loopback, qm: adapter.Connection, count: int, size: int, units: int
) -> None:
    assert qm.queue("Q").put_many(iter(numbered(count)), unit_size=size) == count
    assert server.bodies("Q") == numbered(count)
    assert server.count(c.Commit) == units


def test_messages_and_text_may_be_mixed(qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    assert queue.put_many([b"1", "2", adapter.Message(b"3", priority=9)]) == 3
    assert [m.body for m in queue.browse()] == [b"3", b"1", b"2"]


def test_a_unit_ends_before_it_is_too_large(server: Loopback, qm: adapter.Connection) -> None:
    body = bytes(1_500_000)
    assert qm.queue("Q").put_many([body] * 5, unit_size=1000) == 5
    assert server.count(c.Commit) == 3


def test_several_commits_are_in_flight(server: Loopback, qm: adapter.Connection) -> None:
    server.holds = (c.Commit,)
    flying = threading.Event()

    def see(_number: int, command: Command) -> None:
        if server.count(c.Commit) == put_many.IN_FLIGHT_MAX - 1 and isinstance(command, c.Commit):
            flying.set()

    server.before = see
    releasing = threading.Thread(target=when, args=(flying, server.release))
    releasing.start()
    assert qm.queue("Q").put_many(numbered(100), unit_size=10) == 100
    releasing.join()
    assert flying.is_set()
    assert server.bodies("Q") == numbered(100)


def test_a_unit_refused_in_the_middle_ends_it_there(
    server: Loopback, qm: adapter.Connection
) -> None:
    qm.alter_queue("Q", max_depth=45)
    with pytest.raises(e.QueueFull) as caught:
        qm.queue("Q").put_many(numbered(100), unit_size=10)
    assert caught.value.messages_put == 40
    assert "40 messages were put before" in caught.value.__notes__
    assert server.bodies("Q") == numbered(40)
    figures = qm.statistics()
    assert (figures["units"], figures["unanswered"]) == (0, 0)
    assert server.call(lambda: server.qm.queues["Q"].uncommitted_puts) == 0


def test_a_message_refused_in_the_middle_takes_only_its_unit(
    server: Loopback, qm: adapter.Connection
) -> None:
    qm.alter_queue("Q", max_message_length=10)
    given = [*numbered(34), b"x" * 11, *numbered(30)]
    with pytest.raises(e.MessageTooLong) as caught:
        qm.queue("Q").put_many(given, unit_size=10)
    assert caught.value.messages_put == 30
    assert server.bodies("Q") == numbered(30)


def test_an_iterable_that_fails_leaves_whole_units(
    server: Loopback, qm: adapter.Connection
) -> None:
    def failing() -> Iterator[bytes]:
        yield from numbered(25)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        qm.queue("Q").put_many(failing(), unit_size=10)
    assert caught.value.__notes__ == ["20 messages were put before"]
    assert server.bodies("Q") == numbered(20)


def test_inside_a_unit_everything_belongs_to_it(server: Loopback, qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    with qm.unit() as unit:
        assert queue.put_many(numbered(25), unit_size=10) == 25
        assert server.bodies("Q") == []
    assert server.bodies("Q") == numbered(25)
    assert server.count(c.Commit) == 1
    with qm.unit() as unit:
        queue.put_many(numbered(5))
        unit.backout()
    assert queue.depth() == 25


@pytest.mark.parametrize("kind", [c.Put, c.Commit], ids=["put", "commit"])
@pytest.mark.parametrize("direction", ["received", "sent"])
def test_lost_connections_neither_lose_nor_double_nor_reorder(
    server: Loopback, connect: Connect, direction: str, kind: type
) -> None:
    qm = connect()
    qm.define_queue("Q")
    seen = 0

    def cut_now_and_then(number: int, command: Command) -> Refused | None:
        nonlocal seen
        seen += isinstance(command, kind)
        if isinstance(command, kind) and seen % 3 == 0:
            client = server.clients[number]
            setattr(client.budget, direction, seen % 40)
        return None

    server.before = cut_now_and_then
    assert qm.queue("Q").put_many(numbered(300), unit_size=10) == 300
    assert qm.statistics()["connections_lost"] >= 10
    assert server.bodies("Q") == numbered(300)


def losing_commit(server: Loopback, at: int) -> None:
    """Lose the connection with this commit of all, which is not executed."""
    commits = 0

    def cut(number: int, command: Command) -> Refused | None:
        nonlocal commits
        commits += isinstance(command, c.Commit)
        if not isinstance(command, c.Commit) or commits != at:
            return None
        server.clients[number].cut()
        return Refused(Reason.UNEXPECTED_ERROR)  # which is not sent any more

    server.before = cut


@pytest.mark.parametrize("at", range(1, 8))
def test_a_unit_on_a_new_connection_does_not_overtake_one_that_was_lost(
    server: Loopback, at: int
) -> None:
    """The messages are made with the same connection, which is there again at once."""
    with adapter.connect(server.address) as qm:
        qm.define_queue("Q")
        other = qm.queue("Q")

        def messages() -> Iterator[bytes]:
            for body in numbered(12):
                yield body
                other.depth()

        losing_commit(server, at)
        assert qm.queue("Q").put_many(messages(), unit_size=1) == 12
        assert server.bodies("Q") == numbered(12)
        assert qm.statistics()["connections_lost"] == 1


def test_what_was_put_is_counted_up_to_the_first_gap(server: Loopback) -> None:
    """A program goes on there: what it puts again must not be behind it already."""
    with adapter.connect(server.address) as qm:
        qm.define_queue("Q")

        def failing() -> Iterator[bytes]:
            yield from numbered(6)
            qm.queue("Q").depth()
            raise ZeroDivisionError

        losing_commit(server, 3)
        with pytest.raises(ZeroDivisionError) as caught:
            qm.queue("Q").put_many(failing(), unit_size=1)
        (note,) = caught.value.__notes__
        put = server.bodies("Q")
        assert put == numbered(len(put))
        assert note == f"{len(put)} messages were put before"


def test_crashes_in_the_middle_are_survived(server: Loopback, qm: adapter.Connection) -> None:
    put = threading.Thread(target=lambda: qm.queue("Q").put_many(numbered(500), unit_size=10))
    reached = [threading.Event() for _ in range(3)]

    def see(_number: int, command: Command) -> None:
        done = server.count(c.Commit) // 12
        if isinstance(command, c.Commit) and 0 < done <= 3:
            reached[done - 1].set()

    server.before = see
    put.start()
    for event in reached:
        assert event.wait(10)
        server.crash()
        server.start()
    put.join(20)
    assert server.bodies("Q") == numbered(500)


def test_a_queue_manager_that_never_lets_a_unit_through_is_given_up(
    server: Loopback, qm: adapter.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        handshake, "BACK_OFF_MAX_S", handshake.BACK_OFF_FIRST_S
    )  # it takes some tries

    def cut(number: int, command: Command) -> Refused | None:
        if isinstance(command, c.Put):
            server.clients[number].cut()
        return None

    server.before = cut
    with pytest.raises(e.BackedOut):
        qm.queue("Q").put_many(numbered(10))
    assert server.bodies("Q") == []


def test_a_doubt_is_passed_on_with_what_is_certain(server: Loopback, connect: Connect) -> None:
    qm = connect(reconnect_timeout_s=0.2)
    qm.define_queue("Q")
    crashed = threading.Event()

    def see(_number: int, command: Command) -> Refused | None:
        if isinstance(command, c.Commit) and server.count(c.Commit) == 5:
            server.holds = (c.Commit,)
            crashed.set()
        return None

    server.before = see
    ending = threading.Thread(target=when, args=(crashed, server.crash))
    ending.start()
    with pytest.raises((e.InDoubt, e.ConnectionBroken)) as caught:
        qm.queue("Q").put_many(numbered(100), unit_size=10)
    ending.join()
    assert caught.value.messages_put == 60
    server.start()
    assert server.bodies("Q")[: caught.value.messages_put] == numbered(caught.value.messages_put)


def test_an_interruption_leaves_no_request_behind(server: Loopback, qm: adapter.Connection) -> None:
    def interrupted() -> Iterator[bytes]:
        yield from numbered(25)
        raise KeyboardInterrupt

    queue = qm.queue("Q")  # one that is dropped is closed, which is a request too
    with pytest.raises(KeyboardInterrupt):
        queue.put_many(interrupted(), unit_size=10)
    assert qm.statistics()["unanswered"] == 0
    queue.close()
    assert qm.put("Q", b"on it goes").message_id


@pytest.mark.parametrize("at", range(1, 11))
def test_what_was_put_is_counted_wherever_a_put_is_refused_after_a_loss(
    server: Loopback, qm: adapter.Connection, at: int
) -> None:
    """Three units are lost with the connection, and put again: one of the next puts is refused."""
    commits = puts = 0
    lost: list[int] = []

    def refuse(number: int, command: Command) -> Refused | None:
        nonlocal commits, puts
        commits += isinstance(command, c.Commit)
        if isinstance(command, c.Commit) and (not lost or number in lost):
            if commits == 3:
                lost.append(number)
                server.clients[number].cut()
                server.holds = ()
            return Refused(Reason.UNEXPECTED_ERROR)  # which is not sent any more
        if isinstance(command, c.Put) and lost and number not in lost:
            puts += 1
            return Refused(Reason.QUEUE_FULL, "Q") if puts == at else None
        return None

    server.before = refuse
    server.holds = (c.Commit,)
    with pytest.raises(e.QueueFull) as caught:
        qm.queue("Q").put_many(numbered(100), unit_size=10)
    found = server.bodies("Q")
    assert found == numbered(len(found))
    assert caught.value.messages_put == len(found)
    assert f"{len(found)} messages were put before" in caught.value.__notes__
