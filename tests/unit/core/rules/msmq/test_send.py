"""Sending messages of MSMQ: what queues accept, and what becomes of the rest."""

from typing import Any

import pytest

from adapter.core import inputs
from adapter.core.contract import commands as c
from adapter.core.contract import msmq as m
from adapter.core.contract.arrivals import Arrival, ArrivedUnit, Origin
from adapter.core.contract.message import MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Done, PutDone
from adapter.core.rules.msmq import delivery as d
from tests.support.core import Client, Core
from tests.support.msmq import (
    ADMINISTRATION,
    COMPUTER_JOURNAL,
    DEAD_LETTERS,
    KEY,
    PATH,
    TRANSACTIONAL_DEAD_LETTERS,
    client_of_msmq,
    drain,
    look,
    receive,
    send,
)

EVERY_ACKNOWLEDGMENT = MsmqHeader(acknowledge=15, administration_queue=ADMINISTRATION)


def acknowledged(**attributes: Any) -> Client:
    client = client_of_msmq(**attributes)
    client.do(m.MsmqCreate(ADMINISTRATION))
    return client


def test_what_a_message_says_is_settled() -> None:
    client = client_of_msmq()
    said = MsmqHeader(label="l", message_class=d.REACHED_QUEUE)
    client.do(m.MsmqSend(1, MessageData(body=b"a", expiry_ms=1_000, msmq=said)))
    (one,) = look(client)
    header = one.message.msmq
    assert header is not None
    now_ms = client.core.now_ms
    assert (one.message.priority, one.message.persistence) == (3, 1)
    assert (header.label, header.source, header.sent_ms) == ("l", "QM1", now_ms)
    assert header.message_class == 0, "a program sends no acknowledgment"
    assert header.destination == "DIRECT=OS:QM1\\private$\\orders"
    assert header.receive_by_ms == one.message.expires_at_ms == now_ms + 1_000
    assert not header.transactional


@pytest.mark.parametrize("transactional", [False, True])
@pytest.mark.parametrize("single", [False, True])
def test_a_queue_accepts_messages_of_its_kind(transactional: bool, single: bool) -> None:
    client = acknowledged(transactional=transactional)
    send(client, "a", single=single, header=EVERY_ACKNOWLEDGMENT)
    fits = transactional == single
    why = d.NOT_TRANSACTIONAL_QUEUE if single else d.NOT_TRANSACTIONAL_MESSAGE
    assert receive(client, peek=True) == (["a"] if fits else [])
    kinds = [kind for _, kind in drain(client, ADMINISTRATION)]
    assert kinds == ([d.REACHED_QUEUE] if fits else [why])
    dead = drain(client, TRANSACTIONAL_DEAD_LETTERS) + drain(client, DEAD_LETTERS)
    assert dead == ([("a", why)] if single and not fits else [])


def test_level_2_refuses_a_mismatched_send_to_a_local_queue() -> None:
    client = client_of_msmq()
    client.core.configure(msmq_level=2)
    sending = m.MsmqSend(1, MessageData(body=b"a"), single=True)
    assert client.refused(sending) is Reason.TRANSACTION_USAGE
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == []


def test_a_discarded_message_is_answered_and_asked_for_again() -> None:
    client = client_of_msmq(transactional=True)
    assert client.do(m.MsmqSend(1, MessageData(body=b"a")), 1) == Done(0)
    assert client.do(m.MsmqSend(1, MessageData(body=b"a")), 1) == Done(0)
    assert isinstance(client.do(m.MsmqSend(1, MessageData(body=b"b"), single=True)), PutDone)


def test_messages_of_a_transaction_arrive_together_when_it_commits() -> None:
    client = client_of_msmq(transactional=True)
    one, other = client.begin(), client.begin()
    send(client, "a1", unit=one)
    send(client, "b1", unit=other)
    send(client, "a2", unit=one)
    assert look(client) == []
    client.do(c.Commit(other))
    client.do(c.Commit(one))
    found = [look(client, start=m.FIRST)[0]]
    assert found[0].unit == other
    bodies = []
    for _ in range(3):
        (message,) = look(client)
        bodies.append((receive(client)[0], message.queue_unit_index, message.queue_unit_size))
    assert bodies == [("b1", 0, 1), ("a1", 0, 2), ("a2", 1, 2)]


