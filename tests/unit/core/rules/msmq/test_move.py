"""Subqueues, moves, rejections, purges and deletions of queues of MSMQ."""

from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Descriptions, Done, Refused
from adapter.core.rules.msmq import delivery as d
from tests.support.core import Client
from tests.support.msmq import (
    ADMINISTRATION,
    KEY,
    PATH,
    TRANSACTIONAL_DEAD_LETTERS,
    client_of_msmq,
    drain,
    look,
    lookup_id,
    receive,
    send,
)

RETRY = PATH + ";Retry"


def with_subqueue() -> Client:
    client = client_of_msmq(transactional=True)
    client.do(m.MsmqOpen(2, RETRY, m.RECEIVE_ACCESS | m.MOVE_ACCESS))
    return client


def test_a_message_moves_and_keeps_what_it_is() -> None:
    client = with_subqueue()
    unit = client.begin()
    send(client, "a", "b", unit=unit)
    client.do(c.Commit(unit))
    held = client.begin()
    receive(client, held)
    client.do(c.Backout(held))
    (before,) = look(client)
    assert before.backout_count == 1
    assert client.do(m.MsmqMove(1, 2, lookup_id(before))) == Done(1)
    (after,) = look(client, handle=2)
    header = after.message.msmq
    assert header is not None
    assert (after.message.message_id, after.backout_count) == (before.message.message_id, 0)
    assert (header.move_count, header.unit, header.unit_index, header.unit_size) == (1, unit, 0, 2)
    assert receive(client) == ["b"]


def test_a_move_in_a_transaction_ends_with_it() -> None:
    client = with_subqueue()
    send(client, "a", single=True)
    number = lookup_id(look(client)[0])
    unit = client.begin()
    client.do(m.MsmqMove(1, 2, number, unit))
    assert look(client) == look(client, handle=2) == []
    assert client.refused(m.MsmqMove(1, 2, number)) is Reason.MESSAGE_LOCKED
    client.do(c.Backout(unit))
    assert receive(client, peek=True) == ["a"]
    unit = client.begin()
    client.do(m.MsmqMove(1, 2, number, unit))
    client.do(c.Commit(unit))
    assert receive(client, handle=2) == ["a"]


def test_a_subqueue_goes_when_it_is_empty_and_closed() -> None:
    client = with_subqueue()
    send(client, "a", single=True)
    client.do(m.MsmqMove(1, 2, lookup_id(look(client)[0])))
    client.do(c.Close(2))
    assert KEY + ";retry" in client.core.qm.queues
    client.do(m.MsmqOpen(2, RETRY, m.RECEIVE_ACCESS))
    receive(client, handle=2)
    client.do(c.Close(2))
    assert KEY + ";retry" not in client.core.qm.queues


def test_nobody_sends_to_a_subqueue() -> None:
    client = with_subqueue()
    opening = m.MsmqOpen(3, RETRY, m.SEND_ACCESS)
    assert client.refused(opening) is Reason.UNSUPPORTED_FORMAT_NAME
    assert client.refused(m.MsmqCreate(RETRY)) is Reason.ILLEGAL_QUEUE_PATH


def test_a_name_with_wildcards_is_no_new_name() -> None:
    client = client_of_msmq()
    for name in (".\\private$\\a*", ".\\private$\\?", "QM1\\a*b"):
        assert client.refused(m.MsmqCreate(name)) is Reason.ILLEGAL_QUEUE_PATH
    for part in ("*", "a?"):
        opening = m.MsmqOpen(3, f"{PATH};{part}", m.RECEIVE_ACCESS)
        assert client.refused(opening) is Reason.ILLEGAL_QUEUE_PATH


def test_a_rejected_message_is_a_dead_letter_and_reported() -> None:
    client = client_of_msmq(transactional=True, journaling=True)
    client.do(m.MsmqCreate(ADMINISTRATION))
    header = MsmqHeader(acknowledge=14, administration_queue=ADMINISTRATION)
    send(client, "a", single=True, header=header)
    number = lookup_id(look(client)[0])
    unit = client.begin()
    receive(client, unit)
    client.do(m.MsmqReject(1, number, unit))
    assert drain(client, ADMINISTRATION) == []
    client.do(c.Commit(unit))
    assert drain(client, ADMINISTRATION) == [("a", d.RECEIVE_REJECTED)]
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == [("a", d.RECEIVE_REJECTED)]
    assert drain(client, PATH + ";journal") == []
    assert look(client) == []


