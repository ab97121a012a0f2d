"""Seeds 1 and 2 between two computers, each a queue manager: in memory, and on a real Kafka."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator

import pytest

from adapter.msmq import (
    AcknowledgeTypes,
    Acknowledgment,
    Message,
    MessageQueueException,
    MessageQueueTimeout,
    MessageQueueTransaction,
)
from adapter.msmq.read_response import ReadResponseServer
from tests.support.msmq_computers import WAIT_S, Computers, computers, dead_letters, own, take
from tests.support.msmq_site import labels, send_together
from tests.support.shared_kafka import AnyKafka


@pytest.fixture(params=["memory", "kafka"])
def at(request: pytest.FixtureRequest, unique_name: Callable[..., str]) -> Iterator[Computers]:
    """A client's and a server's computer."""
    if request.param == "memory":
        with computers() as both:
            yield both
        return
    kafka: AnyKafka = request.getfixturevalue("kafka")
    names = unique_name("CLIENT"), unique_name("SERVER")
    with computers(*names, bootstrap_servers=kafka.bootstrap_servers) as both:
        yield both


def test_s1_04_s2_03_a_remote_send_is_delivered_after_the_commit(at: Computers) -> None:
    """S1.4: sending in a transaction works to any transactional queue regardless of location:
    remote, delivered after the commit. S2.3: A1 and A2 arrive exactly once, A1 before A2; an abort
    leaves nothing."""
    queue = own(at.server, "orders", transactional=True)
    aborted = MessageQueueTransaction(at.client)
    aborted.begin()
    at.to_server().send("A0", label="A0", transaction=aborted)
    aborted.abort()
    sent = send_together(at.client, at.to_server(), "A1", "A2")
    found = take(queue, 2)
    assert [message.label for message in found] == ["A1", "A2"]
    assert {message.transaction_id for message in found} == {sent}
    assert found[0].is_first_in_transaction
    assert found[1].is_last_in_transaction
    assert found[0].source_computer == at.at_client.name
    with pytest.raises(MessageQueueTimeout):
        queue.receive(0)


@pytest.mark.parametrize("in_transaction", [True, False])
def test_s1_05_s1_07_a_remote_mismatch_is_found_at_the_sender(
    at: Computers, in_transaction: bool
) -> None:
    """S1.5, S1.7: a message that the remote queue does not accept is never delivered: the send
    succeeds; its sender gets a negative acknowledgment, and finds a message that was sent in a
    transaction in its own dead-letter queue, another in that of the computer that gave up."""
    queue = own(at.server, "orders", transactional=not in_transaction)
    administration = own(at.client, "admin")
    message = Message(
        "x",
        label="1",
        use_dead_letter_queue=True,
        administration_queue=administration,
        acknowledge_type=AcknowledgeTypes.FULL_REACH_QUEUE,
    )
    if in_transaction:
        with MessageQueueTransaction(at.client) as transaction:
            at.to_server().send(message, transaction=transaction)
    else:
        at.to_server().send(message)
    (acknowledgment,) = take(administration, 1)
    reason = (
        Acknowledgment.NOT_TRANSACTIONAL_QUEUE
        if in_transaction
        else Acknowledgment.NOT_TRANSACTIONAL_MESSAGE
    )
    assert acknowledgment.acknowledgment is reason
    assert acknowledgment.correlation_id == message.id
    gave_up = at.client if in_transaction else at.server
    (dead,) = take(dead_letters(gave_up, transactional=in_transaction), 1)
    assert (dead.label, dead.acknowledgment) == ("1", reason)
    assert queue.count() == 0


def test_s1_08_s2_01_exactly_once_in_order_through_crashes(at: Computers) -> None:
    """S1.8: transactional messages appear once, in order, whatever crashes between send and
    acknowledgment. S2.1: no duplicates, nothing lost, when either queue manager dies."""
    queue = own(at.server, "orders", transactional=True)
    expected = []
    for number in range(12):
        names = [f"{number}a", f"{number}b"]
        try:
            send_together(at.client, at.to_server(), *names)
        except MessageQueueException:  # it was lost with the client's queue manager
            send_together(at.client, at.to_server(), *names)
        expected += names
        if number % 4 == 3:
            victim = (at.at_client, at.at_server)[number // 4 % 2]
            victim.crash()
            victim.start()
    assert [message.label for message in take(queue, len(expected))] == expected
    with pytest.raises(MessageQueueTimeout):
        queue.receive(0)


def test_s1_13_s1_17_s1_22_a_read_response_application_of_two_computers(at: Computers) -> None:
    """S1.13: transactional reading of a remote queue is obtained through a read-response
    application. S1.17: payload, label and correlation survive the hop to the receiver's computer.
    S1.22: the request's response queue, which is local to the receiver, drives the routing."""
    queue = own(at.server, "orders", transactional=True)
    own(at.server, "requests", transactional=True)
    local = own(at.client, "responses", transactional=True)
    with MessageQueueTransaction(at.server) as transaction:
        queue.send(Message("payload", label="label", app_specific=7), transaction=transaction)
    server = ReadResponseServer(at.server, queue.path, r".\private$\requests")
    with MessageQueueTransaction(at.client) as transaction:
        request = Message("please", response_queue=local)
        at.to_server("requests").send(request, transaction=transaction)
    assert server.run_once(WAIT_S)
    local.peek(WAIT_S)
    transaction = MessageQueueTransaction(at.client)
    transaction.begin()
    found = local.receive(0, transaction=transaction)
    assert (found.body, found.label, found.app_specific) == ("payload", "label", 7)
    transaction.abort()
    assert labels(local) == ["label"]
    assert queue.count() == 0


def test_s2_11_s2_12_from_different_machines(at: Computers) -> None:
    """S2.11: from different machines, messages of a given transaction still arrive in send order:
    the messages of each transaction are always 1..k. S2.12: what lies between them is not promised:
    a consumer regroups by transaction id."""
    queue = own(at.server, "orders", transactional=True)
    ways = [(at.client, at.to_server()), (at.server, queue)]
    rng = random.Random(2)
    wanted = {}
    for name in "ABCDEFGH":
        host, target = rng.choice(ways)
        count = rng.randint(1, 4)
        numbers = [f"{name}{number}" for number in range(1, count + 1)]
        wanted[send_together(host, target, *numbers)] = numbers
    groups: dict[str, list[str]] = defaultdict(list)
    for message in take(queue, sum(map(len, wanted.values()))):
        groups[message.transaction_id].append(message.label)
    assert groups == wanted
