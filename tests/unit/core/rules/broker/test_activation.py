"""QUEUE_ACTIVATION is raised for messages that nobody takes care of, and only once for them."""

from random import Random
from typing import Any
from uuid import uuid4

import pytest

from adapter.core.attributes import broker as kinds
from adapter.core.contract import broker as b
from adapter.core.contract import commands as c
from adapter.core.contract.message import Delivered
from adapter.core.contract.results import Descriptions, Messages
from adapter.core.model.broker_queue import BrokerQueue
from adapter.core.rules.broker.activation import RECHECK_MS
from tests.support.core import Client, Core
from tests.support.dialogs import Dialogs, Session

QUEUE, SERVICE = "Work", "//work"
LATER_S = RECHECK_MS / 1000
ACTIVATION: dict[str, Any] = {
    "activation_procedure": "work:do",
    "activation_status": True,
    "max_queue_readers": 2,
}


class Site:
    """A core with a service and its queue, a sender and a reader."""

    def __init__(self, **attributes: Any) -> None:
        self.core = Core()
        self.sender, self.reader = self.core.connect(), self.core.connect()
        self.create(kinds.QUEUE, QUEUE, attributes)
        self.create(kinds.QUEUE, "Forms", {})
        self.create(kinds.SERVICE, SERVICE, {"queue": QUEUE, "contracts": b.DEFAULT})
        self.create(kinds.SERVICE, "//forms", {"queue": "Forms"})

    def create(self, kind: str, name: str, attributes: dict[str, Any]) -> None:
        self.sender.do(b.BrokerCreate(kind, name, attributes))

    def alter(self, **attributes: Any) -> None:
        self.sender.do(b.BrokerAlter(kinds.QUEUE, QUEUE, attributes))

    def submit(self, count: int = 1) -> None:
        """Send a message in so many new dialogs, in one unit."""
        unit = self.sender.begin()
        for _ in range(count):
            handle = uuid4().bytes
            self.sender.do(b.BrokerBegin(unit, handle, "//forms", SERVICE, group=uuid4().bytes))
            self.sender.do(b.BrokerSend(unit, [handle], body=b"x"))
        self.sender.do(c.Commit(unit))

    def receive(self, unit: bytes, queue: str = QUEUE) -> list[Delivered]:
        answer = self.reader.do(b.BrokerReceive(unit, queue))
        assert isinstance(answer, Messages)
        return answer.messages

    def process(self, queue: str = QUEUE) -> int:
        """Receive messages of a group and commit; returns how many."""
        unit = self.reader.begin()
        found = self.receive(unit, queue)
        self.reader.do(c.Commit(unit))
        return len(found)

    def raised(self) -> int:
        """Return how often the event was raised since a queue manager started."""
        found = self.core.qm.broker_events.after(0, b.QUEUE_ACTIVATION)
        assert {one.name for one in found} <= {QUEUE}
        return len(found)

    def pass_time(self, times: int = 1) -> None:
        for _ in range(times):
            self.core.advance(LATER_S)


@pytest.fixture
def at() -> Site:
    return Site(**ACTIVATION)


def waits(client: Client, **options: Any) -> int:
    """Let a receive wait; returns its request."""
    request = client.send(b.BrokerReceive(client.begin(), QUEUE, wait_ms=-1, **options))
    assert client.answer(request) is None
    return request


def test_the_first_message_and_no_later_one_until_somebody_receives(at: Site) -> None:
    at.submit()
    assert at.raised() == 1
    at.submit(3)
    at.pass_time(3)
    assert at.raised() == 1


@pytest.mark.parametrize(
    "attributes",
    [{}, ACTIVATION | {"activation_status": False}, ACTIVATION | {"activation_procedure": ""}],
)
def test_nobody_asks_for_it(attributes: dict[str, Any]) -> None:
    at = Site(**attributes)
    at.submit()
    at.pass_time()
    assert at.raised() == 0
    assert at.core.next_tick_ms() is None


def test_readers_that_do_not_keep_up(at: Site) -> None:
    at.submit(4)
    assert at.process() == 1
    assert at.raised() == 1, "one was started just now"
    at.pass_time()
    assert at.raised() == 2
    at.process()
    at.pass_time()
    assert at.raised() == 3


def test_all_is_received(at: Site) -> None:
    at.submit()
    at.process()
    at.pass_time(2)
    assert (at.raised(), at.core.next_tick_ms()) == (1, None)
    at.submit()
    assert at.raised() == 2


def test_a_receive_that_found_nothing_lately(at: Site) -> None:
    at.submit()
    unit = at.reader.begin()
    assert at.receive(unit)
    at.core.advance(LATER_S)
    other = at.core.connect()
    assert other.do(b.BrokerReceive(other.begin(), QUEUE)) == Messages([])
    at.submit()
    assert at.raised() == 1, "a unit has received, and a reader has just found nothing"
    at.core.advance(LATER_S - 1)
    assert at.raised() == 1
    at.core.advance(1)
    assert at.raised() == 2


def test_somebody_waits(at: Site) -> None:
    request = waits(at.reader)
    at.submit()
    assert at.reader.answer(request) is not None
    assert at.raised() == 0


def test_a_wait_ends_with_nothing(at: Site) -> None:
    at.reader.send(b.BrokerReceive(at.reader.begin(), QUEUE, wait_ms=1000))
    at.core.advance(1)
    queue = at.core.queue("broker$\\work")
    assert isinstance(queue, BrokerQueue)
    assert queue.activity.empty_ms == at.core.elapsed_ms
    at.submit()
    assert at.raised() == 1, "the first message since"


