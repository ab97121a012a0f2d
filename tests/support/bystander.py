"""A client that goes on working while others misbehave.

It puts and gets without a pause, on its own queue, and knows how long it ever had to wait.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

import adapter

STALL_S_MAX = 5.0
"""On a busy machine; undisturbed a round trip takes a few milliseconds."""
WAIT_S = 30.0


class Bystander:
    """A context manager: leaving it fails if the client was disturbed."""

    def __init__(self, address: str, queue: str) -> None:
        self._qm = adapter.connect(address, application="bystander", reconnect_timeout_s=0.0)
        self._qm.define_queue(queue, replace=True)
        self._name = queue
        self._stop = threading.Event()
        self._turned = threading.Condition()
        self._turns = 0
        self._longest_s = 0.0
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="bystander", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self.await_turns(3)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.await_turns(3)
        finally:
            self._stop.set()
            self._thread.join(WAIT_S)
            self._qm.close()
        assert self._longest_s < STALL_S_MAX, f"it had to wait {self._longest_s:.1f} s"

    def await_turns(self, count: int) -> None:
        """Wait until it has put and got so many more messages."""
        with self._turned:
            wanted = self._turns + count
            done = self._turned.wait_for(lambda: self._turns >= wanted or self._problem, WAIT_S)
        assert self._problem is None, f"the other client got {self._problem!r}"
        assert done, f"the other client was not served for {WAIT_S} s"

    def _run(self) -> None:
        try:
            with self._qm.queue(self._name) as queue:
                while not self._stop.is_set():
                    self._turn(queue)
        except adapter.Error as problem:
            with self._turned:
                self._problem = problem
                self._turned.notify_all()

    def _turn(self, queue: adapter.Queue) -> None:
        began_s = time.monotonic()
        body = b"%d" % self._turns
        queue.put(body)
        got = queue.get()
        assert got is not None
        assert got.body == body
        with self._turned:
            self._turns += 1
            self._longest_s = max(self._longest_s, time.monotonic() - began_s)
            self._turned.notify_all()
