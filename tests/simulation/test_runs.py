"""A run of a core is the list of its inputs: given again, it causes the same, fault or no fault."""

import itertools
from typing import Any

import pytest

from adapter.core import tables
from adapter.core.contract import commands as c
from adapter.core.contract.results import Done
from adapter.core.rules.primitives.decision import Decision
from tests.simulation.simulation import Simulation
from tests.support.core import client_on
from tests.support.runs import Recorder


@pytest.mark.parametrize("seed", [3, 11])
def test_the_same_inputs_cause_the_same(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    recorder = Recorder(monkeypatch)
    Simulation(seed).run(400)
    runs = recorder.stop()
    assert sum(len(run.inputs) for run in runs) > 100
    for run in runs:
        run.replay()


def test_a_rule_that_depends_on_anything_else_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count()

    def drawn(_qm: Any, _request: Any, _command: Any) -> Decision:
        return Decision([], Done(next(numbers)))

    monkeypatch.setitem(tables.DECIDE, c.Inquire, drawn)
    client = client_on()
    recorder = Recorder(monkeypatch)
    client.do(c.Inquire("*"))
    (run,) = recorder.stop()
    with pytest.raises(AssertionError, match="input 0, Request"):
        run.replay()