def test_a_dead_letter_is_not_rejected_again() -> None:
    client = client_of_msmq(transactional=True)
    send(client, "a", single=True, header=MsmqHeader(journal=1), expiry_ms=0)
    client.do(m.MsmqOpen(3, TRANSACTIONAL_DEAD_LETTERS, m.RECEIVE_ACCESS))
    number = lookup_id(look(client, handle=3)[0])
    unit = client.begin()
    assert receive(client, unit, handle=3) == ["a"]
    assert client.refused(m.MsmqReject(3, number, unit)) is Reason.OPTIONS_ERROR
    client.do(c.Commit(unit))
    assert look(client, handle=3) == []


def test_a_purge_leaves_what_transactions_hold() -> None:
    client = client_of_msmq(transactional=True)
    client.do(m.MsmqCreate(ADMINISTRATION))
    header = MsmqHeader(acknowledge=8, administration_queue=ADMINISTRATION)
    send(client, "a", "b", "c", single=True, header=header)
    unit = client.begin()
    receive(client, unit)
    assert client.do(m.MsmqPurge(1)) == Done(2)
    assert drain(client, ADMINISTRATION) == [("b", d.QUEUE_PURGED), ("c", d.QUEUE_PURGED)]
    client.do(c.Backout(unit))
    assert receive(client) == ["a"]


def test_a_deletion_ends_what_waits_and_what_transactions_hold() -> None:
    client = client_of_msmq(transactional=True)
    unit = client.begin()
    send(client, "a", unit=unit)
    waiting = client.send(m.MsmqReceive(1, wait_ms=-1))
    client.do(m.MsmqDelete(PATH))
    answer = client.answer(waiting)
    assert isinstance(answer, Refused)
    assert answer.reason == Reason.QUEUE_DELETED
    assert client.refused(m.MsmqReceive(1)) is Reason.QUEUE_DELETED
    client.do(c.Commit(unit))
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == [("a", d.BAD_DESTINATION)]


def test_queues_are_shown_with_their_attributes() -> None:
    client = client_of_msmq(label="our orders", quota_kb=5)
    send(client, "a")
    answer = client.do(m.MsmqInquire("private$\\*"))
    assert isinstance(answer, Descriptions)
    (one,) = answer.queues
    assert one.attributes["path_name"] == "QM1\\private$\\Orders"
    assert (one.attributes["label"], one.attributes["quota_kb"]) == ("our orders", 5)
    assert one.attributes["message_count"] == 1
    assert client.refused(m.MsmqCreate("QM1\\PRIVATE$\\orders")) is Reason.QUEUE_EXISTS
    altering = m.MsmqAlter(PATH, {"transactional": True})
    assert client.refused(altering) is Reason.ATTRIBUTE_ERROR


def test_programs_of_mq_do_not_put_to_queues_of_msmq() -> None:
    client = client_of_msmq()
    send(client, "a")
    assert client.refused(c.Open(5, KEY, c.OUTPUT)) is Reason.OBJECT_TYPE_ERROR
    assert client.refused(c.DeleteQueue(KEY)) is Reason.OBJECT_TYPE_ERROR
    assert client.do(c.Inquire("*")) == Descriptions([])
    client.do(c.Open(5, KEY, c.BROWSE))
    assert client.refused(c.Get(1)) is Reason.NOT_OPEN_FOR_INPUT


def test_everything_is_there_after_a_restart() -> None:
    client = with_subqueue()
    send(client, "a", "b", single=True)
    client.do(m.MsmqMove(1, 2, lookup_id(look(client)[0])))
    core = client.core
    core.crash_with_snapshot()
    back = core.connect()
    back.do(m.MsmqOpen(1, PATH, m.RECEIVE_ACCESS))
    back.do(m.MsmqOpen(2, RETRY, m.RECEIVE_ACCESS))
    assert receive(back) == ["b"]
    assert receive(back, handle=2) == ["a"]
