"""Receiving and peeking at messages of MSMQ: order, cursors, lookup ids, transactions, waiting."""

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.limits import Limits
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, Messages, Refused
from tests.support.core import Core
from tests.support.msmq import (
    DEAD_LETTERS,
    PATH,
    client_of_msmq,
    drain,
    lookup_id,
    receive,
    send,
    texts,
)


def test_messages_come_by_priority_and_then_in_their_order() -> None:
    client = client_of_msmq()
    send(client, "a", "b")
    send(client, "high", priority=7)
    assert receive(client, peek=True) == ["high"]
    assert [receive(client) for _ in range(4)] == [["high"], ["a"], ["b"], []]


def test_a_transaction_receives_what_others_pass_over() -> None:
    client = client_of_msmq(transactional=True)
    send(client, "a", "b", single=True, priority=7)
    unit = client.begin()
    assert receive(client, unit) == ["a"]
    assert receive(client, peek=True) == ["b"]
    client.do(c.Backout(unit))
    answer = client.do(m.MsmqReceive(1))
    assert texts(answer) == ["a"]
    assert isinstance(answer, Messages)
    assert answer.messages[0].backout_count == 1
    assert answer.messages[0].message.priority == 0


def test_a_cursor_stays_behind_what_came_back() -> None:
    client = client_of_msmq(transactional=True)
    send(client, "1", "2", single=True)
    client.do(m.MsmqCursor(1, 1))
    unit = client.begin()
    assert receive(client, unit, start=m.CURRENT, cursor=1) == ["1"]
    client.do(c.Backout(unit))
    assert receive(client, start=m.CURRENT, cursor=1, peek=True) == ["2"]
    client.do(m.MsmqCursor(1, 2))
    assert receive(client, start=m.CURRENT, cursor=2, peek=True) == ["1"]


def test_a_rewinding_cursor_goes_back_for_a_higher_priority() -> None:
    client = client_of_msmq()
    client.do(m.MsmqCursor(1, 1))
    send(client, "1", "2", priority=5)
    send(client, "3", "4", priority=1)
    seen = [receive(client, start=m.REWINDING, cursor=1, peek=True) for _ in range(4)]
    send(client, "5", priority=3)
    seen += [receive(client, start=m.REWINDING, cursor=1, peek=True) for _ in range(4)]
    assert seen == [["1"], ["2"], ["3"], ["4"], ["5"], ["3"], ["4"], []]


def test_a_pending_peek_is_given_the_message_that_came_back() -> None:
    client = client_of_msmq(transactional=True)
    send(client, "1", single=True)
    client.do(m.MsmqCursor(1, 1))
    assert receive(client, start=m.CURRENT, cursor=1, peek=True) == ["1"]
    waiting = client.send(m.MsmqReceive(1, wait_ms=-1, peek=True, start=m.NEXT, cursor=1))
    unit = client.begin()
    assert receive(client, unit) == ["1"]
    assert client.answer(waiting) is None
    client.do(c.Backout(unit))
    assert texts(client.answer(waiting)) == ["1"]
    later = client.send(m.MsmqReceive(1, wait_ms=-1, peek=True, start=m.NEXT, cursor=1))
    assert client.answer(later) is None
    send(client, "2", single=True)
    assert texts(client.answer(later)) == ["2"]


def test_a_peek_that_begins_after_the_return_waits_for_another_message() -> None:
    client = client_of_msmq(transactional=True)
    send(client, "1", single=True)
    client.do(m.MsmqCursor(1, 1))
    receive(client, start=m.CURRENT, cursor=1, peek=True)
    unit = client.begin()
    receive(client, unit)
    waiting = client.send(m.MsmqReceive(1, wait_ms=-1, peek=True, start=m.NEXT, cursor=1))
    client.do(c.Backout(unit))
    assert client.answer(waiting) is None


def test_lookup_ids_lead_on_and_back() -> None:
    client = client_of_msmq()
    send(client, "a", "b", "c")
    send(client, "high", priority=7)
    answer = client.do(m.MsmqReceive(1, peek=True, start=m.LAST))
    assert texts(answer) == ["c"]
    assert isinstance(answer, Messages)
    seen = []
    here = lookup_id(answer.messages[0])
    while True:
        answer = client.do(m.MsmqReceive(1, peek=True, start=m.PREVIOUS, lookup_id=here))
        assert isinstance(answer, Messages)
        if not answer.messages:
            break
        seen += texts(answer)
        here = lookup_id(answer.messages[0])
    assert seen == ["b", "a", "high"]
    assert receive(client, start=m.NEXT, lookup_id=here) == ["a"]
    assert receive(client, start=m.CURRENT, lookup_id=here) == ["high"]
    gone = m.MsmqReceive(1, start=m.CURRENT, lookup_id=here)
    assert client.refused(gone) is Reason.MESSAGE_NOT_FOUND


def test_only_local_transactional_queues_are_read_in_transactions() -> None:
    client = client_of_msmq()
    unit = client.begin()
    assert client.refused(m.MsmqReceive(1, unit)) is Reason.TRANSACTION_USAGE
    assert client.refused(m.MsmqReceive(1, single=True)) is Reason.TRANSACTION_USAGE
    assert client.refused(m.MsmqReceive(1, unit, peek=True)) is Reason.TRANSACTION_USAGE


