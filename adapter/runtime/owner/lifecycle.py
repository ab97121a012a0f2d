"""A queue manager's life as the owner of its ledger.

States, what is done in each, and, written by `python -m tests.docs.lives` from NEXT, what may
follow:

FOLLOWING    a standby: applies what another process writes as the owner
             -> TAKING_OVER, FAILED, STOPPING
TAKING_OVER  replays the ledger into a new core, off the owner's thread; a standby follows on if
             another one was faster
             -> FOLLOWING, RUNNING, DOUBTFUL, DEPOSED, FAILED, STOPPING
RUNNING      serves requests
             -> QUIESCING, DOUBTFUL, DEPOSED, FAILED, STOPPING
QUIESCING    serves units in flight until they end, for a while, and no new work
             -> DOUBTFUL, DEPOSED, FAILED, STOPPING
DOUBTFUL     an append is in doubt, or a step of core failed: promises nothing; connections are
             dropped, so that clients come back and ask for their outcomes; what is not persistent
             is carried over, unless a step failed
             -> TAKING_OVER, FAILED, STOPPING
DEPOSED      another process owns the ledger: serves nothing, until it is stopped
             -> STOPPING
FAILED       the ledger cannot be had, read or written, or a part of the process has ended:
             serves nothing, until it is stopped
             -> STOPPING
STOPPING     takes no new work, waits until everything is durable or in doubt
             -> STOPPED
STOPPED      the ledger is closed
"""

from __future__ import annotations

from enum import Enum


class OwnerState(Enum):
    """State of the owner."""

    FOLLOWING = "standby"
    TAKING_OVER = "taking over"
    RUNNING = "running"
    QUIESCING = "quiescing"
    DOUBTFUL = "doubtful"
    DEPOSED = "deposed"
    FAILED = "failed"
    STOPPING = "stopping"
    STOPPED = "stopped"


SERVING = frozenset({OwnerState.RUNNING, OwnerState.QUIESCING})
LOST = frozenset({OwnerState.DOUBTFUL, OwnerState.DEPOSED, OwnerState.FAILED, OwnerState.STOPPING})
"""What may follow on any state in which the ledger is read or written."""
NEXT: dict[OwnerState, frozenset[OwnerState]] = {
    OwnerState.FOLLOWING: frozenset(
        {OwnerState.TAKING_OVER, OwnerState.STOPPING, OwnerState.FAILED}
    ),
    OwnerState.TAKING_OVER: LOST | {OwnerState.RUNNING, OwnerState.FOLLOWING},
    OwnerState.RUNNING: LOST | {OwnerState.QUIESCING},
    OwnerState.QUIESCING: LOST,
    OwnerState.DOUBTFUL: frozenset(
        {OwnerState.TAKING_OVER, OwnerState.STOPPING, OwnerState.FAILED}
    ),
    OwnerState.DEPOSED: frozenset({OwnerState.STOPPING}),
    OwnerState.FAILED: frozenset({OwnerState.STOPPING}),
    OwnerState.STOPPING: frozenset({OwnerState.STOPPED}),
    OwnerState.STOPPED: frozenset(),
}


WHY_NOT: dict[OwnerState, str] = {
    OwnerState.FOLLOWING: "this process is a standby: another one owns the queue manager",
    OwnerState.TAKING_OVER: "the ledger is being taken over: what it holds is read first",
    OwnerState.DOUBTFUL: "an append is in doubt, or a step failed: the ledger is taken over again",
    OwnerState.DEPOSED: "another process owns the ledger",
    OwnerState.FAILED: "the ledger cannot be had or read",
}


def why_not(state: OwnerState) -> str:
    """Say why requests are not served in a state."""
    return WHY_NOT.get(state, f"the queue manager is {state.value}")


class IllegalTransition(Exception):  # noqa: N818 -- a bug, not an outcome
    """The owner was told to go where it cannot go from where it is."""


class Lifecycle:
    """Holds the state and refuses what is not in the table."""

    def __init__(self) -> None:
        self.state = OwnerState.TAKING_OVER
        self.serves = False
        """Whether requests are served, be it only those of units in flight."""

    def to(self, state: OwnerState) -> None:
        """Go to another state."""
        if state not in NEXT[self.state]:
            raise IllegalTransition(f"{self.state.value} does not become {state.value}")
        self.state = state
        self.serves = state in SERVING

    def fail(self) -> None:
        """Go to FAILED, unless it has failed already: a part of the process may be faster."""
        if self.state is not OwnerState.FAILED:
            self.to(OwnerState.FAILED)
