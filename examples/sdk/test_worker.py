"""Tests of worker.py, on a queue manager in the memory of the test: no Kafka, no network.

Run them with: pytest examples/sdk
"""

from collections.abc import Iterator

import pytest
from worker import work

import adapter
from adapter import testing


@pytest.fixture
def manager() -> Iterator[testing.TestQueueManager]:
    with testing.queue_manager("QM1", clock="manual") as manager:
        yield manager


@pytest.fixture
def qm(manager: testing.TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as qm:
        qm.define_queue("FAILED")
        qm.define_queue("ORDERS", backout_threshold=2, backout_requeue_queue="FAILED")
        qm.define_queue("INVOICES")
        yield qm


def test_an_order_becomes_an_invoice(qm: adapter.Connection) -> None:
    qm.put("ORDERS", "2 widgets")
    work(qm, "ORDERS", "INVOICES", timeout=0)
    assert [message.body for message in qm.queue("INVOICES").browse()] == [b"2 widgets: 6 EUR"]


def test_what_is_no_order_is_set_aside(qm: adapter.Connection) -> None:
    qm.put("ORDERS", "a dozen")
    work(qm, "ORDERS", "INVOICES", timeout=0)
    assert qm.queue("INVOICES").depth() == 0
    assert [message.body for message in qm.queue("FAILED").browse()] == [b"a dozen"]


def test_orders_outlive_a_crash(manager: testing.TestQueueManager, qm: adapter.Connection) -> None:
    qm.put("ORDERS", "2 widgets")
    manager.crash()
    manager.start()
    assert qm.queue("ORDERS").depth() == 1


def test_an_order_expires(manager: testing.TestQueueManager, qm: adapter.Connection) -> None:
    qm.put("ORDERS", "2 widgets", expiry_s=60)
    manager.clock.advance(61)
    assert qm.get("ORDERS") is None
