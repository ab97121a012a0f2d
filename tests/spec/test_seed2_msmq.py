"""Seed 2, ordering in a transactional queue, with programs of MSMQ: S2.1-S2.15.

test_seed2.py has the same of the SDK's units. Here are transactions, of one host and of two.
"""

import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapter.msmq import (
    Host,
    Message,
    MessageQueue,
    MessageQueueException,
    MessageQueueTransaction,
    MessageQueueTransactionStatus,
    QueueAccessMode,
)
from tests.support.examples import examples
from tests.support.msmq_site import MsmqSite, labels, msmq_site, path, send_together

READ_AND_MOVE = QueueAccessMode.RECEIVE | QueueAccessMode.MOVE
PAGE = Path(__file__).parents[2] / "docs" / "from-msmq.md"


@pytest.fixture
def at() -> Iterator[MsmqSite]:
    with msmq_site() as site:
        site.create(transactional=True)
        yield site


@pytest.fixture
def queue(at: MsmqSite) -> MessageQueue:
    return at.open_home()


class Sender:
    """A transaction of a host that sends numbered messages, a step at a time."""

    def __init__(self, host: Host, name: str) -> None:
        self.name = name
        self._queue = host.open(path("orders"))
        self.transaction = MessageQueueTransaction(host)
        self.transaction.begin()
        self.sent = 0

    def send(self) -> None:
        self.sent += 1
        label = f"{self.name}{self.sent}"
        self._queue.send(label, label=label, transaction=self.transaction)

    def commit(self) -> None:
        self.transaction.commit()


def regrouped(messages: list[Message]) -> dict[str, list[str]]:
    """Group messages by their transaction, as a consumer does: in order, whatever lies between."""
    groups: dict[str, list[str]] = defaultdict(list)
    for message in messages:
        groups[message.transaction_id].append(message.label)
    return dict(groups)


def test_s2_01_s2_03_delivered_once_and_in_order(at: MsmqSite, queue: MessageQueue) -> None:
    """S2.1: all messages sent to a given transactional queue are delivered once. S2.3: A1 and A2 of
    one transaction arrive exactly once, A1 first, also after a retry of the commit."""
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    for label in ("A1", "A2"):
        queue.send(label, label=label, transaction=transaction)
    at.manager.drop_next_reply()
    transaction.commit()
    assert transaction.status is MessageQueueTransactionStatus.COMMITTED
    at.manager.crash()
    at.manager.start()
    assert labels(queue) == ["A1", "A2"]
    assert at.home.outcome(transaction.id) == "committed"


def test_s2_01_what_was_lost_is_reported(at: MsmqSite, queue: MessageQueue) -> None:
    """S2.1, the negative: a transaction that was lost with the queue manager is aborted, its sender
    is told, and nothing of it appears."""
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    queue.send("A1", label="A1", transaction=transaction)
    at.manager.crash()
    at.manager.start()
    with pytest.raises(MessageQueueException):
        transaction.commit()
    assert transaction.status is MessageQueueTransactionStatus.ABORTED
    assert labels(queue) == []


def test_s2_02_s2_08_in_the_order_of_the_sends(at: MsmqSite, queue: MessageQueue) -> None:
    """S2.2: messages arrive in the order in which the transaction sent them. S2.8: a group of k is
    read back 1..k, whatever priorities were asked for: a transactional queue has only one."""
    names = [str(number) for number in range(1, 31)]
    with MessageQueueTransaction(at.home) as transaction:
        for number, name in enumerate(names):
            message = Message(name, label=name, priority=number % 8)
            queue.send(message, transaction=transaction)
    assert labels(queue) == names


@settings(
    max_examples=examples(25),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    schedule=st.permutations(["A", "A", "A", "B", "B", "B"]),
    hosts=st.sampled_from([("home", "home"), ("home", "away"), ("away", "home")]),
)
def test_s2_04_s2_05_s2_06_any_schedule(
    at: MsmqSite, queue: MessageQueue, schedule: list[str], hosts: tuple[str, str]
) -> None:
    """S2.4: with two transactions sending to the same queue, overall ordering is not guaranteed.
    S2.5: for A and B only A1<A2 and B1<B2 are, over all schedules, of one host and of two. S2.6:
    what commits after the other's successful commit comes after it."""
    queue.purge()
    by_name = {"home": at.home, "away": at.away}
    senders = {name: Sender(by_name[host], name) for name, host in zip("AB", hosts, strict=True)}
    commits = []
    for name in schedule:
        if senders[name].sent < 2:
            senders[name].send()
        else:
            senders[name].commit()
            commits.append(name)
    found = labels(queue)
    assert sorted(found) == ["A1", "A2", "B1", "B2"]
    assert found.index("A1") < found.index("A2")
    assert found.index("B1") < found.index("B2")
    assert found == [f"{name}{number}" for name in commits for number in (1, 2)]


