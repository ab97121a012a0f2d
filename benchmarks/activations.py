"""How many messages a second activate a trigger of MSMQ: functions and programs, by processing.

A figure is taken from the start of the trigger service, with all messages on the queue, until it is
idle. The program is the shortest there is: what it takes is starting and awaiting a process. The
programs of a trigger that only peeks and is not serialized run beside the service.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from adapter import msmq
from adapter.msmq.triggers import Call, Processing, Rule, Run, Trigger, TriggerService
from benchmarks.msmq import fill, private
from benchmarks.results import Row, Rows, show
from benchmarks.stack import queue_manager
from benchmarks.usage import spending

RUNS = 3
MESSAGES = {"function": 1_000, "program": 100}
QUEUE = private("activated")
WITHIN_S = 120.0
BODY = b"<?xml version='1.0'?><string>one sack of flour</string>"
FIRST = ("function", Processing.PEEKING, True)
"""What the other figures of functions are measured against."""


def measure(bootstrap: str, runs: int = RUNS, messages: Mapping[str, int] = MESSAGES) -> Rows:
    """Activations a second of every kind of trigger, in turn."""
    rows: Rows = {}
    with queue_manager(bootstrap, "ACTIVATIONS") as address, msmq.connect(address) as host:
        queue = host.create(QUEUE, transactional=True)
        for run in range(runs):
            for kind, count in messages.items():
                for processing in Processing:
                    for serialized in (True, False):
                        key = _key(kind, processing, serialized)
                        row = rows.setdefault(key, _row(kind, processing, serialized))
                        fill(host, QUEUE, 0, count, BODY)
                        row.note(*_measure_once(host, kind, processing, serialized, count))
                        queue.purge()
            show(rows, f"after run {run + 1} of {runs}")
    return rows


def _measure_once(
    host: msmq.Host, kind: str, processing: Processing, serialized: bool, count: int
) -> tuple[float, Mapping[str, float]]:
    """Activations a second, and the CPU of one."""
    seen: list[Any] = []
    action = Run("true") if kind == "program" else Call(seen.append, ("one",))
    service = TriggerService(host)
    service.add(
        Trigger(
            "counting",
            QUEUE,
            rules=[Rule("all", action=action)],
            serialized=serialized,
            processing=processing,
        )
    )
    with spending() as spent:
        began_s = time.perf_counter()
        service.start()
        assert service.wait_idle(WITHIN_S), service.statistics()
        took_s = time.perf_counter() - began_s
    figures = service.statistics()
    service.stop()
    assert figures["activations"] == figures["actions"] == count, figures
    assert figures["failures"] == 0, figures
    assert len(seen) == (count if kind == "function" else 0)
    return count / took_s, spent.each(count)


def _key(kind: str, processing: Processing, serialized: bool) -> str:
    return f"{kind}-{processing.value}-{'serialized' if serialized else 'not_serialized'}"


def _row(kind: str, processing: Processing, serialized: bool) -> Row:
    how = "serialized" if serialized else "not serialized"
    first = FIRST if kind == FIRST[0] else (kind, *FIRST[1:])
    against = "" if (kind, processing, serialized) == first else _key(*first)
    return Row(f"{kind}, {processing.value}, {how}", "/s", against=against)