def test_a_quota_refuses_what_has_no_room() -> None:
    client = acknowledged(quota_kb=1)
    send(client, "x" * 600, header=EVERY_ACKNOWLEDGMENT)
    send(client, "y" * 600, header=EVERY_ACKNOWLEDGMENT)
    kinds = [kind for _, kind in drain(client, ADMINISTRATION)]
    assert kinds == [d.REACHED_QUEUE, d.QUOTA_EXCEEDED]
    receive(client)
    send(client, "y" * 600)
    assert receive(client) == ["y" * 600]


def test_the_quota_of_the_computer_counts_each_copy() -> None:
    client = client_of_msmq()
    client.do(c.AlterObject("queue_manager", "QM1", {"msmq_quota_kb": 1}))
    client.do(m.MsmqOpen(2, ",".join([f"DIRECT=OS:{PATH}"] * 3), m.SEND_ACCESS))
    message = MessageData(body=b"x" * 400)
    assert client.refused(m.MsmqSend(2, message)) is Reason.LIMIT_REACHED
    assert receive(client) == []
    send(client, "x" * 300, handle=2)
    assert receive(client) == ["x" * 300]


def test_the_quota_counts_what_transactions_will_send() -> None:
    client = client_of_msmq(transactional=True, quota_kb=1)
    unit = client.begin()
    send(client, "x" * 600, "y" * 600, unit=unit)
    client.do(c.Commit(unit))
    assert receive(client) == ["x" * 600]
    assert receive(client) == []
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == [("y" * 600, d.QUOTA_EXCEEDED)]


def test_an_expired_message_is_reported_and_a_dead_letter() -> None:
    client = acknowledged()
    header = MsmqHeader(acknowledge=8, administration_queue=ADMINISTRATION, journal=1)
    send(client, "a", header=header, expiry_ms=1_000)
    send(client, "b", expiry_ms=1_000)
    client.core.advance(2)
    assert receive(client) == []
    assert drain(client, DEAD_LETTERS) == [("a", d.RECEIVE_TIMEOUT)]
    assert drain(client, ADMINISTRATION) == [("a", d.RECEIVE_TIMEOUT)]


def test_no_time_to_be_received_expires_at_once() -> None:
    client = client_of_msmq()
    send(client, "a", header=MsmqHeader(journal=1), expiry_ms=0)
    assert receive(client) == []
    assert drain(client, DEAD_LETTERS) == [("a", d.RECEIVE_TIMEOUT)]


def test_a_dead_letter_goes_where_its_message_says() -> None:
    client = client_of_msmq()
    client.do(m.MsmqCreate(".\\private$\\mine", {"transactional": True}))
    header = MsmqHeader(journal=1, dead_letter_queue=".\\private$\\mine")
    send(client, "a", header=header, single=True)
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == []
    assert drain(client, ".\\private$\\mine") == [("a", d.NOT_TRANSACTIONAL_QUEUE)]


def test_a_copy_goes_to_the_journal_of_the_computer() -> None:
    client = client_of_msmq()
    send(client, "a", header=MsmqHeader(journal=2))
    assert drain(client, COMPUTER_JOURNAL) == [("a", 0)]
    assert receive(client) == ["a"]


def test_several_queues_are_sent_one_copy_each() -> None:
    client = client_of_msmq()
    client.do(m.MsmqCreate(".\\private$\\b"))
    client.do(m.MsmqOpen(2, f"DIRECT=OS:{PATH},DIRECT=OS:.\\private$\\b", m.SEND_ACCESS))
    send(client, "a", handle=2)
    assert receive(client) == ["a"]
    assert drain(client, ".\\private$\\b") == [("a", 0)]


def test_a_receipt_is_sent_with_the_commit() -> None:
    client = acknowledged(transactional=True)
    header = MsmqHeader(acknowledge=2, administration_queue=ADMINISTRATION)
    send(client, "a", header=header, single=True)
    unit = client.begin()
    receive(client, unit)
    client.do(c.Backout(unit))
    assert drain(client, ADMINISTRATION) == []
    unit = client.begin()
    receive(client, unit)
    client.do(c.Commit(unit))
    assert drain(client, ADMINISTRATION) == [("", d.RECEIVED)]


# -- other computers


def transmitted(client: Client) -> list[MessageData]:
    queue = client.core.qm.queues.get("outgoing$;other")
    return [stored.message for stored in queue.in_order()] if queue is not None else []


