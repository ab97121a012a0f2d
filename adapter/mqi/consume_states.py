"""The states of asynchronous consumption on one connection, and what MQCTL makes of each.

STOPPED     no function is called; the connection is the program's
STARTED     functions are called for what comes; other threads may not use the connection
SUSPENDING  the call in progress is the last one before the suspension
SUSPENDED   no function is called for messages; the connection is the program's
STOPPING    the call in progress is the last one; then come those that tell of the stop
ENDED       the connection is disconnected

What a function of the connection asks for takes effect when it returns, and until then it may take
it back; what another thread asks for is awaited there. This module knows no thread and no consumer.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from adapter import mq_constants as mq
from adapter.mqi.reasons import MqiFailure


class ConsumeState(Enum):
    """State of a connection's consumption."""

    STOPPED = "stopped"
    STARTED = "started"
    SUSPENDING = "suspending"
    SUSPENDED = "suspended"
    STOPPING = "stopping"
    ENDED = "ended"


STOPPED, STARTED, SUSPENDING, SUSPENDED, STOPPING, ENDED = ConsumeState
NEXT: Mapping[ConsumeState, frozenset[ConsumeState]] = {
    STOPPED: frozenset({STARTED, ENDED}),
    STARTED: frozenset({SUSPENDING, STOPPING}),
    SUSPENDING: frozenset({STARTED, SUSPENDED, STOPPING}),
    SUSPENDED: frozenset({STARTED, STOPPING}),
    STOPPING: frozenset({STARTED, STOPPED}),
    ENDED: frozenset(),
}
OWNED = frozenset({STARTED, SUSPENDING, STOPPING})
"""The connection is not its program's: only functions that it calls may use it."""
STOP = {state: STOPPING for state in ConsumeState if state is not ENDED} | {STOPPED: STOPPED}
SUSPEND = {STARTED: SUSPENDING, SUSPENDING: SUSPENDING, SUSPENDED: SUSPENDED}
OUTSIDE: Mapping[int, Mapping[ConsumeState, ConsumeState]] = {
    mq.MQOP_START: {STOPPED: STARTED},
    mq.MQOP_START_WAIT: {STOPPED: STARTED},
    mq.MQOP_STOP: STOP,
    mq.MQOP_SUSPEND: SUSPEND,
    mq.MQOP_RESUME: {STARTED: STARTED, SUSPENDING: STARTED, SUSPENDED: STARTED},
}
"""What an operation leads to from where, in a thread that no function of the connection runs in."""
INSIDE: Mapping[int, Mapping[ConsumeState, ConsumeState]] = {
    mq.MQOP_START: {STARTED: STARTED, STOPPING: STARTED},
    mq.MQOP_STOP: STOP,
    mq.MQOP_SUSPEND: SUSPEND,
    mq.MQOP_RESUME: {STARTED: STARTED, SUSPENDING: STARTED, SUSPENDED: STARTED},
}
"""The same in a function that the connection calls."""
PENDING = frozenset({SUSPENDING, STOPPING})


class IllegalChange(Exception):  # noqa: N818 -- a bug, not an outcome
    """The consumption was told to go where it cannot go from where it is."""


class Consumption:
    """Holds the state of one connection's consumption."""

    def __init__(self) -> None:
        self.state = STOPPED
        self._may_be_taken_back = False
        """What is pending was asked for by a function, which has not returned."""

    def to(self, state: ConsumeState, *, may_be_taken_back: bool = False) -> None:
        """Go to another state, or stay."""
        if state is not self.state and state not in NEXT[self.state]:
            raise IllegalChange(f"{self.state.value} does not become {state.value}")
        self.state = state
        self._may_be_taken_back = may_be_taken_back

    def ask(self, operation: int, *, is_inside: bool) -> ConsumeState:
        """MQCTL: go where an operation leads. MqiFailure(2012, 2534) if it leads nowhere.

        is_inside: a function of the connection asks.
        """
        if is_inside and operation == mq.MQOP_START_WAIT:
            raise MqiFailure(mq.MQRC_ENVIRONMENT_ERROR)
        state = (INSIDE if is_inside else OUTSIDE)[operation].get(self.state)
        takes_back = self.state in PENDING and state is STARTED
        if state is None or (takes_back and is_inside and not self._may_be_taken_back):
            raise MqiFailure(mq.MQRC_OPERATION_NOT_ALLOWED)
        may_be = is_inside and (self.state not in PENDING or self._may_be_taken_back)
        self.to(state, may_be_taken_back=may_be)
        return state
