"""Intakes wait for many queues at once; no message is taken that nobody is free to have."""

import fcntl
import resource
import select
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import adapter
from adapter.errors import ConnectionClosed
from adapter.frameworks.units import give_back
from adapter.kombu import intakes
from adapter.kombu.intakes import Inbox, Intake, QueueSource, TemporaryQueueSource
from adapter.kombu.links import ProcessLink
from tests.support.backlog import until

WAIT_S = 10.0


class Consumer:
    """A channel that consumes from queues, and may have so many messages."""

    def __init__(self, qm: adapter.Connection) -> None:
        self.qm = qm
        self.inbox = Inbox()
        self.intakes: list[Intake] = []
        self.got: list[str] = []
        self.units: list[adapter.Unit | None] = []
        self.room = 100

    def consume(self, queue: str, *, no_ack: bool = False) -> Intake:
        return self._open(QueueSource(self.qm, queue, no_ack=no_ack))

    def consume_temporary(self, link: ProcessLink, queue: str, *, no_ack: bool = False) -> Intake:
        temporary = link.temporary(queue)
        assert temporary is not None
        return self._open(TemporaryQueueSource(self.qm, temporary, no_ack=no_ack))

    def _open(self, source: QueueSource | TemporaryQueueSource) -> Intake:
        intake = Intake(self.inbox, source, self, self.accept)
        self.inbox.open(intake)
        self.intakes.append(intake)
        return intake

    def can_consume(self) -> bool:
        return len(self.got) < self.room

    def can_consume_max_estimate(self) -> int:
        return max(self.room - len(self.got), 0)

    def accept(self, message: adapter.Message, unit: adapter.Unit | None) -> Callable[[], None]:
        self.got.append(message.text)
        self.units.append(unit)
        return self.called_back

    def called_back(self) -> None:
        """Execute a task; tests set what it does."""

    def close(self) -> None:
        for intake in self.intakes:
            self.inbox.close(intake)
        for unit in self.units:
            give_back(unit, counted=True)
        self.inbox.close_bell()


@pytest.fixture
def consumer(qm: adapter.Connection) -> Iterator[Consumer]:
    for queue in ("A", "B"):
        qm.define_queue(queue)
    made = Consumer(qm)
    yield made
    made.close()


def waiting(qm: adapter.Connection, queue: str) -> int:
    return qm.queue(queue).status().waiting_gets


def test_queues_are_served_in_turn(consumer: Consumer, qm: adapter.Connection) -> None:
    consumer.consume("A")
    consumer.consume("B")
    for queue in ("A", "B"):
        qm.queue(queue).put_many([f"{queue}{number}" for number in range(2)])
    while consumer.inbox.drain(0.0):
        pass
    assert consumer.got == ["A0", "B0", "A1", "B1"]


def test_a_message_of_any_queue_ends_the_wait(consumer: Consumer, qm: adapter.Connection) -> None:
    consumer.consume("A")
    consumer.consume("B")
    drained = threading.Thread(target=consumer.inbox.drain, args=(WAIT_S,))
    drained.start()
    until(lambda: waiting(qm, "A") == waiting(qm, "B") == 1)
    qm.put("B", "hello")
    drained.join(WAIT_S)
    assert consumer.got == ["hello"]
    until(lambda: waiting(qm, "A") == 0)


def test_no_message_comes_in_time(consumer: Consumer) -> None:
    consumer.consume("A")
    assert not consumer.inbox.drain(0.0)
    assert not consumer.inbox.drain(0.05)


def test_the_other_intakes_are_disarmed_before_a_message_is_delivered(
    consumer: Consumer, qm: adapter.Connection
) -> None:
    consumer.consume("A")
    consumer.consume("B")
    consumer.inbox.arm_all()
    until(lambda: waiting(qm, "A") == waiting(qm, "B") == 1)
    qm.put("A", "taken")
    assert consumer.inbox.drain(WAIT_S)
    until(lambda: waiting(qm, "B") == 0)
    qm.put("B", "free for others")
    assert qm.get("B") is not None


def test_an_intake_that_was_disarmed_is_armed_again(
    consumer: Consumer, qm: adapter.Connection
) -> None:
    intake = consumer.consume("A")
    for number in range(20):
        intake.arm()
        intake.disarm()
        intake.arm()
        qm.put("A", str(number))
        assert consumer.inbox.drain(WAIT_S)
    assert consumer.got == [str(number) for number in range(20)]


def test_without_room_nothing_is_got(consumer: Consumer, qm: adapter.Connection) -> None:
    consumer.consume("A")
    consumer.room = 1
    qm.queue("A").put_many(["first", "second"])
    assert consumer.inbox.drain(0.0)
    assert not consumer.inbox.drain(0.0)
    assert (qm.queue("A").depth(), waiting(qm, "A")) == (1, 0)


