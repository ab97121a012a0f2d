"""Seed 2, ordering in a transactional queue: S2.1-S2.10, S2.13-S2.15.

In MQ's terms: the transaction is a unit of work, and its messages have equal priority unless a test
says otherwise. Each test states its requirement and asserts it and the nearest negative.
"""

import random
import threading
from collections import defaultdict
from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import adapter
from adapter.testing import TestQueueManager
from tests.drivers import Driver
from tests.support.examples import examples
from tests.support.units import drain, interleave, put_in_unit


def bodies(qm: adapter.Connection, name: str = "Q") -> list[str]:
    """What lies on a queue, in the order of delivery."""
    return [message.body.decode() for message in qm.queue(name).browse()]


def test_s2_01_every_message_is_delivered_once(
    manager: TestQueueManager, qm: adapter.Connection
) -> None:
    """S2.1: all messages sent to a given transactional queue are delivered once: no duplicates
    under retry, fail-over and restart; and nothing lost."""
    sent = []
    for number in range(40):
        lost = manager if number % 4 == 0 else None
        put_in_unit(qm, [f"{number}a", f"{number}b"], lost)
        sent += [f"{number}a", f"{number}b"]
        if number % 10 == 9:
            manager.crash()
            manager.start()
    assert [message.body.decode() for message in drain(qm)] == sent
    assert qm.get("Q") is None


def test_s2_01_a_unit_that_was_lost_is_reported_and_leaves_nothing(
    manager: TestQueueManager, qm: adapter.Connection
) -> None:
    """S2.1, the negative: what was not committed when the queue manager died is not delivered, and
    its sender is told."""
    unit = qm.unit()
    unit.begin()
    qm.put("Q", "lost", unit=unit)
    manager.crash()
    manager.start()
    with pytest.raises(adapter.errors.BackedOut):
        unit.commit()
    assert bodies(qm) == []


def test_s2_01_two_sends_are_two_messages(qm: adapter.Connection) -> None:
    """S2.1, the negative: once is counted by send, not by content. A program that sends again by
    itself has two messages: so a retry that was not recognised would show in these tests."""
    qm.put("Q", "again")
    qm.put("Q", "again")
    assert bodies(qm) == ["again", "again"]


def test_s2_02_messages_arrive_in_the_order_of_their_unit(qm: adapter.Connection) -> None:
    """S2.2: they arrive in the order in which the transaction sent them: the numbers read back
    ascend within each unit."""
    for unit in range(5):
        put_in_unit(qm, [f"{unit}.{index}" for index in range(20)])
    got = drain(qm)
    by_unit = defaultdict(list)
    for message in got:
        by_unit[message.unit_id].append(message.unit_index)
    assert len(by_unit) == 5
    assert all(indexes == list(range(20)) for indexes in by_unit.values())
    assert [m.body.decode() for m in got] == [f"{u}.{i}" for u in range(5) for i in range(20)]


def test_s2_02_order_is_that_of_the_sends_and_of_nothing_else(qm: adapter.Connection) -> None:
    """S2.2, the negative: not the order of the bodies, nor of ids that the program gave."""
    with qm.unit():
        for number in (3, 1, 2):
            qm.put("Q", str(number), message_id=bytes((number,)) * 24)
    assert bodies(qm) == ["3", "1", "2"]


def test_s2_03_one_unit_of_two_arrives_whole_and_in_order_after_a_retry(
    manager: TestQueueManager, qm: adapter.Connection
) -> None:
    """S2.3: one transaction A sending A1, A2: read back exactly [A1, A2], also after a retry of the
    send that the sender's side injected."""
    with qm.unit() as unit:
        qm.put("Q", "A1")
        qm.put("Q", "A2")
        manager.drop_next_reply()  # that of the commit
    assert bodies(qm) == ["A1", "A2"]
    assert qm.outcome(unit.id) == "committed"
    assert qm.statistics()["reconnects"] >= 1


