"""Lost connections: what is sent again, what is gone, what is in doubt, and for how long."""

import threading
import time
from collections.abc import Callable

import pytest
from msgspec import structs

import adapter
from adapter import errors as e
from adapter.connection.channel.numbering import UNANSWERED_MAX
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.timeouts import Timeouts
from adapter.connection.wire import codec, frames
from adapter.connection.wire.session import Incoming
from adapter.core.contract import commands as c
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from tests.support.loopback import Loopback, OnCommand, connection_to
from tests.support.scripted import Command

Connect = Callable[..., adapter.Connection]


def test_a_waiting_get_whose_session_was_not_yet_answered_goes_on(
    server: Loopback, connect: Connect
) -> None:
    connect().define_queue("Q")
    server.holds = (c.SessionOpen,)
    getter = connect()
    arrived = OnCommand(server, c.Get, server.cut_here)
    got: list[adapter.Message | None] = []
    thread = threading.Thread(target=lambda: got.append(getter.get("Q", timeout=20)))
    thread.start()
    assert arrived.arrived.wait(5)
    server.release()
    connect().put("Q", b"at last")
    thread.join(10)
    assert [message.body for message in got if message] == [b"at last"]


def test_a_crash_behind_a_commit_that_was_logged_is_answered_from_the_log(
    server: Loopback, qm: adapter.Connection
) -> None:
    queue = qm.queue("Q")
    server.holds = (c.Commit,)
    unit = qm.unit()
    unit.begin()
    queue.put(b"once", unit=unit)
    restart = threading.Thread(target=crash_and_start, args=(server, OnCommand(server, c.Commit)))
    restart.start()
    unit.commit()
    restart.join()
    assert server.bodies("Q") == [b"once"]
    assert server.count(c.Commit) == 2  # it came again, and was not done again


def crash(server: Loopback, on: OnCommand) -> None:
    assert on.arrived.wait(5)
    server.crash()
    server.holds = ()


def crash_and_start(server: Loopback, on: OnCommand) -> None:
    crash(server, on)
    server.start()


