"""A machine of hypothesis that a model judges, and that names the events that it has to meet."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Protocol

from hypothesis.stateful import RuleBasedStateMachine


class Model(Protocol):
    """What must be. It imports nothing of the product."""

    met: Counter[str]


class JudgedMachine(RuleBasedStateMachine):
    """events: all that its examples together have to meet."""

    events: ClassVar[tuple[str, ...]]
    model: Model

    def meet(self, event: str, *, when: object = True) -> None:
        """Count an event."""
        self.model.met[event] += bool(when)
