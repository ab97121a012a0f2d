"""Clients at work: some put numbered messages, others wait for them and get them in units.

What was acknowledged is known, so that a test can say that nothing was lost and nothing doubled.
"""

from __future__ import annotations

import threading
from collections import Counter
from types import TracebackType
from typing import Self

import adapter

PUTTERS = 3
GETTERS = 2
UNIT_MESSAGES = 5
WAIT_S = 60.0


class Load:
    """A context manager: leaving it stops the clients; finish() says whether all was well."""

    def __init__(self, address: str, queue: str) -> None:
        self._address = address
        self._queue = queue
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._put: list[bytes] = []
        self._got: list[bytes] = []
        self._failures: list[BaseException] = []
        self._connections = [
            adapter.connect(address, application=f"load {number}")
            for number in range(PUTTERS + GETTERS)
        ]
        work = [self._putting] * PUTTERS + [self._getting] * GETTERS
        self._threads = [
            threading.Thread(target=self._run, args=(do, qm, number), daemon=True)
            for number, (do, qm) in enumerate(zip(work, self._connections, strict=True))
        ]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        for qm in self._connections:
            qm.disconnect(abrupt=True)
        for thread in self._threads:
            thread.join(WAIT_S)

    def await_gets(self, count: int) -> None:
        """Wait until so many more messages have been got."""
        with self._changed:
            wanted = len(self._got) + count
            done = self._changed.wait_for(
                lambda: len(self._got) >= wanted or self._failures, WAIT_S
            )
        assert not self._failures, self._failures
        assert done, f"{len(self._got)} messages of {wanted} were got in {WAIT_S} s"

    def finish(self) -> int:
        """Put no more, and wait until all is got; return how many, each of them once."""
        self._stop.set()
        for thread in self._threads[:PUTTERS]:
            thread.join(WAIT_S)
            assert not thread.is_alive(), "a put did not come to an end"
        with self._changed:
            done = self._changed.wait_for(
                lambda: len(self._got) >= len(self._put) or self._failures, WAIT_S
            )
        assert not self._failures, self._failures
        assert done, f"{len(self._got)} messages of {len(self._put)} were got"
        assert Counter(self._got) == Counter(self._put)
        return len(self._got)

    def _run(self, work: object, qm: adapter.Connection, number: int) -> None:
        assert callable(work)
        try:
            work(qm, number)
        except BaseException as failure:  # noqa: BLE001 -- the test looks at it
            with self._changed:
                if not qm.is_closed:
                    self._failures.append(failure)
                self._changed.notify_all()

    def _putting(self, qm: adapter.Connection, number: int) -> None:
        queue = qm.queue(self._queue)
        turn = 0
        while not self._stop.is_set():
            body = b"%d.%d" % (number, turn)
            queue.put(body)
            turn += 1
            with self._changed:
                self._put.append(body)

    def _getting(self, qm: adapter.Connection, _number: int) -> None:
        for unit in qm.queue(self._queue).units(size=UNIT_MESSAGES):
            with unit:
                pass
            if not unit.failed:
                with self._changed:
                    self._got += [message.body for message in unit.messages]
                    self._changed.notify_all()
