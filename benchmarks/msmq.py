"""What the benchmarks of MSMQ share: paths, filling a queue, peaks of memory.

This module measures nothing itself.
"""

from __future__ import annotations

from pathlib import Path

from adapter import msmq
from adapter.connection.channel import requests as rq
from adapter.connection.channel.requests import Pending
from adapter.connection.channel.unit import Unit
from adapter.connection.channel.verbs import ask_to_open
from adapter.core.contract import msmq as c
from adapter.core.contract.results import PutDone

UNIT = 500


def private(name: str) -> str:
    """Return the path of a private queue of the queue manager's own computer."""
    return rf".\private$\{name}"


def fill(host: msmq.Host, path: str, first: int, last: int, body: bytes) -> None:
    """Send messages in transactions of 500, labelled from first to before last.

    The sends of a transaction are one frame; MessageQueue.send() waits for each.
    """
    handle = host.channel.new_handle(path, 0)
    handle.opening = c.MsmqOpen(handle.number, path, c.SEND_ACCESS)
    ask_to_open(host.channel, rq.open_request(handle), handle)
    for begin in range(first, last, UNIT):
        unit = Unit(host.channel)
        unit.begin()
        sends = [
            Pending(
                c.MsmqSend(handle.number, msmq.Message(body, label=str(number)).to_data(), unit.id),
                rq.WITH_UNIT,
                handle=handle,
            )
            for number in range(begin, min(begin + UNIT, last))
        ]
        unit.perform(sends, sends[-1], PutDone)
        unit.commit()


def forget_peak(pid: int) -> None:
    """Let the peak of a process's memory begin anew."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def memory_mib(pid: int, field: str = "VmHWM") -> float:
    """Return the peak of a process's resident memory, or what is resident (VmRSS)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {pid} has gone")
