"""What MSMQ promises, against models: random transactions of two hosts, cursors, conservation."""

import pytest

from tests.simulation.machines import MACHINES, run_machine

SEED = 1
TIMEOUT_S = 300.0


@pytest.mark.timeout(TIMEOUT_S)
@pytest.mark.parametrize("name", MACHINES)
def test_no_example_is_broken_and_every_event_is_met(name: str) -> None:
    """If one is broken: `python -m tests.simulation NAME 1` prints its steps, with `--trace` the
    steps of a shorter one."""
    met = run_machine(name, SEED)
    assert set(+met) == set(MACHINES[name].events)
