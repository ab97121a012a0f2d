"""Steps of core that failed: what is remembered of them from one term to the next.

An exception within a step leaves a core half changed, and says nothing about what else is wrong
with it. So it ends the term: nothing of the step is written or answered, and the next term begins
with what the ledger says. Clients come back and repeat what was not answered, movers and feeds
bring again what has not taken effect: the same input comes again. What fails twice is not given to
core a third time, or it would end every term:

- a command is refused, by its number in its session; one without a number by its kind, for the rest
  of the session, because nothing says that it is the same one
- a page is missing, so that what needs it is refused
- an arrival and what a feed has read are kept back, and what comes behind them of the same source

Each is an event, which the next term writes: what it was, whose, and why it failed.

For what is left (time, a term's beginning) there is nothing to do without it: when it has failed
INPUT_FAILURES_MAX times within INPUT_FAILURES_WITHIN_S, the process ends, and says what to do.

This module does not know how a term ends, nor what an input means.
"""

from __future__ import annotations

import traceback
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Final

import structlog
from msgspec import Struct

from adapter.core import inputs
from adapter.core.contract.audit import STEP_FAILED, AuditNote
from adapter.core.contract.commands import Request
from adapter.core.contract.records import Record
from adapter.core.model.manager import QueueManager

FAILURES_MAX: Final = 2
"""Of one input: the first may have had to do with the state that it met, the second has not."""
KNOWN_MAX: Final = 1_000
"""Inputs that are remembered. Each has ended two terms: there are not many."""
INPUT_FAILURES_MAX: Final = 3
INPUT_FAILURES_WITHIN_S: Final = 600.0
"""Of a kind of input that cannot be left out: what ends a term so often keeps clients from their
work, and a new process, of another release perhaps, is worth a try."""

NOTES_MAX: Final = 100
"""Events that wait for a term which can write them; each is of a term that ended."""
TRACEBACK_MAX: Final = 8_000
"""Characters of it in the log, from its end: a step is some twenty calls deep."""

COMMAND_REFUSED: Final = "a command is refused: it failed twice within the queue manager"
KEPT_BACK: Final = "what has arrived is kept back: putting it failed twice"

log = structlog.get_logger("mqk.owner")


class FailedStep(Struct, frozen=True):
    """what: the input, for people. why: the error. is_hopeless: the process is to end."""

    what: str
    why: str
    is_hopeless: bool = False


