"""Deleting a queue of MSMQ takes several steps if its messages are on its topic: whatever comes
between two of them, the deletion is not refused any more, and each message has one outcome.
"""

import pytest

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Refused
from tests.support.core import Core
from tests.support.msmq import ADMINISTRATION, BOTH, KEY, PATH, drain, look, lookup_id, send
from tests.support.msmq import client_of_msmq as new_client

COUNT = 30
HEADER = MsmqHeader(acknowledge=15, administration_queue=ADMINISTRATION)
SUBQUEUE = PATH + ";sub"


class Deletion:
    """A queue with messages on its topic and one on a subqueue. other: has both open, and a unit
    that has sent. client: deletes the queue.
    """

    def __init__(self) -> None:
        self.client = new_client(
            Core(window_messages=4), transactional=True, journaling=True, label="x"
        )
        self.core = self.client.core
        self.client.do(m.MsmqCreate(ADMINISTRATION))
        self.other = self.core.connect()
        self.other.do(m.MsmqOpen(1, PATH, BOTH))
        self.other.do(m.MsmqOpen(2, SUBQUEUE, m.MOVE_ACCESS | m.RECEIVE_ACCESS))
        self.other.do(m.MsmqOpen(3, PATH, m.MOVE_ACCESS))
        self.unit = self.other.begin()
        send(self.client, "moved", single=True, header=HEADER)
        self.other.do(m.MsmqMove(3, 2, lookup_id(look(self.other)[0])))
        for number in range(COUNT):
            send(self.client, str(number), single=True, header=HEADER)
        drain(self.client, ADMINISTRATION)
        send(self.other, "sent", unit=self.unit, header=HEADER)
        self.core.reads_pages = False
        self.number = self.client.send(m.MsmqDelete(PATH))
        assert self.client.answer(self.number) is None, "it waits for a page"

    def go_on(self, steps: int) -> None:
        """Read so many pages."""
        for _ in range(steps):
            for key in list(self.core.to_read):
                self.core.read_page(key)

    def read_all(self) -> None:
        self.core.reads_pages = True
        self.core._page()

    def end(self) -> None:
        """Read the rest: the queue is gone, and every message has been reported."""
        self.read_all()
        assert isinstance(self.client.answer(self.number), Done)
        assert not [name for name in self.core.qm.queues if name.startswith(KEY)]
        outcomes = [body for body, kind in drain(self.client, ADMINISTRATION) if kind != 2]
        assert sorted(outcomes) == sorted(["moved", *map(str, range(COUNT))])


BETWEEN: dict[str, c.Command] = {
    "receive": m.MsmqReceive(1),
    "wait": m.MsmqReceive(1, wait_ms=60_000),
    "receive of the subqueue": m.MsmqReceive(2),
    "send": m.MsmqSend(1, MessageData(body=b"late", msmq=HEADER), single=True),
    "open": m.MsmqOpen(5, PATH, m.RECEIVE_ACCESS),
    "open to send": m.MsmqOpen(5, PATH, m.SEND_ACCESS),
    "open a new subqueue": m.MsmqOpen(5, PATH + ";new", m.RECEIVE_ACCESS),
    "open the journal": m.MsmqOpen(5, PATH + ";journal", m.RECEIVE_ACCESS),
    "move": m.MsmqMove(3, 2, 1),
    "purge": m.MsmqPurge(1),
}


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("what", BETWEEN)
def test_nothing_comes_between(what: str, steps: int) -> None:
    deletion = Deletion()
    deletion.go_on(steps)
    assert deletion.other.refused(BETWEEN[what]) is Reason.QUEUE_DELETED
    deletion.end()


@pytest.mark.parametrize("command", [m.MsmqReceive, m.MsmqMove])
def test_no_transaction_locks_what_would_stop_it(command: type) -> None:
    deletion = Deletion()
    locking: c.Command = m.MsmqReceive(2, deletion.unit)
    if command is m.MsmqMove:
        locking = m.MsmqMove(3, 2, 1, deletion.unit)
    assert deletion.other.refused(locking) is Reason.QUEUE_DELETED
    deletion.end()


def test_what_waits_for_a_message_is_refused_at_once() -> None:
    client = new_client(Core(window_messages=4), transactional=True)
    client.do(m.MsmqOpen(2, SUBQUEUE, m.RECEIVE_ACCESS))
    waiting = client.send(m.MsmqReceive(2, wait_ms=60_000))
    for number in range(COUNT):
        send(client, str(number), single=True)
    client.core.reads_pages = False
    other = client.core.connect()
    number = other.send(m.MsmqDelete(PATH))
    assert other.answer(number) is None
    answer = client.answer(waiting)
    assert isinstance(answer, Refused)
    assert answer.reason == Reason.QUEUE_DELETED
    client.core.reads_pages = True
    client.core._page()
    assert isinstance(other.answer(number), Done)


def test_a_transaction_that_commits_meanwhile_has_sent_to_a_deleted_queue() -> None:
    deletion = Deletion()
    deletion.other.do(c.Commit(deletion.unit))
    deletion.read_all()
    assert isinstance(deletion.client.answer(deletion.number), Done)
    outcomes = [body for body, kind in drain(deletion.client, ADMINISTRATION) if kind != 2]
    assert outcomes.count("sent") == 1
    assert len(outcomes) == COUNT + 2


def test_another_program_may_delete_it_too() -> None:
    deletion = Deletion()
    number = deletion.other.send(m.MsmqDelete(PATH))
    deletion.read_all()
    answers = [deletion.client.answer(deletion.number), deletion.other.answer(number)]
    assert any(isinstance(answer, Done) for answer in answers)
    assert all(isinstance(answer, (Done, Refused)) for answer in answers)
    assert KEY not in deletion.core.qm.queues


def test_a_client_that_comes_back_goes_on_with_it() -> None:
    deletion = Deletion()
    session, issued = deletion.client.session, deletion.client.issued
    deletion.client.lose()
    assert deletion.other.refused(m.MsmqReceive(1)) is Reason.QUEUE_DELETED
    deletion.core.reads_pages = True
    deletion.client = deletion.core.connect()
    deletion.client.resume(session, [issued], issued)
    deletion.number = deletion.client.send(m.MsmqDelete(PATH), issued)
    deletion.end()


def test_the_queue_is_open_again_when_the_session_is_gone() -> None:
    deletion = Deletion()
    deletion.client.lose()
    deletion.core.advance(2 * 3_600)
    deletion.core.reads_pages = True
    assert isinstance(deletion.other.do(m.MsmqOpen(5, PATH, BOTH)), Done)
