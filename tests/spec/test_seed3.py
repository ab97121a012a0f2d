"""Seed 3, poison messages of Service Broker and their automatic detection: S3.1-S3.13."""

import sqlite3
from collections.abc import Iterator

import pytest

from adapter.servicebroker import ServiceBrokerError
from tests.support.broker_site import (
    APPROVAL,
    EXPENSES,
    FORMS,
    BrokerSite,
    broker_site,
    error_of,
    rolled_back,
)

QUEUE_IS_DISABLED = 9617
INVENTORY = "InventoryQueue"
WITHDRAWAL = "//stock/Withdrawal"


@pytest.fixture
def at() -> Iterator[BrokerSite]:
    with broker_site() as site:
        yield site


class Stock:
    """A database of parts, and the application that withdraws them as messages say."""

    def __init__(self, at: BrokerSite) -> None:
        self._at = at
        self._parts = sqlite3.connect(":memory:", isolation_level=None)
        self._parts.execute(
            "CREATE TABLE parts (part TEXT PRIMARY KEY, on_hand INTEGER NOT NULL,"
            " retired INTEGER NOT NULL)"
        )
        self._parts.execute(
            "CREATE TRIGGER no_withdrawal BEFORE UPDATE OF on_hand ON parts WHEN old.retired"
            " BEGIN SELECT raise(ABORT, 'the part is retired'); END"
        )
        self._parts.executemany("INSERT INTO parts VALUES (?, 10, 0)", [("bolt",), ("nut",)])
        at.create(WITHDRAWAL, INVENTORY)

    def close(self) -> None:
        self._parts.close()

    def retire(self, part: str) -> None:
        """Let a change order take effect."""
        self._parts.execute("UPDATE parts SET retired = 1 WHERE part = ?", [part])

    def on_hand(self, part: str) -> int:
        (found,) = self._parts.execute("SELECT on_hand FROM parts WHERE part = ?", [part])
        return int(found[0])

    def withdraw(self, part: str) -> None:
        """Update the database; sqlite3.Error if it cannot be updated."""
        self._parts.execute("UPDATE parts SET on_hand = on_hand - 1 WHERE part = ?", [part])

    def dry_run(self, part: str) -> None:
        """Withdraw a part, and undo that."""
        self._parts.execute("BEGIN")
        try:
            self.withdraw(part)
        finally:
            self._parts.execute("ROLLBACK")

    def run_once(self) -> str:
        """Receive a request and withdraw its part, in one transaction; returns the part."""
        with self._at.program.transaction() as t:
            (row,) = t.receive(INVENTORY, top=1)
            self.withdraw(row.text)
        return row.text


@pytest.fixture
def stock(at: BrokerSite) -> Iterator[Stock]:
    opened = Stock(at)
    try:
        yield opened
    finally:
        opened.close()


def test_s3_03_s3_09_a_request_that_became_impossible_in_transit(
    at: BrokerSite, stock: Stock
) -> None:
    """S3.3: the application receives a request, cannot process it, and its database update fails.
    S3.9: the request was valid when it was sent: a dry run succeeded; it became one that cannot be
    processed when the change order retired the part. S3.2: a workstation
    submits a request to withdraw a part just before a change order retires the part, and the order
    takes effect while the request is in transit."""
    stock.dry_run("bolt")
    at.submit("bolt", to=WITHDRAWAL)
    stock.retire("bolt")
    for _ in range(5):
        assert at.is_on(INVENTORY)
        with pytest.raises(sqlite3.IntegrityError, match="retired"):
            stock.run_once()
    assert not at.is_on(INVENTORY)
    assert at.texts(INVENTORY) == ["bolt"]
    assert stock.on_hand("bolt") == 10


def test_s3_03_s3_06_only_failures_count(at: BrokerSite, stock: Stock) -> None:
    """S3.3: the failure of the application is the only cause, and never what a message looks like.
    S3.6: a poison message is not a corrupt one and may be a valid request: of two equal messages
    one is processed and one is not, because the part was retired between them. S3.1: a
    poison message contains information that the application cannot process successfully: only
    repeated rollbacks say so."""
    at.submit("bolt", to=WITHDRAWAL)
    at.submit("bolt", to=WITHDRAWAL)
    assert stock.run_once() == "bolt"
    stock.retire("bolt")
    for _ in range(4):
        with pytest.raises(sqlite3.IntegrityError):
            stock.run_once()
    assert (at.count(INVENTORY), stock.on_hand("bolt")) == (4, 9)


@pytest.mark.parametrize("body", [b"\xff\xfe\x00", b"", "<a>", "\ud800", "x" * 100_000])
def test_s3_06_detection_does_not_look_at_bodies(at: BrokerSite, body: bytes | str) -> None:
    """S3.6: detection never inspects whether a body is valid: whatever it is, the message is
    received, and what the program commits is processed."""
    at.submit(body)
    assert len(at.fail(EXPENSES, times=4)) == 1
    assert at.is_on()
    assert len(at.process()) == 1
    assert (at.count(), at.texts()) == (0, [])


