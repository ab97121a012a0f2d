"""Programs of Celery and dramatiq on the queue manager at MQK_QMGR, for worker processes.

Each task and actor puts what it did on the queue DONE, by a connection of its own process.
"""

import os
import time
from functools import cache
from pathlib import Path

import celery
import dramatiq

import adapter
from adapter.dramatiq import MqkBroker
from adapter.kombu import MqkTransport

ADDRESS = os.environ.get("MQK_QMGR", "127.0.0.1:1414")
LOOK_S = 0.02
GATE = os.environ.get("MQK_GATE", "")
GATED, GATED_S = 100, 60.0
"""Numbers from this one on are noted once the file GATE is there, or after so long: so a worker is
killed before all is done, however late that is."""
assert MqkTransport.default_port  # importing it makes mqk:// known

app = celery.Celery("tests", broker=f"mqk://{ADDRESS}", backend="rpc://")
app.conf.update(
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    worker_prefetch_multiplier=2,
    worker_send_task_events=True,
    broker_connection_retry_on_startup=True,
    result_expires=60,
)
broker = MqkBroker(address=ADDRESS)
dramatiq.set_broker(broker)


@cache
def connection_of(pid: int) -> adapter.Connection:
    """Connect once in each process."""
    return adapter.connect(ADDRESS)


def tell(text: str) -> None:
    """Put what was done on the queue DONE."""
    connection_of(os.getpid()).put("DONE", text)


def pass_gate(number: int) -> None:
    """Wait until a number may be noted."""
    until_s = time.monotonic() + GATED_S
    while GATE and number >= GATED and not Path(GATE).exists() and time.monotonic() < until_s:
        time.sleep(LOOK_S)


@app.task
def note(number: int) -> int:
    """Note a number."""
    pass_gate(number)
    tell(str(number))
    return number


@app.task
def add(first: int, second: int) -> int:
    """Add two numbers."""
    return first + second


@dramatiq.actor(queue_name="noted")
def note_too(number: int) -> None:
    """Note a number."""
    pass_gate(number)
    tell(str(number))
