"""Errors of answers that a request does not expect."""

from __future__ import annotations

from adapter.connection.channel.requests import Pending, UnitOnWire
from adapter.core.contract.reasons import Reason
from adapter.core.contract.results import Refused
from adapter.errors import Error, UnexpectedAnswer
from adapter.errors.refusals import refusal


def problem_of(request: Pending, unit: UnitOnWire | None, session_problem: Refused | None) -> Error:
    """Make the error. session_problem: why the session could not be opened, if it was refused."""
    answer = request.answer
    if isinstance(answer, Error):
        return answer
    if not isinstance(answer, Refused):
        return UnexpectedAnswer(
            f"{type(answer).__name__} came in answer to a {type(request.command).__name__}"
        )
    cause = answer
    if answer.reason == Reason.HANDLE_NOT_OPEN and request.handle is not None:
        cause = request.handle.refused or answer
    elif answer.reason == Reason.OUT_OF_ORDER:
        cause = session_problem or answer
    elif (
        answer.reason == Reason.BACKED_OUT
        and unit is not None
        and unit.beginning is not None
        and isinstance(unit.beginning.answer, Refused)
    ):
        cause = session_problem or unit.beginning.answer
    return refusal(cause.reason, cause.name, cause.detail)
