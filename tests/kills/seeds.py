"""Seeds of the simulation and of its machines, as many as there is time for, drawn anew each time.

The seeds of every run are always the same; what they do not meet is met here. A seed that breaks
is printed by the run, and is found again with ``python -m tests.simulation PART SEED``.
"""

import random
import subprocess
import sys
import time

from tests.simulation.__main__ import NAMED, RUNS
from tests.simulation.machines import MACHINES

FOR_S = 20 * 60.0
AT_ONCE = 25
"""Seeds of one process: its start costs a second."""
MACHINE_AT_ONCE = 1
"""A seed of a machine is 300 examples."""


def main() -> None:
    """Run every part in turn until the time is over; status 1 at the first seed that breaks."""
    until_s = time.monotonic() + FOR_S
    while time.monotonic() < until_s:
        for name in (*RUNS, *NAMED, *MACHINES):
            count = MACHINE_AT_ONCE if name in MACHINES else AT_ONCE
            first = random.randrange(10_000, 10_000_000)
            seeds = f"{first}-{first + count - 1}"
            done = subprocess.run(
                [sys.executable, "-m", "tests.simulation", name, seeds], check=False
            )
            if done.returncode:
                sys.exit(f"python -m tests.simulation {name} {seeds}: a seed breaks")
            if time.monotonic() > until_s:
                return


if __name__ == "__main__":
    main()
