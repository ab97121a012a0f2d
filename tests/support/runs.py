"""Runs of cores: the inputs that each was given, to be given again to a copy of how it began.

A core is a deterministic state machine: the same inputs, at the same times, make the same records,
replies and wishes.
"""

import copy
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.msgpack import encode

from adapter.core import dispatch
from adapter.core.contract.unit_records import RecordPart
from adapter.core.effects import Effects
from adapter.core.inputs import Input, Now
from adapter.core.model.manager import QueueManager

Said = list[tuple[Any, ...]]
IS_COMPILED = not str(dispatch.__file__).endswith(".py")
"""Compiled objects cannot be copied: then no run is repeated."""


class Given(msgspec.Struct):
    """An input, when it came, and what it caused."""

    now: Now
    given: Input
    said: Said = []


Before = Callable[[QueueManager, int, Given], None]
"""Takes a core, and the number and the input that it is given next."""


class Run:
    """What one core was given since it began, and how it began."""

    def __init__(self, qm: QueueManager) -> None:
        self.qm = qm  # so that its id is that of no other
        self.began = None if IS_COMPILED else copy.deepcopy(qm)
        self.inputs: list[Given] = []

    def replay(self, before: Before | None = None) -> None:
        """Give a copy the same inputs; raises AssertionError where it does anything else.

        before: is shown the copy and each input before that is given; it changes neither.
        """
        if self.began is None:
            return
        qm = copy.deepcopy(self.began)
        for number, one in enumerate(self.inputs):
            if before is not None:
                before(qm, number, one)
            again = said(dispatch.step(qm, one.now, copy.deepcopy(one.given)))
            what = f"input {number}, {type(one.given).__name__}"
            assert again == one.said, f"{what}: {again}, not {one.said}"


class Recorder:
    """Records the runs of all cores that take a step while it is there."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._runs: dict[int, Run] = {}
        self._patch = patch
        self._step = dispatch.step
        patch.setattr(dispatch, "step", self._record)

    def stop(self) -> list[Run]:
        """Record no more; returns what was recorded, a run for each core."""
        self._patch.setattr(dispatch, "step", self._step)
        return list(self._runs.values())

    def _record(self, qm: QueueManager, now: Now, given: Input) -> Effects:
        run = self._runs.get(id(qm))
        if run is None:
            run = self._runs[id(qm)] = Run(qm)
        one = Given(now, given if IS_COMPILED else copy.deepcopy(given))
        run.inputs.append(one)
        effects = self._step(qm, now, given)
        one.said = said(effects)
        return effects


def as_data(one: object) -> object:
    """Show msgspec what is no Struct."""
    assert isinstance(one, RecordPart), one
    return one.by_name()


def said(effects: Effects) -> Said:
    """Copy all that a step caused, in a form that nothing changes any more."""
    return [
        *((type(one).__name__, encode(one, enc_hook=as_data)) for one in effects.records),
        *((one.connection, one.request, one.after, encode(one.result)) for one in effects.replies),
        *((number, encode(why)) for number, why in effects.closed.items()),
        *(one.args for one in effects.pages_wanted),
        (effects.barrier, effects.commands_wait, effects.paged_out, sorted(effects.removed)),
    ]
