"""What MSMQ and Service Broker promise, against models: machines that hypothesis drives.

Each runs in a process of its own, as the command does that shows what broke: hypothesis also tries
numbers and texts that it finds in the modules which are loaded, so that only a process that loads
the same ones repeats a run. Any change of these modules makes other examples of a seed. So the
seeds go on until every event was met, rare ones too.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.machines import MACHINES, machine_of

SEEDS = range(1, 10)
TIMEOUT_S = 300.0
TOP = Path(__file__).parents[2]


def met(name: str, seed: int) -> set[str]:
    """Run the examples of a seed; returns which events were met."""
    command = [sys.executable, "-m", "tests.simulation", name, str(seed)]
    done = subprocess.run(
        command, cwd=TOP, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.timeout(len(SEEDS) * TIMEOUT_S)
@pytest.mark.parametrize("name", MACHINES)
def test_no_example_is_broken_and_every_event_is_met(name: str) -> None:
    """If one is broken: `python -m tests.simulation NAME SEED` prints its steps, with `--trace`
    the steps of a shorter one."""
    missing = set(machine_of(name).events)
    for seed in SEEDS:
        missing -= met(name, seed)
        if not missing:
            break
    assert missing == set()
