"""Every program of ours that puts on a message which it has got: it lends the message no rights."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest

import adapter
from adapter import testing
from adapter.administration.pcf.command_server import COMMAND_QUEUE
from adapter.cli.move import move_unit
from adapter.client.connection import connect_in_process
from adapter.client.forwarding import QUEUE_MANAGER_REPORTS
from adapter.core.contract.parties import Principal, Proof
from adapter.core.rules.messages.putters import KINDS
from adapter.errors import NotAuthorized
from adapter.frameworks.rejected import end_rejected
from adapter.services.dead_letter_handler import DeadLetterHandler
from adapter.services.dead_letter_rules import parse
from adapter.services.trigger_monitor import TriggerMonitor
from adapter.testing import TestQueueManager

INITQ = "SYSTEM.DEFAULT.INITIATION.QUEUE"
PATIENCE_S = 20.0
REPORT = 4

Forward = Callable[[TestQueueManager, adapter.Connection], str]
"""Puts on what is on its queue; returns the queue that it is on then."""


def connect_as(manager: TestQueueManager, user: str) -> adapter.Connection:
    accept = manager._running().accept
    return connect_in_process(manager._loop, partial(accept, Principal(user, Proof.PASSWORD)))


def refuse_as_command(manager: TestQueueManager, qm: adapter.Connection) -> str:
    end_s = time.monotonic() + PATIENCE_S
    with manager.connect() as operator:
        while all(one.message_type == REPORT for one in operator.queue("DEAD").browse()):
            assert time.monotonic() < end_s, "the command server did nothing"
            time.sleep(0.02)
    return "DEAD"


def refuse_as_trigger(manager: TestQueueManager, qm: adapter.Connection) -> str:
    monitor = TriggerMonitor(qm, INITQ, lambda _trigger: None, dead_letter_queue="DEAD")
    assert monitor.run_once(timeout=0)
    monitor.stop()
    return "DEAD"


def fail(qm: adapter.Connection, policy: adapter.Retry) -> None:
    with qm.queue("JOBS", open_for="input") as queue:
        for unit in queue.units(retry=policy):
            with suppress(ZeroDivisionError), unit:
                raise ZeroDivisionError
            break


def retry(manager: TestQueueManager, qm: adapter.Connection) -> str:
    fail(qm, adapter.Retry(times=5, backoff=1, jitter=0))
    manager.clock.advance(2)
    return "JOBS"


def give_up(manager: TestQueueManager, qm: adapter.Connection) -> str:
    fail(qm, adapter.Retry(times=0, then="TARGET"))
    return "TARGET"


def reject(manager: TestQueueManager, qm: adapter.Connection) -> str:
    unit = qm.unit()
    unit.begin()
    message = qm.get("JOBS", unit=unit)
    assert message is not None
    end_rejected(qm, unit, message, "JOBS", "TARGET")
    return "TARGET"


def handle(manager: TestQueueManager, qm: adapter.Connection) -> str:
    with manager.connect() as operator:
        message = next(iter(operator.queue("JOBS").browse()))
        header = adapter.DeadLetter(reason=2053, destination="TARGET")
        told: Any = {"user": message.user, "application": message.application}
        operator.put("DEAD", message, dead_letter=header, expires_at=message.expires_at, **told)
        assert operator.get("JOBS") is not None
    rules = parse("WAIT(NO)\nREASON(2053) ACTION(RETRY)\n")
    DeadLetterHandler(qm, rules, input_queue="DEAD").run_once()
    return "TARGET"


def move(manager: TestQueueManager, qm: adapter.Connection) -> str:
    with qm.queue("JOBS", open_for="input") as jobs:
        assert move_unit(qm, jobs, "TARGET", 1, {}, {}) == (1, None)
    return "TARGET"


FORWARDS: dict[str, tuple[str, Forward]] = {
    "command server": (COMMAND_QUEUE, refuse_as_command),
    "trigger monitor": (INITQ, refuse_as_trigger),
    "retry": ("JOBS", retry),
    "retries used up": ("JOBS", give_up),
    "reject": ("JOBS", reject),
    "dead-letter handler": ("JOBS", handle),
    "mqk move": ("JOBS", move),
}
OF_OPERATORS_ALONE = ("command server", "dead-letter handler", "mqk move")


@pytest.mark.parametrize("end", ["got", "expired"])
@pytest.mark.parametrize("who", ["an operator", "a user"])
@pytest.mark.parametrize("forwarder", FORWARDS)
def test_a_message_that_is_put_on_is_reported_where_its_putter_may_put(
    forwarder: str, who: str, end: str
) -> None:
    if who == "a user" and forwarder in OF_OPERATORS_ALONE:
        return
    queue, forward = FORWARDS[forwarder]
    with (
        testing.queue_manager("QM1", authorities=True, clock="manual") as manager,
        manager.connect() as operator,
    ):
        for name in ("SECRET", "OPEN", "JOBS", "TARGET", "DEAD"):
            operator.define_queue(name)
        operator.alter_queue_manager(dead_letter_queue="DEAD")
        for user in ("mallory", "worker"):
            operator.set_authority("", "qmgr", users=[user], add=["connect"])
        operator.set_authority(queue, users=["mallory"], add=["put"])
        operator.set_authority("OPEN", users=["mallory"], add=["put"])
        for name in ("SECRET", "OPEN", "TARGET", "DEAD", "JOBS", INITQ):
            operator.set_authority(name, users=["worker"], add=["put", "get", "inq"])
        with (
            connect_as(manager, "mallory") as putter,
            manager.connect() if who == "an operator" else connect_as(manager, "worker") as qm,
        ):
            for reply_to in ("SECRET", "OPEN"):
                asked: Any = {"report": 7 * KINDS, "reply_to": reply_to, "expiry_s": 60}
                putter.put(queue, reply_to, **asked)
                where = forward(manager, qm)
                assert list(operator.queue(where).browse())
                manager.clock.advance(100 if end == "expired" else 0)
                for left in (where, "DEAD"):  # a report that goes nowhere is a dead letter itself
                    while operator.get(left) is not None:
                        pass
        assert not list(operator.queue("SECRET").browse())
        assert list(operator.queue("OPEN").browse()), "no report reached who may have it"


@pytest.mark.parametrize("forwarder", [name for name in FORWARDS if not name.startswith("retr")])
def test_a_message_that_is_put_on_expires_when_it_would_have(forwarder: str) -> None:
    queue, forward = FORWARDS[forwarder]
    with (
        testing.queue_manager("QM1", clock="manual") as manager,
        manager.connect() as qm,
    ):
        for name in ("JOBS", "TARGET", "DEAD"):
            qm.define_queue(name)
        qm.alter_queue_manager(dead_letter_queue="DEAD")
        put = qm.put(queue, "x", expiry_s=10)
        if queue == "JOBS":
            manager.clock.advance(9)
        (found,) = qm.queue(forward(manager, qm)).browse()
        assert found.expires_at_ms == put.put_time_ms + 10_000


def test_the_queue_managers_reports_are_those_of_core() -> None:
    assert QUEUE_MANAGER_REPORTS == 7 * KINDS


def test_who_may_put_and_not_say_for_whom_has_a_message_without_reports() -> None:
    with (
        testing.queue_manager("QM1", authorities=True) as manager,
        manager.connect() as operator,
    ):
        operator.define_queue("JOBS")
        operator.define_queue("TARGET")
        operator.set_authority("", "qmgr", users=["worker"], add=["connect"])
        operator.set_authority("JOBS", users=["worker"], add=["get", "put", "inq"])
        operator.put("JOBS", "x", report=7 * KINDS | 0x4000, reply_to="R")
        operator.put("JOBS", "y")
        with connect_as(manager, "worker") as qm:
            fail(qm, adapter.Retry(times=5, backoff=0, jitter=0))
            with pytest.raises(NotAuthorized):
                qm.put("TARGET", "x")
        found = {one.body: one.report for one in operator.queue("JOBS").browse()}
        assert found[b"x"] == 0x4000
