"""A program that copies messages from one queue to another in units of work, through the SDK.

    python -m tests.acceptance.copier --address H:P --seed N [--style loop] [--impatient]

Its journal is a line of JSON for each thing that happens to a unit, so that a judge can compare
what it was told with what lies on the queues. Some messages it backs out once by its own decision.
SIGTERM ends it when a unit has ended. It uses nothing but the public SDK.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any

import adapter
from adapter.errors import BackedOut, ConnectionBroken, InDoubt

SOURCE, TARGET = "SOURCE", "TARGET"
UNIT_MESSAGES_MAX = 6
LOOP_UNIT_MESSAGES = 4
GET_TIMEOUT_S = 0.2
IMPATIENCE_S = 0.2
"""A lost connection is given up after this: long before a killed queue manager is back."""
AGAIN_S = 60.0
"""For a queue manager to come back, and for the outcome of a unit to be known."""
REFUSED_EVERY = 29
"""Messages with a number of this kind are backed out the first time they come."""


class RefusedError(Exception):
    """The program's own reason to back a unit out."""


class Copier:
    """One copier, on one connection at a time."""

    def __init__(self, address: str, seed: int, impatient: bool) -> None:
        self._address = address
        self._random = random.Random(seed)
        self._reconnect_s = IMPATIENCE_S if impatient else AGAIN_S
        self._told = threading.Event()
        self.resent = 0

    def stop(self, _number: int = 0, _frame: FrameType | None = None) -> None:
        """End when the unit at hand has ended."""
        self._told.set()

    def run(self, style: str) -> None:
        """Copy until told to stop; a connection that is given up is followed by another."""
        work = self._in_loop if style == "loop" else self._by_hand
        while not self._told.is_set():
            with self._connect() as qm:
                try:
                    work(qm)
                except InDoubt as doubt:
                    note("in doubt", doubt.unit_id)
                    self._resolve(doubt.unit_id)
                except ConnectionBroken:
                    note("broken", b"")
                self.resent += qm.statistics()["resent"]

    def _by_hand(self, qm: adapter.Connection) -> None:
        """Begin, get, put and commit, each by a call of its own."""
        source, target = qm.queue(SOURCE), qm.queue(TARGET)
        while not self._told.is_set():
            unit = qm.unit()
            try:
                with unit:
                    self._copy_some(unit, source, target)
                note("committed", unit.id)
            except RefusedError:
                note("backed out", unit.id)
            except BackedOut:
                note("lost", unit.id)

    def _copy_some(self, unit: adapter.Unit, source: adapter.Queue, target: adapter.Queue) -> None:
        size = self._random.randint(1, UNIT_MESSAGES_MAX)
        messages: list[adapter.Message] = []
        while len(messages) < size:
            message = source.get(timeout=0.0 if messages else GET_TIMEOUT_S)
            if message is None:
                break
            messages.append(message)
        self._handle(unit.id, messages, target)

    def _in_loop(self, qm: adapter.Connection) -> None:
        """As worker programs do."""
        source, target = qm.queue(SOURCE), qm.queue(TARGET)
        while not self._told.is_set():
            for unit in source.units(size=LOOP_UNIT_MESSAGES, timeout=GET_TIMEOUT_S):
                decided = False
                with unit:
                    try:
                        self._handle(unit.id, unit.messages, target)
                    except RefusedError:
                        decided = True
                        raise
                note("backed out" if decided else "lost" if unit.failed else "committed", unit.id)
                if self._told.is_set():
                    break

    def _handle(self, ident: bytes, messages: list[adapter.Message], target: adapter.Queue) -> None:
        counts = {int(message.body): message.backout_count for message in messages}
        note("got", ident, counts=counts)
        for message in messages:
            if int(message.body) % REFUSED_EVERY == 0 and not message.backout_count:
                note("refusing", ident)
                raise RefusedError
            target.put(message.body, priority=message.priority)

    def _resolve(self, ident: bytes) -> None:
        """Ask on new connections what became of a unit, until it has ended."""
        deadline_s = time.monotonic() + AGAIN_S
        outcome = "in flight"
        while outcome == "in flight" and time.monotonic() < deadline_s:
            try:
                with self._connect() as qm:
                    outcome = qm.outcome(ident)
            except ConnectionBroken:
                note("broken", b"")
        note("resolved", ident, outcome=outcome)

    def _connect(self) -> adapter.Connection:
        deadline_s = time.monotonic() + AGAIN_S
        while True:
            try:
                return adapter.connect(self._address, reconnect_timeout_s=self._reconnect_s)
            except ConnectionBroken:
                if time.monotonic() > deadline_s:
                    raise
                time.sleep(0.05)


def note(what: str, unit: bytes, **more: Any) -> None:
    """Write a line of the journal. Times are of the machine, the same for every process."""
    line = {"what": what, "unit": unit.hex(), "time_s": time.monotonic(), **more}
    print(json.dumps(line), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--style", choices=("hand", "loop"), default="hand")
    parser.add_argument("--impatient", action="store_true")
    told = parser.parse_args()
    logging.getLogger("adapter.client").setLevel(logging.ERROR)
    copier = Copier(told.address, told.seed, told.impatient)
    signal.signal(signal.SIGTERM, copier.stop)
    copier.run(told.style)
    note("ended", b"", resent=copier.resent)
    return 0


if __name__ == "__main__":
    sys.exit(main())