def test_s2_03_a_unit_whose_send_was_lost_is_done_again(
    manager: TestQueueManager, qm: adapter.Connection
) -> None:
    """S2.3, the other retry: the reply to a send inside the unit is lost, and the unit with the
    connection. Its sender is told, does it again, and exactly [A1, A2] arrive."""
    unit = qm.unit()
    unit.begin()
    qm.put("Q", "A1", unit=unit)
    manager.drop_next_reply()
    with pytest.raises(adapter.errors.BackedOut):
        qm.put("Q", "A2", unit=unit)
    assert bodies(qm) == []
    put_in_unit(qm, ["A1", "A2"])
    assert bodies(qm) == ["A1", "A2"]


def test_s2_04_s2_05_only_the_order_within_a_unit_is_promised(
    manager: TestQueueManager, driver: Driver
) -> None:
    """S2.4: with two transactions sending to the same queue, overall ordering is not guaranteed.
    S2.5: for A(A1,A2) and B(B1,B2) only A1<A2 and B1<B2 are. Over random schedules, any merge of
    whole units is accepted; one that turns a unit round is not."""
    seen = set()
    reached = driver.of(manager)
    for seed in range(12):
        with reached.connect() as one, reached.connect() as other:
            one.define_queue("Q", replace=True)
            race(one, other, random.Random(seed))
            listing = bodies(one)
            seen.add(tuple(listing))
            assert is_legal_merge(listing), listing
            one.queue("Q").purge()
    assert seen <= {("A1", "A2", "B1", "B2"), ("B1", "B2", "A1", "A2")}
    assert not is_legal_merge(["A2", "A1", "B1", "B2"])
    assert not is_legal_merge(["A1", "B1", "B2"])


def race(one: adapter.Connection, other: adapter.Connection, rng: random.Random) -> None:
    """Let two units send and commit in a random order of steps, from two threads."""
    ready = threading.Barrier(2)
    first = rng.randrange(2)

    def send(qm: adapter.Connection, name: str, waits: bool) -> None:
        unit = qm.unit()
        unit.begin()
        if waits:
            ready.wait(30)
        qm.put("Q", f"{name}1", unit=unit)
        if not waits:
            ready.wait(30)
        qm.put("Q", f"{name}2", unit=unit)
        unit.commit()

    threads = [
        threading.Thread(target=send, args=(qm, name, first == index))
        for index, (qm, name) in enumerate([(one, "A"), (other, "B")])
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)


def is_legal_merge(listing: Sequence[str]) -> bool:
    """Whether A1 comes before A2, B1 before B2, and nothing is missing or twice."""
    if sorted(listing) != ["A1", "A2", "B1", "B2"]:
        return False
    at = {name: listing.index(name) for name in listing}
    return at["A1"] < at["A2"] and at["B1"] < at["B2"]