def test_s3_04_the_message_returns_to_its_place(at: BrokerSite) -> None:
    """S3.4: the transaction with the RECEIVE rolls back and the message returns to the queue: its
    status is ready, with the same sequence number, in the same place before what came behind it."""
    at.submit("one", "two")
    at.submit("three")
    before = at.admin.browse(EXPENSES)
    (received,) = at.fail(EXPENSES)
    assert at.admin.browse(EXPENSES) == before
    assert received == before[0]
    assert (received.status, received.message_sequence_number) == (1, 0)
    assert [row.text for row in at.program.receive(EXPENSES)] == ["one", "two"]


def test_s3_04_a_message_is_back_before_a_later_one_of_its_conversation(at: BrokerSite) -> None:
    """S3.4: what was sent on the conversation meanwhile comes behind the message that returns."""
    handle = at.submit("one")
    with rolled_back(at.program) as t:
        assert [row.text for row in t.receive(EXPENSES)] == ["one"]
        at.form.send(handle, body="two")
    assert [row.text for row in at.program.receive(EXPENSES)] == ["one", "two"]


def test_s3_05_the_same_message_comes_again_and_again(at: BrokerSite) -> None:
    """S3.5: the application goes on receiving this same message and failing, and it returns each
    time, until detection acts."""
    at.submit("poison")
    at.submit("behind it")
    received = [at.fail(EXPENSES)[0] for _ in range(5)]
    assert [row.text for row in received] == ["poison"] * 5
    assert len(set(map(repr, received))) == 1
    with pytest.raises(ServiceBrokerError) as refused:
        at.program.receive(EXPENSES)
    assert refused.value.number == QUEUE_IS_DISABLED


def test_s3_07_a_corrupt_message_is_rejected_and_counts_for_nothing(at: BrokerSite) -> None:
    """S3.7: separate checks detect corrupt messages: one whose body is not what its type says is
    never received, its sender gets an Error, and nothing counts toward poison."""
    at.admin.create_message_type("//expenses/Report", validation="WELL_FORMED_XML")
    at.admin.create_contract("//expenses/Contract", {"//expenses/Report": "INITIATOR"})
    at.admin.create_service("//expenses/Xml", EXPENSES, contracts=["//expenses/Contract"])
    with at.form.transaction() as t:
        handle = t.begin_dialog(
            "//expenses/Submission", "//expenses/Xml", contract="//expenses/Contract"
        )
        t.send(handle, message_type="//expenses/Report", body="<report>torn")
    (row,) = at.form.receive(FORMS)
    assert error_of(row)[0] == -9615
    assert at.program.receive(EXPENSES) == []
    assert (at.count(), at.is_on()) == (0, True)


def test_s3_08_a_program_discards_an_illegal_request(at: BrokerSite) -> None:
    """S3.8: applications normally validate content and discard illegal requests: a message that is
    received and committed without being processed is gone, the conversation goes on, and nothing
    is counted."""
    handle = at.submit("illegal", "legal")
    assert [row.text for row in at.process()] == ["illegal"]
    assert at.count() == 0
    assert [row.text for row in at.process()] == ["legal"]
    at.form.send(handle, body="next")
    assert [row.text for row in at.process()] == ["next"]


def test_s3_10_detection_is_on_by_default(at: BrokerSite) -> None:
    """S3.10: automatic poison detection is provided: it is on unless a queue says otherwise, and a
    queue without it stays ON."""
    assert at.admin.queue(EXPENSES).is_poison_message_handling_enabled
    at.admin.alter_queue(EXPENSES, poison_message_handling=False)
    at.submit("poison")
    at.fail(EXPENSES, times=7)
    assert (at.is_on(), at.count()) == (True, 7)
    at.admin.alter_queue(EXPENSES, poison_message_handling=True)
    at.fail(EXPENSES)
    assert not at.is_on()


def test_s3_11_off_after_the_fifth_rollback(at: BrokerSite) -> None:
    """S3.11: when a transaction with a RECEIVE has rolled back five times the status of the queue
    is set OFF: after four it is ON."""
    at.submit("poison")
    at.fail(EXPENSES, times=4)
    assert (at.is_on(), at.count()) == (True, 4)
    at.fail(EXPENSES)
    assert (at.is_on(), at.count()) == (False, 5)


def test_s3_11_a_commit_begins_anew(at: BrokerSite) -> None:
    """S3.11: the five are in a row: after four rollbacks, a commit and four more it is ON."""
    at.submit("one", "two")
    at.fail(EXPENSES, times=4)
    at.process()
    assert at.count() == 0
    at.fail(EXPENSES, times=4)
    assert at.is_on()
    at.fail(EXPENSES)
    assert not at.is_on()