def test_a_program_of_another_computer_reads_outside_of_transactions() -> None:
    client = client_of_msmq(transactional=True)
    send(client, "a", single=True)
    client.do(m.MsmqOpen(2, "QM1\\private$\\orders", m.RECEIVE_ACCESS, computer="OTHER"))
    unit = client.begin()
    assert client.refused(m.MsmqReceive(2, unit)) is Reason.TRANSACTION_USAGE
    assert texts(client.do(m.MsmqReceive(2))) == ["a"]
    send(client, "b", single=True)
    client.core.configure(msmq_level=4)
    assert texts(client.do(m.MsmqReceive(2, unit))) == ["b"]


def test_a_close_cancels_what_waits() -> None:
    client = client_of_msmq()
    waiting = client.send(m.MsmqReceive(1, wait_ms=-1))
    client.do(c.Close(1))
    answer = client.answer(waiting)
    assert isinstance(answer, Refused)
    assert answer.reason == Reason.OPERATION_CANCELLED


def test_messages_are_found_by_their_ids() -> None:
    client = client_of_msmq()
    send(client, "a", message_id=b"m" * 24)
    send(client, "b", correlation_id=b"c" * 24)
    assert receive(client, message_id=b"x" * 24) == []
    assert receive(client, correlation_id=b"c" * 24) == ["b"]
    assert receive(client, message_id=b"m" * 24) == ["a"]


def test_a_journal_has_what_was_received() -> None:
    client = client_of_msmq()
    client.do(m.MsmqAlter(PATH, {"journaling": True}))
    send(client, "a", "b")
    receive(client)
    client.do(m.MsmqOpen(2, PATH + ";JOURNAL", m.RECEIVE_ACCESS))
    assert texts(client.do(m.MsmqReceive(2))) == ["a"]
    assert texts(client.do(m.MsmqReceive(2))) == []


def test_a_mismatched_message_becomes_a_dead_letter() -> None:
    client = client_of_msmq()
    header = MsmqHeader(journal=1)
    client.do(m.MsmqSend(1, MessageData(body=b"a", msmq=header), single=True))
    client.do(m.MsmqOpen(2, "QM1\\SYSTEM$;DEADXACT", m.RECEIVE_ACCESS))
    answer = client.do(m.MsmqReceive(2))
    assert isinstance(answer, Messages)
    assert answer.messages[0].message.msmq is not None
    assert answer.messages[0].message.msmq.message_class == 0x8009


def test_a_walk_meets_messages_that_are_not_in_memory() -> None:
    core = Core(Limits(window_messages=2))
    client = client_of_msmq(core)
    for number in range(40):
        send(client, f"{number:02}", priority=number % 2)
    queue = core.queue("private$\\orders")
    assert queue.paged_count > 20
    forwards = [f"{n:02}" for n in range(1, 40, 2)] + [f"{n:02}" for n in range(0, 40, 2)]
    client.do(m.MsmqCursor(1, 1))
    seen = receive(client, peek=True, start=m.CURRENT, cursor=1)
    while found := receive(client, peek=True, start=m.NEXT, cursor=1):
        seen += found
        assert len(queue.stored) < 20
    assert seen == forwards
    answer = client.do(m.MsmqReceive(1, peek=True, start=m.LAST))
    backwards = []
    while isinstance(answer, Messages) and answer.messages:
        backwards += texts(answer)
        here = lookup_id(answer.messages[0])
        answer = client.do(m.MsmqReceive(1, peek=True, start=m.PREVIOUS, lookup_id=here))
        assert len(queue.stored) < 20
    assert backwards == forwards[::-1]


def test_a_purge_reports_what_is_not_in_memory() -> None:
    core = Core(Limits(window_messages=2))
    client = client_of_msmq(core)
    send(client, *(f"{number:02}" for number in range(40)), header=MsmqHeader(journal=1))
    assert client.do(m.MsmqPurge(1)) == Done(40)
    assert receive(client) == []
    letters = drain(client, DEAD_LETTERS)
    assert sorted(body for body, _ in letters) == [f"{number:02}" for number in range(40)]


def test_it_is_said_what_has_become_of_the_message_at_a_cursor() -> None:
    client = client_of_msmq(transactional=True)
    client.do(m.MsmqCursor(1, 7))
    current = m.MsmqReceive(1, peek=True, cursor=7, start=m.CURRENT)

    def why() -> str:
        answer = client.do(current)
        assert isinstance(answer, Refused)
        assert answer.reason == Reason.MESSAGE_ALREADY_RECEIVED
        return answer.detail

    send(client, "a", single=True)
    send(client, "b", single=True, expiry_ms=1_000)
    assert texts(client.do(current)) == ["a"]
    unit = client.begin()
    receive(client, unit)
    assert why() == "a transaction has received it"
    client.do(c.Commit(unit))
    assert why() == "another program has received it, or it was removed"
    client.do(m.MsmqReceive(1, peek=True, cursor=7, start=m.NEXT))
    client.core.advance(2)
    assert why() == "it has expired"
