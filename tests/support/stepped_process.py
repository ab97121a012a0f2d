"""A queue manager in memory, in a process whose time of day is set: `step SECONDS` on its input.

`python -m tests.support.stepped_process` prints its address, and a line for each step. What passes
by the machine's monotonic clock is left alone, as by a machine whose clock an operator sets.
"""

from __future__ import annotations

import sys
import time


class TimeOfDay:
    """Stands for time.time_ns."""

    def __init__(self) -> None:
        self._real = time.time_ns
        self._ahead_ns = 0

    def step(self, seconds: float) -> None:
        """Set it ahead, or back."""
        self._ahead_ns += round(seconds * 1e9)

    def __call__(self) -> int:
        return self._real() + self._ahead_ns


def main() -> None:
    """Serve until standard input ends."""
    time_of_day = TimeOfDay()
    time.time_ns = time_of_day
    time.time = lambda: time_of_day() / 1e9
    from adapter import testing  # its clock is bound at the import

    with testing.queue_manager() as manager:
        print(manager.address, flush=True)
        for line in sys.stdin:
            time_of_day.step(float(line.split()[1]))
            print("stepped", flush=True)


if __name__ == "__main__":
    main()
