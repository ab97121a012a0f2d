"""Dialogs of Service Broker beside the same messages on a plain queue; and many that wait.

A dialog is begun and asked in one transaction, answered and ended in one, and the answer received
and the dialog ended in one. The same work on plain queues is a put, a get with a put, and a get, in
three units. Then the next group is received from a queue with few and with many conversations that
wait: that must cost the same, also where thousands wait in one conversation group. Memory and a
restart with them are measured too.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import islice
from uuid import UUID, uuid4

import adapter
from adapter import servicebroker
from adapter.servicebroker import ServiceBroker
from benchmarks.msmq import memory_mib
from benchmarks.results import Row, Rows, show
from benchmarks.stack import Running, caught_up_s, started
from benchmarks.usage import spending

RUNS = 3
DIALOGS = 300
WAITING = (1_000, 100_000)
IN_GROUP = 10_000
RECEIVES = 200
PER_UNIT = 500
SETTLE_S = 30.0
BODY = b"x" * 2_048


def measure(
    bootstrap: str,
    runs: int = RUNS,
    dialogs: int = DIALOGS,
    waiting: tuple[int, int] = WAITING,
    receives: int = RECEIVES,
    in_group: int = IN_GROUP,
) -> Rows:
    """Dialogs a second, and receives of the next group a second."""
    few, many = waiting
    rows: Rows = {
        "plain": Row("the same three units on plain queues", "/s"),
        "dialogs": Row("dialogs: ask, answer and end, end", "/s", against="plain"),
        "few": Row(f"receive of the next group, {few:,} wait", "/s"),
        "many": Row(f"receive of the next group, {many:,} wait", "/s", against="few", at_least=0.7),
        "group": Row(
            f"receive from a group, {in_group:,} conversations", "/s", against="few", at_least=0.7
        ),
        "memory": Row("memory of each of them", "KiB", limit=4),
        "stop": Row(f"a clean stop, {many:,} wait", "s", limit=20),
        "start": Row(f"a start to the first receive, {many:,} wait", "s", limit=20),
        "crash": Row(f"SIGKILL to the first receive, {many:,} wait", "s", limit=20),
    }
    with (
        started(bootstrap, "DIALOGS") as running,
        adapter.connect(running.address) as qm,
        servicebroker.connect(running.address) as broker,
    ):
        _create(qm, broker)
        for run in range(runs):
            rows["plain"].note(*_units(qm, dialogs))
            rows["dialogs"].note(*_dialogs(broker, dialogs))
            show(rows, f"after run {run + 1} of {runs}")
        waits = 0
        for name, depth in zip(("few", "many"), waiting, strict=True):
            before = memory_mib(running.pid, "VmRSS")
            _ask(broker, depth - waits)
            _settle(running, qm)
            each = (memory_mib(running.pid, "VmRSS") - before) * 1024 / (depth - waits)
            waits = depth
            if name == "many":
                rows["memory"].note(each, {})
            for _ in range(runs):
                rows[name].note(*_receives(broker, receives))
            show(rows, f"with {depth} conversations that wait")
        group = _gather(broker, in_group)
        _settle(running, qm)
        for _ in range(runs):
            rows["group"].note(*_receives(broker, receives, group))
        _restart(running, broker, rows)
    return rows


def _settle(running: Running, qm: adapter.Connection) -> None:
    """Wait until no snapshot is written: that is work of what was sent before."""
    caught_up_s(running.address)
    until_s = time.monotonic() + SETTLE_S
    seen = -1
    while seen != (seen := qm.figures()["snapshots"]) and time.monotonic() < until_s:
        time.sleep(1.0)


def _gather(broker: ServiceBroker, count: int) -> UUID:
    """Move so many of the conversations that wait into one group."""
    group = uuid4()
    waiting = (one for one in broker.conversation_endpoints() if one.queue == "Waiting")
    handles = [one.conversation_handle for one in islice(waiting, count)]
    for at in range(0, count, PER_UNIT):
        with broker.transaction() as moving:
            for handle in handles[at : at + PER_UNIT]:
                moving.move_conversation(handle, group)
    return group


def _restart(running: Running, broker: ServiceBroker, rows: Rows) -> None:
    """Measure a stop, the start behind it, and a crash."""
    began_s = time.perf_counter()
    running.stop()
    stopped_s = time.perf_counter()
    running.start()
    broker.queue("Waiting")
    _receives(broker, 1)
    started_s = time.perf_counter()
    running.kill()
    killed_s = time.perf_counter()
    running.start()
    broker.queue("Waiting")
    _receives(broker, 1)
    rows["stop"].note(stopped_s - began_s, {})
    rows["start"].note(started_s - stopped_s, {})
    rows["crash"].note(time.perf_counter() - killed_s, {})


def _create(qm: adapter.Connection, broker: ServiceBroker) -> None:
    for name in ("ASKED", "ANSWERED"):
        qm.define_queue(name)
    for name in ("Asking", "Answering", "Waiting"):
        broker.create_queue(name, poison_message_handling=False)
        broker.create_service(name, name, contracts=["DEFAULT"])


def _units(qm: adapter.Connection, count: int) -> tuple[float, Mapping[str, float]]:
    with spending() as spent:
        began_s = time.perf_counter()
        for _ in range(count):
            with qm.unit():
                qm.put("ASKED", BODY)
            with qm.unit():
                qm.get("ASKED")
                qm.put("ANSWERED", BODY)
            with qm.unit():
                qm.get("ANSWERED")
        took_s = time.perf_counter() - began_s
    return count / took_s, spent.each(count)


def _dialogs(broker: ServiceBroker, count: int) -> tuple[float, Mapping[str, float]]:
    with spending() as spent:
        began_s = time.perf_counter()
        for _ in range(count):
            with broker.transaction() as asking:
                handle = asking.begin_dialog("Asking", "Answering")
                asking.send(handle, body=BODY)
            with broker.transaction() as answering:
                asked = answering.receive("Answering", top=1)[0].conversation_handle
                answering.send(asked, body=BODY)
                answering.end_conversation(asked)
            with broker.transaction() as ending:
                assert len(ending.receive("Asking")) == 2  # the answer, and the end
                ending.end_conversation(handle)
        took_s = time.perf_counter() - began_s
    assert not broker.conversation_endpoints()
    return count / took_s, spent.each(count)


def _ask(broker: ServiceBroker, count: int) -> None:
    """Leave so many conversations with a message that waits."""
    for at in range(0, count, PER_UNIT):
        with broker.transaction() as asking:
            for _ in range(min(PER_UNIT, count - at)):
                asking.send(asking.begin_dialog("Asking", "Waiting"), body=b"waits")


class _PutBackError(Exception):
    """Rolls a transaction back."""


def _receives(
    broker: ServiceBroker, count: int, group: UUID | None = None
) -> tuple[float, Mapping[str, float]]:
    """Receive from the next group, or this one, in a transaction of its own, and put it back."""
    with spending() as spent:
        began_s = time.perf_counter()
        for _ in range(count):
            with suppress(_PutBackError), broker.transaction() as one:
                assert len(one.receive("Waiting", top=1, conversation_group_id=group)) == 1
                raise _PutBackError
        took_s = time.perf_counter() - began_s
    return count / took_s, spent.each(count)
