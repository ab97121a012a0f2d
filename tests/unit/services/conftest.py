"""What these tests share: a queue manager in memory with an initiation queue and a place to die."""

import logging
from collections.abc import Iterator

import pytest
import structlog

import adapter
import adapter.testing
from adapter.mqi import TriggerMessage
from adapter.services.trigger_monitor import DEFINED

INITQ = "INITQ"
DEAD = "DEAD"


@pytest.fixture
def manager() -> Iterator[adapter.testing.TestQueueManager]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    with adapter.testing.queue_manager("QM1") as running:
        yield running
    structlog.reset_defaults()


@pytest.fixture
def qm(manager: adapter.testing.TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as connection:
        connection.define_queue(INITQ)
        connection.define_queue(DEAD)
        yield connection


def ask(qm: adapter.Connection, queue: str = "ORDERS", **fields: str | int) -> TriggerMessage:
    """Define a process for a queue, and put a trigger message as the queue manager does."""
    told = {"process": f"P.{queue}", "appl_type": 6, "appl_id": "worker"} | fields
    trigger = TriggerMessage(queue=queue, **told)  # type: ignore[arg-type]
    said = {name: getattr(trigger, name) for name in DEFINED}
    qm.define_process(trigger.process, replace=True, **said)
    qm.put(INITQ, trigger.to_bytes(), format="MQTRIG", persistent=False)
    return trigger
