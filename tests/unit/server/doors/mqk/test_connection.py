"""One client's connection: what is late is ended, what is slow waits, and everybody has a turn."""

import asyncio
from collections.abc import Iterator
from typing import Any, cast

import pytest
from msgspec import Raw

from adapter.connection.wire import codec, frames
from adapter.connection.wire.session import Incoming
from adapter.connection.wire.standby_frames import StandbyFrame
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered, MessageData
from adapter.core.contract.reasons import Reason
from adapter.core.contract.replies import Reply
from adapter.core.contract.results import Done, Messages, Refused
from adapter.server.doors.mqk.connection import WRITE_HIGH_BYTES, ClientConnection, FrameHandler
from adapter.server.listen.bounds import BOUNDS, ConnectionBounds
from adapter.server.listen.connections import ClientConnections
from adapter.server.listen.frame_budget import LONG_BYTES, FrameBudget

HELLO = codec.encode(frames.Hello(version=frames.PROTOCOL_VERSION))
STATUS = codec.raw(c.AskStatus("*"))


class FakeTransport:
    """Takes what is written, and lets a test say how much of it the client has read."""

    def __init__(self) -> None:
        self.buffer = b""
        self.unread_bytes = 0
        self.reading = True
        self.closing = False
        self.aborted = False

    def get_extra_info(self, _name: str) -> None:
        return None

    def set_write_buffer_limits(self, high: int) -> None:
        self.high = high

    def write(self, data: bytes) -> None:
        self.buffer += data
        self.unread_bytes += len(data)

    def get_write_buffer_size(self) -> int:
        return self.unread_bytes

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.closing = self.aborted = True

    def pause_reading(self) -> None:
        assert self.reading
        self.reading = False

    def resume_reading(self) -> None:
        assert not self.reading
        self.reading = True

    def frames(self) -> list[Any]:
        """What was written since the last time."""
        taken, self.buffer = self.buffer, b""
        return [codec.decode_server_frame(one) for one in codec.FrameBuffer().feed(taken)]


class FakeHost(FrameHandler):
    """Notes what a connection hands over."""

    queue_manager = "QM1"

    def __init__(self, bounds: ConnectionBounds) -> None:
        self.bounds = bounds
        self.slice_s, self.unanswered_max = bounds.slice_s, bounds.unanswered
        self.budget = FrameBudget(bytes_max=3 * LONG_BYTES)
        self.refused: Refused | None = None
        self.room = True
        self.without_room = 0
        self.executed: list[int] = []
        self.seen_numbers: list[int] = []
        self.is_gone = False
        self.parting: Refused | None = None
        self.in_unit = False
        self.is_password_checked = True

    @property
    def term(self) -> "FakeHost":
        return self

    def is_between_units(self, _connection: int) -> bool:
        return not self.in_unit

    def waits(self, _connection: int) -> bool:
        return False

    def moved_to(self, _with_tls: bool) -> str:
        return "elsewhere:1414"

    def of_standby(self, _client: ClientConnection, _frame: StandbyFrame) -> None:
        raise AssertionError("no standby connects here")

    def begin(self, _client: ClientConnection) -> Refused | None:
        return self.refused

    def gone(self, _client: ClientConnection) -> None:
        self.is_gone = True

    def welcome(self, client: ClientConnection, _hello: frames.Hello) -> None:
        if self.is_password_checked:
            self.let_in(client)

    def let_in(self, client: ClientConnection) -> None:
        client.write(
            codec.encode(frames.Welcome(version=1, queue_manager="QM1", connection=client.number))
        )
        client.let_in()

    def seen(self, _client: ClientConnection, numbers: list[int]) -> None:
        self.seen_numbers += numbers

    def operation(self, _client: ClientConnection, operation: Incoming) -> None:
        self.executed.append(operation.request)

    def has_room(self) -> bool:
        return self.room

    def wait_for_room(self, _client: ClientConnection) -> None:
        self.without_room += 1


class Waits:
    """A connection that sends a long frame too."""

    held = False

    def hold_back(self, held: bool) -> None:
        self.held = held


