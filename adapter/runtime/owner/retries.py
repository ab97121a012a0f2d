"""What of housekeeping failed, and when each is tried again.

Nothing of housekeeping is needed to serve requests: what fails, for whatever reason, is reported
and tried again after longer and longer pauses. It is also not worth another owner: a successor has
the same state, and would fail at it too. This module does not know what is tried.
"""

from __future__ import annotations

import traceback
from typing import Final

import structlog
from msgspec import Struct

from adapter.host import logs
from adapter.storage.ledger.port import LedgerError

PAUSE_SWEEPS: Final = 25
"""Before the second attempt: 5 s. Kafka has a new leader for a partition sooner."""
PAUSE_SWEEPS_MAX: Final = 1_500
"""5 minutes: an attempt may cost as much as a second of the owner's time."""
WHERE_MAX: Final = 4_000
"""Characters of a traceback in the log, from its end."""

log = structlog.get_logger("mqk.owner")
repetitions = logs.Repetitions()


class FailedWork(Struct):
    """why: of the last attempt. sweeps: until the next one. pause: of sweeps, before that one."""

    why: str
    sweeps: int
    pause: int


class HousekeepingRetries:
    """What failed when it was last tried, by what is logged of it. For the owner's thread."""

    def __init__(self) -> None:
        self._failures: dict[str, FailedWork] = {}

    @property
    def undone(self) -> dict[str, str]:
        """What is not done for now, and why."""
        return {what: failure.why for what, failure in self._failures.items()}

    def sweep(self) -> None:
        """Some time has passed."""
        for failure in self._failures.values():
            failure.sweeps -= 1

    def may_try(self, what: str) -> bool:
        """Whether it did not fail when it was last tried, or some time ago."""
        failure = self._failures.get(what)
        return failure is None or failure.sweeps <= 0

    def done(self, what: str) -> None:
        """It was tried, and did not fail."""
        self._failures.pop(what, None)

    def failed(self, what: str, error: BaseException) -> None:
        """It was tried, and failed."""
        before = self._failures.get(what)
        pause = PAUSE_SWEEPS if before is None else min(2 * before.pause, PAUSE_SWEEPS_MAX)
        why = str(error) if isinstance(error, LedgerError) else repr(error)
        self._failures[what] = FailedWork(why, pause, pause)
        more = {}
        if not isinstance(error, LedgerError):  # which has said all that there is to say
            more["where"] = "".join(traceback.format_exception(error))[-WHERE_MAX:]
        repetitions.warn(log, what, reason=why, **more)