@settings(
    max_examples=examples(20),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(schedule=st.permutations(["A", "A", "A", "B", "B", "B"]))
def test_s2_05_whatever_the_schedule(qm: adapter.Connection, schedule: list[str]) -> None:
    """S2.5: over every schedule of two sends and a commit of each, only A1<A2 and B1<B2 hold; the
    commits decide the rest, not the sends."""
    units = {letter: qm.unit() for letter in "AB"}
    steps = dict.fromkeys("AB", 0)
    commits = []
    for letter in schedule:
        steps[letter] += 1
        if steps[letter] == 1:
            units[letter].begin()
        if steps[letter] < 3:
            qm.put("Q", f"{letter}{steps[letter]}", unit=units[letter])
        else:
            units[letter].commit()
            commits.append(letter)
    listing = [message.body.decode() for message in drain(qm)]
    assert is_legal_merge(listing)
    assert listing == [f"{letter}{number}" for letter in commits for number in (1, 2)]


def test_s2_06_the_order_of_two_units_is_that_of_their_successful_commits(
    qm: adapter.Connection,
) -> None:
    """S2.6: to get A1, A2 before B1, B2, commit B only after a successful return from A's commit:
    then it holds even if B's sends were issued first."""
    a, b = qm.unit(), qm.unit()
    a.begin()
    b.begin()
    for text in ("B1", "B2"):
        qm.put("Q", text, unit=b)
    for text in ("A1", "A2"):
        qm.put("Q", text, unit=a)
    a.commit()
    assert bodies(qm) == ["A1", "A2"]  # it has returned, and so it has happened
    b.commit()
    assert bodies(qm) == ["A1", "A2", "B1", "B2"]


def test_s2_06_a_commit_that_fails_says_so(qm: adapter.Connection) -> None:
    """S2.6, the negative: without a success there is nothing to rely on."""
    unit = qm.unit()
    unit.begin()
    qm.put("Q", "A1", unit=unit)
    unit.backout()
    with pytest.raises(adapter.errors.UnitError):
        unit.commit()
    assert bodies(qm) == []


def test_s2_07_the_messages_of_a_unit_are_grouped_together(qm: adapter.Connection) -> None:
    """S2.7: from the same machine, all messages of one transaction are grouped together: contiguous
    in the queue, also with the sends of two open transactions interleaved."""
    a, b = qm.unit(), qm.unit()
    a.begin()
    b.begin()
    for number in (1, 2, 3):
        qm.put("Q", f"A{number}", unit=a)
        qm.put("Q", f"B{number}", unit=b)
    b.commit()
    a.commit()
    listing = bodies(qm)
    assert listing == ["B1", "B2", "B3", "A1", "A2", "A3"]
    units = [message.unit_id for message in qm.queue("Q").browse()]
    assert units == [b.id] * 3 + [a.id] * 3


def test_s2_07_without_units_messages_alternate(qm: adapter.Connection) -> None:
    """S2.7, the negative: it is the transaction that groups them, not the sender."""
    one, other = qm.queue("Q"), qm.queue("Q")
    for number in (1, 2):
        one.put(f"A{number}")
        other.put(f"B{number}")
    assert bodies(qm) == ["A1", "B1", "A2", "B2"]


def test_s2_08_within_a_group_messages_are_in_send_order(qm: adapter.Connection) -> None:
    """S2.8: a group of k messages is read back 1..k, also beside another group."""
    put_in_unit(qm, ["other"])
    put_in_unit(qm, [str(number) for number in range(1, 51)])
    assert bodies(qm) == ["other", *(str(number) for number in range(1, 51))]
    sizes = {(message.unit_index, message.unit_size) for message in drain(qm)[1:]}
    assert sizes == {(index, 50) for index in range(50)}


def test_s2_08_among_priorities_the_higher_comes_first(qm: adapter.Connection) -> None:
    """S2.8, the negative: send order holds within a group of one priority, as in a transactional
    queue; a queue with priorities delivers those first."""
    with qm.unit():
        qm.put("Q", "1", priority=1)
        qm.put("Q", "2", priority=9)
    assert bodies(qm) == ["2", "1"]


def test_s2_09_nothing_is_sent_before_the_commit(qm: adapter.Connection) -> None:
    """S2.9: the group is not sent to the destination queue until the sender commits: the depth less
    what is uncommitted is unchanged before it; an abort leaves nothing, ever."""
    queue = qm.queue("Q")
    unit = qm.unit()
    unit.begin()
    qm.put("Q", "A1", unit=unit)
    status = queue.status()
    assert status.current_depth - status.uncommitted_puts == 0
    assert bodies(qm) == []
    assert qm.get("Q") is None
    unit.backout()
    assert queue.depth() == 0
    assert bodies(qm) == []
    put_in_unit(qm, ["B1"])
    assert bodies(qm) == ["B1"]


def test_s2_10_the_order_of_groups_is_that_of_the_commits(qm: adapter.Connection) -> None:
    """S2.10: group order in the destination depends on when senders committed: B begins and sends
    first, A commits first, so A's group precedes B's."""
    b = qm.unit()
    b.begin()
    qm.put("Q", "B1", unit=b)
    put_in_unit(qm, ["A1"])
    b.commit()
    assert bodies(qm) == ["A1", "B1"]


def test_s2_10_whoever_commits_first_comes_first(qm: adapter.Connection) -> None:
    """S2.10, the negative: with the same sends, B's group precedes A's if B commits first."""
    a, b = qm.unit(), qm.unit()
    a.begin()
    b.begin()
    qm.put("Q", "A1", unit=a)
    qm.put("Q", "B1", unit=b)
    b.commit()
    a.commit()
    assert bodies(qm) == ["B1", "A1"]


def test_s2_13_a_consumer_regroups_interleaved_units(qm: adapter.Connection) -> None:
    """S2.13: one possible interleaving is A1, B1, A2, B2: a consumer regroups by transaction id.
    Here mixed priorities interleave two units."""
    interleave(qm)
    got = drain(qm)
    assert [message.body for message in got] == [b"A1", b"B1", b"A2", b"B2"]
    units: dict[bytes, list[adapter.Message]] = defaultdict(list)
    for message in got:
        assert message.unit_id is not None
        units[message.unit_id].append(message)
    texts = [[m.body for m in sorted(unit, key=index_of)] for unit in units.values()]
    assert texts == [[b"A1", b"A2"], [b"B1", b"B2"]]
    assert all(len(unit) == unit[0].unit_size for unit in units.values())


def index_of(message: adapter.Message) -> int:
    """Where in its unit a message was put."""
    return message.unit_index or 0


def test_s2_14_send_receive_and_abort_in_a_unit(qm: adapter.Connection) -> None:
    """S2.14: sending to and retrieving from a transactional queue and aborting are operations: the
    three exist, and an abort undoes both others."""
    put_in_unit(qm, ["A1"])
    unit = qm.unit()
    unit.begin()
    taken = qm.get("Q", unit=unit)
    assert taken is not None
    assert taken.body == b"A1"
    qm.put("Q", "A2", unit=unit)
    assert bodies(qm) == []
    unit.backout()
    assert bodies(qm) == ["A1"]
    assert drain(qm)[0].backout_count == 1


def test_s2_15_a_consumer_detects_a_missing_head_or_tail(qm: adapter.Connection) -> None:
    """S2.15: first-in-transaction, last-in-transaction and the transaction id of each message let a
    consumer check the boundaries on receive."""
    put_in_unit(qm, ["A1", "A2", "A3"])
    put_in_unit(qm, ["B1"])
    got = drain(qm)
    assert [(m.first_in_unit, m.last_in_unit) for m in got] == [
        (True, False),
        (False, False),
        (False, True),
        (True, True),
    ]
    assert incomplete_units(got) == set()
    assert incomplete_units(got[1:]) == {got[0].unit_id}  # the head is missing
    assert incomplete_units([got[0], got[1], got[3]]) == {got[0].unit_id}  # the tail is missing


def test_s2_15_a_missing_middle_is_detected_by_the_numbering(qm: adapter.Connection) -> None:
    """S2.15: index and size of the unit tell what head and tail alone do not."""
    put_in_unit(qm, ["A1", "A2", "A3"])
    first, _, last = drain(qm)
    assert incomplete_units([first, last]) == set()
    assert {first.unit_index, last.unit_index} != set(range(first.unit_size or 0))


def incomplete_units(messages: Sequence[adapter.Message]) -> set[bytes | None]:
    """The units of which a consumer has seen no beginning or no end."""
    units: set[bytes | None] = {message.unit_id for message in messages}
    begun = {message.unit_id for message in messages if message.first_in_unit}
    ended = {message.unit_id for message in messages if message.last_in_unit}
    return units - (begun & ended)