class Stage:
    """A connection between two fakes, on an event loop that a test turns by hand."""

    def __init__(self, loop: asyncio.AbstractEventLoop, bounds: ConnectionBounds) -> None:
        self.loop = loop
        self.host = FakeHost(bounds)
        self.transport = FakeTransport()
        self.client = self.loop.run_until_complete(self._made())
        self.client.connection_made(cast("asyncio.BaseTransport", self.transport))

    async def _made(self) -> ClientConnection:
        return ClientConnection(cast("ClientConnections", self.host), self.host, 7)

    def turn(self) -> None:
        """Let the event loop go once round."""
        self.loop.run_until_complete(asyncio.sleep(0))

    def turn_once(self) -> None:
        """Let the event loop run what is ready now."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def greet(self) -> None:
        self.client.data_received(HELLO)
        (welcome,) = self.transport.frames()
        assert isinstance(welcome, frames.Welcome)
        self.transport.unread_bytes = 0

    def ask(self, first: int, count: int, seen: list[int] | None = None) -> None:
        """Let requests arrive."""
        operations = [frames.Operation(n, 0, STATUS) for n in range(first, first + count)]
        self.client.data_received(codec.encode(frames.Requests(operations, seen or [])))

    def goodbye(self) -> Refused:
        """What it was told at the end."""
        last = self.transport.frames()[-1]
        assert isinstance(last, frames.Goodbye)
        assert self.transport.closing
        return last.reason


@pytest.fixture
def bounds() -> ConnectionBounds:
    """A test may be parametrized with others."""
    return BOUNDS


@pytest.fixture
def stage(bounds: ConnectionBounds) -> Iterator[Stage]:
    loop = asyncio.new_event_loop()
    yield Stage(loop, bounds)
    loop.close()


NO_SLICE = pytest.mark.parametrize("bounds", [ConnectionBounds(slice_s=-1.0)])
"""A slice is over as soon as it has begun."""


def test_one_that_is_not_welcome_is_told(stage: Stage) -> None:
    stage.host.refused = Refused(Reason.LIMIT_REACHED, "QM1", "full")
    stage.client.connection_made(cast("asyncio.BaseTransport", stage.transport))
    assert stage.goodbye() == stage.host.refused


def test_of_a_long_frame_no_more_is_read_than_of_a_hello_until_the_client_is_in(
    stage: Stage,
) -> None:
    stage.host.is_password_checked = False
    stage.client.data_received(HELLO)
    begun = (2 * frames.HELLO_BYTES_MAX).to_bytes(4, "big")
    stage.client.data_received(begun + bytes(frames.HELLO_BYTES_MAX - 4))
    reading = [stage.transport.reading]
    stage.client.data_received(bytes(1))
    reading.append(stage.transport.reading)
    stage.host.let_in(stage.client)
    reading.append(stage.transport.reading)
    stage.client.data_received(bytes(100))
    reading.append(stage.transport.reading)
    assert reading == [True, False, True, True]


def test_one_that_is_to_part_goes_with_the_last_answer_of_its_unit(stage: Stage) -> None:
    """What it sent behind that was not done, so that it may be done elsewhere."""
    stage.greet()
    host, parting = stage.host, Refused(Reason.QUEUE_MANAGER_QUIESCING, "QM1")
    host.parting, host.in_unit = parting, True
    stage.ask(1, 2)
    stage.client.reply([Reply(7, 1, Done(), 0)])
    assert not stage.transport.closing, "a request is under way"
    stage.client.reply([Reply(7, 2, Done(), 0)])
    assert not stage.transport.closing, "a unit is in flight"
    assert stage.client.part(parting)
    stage.ask(3, 1)
    host.in_unit = False
    stage.client.reply([Reply(7, 3, Done(), 0)])
    replies, goodbye = stage.transport.frames()[-2:]
    assert [one.request for one in replies.answers] == [3]
    assert goodbye == frames.Goodbye(parting, "elsewhere:1414")
    assert stage.transport.closing


def test_one_that_asks_nothing_parts_when_it_is_looked_at_twice(stage: Stage) -> None:
    stage.greet()
    parting = Refused(Reason.QUEUE_MANAGER_QUIESCING, "QM1")
    assert stage.client.part(parting), "it has just been answered"
    assert not stage.client.part(parting)
    assert stage.goodbye() == parting


def test_requests_are_executed_in_order_and_answered(stage: Stage) -> None:
    stage.greet()
    stage.ask(1, 3, seen=[4, 5])
    assert (stage.host.executed, stage.host.seen_numbers) == ([1, 2, 3], [4, 5])
    stage.client.answer((2, Done()), (1, Done(3)))
    (replies,) = stage.transport.frames()
    assert [(a.request, a.result) for a in replies.answers] == [(2, Done()), (1, Done(3))]


@pytest.mark.parametrize("bounds", [ConnectionBounds(unanswered=2)])
def test_one_way_operations_are_not_counted_as_unanswered(stage: Stage) -> None:
    stage.greet()
    one_way = [frames.Operation(0, 0, codec.raw(c.Touch(b"u"))) for _ in range(3)]
    for first in (1, 2):
        asked = frames.Operation(first, 0, STATUS)
        stage.client.data_received(codec.encode(frames.Requests([*one_way, asked])))
    assert stage.host.executed == [0, 0, 0, 1, 0, 0, 0, 2]
    stage.ask(3, 1)
    assert stage.host.executed[-1] == 2, "as many are unanswered as may be"


@NO_SLICE
def test_a_slice_of_requests_then_others_have_their_turn(stage: Stage) -> None:
    stage.greet()
    stage.ask(1, 3)
    assert stage.host.executed == [1]
    assert not stage.transport.reading
    stage.loop.call_soon(stage.host.executed.append, 99)  # somebody else's
    stage.turn()
    stage.turn()
    assert stage.host.executed == [1, 2, 99, 3]
    assert stage.transport.reading


def test_no_more_is_executed_while_replies_are_unread(stage: Stage) -> None:
    stage.greet()
    stage.ask(1, 1)
    stage.client.pause_writing()
    stage.client.answer((1, Done()))
    stage.ask(2, 2)
    stage.turn()
    assert stage.host.executed == [1]
    assert stage.transport.frames() == [], "no reply is encoded that nobody takes"
    assert not stage.transport.reading
    stage.client.resume_writing()
    stage.turn()
    assert stage.host.executed == [1, 2, 3]
    assert len(stage.transport.frames()) == 1
    assert stage.transport.reading


def long_answers(count: int) -> list[codec.Outgoing]:
    """Of a MiB and a bit each."""
    message = Delivered(MessageData(body=bytes(WRITE_HIGH_BYTES)), 0, 1, 0, 0, b"", 0, 1, 0, 1)
    return [(at, Messages([message])) for at in range(count)]


def test_long_replies_are_written_one_in_each_turn_of_the_loop(stage: Stage) -> None:
    """A transport keeps what it has sent until its loop turns."""
    stage.greet()
    first, *others = long_answers(4)
    stage.client.answer(first)
    stage.client.answer(*others)
    stage.ask(9, 1)
    for at in range(4):
        (replies,) = stage.transport.frames()
        assert [answer.request for answer in replies.answers] == [at]
        assert not stage.host.executed
        stage.turn_once()
    stage.turn()
    assert stage.host.executed == [9]
    assert stage.transport.frames() == []


def test_replies_that_wait_for_their_turn_are_sent_before_a_goodbye(stage: Stage) -> None:
    stage.greet()
    stage.client.answer(*long_answers(3))
    stage.client.goodbye(Refused(Reason.QUEUE_MANAGER_QUIESCING, "QM1", "it ends"))
    *replies, last = stage.transport.frames()
    assert [answer.request for one in replies for answer in one.answers] == [0, 1, 2]
    assert isinstance(last, frames.Goodbye)
    stage.turn()


@pytest.mark.parametrize("bounds", [ConnectionBounds(unanswered=2)])
def test_no_more_is_executed_while_too_much_is_unanswered(stage: Stage) -> None:
    stage.greet()
    stage.ask(1, 3)
    stage.turn()
    assert stage.host.executed == [1, 2]
    stage.client.answer((1, Done()))
    stage.turn()
    assert stage.host.executed == [1, 2, 3]


def test_one_request_is_executed_and_no_more_while_there_is_no_room(stage: Stage) -> None:
    stage.greet()
    stage.host.room = False
    stage.ask(1, 3)
    assert (stage.host.executed, stage.transport.reading) == ([1], False)
    assert stage.host.without_room
    stage.client.answer((1, Done()))
    stage.turn()
    assert stage.host.executed == [1, 2], "its answer has come: one more"
    stage.host.room = True
    stage.client.go_on()
    stage.turn()
    assert (stage.host.executed, stage.transport.reading) == ([1, 2, 3], True)


@NO_SLICE
def test_what_came_whole_before_nonsense_is_executed(stage: Stage) -> None:
    stage.greet()
    operations = [frames.Operation(n, 0, STATUS) for n in (1, 2)]
    stage.client.data_received(codec.encode(frames.Requests(operations)) + b"\xff" * 4)
    assert not stage.transport.closing
    stage.client.data_received(b"more")
    stage.turn()
    assert stage.host.executed == [1, 2]
    assert stage.goodbye().reason == Reason.MALFORMED_REQUEST


def test_one_that_never_says_hello(stage: Stage) -> None:
    made_s = stage.client._progress.made_s
    stage.client.look(made_s + BOUNDS.hello_s)
    assert not stage.transport.closing
    stage.client.look(made_s + BOUNDS.hello_s + 1)
    assert "no hello came within 10 s" in stage.goodbye().detail


def test_one_that_does_not_finish_a_frame(stage: Stage) -> None:
    stage.greet()
    stage.client.data_received(HELLO[:7])
    begun_s = stage.client._progress.frame_s
    stage.client.data_received(HELLO[7:8])
    stage.client._progress.came_s = begun_s + BOUNDS.frame_s
    stage.client.look(begun_s + BOUNDS.frame_s)
    assert not stage.transport.closing
    stage.client.look(begun_s + BOUNDS.frame_s + 1)
    assert "a frame was begun and not finished within 60 s" in stage.goodbye().detail


def test_one_that_falls_silent_within_a_frame(stage: Stage) -> None:
    stage.greet()
    stage.client.data_received(HELLO[:7])
    stage.client.look(stage.client._progress.came_s + BOUNDS.silent_s)
    assert not stage.transport.closing
    stage.client.look(stage.client._progress.came_s + BOUNDS.silent_s + 1)
    assert "nothing more of it came within 15 s" in stage.goodbye().detail


def test_one_whose_frames_are_all_finished_in_time(stage: Stage) -> None:
    """Each begins where the one before ended, in the same bytes."""
    stage.greet()
    frame = codec.encode(frames.Requests([frames.Operation(1, 0, STATUS)]))
    stage.client.data_received(frame[:5])
    for _ in range(3):
        begun_s, stage.client._progress.frame_s = stage.client._progress.frame_s, 0.0
        stage.client.data_received(frame[5:] + frame[:5])
        assert stage.client._progress.frame_s >= begun_s
    stage.client.data_received(frame[5:])
    stage.client.look(begun_s + 10 * BOUNDS.frame_s)
    assert not stage.transport.closing
    assert stage.host.budget.bytes == 0


def test_unfinished_bytes_are_counted(stage: Stage) -> None:
    stage.greet()
    stage.client.data_received(HELLO[:7])
    assert stage.host.budget.bytes == 7
    stage.client.data_received(HELLO[7:8])
    assert stage.host.budget.bytes == 8
    stage.client.connection_lost(None)
    assert stage.host.budget.bytes == 0


def test_a_long_frame_waits_while_others_come_and_its_time_does_not_pass(stage: Stage) -> None:
    stage.greet()
    other = Waits()
    stage.host.budget.has_come(other, 2 * LONG_BYTES, new=True)
    long = codec.encode(frames.Requests([frames.Operation(1, 0, Raw(bytes(4 * LONG_BYTES)))]))
    stage.client.data_received(long[: 2 * LONG_BYTES])
    assert not stage.transport.reading
    assert not other.held
    stage.client.look(stage.client._progress.frame_s + BOUNDS.frame_s + 1)
    assert not stage.transport.closing
    stage.host.budget.has_come(other, 0, new=False)
    assert stage.transport.reading


def test_whole_frames_are_taken_however_crowded_it_is(stage: Stage) -> None:
    stage.greet()
    for _ in range(2):
        stage.host.budget.has_come(Waits(), 3 * LONG_BYTES, new=True)
    stage.ask(1, 1)
    assert stage.host.executed == [1]
    assert stage.transport.reading


def test_one_that_reads_nothing_is_cut_off(stage: Stage) -> None:
    stage.greet()
    stage.client.look(100.0)
    stage.ask(1, 1)
    stage.client.answer((1, Done()))
    for now_s in (101.0, 130.0):
        stage.client.look(now_s)
        assert not stage.transport.aborted
    stage.transport.unread_bytes -= 1  # it reads slowly
    for now_s in (131.0, 160.0):
        stage.client.look(now_s)
        assert not stage.transport.aborted
    stage.client.look(162.0)
    assert stage.transport.aborted


def test_one_that_has_nothing_to_read_is_let_be(stage: Stage) -> None:
    stage.greet()
    for now_s in (100.0, 200.0, 300.0):
        stage.client.look(now_s)
    assert not stage.transport.closing


def test_one_that_does_not_take_its_goodbye_is_cut_off(stage: Stage) -> None:
    stage.greet()
    stage.client.look(100.0)
    stage.client.goodbye(Refused(Reason.QUEUE_MANAGER_STOPPING))
    stage.client.look(101.0)
    stage.client.look(140.0)
    assert stage.transport.aborted


def test_answers_for_one_that_has_gone(stage: Stage) -> None:
    stage.greet()
    stage.ask(1, 1)
    stage.client.connection_lost(None)
    stage.client.answer((1, Messages([])))
    stage.client.look(1e9)
    assert stage.host.is_gone
    assert stage.transport.frames() == []