def test_s2_07_s2_09_s2_10_groups_in_the_order_of_commits(
    at: MsmqSite, queue: MessageQueue
) -> None:
    """S2.7: from the same machine, all messages of one transaction are grouped together, also with
    the sends of two transactions interleaved. S2.9: a group is not sent before its commit. S2.10: B
    begins and sends first, A commits first: A's group precedes B's."""
    b, a = Sender(at.home, "B"), Sender(at.home, "A")
    for _ in range(3):
        b.send()
        a.send()
    assert queue.count() == 0
    a.commit()
    assert labels(queue) == ["A1", "A2", "A3"]
    b.commit()
    assert labels(queue) == ["A1", "A2", "A3", "B1", "B2", "B3"]


def test_s2_09_an_aborted_group_never_appears(at: MsmqSite, queue: MessageQueue) -> None:
    """S2.9: after an abort nothing of the group ever appears."""
    sender = Sender(at.home, "A")
    sender.send()
    sender.transaction.abort()
    send_together(at.home, queue, "B1")
    at.manager.restart()
    assert labels(queue) == ["B1"]


@pytest.mark.parametrize("seed", range(8))
def test_s2_11_from_different_machines_in_the_order_of_each_transaction(
    at: MsmqSite, queue: MessageQueue, seed: int
) -> None:
    """S2.11: from different machines, messages of a given transaction still arrive in send order:
    two hosts, random scheduling: the messages of each transaction are always 1..k."""
    rng = random.Random(seed)
    hosts = (at.home, at.away)
    senders = [Sender(rng.choice(hosts), name) for name in "ABCDEF"]
    wanted = {sender.name: rng.randint(1, 5) for sender in senders}
    left = list(senders)
    while left:
        sender = rng.choice(left)
        if sender.sent < wanted[sender.name]:
            sender.send()
        else:
            sender.commit()
            left.remove(sender)
    groups = regrouped(queue.get_all_messages())
    expected = [
        [f"{name}{number}" for number in range(1, count + 1)] for name, count in wanted.items()
    ]
    assert sorted(groups.values()) == expected


def interleave(at: MsmqSite, queue: MessageQueue) -> None:
    """Bring the queue to A1, B1, B2, A2, by a detour of one message through a subqueue."""
    send_together(at.home, queue, "A1", "A2")
    send_together(at.away, at.open_away(), "B1", "B2")
    aside = at.open_home("orders;aside", access=READ_AND_MOVE)
    by_label = {message.label: message.lookup_id for message in queue}
    queue.move(by_label["A2"], aside)
    (moved,) = aside
    aside.move(moved.lookup_id, queue)


def test_s2_12_s2_13_a_consumer_regroups_what_is_interleaved(
    at: MsmqSite, queue: MessageQueue
) -> None:
    """S2.12: from different machines there is no single group for each transaction: interleaving is
    legal, and a consumer must not assume that a group is contiguous. S2.13: it regroups by
    transaction id, and finds each group whole by its boundaries."""
    interleave(at, queue)
    found = queue.get_all_messages()
    assert [message.label for message in found] == ["A1", "B1", "B2", "A2"]
    assert sorted(regrouped(found).values()) == [["A1", "A2"], ["B1", "B2"]]
    ends = {message.label: edges(message) for message in found}
    assert ends == {
        "A1": (True, False), "A2": (False, True), "B1": (True, False), "B2": (False, True)
    }  # fmt: skip


def edges(message: Message) -> tuple[bool, bool]:
    return message.is_first_in_transaction, message.is_last_in_transaction


def test_s2_04_s2_12_the_page_promises_no_order_between_transactions() -> None:
    """S2.4, S2.12: the documentation promises no order between transactions, nor that a group from
    another machine is contiguous."""
    text = " ".join(PAGE.read_text().split())
    assert "promises no order between two transactions" in text
    assert "do not rely on a group being contiguous" in text


def test_s2_14_send_receive_and_abort(at: MsmqSite, queue: MessageQueue) -> None:
    """S2.14: sending in a transaction, receiving in one, and aborting are operations; an abort
    undoes both others."""
    send_together(at.home, queue, "A1")
    transaction = MessageQueueTransaction(at.home)
    transaction.begin()
    assert queue.receive(0, transaction=transaction).label == "A1"
    queue.send("A2", label="A2", transaction=transaction)
    assert labels(queue) == []
    transaction.abort()
    assert [(one.label, one.abort_count) for one in queue] == [("A1", 1)]


def test_s2_15_the_boundaries_show_a_missing_head_or_tail(
    at: MsmqSite, queue: MessageQueue
) -> None:
    """S2.15: first-in-transaction, last-in-transaction and the transaction id of each message let a
    consumer detect a missing head or tail; a single message is both."""
    whole = send_together(at.home, queue, "A1", "A2", "A3")
    send_together(at.home, queue, "B1")
    found = queue.get_all_messages()
    assert [edges(message) for message in found] == [
        (True, False),
        (False, False),
        (False, True),
        (True, True),
    ]
    assert [message.transaction_id for message in found[:3]] == [whole] * 3
    assert is_whole(found[:3])
    assert not is_whole(found[1:3])
    assert not is_whole(found[:2])


def is_whole(group: list[Message]) -> bool:
    """Whether the messages of one transaction have a head and a tail."""
    return group[0].is_first_in_transaction and group[-1].is_last_in_transaction