@pytest.mark.parametrize(("room", "queues"), [(1, 2), (1, 3), (2, 3), (2, 4), (3, 3)])
def test_no_more_is_held_than_there_is_room_for_while_a_task_runs(
    consumer: Consumer, qm: adapter.Connection, room: int, queues: int
) -> None:
    names = [f"Q{number}" for number in range(queues)]
    for name in names:
        qm.define_queue(name)
        consumer.consume(name)
    consumer.room = room
    consumer.inbox.arm_all()
    until(lambda: all(waiting(qm, name) == 1 for name in names))
    with qm.unit():
        for name in names:
            qm.put(name, name)  # each is got at once, as gets wait

    others: list[adapter.Message] = []

    def execute() -> None:
        until(lambda: sum(qm.queue(name).depth() for name in names) >= queues - room)
        others.extend(filter(None, map(qm.get, names)))

    consumer.called_back = execute  # type: ignore[method-assign]
    assert consumer.inbox.drain(WAIT_S)
    consumer.called_back = lambda: None  # type: ignore[method-assign]
    consumer.room = 100
    until(lambda: not consumer.inbox.drain(0.0) and len(consumer.got + others) == queues)
    assert sorted([*consumer.got, *(one.text for one in others)]) == names
    assert {one.backout_count for one in others} <= {0}


def test_what_is_kept_goes_back_when_its_channel_has_no_room_any_more(
    consumer: Consumer, qm: adapter.Connection
) -> None:
    consumer.consume("A").arm()
    qm.put("A", "hello")
    until(lambda: qm.queue("A").depth() == 0)
    consumer.room = 0
    assert not consumer.inbox.drain(0.0)
    until(lambda: qm.queue("A").depth() == 1)


def test_what_needs_no_acknowledgement_needs_no_room(
    consumer: Consumer, qm: adapter.Connection
) -> None:
    link = ProcessLink(qm)
    link.declare_temporary("T")
    consumer.consume("A")
    consumer.consume("B", no_ack=True)
    consumer.consume_temporary(link, "T", no_ack=True)
    consumer.room = 0
    for name in ("A", "B", "T"):
        link.put(name, name.encode(), {})
    assert consumer.inbox.drain(WAIT_S)
    assert consumer.inbox.drain(WAIT_S)
    assert not consumer.inbox.drain(0.0)
    assert sorted(consumer.got) == ["B", "T"]
    assert qm.queue("A").depth() == 1


def test_room_that_another_thread_makes_ends_the_wait(
    consumer: Consumer, qm: adapter.Connection
) -> None:
    consumer.consume("A")
    consumer.room = 0
    qm.put("A", "hello")
    drained = threading.Thread(target=consumer.inbox.drain, args=(WAIT_S,))
    drained.start()
    drained.join(0.05)
    assert drained.is_alive()
    consumer.room = 1
    consumer.inbox.note_room()
    drained.join(WAIT_S / 2)
    assert consumer.got == ["hello"]


