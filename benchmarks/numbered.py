"""A program that puts numbered messages, one unit each, and the judge of what has become of them.

It knows a queue manager by the SDK only, so that what it finds does not rest on the code that is
judged: when units were answered, and which numbers are on the queue in the end.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from msgspec import Struct

import adapter

RECONNECT_S = 120.0
WAIT_S = 120.0
LOOK_S = 0.005
STEADY = 100
"""Messages that are put before and after a fault."""


class Judgement(Struct, frozen=True):
    """What was wrong, in messages. doubled: also those whose unit was said to be backed out.

    unknown: units of which the queue manager could not say what had become of them.
    """

    lost: int = 0
    doubled: int = 0
    reordered: int = 0
    unknown: int = 0

    def __add__(self, other: Judgement) -> Judgement:
        return Judgement(
            self.lost + other.lost,
            self.doubled + other.doubled,
            self.reordered + other.reordered,
            self.unknown + other.unknown,
        )


def judge(put: int, found: Sequence[int], unknown: int = 0) -> Judgement:
    """Compare what was found, in the order of the queue, with the numbers 0 to put - 1."""
    times = Counter(found)
    lost = sum(number not in times for number in range(put))
    reordered = sum(later < sooner for sooner, later in pairwise(found))
    return Judgement(lost, len(found) - (put - lost), reordered, unknown)


class PuttingProgram(threading.Thread):
    """Puts one message after the other as fast as it is answered, and knows when it was.

    put: how many are put.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self._answered_s: list[float] = []
        self._ends = threading.Event()
        self._problem: BaseException | None = None
        self.put = 0

    def run(self) -> None:
        """Put until the end."""
        try:
            while not self._ends.is_set():
                if self._put_one():
                    self.put += 1
                    self._answered_s.append(time.monotonic())
        except BaseException as problem:  # noqa: BLE001 -- raised where the program is waited for
            self._problem = problem

    def _put_one(self) -> bool:
        """Whether the next message is put."""
        raise AssertionError("a program knows what it puts")

    def await_more(self, count: int = STEADY) -> None:
        """Wait until so many more are put."""
        wanted, deadline_s = self.put + count, time.monotonic() + WAIT_S
        while self.put < wanted:
            self._raise_problem()
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"{self.name}: nothing was answered for {WAIT_S:.0f} s")
            time.sleep(LOOK_S)

    def first_after(self, moment_s: float) -> float:
        """When the first message was answered after a moment."""
        answered = list(self._answered_s)
        return answered[bisect_right(answered, moment_s)]

    def gap_s(self, moment_s: float) -> float:
        """Return the longest time between two answers since the last one before a moment."""
        answered = list(self._answered_s)
        last = max(0, bisect_right(answered, moment_s) - 1)
        return max(after - before for before, after in pairwise(answered[last:]))

    def forget(self) -> None:
        """Forget when messages were answered: another fault is next."""
        del self._answered_s[:-1]

    def stop(self) -> None:
        """Put no more."""
        self._ends.set()
        self.join(WAIT_S)
        self._raise_problem()

    def _raise_problem(self) -> None:
        if self._problem is not None:
            raise RuntimeError(f"{self.name} ended") from self._problem


class NumberedProgram(PuttingProgram):
    """Puts 0, 1, 2, ... on a queue of its own, one unit each.

    It puts a number again whose unit was backed out, and asks what became of one in doubt. failed:
    how many units these were.
    """

    def __init__(self, addresses: str, queue: str) -> None:
        super().__init__(f"puts to {queue}")
        self._qm = adapter.connect(addresses, reconnect_timeout_s=RECONNECT_S)
        self._queue = queue
        self._qm.define_queue(queue, max_depth=999_999_999)
        self.unknown = 0
        self.failed = 0

    def _put_one(self) -> bool:
        """Whether the next number is on the queue."""
        unit = self._qm.unit()
        try:
            with unit:
                self._qm.put(self._queue, b"%d" % self.put)
        except adapter.BackedOut:
            self.failed += 1
            return False
        except adapter.InDoubt:
            self.failed += 1
            outcome = self._qm.outcome(unit.id)
            self.unknown += outcome not in ("committed", "backed out")
            return outcome == "committed"
        return True

    def end(self) -> Judgement:
        """Stop, get everything that is on the queue, and compare."""
        self.stop()
        with self._qm.queue(self._queue) as queue:
            found = [int(message.body) for message in queue.browse()]
        self._qm.close()
        return judge(self.put, found, self.unknown)