def test_a_crash_in_front_of_a_commit_backs_out(server: Loopback, qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    unit = qm.unit()
    unit.begin()
    queue.put(b"never", unit=unit)
    server.crash()
    server.start()
    with pytest.raises(e.BackedOut, match="in a new unit"):
        unit.commit()
    unit.backout()  # which is no error: it is what has happened
    assert server.bodies("Q") == []


def test_verbs_of_a_lost_unit_say_so_until_it_is_ended(
    server: Loopback, qm: adapter.Connection
) -> None:
    queue = qm.queue("Q")
    with pytest.raises(e.BackedOut), qm.unit():
        lose_unit(server, queue)
    assert server.bodies("Q") == []
    with qm.unit():
        queue.put(b"new")
    assert server.bodies("Q") == [b"new"]


def lose_unit(server: Loopback, queue: adapter.Queue) -> None:
    queue.put(b"lost")
    server.cut_all()
    assert queue.depth() == 0  # a question is simply asked again
    for call in (lambda: queue.put(b"more"), queue.get, lambda: queue.put(b"more")):
        with pytest.raises(e.BackedOut):
            call()


def test_a_get_that_waits_in_a_unit_hears_that_the_unit_is_gone(
    server: Loopback, qm: adapter.Connection
) -> None:
    OnCommand(server, c.Get, server.cut_here)
    with pytest.raises(e.BackedOut, match="lost"), qm.unit():
        qm.get("Q", timeout=None)


def test_a_unit_that_has_done_nothing_yet_survives(
    server: Loopback, qm: adapter.Connection
) -> None:
    queue = qm.queue("Q", open_for="output")
    with qm.unit() as unit:
        server.cut_all()
        assert queue.depth() == 0
        queue.put(b"x")
    assert qm.outcome(unit.id) == "committed"


def test_a_waiting_get_is_asked_again_and_still_ends_in_time(
    server: Loopback, qm: adapter.Connection
) -> None:
    queue = qm.queue("Q", open_for="input")
    OnCommand(server, c.Get, server.cut_here)
    began = time.monotonic()
    assert queue.get(timeout=0.6) is None
    assert 0.5 < time.monotonic() - began < 3
    gets = [command for command in server.executed if isinstance(command, c.Get)]
    assert len(gets) == 2
    assert gets[1].wait_ms < 600


def test_a_waiting_get_for_ever_goes_on_for_ever(
    server: Loopback, qm: adapter.Connection, connect: Connect
) -> None:
    waiting = OnCommand(server, c.Get, server.cut_here)
    got: list[adapter.Message | None] = []
    thread = threading.Thread(target=lambda: got.append(qm.get("Q", timeout=None)))
    thread.start()
    assert waiting.arrived.wait(5)
    connect().put("Q", b"late")
    thread.join(10)
    assert [message.body for message in got if message] == [b"late"]


def test_handles_are_open_again_under_their_numbers(
    server: Loopback, qm: adapter.Connection
) -> None:
    with qm.queue("Q", open_for="input_exclusive") as queue:
        queue.put(b"x")
        before = server.call(lambda: handles(server))
        server.cut_all()
        assert queue.status().open_input_count == 1
        assert server.call(lambda: handles(server)) == before
        assert queue.get() is not None


def handles(server: Loopback) -> list[dict[int, int]]:
    return [
        {number: handle.modes for number, handle in connection.handles.items()}
        for connection in server.qm.connections.values()
    ]


def test_a_queue_that_cannot_be_opened_again_says_why(
    server: Loopback, qm: adapter.Connection
) -> None:
    queue = qm.queue("Q", open_for="input")
    server.crash()
    server.qm.queues["Q"].opens.exclusive = True  # another client was faster
    server.start()
    with pytest.raises(e.QueueInUse, match="queue Q"):
        queue.get()
    with pytest.raises(e.QueueInUse, match="queue Q"):
        queue.get()
    server.call(lambda: setattr(server.qm.queues["Q"].opens, "exclusive", False))
    queue.put(b"x")
    assert queue.get() is not None


def test_a_put_whose_handle_was_closed_behind_it_is_done_again(
    server: Loopback, qm: adapter.Connection
) -> None:
    # Open and close are answered at once, the put waits for the ledger, and the owner dies first.
    server.holds = (c.Put,)
    restart = threading.Thread(target=crash_and_start, args=(server, OnCommand(server, c.Close)))
    restart.start()
    qm.put("Q", b"again")
    restart.join()
    assert server.bodies("Q") == [b"again"]
    assert server.call(lambda: handles(server)) == [{}]


@pytest.mark.parametrize(
    "reason", [Reason.QUEUE_MANAGER_STOPPING, Reason.QUEUE_MANAGER_NOT_AVAILABLE]
)
def test_while_the_queue_manager_stops_it_is_asked_again(
    server: Loopback, qm: adapter.Connection, reason: Reason
) -> None:
    refusals = iter([Refused(reason)] * 4)
    server.before = lambda _n, command: next(refusals, None) if isinstance(command, c.Put) else None
    assert qm.put("Q", b"x").message_id
    assert server.bodies("Q") == [b"x"]
    assert qm.statistics()["connections_lost"] == 4


def test_a_queue_manager_that_will_not_have_us_is_tried_until_the_bound(
    server: Loopback, connect: Connect
) -> None:
    qm = connect(reconnect_timeout_s=0.5)
    qm.define_queue("Q")
    server.refuses = Refused(Reason.QUEUE_MANAGER_STOPPING)
    server.cut_all()
    began = time.monotonic()
    with pytest.raises(e.ConnectionBroken, match="stopping") as caught:
        qm.queue("Q").depth()
    assert not isinstance(caught.value, e.ConnectionClosed)
    assert 0.3 < time.monotonic() - began < 5
    server.refuses = None
    assert qm.queue("Q").depth() == 0  # and it is tried anew when asked anew


def refuse_puts(server: Loopback) -> None:
    """From now on, as a queue manager does that is being stopped."""
    stopping = Refused(Reason.QUEUE_MANAGER_STOPPING)
    server.before = lambda _n, command: stopping if isinstance(command, c.Put) else None


def test_a_queue_manager_that_welcomes_and_refuses_is_tried_until_the_bound(
    server: Loopback, connect: Connect
) -> None:
    qm = connect(reconnect_timeout_s=0.5)
    qm.define_queue("Q")
    refuse_puts(server)
    began = time.monotonic()
    with pytest.raises(e.QueueManagerStopping):  # each attempt was refused: nothing was done
        qm.put("Q", b"x")
    assert 0.3 < time.monotonic() - began < 5
    assert 2 < qm.statistics()["connections_lost"] < 20  # it waited longer each time


def test_a_put_without_an_answer_stays_in_doubt_when_it_is_refused_later(
    server: Loopback, connect: Connect
) -> None:
    """The refusal is of the second attempt: it says nothing of the first."""
    qm = connect(reconnect_timeout_s=0.5)
    qm.define_queue("Q")
    server.holds = (c.Put,)
    dead = threading.Thread(target=crash, args=(server, OnCommand(server, c.Put)))
    dead.start()

    def refuse_from_now_on() -> None:
        dead.join()
        server.holds = ()
        refuse_puts(server)
        server.start()

    again = threading.Thread(target=refuse_from_now_on)
    again.start()
    with pytest.raises(e.InDoubt):
        qm.put("Q", b"x")
    again.join()


def test_a_commit_without_an_answer_is_in_doubt(server: Loopback, connect: Connect) -> None:
    qm = connect(reconnect_timeout_s=0.3)
    qm.define_queue("Q")
    server.holds = (c.Commit,)
    dead = threading.Thread(target=crash, args=(server, OnCommand(server, c.Commit)))
    dead.start()
    with pytest.raises(e.InDoubt, match="outcome") as caught, qm.unit() as unit:
        qm.put("Q", b"x")
    dead.join()
    assert caught.value.unit_id == unit.id
    server.holds = ()
    server.start()
    assert qm.outcome(unit.id) == "committed"
    assert connect().outcome(unit.id) == "committed"
    with pytest.raises(e.UnitEnded, match="unknown outcome"):
        unit.commit()


def test_a_put_without_an_answer_is_in_doubt_and_can_be_asked_for(
    server: Loopback, connect: Connect
) -> None:
    qm = connect(reconnect_timeout_s=0.3)
    qm.define_queue("Q")
    server.holds = (c.Put,)
    dead = threading.Thread(target=crash, args=(server, OnCommand(server, c.Close)))
    dead.start()
    with pytest.raises(e.InDoubt, match="the message was put") as caught:
        qm.put("Q", b"x")
    dead.join()
    server.holds = ()
    server.start()
    qm.put("Q", b"y")  # resumes the session, and keeps the doubtful outcome
    assert qm.outcome(caught.value.unit_id) == "committed"
    assert server.bodies("Q") == [b"x", b"y"]


def test_what_was_never_sent_is_not_in_doubt(server: Loopback, connect: Connect) -> None:
    qm = connect(reconnect_timeout_s=0.2)
    qm.define_queue("Q")
    server.crash()
    with pytest.raises(e.ConnectionBroken):
        qm.queues()
    with pytest.raises(e.ConnectionBroken, match="nothing was done"):
        qm.put("Q", b"x")
    server.start()
    assert server.bodies("Q") == []
    qm.put("Q", b"y")
    assert server.bodies("Q") == [b"y"]


def test_a_session_that_is_forgotten_is_a_doubt_and_another_begins(
    server: Loopback, qm: adapter.Connection
) -> None:
    def forget() -> None:
        server.qm.sessions.clear()
        server.cut_here()

    server.holds = (c.Put,)
    OnCommand(server, c.Close, forget)
    with pytest.raises(e.InDoubt, match="not known") as caught:
        qm.put("Q", b"x")
    server.release()
    assert qm.outcome(caught.value.unit_id) == "unknown"
    qm.put("Q", b"y")
    with qm.unit():
        qm.put("Q", b"z")
    assert server.bodies("Q")[-2:] == [b"y", b"z"]


def test_a_unit_of_a_forgotten_session_is_backed_out(
    server: Loopback, qm: adapter.Connection
) -> None:
    unit = qm.unit()
    unit.begin()
    server.crash()
    server.qm.sessions.clear()
    server.start()
    assert qm.queues()
    with pytest.raises(e.BackedOut):
        qm.put("Q", b"x", unit=unit)


def test_a_session_that_is_refused_is_told_and_tried_anew(
    server: Loopback, connect: Connect
) -> None:
    connect().define_queue("Q")
    refusals = iter([Refused(Reason.LIMIT_REACHED, "", "100000 sessions are in use")])
    server.before = lambda _n, command: (
        next(refusals, None) if isinstance(command, c.SessionOpen) else None
    )
    qm = connect()
    with pytest.raises(e.LimitReached, match="100000 sessions"):
        qm.put("Q", b"x")
    qm.put("Q", b"y")
    assert server.bodies("Q") == [b"y"]


def test_a_unit_that_may_not_begin_says_why(server: Loopback, qm: adapter.Connection) -> None:
    server.qm.limits = structs.replace(server.qm.limits, units_per_connection=0)
    with pytest.raises(e.LimitReached, match="at most 0 units"), qm.unit():
        qm.put("Q", b"x")


def test_a_command_out_of_order_resumes_and_goes_again(
    server: Loopback, qm: adapter.Connection
) -> None:
    def fall_behind() -> None:
        for session in server.qm.sessions.values():
            session.issued -= 1

    server.call(fall_behind)
    qm.put("Q", b"x")
    assert server.bodies("Q") == [b"x"]
    assert qm.statistics()["connections_lost"] == 1


def test_a_malformed_command_does_not_put_the_numbers_out_of_step(
    server: Loopback, qm: adapter.Connection
) -> None:
    refusals = iter([Refused(Reason.MALFORMED_REQUEST, "", "a strange field")])
    server.before = lambda _n, command: next(refusals, None) if isinstance(command, c.Put) else None
    with pytest.raises(e.UnexpectedAnswer, match="a strange field"):
        qm.put("Q", b"x")
    qm.put("Q", b"y")
    assert server.bodies("Q") == [b"y"]


def test_bytes_that_are_no_frames_end_the_connection_not_the_program(
    server: Loopback, qm: adapter.Connection
) -> None:
    def babble() -> None:
        for client in server.clients.values():
            client.send(b"\0\0\0\4what")

    OnCommand(server, c.Put, babble)
    qm.put("Q", b"x")
    assert server.bodies("Q") == [b"x"]
    assert qm.statistics()["connections_lost"] == 1


def test_answers_to_nothing_that_was_asked_are_passed_over(
    server: Loopback, qm: adapter.Connection
) -> None:
    answer = codec.encode(frames.Replies([frames.Answer(999_999, Done())]))

    def answer_out_of_the_blue() -> None:
        for client in server.clients.values():
            client.send(answer)

    server.call(answer_out_of_the_blue)
    qm.put("Q", b"x")
    assert server.bodies("Q") == [b"x"]


def test_silence_is_broken_by_a_question_and_ended_by_another_connection(
    server: Loopback, qm: adapter.Connection
) -> None:
    with connection_to(server, Timeouts(silence_s=0.4, connect_timeout_s=0.3)) as second:
        queue = second.queue("Q", open_for="input")
        asked = count_asked(server)
        while len(asked) < 2:  # bounded by the test's own time
            assert queue.get(timeout=1.0) is None  # signs of life keep it
        assert second.statistics()["connections_lost"] == 0
        server.holds = (object,)
        releasing = threading.Timer(1.0, server.release)
        releasing.start()
        assert queue.depth() == 0
        releasing.join()
        assert second.statistics()["connections_lost"] >= 1


def count_asked(server: Loopback) -> list[Command]:
    asked: list[Command] = []

    def note(_number: int, command: Command) -> None:
        if isinstance(command, frames.AskServer):
            asked.append(command)

    server.before = note
    return asked


def test_outcomes_that_were_seen_are_forgotten_by_the_queue_manager(
    server: Loopback, qm: adapter.Connection
) -> None:
    for number in range(50):
        qm.put("Q", b"%d" % number)
    kept = server.call(lambda: [len(s.outcomes) for s in server.qm.sessions.values()])
    assert kept == [1]
    server.cut_all()
    qm.put("Q", b"x")
    assert server.call(lambda: [len(s.outcomes) for s in server.qm.sessions.values()]) == [1]


def test_large_messages_that_were_seen_are_forgotten_at_once(
    server: Loopback, qm: adapter.Connection
) -> None:
    qm.put("Q", bytes(2 * 1024 * 1024))
    told = threading.Event()
    take = server.operations

    def operations(number: int, seen: list[int], operations: list[Incoming]) -> None:
        take(number, seen, operations)
        if seen and not operations:
            told.set()

    server.operations = operations  # type: ignore[method-assign]
    assert qm.queue("Q").get() is not None
    assert told.wait(10), "nobody asks for anything more"
    assert server.call(lambda: [s.kept_bytes for s in server.qm.sessions.values()]) == [0]


def test_what_was_seen_is_told_later_if_a_request_cannot_be_sent(
    server: Loopback, qm: adapter.Connection
) -> None:
    qm.put("Q", b"x")
    with pytest.raises(e.InvalidValue, match="cannot be sent"):
        qm.put("Q", b"x", properties={"a": "\ud800"})
    qm.put("Q", b"y")
    assert server.call(lambda: [len(s.outcomes) for s in server.qm.sessions.values()]) == [1]


def test_more_durable_commands_than_can_be_kept_are_refused_here(
    server: Loopback, qm: adapter.Connection
) -> None:
    server.holds = (c.PurgeQueue,)
    channel = qm._channel
    requests = [Pending(c.PurgeQueue("Q")) for _ in range(UNANSWERED_MAX)]
    channel.submit(requests)
    with pytest.raises(e.LimitReached, match="use several connections"):
        qm.put("Q", b"x")
    server.release()
    channel.await_all(requests)
    assert qm.put("Q", b"y").message_id
