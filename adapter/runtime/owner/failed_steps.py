"""Steps of core that failed: what is remembered of them from one term to the next.

An exception within a step leaves a core half changed, and says nothing about what else is wrong
with it. So it ends the term: nothing of the step is written or answered, and the next term begins
with what the ledger says. Clients come back and repeat what was not answered, movers and feeds
bring again what has not taken effect: the same input comes again. What fails twice is not given to
core a third time, or it would end every term:

- a command is refused, by its number in its session; one without a number by its kind in its
  session, or, without a session, by its content and its user. Nothing says that this is the same
  one, so it is tried again after UNNUMBERED_S
- a page is missing, so that what needs it is refused
- an arrival and what a feed has read are kept back, and what comes behind them of the same source

Each is an event, which the next term writes: what it was, whose, and why it failed.

For what is left (time, a term's beginning) there is nothing to do without it: when it has failed
INPUT_FAILURES_MAX times within INPUT_FAILURES_WITHIN_S, the process ends, and says what to do.

This module does not know how a term ends, nor what an input means.
"""

from __future__ import annotations

import hashlib
import math
import traceback
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Final

import structlog
from msgspec import Struct, msgpack

from adapter.core import inputs
from adapter.core.contract.audit import STEP_FAILED, AuditNote
from adapter.core.contract.commands import Request, SessionOpen, SessionResume
from adapter.core.contract.parties import Party
from adapter.core.contract.records import Record
from adapter.core.model.manager import QueueManager

FAILURES_MAX: Final = 2
"""Of one input: the first may have had to do with the state that it met, the second has not."""
KNOWN_MAX: Final = 1_000
"""Inputs that are remembered. Each has ended two terms: there are not many."""
UNNUMBERED_S: Final = 3_600.0
"""How long a command without a number is refused: it may be another one, and the state that it met
another, too. One that does fail again ends two terms an hour at most."""
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


Whose = tuple[bytes, Party]
"""The session of the connection that asks for a step, and its party, as they were before the step,
which may change both. Without a connection both are empty."""
NO_PARTY: Final = Party()


def whose_is(qm: QueueManager, given: inputs.Input) -> Whose:
    """Say who asks for a step that core has not been given yet."""
    connection = qm.connections.get(given.connection) if isinstance(given, Request) else None
    return (connection.session, connection.party) if connection is not None else (b"", NO_PARTY)


class FailedStep(Struct):
    """what: the input, for people. why: the error. is_hopeless: the process is to end."""

    what: str
    why: str
    is_hopeless: bool = False


class KnownFailure(Struct):
    """An input that has failed: how often, how it did last, and until when that is remembered."""

    count: int
    why: str
    until_s: float


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
        self._known: OrderedDict[Hashable, KnownFailure] = OrderedDict()
        """By what is the same input; the one that failed last comes last."""
        self._when: dict[str, deque[float]] = {}
        """When inputs that cannot be left out failed, by their kind."""
        self.count = 0
        self.last = ""
        """Which input failed last, and how."""
        self.undone: dict[str, str] = {}
        """What is not carried out because it failed, and why."""
        self._notes: deque[AuditNote] = deque(maxlen=NOTES_MAX)

    def instead(self, whose: Whose, given: inputs.Input) -> inputs.Input | None:
        """Return what core is given in place of an input; None: nothing."""
        if not self._known:  # as nearly always
            return given
        failure = self._find(_key(whose, given))
        if failure is None or failure.count < FAILURES_MAX:
            return given
        why = failure.why
        if isinstance(given, Request):
            self.undone[COMMAND_REFUSED] = f"{type(given.command).__name__}: {why}"
            return inputs.FailedBefore(given, f"it failed twice: {why}")
        if isinstance(given, inputs.PageLoaded):
            return inputs.PageMissing(given.needed, given.incarnation)
        if isinstance(given, (inputs.Arrived, inputs.Fed)):
            self.undone[KEPT_BACK] = f"{_words(given)}: {why}"
            return None
        return given

    def failed(self, whose: Whose, given: inputs.Input, error: Exception) -> None:
        """Note that a step has failed. whose: it was, before it was begun."""
        is_known = self._count(_key(whose, given), error, self._until_s(given))
        self._note(_words(given), type(given).__name__, error, whose[1].user, is_known=is_known)

    def not_written(
        self, record: Record, cause: tuple[Whose, inputs.Input] | None, error: Exception
    ) -> None:
        """Note that a record cannot be written: the input that caused it has failed. cause: None:
        it is not known, but perhaps by the record.
        """
        outcome = getattr(record, "outcome", None)
        kind = type(record).__name__
        what, user, is_known = f"writing {kind}", "", False
        if outcome is not None:
            is_known = self._count((outcome.session, outcome.number), error, math.inf)
        elif cause is not None:
            is_known = self._count(_key(*cause), error, self._until_s(cause[1]))
            what, user = f"writing {kind} of {_words(cause[1])}", cause[0][1].user
        self._note(what, kind, error, user, is_known=is_known)

    def take_notes(self) -> list[AuditNote]:
        """Return what is to be on record of those that failed since the last call."""
        notes = list(self._notes)
        self._notes.clear()
        return notes

    def _find(self, key: Hashable | None) -> KnownFailure | None:
        found = self._known.get(key)
        return found if found is not None and self._now_s() < found.until_s else None

    def _until_s(self, given: inputs.Input) -> float:
        """Say until when a failure of an input is remembered."""
        is_unnumbered = isinstance(given, Request) and not given.number
        return self._now_s() + UNNUMBERED_S if is_unnumbered else math.inf

    def _count(self, key: Hashable | None, error: Exception, until_s: float) -> bool:
        """Count a failure of an input; False: of one that cannot be left out."""
        if key is None:
            return False
        before = self._find(key)
        count = before.count + 1 if before is not None else 1
        self._known.pop(key, None)
        self._known[key] = KnownFailure(count, _ascii(repr(error)), until_s)
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
        return True

    def _note(self, what: str, kind: str, error: Exception, user: str, *, is_known: bool) -> None:
        self.count += 1
        why = _ascii(repr(error))
        is_hopeless = not is_known and self._is_hopeless(kind)
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


def _key(whose: Whose, given: inputs.Input) -> Hashable | None:
    """Say which inputs are the same one; None: of those that cannot be left out."""
    if isinstance(given, Request):
        if given.number:
            return whose[0] or whose[1].user, given.number
        return _unnumbered_key(whose, given)
    if isinstance(given, inputs.PageLoaded):
        needed = given.needed
        return needed.queue, given.incarnation, needed.lane, needed.seq, needed.field
    if isinstance(given, inputs.Arrived):
        return given.unit.topic, given.unit.topic_id, given.unit.offset
    if isinstance(given, inputs.Fed):
        batch = given.batch
        return batch.feed, batch.topic_id, batch.partition, batch.start
    return None


def _unnumbered_key(whose: Whose, request: Request) -> Hashable:
    """Say which commands without a number are taken for the same one.

    What begins a session, or resumes it, is of that session: repetitions may differ otherwise.
    """
    session, party = whose
    command = request.command
    kind = type(command).__name__
    if isinstance(command, (SessionOpen, SessionResume)):
        return command.session, kind
    if session:
        return session, kind
    return party.user, kind, hashlib.sha256(msgpack.encode(command)).digest()


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
