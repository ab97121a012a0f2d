"""Machines that hypothesis drives, each judged by a model of its own.

A run has EXAMPLES examples of STEPS steps each. A seed determines it in a process that loads the
same modules: see test_machines.py.
"""

from __future__ import annotations

import gc
from collections import Counter
from typing import cast

from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from tests.simulation.activation_machine import ActivationMachine
from tests.simulation.conservation_machine import ConservationMachine
from tests.simulation.cursors_machine import CursorsMachine
from tests.simulation.dialogs_machine import DialogsMachine
from tests.simulation.hosts_machine import HostsMachine
from tests.simulation.judged_machine import JudgedMachine

EXAMPLES = 300
STEPS = 30
MACHINES: dict[str, type[JudgedMachine]] = {
    "hosts": HostsMachine,
    "cursors": CursorsMachine,
    "conservation": ConservationMachine,
    "dialogs": DialogsMachine,
    "activation": ActivationMachine,
}
"""By name."""


def run_machine(name: str, seed: int, *, shrinks: bool = False) -> Counter[str]:
    """Run the examples of a seed; returns how often each event was met.

    shrinks: of a broken example, find a short one and print that; takes minutes.
    """
    kind = MACHINES[name]
    met: Counter[str] = Counter()

    def made() -> JudgedMachine:
        machine = kind()
        machine.model.met = met
        return machine

    bounds = settings(
        max_examples=EXAMPLES,
        stateful_step_count=STEPS,
        deadline=None,
        database=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink] if shrinks else [Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    factory = cast("type[RuleBasedStateMachine]", seeded(seed)(made))
    gc.disable()  # a third of the time goes to it otherwise
    try:
        run_state_machine_as_test(factory, settings=bounds)
    finally:
        gc.enable()
    return met
