"""The steps of one term's core, until one of them fails.

dispatch.step changes a core in many places, and undoes nothing. After an exception the core is
given nothing more: it is half changed, and only the ledger says what it was before.
"""

from __future__ import annotations

from collections.abc import Sequence

from adapter.core import dispatch
from adapter.core.contract.reasons import Refusal
from adapter.core.contract.records import Record
from adapter.core.effects import Effects
from adapter.core.inputs import Configured, Input, Now
from adapter.core.model.manager import QueueManager
from adapter.runtime.owner.clock import Clock
from adapter.runtime.owner.failed_steps import FailedSteps, Whose, whose_is
from adapter.storage.format import entries
from adapter.storage.ledger.port import EntryTooLarge, check_size


class CoreSteps:
    """Gives inputs to one core. For the owner's thread."""

    def __init__(self, qm: QueueManager, clock: Clock, failures: FailedSteps | None) -> None:
        """failures: without it what a step raises is raised, after which the core is of no use."""
        self._qm = qm
        self._clock = clock
        self._failures = failures
        self._began_ms = clock.now_ms() - clock.elapsed_ms()
        self.have_failed = False
        self._causes: list[tuple[tuple[Whose, Input], list[Record]]] = []
        """What was taken since records were written last, of what is written, whose it was, and
        what each has caused. The rest may be long bodies, and many: no entry lets go of them."""

    @property
    def now_ms(self) -> int:
        """The time of day when the term began, and what has passed since; setting the machine's
        clock does not change it.
        """
        return self._began_ms + self._clock.elapsed_ms()

    def take(self, given: Input, entry_n: int) -> Effects | None:
        """Return what an input causes; None: core was not given it, or has failed at it.

        entry_n: the entry that collects what the input causes. Raises Refusal for settings that
        cannot be.
        """
        if self.have_failed:
            return None
        clock, failures = self._clock, self._failures
        whose = whose_is(self._qm, given)
        taken = given if failures is None else failures.instead(whose, given)
        if taken is None:
            return None
        now = Now(clock.now_ms(), clock.elapsed_ms(), entry_n)
        try:
            effects = dispatch.step(self._qm, now, taken)
        except Exception as error:
            if failures is None or (isinstance(error, Refusal) and isinstance(taken, Configured)):
                raise
            self.have_failed = True
            failures.failed(whose, taken, error)
            return None
        for record in effects.records:
            if record.logged:
                self._causes.append(((whose, taken), effects.records))
                break
        return effects

    def encode(self, records: Sequence[Record]) -> bytes | None:
        """Return the payload of an entry; None: it cannot be written, and core has failed."""
        if self.have_failed:
            return None
        logged = [record for record in records if record.logged]
        causes, self._causes = self._causes, self._causes[-1:]  # the last may be for the next entry
        try:
            payload = entries.encode(logged)
            check_size("the ledger", payload)
            return payload
        except Exception as error:
            if self._failures is None:
                raise
            self.have_failed = True
            unwritable = _first_unwritable(logged, error)
            self._failures.not_written(unwritable, _cause_of(unwritable, causes), error)
            return None


def _cause_of(
    record: Record, causes: Sequence[tuple[tuple[Whose, Input], list[Record]]]
) -> tuple[Whose, Input] | None:
    """Return the input that has caused a record; None: it was written by an earlier call."""
    return next((cause for cause, caused in causes if any(one is record for one in caused)), None)


def _first_unwritable(records: Sequence[Record], error: Exception) -> Record:
    if isinstance(error, EntryTooLarge):
        return max(records, key=entries.weight)
    for record in records:
        try:
            entries.encode([record])
        except Exception:  # noqa: BLE001 -- the one that was raised for all, once more
            return record
    return records[-1]
