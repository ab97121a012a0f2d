"""What becomes of the reasons of core at the MQI: a completion code and a reason code.

The table is total, because that of adapter.errors is. This module knows no verb and no structure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from adapter import mq_constants as mq
from adapter.core.contract.reasons import Reason
from adapter.errors import Error
from adapter.errors.refusals import REFUSALS

Codes = tuple[int, int]
OK: Codes = (mq.MQCC_OK, mq.MQRC_NONE)
GivenP = ParamSpec("GivenP")


class MqiFailure(Exception):  # noqa: N818 -- it is an answer of the MQI, not an error
    """Raised inside a verb; the program gets its codes. warning: the call has done its work."""

    def __init__(self, reason: int, *, warning: bool = False) -> None:
        super().__init__(reason)
        self.code = mq.MQCC_WARNING if warning else mq.MQCC_FAILED
        self.reason = reason


def returns_codes(verb: Callable[GivenP, None]) -> Callable[GivenP, Codes]:
    """Let a verb that returns nothing and may raise MqiFailure return its codes."""

    @wraps(verb)
    def call(*given: GivenP.args, **named: GivenP.kwargs) -> Codes:
        try:
            verb(*given, **named)
        except MqiFailure as failure:
            return failure.code, failure.reason
        return OK

    return call


DIFFERENT = {
    Reason.ATTRIBUTE_ERROR: mq.MQRC_SELECTOR_ERROR,  # the SDK has the code of a PCF command
    Reason.CONNECTION_NOT_FOUND: mq.MQRC_UNEXPECTED_ERROR,  # no verb asks for one
}
"""Where a verb answers otherwise than the SDK, whose errors carry the MQI's codes too."""

REASON_CODES: dict[Reason, int] = {
    reason: DIFFERENT.get(reason, REFUSALS[reason].error.reason) for reason in Reason
}


def failure_of(error: Error) -> MqiFailure:
    """Say in the MQI's codes what the client layer raised."""
    if error.refused is not None:
        return MqiFailure(REASON_CODES[error.refused])
    return MqiFailure(error.reason)