def test_s3_11_the_five_may_be_of_different_messages(at: BrokerSite) -> None:
    """S3.11: what counts are transactions that received from the queue, whatever they received."""
    handles = [at.submitted(f"message {n}") for n in range(5)]
    for handle in handles:
        assert at.is_on()
        with rolled_back(at.program) as t:
            assert len(t.receive(EXPENSES, conversation_handle=handle)) == 1
    assert not at.is_on()


def test_s3_11_one_transaction_counts_once(at: BrokerSite) -> None:
    """S3.11: a transaction counts once, however often it received; one that received no message
    does not count, nor does one that only went back to a savepoint."""
    at.submit("one", "two", "three")
    with rolled_back(at.program) as t:
        for _ in range(3):
            t.receive(EXPENSES, top=1)
        assert t.receive(EXPENSES) == []
    assert at.count() == 1
    with at.program.transaction() as t:
        t.save("before")
        assert len(t.receive(EXPENSES)) == 3
        t.rollback_to("before")
    assert (at.count(), at.texts()) == (1, ["one", "two", "three"])
    with rolled_back(at.program) as t:
        assert t.receive(FORMS) == []
    assert (at.count(), at.count(FORMS)) == (1, 0)


def test_s3_11_turning_the_queue_on_begins_anew(at: BrokerSite) -> None:
    """S3.11: a queue that was set OFF and is turned ON counts five more."""
    at.submit("poison")
    at.fail(EXPENSES, times=5)
    at.admin.alter_queue(EXPENSES, status=True)
    at.fail(EXPENSES, times=4)
    assert at.is_on()
    at.fail(EXPENSES)
    assert not at.is_on()


def test_s3_12_every_queue_that_it_received_from(at: BrokerSite) -> None:
    """S3.12: all queues that the transaction received from are disabled; one that it only sent to
    stays ON."""
    at.create("//expenses/Audit", "AuditQueue")
    at.submit("poison")
    at.submit("its audit", to="//expenses/Audit")
    handle = at.submit("waits")
    for _ in range(5):
        with rolled_back(at.program) as t:
            (row,) = t.receive(EXPENSES, top=1)
            assert len(t.receive("AuditQueue", top=1)) == 1
            t.send(row.conversation_handle, body="an answer")
    assert [at.is_on(queue) for queue in (EXPENSES, "AuditQueue", FORMS)] == [False, False, True]
    assert handle in {one.conversation_handle for one in at.admin.conversation_endpoints()}


def test_s3_12_each_queue_has_its_own_count(at: BrokerSite) -> None:
    """S3.12: one queue is at four and another one at none when a transaction that received from
    both rolls back: only the first has five."""
    at.create("//expenses/Audit", "AuditQueue")
    at.submit("poison")
    at.submit("its audit", to="//expenses/Audit")
    at.fail(EXPENSES, times=4)
    at.fail(EXPENSES, "AuditQueue")
    assert [(at.is_on(queue), at.count(queue)) for queue in (EXPENSES, "AuditQueue")] == [
        (False, 5),
        (True, 1),
    ]


def test_s3_12_a_commit_resets_every_queue_that_it_received_from(at: BrokerSite) -> None:
    """S3.12: a commit begins anew for the queues that it received from, and for no other."""
    at.create("//expenses/Audit", "AuditQueue")
    at.submit("one", "two")
    at.submit("its audit", to="//expenses/Audit")
    at.fail(EXPENSES, "AuditQueue", times=3)
    at.process()
    assert (at.count(), at.count("AuditQueue")) == (0, 3)


def test_s3_13_an_event_for_each_disabled_queue(at: BrokerSite) -> None:
    """S3.13: an event Broker:Queue Disabled is generated as well: one for each queue, naming it;
    none for a queue that an administrator turns OFF."""
    at.notify()
    at.create("//expenses/Audit", "AuditQueue")
    at.submit("poison")
    at.submit("its audit", to="//expenses/Audit")
    at.fail(EXPENSES, "AuditQueue", times=4)
    at.admin.alter_queue(FORMS, status=False)
    assert at.disabled() == []
    at.fail(EXPENSES, "AuditQueue")
    assert sorted(at.disabled()) == ["AuditQueue", EXPENSES]


def test_s3_13_an_event_notification_may_be_of_one_queue(at: BrokerSite) -> None:
    """S3.13: a notification that is about one queue is not put for another one."""
    at.notify(on_queue=EXPENSES)
    at.create("//expenses/Audit", "AuditQueue")
    at.submit("its audit", to="//expenses/Audit")
    at.fail("AuditQueue", times=5)
    assert at.disabled() == []
    at.submit("poison", to=APPROVAL)
    at.fail(EXPENSES, times=5)
    assert at.disabled() == [EXPENSES]
