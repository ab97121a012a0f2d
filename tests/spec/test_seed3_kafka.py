"""Seed 3 on a real Kafka: the count of rollbacks, and the removal of a poison message, through
restarts and crashes: S3.4, S3.11-S3.13, S3.16, S3.17, S3.35, S3.39.
"""

from collections.abc import Iterator

import pytest

import adapter.testing
from adapter.servicebroker import ServiceBrokerError
from tests.support.broker_site import (
    EXPENSES,
    FORMS,
    BrokerSite,
    error_of,
    rolled_back,
)


@pytest.fixture
def at(on_kafka: adapter.testing.TestQueueManager) -> Iterator[BrokerSite]:
    site = BrokerSite(on_kafka)
    try:
        yield site
    finally:
        site.close()


def test_s3_04_s3_11_s3_12_s3_13_the_count_outlives_restarts_and_crashes(at: BrokerSite) -> None:
    """S3.11: the five rollbacks are counted through restarts and crashes, and a transaction whose
    queue manager died has rolled back. S3.12: all queues that it received from count. S3.4: the
    messages are back in their places. S3.13: one event for each queue, and none is lost."""
    at.notify()
    at.create("//expenses/Audit", "AuditQueue")
    at.submit("poison", "behind it")
    at.submit("its audit", to="//expenses/Audit")
    at.fail(EXPENSES, "AuditQueue")
    at.restart()
    assert (at.count(), at.count("AuditQueue")) == (1, 1)
    at.fail(EXPENSES, "AuditQueue")
    at.restart(crash=True)
    assert (at.count(), at.count("AuditQueue")) == (2, 2)
    transaction = at.program.transaction()
    assert [len(transaction.receive(queue)) for queue in (EXPENSES, "AuditQueue")] == [2, 1]
    at.manager.crash()
    at.manager.start()
    with pytest.raises(ServiceBrokerError, match="connection was lost"):
        transaction.receive(EXPENSES)
    transaction.rollback()
    assert (at.count(), at.count("AuditQueue")) == (3, 3)
    assert at.texts() == ["poison", "behind it"]
    at.fail(EXPENSES)
    assert (at.is_on(), at.count(), at.count("AuditQueue")) == (True, 4, 3)
    session = at.manager.connect_servicebroker()
    assert len(session.transaction().receive(EXPENSES)) == 2
    session.close()
    assert (at.is_on(), at.is_on("AuditQueue"), at.disabled()) == (False, True, [EXPENSES])
    at.restart(crash=True)
    assert (at.is_on(), at.is_on("AuditQueue"), at.disabled()) == (False, True, [EXPENSES])
    assert at.texts() == ["poison", "behind it"]


def test_s3_11_the_fifth_is_a_crash(at: BrokerSite) -> None:
    """S3.11: the transaction that was lost with its queue manager is the fifth: the queue is OFF
    when that has come back; and a commit that was durable before a crash resets the count."""
    at.submit("one", "poison")
    at.fail(EXPENSES, times=4)
    assert [row.text for row in at.process()] == ["one"]
    at.restart(crash=True)
    assert (at.is_on(), at.count()) == (True, 0)
    at.fail(EXPENSES, times=4)
    at.program.transaction().receive(EXPENSES)
    at.restart(crash=True)
    assert (at.is_on(), at.count()) == (False, 5)


def test_s3_16_s3_17_s3_35_s3_39_the_removal_procedure(at: BrokerSite) -> None:
    """S3.16: the messages are looked at while the queue is OFF. S3.17: it is set ON, then the
    conversation is ended with error 127. S3.35: its messages are discarded, others are received in
    their order. S3.39: the other side gets the Error; with a crash or a restart between all
    steps."""
    form = at.submit("poison", "behind it")
    at.fail(EXPENSES, times=5)
    at.form.send(form, body="while it is OFF")
    at.submit("another", "and more")
    at.restart(crash=True)
    found = at.admin.browse(EXPENSES)
    assert [row.text for row in found] == ["poison", "behind it"]
    handle = found[0].conversation_handle
    assert len(at.admin.transmission_queue()) == 3
    at.restart()
    at.admin.alter_queue(EXPENSES, status=True)
    at.restart(crash=True)
    assert (at.is_on(), at.count()) == (True, 0)
    with rolled_back(at.admin) as t:
        (row,) = t.receive(EXPENSES, top=1, conversation_handle=handle, timeout_ms=2_000)
        assert row.text == "poison"
    at.admin.end_conversation(handle, error=127, description="Unable to process message.")
    at.restart(crash=True)
    assert [row.text for row in at.program.receive(EXPENSES)] == ["another", "and more"]
    assert at.program.receive(EXPENSES) == []
    (error,) = at.form.receive(FORMS)
    assert error_of(error) == (127, "Unable to process message.")
    at.form.end_conversation(form)
    at.restart()
    assert form not in {one.conversation_handle for one in at.admin.conversation_endpoints()}
    assert at.admin.transmission_queue() == []