def test_what_comes_after_the_close_goes_back(
    consumer: Consumer, qm: adapter.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake = consumer.consume("A")
    goes_on = threading.Event()
    get = intake.source.get

    def get_slowly(*arguments: Any) -> Any:
        got = get(*arguments)
        goes_on.wait(WAIT_S)
        return got

    monkeypatch.setattr(intake.source, "get", get_slowly)
    monkeypatch.setattr("adapter.kombu.intakes.JOIN_S", 0.0)
    qm.put("A", "hello")
    intake.arm()
    until(lambda: qm.queue("A").depth() == 0)
    consumer.inbox.close(intake)
    consumer.intakes.remove(intake)
    assert qm.queue("A").depth() == 0
    goes_on.set()
    until(lambda: qm.queue("A").depth() == 1)


def test_what_was_not_delivered_goes_back_when_the_intake_is_closed(
    consumer: Consumer, qm: adapter.Connection
) -> None:
    intake = consumer.consume("A")
    intake.arm()
    qm.put("A", "hello")
    until(lambda: qm.queue("A").depth() == 0)
    consumer.inbox.close(intake)
    consumer.intakes.remove(intake)
    assert qm.queue("A").depth() == 1
    assert consumer.got == []


def test_each_message_has_a_unit_of_its_own(consumer: Consumer, qm: adapter.Connection) -> None:
    consumer.consume("A")
    consumer.room = 2
    qm.queue("A").put_many(["first", "second"])
    while consumer.inbox.drain(0.0):
        pass
    first, second = consumer.units
    assert first is not None
    give_back(first, counted=True)
    assert qm.queue("A").depth() == 1
    assert second is not None
    second.commit()


def test_without_acknowledgements_messages_are_gone(
    consumer: Consumer, qm: adapter.Connection
) -> None:
    link = ProcessLink(qm)
    link.declare_temporary("T")
    consumer.consume("A", no_ack=True)
    consumer.consume_temporary(link, "T", no_ack=True)
    qm.put("A", "for good")
    assert consumer.inbox.drain(WAIT_S)
    assert link.put("T", b"temporary", {})
    assert consumer.inbox.drain(WAIT_S)
    assert consumer.units == [None, None]
    assert consumer.got == ["for good", "temporary"]
    assert (qm.queue("A").status().uncommitted_gets, link.depth("T")) == (0, 0)


def test_what_an_intake_meets_is_raised(
    consumer: Consumer, qm: adapter.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    intake = consumer.consume("A")

    def meet(*_: Any) -> None:
        raise adapter.QueueFull("met")

    monkeypatch.setattr(intake.source, "get", meet)
    intake.arm()
    with pytest.raises(adapter.QueueFull):
        consumer.inbox.drain(WAIT_S)


@pytest.mark.parametrize("no_ack", [False, True])
def test_a_queue_whose_gets_are_inhibited_is_waited_for(
    consumer: Consumer,
    qm: adapter.Connection,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    no_ack: bool,
) -> None:
    monkeypatch.setattr(intakes, "INHIBITED_S", 0.02)
    consumer.consume("A", no_ack=no_ack)
    assert not consumer.inbox.drain(0.05)
    qm.put("A", "hello")
    assert consumer.inbox.drain(WAIT_S)
    qm.alter_queue("A", inhibit_get=True)
    qm.put("A", "later")
    units = len(qm.open_units())
    assert not consumer.inbox.drain(0.2)
    assert len(qm.open_units()) <= units
    assert [one.getMessage()[:19] for one in caplog.records] == ["waiting for queue A"]
    qm.alter_queue("A", inhibit_get=False)
    assert consumer.inbox.drain(WAIT_S)
    assert consumer.got == ["hello", "later"]


def test_a_backlog_of_one_queue_holds_up_no_other(
    consumer: Consumer, qm: adapter.Connection
) -> None:
    """Of permanent and temporary queues, with a backlog on either."""
    link = ProcessLink(qm)
    kinds = {"A": "stays", "B": "stays", "S": "goes", "T": "goes"}
    for name, kind in kinds.items():
        if kind == "goes":
            link.declare_temporary(name)
            consumer.consume_temporary(link, name, no_ack=True)
        else:
            consumer.consume(name, no_ack=True)
    for backlog in kinds:
        consumer.got.clear()
        for _ in range(60):
            link.put(backlog, backlog.encode(), {})
        for name in kinds.keys() - {backlog}:
            link.put(name, name.encode(), {})
        while len(consumer.got) < 63:
            assert consumer.inbox.drain(WAIT_S)
        first = {name: consumer.got.index(name) for name in kinds}
        assert max(first.values()) < 40, (backlog, first)


@pytest.mark.parametrize("queues", [(), ("A",), ("A", "B")])
def test_closing_it_ends_every_wait(consumer: Consumer, queues: tuple[str, ...]) -> None:
    for queue in queues:
        consumer.consume(queue)
    met: list[BaseException] = []

    def drain() -> None:
        try:
            consumer.inbox.drain(None)
        except ConnectionClosed as error:
            met.append(error)

    drained = threading.Thread(target=drain)
    drained.start()
    drained.join(0.05)
    assert drained.is_alive()
    consumer.inbox.close_all()
    drained.join(WAIT_S)
    assert len(met) == 1
    with pytest.raises(ConnectionClosed):
        consumer.inbox.drain(0.0)


def test_a_descriptor_may_have_any_number(consumer: Consumer) -> None:
    inbox = consumer.inbox
    inbox.bell()
    assert inbox._bell is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    try:
        number = fcntl.fcntl(inbox._bell[0], fcntl.F_DUPFD, 2000)
        with socket.socket(fileno=number) as high:
            inbox._bell[0].close()
            inbox._bell = high, inbox._bell[1]
            for _ in range(3):
                inbox.ring()
            inbox.silence()
            with pytest.raises(BlockingIOError):
                high.recv(1)
            inbox.ring()
            assert high.recv(9) == b"\0"
            inbox.close_bell()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_the_bell_rings_until_it_is_silenced(consumer: Consumer, qm: adapter.Connection) -> None:
    consumer.consume("A")
    bell = consumer.inbox.bell()
    assert bell == consumer.inbox.bell()
    consumer.inbox.arm_all()
    qm.put("A", "hello")
    assert select.select([bell], [], [], WAIT_S)[0]
    consumer.inbox.silence()
    assert not select.select([bell], [], [], 0)[0]
    assert consumer.inbox.drain(0.0)
