"""Machines that hypothesis drives, each judged by a model of its own.

A run has EXAMPLES examples of STEPS steps each. A seed determines it in a process that loads the
same modules: see test_machines.py.
"""

from __future__ import annotations

import gc
from collections import Counter
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tests.simulation.judged_machine import JudgedMachine

EXAMPLES = 100
STEPS = 30
MACHINES = (
    "hosts",
    "cursors",
    "conservation",
    "dialogs",
    "routes",
    "activation",
    "feeds",
    "exports",
    "hops",
    "claims",
    "authorities",
)
"""Each is the only machine of a module of its own."""


def machine_of(name: str) -> type[JudgedMachine]:
    """Return the class of a machine. It is loaded when it is asked for, and hypothesis with it."""
    module = import_module(f"tests.simulation.{name}_machine")
    return cast("type[JudgedMachine]", getattr(module, f"{name.capitalize()}Machine"))


def run_machine(name: str, seed: int, *, shrinks: bool = False) -> Counter[str]:
    """Run the examples of a seed; returns how often each event was met.

    shrinks: of a broken example, find a short one and print that; takes minutes.
    """
    from hypothesis import HealthCheck, Phase, settings
    from hypothesis import seed as seeded
    from hypothesis.stateful import (
        RuleBasedStateMachine,
        run_state_machine_as_test,
    )

    kind = machine_of(name)
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