def arrive(core: Core, message: MessageData, seq: int, unit: bytes = b"") -> None:
    """Let a message arrive from another queue manager."""
    origin = Origin("their-id", "outgoing$;qm1", 0)
    given = ArrivedUnit("topic", "id", seq, origin, [Arrival(message, 0, seq)], "QM2", unit)
    core.take(core.give(inputs.Arrived(given)))


def test_a_message_for_another_computer_waits_on_its_outgoing_queue() -> None:
    client = client_of_msmq()
    client.do(m.MsmqOpen(2, "OTHER\\private$\\Orders", m.SEND_ACCESS))
    send(client, "a", handle=2)
    (message,) = transmitted(client)
    assert message.transmission is not None
    assert (message.transmission.queue, message.transmission.computer) == (KEY, "OTHER")
    assert client.core.queue("outgoing$;other").attributes.usage == "XMITQ"


def test_a_message_that_does_not_reach_its_queue_in_time_is_reported() -> None:
    client = acknowledged()
    client.do(m.MsmqOpen(2, "OTHER\\private$\\orders", m.SEND_ACCESS))
    header = MsmqHeader(
        acknowledge=4, administration_queue=ADMINISTRATION, journal=1, reach_ms=1_000
    )
    send(client, "a", handle=2, header=header)
    client.core.advance(2)
    assert transmitted(client) == []
    assert drain(client, DEAD_LETTERS) == [("a", d.REACH_QUEUE_TIMEOUT)]
    assert drain(client, ADMINISTRATION) == [("a", d.REACH_QUEUE_TIMEOUT)]


def test_a_message_travels_and_is_acknowledged() -> None:
    sender = acknowledged()
    sender.do(m.MsmqOpen(2, "OTHER\\private$\\orders", m.SEND_ACCESS))
    send(sender, "a", handle=2, header=EVERY_ACKNOWLEDGMENT)
    core = Core()
    core.configure(msmq_computer="OTHER")
    receiver = client_of_msmq(core)
    (message,) = transmitted(sender)
    arrive(core, message, 1)
    assert receive(receiver) == ["a"]
    back = core.qm.queues["outgoing$;qm1"]
    for seq, stored in enumerate(list(back.in_order()), 1):
        arrive(sender.core, stored.message, seq)
    kinds = [kind for _, kind in drain(sender, ADMINISTRATION)]
    assert kinds == [d.REACHED_QUEUE, d.RECEIVED]


def test_a_transactional_message_that_is_not_accepted_there_returns_as_a_dead_letter() -> None:
    sender = client_of_msmq()
    sender.do(m.MsmqOpen(2, "OTHER\\private$\\nowhere", m.SEND_ACCESS))
    send(sender, "a", handle=2, single=True)
    core = Core()
    core.configure(msmq_computer="OTHER")
    client_of_msmq(core)
    (message,) = transmitted(sender)
    arrive(core, message, 1)
    (stored,) = core.qm.queues["outgoing$;qm1"].in_order()
    arrive(sender.core, stored.message, 1)
    assert drain(sender, TRANSACTIONAL_DEAD_LETTERS) == [("a", d.BAD_DESTINATION)]


def test_a_queue_that_was_deleted_takes_no_message() -> None:
    """The handle that was opened before says so: nothing is lost in silence."""
    client = client_of_msmq()
    client.do(m.MsmqOpen(2, PATH, m.SEND_ACCESS))
    client.do(m.MsmqDelete(PATH))
    assert client.refused(m.MsmqSend(2, MessageData(body=b"a"))) == Reason.QUEUE_DELETED


def test_a_transaction_has_the_life_of_its_first_message_also_if_that_is_not_accepted() -> None:
    client = client_of_msmq(transactional=True)
    client.do(m.MsmqCreate(ADMINISTRATION))
    client.do(m.MsmqOpen(2, ADMINISTRATION, m.SEND_ACCESS))
    unit = client.begin()
    send(client, "a", unit=unit, handle=2, expiry_ms=1_000)
    client.core.advance(0.5)
    send(client, "b", unit=unit)
    client.do(c.Commit(unit))
    (one,) = look(client)
    assert one.message.expires_at_ms == client.core.now_ms + 500
    client.core.advance(0.5)
    letters = [("a", d.NOT_TRANSACTIONAL_QUEUE), ("b", d.RECEIVE_TIMEOUT)]
    assert drain(client, TRANSACTIONAL_DEAD_LETTERS) == letters