def test_who_waits_for_one_conversation_does_not_count(at: Site) -> None:
    group = uuid4().bytes
    unit = at.reader.begin()
    at.reader.do(b.BrokerBegin(unit, uuid4().bytes, SERVICE, "//forms", group=group))
    at.reader.do(c.Commit(unit))
    waits(at.reader, group=group)
    at.submit()
    assert at.raised() == 1


def test_a_unit_that_received_is_rolled_back(at: Site) -> None:
    at.submit()
    unit = at.reader.begin()
    assert at.receive(unit)
    at.pass_time(2)
    assert at.raised() == 1, "its group is locked"
    at.reader.do(c.Backout(unit))
    assert at.raised() == 2


def test_a_reader_whose_connection_is_lost(at: Site) -> None:
    at.submit()
    assert at.receive(at.reader.begin())
    at.reader.lose()
    at.pass_time()
    assert at.raised() == 2


def test_the_queue_is_turned_off_and_on(at: Site) -> None:
    at.submit()
    at.alter(status=False)
    at.submit()
    at.pass_time()
    assert at.raised() == 1
    at.alter(status=True)
    assert at.raised() == 2, "at once"


def test_activation_is_turned_on_while_messages_are_there() -> None:
    at = Site()
    at.submit()
    at.alter(**ACTIVATION)
    assert at.raised() == 1
    at.alter(activation_status=False)
    at.process()
    at.submit()
    at.pass_time()
    assert at.raised() == 1


def test_messages_are_there_when_the_queue_manager_starts(at: Site) -> None:
    at.submit()
    at.core.crash()
    at.core.advance(0)
    assert at.raised() == 1
    at.core.crash_with_snapshot()
    at.core.advance(0)
    assert at.raised() == 1


@pytest.mark.parametrize("about", [QUEUE, QUEUE.upper(), ""])
def test_an_event_notification(about: str) -> None:
    at = Site()
    at.create(kinds.QUEUE, "Notes", {})
    notification = {"event": b.QUEUE_ACTIVATION, "queue": "Notes", "object": about}
    at.submit()
    at.create(kinds.NOTIFICATION, "N", notification)
    assert at.raised() == 1, "messages were there"
    at.submit()
    at.pass_time()
    assert [at.process("Notes"), at.process("Notes")] == [1, 0]
    at.pass_time(2)
    assert at.process("Notes") == 0, "nobody has received"
    at.process()
    at.pass_time()
    assert at.process("Notes") == 1
    at.sender.do(b.BrokerDrop(kinds.NOTIFICATION, "N"))
    at.process()
    at.submit()
    assert at.process("Notes") == 0


def test_what_a_queue_shows(at: Site) -> None:
    def shown() -> tuple[bool, int]:
        answer = at.sender.do(b.BrokerInquire(kinds.QUEUE, QUEUE))
        assert isinstance(answer, Descriptions)
        attributes: Any = answer.queues[0].attributes
        return attributes["activation_needed"], attributes["receives"]

    assert shown() == (False, 0)
    at.submit()
    assert shown() == (True, 0)
    at.process()
    assert shown() == (False, 1)


class Walk:
    """Random work of programs that never receive: messages are locked, unlocked and removed."""

    def __init__(self, seed: int) -> None:
        self.at = Dialogs()
        self.at.alter("Answers", **ACTIVATION)
        self.random = Random(seed)
        self.sends, self.works = self.at.session(), self.at.session()
        self.before = 0
        """Events before the step with which messages last began to be there."""

    @property
    def raised(self) -> int:
        return len(self.at.core.qm.broker_events.after(0, b.QUEUE_ACTIVATION))

    def is_unread(self) -> bool:
        queue = self.at.core.queue("broker$\\answers")
        assert isinstance(queue, BrokerQueue)
        return queue.groups.next() is not None

    def targets(self) -> list[bytes]:
        """Return the sides on the queue that the second session may work on."""
        known = self.at.core.qm.conversations.endpoints.values()
        return [one.state.handle for one in known if one.state.service == "answers"]

    def step(self) -> str:
        targets = self.targets()
        doing = self.random.choice(("send", "lock", "end", "commit", "rollback", "drop"))
        if doing == "send" or not targets:
            self.sends.dialog("x")
            self.sends.commit()
            return "send"
        if doing in ("lock", "end"):
            self._work(self.random.choice(targets), is_end=doing == "end")
        elif doing == "drop" and not self.works.unit:
            self.at.drop(kinds.SERVICE, "answers")
            self.at.create("answers", "Answers")
        elif self.works.unit:
            self.works.commit() if doing == "commit" else self.works.rollback()
        return doing

    def _work(self, handle: bytes, *, is_end: bool) -> None:
        work: Session = self.works
        known = self.at.core.qm.conversations.endpoints[handle].group
        if handle not in known.endpoints:
            return  # the session has ended it
        work.end(handle, cleanup=True) if is_end else work.timer(handle, 1_000)

    def do(self) -> tuple[str, bool]:
        """Do a step; returns what it was, and whether messages have begun to be there with it."""
        was_unread, before = self.is_unread(), self.raised
        doing = self.step()
        begins = self.is_unread() and not was_unread
        if begins:
            self.before = before
        return doing, begins


@pytest.mark.parametrize("seed", range(40))
def test_messages_that_come_when_none_was_there_have_an_event(seed: int) -> None:
    walk = Walk(seed)
    for _ in range(12):
        doing, begins = walk.do()
        if doing == "send" and begins:
            assert walk.raised > walk.before, "at once"
        if walk.random.random() < 0.5:
            walk.at.core.advance(2 * LATER_S)
            assert walk.raised > walk.before or not walk.is_unread(), f"after {doing}"