class FailedSteps:
    """The failed steps of one owner. For the owner's thread."""

    def __init__(
        self,
        name: str,
        tell: Callable[[FailedStep], None],
        now_s: Callable[[], float],
    ) -> None:
        """tell: hears of each, within the step that failed. now_s: of a clock that is never set."""
        self._name = name
        self._tell = tell
        self._now_s = now_s
        self._known: OrderedDict[Hashable, tuple[int, str]] = OrderedDict()
        """By what is the same input: how often it failed, and how it did last."""
        self._when: dict[str, deque[float]] = {}
        """When inputs that cannot be left out failed, by their kind."""
        self.count = 0
        self.last = ""
        """Which input failed last, and how."""
        self.undone: dict[str, str] = {}
        """What is not carried out because it failed, and why."""
        self._notes: deque[AuditNote] = deque(maxlen=NOTES_MAX)

    def instead(self, qm: QueueManager, given: inputs.Input) -> inputs.Input | None:
        """Return what core is given in place of an input; None: nothing."""
        if not self._known:  # as nearly always
            return given
        count, why = self._known.get(_key(qm, given), (0, ""))
        if count < FAILURES_MAX:
            return given
        if isinstance(given, Request):
            self.undone[COMMAND_REFUSED] = f"{type(given.command).__name__}: {why}"
            return inputs.FailedBefore(given, f"it failed twice: {why}")
        if isinstance(given, inputs.PageLoaded):
            return inputs.PageMissing(given.needed, given.incarnation)
        if isinstance(given, (inputs.Arrived, inputs.Fed)):
            self.undone[KEPT_BACK] = f"{_words(given)}: {why}"
            return None
        return given

    def failed(self, qm: QueueManager, given: inputs.Input, error: Exception) -> None:
        """Note that a step has failed."""
        whose = _user(qm, given)
        self._note(_key(qm, given), _words(given), type(given).__name__, error, whose)

    def not_written(
        self, qm: QueueManager, record: Record, cause: inputs.Input | None, error: Exception
    ) -> None:
        """Note that a record cannot be written: the input that caused it has failed. cause: None:
        it is not known, but perhaps by the record.
        """
        outcome = getattr(record, "outcome", None)
        kind = type(record).__name__
        key: Hashable | None = (outcome.session, outcome.number) if outcome is not None else None
        what, whose = f"writing {kind}", ""
        if key is None and cause is not None:
            key, whose = _key(qm, cause), _user(qm, cause)
            what = f"writing {kind} of {_words(cause)}"
        self._note(key, what, kind, error, whose)

    def take_notes(self) -> list[AuditNote]:
        """Return what is to be on record of those that failed since the last call."""
        notes = list(self._notes)
        self._notes.clear()
        return notes

    def _note(
        self, key: Hashable | None, what: str, kind: str, error: Exception, user: str
    ) -> None:
        self.count += 1
        why = _ascii(repr(error))
        is_hopeless = False
        if key is None:
            is_hopeless = self._is_hopeless(kind)
        else:
            before, _ = self._known.pop(key, (0, ""))
            self._known[key] = before + 1, why
            if len(self._known) > KNOWN_MAX:
                self._known.popitem(last=False)
        self.last = f"{what} failed: {why}"
        details = {"input": what, "reason": why, "failed_steps": str(self.count)}
        if user:
            details["user"] = user
        self._notes.append(AuditNote(STEP_FAILED, self._name, details))
        log.error(
            "a step of the queue manager failed: the ledger is taken over again",
            queue_manager=self._name, input=what, reason=why, where=_where(error),
        )  # fmt: skip
        self._tell(FailedStep(what, why, is_hopeless))

    def _is_hopeless(self, kind: str) -> bool:
        times = self._when.setdefault(kind, deque(maxlen=INPUT_FAILURES_MAX))
        times.append(self._now_s())
        return len(times) == INPUT_FAILURES_MAX and (
            times[-1] - times[0] <= INPUT_FAILURES_WITHIN_S
        )


def _key(qm: QueueManager, given: inputs.Input) -> Hashable | None:
    """Say which inputs are the same one; None: of those that cannot be left out."""
    if isinstance(given, Request):
        connection = qm.connections.get(given.connection)
        if connection is None:
            return None
        whose = connection.session or connection.party.user
        return whose, given.number or type(given.command).__name__
    if isinstance(given, inputs.PageLoaded):
        needed = given.needed
        return needed.queue, given.incarnation, needed.lane, needed.seq, needed.field
    if isinstance(given, inputs.Arrived):
        return given.unit.topic, given.unit.topic_id, given.unit.offset
    if isinstance(given, inputs.Fed):
        batch = given.batch
        return batch.feed, batch.topic_id, batch.partition, batch.start
    return None


def _user(qm: QueueManager, given: inputs.Input) -> str:
    """Say who has asked for it; "" if no client has, or it has not said."""
    connection = qm.connections.get(given.connection) if isinstance(given, Request) else None
    return connection.party.user if connection is not None else ""


def _words(given: inputs.Input) -> str:
    """Name an input for people."""
    if isinstance(given, Request):
        return f"{type(given.command).__name__} of connection {given.connection}"
    if isinstance(given, inputs.Arrived):
        return f"Arrived of topic {given.unit.topic} before offset {given.unit.offset}"
    if isinstance(given, inputs.Fed):
        batch = given.batch
        return f"Fed of feed {batch.feed}, partition {batch.partition}, offset {batch.start}"
    if isinstance(given, (inputs.PageLoaded, inputs.PageMissing)):
        needed = given.needed
        name = type(given).__name__
        return f"{name} of queue {needed.queue}, lane {needed.lane}, message {needed.seq}"
    return type(given).__name__


def _where(error: Exception) -> str:
    """Write a traceback without the values of its variables, which are messages of programs."""
    return "".join(traceback.format_exception(error))[-TRACEBACK_MAX:]


def _ascii(text: str) -> str:
    """Make what clients may be told: a printable line of bounded length."""
    return "".join(letter if " " <= letter <= "~" else "?" for letter in text[:200])
